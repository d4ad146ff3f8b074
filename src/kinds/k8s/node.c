/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/resources.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/registry/core/node */

/* podCIDR is the first of podCIDRs; it wins where they differ.  k8s: core/v1/conversion.go */
static const struct json *ranges(struct arena *a, const struct json *obj)
{
    const struct json *one = json_path(obj, "spec.podCIDR");
    const struct json *first = json_at(json_path(obj, "spec.podCIDRs"), 0);
    struct json_array list = json_array_new(a);

    if (!json_str(one).n)
        return first ? json_set(a, obj, "spec.podCIDR", first) : obj;
    if (check_same(one, first))
        return obj;
    json_push(&list, *one);
    return json_set(a, obj, "spec.podCIDRs", json_array_done(&list));
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    const struct json *capacity = json_path(obj, "status.capacity");

    obj = ranges(c->arena, obj);
    if (!capacity || json_path(obj, "status.allocatable"))
        return obj;
    return json_set(c->arena, obj, "status.allocatable", capacity);
}

static void check_taints(struct status *st, const struct site *taints)
{
    struct map seen = { 0 };

    site_each(t, taints)
    {
        struct site key = site_in(&t, "key"), value = site_in(&t, "value");
        struct site effect = site_in(&t, "effect");
        str faults[NAME_FAULTS];
        size_t n = label_value_faults(json_str(value.v), faults);

        (void)site_qualified(st, &key);
        for (size_t i = 0; i < n; i++)
            site_fault(st, &value, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
        if (!site_required(st, &effect))
            podspec_check_effect(st, &effect);
        if (site_seen(&seen, str_printf(st->arena, "%.*s:%.*s", STR_ARG(json_str(key.v)),
                                        STR_ARG(json_str(effect.v)))))
            site_fault(st, &t, CAUSE_DUPLICATE, "taints must be unique by key and effect pair");
    }
    map_release(&seen);
}

/* k8s: validateNodeDeclaredFeatureName: `MyFeature` or `MyFeature/mySubFeature` */
static bool is_feature(str name)
{
    bool begins = true;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';

        if (begins ? !upper && (!lower || i == 0)
                   : !upper && !lower && (c < '0' || c > '9') && c != '/')
            return false;
        begins = c == '/';
    }
    return !begins;
}

static void check_features(struct status *st, const struct site *list)
{
    str before = STR_NONE;

    site_each(f, list)
    {
        str name = json_str(f.v);
        int order = str_cmp(before, name);

        if (f.index && order == 0)
            site_duplicate(st, &f);
        else if (f.index && order > 0)
            site_invalid(st, &f, "list must be sorted alphabetically");
        before = name;
        if (name.n > 253)
            site_fault(st, &f, CAUSE_INVALID,
                       "invalid feature name %.*s: must be no more than 253 characters",
                       STR_ARG(check_quote(st->arena, name)));
        else if (!is_feature(name))
            site_fault(st, &f, CAUSE_INVALID,
                       "invalid feature name %.*s: must start with an UpperCamelCase segment, with "
                       "subsequent segments separated by '/' (e.g., MyFeature or "
                       "MyFeature/mySubFeature), and contain only alphanumeric characters and "
                       "slashes",
                       STR_ARG(check_quote(st->arena, name)));
    }
}

static void check_status(struct status *st, const struct site *status)
{
    static const char *const lists[] = { "capacity", "allocatable" };
    struct site features = site_in(status, "declaredFeatures");

    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        struct site amounts = site_in(status, lists[i]);

        json_for_each_member (m, amounts.v) {
            struct site one = { .up = &amounts,
                                .kind = SITE_MEMBER,
                                .name = str_z(st->arena, m->name),
                                .v = &m->value };

            resource_check_value(st, site_path(st->arena, &one), m->name, json_str(&m->value));
        }
    }
    check_features(st, &features);
}

static void check_known_once(struct status *st, const struct site *status)
{
    struct site addresses = site_in(status, "addresses");
    struct map seen = { 0 };

    site_each(a, &addresses)
    {
        if (site_seen(&seen, str_printf(st->arena, "%.*s\n%.*s", STR_ARG(site_str(&a, "type")),
                                        STR_ARG(site_str(&a, "address")))))
            site_duplicate(st, &a);
    }
    map_release(&seen);
}

/* The configuration of kubelets from here is no more: nobody can begin with it. */
static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    if (json_path(obj, "spec.configSource"))
        obj = json_set(c->arena, obj, "spec.configSource", NULL);
    return json_path(obj, "status.config") ? json_set(c->arena, obj, "status.config", NULL) : obj;
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    static const char *const parts[] = { "spec.configSource", "status.config" };

    obj = workload_prepare_update(c, obj, old);
    for (size_t i = 0; i < GROUP_LEN(parts); i++)
        if (json_path(obj, parts[i]) && !json_path(old, parts[i]))
            obj = json_set(c->arena, obj, parts[i], NULL);
    return obj;
}

static bool is_six(const struct json *ranges, size_t i)
{
    return str_find(json_str(json_at(ranges, i)), ':', 0) >= 0;
}

/* k8s says metadata.taints, whatever the place. */
static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site meta = site_in(&root, "metadata"), taints = site_in(&spec, "taints");
    struct site cidrs = site_in(&spec, "podCIDRs"), status = site_in(&root, "status");

    if (c->subresource.n)
        return;
    taints.up = &meta;
    check_taints(st, &taints);
    check_status(st, &status);
    site_each(r, &cidrs) network_check_range(st, &r);
    if (json_len(cidrs.v) > 2 ||
        (json_len(cidrs.v) == 2 && is_six(cidrs.v, 0) == is_six(cidrs.v, 1)))
        site_invalid(st, &cidrs, "may specify no more than one CIDR for each IP family");
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site cidrs = site_in(&spec, "podCIDRs"), provider = site_in(&spec, "providerID");
    const struct json *had = json_path(old, "spec.podCIDRs");
    struct site outside = site_in(&spec, "externalID"), status = site_in(&root, "status");
    struct site meta = site_in(&root, "metadata"), taints = site_in(&spec, "taints");
    str id = json_get_str(old, "spec.providerID");

    (void)c;
    taints.up = &meta;
    check_status(st, &status);
    check_known_once(st, &status);
    if (json_len(had) && !check_same(cidrs.v, had))
        site_forbidden(st, &cidrs, "node updates may not change podCIDR except from \"\" to valid");
    if (id.n && !str_eq(json_str(provider.v), id))
        site_fault(st, &provider, CAUSE_FORBIDDEN,
                   "node updates may not change providerID except from \"\" to valid");
    check_taints(st, &taints);
    if (!str_eq(json_str(outside.v), json_get_str(old, "spec.externalID")))
        site_forbidden(st, &outside, "may not be updated");
}

/* ---- cells ---- */

static str status_text(struct arena *a, const struct json *obj)
{
    const char *ready = "Unknown";

    json_for_each (c, json_path(obj, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Ready"))
            ready = str_is(json_get_str(c, "status"), "True") ? "Ready" : "NotReady";
    return str_printf(a, "%s%s", ready,
                      json_bool(json_path(obj, "spec.unschedulable")) ? ",SchedulingDisabled" : "");
}

static str roles_text(struct arena *a, const struct json *obj)
{
    static const str prefix = STR_INIT("node-role.kubernetes.io/");
    scoped_buf b = { .max = 1 << 16 };

    json_for_each_member (m, json_path(obj, "metadata.labels")) {
        str role = STR_NONE;

        if (str_starts(m->name, prefix))
            role = str_from(m->name, prefix.n);
        else if (str_is(m->name, "kubernetes.io/role"))
            role = json_str(&m->value);
        if (role.n)
            buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(role));
    }
    return b.n ? str_dup(a, buf_str(&b)) : STR("<none>");
}

static str address_of(const struct json *obj, const char *type)
{
    json_for_each (v, json_path(obj, "status.addresses"))
        if (str_is(json_get_str(v, "type"), type))
            return json_get_str(v, "address");
    return STR("<none>");
}

static str info_of(const struct json *obj, const char *name)
{
    str s = json_str(json_get(json_path(obj, "status.nodeInfo"), str_of(name)));

    return s.n ? s : STR("<unknown>");
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    cell_str(out, obj, "metadata.name");
    cell_text(out, status_text(a, obj));
    cell_text(out, roles_text(a, obj));
    cell_age(out, obj, now_s);
    cell_str(out, obj, "status.nodeInfo.kubeletVersion");
    cell_text(out, address_of(obj, "InternalIP"));
    cell_text(out, address_of(obj, "ExternalIP"));
    cell_text(out, info_of(obj, "osImage"));
    cell_text(out, info_of(obj, "kernelVersion"));
    cell_text(out, info_of(obj, "containerRuntimeVersion"));
}

const struct kind_ops node_ops = {
    .defaults = defaults,
    .prepare_create = prepare_create, /* keeps the status: a kubelet registers with it */
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn_node,
    .cells = cells,
};
