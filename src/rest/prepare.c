/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What becomes of an object before it is stored: the kind's and the common rules, admission, and
 * what the server adds to its metadata.
 */

#include "base/banned.h"
#include "base/uuid.h"
#include "object/meta/unserved.h"
#include "rest/body.h"
#include "rest/heavy.h"
#include "rest/managed_fields.h"
#include "rest/write.h"

/* ---- admission ---- */

static int write_mutate(struct rest_op *op, const struct json **obj, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;

    const struct json *wanted = *obj;
    int rc = admission ? admission->mutate(op->req, obj, op->old, st) : 0;

    op->mutated = *obj != wanted;
    return rc;
}

int write_waits(struct rest_op *op, int rc)
{
    if (rc != REST_WAIT)
        return rc;
    op->waiting = true;
    return -1;
}

int write_validate(struct rest_op *op, const struct json *obj, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;

    return admission ? write_waits(op, admission->validate(op->req, obj, op->old, st)) : 0;
}

/* ---- stages ---- */

static void stage_set(struct rest_op *op, int at, const struct json *obj)
{
    struct rest_warning **end = op->warnings;

    while (*end)
        end = &(*end)->next;
    op->stage = (struct write_stage){ .at = at,
                                      .obj = obj,
                                      .rev = op->current.rev,
                                      .managed = op->managed,
                                      .warnings = *op->warnings,
                                      .warnings_end = end,
                                      .notes = op->req->notes };
}

/* Goes on where it waited, or begins anew. */
static int stage_resume(struct rest_op *op, const struct json **obj)
{
    const struct write_stage *s = &op->stage;

    if (s->at == STAGE_NONE || s->rev != op->current.rev || (op->found ? !op->old : s->rev != 0))
        return STAGE_NONE;
    *obj = s->obj;
    op->managed = s->managed;
    *op->warnings = s->warnings;
    *s->warnings_end = NULL;
    op->req->notes = s->notes;
    return s->at;
}

static int review(const struct rest_op *op, const struct kind_context *c, struct status *st)
{
    const struct kind_ops *ops = c->kind->ops;

    if (!ops || !ops->review || c->subresource.n)
        return 0;
    /* One of that name may be there: that it is, is told when it is to be stored. */
    return ops->review(c, op->obj, c->create ? NULL : op->old, st);
}

/* ---- preparing ---- */

static void put_str(struct json_object *o, const char *name, str value)
{
    json_put(o, str_of(name), json_of_str(value));
}

/* Only we say of which instance an object is, and only on the way out. */
static void strip_instance(struct arena *a, struct json_object *meta)
{
    struct json done = json_object_value(meta);
    const struct json *annotations = json_get(&done, STR("annotations"));
    struct json_object without;

    *meta = json_object_from(a, &done);
    if (!json_get(annotations, STR(OBJ_INSTANCE_ANNOTATION)))
        return;
    without = json_object_from(a, annotations);
    json_remove(&without, STR(OBJ_INSTANCE_ANNOTATION));
    if (without.n)
        json_put(meta, STR("annotations"), json_object_value(&without));
    else
        json_remove(meta, STR("annotations"));
}

static const struct json *with_meta(struct arena *a, const struct json *obj,
                                    struct json_object *meta)
{
    return json_set(a, obj, "metadata", json_object_done(meta));
}

static const struct json *with_type(const struct rest_op *op, const struct json *obj)
{
    struct json_object o = json_object_from(op->req->arena, obj);

    put_str(&o, "kind", op->req->kind->kind);
    put_str(&o, "apiVersion", op->req->kind->api_version);
    return json_object_done(&o);
}

static void name_new(struct rest_op *op)
{
    char *uid = arena_alloc(op->req->arena, UUID_SIZE);
    char *created = arena_alloc(op->req->arena, TIME_TEXT_SIZE);

    uuid_v4(uid);
    op->uid = (str){ uid, UUID_LEN };
    op->created =
        (str){ created, time_format_seconds(created, clock_wall_s(op->req->rest->clock)) };
}

static const struct json *new_meta(struct rest_op *op, const struct json *obj)
{
    struct arena *a = op->req->arena;
    struct json_object meta = json_object_from(a, json_get(obj, STR("metadata")));
    static const char *const dropped[] = { "resourceVersion", "deletionTimestamp", "selfLink",
                                           "deletionGracePeriodSeconds", "managedFields" };

    for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++)
        json_remove(&meta, str_of(dropped[i]));
    if (!op->uid.n)
        name_new(op);
    put_str(&meta, "uid", op->uid);
    put_str(&meta, "creationTimestamp", op->created);
    put_str(&meta, "name", op->name);
    if (op->req->kind->namespaced)
        put_str(&meta, "namespace", op->req->namespace_);
    else
        json_remove(&meta,
                    STR("namespace")); /* k8s: EnsureObjectNamespaceMatchesRequestNamespace */
    if (op->req->kind->generation && !op->req->kind->generation_late)
        json_put(&meta, STR("generation"), json_of_int(1));
    strip_instance(a, &meta);
    return with_meta(a, with_type(op, obj), &meta);
}

static void check_common(const struct rest_op *op, const struct json *obj, struct status *st)
{
    const struct kind *k = op->req->kind;
    const struct json *meta = json_get(obj, STR("metadata"));

    objmeta_validate(st, meta, k->namespaced, k->name_rule);
    if (!k->bare_finalizers)
        objmeta_check_bare_finalizers(st, meta);
    if (json_len(json_get(meta, STR("labels"))) + json_len(json_get(meta, STR("ownerReferences"))) +
            k->nfield_labels >
        STORE_HASHES_MAX)
        status_cause(st, CAUSE_TOO_MANY, STR("metadata.labels"), STR_NONE,
                     "must have at most %d items", STORE_HASHES_MAX - 64);
}

static void warn_unserved(void *arg, const struct unserved *row, str sentence)
{
    (void)row;
    body_warn(arg, sentence);
}

/* Of an object that is valid, whatever admission then says of it. */
static void add_warnings(struct rest_op *op, const struct kind_context *c)
{
    const struct kind *k = op->req->kind;
    struct schema_faults warnings = { 0 };

    if (!c->subresource.n)
        unserved_each(c->arena, k->group, k->kind, op->obj, warn_unserved, op->req);
    if (!k->ops || !k->ops->warn)
        return;
    k->ops->warn(c, op->obj, op->old, &warnings);
    for (size_t i = 0; i < warnings.n; i++)
        body_warn(op->req, warnings.texts[i]);
}

/* With fields that are off, if it had any: they are dropped later than they get an owner. */
static const struct json *all_wanted(struct rest_request *req, const struct json *wanted)
{
    const struct json *all;
    struct status ignore;

    status_init(&ignore, req->arena);
    if (!req->gated ||
        schema_decode_gated(req->arena, req->kind->schema, req->gated, &all, &ignore) < 0)
        return wanted;
    return all;
}

/* What the client wanted becomes its own; what admission made of it does not. */
static int track(struct rest_op *op, const struct kind_context *c, const struct json *wanted,
                 const struct json *obj, struct status *st)
{
    const struct kind_ops *ops = op->req->kind->ops;
    const struct json *all;

    if (op->tracked || op->req->unmanaged)
        return 0;
    all = all_wanted(op->req, wanted);
    if (op->mutated || all != wanted)
        obj = ops && ops->defaults ? ops->defaults(c, all) : all;
    if (ops && ops->to_stored && ops->from_stored) /* what it is when it is read */
        obj = ops->from_stored(c->arena, ops->to_stored(c->arena, obj));
    return write_waits(op, managed_fields_write(op, obj, managed_fields_sent(wanted), st));
}

typedef const struct json *own_meta(struct rest_op *op, const struct json *obj);

/* What stands in the object from the beginning: our own rules, its metadata, its defaults. */
static int mutate_near(struct rest_op *op, const struct kind_context *c, const struct json *wanted,
                       const struct json **obj, own_meta *with_own_meta, struct status *st)
{
    const struct kind_ops *ops = op->req->kind->ops;

    if (write_mutate(op, obj, st) < 0)
        return -1;
    *obj = with_own_meta(op, *obj);
    if (ops && ops->defaults)
        *obj = ops->defaults(c, *obj);
    if (track(op, c, wanted, *obj, st) < 0)
        return -1;
    stage_set(op, STAGE_MUTATE, *obj);
    return 0;
}

/* What those far away make of it; its metadata are then put right again, its defaults set. */
static int mutate_far(struct rest_op *op, const struct kind_context *c, const struct json **obj,
                      own_meta *with_own_meta, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;
    const struct kind_ops *ops = op->req->kind->ops;
    const struct json *before = *obj;

    if (!admission || !admission->mutate_far)
        return 0;
    if (write_waits(op, admission->mutate_far(op->req, obj, op->old, st)) < 0)
        return -1;
    if (*obj == before)
        return 0;
    *obj = with_own_meta(op, *obj);
    if (ops && ops->defaults)
        *obj = ops->defaults(c, *obj);
    return 0;
}

/* The object is complete and valid: the last word of admission. */
static int admit(struct rest_op *op, const struct kind_context *c, const struct json *obj,
                 struct status *st)
{
    op->obj = obj;
    add_warnings(op, c);
    return write_validate(op, obj, st) < 0 ? -1 : 0;
}

/* k8s: of a kind in two groups (events) the one that is stored is told. */
static str group_told(const struct kind *k)
{
    return k->storage ? k->storage->group : k->group;
}

int write_prepare_create(struct rest_op *op, const struct json *obj, struct status *st)
{
    const struct kind *k = op->req->kind;
    const struct kind_ops *ops = k->ops;
    struct kind_context c = write_context(op);

    const struct json *wanted = obj;
    int stage = stage_resume(op, &obj);

    if (stage == STAGE_VALIDATE)
        return admit(op, &c, obj, st);
    if (stage == STAGE_NONE && mutate_near(op, &c, wanted, &obj, new_meta, st) < 0)
        return -1;
    if (stage != STAGE_CHECK) {
        if (mutate_far(op, &c, &obj, new_meta, st) < 0)
            return -1;
        if (ops && ops->prepare_create)
            obj = ops->prepare_create(&c, obj);
        stage_set(op, STAGE_CHECK, obj);
    }
    check_common(op, obj, st);
    if (write_waits(op, heavy_check(op, &c, obj, st)) < 0)
        return -1;
    op->obj = obj;
    if (status_invalid(st, group_told(k), k->kind, op->name) < 0 || review(op, &c, st) < 0)
        return -1;
    stage_set(op, STAGE_VALIDATE, obj);
    return admit(op, &c, obj, st);
}

/*
 * What the server has set stays; a deletion under way cannot be undone.  A client that begins one
 * so is refused.  k8s: registry/rest/update.go BeforeUpdate
 */
static const struct json *kept_meta(struct rest_op *op, const struct json *obj)
{
    static const struct {
        const char *name;
        bool shown; /* what was sent stays, to be refused if it is another */
    } kept[] = {
        { "uid", false },
        { "creationTimestamp", false },
        { "deletionTimestamp", true },
        { "deletionGracePeriodSeconds", true },
        { "generation", false },
    };
    struct arena *a = op->req->arena;
    const struct json *old = json_get(op->old, STR("metadata"));
    const struct json *sent = json_get(obj, STR("metadata"));
    struct json_object meta = json_object_from(a, sent);

    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        const struct json *v = json_get(old, str_of(kept[i].name));
        bool said = json_get(sent, str_of(kept[i].name)) != NULL;

        if ((said || !v) && kept[i].shown && op->req->subresource.n == 0)
            continue;
        json_remove(&meta, str_of(kept[i].name));
        if (v)
            json_add(&meta, str_of(kept[i].name), *v);
    }
    json_remove(&meta, STR("selfLink"));
    json_remove(&meta, STR("managedFields")); /* rest/managed_fields.h keeps them */
    json_remove(&meta, STR("resourceVersion"));
    if (op->req->kind->namespaced)
        put_str(&meta, "namespace", op->req->namespace_);
    else
        json_remove(&meta, STR("namespace"));
    strip_instance(a, &meta);
    return with_meta(a, with_type(op, obj), &meta);
}

/* True when anything outside of metadata differs, and of status where it is a part of its own. */
static bool spec_changed(const struct kind *k, const struct json *a, const struct json *b)
{
    const struct json *pair[2][2] = { { a, b }, { b, a } };

    for (int i = 0; i < 2; i++)
        json_for_each_member (m, pair[i][0]) {
            if (str_is(m->name, "metadata") || (str_is(m->name, "status") && !k->status_counts))
                continue;
            if (!json_equal(&m->value, json_get(pair[i][1], m->name)))
                return true;
        }
    return false;
}

static int check_update(struct rest_op *op, const struct kind_context *c, const struct json *obj,
                        struct status *st)
{
    const struct kind *k = op->req->kind;

    check_common(op, obj, st);
    objmeta_validate_update(st, json_get(obj, STR("metadata")), json_get(op->old, STR("metadata")));
    if (!k->bare_finalizers) /* k8s: looked at a second time, and said twice */
        objmeta_check_bare_finalizers(st, json_get(obj, STR("metadata")));
    return write_waits(op, heavy_check(op, c, obj, st));
}

/* k8s: apimachinery/pkg/apis/meta/v1/helpers.go ResetObjectMetaForStatus */
static const struct json *keep_meta(struct rest_op *op, const struct json *obj)
{
    static const char *const names[] = { "metadata.labels", "metadata.annotations",
                                         "metadata.finalizers", "metadata.ownerReferences" };
    enum status_meta kept = op->req->kind->status_meta;
    size_t n = kept == STATUS_META_ALL ? sizeof(names) / sizeof(*names) : 1;

    if (kept == STATUS_META_FREE || !str_is(op->req->subresource, "status"))
        return obj;
    for (size_t i = 0; i < n; i++) {
        const struct json *old = json_path(op->old, names[i]);

        if (old || json_path(obj, names[i]))
            obj = json_set(op->req->arena, obj, names[i], old);
    }
    return obj;
}

/* What it is to become, by the kind's rules. */
static const struct json *prepare_update(struct rest_op *op, const struct kind_context *c,
                                         const struct json *obj)
{
    const struct kind *k = op->req->kind;
    struct json next;

    obj = keep_meta(op, obj);
    if (k->ops && k->ops->prepare_update)
        obj = k->ops->prepare_update(c, obj, op->old);
    if (!k->generation || k->generation_stays || c->subresource.n || !spec_changed(k, op->old, obj))
        return obj;
    next = json_of_int(json_int(json_path(op->old, "metadata.generation"), 0) + 1);
    return json_set(op->req->arena, obj, "metadata.generation", &next);
}

int write_prepare_update(struct rest_op *op, const struct json *obj, struct status *st)
{
    const struct kind *k = op->req->kind;
    struct kind_context c = write_context(op);

    const struct json *wanted = obj;
    int stage = stage_resume(op, &obj);

    if (stage == STAGE_VALIDATE)
        return admit(op, &c, obj, st);
    if (stage == STAGE_NONE && op->req->redacted)
        obj = k->ops->unredact(op->req->arena, obj, op->old);
    if (stage == STAGE_NONE && mutate_near(op, &c, wanted, &obj, kept_meta, st) < 0)
        return -1;
    if (stage != STAGE_CHECK) {
        if (mutate_far(op, &c, &obj, kept_meta, st) < 0)
            return -1;
        obj = prepare_update(op, &c, obj);
        stage_set(op, STAGE_CHECK, obj);
    }
    if (check_update(op, &c, obj, st) < 0)
        return -1;
    op->obj = obj;
    if (status_invalid(st, group_told(k), k->kind, op->name) < 0 || review(op, &c, st) < 0)
        return -1;
    stage_set(op, STAGE_VALIDATE, obj);
    return admit(op, &c, obj, st);
}
