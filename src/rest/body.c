/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body.h"

#include <stdlib.h>

#include "base/banned.h"
#include "meta/schema_table.h"
#include "rest/heavy.h"

/* own: the object is read by a schema with these numbers. */
static int parse(struct rest_request *req, const struct schema *schema, bool own,
                 struct json_duplicates *dups, const struct json **out, struct status *st)
{
    struct proto_unknown wrap;
    struct json_object typed;
    const struct json *tree;
    str body;

    if (req->body_type == BODY_JSON)
        return json_parse(req->arena, req->body, dups, out, st);
    if (req->body_type == BODY_YAML)
        return json_parse_yaml(req->arena, req->body, dups, out, st);
    body = str_dup(req->arena, req->body); /* strings of the tree are slices of it */
    if (proto_unwrap(body, &wrap, st) < 0 ||
        proto_decode(req->arena, schema, wrap.raw, &tree, st) < 0)
        return -1;
    if (!own)
        tree = schema_drop_zeros(req->arena, schema, tree);
    typed = json_object_from(req->arena, tree);
    if (wrap.kind.n)
        json_put(&typed, STR("kind"), json_of_str(wrap.kind));
    if (wrap.api_version.n)
        json_put(&typed, STR("apiVersion"), json_of_str(wrap.api_version));
    *out = json_object_done(&typed);
    return 0;
}

/* Missing is fine for built-in kinds, other is not. */
static int check_type(const struct json *obj, const struct rest_body_type *type, struct status *st)
{
    str got_kind = json_get_str(obj, "kind"), got_version = json_get_str(obj, "apiVersion");

    if (got_version.n && !str_eq(got_version, type->api_version) &&
        !str_eq(got_version, type->old_version))
        return status_set(st, REASON_BAD_REQUEST,
                          "the API version in the data (%.*s) does not match the expected API "
                          "version (%.*s)",
                          STR_ARG(got_version), STR_ARG(type->api_version));
    if (got_kind.n && !str_eq(got_kind, type->kind))
        return status_set(st, REASON_BAD_REQUEST,
                          "the kind in the data (%.*s) does not match the expected kind (%.*s)",
                          STR_ARG(got_kind), STR_ARG(type->kind));
    return 0;
}

void body_warn(struct rest_request *req, str text)
{
    struct rest_warning *w = arena_new_of(req->arena, struct rest_warning), **tail = &req->warnings;

    w->text = text;
    while (*tail)
        tail = &(*tail)->next;
    *tail = w;
}

/* ---- faults, in the order in which Kubernetes tells them ---- */

enum { FAULTS = 128 }; /* of both sorts together */

struct fault {
    str text;
    uintptr_t at; /* where its name was read */
};

static void put_fault(struct fault *all, size_t *n, str text, uintptr_t at)
{
    size_t i;

    if (*n == FAULTS)
        return;
    for (i = (*n)++; i > 0 && all[i - 1].at > at; i--)
        all[i] = all[i - 1];
    all[i] = (struct fault){ text, at };
}

/* k8s: what is unknown is skipped by the reader of typed objects, whatever stands in it twice. */
static bool is_unknown(const struct json_duplicate *d, const struct schema_faults *faults)
{
    for (size_t i = 0; i < faults->n; i++) {
        const str head = STR("unknown field \"");
        str path = str_from(faults->texts[i], head.n);

        path = str_sub(path, 0, path.n - 1);
        if (str_starts(d->path, path) &&
            (d->path.n == path.n || d->path.p[path.n] == '.' || d->path.p[path.n] == '['))
            return true;
    }
    return false;
}

/* Typed objects are read once, and both sorts are found on the way. */
static bool is_typed_json(const struct rest_request *req, const struct json_duplicates *dups,
                          const struct schema_faults *faults)
{
    for (size_t i = 0; i < faults->n; i++)
        if (!faults->names[i])
            return false;
    return !dups->lines && dups->n && !req->kind->schema->rules;
}

static size_t order_faults(struct rest_request *req, const struct json_duplicates *dups,
                           const struct schema_faults *faults, struct fault *all)
{
    bool typed = is_typed_json(req, dups, faults);
    size_t n = 0;

    for (size_t i = 0; i < dups->n && !dups->lines; i++) {
        const struct json_duplicate *d = &dups->all[i];

        if (!typed || !is_unknown(d, faults))
            put_fault(all, &n, str_printf(req->arena, "duplicate field \"%.*s\"", STR_ARG(d->path)),
                      typed ? d->at : 0);
    }
    for (size_t i = 0; i < faults->n; i++)
        put_fault(all, &n, faults->texts[i], typed ? (uintptr_t)faults->names[i] : 0);
    return n;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(((const struct fault *)a)->text, ((const struct fault *)b)->text);
}

static str join(struct arena *a, str list, const char *between, str item)
{
    return list.n ? str_printf(a, "%.*s%s%.*s", STR_ARG(list), between, STR_ARG(item)) : item;
}

/* k8s: goyaml tells them by their lines, all in one error. */
static str yaml_duplicates(struct rest_request *req, const struct json_duplicates *dups,
                           bool strict)
{
    str all = STR_NONE;

    for (size_t i = 0; i < dups->n; i++) {
        struct json name = json_of_str(dups->all[i].name);
        str text = str_printf(req->arena, "line %zu: key %.*s already set in map", dups->all[i].at,
                              STR_ARG(json_text(req->arena, &name)));

        if (strict)
            all = join(req->arena, all.n ? all : STR("yaml: unmarshal errors:"), "\n  ", text);
        else
            body_warn(req, text);
    }
    return all;
}

str body_faults(struct rest_request *req, const struct json_duplicates *dups,
                const struct schema_faults *faults)
{
    bool strict = req->write.field_validation == FIELD_STRICT;
    struct fault order[FAULTS];
    str all = STR_NONE;
    size_t n;

    if (req->write.field_validation == FIELD_IGNORE)
        return all;
    if (dups->lines)
        all = yaml_duplicates(req, dups, strict);
    n = order_faults(req, dups, faults, order);
    if (dups->lines) /* k8s: YAML becomes JSON before it is read, with its names sorted */
        qsort(order, n, sizeof(*order), by_text);
    for (size_t i = 0; i < n; i++)
        if (strict)
            all = join(req->arena, all, ", ", order[i].text);
        else
            body_warn(req, order[i].text);
    return all;
}

int rest_read_body(struct rest_request *req, const struct rest_body_type *type,
                   const struct json **out, struct status *st)
{
    struct json_duplicates dups = { 0 };
    struct schema_faults faults = { 0 };
    const struct json *raw;
    ptrdiff_t slash = str_find(type->api_version, '/', 0);
    str strict;

    if (parse(req, type->numbers ? type->numbers : type->schema, !type->numbers, &dups, &raw, st) <
        0)
        return -1;
    req->sent = raw;
    if (raw->type != JSON_OBJECT)
        return status_set(st, REASON_BAD_REQUEST, "the body must be one object, it is of type %s",
                          json_type_name(raw));
    if (check_type(raw, type, st) < 0 ||
        schema_decode(req->arena, type->schema, raw, &faults, out, st) < 0)
        return -1;
    strict = body_faults(req, &dups, &faults);
    if (strict.n)
        return status_set(st, REASON_BAD_REQUEST,
                          "%.*s in version \"%.*s\" cannot be handled as a %.*s: strict decoding "
                          "error: %.*s",
                          STR_ARG(type->kind),
                          STR_ARG(str_from(type->api_version, (size_t)(slash + 1))),
                          STR_ARG(type->kind), STR_ARG(strict));
    return 0;
}

int body_object(struct rest_request *req, const struct json **out, struct status *st)
{
    const struct kind *k = req->kind;
    int rc;

    if (heavy_was_read(req, out, st, &rc))
        return rc;
    if (k->json_only && req->body_type == BODY_PROTOBUF)
        return status_set(st, REASON_UNSUPPORTED_MEDIA_TYPE,
                          "the body of the request was in an unknown format - accepted media types "
                          "include: application/json, application/yaml");
    return rest_read_body(req,
                          &(struct rest_body_type){
                              .schema = k->schema,
                              .numbers = k->numbers,
                              .kind = k->kind,
                              .api_version = k->api_version,
                          },
                          out, st);
}

int body_check_identity(const struct rest_request *req, const struct json *obj, struct status *st)
{
    str name = json_get_str(obj, "metadata.name");
    str namespace_ = json_get_str(obj, "metadata.namespace");

    if (req->name.n && !str_eq(name, req->name) && (name.n || req->verb != VERB_UPDATE))
        return status_set(st, REASON_BAD_REQUEST,
                          "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                          STR_ARG(name), STR_ARG(req->name));
    if (req->name.n && name.n == 0)
        return status_set(
            st, REASON_BAD_REQUEST,
            "the name of the object (%.*s based on URL) was undeterminable: name must "
            "be provided",
            STR_ARG(req->name));
    if (req->kind->namespaced && namespace_.n && !str_eq(namespace_, req->namespace_))
        return status_set(
            st, REASON_BAD_REQUEST,
            "the namespace of the provided object does not match the namespace sent on "
            "the request");
    return 0;
}

static int set_propagation(struct rest_request *req, str policy, const struct json *orphan,
                           struct status *st)
{
    static const struct {
        const char *name;
        enum propagation value;
    } policies[] = {
        { "Background", PROPAGATION_BACKGROUND },
        { "Foreground", PROPAGATION_FOREGROUND },
        { "Orphan", PROPAGATION_ORPHAN },
    };

    if (policy.n && orphan)
        status_cause(st, CAUSE_INVALID, STR("propagationPolicy"),
                     str_printf(st->arena, "\"%.*s\"", STR_ARG(policy)),
                     "orphanDependents and deletionPropagation cannot be both set");
    if (orphan)
        req->delete.propagation = json_bool(orphan) ? PROPAGATION_ORPHAN : PROPAGATION_BACKGROUND;
    if (policy.n == 0)
        return 0;
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
        if (str_is(policy, policies[i].name)) {
            req->delete.propagation = policies[i].value;
            return 0;
        }
    status_cause(st, CAUSE_NOT_SUPPORTED, STR("propagationPolicy"),
                 str_printf(st->arena, "\"%.*s\"", STR_ARG(policy)),
                 "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    return 0;
}

static void set_dry_run(struct rest_request *req, const struct json *list, struct status *st)
{
    json_for_each (item, list) {
        if (str_is(json_str(item), "All")) {
            req->delete.dry_run = true;
            continue;
        }
        status_cause(st, CAUSE_NOT_SUPPORTED, STR("dryRun"), json_text(st->arena, list),
                     "supported values: \"All\"");
    }
}

int body_delete_options(struct rest_request *req, struct status *st)
{
    static const str name = STR_INIT("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    const struct schema *schema = schema_set_find(req->catalog->schemas, name);
    const struct json *raw, *o;
    str kind;

    if (req->body.n == 0)
        return 0;
    if (parse(req, schema, true, NULL, &raw, st) < 0)
        return -1;
    req->sent = raw;
    kind = json_get_str(raw, "kind");
    if (raw->type != JSON_OBJECT || (kind.n && !str_is(kind, "DeleteOptions")))
        return status_set(st, REASON_BAD_REQUEST, "the body of a delete must be DeleteOptions");
    if (schema_decode(req->arena, schema, raw, NULL, &o, st) < 0)
        return -1;
    if (set_propagation(req, json_get_str(o, "propagationPolicy"), json_path(o, "orphanDependents"),
                        st) < 0)
        return -1;
    set_dry_run(req, json_path(o, "dryRun"), st);
    if (json_path(o, "gracePeriodSeconds")) {
        req->delete.has_grace = true;
        req->delete.grace_s = json_int(json_path(o, "gracePeriodSeconds"), 0);
    }
    req->delete.precondition_uid = json_get_str(o, "preconditions.uid");
    req->delete.precondition_rv = json_get_str(o, "preconditions.resourceVersion");
    return status_invalid(st, STR("meta.k8s.io"), STR("DeleteOptions"), STR_NONE);
}
