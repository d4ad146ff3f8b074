/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/custom.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "kinds/crd/custom_check.h"
#include "kinds/frame/check.h"
#include "kinds/frame/group.h"
#include "object/crdschema/structural.h"
#include "object/meta/api_version.h"
#include "object/meta/jsonpath.h"
#include "object/meta/schema_table.h"

struct custom {
    atomic_uint refs;
    struct arena *arena;
    const struct json *crd;
    const struct kind **served;
    size_t nserved;
};

/* ---- strategy ---- */

static bool has_status(const struct kind *k)
{
    return kind_subresource(k, STR("status")) != NULL;
}

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    return has_status(c->kind) && json_get(obj, STR("status"))
               ? json_set(c->arena, obj, "status", NULL)
               : obj;
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    if (!has_status(c->kind))
        return obj;
    if (str_is(c->subresource, "status"))
        return check_only_status(c->arena, obj, old);
    return check_keep(c->arena, obj, old, "status");
}

static void check(const struct kind_context *c, const struct json *obj, const struct json *old,
                  struct status *st)
{
    bool status = str_is(c->subresource, "status");
    enum structural_part part = status ? STRUCTURAL_STATUS : STRUCTURAL_WHOLE;

    structural_validate_values(c->kind->schema, obj, old, part, st);
    custom_check_scale(st, c->kind, obj, status);
    structural_validate_rest(c->kind->schema, obj, old, part, st);
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    if (c->create)
        check(c, obj, NULL, st);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    check(c, obj, old, st);
}

static const struct kind_ops custom_ops = {
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .warn = custom_warn,
};

/* ---- making ---- */

static bool condition_is(const struct json *crd, const char *type, const char *value)
{
    json_for_each (c, json_path(crd, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return str_is(json_get_str(c, "status"), value);
    return false;
}

bool custom_is_served(const struct json *crd)
{
    return condition_is(crd, "Established", "True");
}

static bool is_terminating(const struct json *crd)
{
    return condition_is(crd, "Terminating", "True");
}

uint64_t custom_hash(const struct json *crd)
{
    scoped_buf b = { .max = 64 << 20 };
    const struct json *spec = json_get(crd, STR("spec"));
    const struct json *names = json_path(crd, "status.acceptedNames");

    json_print_canonical(&b, spec ? spec : &json_null);
    json_print_canonical(&b, names ? names : &json_null);
    buf_byte(&b, is_terminating(crd) ? '1' : '0');
    return str_hash(buf_str(&b), 0x637573, 0x746f6d);
}

static const str *strings(struct arena *a, const struct json *list, size_t *n)
{
    str *out = arena_array(a, str, json_len(list) + 1);

    *n = 0;
    json_for_each (s, list)
        out[(*n)++] = json_str(s);
    return out;
}

/* "com.example.g.v1.Widget": the group's labels turned around, as in a Java package */
static str openapi_name(struct arena *a, const struct kind *k)
{
    str out = STR_NONE;

    for (str rest = k->group, label; str_split(&rest, '.', &label);)
        out = out.n ? str_printf(a, "%.*s.%.*s", STR_ARG(label), STR_ARG(out)) : label;
    return str_printf(a, "%.*s%s%.*s.%.*s", STR_ARG(out), out.n ? "." : "", STR_ARG(k->version),
                      STR_ARG(k->kind));
}

static int path_of(struct arena *a, str text, const struct jsonpath **out, struct status *st)
{
    return jsonpath_parse(a, text, out, st);
}

static int add_columns(struct arena *a, struct kind *k, const struct json *version,
                       struct status *st)
{
    const struct json *given = json_get(version, STR("additionalPrinterColumns"));
    size_t n = 1 + (json_len(given) ? json_len(given) : 1);
    struct column *out = arena_array(a, struct column, n);

    out[0] = (struct column)NAME_COLUMN;
    if (path_of(a, STR(".metadata.name"), &out[0].path, st) < 0)
        return -1;
    out[1] = (struct column){ .name = STR("Age"),
                              .type = STR("date"),
                              .description = STR("How long ago it was made.") };
    if (path_of(a, STR(".metadata.creationTimestamp"), &out[1].path, st) < 0)
        return -1;
    for (size_t i = 0; i < json_len(given); i++) {
        const struct json *c = json_at(given, i);

        out[i + 1] = (struct column){ .name = json_get_str(c, "name"),
                                      .type = json_get_str(c, "type"),
                                      .format = json_get_str(c, "format"),
                                      .description = json_get_str(c, "description"),
                                      .priority = (int)json_int(json_get(c, STR("priority")), 0) };
        if (path_of(a, json_get_str(c, "jsonPath"), &out[i + 1].path, st) < 0)
            return -1;
    }
    k->columns = out;
    k->ncolumns = n;
    return 0;
}

/* The path as json_path() takes it; a CRD's scale and selectable fields are names only. */
static int dotted(struct arena *a, str text, str *out, struct status *st)
{
    const struct jsonpath *p;

    if (text.n == 0)
        return 0;
    if (path_of(a, text, &p, st) < 0)
        return -1;
    *out = jsonpath_dotted(p);
    return 0;
}

static int add_subresources(struct arena *a, struct kind *k, const struct json *version,
                            struct status *st)
{
    const struct json *given = json_get(version, STR("subresources"));
    const struct json *scale = json_get(given, STR("scale"));
    struct subresource *out = arena_array(a, struct subresource, 2);
    struct scale *paths = arena_new_of(a, struct scale);

    if (json_get(given, STR("status")))
        out[k->nsubresources++] =
            (struct subresource){ .name = STR("status"), .verbs = VERBS_STATUS };
    if (scale) {
        if (dotted(a, json_get_str(scale, "specReplicasPath"), &paths->replicas, st) < 0 ||
            dotted(a, json_get_str(scale, "statusReplicasPath"), &paths->status_replicas, st) < 0 ||
            dotted(a, json_get_str(scale, "labelSelectorPath"), &paths->selector, st) < 0)
            return -1;
        out[k->nsubresources++] = (struct subresource){ .name = STR("scale"),
                                                        .verbs = VERBS_STATUS,
                                                        .group = STR("autoscaling"),
                                                        .version = STR("v1"),
                                                        .kind = STR("Scale"),
                                                        .scale = paths };
    }
    k->subresources = out;
    k->status_counts = !has_status(k);
    return 0;
}

static int add_fields(struct arena *a, struct kind *k, const struct json *version,
                      struct status *st)
{
    const struct json *given = json_get(version, STR("selectableFields"));
    struct field_label *out = arena_array(a, struct field_label, json_len(given) + 1);

    json_for_each (f, given) {
        str path = STR_NONE;

        if (dotted(a, json_get_str(f, "jsonPath"), &path, st) < 0)
            return -1;
        out[k->nfield_labels++] =
            (struct field_label){ .label = path, .path = str_z(a, path), .indexed = true };
    }
    k->field_labels = out;
    return 0;
}

static int add_schema(struct custom *c, struct kind *k, const struct json *version,
                      const struct catalog *native, struct status *st)
{
    const struct json *given = json_path(version, "schema.openAPIV3Schema");
    bool preserve = json_bool(json_path(c->crd, "spec.preserveUnknownFields"));
    const struct schema *meta =
        schema_set_find(native->schemas, STR("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
    const struct schema *compiled;
    struct schema *named;
    scoped_buf text = { .max = 64 << 20 };

    if (structural_compile(c->arena, meta, given, preserve, &compiled, st) < 0)
        return -1;
    named = arena_new_of(c->arena, struct schema);
    *named = *compiled;
    named->name = openapi_name(c->arena, k);
    k->schema = named;
    buf_str_append(&text, k->type_prefix);
    json_print_canonical(&text, given ? given : &json_null);
    k->schema_id = (uint32_t)str_hash(buf_str(&text), preserve, 0) | 1;
    return 0;
}

/* An instance of profile minimal gets Kubernetes' own kinds from its members; clients write them in
 * protobuf all the same. */
static void add_numbers(struct kind *k, const struct catalog *all)
{
    const struct kind *native = catalog_find_kind(all, k->api_version, k->kind);

    k->json_only = !native || native->json_only;
    k->numbers = k->json_only ? NULL : native->schema;
}

/* The best of the versions that are better than this one, served and not deprecated themselves. */
static str better_version(const struct json *crd, str than)
{
    str best = STR_NONE;

    json_for_each (v, json_path(crd, "spec.versions")) {
        str name = json_get_str(v, "name");

        if (json_bool(json_get(v, STR("served"))) && !json_bool(json_get(v, STR("deprecated"))) &&
            api_version_cmp(name, best.n ? best : than) > 0)
            best = name;
    }
    return best;
}

/* k8s: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, defaultDeprecationWarning
 */
static str deprecation(struct custom *c, const struct kind *k, const struct json *version)
{
    const struct json *text = json_get(version, STR("deprecationWarning"));
    str better;

    if (!json_bool(json_get(version, STR("deprecated"))))
        return STR_NONE;
    if (json_is(text, JSON_STRING))
        return json_str(text);
    better = better_version(c->crd, k->version);
    if (better.n == 0)
        return str_printf(c->arena, "%.*s %.*s is deprecated", STR_ARG(k->api_version),
                          STR_ARG(k->kind));
    return str_printf(c->arena, "%.*s %.*s is deprecated; use %.*s/%.*s %.*s",
                      STR_ARG(k->api_version), STR_ARG(k->kind), STR_ARG(k->group), STR_ARG(better),
                      STR_ARG(k->kind));
}

static int make_kind(struct custom *c, struct kind *k, const struct json *version,
                     const struct catalog *native, struct status *st)
{
    const struct json *names = json_path(c->crd, "status.acceptedNames");
    struct arena *a = c->arena;

    k->group = json_get_str(c->crd, "spec.group");
    k->version = json_get_str(version, "name");
    k->kind = json_get_str(names, "kind");
    k->plural = json_get_str(names, "plural");
    k->singular = json_get_str(names, "singular");
    k->list_kind = json_get_str(names, "listKind");
    k->short_names = strings(a, json_get(names, STR("shortNames")), &k->nshort_names);
    k->categories = strings(a, json_get(names, STR("categories")), &k->ncategories);
    k->namespaced = str_is(json_get_str(c->crd, "spec.scope"), "Namespaced");
    k->verbs = VERBS_ALL;
    if (is_terminating(c->crd))
        k->closed = STR("create not allowed while custom resource definition is terminating");
    k->name_rule = NAME_SUBDOMAIN;
    k->generation = true;
    k->bare_finalizers = true;
    k->storage_group = k->group;
    k->storage_plural = k->plural;
    k->ops = &custom_ops;
    if (str_is(json_get_str(c->crd, "spec.conversion.strategy"), "Webhook"))
        k->conversion = json_path(c->crd, "spec.conversion.webhook.clientConfig");
    k->api_version = k->group.n ? str_printf(a, "%.*s/%.*s", STR_ARG(k->group), STR_ARG(k->version))
                                : k->version;
    k->type_prefix = str_printf(a, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",", STR_ARG(k->kind),
                                STR_ARG(k->api_version));
    k->deprecated = deprecation(c, k, version);
    add_numbers(k, native);
    if (add_subresources(a, k, version, st) < 0 || add_columns(a, k, version, st) < 0 ||
        add_fields(a, k, version, st) < 0)
        return -1;
    return add_schema(c, k, version, native, st);
}

static int make_kinds(struct custom *c, uint32_t type_id, const struct catalog *native,
                      struct status *st)
{
    const struct json *versions = json_path(c->crd, "spec.versions");
    size_t n = json_len(versions);
    struct kind *kinds = arena_array(c->arena, struct kind, n + 1), *stored = kinds;

    c->served = arena_array(c->arena, const struct kind *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct json *version = json_at(versions, i);

        if (make_kind(c, &kinds[i], version, native, st) < 0)
            return -1;
        kinds[i].type_id = type_id;
        kinds[i].serial = kind_serial();
        if (json_bool(json_get(version, STR("served"))))
            c->served[c->nserved++] = &kinds[i];
        if (json_bool(json_get(version, STR("storage"))))
            stored = &kinds[i];
    }
    for (size_t i = 0; i < n; i++) {
        kinds[i].storage = stored;
        kinds[i].versions = kinds;
        kinds[i].nversions = n;
    }
    return 0;
}

struct custom *custom_new(const struct json *crd, uint32_t type_id, const struct catalog *native,
                          struct status *st)
{
    struct custom *c = mem_zalloc(sizeof(*c));

    atomic_store(&c->refs, 1);
    c->arena = arena_new();
    c->crd = json_dup(c->arena, crd);
    if (make_kinds(c, type_id, native, st) == 0)
        return c;
    custom_unref(c);
    return NULL;
}

struct custom *custom_ref(struct custom *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void custom_unref(struct custom *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_free(c->arena);
    free(c);
}

bool custom_is_alone(const struct custom *c)
{
    return atomic_load_explicit(&c->refs, memory_order_acquire) == 1;
}

size_t custom_kinds(const struct custom *c, const struct kind *const **out)
{
    *out = c->served;
    return c->nserved;
}

size_t custom_bytes(const struct custom *c)
{
    return sizeof(*c) + arena_size(c->arena);
}
