/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/podspec.h"
#include "kinds/k8s/workload.h"

/*
 * The group resource.k8s.io.  Names and numbers are checked, each by itself; whether a claim can
 * be met is judged, and devices are given, by the member it is in.
 * k8s: pkg/apis/resource/validation, pkg/registry/resource
 */

/* Each item has the member, and that has the word. */
static void check_items(struct status *st, const struct site *list, const char *member,
                        const char *word)
{
    site_each(item, list)
    {
        struct site in = site_in(&item, member), text = site_in(&in, word);

        if (in.v)
            (void)site_required(st, &text);
        else
            site_missing(st, &in, "");
    }
}

/* ---- classes ---- */

static void class_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site selectors = site_in(&spec, "selectors"), config = site_in(&spec, "config");

    (void)c;
    check_items(st, &selectors, "cel", "expression");
    check_items(st, &config, "opaque", "driver");
}

static void plain_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops class_ops = { .validate = class_validate, .cells = plain_cells };

/* ---- claims ---- */

static const struct json *fill_count(struct arena *a, const struct json *request)
{
    struct json one = json_of_int(1);

    if (!str_is(json_get_str(request, "allocationMode"), "ExactCount") ||
        json_int(json_get(request, STR("count")), 0))
        return request;
    return json_set(a, request, "count", &one);
}

static struct json fill_request(struct arena *a, const struct json *request)
{
    const struct json *exactly = json_get(request, STR("exactly"));
    const struct json *ways = json_get(request, STR("firstAvailable"));
    struct json_array list = json_array_new(a);

    if (exactly)
        request = json_set(a, request, "exactly", fill_count(a, exactly));
    if (!ways)
        return *request;
    json_for_each (way, ways)
        json_push(&list, *fill_count(a, way));
    return *json_set(a, request, "firstAvailable", json_array_done(&list));
}

/* One device where nothing is said. */
static const struct json *fill_claim(struct arena *a, const struct json *obj, const char *path)
{
    const struct json *requests = json_path(obj, path);
    struct json_array list = json_array_new(a);

    if (!json_is(requests, JSON_ARRAY))
        return obj;
    json_for_each (r, requests)
        json_push(&list, fill_request(a, r));
    return json_set(a, obj, path, json_array_done(&list));
}

static const struct json *claim_defaults(const struct kind_context *c, const struct json *obj)
{
    return fill_claim(c->arena, obj, "spec.devices.requests");
}

static const struct json *template_defaults(const struct kind_context *c, const struct json *obj)
{
    return fill_claim(c->arena, obj, "spec.spec.devices.requests");
}

static void check_wanted(struct status *st, const struct site *r)
{
    static const char *const modes[] = { "All", "ExactCount", NULL };
    struct site class = site_in(r, "deviceClassName"), mode = site_in(r, "allocationMode");
    struct site count = site_in(r, "count"), selectors = site_in(r, "selectors");

    if (!site_required(st, &class))
        (void)site_name(st, &class, NAME_SUBDOMAIN);
    check_items(st, &selectors, "cel", "expression");
    site_enum(st, &mode, modes);
    if (json_int(count.v, 1) < 0)
        site_invalid(st, &count, "must be greater than zero");
}

static void check_request(struct status *st, const struct site *r)
{
    struct site exactly = site_in(r, "exactly"), ways = site_in(r, "firstAvailable");
    struct site name = site_word_in(r, "name");

    (void)site_name(st, &name, NAME_LABEL);
    if (exactly.v)
        check_wanted(st, &exactly);
    site_each(way, &ways)
    {
        name = site_word_in(&way, "name");
        (void)site_name(st, &name, NAME_LABEL);
        check_wanted(st, &way);
    }
}

static void check_claim(struct status *st, const struct site *spec)
{
    struct site devices = site_in(spec, "devices"), requests = site_in(&devices, "requests");
    struct site config = site_in(&devices, "config");

    site_each(r, &requests) check_request(st, &r);
    check_items(st, &config, "opaque", "driver");
}

static void claim_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    if (c->create)
        check_claim(st, &spec);
}

static void spec_stays(const struct kind_context *c, const struct json *obj, const struct json *old,
                       struct status *st)
{
    (void)c;
    check_immutable(st, "spec", obj, old);
}

static void claim_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    bool given = json_path(obj, "status.allocation") != NULL;

    cell_str(cells, obj, "metadata.name");
    cell_text(cells, str_printf(a, "%s%s%s",
                                json_path(obj, "metadata.deletionTimestamp") ? "deleted," : "",
                                given ? "allocated" : "pending",
                                json_len(json_path(obj, "status.reservedFor")) ? ",reserved" : ""));
    cell_age(cells, obj, now_s);
}

static const struct kind_ops claim_ops = {
    .defaults = claim_defaults,
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = claim_validate,
    .validate_update = spec_stays,
    .cells = claim_cells,
};

static void template_validate(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    struct site root = site_root(obj), outer = site_in(&root, "spec");
    struct site spec = site_in(&outer, "spec");

    (void)c;
    podspec_check_template_meta(st, &outer);
    check_claim(st, &spec);
}

static const struct kind_ops template_ops = {
    .defaults = template_defaults,
    .validate = template_validate,
    .validate_update = spec_stays,
    .cells = plain_cells,
};

/* ---- slices ---- */

static void slice_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site driver = site_in(&spec, "driver"), pool = site_in(&spec, "pool");
    struct site name = site_in(&pool, "name"), count = site_in(&pool, "resourceSliceCount");
    struct site generation = site_in(&pool, "generation"), devices = site_in(&spec, "devices");

    (void)c;
    (void)site_required(st, &driver);
    (void)site_required(st, &name);
    if (json_int(count.v, 0) <= 0)
        site_invalid(st, &count, "must be greater than zero");
    if (json_int(generation.v, 0) < 0)
        site_invalid(st, &generation, "must be greater than or equal to zero");
    site_each(d, &devices)
    {
        name = site_word_in(&d, "name");
        (void)site_name(st, &name, NAME_LABEL);
    }
}

static void slice_update(const struct kind_context *c, const struct json *obj,
                         const struct json *old, struct status *st)
{
    static const char *const stay[] = { "spec.pool.name", "spec.driver", "spec.nodeName" };

    (void)c;
    for (size_t i = 0; i < GROUP_LEN(stay); i++)
        check_immutable(st, stay[i], obj, old);
}

static void slice_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    str node = json_get_str(obj, "spec.nodeName");

    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_text(cells, node.n ? node : STR("<unset>"));
    cell_str(cells, obj, "spec.driver");
    cell_str(cells, obj, "spec.pool.name");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops slice_ops = {
    .validate = slice_validate,
    .validate_update = slice_update,
    .warn = warn_resourceslice,
    .cells = slice_cells,
};

/* ---- the group ---- */

static const struct column plain_columns[] = { NAME_COLUMN, AGE_COLUMN };
static const struct column claim_columns[] = {
    NAME_COLUMN,
    COLUMN("State", "", 0, "Whether it was given, and to somebody."),
    AGE_COLUMN,
};
static const struct column slice_columns[] = {
    NAME_COLUMN,
    COLUMN("Node", "", 0, "The node."),
    COLUMN("Driver", "", 0, "Who looks after the devices."),
    COLUMN("Pool", "", 0, "The pool they are in."),
    AGE_COLUMN,
};
static const struct field_label slice_labels[] = {
    { .label = STR_INIT("spec.nodeName"), .path = "spec.nodeName" },
    { .label = STR_INIT("spec.driver"), .path = "spec.driver" },
};
static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("DeviceClass", "deviceclasses", "deviceclass"),
        .delete_returns_object = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(columns, plain_columns),
        .ops = &class_ops,
    },
    {
        KIND_NAMES("ResourceClaim", "resourceclaims", "resourceclaim"),
        .delete_returns_object = true,
        .namespaced = true,
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        .status_meta = STATUS_META_ALL,
        LIST(subresources, status_only),
        LIST(columns, claim_columns),
        .ops = &claim_ops,
    },
    {
        KIND_NAMES("ResourceClaimTemplate", "resourceclaimtemplates", "resourceclaimtemplate"),
        .delete_returns_object = true,
        .namespaced = true,
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        LIST(columns, plain_columns),
        .ops = &template_ops,
    },
    {
        KIND_NAMES("ResourceSlice", "resourceslices", "resourceslice"),
        .delete_returns_object = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(columns, slice_columns),
        LIST(field_labels, slice_labels),
        .ops = &slice_ops,
    },
};

const struct group group_resource = {
    .name = STR_INIT("resource.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.resource.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
