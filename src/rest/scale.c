/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/scale.h"

#include "base/banned.h"
#include "object/meta/schema_table.h"
#include "object/meta/selector.h"
#include "rest/body.h"
#include "rest/duration.h"
#include "rest/managed_fields.h"
#include "rest/read.h"

struct scaling {
    struct rest_op op; /* first: callbacks get this */
    const struct kind *shape;
    const char *replicas;    /* where in the parent */
    const struct json *body; /* a Scale, a patch or an applied configuration */
};

/* ---- the Scale of an object ---- */

static void scale_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells);

static const struct column columns[] = {
    { STR_INIT("Name"), STR_INIT("string"), STR_INIT("name"), STR_INIT("Name of the object."),
      .priority = 0 },
    { STR_INIT("Desired"), STR_INIT("integer"), STR_INIT(""), STR_INIT("How many are wanted."),
      .priority = 0 },
    { STR_INIT("Available"), STR_INIT("integer"), STR_INIT(""), STR_INIT("How many there are."),
      .priority = 0 },
    { STR_INIT("Age"), STR_INIT("string"), STR_INIT(""), STR_INIT("How long ago it was made."),
      .priority = 0 },
};
static const struct kind_ops ops = { .cells = scale_cells };

static const struct kind *shape_of(const struct rest_request *req)
{
    struct kind *k = arena_new_of(req->arena, struct kind);

    *k = (struct kind){ .group = STR("autoscaling"),
                        .version = STR("v1"),
                        .kind = STR("Scale"),
                        .api_version = STR("autoscaling/v1"),
                        .schema = schema_set_find(req->catalog->schemas,
                                                  STR("io.k8s.api.autoscaling.v1.Scale")),
                        .columns = columns,
                        .ncolumns = sizeof(columns) / sizeof(*columns),
                        .ops = &ops };
    return k;
}

static const struct scale *paths_of(const struct kind *k)
{
    return kind_subresource(k, STR("scale"))->scale;
}

bool rest_is_scale(const struct rest_request *req)
{
    const struct subresource *s =
        str_is(req->subresource, "scale") ? kind_subresource(req->kind, STR("scale")) : NULL;

    return s && s->scale;
}

static const struct json *at(const struct rest_request *req, const struct json *obj, str path)
{
    return path.n ? json_path(obj, str_z(req->arena, path)) : NULL;
}

static void scale_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    const struct json *wanted = json_path(obj, "spec.replicas");

    json_push(cells, json_of_str(json_get_str(obj, "metadata.name")));
    json_push(cells, json_of_int(json_int(wanted, 0)));
    json_push(cells, json_of_int(json_int(json_path(obj, "status.replicas"), 0)));
    json_push(cells, json_of_str(duration_since(a, json_get_str(obj, "metadata.creationTimestamp"),
                                                now_s)));
}

/* A string is said as it is; native kinds have a LabelSelector or, of old, a map of labels. */
static str selector_text(struct arena *a, const struct json *selector)
{
    struct json_object o = json_object_new(a);
    const struct json *labels = json_get(selector, STR("matchLabels"));
    const struct json *terms = json_get(selector, STR("matchExpressions"));

    if (!json_is(selector, JSON_OBJECT))
        return json_str(selector);
    if (json_is(labels, JSON_OBJECT) || json_is(terms, JSON_ARRAY))
        return selector_print(a, selector);
    json_add(&o, STR("matchLabels"), *selector);
    return selector_print(a, json_object_done(&o));
}

const struct json *rest_scale_of(const struct rest_request *req, const struct kind *k,
                                 const struct json *obj)
{
    static const char *const kept[] = { "name", "namespace", "uid", "resourceVersion",
                                        "creationTimestamp" };
    struct arena *a = req->arena;
    const struct scale *paths = paths_of(k);
    const struct json *from = json_get(obj, STR("metadata"));
    struct json_object o = json_object_new(a), meta = json_object_new(a);
    struct json_object spec = json_object_new(a), status = json_object_new(a);
    int64_t wanted = json_int(at(req, obj, paths->replicas), 0);
    str selector = selector_text(a, at(req, obj, paths->selector));

    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        const struct json *v = json_get(from, str_of(kept[i]));

        if (v)
            json_add(&meta, str_of(kept[i]), *v);
    }
    if (wanted)
        json_add(&spec, STR("replicas"), json_of_int(wanted));
    json_add(&status, STR("replicas"),
             json_of_int(json_int(at(req, obj, paths->status_replicas), 0)));
    if (selector.n)
        json_add(&status, STR("selector"), json_of_str(selector));
    json_add(&o, STR("kind"), json_of_str(STR("Scale")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("autoscaling/v1")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("spec"), json_object_value(&spec));
    json_add(&o, STR("status"), json_object_value(&status));
    return json_object_done(&o);
}

const struct json *rest_scale_put(const struct rest_request *req, const struct kind *k,
                                  const struct json *obj, const struct json *scale)
{
    struct json wanted = json_of_int(json_int(json_path(scale, "spec.replicas"), 0));

    return json_set(req->arena, obj, str_z(req->arena, paths_of(k)->replicas), &wanted);
}

static void answer(struct rest_request *req, const struct kind *shape, const struct json *obj)
{
    struct form f = form_of(req);
    str *text = arena_array(req->arena, str, 1);

    f.kind = shape;
    *text = form_tree(&f, req->arena, rest_scale_of(req, req->kind, obj));
    rest_answer(req, 200, text, 1);
}

/* ---- get ---- */

/* k8s: apiextensions-apiserver/pkg/registry/customresource/etcd.go, ScaleREST.Get */
static int check_has_replicas(const struct rest_request *req, const struct json *obj,
                              struct status *st)
{
    str path = paths_of(req->kind)->replicas;

    if (at(req, obj, path))
        return 0;
    status_cause(st, CAUSE_OTHER, STR_NONE, STR_NONE,
                 "the spec replicas field \".%.*s\" does not exist", STR_ARG(path));
    return status_set(st, REASON_INTERNAL,
                      "Internal error occurred: the spec replicas field \".%.*s\" does not exist",
                      STR_ARG(path));
}

static void get(struct rest_request *req)
{
    struct status *st = rest_status(req);
    const struct json *obj;
    struct row row;
    int found = rows_get(req->rest, req->arena, &req->instance, req->kind,
                         row_name(req->arena, req->kind, req->namespace_, req->name), 0, &row, st);

    if (found == 0)
        (void)status_not_found(st, req->kind->group, req->kind->plural, req->name);
    if (found <= 0 || row_tree(req->arena, req->kind, &row, STR_NONE, &obj, st) < 0 ||
        check_has_replicas(req, obj, st) < 0)
        rest_fail(req, st);
    else
        answer(req, shape_of(req), obj);
}

static void serve_get_scale(struct rest_request *req)
{
    struct status *st = rest_status(req);
    uint64_t rev;

    if (read_revision(req, &rev, st) < 0)
        rest_fail(req, st);
    else
        read_after(req, rev, get);
}

/* ---- writes ---- */

static int check_scale(const struct scaling *s, const struct json *scale, struct status *st)
{
    const struct json *replicas = json_path(scale, "spec.replicas");

    if (s->op.req->kind->schema->rules)
        return 0; /* the object is checked, not the Scale */
    if (json_int(replicas, 0) < 0)
        status_cause(st, CAUSE_INVALID, STR("spec.replicas"), json_text(st->arena, replicas),
                     "must be greater than or equal to 0");
    return status_invalid(st, s->shape->group, s->shape->kind, s->op.name);
}

static int check_precondition(const struct scaling *s, const struct json *scale, struct status *st)
{
    const struct kind *k = s->op.req->kind;
    str uid = json_get_str(scale, "metadata.uid"), now = json_get_str(s->op.old, "metadata.uid");
    str what = str_printf(st->arena, "%.*s/scale", STR_ARG(k->plural));

    if (uid.n == 0 || str_eq(uid, now))
        return 0;
    return status_conflict(st, k->group, what, s->op.name,
                           "Precondition failed: UID in precondition: %.*s, UID in object meta: "
                           "%.*s",
                           STR_ARG(uid), STR_ARG(now));
}

/* The parent with as many as the Scale says, at the version that it says. */
static int put_replicas(struct scaling *s, const struct json *scale, struct status *st)
{
    struct rest_op *op = &s->op;
    struct arena *a = op->req->arena;
    const struct json *rv = json_path(scale, "metadata.resourceVersion");
    const struct json *obj = rest_scale_put(op->req, op->req->kind, op->old, scale);

    if (check_scale(s, scale, st) < 0 || check_precondition(s, scale, st) < 0)
        return -1;
    op->insists = json_str(rv).n > 0;
    obj = json_set(a, obj, "metadata.resourceVersion", rv);
    if (op->insists && write_check_version(op, obj, st) < 0)
        return -1;
    if (op->req->verb == VERB_PATCH)
        op->insists = json_path(s->body, "metadata.resourceVersion") != NULL;
    return write_change(op, obj, st);
}

static int missing(const struct rest_op *op, struct status *st)
{
    return status_not_found(st, op->req->kind->group, op->req->kind->plural, op->name);
}

static int make_update(struct rest_op *op, struct status *st)
{
    struct scaling *s = (struct scaling *)(void *)op;

    return op->found ? put_replicas(s, s->body, st) : missing(op, st);
}

static int make_patch(struct rest_op *op, struct status *st)
{
    struct scaling *s = (struct scaling *)(void *)op;
    const struct json *scale;

    if (!op->found)
        return missing(op, st);
    if (patch_tree(op->req, s->shape, rest_scale_of(op->req, op->req->kind, op->old), s->body,
                   &scale, st) < 0 ||
        body_check_identity(op->req, scale, st) < 0)
        return -1;
    return put_replicas(s, scale, st);
}

/* What is applied to a Scale is applied to the parent: one field of it. */
static const struct json *parent_config(const struct scaling *s)
{
    const struct kind *k = s->op.req->kind;
    struct arena *a = s->op.req->arena;
    const struct json *replicas = json_path(s->body, "spec.replicas"), *config;
    struct json_object o = json_object_new(a);

    json_add(&o, STR("kind"), json_of_str(k->kind));
    json_add(&o, STR("apiVersion"), json_of_str(k->api_version));
    json_add(&o, STR("metadata"), *json_get(s->body, STR("metadata")));
    config = json_object_done(&o);
    return replicas ? json_set(a, config, s->replicas, replicas) : config;
}

static int make_apply(struct rest_op *op, struct status *st)
{
    struct scaling *s = (struct scaling *)(void *)op;
    struct rest_request *req = op->req;
    const struct json *merged, *obj;

    if (!op->found)
        return missing(op, st);
    if (check_scale(s, s->body, st) < 0 || check_precondition(s, s->body, st) < 0 ||
        write_waits(op, managed_fields_apply(op, parent_config(s), &merged, st)) < 0)
        return -1;
    obj = merged;
    if (merged != op->old &&
        schema_decode(req->arena, req->kind->schema, merged, NULL, &obj, st) < 0)
        return -1;
    op->tracked = true;
    if (write_check_version(op, obj, st) < 0)
        return -1;
    op->insists = json_path(s->body, "metadata.resourceVersion") != NULL;
    return write_change(op, obj, st);
}

static void written(struct rest_op *op, const struct status *failure)
{
    struct scaling *s = (struct scaling *)(void *)op;
    struct arena *a = op->req->arena;
    uint64_t rev = op->stored.n ? op->txn.rev : op->current.rev;
    struct json rv = json_of_str(str_printf(a, "%llu", (unsigned long long)rev));

    if (failure)
        rest_fail(op->req, failure);
    else
        answer(op->req, s->shape, json_set(a, op->obj, "metadata.resourceVersion", &rv));
}

static int read_scale(struct scaling *s, struct status *st)
{
    struct rest_request *req = s->op.req;
    const struct rest_body_type type = { .schema = s->shape->schema,
                                         .kind = s->shape->kind,
                                         .api_version = s->shape->api_version };

    if (req->verb == VERB_UPDATE) {
        s->op.make = make_update;
        if (rest_read_body(req, &type, &s->body, st) < 0)
            return -1;
        return body_check_identity(req, s->body, st);
    }
    if (req->patch_type == PATCH_APPLY) {
        s->op.make = make_apply;
        return apply_read(req, s->shape, &s->body, st);
    }
    s->op.make = make_patch;
    return patch_read(req, &s->body, st);
}

void serve_scale(struct rest_request *req)
{
    struct scaling *s;
    struct status *st;

    if (req->verb == VERB_GET) {
        serve_get_scale(req);
        return;
    }
    s = arena_new_of(req->arena, struct scaling);
    st = rest_status(req);
    *s = (struct scaling){ .op.req = req,
                           .op.name = req->name,
                           .op.row = row_name(req->arena, req->kind, req->namespace_, req->name),
                           .op.then = written,
                           .shape = shape_of(req),
                           .replicas = str_z(req->arena, paths_of(req->kind)->replicas) };
    if (read_scale(s, st) < 0)
        rest_fail(req, st);
    else
        write_run(&s->op);
}
