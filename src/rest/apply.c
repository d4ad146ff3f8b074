/* SPDX-License-Identifier: Apache-2.0 */

/* Server-side apply. */

#include "base/banned.h"
#include "object/crdschema/structural.h"
#include "object/meta/typed.h"
#include "rest/body.h"
#include "rest/heavy.h"
#include "rest/managed_fields.h"

struct applying {
    struct rest_op op; /* first: callbacks get this */
    const struct json *config;
    struct status *unread; /* why there is none, or NULL */
};

/* JSON is YAML, and read much faster. */
static int parse(struct rest_request *req, struct json_duplicates *dups, const struct json **out,
                 struct status *st)
{
    str body = str_trim(req->body);

    if (body.n && body.p[0] == '{' && json_parse(req->arena, body, dups, out, st) == 0)
        return 0;
    status_reset(st);
    *dups = (struct json_duplicates){ 0 };
    return json_parse_yaml(req->arena, req->body, dups, out, st);
}

/* As Go's GroupVersionKind shows itself: the core group has no name, its slash stays. */
static str kind_text(struct arena *a, str api_version, str kind)
{
    return str_printf(a, "%s%.*s, Kind=%.*s", str_find(api_version, '/', 0) < 0 ? "/" : "",
                      STR_ARG(api_version), STR_ARG(kind));
}

/* k8s: apimachinery/pkg/util/managedfields/internal/structuredmerge.go Apply */
static int check_type(const struct kind *shape, const struct json *config, struct status *st)
{
    str kind = json_get_str(config, "kind"), version = json_get_str(config, "apiVersion");

    if (str_eq(version, shape->api_version) && str_eq(kind, shape->kind))
        return 0;
    return status_set(st, REASON_BAD_REQUEST, "invalid object type: %.*s",
                      STR_ARG(kind_text(st->arena, version, kind)));
}

static int check_config(struct rest_request *req, const struct kind *shape,
                        const struct json *config, struct status *st)
{
    const struct json *managed = json_path(config, "metadata.managedFields");
    str wrong;

    if (check_type(shape, config, st) < 0)
        return -1;
    if (managed && managed->type != JSON_NULL)
        return status_set(st, REASON_BAD_REQUEST, "metadata.managedFields must be nil");
    req->outline = outline_of(req->arena, shape->schema, shape->serial, OUTLINE_APPLIED,
                              managed_fields_ignored(req), config);
    /* Fields are only known of what has passed. */
    wrong = req->outline.fields.n ? STR_NONE : typed_check(req->arena, shape->schema, config);
    if (wrong.n)
        return status_set(
            st, REASON_UNKNOWN, "failed to create typed patch object (%.*s/%.*s; %.*s): %.*s",
            STR_ARG(json_get_str(config, "metadata.namespace")),
            STR_ARG(json_get_str(config, "metadata.name")),
            STR_ARG(kind_text(st->arena, shape->api_version, shape->kind)), STR_ARG(wrong));
    if (json_get_str(config, "metadata.name").n)
        return body_check_identity(req, config, st);
    return shape->namespaced ? rest_check_namespace(req, config, st) : 0;
}

int apply_read(struct rest_request *req, const struct kind *shape, const struct json **config,
               struct status *st)
{
    struct json_duplicates dups = { 0 };
    struct schema_faults none = { 0 };
    str strict;
    int rc;

    if (heavy_was_read(req, config, st, &rc))
        return rc;
    if (parse(req, &dups, config, st) < 0)
        return status_wrap(st, "error decoding YAML");
    if ((*config)->type == JSON_NULL)
        *config = &json_empty_object;
    if ((*config)->type != JSON_OBJECT)
        return status_set(st, REASON_BAD_REQUEST, "error decoding YAML: must be an object, not %s",
                          json_type_name(*config));
    req->sent = *config;
    strict = body_faults(req, &dups, &none);
    if (strict.n)
        return status_set(st, REASON_BAD_REQUEST,
                          "error strict decoding YAML: error converting YAML to JSON: %.*s",
                          STR_ARG(strict));
    return check_config(req, shape, *config, st);
}

static int make_new(struct applying *p, const struct json *obj, struct status *st)
{
    struct rest_op *op = &p->op;
    const struct kind *k = op->req->kind;
    str uid = json_get_str(p->config, "metadata.uid");

    if (op->req->subresource.n)
        return status_not_found(st, k->group, k->plural, op->name);
    if (body_check_identity(op->req, p->config, st) < 0)
        return -1;
    if (write_check_namespace(op, st) < 0)
        return -1;
    if (uid.n)
        return status_conflict(st, k->group, k->plural, op->name,
                               "uid mismatch: the provided object specified uid %.*s, and no "
                               "existing object was found",
                               STR_ARG(uid));
    op->code = 201;
    op->what = WRITE_PUT;
    return write_prepare_create(op, obj, st);
}

static bool is_same(const struct json *a, const struct json *b)
{
    return a && b && a->type == b->type && a->n == b->n && a->i == b->i;
}

/* What differs are values that stand alone; trees share what is the same. */
static bool only_values_differ(const struct json *a, const struct json *b)
{
    if (is_same(a, b))
        return true;
    if (a->type == JSON_NULL || b->type == JSON_NULL)
        return false;
    if (!place_may_cut(a) && !place_may_cut(b))
        return true;
    if (a->type != b->type || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        bool object = a->type == JSON_OBJECT;

        if (object && !str_eq(a->members[i].name, b->members[i].name))
            return false;
        if (!only_values_differ(object ? &a->members[i].value : &a->items[i],
                                object ? &b->members[i].value : &b->items[i]))
            return false;
    }
    return true;
}

/* The schema of a CRD cuts and fills; values that stand alone it leaves to validation. */
static bool is_decoded(const struct rest_op *op, const struct json *merged)
{
    const struct schema_rules *rules = op->req->kind->schema->rules;

    if (merged == op->old)
        return true;
    return rules && !rules->below_embedded && op->old &&
           is_same(json_get(op->old, STR("metadata")), json_get(merged, STR("metadata"))) &&
           only_values_differ(op->old, merged);
}

static int decode_merged(const struct rest_op *op, const struct json *merged,
                         const struct json **out, struct status *st)
{
    const struct schema *s = op->req->kind->schema;

    *out = merged;
    if (is_decoded(op, merged))
        return 0;
    if (!s->rules)
        return schema_decode(op->req->arena, s, merged, NULL, out, st);
    return structural_decode(op->req->arena, s, merged, STRUCTURAL_APPLIED, NULL, out, st);
}

static int make_apply(struct rest_op *op, struct status *st)
{
    struct applying *p = (struct applying *)(void *)op;
    struct rest_request *req = op->req;
    const struct json *merged, *obj;

    op->code = 200;
    if (p->unread && op->found) {
        status_copy(st, p->unread);
        return -1;
    }
    if (p->unread)
        return status_not_found(st, req->kind->group, req->kind->plural, op->name);
    if (write_waits(op, managed_fields_apply(op, p->config, &merged, st)) < 0)
        return -1;
    if (decode_merged(op, merged, &obj, st) < 0)
        return -1;
    op->tracked = true;
    if (!op->found)
        return make_new(p, obj, st);
    if (write_check_version(op, obj, st) < 0)
        return -1;
    op->insists = json_path(p->config, "metadata.resourceVersion") != NULL;
    return write_check_uid(op, obj, st) < 0 ? -1 : write_change(op, obj, st);
}

void serve_apply(struct rest_request *req)
{
    struct applying *p = arena_new_of(req->arena, struct applying);
    struct status *st = rest_status(req);

    p->op.req = req;
    p->op.make = make_apply;
    p->op.name = req->name;
    p->op.row = row_name(req->arena, req->kind, req->namespace_, req->name);
    if (apply_read(req, req->kind, &p->config, st) < 0) {
        /* Of a subresource the object must be there before anything is looked at. */
        p->unread = st;
        if (req->subresource.n == 0) {
            rest_fail(req, st);
            return;
        }
    }
    write_run(&p->op);
}
