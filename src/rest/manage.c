/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/manage.h"

#include "base/banned.h"
#include "meta/managers.h"

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

/*
 * What an endpoint does not let through is not owned by who sends it; k8s: GetResetFields of the
 * strategies.
 */
static const struct {
    const char *subresource;
    struct fieldset set;
} resets[] = {
    { "", SET(status_nodes) },
    { "status", SET(spec_nodes) },
};

const struct fieldset *manage_ignored(const struct rest_request *req)
{
    if (!kind_subresource(req->kind, STR("status")))
        return NULL;
    for (size_t i = 0; i < sizeof(resets) / sizeof(*resets); i++)
        if (str_is(req->subresource, resets[i].subresource))
            return &resets[i].set;
    return NULL;
}

static const struct json *convert(void *arg, str api_version, const struct json *obj,
                                  const struct schema **schema)
{
    const struct rest_request *req = arg;
    const struct kind *from = req->kind;
    const struct kind *to = catalog_find_kind(req->catalog, api_version, from->kind);

    if (!to || to->storage != from->storage)
        return NULL;
    *schema = to->schema;
    if (to == from)
        return obj;
    if (from->ops && from->ops->to_stored)
        obj = from->ops->to_stored(req->arena, obj);
    if (to->ops && to->ops->from_stored)
        obj = to->ops->from_stored(req->arena, obj);
    return obj;
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
                                    .ignored = manage_ignored(req),
                                    .convert = convert,
                                    .arg = req };
}

const struct json *manage_sent(const struct json *obj)
{
    return json_path(obj, "metadata.managedFields");
}

bool manage_is_emptied(const struct json *raw)
{
    const struct json *sent = manage_sent(raw);

    return sent && sent->type == JSON_ARRAY && json_len(sent) == 0;
}

/* k8s: isResetManagedFields */
static bool is_reset(const struct rest_request *req, const struct json *sent)
{
    return req->resets_managers || (json_len(sent) == 1 && json_len(json_at(sent, 0)) == 0);
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
    return m;
}

static int store(struct rest_op *op, const struct managers *m, struct status *st)
{
    op->managed = managers_pack(op->req->arena, m);
    if (op->managed.n > MANAGED_MAX)
        return status_set(st, REASON_TOO_LARGE, "metadata.managedFields are too large");
    return 0;
}

bool manage_same(const struct rest_op *op)
{
    struct arena *a = op->req->arena;
    str before = op->current.obj.managed;
    struct managers now, was;

    if (str_eq(op->managed, before))
        return true;
    return managers_unpack(a, op->managed, &now) && managers_unpack(a, before, &was) &&
           managers_equal(a, &now, &was);
}

void manage_write(struct rest_op *op, const struct json *now, const struct json *sent,
                  struct status *st)
{
    struct managers_write w = write_of(op);
    struct managers m = op->found || json_len(sent) ? begin(op, sent) : (struct managers){ 0 };

    managers_update(&w, op->old, now, &m);
    if (store(op, &m, st) < 0)
        status_cause(st, CAUSE_TOO_LONG, STR("metadata.managedFields"), STR_NONE,
                     "may not be more than %d bytes", MANAGED_MAX);
    else if (json_len(sent)) /* of what it says that counts which owns anything */
        objmeta_check_managed(st, managers_json(op->req->arena, op->managed));
}

int manage_apply(struct rest_op *op, const struct json *config, const struct json **out,
                 struct status *st)
{
    struct managers_write w = write_of(op);
    struct managers m = begin(op, NULL);

    if (managers_apply(&w, op->old, config, op->req->write.force, &m, out, st) < 0)
        return -1;
    return store(op, &m, st);
}

const struct json *manage_show(struct rest_op *op, const struct json *obj)
{
    struct arena *a = op->req->arena;

    if (op->managed.n == 0)
        return obj;
    return json_set(a, obj, "metadata.managedFields", managers_json(a, op->managed));
}
