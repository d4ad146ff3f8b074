/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "base/clock.h"
#include "kinds/crd/groups.h"
#include "kinds/frame/check.h"
#include "object/meta/format.h"

#define CLEANUP "customresourcecleanup.apiextensions.k8s.io"

static const struct json *boxed(struct arena *a, str s)
{
    return json_box(a, json_of_str(s));
}

static const struct json *storage_version(const struct json *obj)
{
    json_for_each (v, json_path(obj, "spec.versions")) {
        if (json_bool(json_get(v, STR("storage"))))
            return v;
    }
    return NULL;
}

/* The version in which objects are stored from now on is one of those that there may be. */
static const struct json *with_stored(struct arena *a, const struct json *obj)
{
    const struct json *stored = json_path(obj, "status.storedVersions");
    const struct json *version = storage_version(obj);
    str name = json_get_str(version, "name");
    struct json_array all = json_array_new(a);

    json_for_each (v, stored) {
        if (str_eq(json_str(v), name))
            return obj;
        json_push(&all, *v);
    }
    if (!version)
        return obj;
    json_push(&all, json_of_str(name));
    return json_set(a, obj, "status.storedVersions", json_array_done(&all));
}

/* k8s: pkg/apis/apiextensions/v1/defaults.go */
static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    static const struct json port = { .type = JSON_INT, .i = 443 };
    const struct json *service = json_path(obj, "spec.conversion.webhook.clientConfig.service");
    str kind = json_get_str(obj, "spec.names.kind");
    struct arena *a = c->arena;

    if (json_get_str(obj, "spec.names.singular").n == 0 && kind.n)
        obj = json_set(a, obj, "spec.names.singular", boxed(a, str_lower(a, kind)));
    if (json_get_str(obj, "spec.names.listKind").n == 0 && kind.n)
        obj = json_set(a, obj, "spec.names.listKind",
                       boxed(a, str_printf(a, "%.*sList", STR_ARG(kind))));
    if (!json_path(obj, "spec.conversion"))
        obj = json_set(a, obj, "spec.conversion.strategy", boxed(a, STR("None")));
    if (service && !json_get(service, STR("port")))
        obj = json_set(a, obj, "spec.conversion.webhook.clientConfig.service.port", &port);
    if (json_len(json_path(obj, "status.storedVersions")) == 0)
        obj = with_stored(a, obj);
    return obj;
}

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    const struct json *zero = schema_field(c->kind->schema, STR("status"))->type->zero;

    return with_stored(c->arena, json_set(c->arena, obj, "status", zero));
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    if (str_is(c->subresource, "status"))
        return check_keep(c->arena, obj, old, "spec");
    return with_stored(c->arena, check_keep(c->arena, obj, old, "status"));
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    const struct schema_field *meta = schema_field(c->kind->schema, STR("metadata"));

    if (str_is(c->subresource, "status"))
        crd_validate_status(st, obj);
    else
        crd_validate(st, obj, meta->type, c->create);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    if (!str_is(c->subresource, "status"))
        crd_validate_update(st, obj, old);
}

struct formats {
    struct arena *arena;
    struct schema_faults *out;
};

static void find_format(void *arg, const struct json *s)
{
    struct formats *f = arg;
    str format = json_get_str(s, "format");

    if (format.n && str_is(json_get_str(s, "type"), "string") && !format_find(format) &&
        !str_is(format, "password"))
        schema_fault(f->arena, f->out, "unrecognized format %.*s",
                     STR_ARG(check_quote(f->arena, format)));
}

static void find_formats(struct formats *f, const struct json *obj)
{
    json_for_each (v, json_path(obj, "spec.versions"))
        crd_each_schema(json_path(v, "schema.openAPIV3Schema"), find_format, f);
}

static void warn(const struct kind_context *c, const struct json *obj, const struct json *old,
                 struct schema_faults *warnings)
{
    struct schema_faults now = { 0 }, before = { 0 };

    find_formats(&(struct formats){ c->arena, &now }, obj);
    if (old)
        find_formats(&(struct formats){ c->arena, &before }, old);
    for (size_t i = 0; i < now.n; i++) {
        size_t k = 0;

        while (k < before.n && !str_eq(before.texts[k], now.texts[i]))
            k++;
        if (k == before.n)
            schema_fault(c->arena, warnings, "%.*s", STR_ARG(now.texts[i]));
    }
}

static const struct json *with_finalizer(struct arena *a, const struct json *obj)
{
    struct json_array all = json_array_new(a);

    json_for_each (f, json_path(obj, "metadata.finalizers")) {
        if (str_is(json_str(f), CLEANUP))
            return obj;
        json_push(&all, *f);
    }
    json_push(&all, json_of_str(STR(CLEANUP)));
    return json_set(a, obj, "metadata.finalizers", json_array_done(&all));
}

static const struct json *with_terminating(struct arena *a, const struct json *obj, str now)
{
    struct json_object o = json_object_new(a);
    struct json_array all = json_array_new(a);

    json_for_each (c, json_path(obj, "status.conditions")) {
        if (!str_is(json_get_str(c, "type"), "Terminating"))
            json_push(&all, *c);
    }
    json_add(&o, STR("type"), json_of_str(STR("Terminating")));
    json_add(&o, STR("status"), json_of_str(STR("True")));
    json_add(&o, STR("lastTransitionTime"), json_of_str(now));
    json_add(&o, STR("reason"), json_of_str(STR("InstanceDeletionPending")));
    json_add(&o, STR("message"),
             json_of_str(STR("CustomResourceDefinition marked for deletion; "
                             "CustomResource deletion will begin soon")));
    json_push(&all, json_object_value(&o));
    return json_set(a, obj, "status.conditions", json_array_done(&all));
}

/* It stays until the objects it describes are gone: the controller takes the finalizer off.
 * k8s: pkg/registry/customresourcedefinition/etcd.go */
static const struct json *begin_delete(const struct kind_context *c, const struct json *obj)
{
    char text[TIME_TEXT_SIZE];
    str now;

    if (json_get_str(obj, "metadata.deletionTimestamp").n)
        return json_len(json_path(obj, "metadata.finalizers")) ? obj : NULL;
    now = str_dup(c->arena, (str){ text, time_format_seconds(text, c->now_s) });
    obj = json_set(c->arena, obj, "metadata.deletionTimestamp", boxed(c->arena, now));
    return with_terminating(c->arena, with_finalizer(c->arena, obj), now);
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    (void)a;
    (void)now_s;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "metadata.creationTimestamp");
}

static const struct kind_ops crd_ops = {
    .defaults = defaults,
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn,
    .begin_delete = begin_delete,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    { STR_INIT("Created At"), STR_INIT("date"), STR_INIT(""), STR_INIT("When it was made."),
      .priority = 0 },
};

static const str short_names[] = { STR_INIT("crd"), STR_INIT("crds") };
static const str categories[] = { STR_INIT("api-extensions") };

static const struct subresource subresources[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

enum { INDEXED_SHORT_NAMES = 1000 };

static void add_name(struct arena *a, struct json_array *out, const char *space, str group,
                     str name)
{
    if (name.n)
        json_push(out,
                  json_of_str(str_printf(a, "%s/%.*s/%.*s", space, STR_ARG(group), STR_ARG(name))));
}

static void names_of(struct arena *a, const struct json *tree, struct json_array *out)
{
    const struct json *names = json_path(tree, "status.acceptedNames");
    str group = json_get_str(tree, "spec.group");
    size_t shorts = 0;

    add_name(a, out, "resources", group, json_get_str(names, "plural"));
    add_name(a, out, "resources", group, json_get_str(names, "singular"));
    add_name(a, out, "kinds", group, json_get_str(names, "kind"));
    add_name(a, out, "kinds", group, json_get_str(names, "listKind"));
    json_for_each (s, json_get(names, STR("shortNames")))
        if (shorts++ < INDEXED_SHORT_NAMES)
            add_name(a, out, "resources", group, json_str(s));
    json_for_each (c, json_path(tree, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "NamesAccepted") &&
            str_is(json_get_str(c, "status"), "False"))
            json_push(out, json_of_str(str_printf(a, "refused/%.*s", STR_ARG(group))));
}

/* Beyond Kubernetes: by this the names that are taken, and who waits for one, are found. */
static const struct field_label labels[] = {
    { .label = STR_INIT("status.names"), .each = names_of, .indexed = true },
};

static struct kind kinds[] = {
    {
        .kind = STR_INIT("CustomResourceDefinition"),
        .plural = STR_INIT("customresourcedefinitions"),
        .singular = STR_INIT("customresourcedefinition"),
        LIST(short_names, short_names),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        .name_rule = NAME_SUBDOMAIN,
        .generation = true,
        .bare_finalizers = true,
        LIST(subresources, subresources),
        LIST(columns, columns),
        LIST(field_labels, labels),
        .ops = &crd_ops,
    },
};

const struct group group_apiextensions = {
    .name = STR_INIT("apiextensions.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
