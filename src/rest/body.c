/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "object/meta/schema_table.h"
#include "rest/heavy.h"
#include "rest/managed_fields.h"
#include "rest/refuse.h"

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

void body_warn(struct rest_request *req, str text)
{
    struct rest_warning *w, **tail = &req->warnings;

    for (; *tail; tail = &(*tail)->next)
        if (str_eq((*tail)->text, text))
            return; /* once is enough */
    w = arena_new_of(req->arena, struct rest_warning);
    w->text = text;
    *tail = w;
}

/* ---- faults, in the order in which Kubernetes tells them ---- */

enum { FAULTS = 128, OWNERS_SHOWN = 256 }; /* faults of both sorts together; bytes of uids */

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

    if (req->write.field_validation == FIELD_IGNORE || (dups->n == 0 && faults->n == 0))
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
    str strict;

    if (parse(req, type->numbers ? type->numbers : type->schema, !type->numbers, &dups, &raw, st) <
        0)
        return refuse_unread(req, type->kind, st);
    if (raw->type == JSON_NULL)
        raw = &json_empty_object;
    req->sent = raw;
    req->resets_managers = managed_fields_is_emptied(raw);
    if (refuse_others(req, type, raw, st) < 0)
        return -1;
    if (schema_decode(req->arena, type->schema, raw, &faults, out, st) < 0)
        return refuse_fields(type, st);
    req->gated = faults.gated ? raw : NULL;
    strict = body_faults(req, &dups, &faults);
    if (strict.n == 0)
        return 0;
    (void)status_set(st, REASON_BAD_REQUEST, "strict decoding error: %.*s", STR_ARG(strict));
    return refuse_fields(type, st);
}

/* k8s: handlers/create.go dedupOwnerReferencesAndAddWarning; objects write their fields in order */
static const struct json *drop_owners_twice(struct rest_request *req, const struct json *obj)
{
    const struct json *refs = json_path(obj, "metadata.ownerReferences");
    struct json_array kept = json_array_new(req->arena);
    struct map seen = { 0 };
    str uids = STR_NONE;

    if (json_len(refs) < 2)
        return obj;
    json_for_each (ref, refs) {
        if (!map_put(&seen, json_text(req->arena, ref), req))
            json_push(&kept, *ref);
        else if (uids.n < OWNERS_SHOWN)
            uids = join(req->arena, uids, ", ", json_get_str(ref, "uid"));
    }
    map_release(&seen);
    if (uids.n == 0)
        return obj;
    body_warn(req, str_printf(req->arena,
                              ".metadata.ownerReferences contains duplicate entries; API server "
                              "dedups owner references in 1.20+, and may reject such requests as "
                              "early as 1.24; please fix your requests; duplicate UID(s) observed: "
                              "%.*s",
                              STR_ARG(uids)));
    return json_set(req->arena, obj, "metadata.ownerReferences", json_array_done(&kept));
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
    if (rest_read_body(req,
                       &(struct rest_body_type){
                           .schema = k->schema,
                           .numbers = k->numbers,
                           .kind = k->kind,
                           .api_version = k->api_version,
                       },
                       out, st) < 0)
        return -1;
    *out = drop_owners_twice(req, *out);
    return 0;
}

int rest_check_namespace(const struct rest_request *req, const struct json *obj, struct status *st)
{
    str namespace_ = json_get_str(obj, "metadata.namespace");

    if (req->namespace_.n == 0 || namespace_.n == 0 || str_eq(namespace_, req->namespace_))
        return 0;
    return status_set(st, REASON_BAD_REQUEST,
                      "the namespace of the provided object does not match the namespace sent on "
                      "the request");
}

int body_check_identity(const struct rest_request *req, const struct json *obj, struct status *st)
{
    str name = json_get_str(obj, "metadata.name");

    if (req->name.n && name.n && !str_eq(name, req->name))
        return status_set(st, REASON_BAD_REQUEST,
                          "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                          STR_ARG(name), STR_ARG(req->name));
    if (req->name.n && name.n == 0)
        return status_set(
            st, REASON_BAD_REQUEST,
            "the name of the object (%.*s based on URL) was undeterminable: name must "
            "be provided",
            STR_ARG(req->name));
    return req->kind->namespaced ? rest_check_namespace(req, obj, st) : 0;
}

static int set_propagation(struct rest_request *req, const struct json *said,
                           const struct json *orphan, struct status *st)
{
    static const struct {
        const char *name;
        enum propagation value;
    } policies[] = {
        { "Background", PROPAGATION_BACKGROUND },
        { "Foreground", PROPAGATION_FOREGROUND },
        { "Orphan", PROPAGATION_ORPHAN },
    };
    str policy = json_str(said);

    if (said && orphan)
        status_cause(st, CAUSE_INVALID, STR("propagationPolicy"),
                     str_printf(st->arena, "\"%.*s\"", STR_ARG(policy)),
                     "orphanDependents and deletionPropagation cannot be both set");
    req->delete.cascades = orphan && !json_bool(orphan);
    if (orphan)
        req->delete.propagation = json_bool(orphan) ? PROPAGATION_ORPHAN : PROPAGATION_BACKGROUND;
    if (!said)
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

    if (req->body.n == 0)
        return 0;
    if (parse(req, schema, true, NULL, &raw, st) < 0)
        return refuse_options(req, st);
    if (raw->type == JSON_NULL)
        raw = &json_empty_object;
    req->sent = raw;
    if (refuse_other_options(raw, st) < 0)
        return -1;
    if (schema_decode(req->arena, schema, raw, NULL, &o, st) < 0)
        return -1;
    if (set_propagation(req, json_path(o, "propagationPolicy"), json_path(o, "orphanDependents"),
                        st) < 0)
        return -1;
    set_dry_run(req, json_path(o, "dryRun"), st);
    if (json_path(o, "gracePeriodSeconds")) {
        req->delete.has_grace = true;
        req->delete.grace_s = json_int(json_path(o, "gracePeriodSeconds"), 0);
    }
    req->delete.has_uid = json_path(o, "preconditions.uid") != NULL;
    req->delete.precondition_uid = json_get_str(o, "preconditions.uid");
    req->delete.has_rv = json_path(o, "preconditions.resourceVersion") != NULL;
    req->delete.precondition_rv = json_get_str(o, "preconditions.resourceVersion");
    return status_invalid(st, STR("meta.k8s.io"), STR("DeleteOptions"), STR_NONE);
}
