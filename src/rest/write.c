/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/write.h"

#include <errno.h>

#include "base/banned.h"
#include "base/uuid.h"
#include "rest/body.h"
#include "rest/convert.h"
#include "rest/heavy.h"
#include "rest/index.h"
#include "rest/lifecycle.h"
#include "rest/manage.h"

#define MODIFIED                                                                         \
    "the object has been modified; please apply your changes to the latest version and " \
    "try again"

/* k8s: a Scale is written by the strategy of the main resource */
static bool is_scale(const struct rest_op *op)
{
    return str_is(op->req->subresource, "scale");
}

struct kind_context write_context(const struct rest_op *op)
{
    return (struct kind_context){ .arena = op->req->arena,
                                  .kind = op->req->kind,
                                  .has_grace = op->req->delete.has_grace,
                                  .grace_s = op->req->delete.grace_s,
                                  .who = op->req->who,
                                  .subresource = is_scale(op) ? STR_NONE : op->req->subresource,
                                  .namespace_ = op->req->namespace_,
                                  .name = op->name,
                                  .create = op->req->verb == VERB_CREATE || !op->found,
                                  .now_s = clock_wall_s(op->req->rest->clock) };
}

int write_check_namespace(struct rest_op *op, struct status *st)
{
    struct rest_request *req = op->req;
    const struct kind *k = catalog_find(req->catalog, STR_NONE, STR("v1"), STR("namespaces"));
    struct row row;
    int found;

    if (!req->kind->namespaced)
        return 0;
    found = rows_get(req->rest, req->arena, &req->instance, k, req->namespace_, 0, &row, st);
    if (found < 0)
        return -1;
    if (found == 0)
        return status_not_found(st, STR_NONE, STR("namespaces"), req->namespace_);
    op->namespace_ = (struct store_op){
        .kind = STORE_CHECK,
        .key = { .type = k->type_id, .instance = req->instance.id, .name = req->namespace_ },
        .expect = row.stored_rev,
    };
    if (!(row.obj.flags & OBJ_DELETING))
        return 0;
    status_cause(st, CAUSE_NAMESPACE_TERMINATING, STR("metadata.namespace"), STR_NONE,
                 "namespace %.*s is being terminated", STR_ARG(req->namespace_));
    return status_forbidden(st, req->kind->group, req->kind->plural, req->name,
                            "unable to create new content in namespace %.*s because it is being "
                            "terminated",
                            STR_ARG(req->namespace_));
}

/* ---- admission ---- */

static int write_mutate(struct rest_op *op, const struct json **obj, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;

    const struct json *wanted = *obj;
    int rc = admission ? admission->mutate(op->req, obj, op->old, st) : 0;

    op->mutated = *obj != wanted;
    return rc;
}

static int waits(struct rest_op *op, int rc)
{
    if (rc != REST_WAIT)
        return rc;
    op->waiting = true;
    return -1;
}

int write_validate(struct rest_op *op, const struct json *obj, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;

    return admission ? waits(op, admission->validate(op->req, obj, op->old, st)) : 0;
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
    if (op->req->kind->generation)
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

/* Of an object that is accepted. */
static void add_warnings(struct rest_op *op, const struct kind_context *c)
{
    const struct kind_ops *ops = op->req->kind->ops;
    struct schema_faults warnings = { 0 };

    if (!ops || !ops->warn)
        return;
    ops->warn(c, op->obj, op->old, &warnings);
    for (size_t i = 0; i < warnings.n; i++)
        body_warn(op->req, warnings.texts[i]);
}

/* What the client wanted becomes its own; what admission made of it does not. */
static void track(struct rest_op *op, const struct kind_context *c, const struct json *wanted,
                  const struct json *obj, struct status *st)
{
    const struct kind_ops *ops = op->req->kind->ops;

    if (op->tracked)
        return;
    if (op->mutated)
        obj = ops && ops->defaults ? ops->defaults(c, wanted) : wanted;
    manage_write(op, obj, manage_sent(wanted), st);
}

/* What those far away make of it; its metadata are then put right again, its defaults set. */
static int mutate_far(struct rest_op *op, const struct kind_context *c, const struct json **obj,
                      const struct json *(*with_own_meta)(struct rest_op *, const struct json *),
                      struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;
    const struct kind_ops *ops = op->req->kind->ops;
    const struct json *before = *obj;

    if (!admission || !admission->mutate_far)
        return 0;
    if (waits(op, admission->mutate_far(op->req, obj, op->old, st)) < 0)
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
    if (write_validate(op, obj, st) < 0)
        return -1;
    add_warnings(op, c);
    return 0;
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
    if (stage == STAGE_NONE) {
        if (write_mutate(op, &obj, st) < 0)
            return -1;
        obj = new_meta(op, obj);
        if (ops && ops->defaults)
            obj = ops->defaults(&c, obj);
        track(op, &c, wanted, obj, st);
        stage_set(op, STAGE_MUTATE, obj);
    }
    if (stage != STAGE_CHECK) {
        if (mutate_far(op, &c, &obj, new_meta, st) < 0)
            return -1;
        if (ops && ops->prepare_create)
            obj = ops->prepare_create(&c, obj);
        stage_set(op, STAGE_CHECK, obj);
    }
    check_common(op, obj, st);
    if (waits(op, heavy_check(op, &c, obj, st)) < 0)
        return -1;
    op->obj = obj;
    if (status_invalid(st, k->group, k->kind, op->name) < 0 || review(op, &c, st) < 0)
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
        bool shown; /* what was sent stays where the server has none */
    } kept[] = {
        { "uid", false },
        { "creationTimestamp", false },
        { "deletionTimestamp", true },
        { "deletionGracePeriodSeconds", true },
        { "generation", false },
    };
    struct arena *a = op->req->arena;
    const struct json *old = json_get(op->old, STR("metadata"));
    struct json_object meta = json_object_from(a, json_get(obj, STR("metadata")));

    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        const struct json *v = json_get(old, str_of(kept[i].name));

        if (!v && kept[i].shown && op->req->subresource.n == 0)
            continue;
        json_remove(&meta, str_of(kept[i].name));
        if (v)
            json_add(&meta, str_of(kept[i].name), *v);
    }
    json_remove(&meta, STR("selfLink"));
    json_remove(&meta, STR("managedFields")); /* rest/manage.h keeps them */
    json_remove(&meta, STR("resourceVersion"));
    if (op->req->kind->namespaced)
        put_str(&meta, "namespace", op->req->namespace_);
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
    return waits(op, heavy_check(op, c, obj, st));
}

/* What it is to become, by the kind's rules. */
static const struct json *prepare_update(struct rest_op *op, const struct kind_context *c,
                                         const struct json *obj)
{
    const struct kind *k = op->req->kind;
    struct json next;

    if (k->ops && k->ops->prepare_update)
        obj = k->ops->prepare_update(c, obj, op->old);
    if (!k->generation || c->subresource.n || !spec_changed(k, op->old, obj))
        return obj;
    next = json_of_int(json_int(json_path(op->old, "metadata.generation"), 0) + 1);
    return json_set(op->req->arena, obj, "metadata.generation", &next);
}

int write_prepare_update(struct rest_op *op, const struct json *obj, struct status *st)
{
    const struct kind *k = op->req->kind;
    const struct kind_ops *ops = k->ops;
    struct kind_context c = write_context(op);

    const struct json *wanted = obj;
    int stage = stage_resume(op, &obj);

    if (stage == STAGE_VALIDATE)
        return admit(op, &c, obj, st);
    if (stage == STAGE_NONE) {
        if (op->req->veiled)
            obj = ops->unveil(op->req->arena, obj, op->old);
        if (write_mutate(op, &obj, st) < 0)
            return -1;
        obj = kept_meta(op, obj);
        if (ops && ops->defaults)
            obj = ops->defaults(&c, obj);
        track(op, &c, wanted, obj, st);
        stage_set(op, STAGE_MUTATE, obj);
    }
    if (stage != STAGE_CHECK) {
        if (mutate_far(op, &c, &obj, kept_meta, st) < 0)
            return -1;
        obj = prepare_update(op, &c, obj);
        stage_set(op, STAGE_CHECK, obj);
    }
    if (check_update(op, &c, obj, st) < 0)
        return -1;
    op->obj = obj;
    if (status_invalid(st, k->group, k->kind, op->name) < 0 || review(op, &c, st) < 0)
        return -1;
    stage_set(op, STAGE_VALIDATE, obj);
    return admit(op, &c, obj, st);
}

/* ---- running ---- */

static str success_text(struct rest_op *op)
{
    struct status *done = rest_status(op->req);
    scoped_buf b = { .max = 1 << 16 };

    done->kind = op->req->kind->plural;
    done->group = op->req->kind->group;
    done->name = op->name;
    done->uid = json_get_str(op->obj, "metadata.uid");
    rest_status_print(&b, done);
    return str_dup(op->req->arena, buf_str(&b));
}

/* What a dry run would have stored; an object that exists keeps its version. */
static str dry_text(struct rest_op *op)
{
    struct form f = form_of(op->req);
    struct arena *a = op->req->arena;
    struct json rv = json_of_str(
        op->found ? str_printf(a, "%llu", (unsigned long long)op->current.rev) : op->sent_version);

    return form_tree(
        &f, a,
        manage_show(op, rv.n ? json_set(a, op->obj, "metadata.resourceVersion", &rv) : op->obj));
}

/* What was written, in the version that the client speaks. */
static str written_text(struct rest_op *op)
{
    struct form f = form_of(op->req);
    struct arena *a = op->req->arena;
    struct json rv = json_of_str(str_printf(a, "%llu", (unsigned long long)op->txn.rev));

    return form_tree(&f, a, json_set(a, manage_show(op, op->obj), "metadata.resourceVersion", &rv));
}

static void finish(struct rest_op *op, const struct status *failure)
{
    struct rest_request *req = op->req;
    str *pieces = arena_array(req->arena, str, OBJ_PIECES);
    struct form f = form_of(req);
    struct row row = op->current; /* nothing was written: the row as it is */
    size_t n = 1;

    if (req->held)
        req->rest->admission->charged(req);
    if (op->then) {
        op->then(op, failure);
        return;
    }
    if (failure) {
        rest_fail(req, failure);
        return;
    }
    if (op->stored.n) {
        row = (struct row){ .instance = req->instance.id, .name = op->row, .rev = op->txn.rev };
        (void)obj_view(op->stored, &row.obj);
    }
    if (op->answers_status)
        pieces[0] = success_text(op);
    else if (op->stored.n && req->kind->conversion && req->kind != req->kind->storage)
        pieces[0] = written_text(op);
    else if (op->stored.n || op->what == WRITE_NOTHING)
        n = form_pieces(&f, req->arena, &row, pieces);
    else
        pieces[0] = dry_text(op);
    rest_answer(req, op->code, pieces, n);
}

static bool may_try_again(struct rest_op *op)
{
    op->tries++;
    return op->tries < WRITE_TRIES_MIN ||
           (op->tries < WRITE_TRIES && arena_size(op->req->arena) < WRITE_MEMORY);
}

static void lost_race(struct rest_op *op)
{
    const struct kind *k = op->req->kind;
    struct status *st = rest_status(op->req);

    op->stage.at = STAGE_NONE;
    /* A client may insist on the version of its object, not on that of what goes with it. */
    if ((!op->insists || op->txn.failed_op > 0) && may_try_again(op)) {
        write_run(op);
        return;
    }
    if (op->insists)
        (void)status_conflict(st, k->group, k->plural, op->name, "%s", MODIFIED);
    else
        (void)status_conflict(st, k->group, k->plural, op->name,
                              "too many others change it at the same time, try again");
    finish(op, st);
}

static void committed(struct store_txn *txn)
{
    struct rest_op *op = (struct rest_op *)(void *)txn;
    struct status *st;

    if (txn->rev) {
        if (op->req->rest->admission && op->req->rest->admission->committed)
            op->req->rest->admission->committed(op->req, op->obj, op->what == WRITE_REMOVE);
        finish(op, NULL);
        return;
    }
    if (txn->failed_op >= 0 && txn->error == 0) {
        lost_race(op);
        return;
    }
    st = rest_status(op->req);
    if (txn->error == EOWNERDEAD)
        (void)status_not_found(st, STR("tenancy.kairship.io"), STR("instances"),
                               op->req->instance.name);
    else if (txn->error == EFBIG)
        (void)status_set(st, REASON_TOO_LARGE, "the object is too large to be stored");
    else
        (void)status_set(st, REASON_UNAVAILABLE,
                         "the store cannot write now (%s); nothing was changed, reads go on",
                         strerrordesc_np(txn->error));
    if (st->reason == REASON_UNAVAILABLE)
        st->retry_after_s = 1;
    finish(op, st);
}

static const struct json *to_stored(struct rest_request *req, const struct kind *k,
                                    const struct json *obj)
{
    const struct json *out = obj;
    struct status *st;

    if (k->ops && k->ops->to_stored)
        return k->ops->to_stored(req->arena, obj);
    /* Versions of a CRD: what the stored one does not know is not kept. */
    if (!k->schema_id || k->storage->schema_id == k->schema_id)
        return obj;
    st = rest_status(req);
    return schema_decode(req->arena, k->storage->schema, obj, NULL, &out, st) < 0 ? obj : out;
}

int rest_convert(struct rest_request *req, const struct kind *from, const struct kind *to,
                 const struct json *obj, const struct json **out, struct status *st)
{
    str value = obj_encode(req->arena, to_stored(req, from, obj), STR_NONE, 0), rv;
    struct row row = { .instance = req->instance.id };

    rv = json_get_str(obj, "metadata.resourceVersion");
    obj_stamp(value, from->storage->schema_id);
    if (!obj_view(value, &row.obj) || (rv.n && !str_to_u64(rv, &row.rev)))
        return status_set(st, REASON_INTERNAL, "the object cannot be converted");
    return row_tree(req->arena, to, &row, STR_NONE, out, st);
}

const struct json *rest_shown(struct rest_request *req, const struct json *obj, bool old)
{
    struct rest_op *op = req->op;
    str now = op ? op->managed : STR_NONE;
    struct json rv;

    if (!op) /* it is not stored */
        return obj;
    rv = json_of_str(str_printf(req->arena, "%llu", (unsigned long long)op->current.rev));
    if (old)
        op->managed = op->current.obj.managed;
    obj = manage_show(op, obj);
    op->managed = now;
    return op->found ? json_set(req->arena, obj, "metadata.resourceVersion", &rv) : obj;
}

void rest_warn(struct rest_request *req, str text)
{
    body_warn(req, text);
}

void rest_note(struct rest_request *req, str key, str value)
{
    struct rest_note *n = arena_new_of(req->arena, struct rest_note);

    *n = (struct rest_note){ .next = req->notes, .key = key, .value = value };
    req->notes = n;
}

/* What is written, in the version that is stored. */
static int make_stored(struct rest_op *op, struct status *st)
{
    int rc;

    if (op->what != WRITE_PUT)
        return 0;
    if (convert_failure(op->req)) {
        status_copy(st, convert_failure(op->req));
        return -1;
    }
    rc = convert_to_stored(op->req, op->obj, &op->to_store, rest_write_again, st);
    if (rc == 0 && !op->to_store)
        op->to_store = to_stored(op->req, op->req->kind, op->obj);
    return waits(op, rc);
}

/* The row's new content, or its end; a template's end is a row that hides it. */
static int row_op(struct rest_op *op, struct store_op *out, struct status *st)
{
    const struct kind *k = op->req->kind->storage;
    struct arena *a = op->req->arena;
    const struct json *tree = op->what == WRITE_PUT ? op->to_store : NULL;
    struct row hidden;
    int template;

    *out = (struct store_op){
        .kind = STORE_PUT,
        .key = { .type = k->type_id, .instance = op->req->instance.id, .name = op->row },
        .expect = op->current.stored_rev,
    };
    if (op->what == WRITE_PUT) {
        op->stored = obj_encode(a, tree, op->managed, 0);
        obj_stamp(op->stored, k->schema_id);
        out->value = seal_value(op->req->rest->seal, a, k, &out->key, op->stored);
        out->nhashes = index_hashes(a, k, tree, &out->hashes);
        return 0;
    }
    template = rows_template(op->req->rest, a, &op->req->instance, k, op->row, 0, &hidden, st);
    if (template == 0)
        out->kind = STORE_DELETE;
    else if (template == 1)
        out->value = obj_encode_hidden(a);
    return template <0 ? -1 : 0;
}

static bool unchanged(struct rest_op *op)
{
    struct obj now, was = op->current.obj;

    if (!op->found || op->what != WRITE_PUT || !obj_view(op->stored, &now))
        return false;
    /* k8s: what another key has sealed is written again though nothing changed (etcd3 store.go) */
    if (op->current.stored_rev &&
        !seal_is_current(op->req->rest->seal, op->req->kind->storage, op->current.sealed))
        return false;
    /* A template's text lacks what is the instance's; all of the object is in the tree. */
    if (!op->current.stored_rev &&
        !obj_view(
            obj_encode(op->req->arena, to_stored(op->req, op->req->kind, op->old), STR_NONE, 0),
            &was))
        return false;
    return str_eq(now.text, was.text) && manage_same(op);
}

/* What admission adds to the transaction: a number of operations, -1, or REST_WAIT. */
static int charge(struct rest_op *op, struct store_op *out, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;
    struct rest_change change = {
        .obj = op->obj,
        .old = op->old,
        .removed = op->what == WRITE_REMOVE,
        .dry = op->req->write.dry_run || op->req->delete.dry_run,
        .bytes = op->ops[0].value.n,
        .old_bytes = op->current.sealed.n     ? op->current.sealed.n
                     : op->current.stored_rev ? op->current.obj.text.n + op->current.obj.managed.n
                                              : 0,
    };

    return admission && admission->charge ? admission->charge(op->req, &change, out, st) : 0;
}

static void commit(struct rest_op *op)
{
    struct status *st = rest_status(op->req);
    bool dry = op->req->write.dry_run || op->req->delete.dry_run;
    size_t n = 1;
    int extra;

    op->stored = STR_NONE;
    if (op->what == WRITE_NOTHING) {
        finish(op, NULL);
        return;
    }
    if (make_stored(op, st) < 0 || row_op(op, &op->ops[0], st) < 0) {
        if (!op->waiting)
            finish(op, st);
        return;
    }
    if (unchanged(op))
        op->what = WRITE_NOTHING;
    extra = op->what == WRITE_NOTHING ? 0 : charge(op, op->ops + n, st);
    if (extra == REST_WAIT)
        return;
    if (extra < 0) {
        finish(op, st);
        return;
    }
    n += (size_t)extra;
    if (dry || op->what == WRITE_NOTHING) {
        op->stored = STR_NONE;
        finish(op, NULL);
        return;
    }
    extra = lifecycle_ops(op, op->ops + n, st);
    if (extra < 0) {
        finish(op, st);
        return;
    }
    n += (size_t)extra;
    if (op->namespace_.key.name.n)
        op->ops[n++] = op->namespace_;
    op->txn = (struct store_txn){ .ops = op->ops, .nops = n, .done = committed };
    op->txn.loop = op->req->loop;
    op->txn.msg.whose = op->req->whose;
    store_commit(op->req->rest->store, &op->txn);
}

static int load_converted(struct rest_op *op, const struct row *plain, struct status *st)
{
    op->old = convert_find(op->req->converted, plain->name, plain->rev);
    if (op->old)
        return 0;
    if (convert_failure(op->req)) {
        status_copy(st, convert_failure(op->req));
        return -1;
    }
    if (convert_add(op->req, plain, st) < 0)
        return -1;
    convert_begin(op->req, rest_write_again);
    op->waiting = true;
    return -1;
}

int write_load(struct rest_op *op, struct status *st)
{
    const struct kind *k = op->req->kind;
    int found = rows_get(op->req->rest, op->req->arena, &op->req->instance, k->storage, op->row, 0,
                         &op->current, st);

    struct row plain;

    op->found = found == 1;
    op->old = NULL;
    op->managed = STR_NONE;
    if (found <= 0)
        return found;
    op->managed = op->current.obj.managed;
    plain = op->current;
    plain.obj.managed = STR_NONE; /* they stay beside the tree */
    if (convert_concerns(op->req, &plain))
        return load_converted(op, &plain, st);
    return row_tree(op->req->arena, k, &plain, STR_NONE, &op->old, st);
}

void rest_write_again(struct rest_request *req)
{
    write_run(req->op);
}

void write_run(struct rest_op *op)
{
    struct status *st = rest_status(op->req);

    op->req->op = op;
    op->req->seen = store_head(op->req->rest->store);
    if (!op->warnings) {
        op->warnings = &op->req->warnings;
        while (*op->warnings)
            op->warnings = &(*op->warnings)->next;
    }
    *op->warnings = NULL;
    op->req->notes = NULL;
    op->waiting = false;
    /* What a worker has looked at is written, if the row is still the same then. */
    if ((op->checked || write_load(op, st) >= 0) && op->make(op, st) >= 0)
        commit(op);
    else if (!op->waiting)
        finish(op, st);
}
