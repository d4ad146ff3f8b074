/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/managed_fields.h"

#include "base/banned.h"
#include "object/meta/managers.h"
#include "rest/convert.h"

enum { MANAGED_MAX = 1 << 20 }; /* packed; k8s: an object must fit into a request to etcd */

#define NAME(name)                                                \
    {                                                             \
        .text = STR_INIT(name), .kind = PATH_NAME, .member = true \
    }
#define SET(nodes)                              \
    {                                           \
        nodes, sizeof(nodes) / sizeof(*(nodes)) \
    }

static const struct fieldset_node status_nodes[] = { NAME("status") };
static const struct fieldset_node spec_nodes[] = { NAME("spec") };
static const struct fieldset_node all_nodes[] = { NAME("spec"), NAME("status") };
static const struct fieldset all = SET(all_nodes);
static const struct fieldset_node labels_node[] = { NAME("labels") };
static const struct fieldset_node meta_nodes[] = { NAME("metadata"), NAME("spec") };
static const struct fieldset_node labels_nodes[] = {
    { .text = STR_INIT("metadata"), .kind = PATH_NAME, .below = SET(labels_node) },
    NAME("spec"),
};

/*
 * What an endpoint does not let through is not owned by who sends it; k8s: GetResetFields of the
 * strategies.
 */
static const struct {
    const char *subresource;
    enum status_meta meta; /* of the kind; of the object itself it does not matter */
    struct fieldset set;
} resets[] = {
    { "", STATUS_META_FREE, SET(status_nodes) },
    { "status", STATUS_META_FREE, SET(spec_nodes) },
    { "status", STATUS_META_LABELS, SET(labels_nodes) },
    { "status", STATUS_META_ALL, SET(meta_nodes) },
};

const struct fieldset *managed_fields_ignored(const struct rest_request *req)
{
    if (!kind_subresource(req->kind, STR("status")))
        return NULL;
    if (req->kind->owns_nothing && !req->subresource.n)
        return &all;
    for (size_t i = 0; i < sizeof(resets) / sizeof(*resets); i++)
        if (str_is(req->subresource, resets[i].subresource) &&
            (req->subresource.n == 0 || resets[i].meta == req->kind->status_meta))
            return &resets[i].set;
    return NULL;
}

static const struct kind *version_of(const struct rest_request *req, str api_version)
{
    const struct kind *k = req->kind, *found;

    for (size_t i = 0; i < k->nversions; i++)
        if (str_eq(k->versions[i].api_version, api_version))
            return &k->versions[i];
    found = k->nversions ? NULL : catalog_find_kind(req->catalog, api_version, k->kind);
    return found && found->storage == k->storage ? found : NULL;
}

/*
 * k8s: managedfields/scalehandler.go: a Scale is known by where each version has its replicas, and
 * nobody need convert the object
 */
static const struct json *convert_scaled(const struct rest_request *req, const struct kind *from,
                                         const struct kind *to, const struct json *obj)
{
    const struct subresource *had = kind_subresource(from, STR("scale"));
    const struct subresource *has = kind_subresource(to, STR("scale"));
    const struct json *whole = to == req->kind ? req->op->old : &json_empty_object;
    struct arena *a = req->arena;

    if (!had || !has)
        return whole;
    return json_set(a, whole, str_z(a, has->scale->replicas),
                    json_path(obj, str_z(a, had->scale->replicas)));
}

static int convert(void *arg, str from_version, str to_version, const struct json *obj,
                   const struct json **out, const struct schema **schema, struct status *st)
{
    struct rest_request *req = arg;
    const struct kind *k = req->kind, *from = version_of(req, from_version),
                      *to = version_of(req, to_version);
    int rc;

    if (!from || !to)
        return MANAGERS_GONE;
    *schema = to->schema;
    *out = obj;
    if (k->nversions && rest_is_scale(req)) {
        *out = convert_scaled(req, from, to, obj);
        return 0;
    }
    if (k->conversion && req->rest->convert) {
        rc = convert_between(req, from, to, obj, out, st);
        return rc == REST_WAIT ? MANAGERS_WAIT : rc;
    }
    if (from->ops && from->ops->to_stored)
        obj = from->ops->to_stored(req->arena, obj);
    if (to->ops && to->ops->from_stored)
        obj = to->ops->from_stored(req->arena, obj);
    *out = obj;
    return 0;
}

/* Where the object has what its Scale says; NULL: the request is not about its Scale. */
static const char *scaled(const struct rest_request *req)
{
    return rest_is_scale(req)
               ? str_z(req->arena, kind_subresource(req->kind, STR("scale"))->scale->replicas)
               : NULL;
}

/* k8s: a Scale of none says nothing (autoscaling/v1 types.go: omitempty), so that nobody owns it */
static const struct json *as_scaled(const struct rest_request *req, const struct json *obj)
{
    const char *path = scaled(req);

    return path && json_path(obj, path) && json_int(json_path(obj, path), 0) == 0
               ? json_set(req->arena, obj, path, NULL)
               : obj;
}

static struct fieldset set_of_path(struct arena *a, str path)
{
    struct fieldset_node *node = arena_new_of(a, struct fieldset_node);
    const char *dot = memchr(path.p, '.', path.n);
    size_t n = dot ? (size_t)(dot - path.p) : path.n;

    *node = (struct fieldset_node){ .text = { path.p, n }, .kind = PATH_NAME, .member = !dot };
    if (dot)
        node->below = set_of_path(a, (str){ dot + 1, path.n - n - 1 });
    return (struct fieldset){ node, 1 };
}

/*
 * k8s: managedfields/scalehandler.go, ToParent: updaters of the object are not known by their names
 * among those of its Scale
 */
static void set_apart(const struct rest_request *req, struct managers *m)
{
    const char *path = scaled(req);
    struct fieldset field;

    if (!path)
        return;
    field = set_of_path(req->arena, str_of(path));
    managers_set_apart(req->arena, m, &field, req->kind->api_version);
}

/* k8s: managedfields/internal/skipnonapplied.go: what nobody owns is nobody's to have, of a Scale
 */
static bool is_unowned(const struct rest_request *req, const struct managers *m)
{
    const char *path = scaled(req);
    struct fieldset field = path ? set_of_path(req->arena, str_of(path)) : (struct fieldset){ 0 };

    for (size_t i = 0; path && i < m->n; i++) {
        struct fieldset both =
            fieldset_intersection(req->arena, manager_fields(req->arena, &m->list[i]), &field);

        if (!fieldset_empty(&both))
            return false;
    }
    return path != NULL;
}

static struct managers_write write_of(struct rest_op *op)
{
    struct rest_request *req = op->req;
    /* k8s: managedfields/scalehandler.go: who scales has no time, and speaks of Scales */
    bool scale = str_is(req->subresource, "scale");

    return (struct managers_write){ .arena = req->arena,
                                    .schema = req->kind->schema,
                                    .serial = req->kind->serial,
                                    .outline = req->outline,
                                    .manager = req->write.field_manager,
                                    .api_version = req->kind->api_version,
                                    .subresource = req->subresource,
                                    .now_s =
                                        scale ? MANAGER_NO_TIME : clock_wall_s(req->rest->clock),
                                    .told_version = scale ? STR("autoscaling/v1") : STR_NONE,
                                    .ignored = managed_fields_ignored(req),
                                    .convert = convert,
                                    .arg = req };
}

const struct json *managed_fields_sent(const struct json *obj)
{
    return json_path(obj, "metadata.managedFields");
}

bool managed_fields_is_emptied(const struct json *raw)
{
    const struct json *sent = managed_fields_sent(raw);

    return sent && sent->type == JSON_ARRAY && json_len(sent) == 0;
}

/*
 * k8s: isResetManagedFields; of a custom resource, whose metadata are written and read again on the
 * way, an empty list has gone by then
 */
static bool is_reset(const struct rest_request *req, const struct json *sent)
{
    return (req->resets_managers && !req->kind->schema->rules) ||
           (json_len(sent) == 1 && json_len(json_at(sent, 0)) == 0);
}

/*
 * From what the write starts: the client's own list if it makes sense, so that it can be changed
 * directly; else the object's, so that nobody deletes it by not knowing it.
 */
static struct managers begin(struct rest_op *op, const struct json *sent)
{
    struct managers m = { 0 };
    struct status ignore;

    status_init(&ignore, op->req->arena);
    if (op->req->subresource.n == 0 && is_reset(op->req, sent))
        return m;
    if (op->req->subresource.n == 0 && json_len(sent) &&
        managers_parse(op->req->arena, sent, &m, &ignore) == 0)
        return m;
    if (!managers_unpack(op->req->arena, op->current.obj.managed, &m))
        m = (struct managers){ 0 };
    managers_join(&m);
    return m;
}

static int store(struct rest_op *op, const struct managers *m, struct status *st)
{
    op->managed = managers_pack(op->req->arena, m);
    if (op->managed.n > MANAGED_MAX)
        return status_set(st, REASON_TOO_LARGE, "metadata.managedFields are too large");
    return 0;
}

bool managed_fields_same(const struct rest_op *op)
{
    struct arena *a = op->req->arena;
    str before = op->current.obj.managed;
    struct managers now, was;

    if (str_eq(op->managed, before))
        return true;
    return managers_unpack(a, op->managed, &now) && managers_unpack(a, before, &was) &&
           managers_equal(a, &now, &was);
}

/* What was wanted in other versions is asked for; then the write is done again. */
static int wait(struct rest_op *op)
{
    convert_noted(op->req, rest_write_again);
    return REST_WAIT;
}

int managed_fields_write(struct rest_op *op, const struct json *now, const struct json *sent,
                         struct status *st)
{
    struct managers_write w = write_of(op);
    struct managers m = op->found || json_len(sent) ? begin(op, sent) : (struct managers){ 0 };
    struct status why;
    int rc;

    status_init(&why, op->req->arena);
    rc = is_unowned(op->req, &m)
             ? 0
             : managers_update(&w, as_scaled(op->req, op->old), as_scaled(op->req, now), &m, &why);
    if (rc == MANAGERS_WAIT)
        return wait(op);
    if (rc < 0) /* k8s: managedfields/internal/fieldmanager.go UpdateNoErrors */
        m = (struct managers){ 0 };
    set_apart(op->req, &m);
    if (store(op, &m, st) < 0)
        status_cause(st, CAUSE_TOO_LONG, STR("metadata.managedFields"), STR_NONE,
                     "may not be more than %d bytes", MANAGED_MAX);
    else if (json_len(sent)) /* of what it says that counts which owns anything */
        objmeta_check_managed(st, managers_json(op->req->arena, op->managed));
    return 0;
}

int managed_fields_apply(struct rest_op *op, const struct json *config, const struct json **out,
                         struct status *st)
{
    struct managers_write w = write_of(op);
    struct managers m = begin(op, NULL);
    int rc = managers_apply(&w, op->old, config, op->req->write.force, &m, out, st);

    if (rc == MANAGERS_WAIT)
        return wait(op);
    if (rc < 0)
        return -1;
    set_apart(op->req, &m);
    return store(op, &m, st);
}

const struct json *managed_fields_show(struct rest_op *op, const struct json *obj)
{
    struct arena *a = op->req->arena;

    if (op->managed.n == 0)
        return obj;
    return json_set(a, obj, "metadata.managedFields", managers_json(a, op->managed));
}
