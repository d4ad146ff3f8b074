/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/devices_check.h"
#include "kinds/k8s/devices_status.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/podspec.h"
#include "kinds/k8s/workload.h"

/* The group resource.k8s.io.  k8s: pkg/apis/resource/validation, pkg/registry/resource */

enum { REQUESTS_MAX = 32, SELECTORS_MAX = 32, SUBREQUESTS_MAX = 8, DEVICES_MAX = 128 };

static void check_selectors(struct status *st, struct site *list)
{
    devices_check_count(st, list, SELECTORS_MAX);
    site_each(s, list)
    {
        struct site cel = site_in(&s, "cel"), expression = site_in(&cel, "expression");

        if (cel.v)
            devices_check_expression(st, &expression);
        else
            site_missing(st, &cel, "");
    }
}

static void check_config(struct status *st, struct site *list)
{
    devices_check_count(st, list, REQUESTS_MAX);
    site_each(c, list) devices_check_opaque(st, &c);
}

/* ---- classes ---- */

static void class_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site selectors = site_in(&spec, "selectors"), config = site_in(&spec, "config");
    struct site extended = site_in(&spec, "extendedResourceName");

    (void)c;
    check_selectors(st, &selectors);
    check_config(st, &config);
    if (extended.v)
        (void)site_qualified(st, &extended);
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

static void check_device_count(struct status *st, const struct site *r)
{
    static const char *const modes[] = { "All", "ExactCount", NULL };
    struct site class = site_in(r, "deviceClassName"), mode = site_in(r, "allocationMode");
    struct site count = site_in(r, "count"), selectors = site_in(r, "selectors");

    if (!site_required(st, &class))
        (void)site_name(st, &class, NAME_SUBDOMAIN);
    check_selectors(st, &selectors);
    site_enum(st, &mode, modes);
    if (str_is(json_str(mode.v), "All") && json_int(count.v, 0))
        site_fault(st, &count, CAUSE_INVALID, "must not be specified when allocationMode is 'All'");
    else if (str_is(json_str(mode.v), "ExactCount") && json_int(count.v, 0) <= 0)
        site_invalid(st, &count, "must be greater than zero");
}

/* k8s: told behind what is wrong with each of them */
static void check_twice(struct status *st, const struct site *list, const char *key)
{
    struct map seen = { 0 };

    site_each(item, list)
    {
        if (key)
            item.v = json_get(item.v, str_of(key));
        if (site_seen(&seen, json_str(item.v)))
            site_duplicate(st, &item);
    }
    map_release(&seen);
}

static void check_request(struct status *st, const struct site *r)
{
    struct site exactly = site_in(r, "exactly"), ways = site_in(r, "firstAvailable");
    struct site name = site_in(r, "name"), shown = *r;

    (void)site_name(st, &name, NAME_LABEL);
    if (json_len(ways.v) && exactly.v) {
        shown.v = &json_null;
        site_invalid(st, &shown,
                     "exactly one of `exactly` or `firstAvailable` is required, but multiple "
                     "fields are set");
        return;
    }
    if (!json_len(ways.v) && !exactly.v)
        site_missing(st, r, "exactly one of `exactly` or `firstAvailable` is required");
    if (exactly.v)
        check_device_count(st, &exactly);
    devices_check_count(st, &ways, SUBREQUESTS_MAX);
    site_each(way, &ways)
    {
        name = site_in(&way, "name");
        (void)site_name(st, &name, NAME_LABEL);
        check_device_count(st, &way);
    }
    check_twice(st, &ways, "name");
}

static void check_mentions(struct status *st, struct site *list, const struct map *names)
{
    devices_check_count(st, list, REQUESTS_MAX);
    site_each(m, list) devices_check_mention(st, &m, names);
    check_twice(st, list, NULL);
}

static void check_claim(struct status *st, const struct site *spec)
{
    struct site devices = site_in(spec, "devices"), requests = site_in(&devices, "requests");
    struct site constraints = site_in(&devices, "constraints"), list;
    struct site config = site_in(&devices, "config");
    struct map known = { 0 };

    devices_check_count(st, &requests, REQUESTS_MAX);
    site_each(r, &requests) check_request(st, &r);
    check_twice(st, &requests, "name");
    devices_gather_names(st->arena, spec->v, &known);
    devices_check_count(st, &constraints, REQUESTS_MAX);
    site_each(c, &constraints)
    {
        struct site same = site_in(&c, "matchAttribute");

        list = site_in(&c, "requests");
        check_mentions(st, &list, &known);
        if (same.v)
            devices_check_qualified(st, &same, json_str(same.v), true);
        else
            site_missing(st, &same, "");
    }
    site_each(c, &config)
    {
        list = site_in(&c, "requests");
        check_mentions(st, &list, &known);
    }
    check_config(st, &config);
    map_release(&known);
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
    if (c->subresource.n)
        devices_check_status(st, obj, old);
    else
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

static void check_pool(struct status *st, const struct site *pool)
{
    struct site name = site_in(pool, "name"), count = site_in(pool, "resourceSliceCount");
    struct site generation = site_in(pool, "generation");

    devices_check_pool(st, &name);
    if (json_int(count.v, 0) <= 0)
        site_invalid(st, &count, "must be greater than zero");
    if (json_int(generation.v, 0) < 0)
        site_invalid(st, &generation, "must be greater than or equal to zero");
}

/* One of the ways to say where devices can be used; true if it is said. */
static bool check_way(struct status *st, const struct site *spec, const char *name)
{
    struct site way = site_in(spec, name), terms = site_in(&way, "nodeSelectorTerms");

    if (!way.v)
        return false;
    if (json_is(way.v, JSON_BOOL) ? !json_bool(way.v)
                                  : !json_is(way.v, JSON_OBJECT) && json_str(way.v).n == 0) {
        site_fault(st, &way, CAUSE_INVALID, "must be either unset or set to %s",
                   json_is(way.v, JSON_BOOL) ? "true" : "a non-empty string");
        return false;
    }
    if (json_is(way.v, JSON_STRING))
        (void)site_name(st, &way, NAME_SUBDOMAIN);
    if (!json_is(way.v, JSON_OBJECT))
        return true;
    podspec_check_node_selector(st, &way);
    if (json_len(terms.v) != 1)
        site_invalid(st, &terms, "must have exactly one node selector term");
    return true;
}

/* It is said in exactly one way. */
static void check_place(struct status *st, const struct site *spec)
{
    static const char *const ways[] = { "nodeName", "nodeSelector", "allNodes",
                                        "perDeviceNodeSelection" };
    str said = STR_NONE;
    struct site shown = *spec;
    struct json text;
    size_t n = 0;

    for (size_t i = 0; i < GROUP_LEN(ways); i++)
        if (check_way(st, spec, ways[i]))
            said = str_printf(st->arena, "%.*s%s`%s`", STR_ARG(said), n++ ? ", " : "", ways[i]);
    text = json_of_str(str_printf(st->arena, "{%.*s}", STR_ARG(said)));
    shown.v = &text;
    if (n == 0)
        site_missing(st, spec,
                     "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                     "`perDeviceNodeSelection` is required");
    else if (n > 1)
        site_invalid(st, &shown,
                     "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                     "`perDeviceNodeSelection` is required, but multiple fields are set");
}

/* An attribute has one value; k8s shows them all as its own type has them. */
static void check_attribute(struct status *st, const struct site *at)
{
    static const char *const values[][2] = {
        { "IntValue", "int" },
        { "BoolValue", "bool" },
        { "StringValue", "string" },
        { "VersionValue", "version" },
    };
    struct json_object all = json_object_new(st->arena);
    struct json shown = json_of_str(STR_NONE);
    struct site s = *at, version = site_in(at, "version");
    size_t n = 0;

    if (version.v)
        devices_check_version(st, &version);
    for (size_t i = 0; i < GROUP_LEN(values); i++) {
        const struct json *v = json_get(at->v, str_of(values[i][1]));

        n += v != NULL;
        json_add(&all, str_of(values[i][0]), v ? *v : json_null);
    }
    if (n > 1)
        shown = json_object_value(&all);
    s.v = &shown;
    if (n != 1)
        site_invalid(st, &s, "exactly one value must be specified");
}

/* k8s: truncateIfTooLong: of a key that cannot be right both ends are told. */
static str shortened(struct arena *a, str key)
{
    enum { MOST = 63 + 1 + 32, REST = MOST - 3 };

    if (key.n <= MOST)
        return key;
    return str_printf(a, "%.*s...%.*s", STR_ARG(str_sub(key, 0, (REST + 1) / 2)),
                      STR_ARG(str_from(key, key.n - REST / 2)));
}

static void check_device(struct status *st, const struct site *device)
{
    struct site attributes = site_in(device, "attributes"), capacity = site_in(device, "capacity");

    json_for_each_member (m, attributes.v) {
        struct site at = site_key(&attributes, shortened(st->arena, m->name), &m->value);

        devices_check_qualified(st, &at, m->name, false);
        check_attribute(st, &at);
    }
    json_for_each_member (m, capacity.v) {
        struct site at = site_key(&capacity, shortened(st->arena, m->name), &m->value);

        devices_check_qualified(st, &at, m->name, false);
    }
}

static void check_slice(struct status *st, const struct json *obj, const struct json *old)
{
    static const struct json none = { .type = JSON_STRING };
    static const char *const stay[] = { "spec.pool.name", "spec.driver", "spec.nodeName" };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site driver = site_in(&spec, "driver"), pool = site_in(&spec, "pool");
    struct site devices = site_in(&spec, "devices");

    devices_check_driver(st, &driver);
    check_pool(st, &pool);
    for (size_t i = 0; old && i < GROUP_LEN(stay); i++)
        check_immutable(st, stay[i], obj, old);
    check_place(st, &spec);
    devices_check_count(st, &devices, DEVICES_MAX);
    site_each(d, &devices)
    {
        struct site name = site_in(&d, "name");

        name.v = name.v ? name.v : &none;
        (void)site_name(st, &name, NAME_LABEL);
        check_device(st, &d);
    }
    check_twice(st, &devices, "name");
}

static void slice_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    if (c->create)
        check_slice(st, obj, NULL);
}

static void slice_update(const struct kind_context *c, const struct json *obj,
                         const struct json *old, struct status *st)
{
    (void)c;
    check_slice(st, obj, old);
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
