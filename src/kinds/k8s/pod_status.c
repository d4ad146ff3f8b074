/* SPDX-License-Identifier: Apache-2.0 */

/* A pod's status; k8s: pkg/apis/core/validation, ValidatePodStatusUpdate */

#include "kinds/k8s/pod_status.h"
#include "base/banned.h"
#include "base/map.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"

enum { ID_MAX = 2147483647 };

static void check_conditions(struct status *st, const struct site *status)
{
    struct site list = site_in(status, "conditions");

    site_each(c, &list)
    {
        struct site type = site_in(&c, "type"), seen = site_in(&c, "observedGeneration");

        type.name = "Type"; /* that is how it is told */
        if (json_int(seen.v, 0) < 0)
            site_invalid(st, &seen, "must be a non-negative integer");
        (void)site_qualified(st, &type);
    }
}

static void check_nominated(struct status *st, const struct site *status, const struct json *old)
{
    struct site node = site_in(status, "nominatedNodeName");
    bool changed = !check_same(node.v, json_path(old, "status.nominatedNodeName"));

    if (json_str(node.v).n == 0 || !changed)
        return;
    (void)site_name(st, &node, NAME_SUBDOMAIN);
    if (json_get_str(old, "spec.nodeName").n)
        site_forbidden(st, &node, "may not be set on pods that are already bound to a node");
}

/* ---- addresses ---- */

static bool has_ip(const struct json *list, str ip)
{
    json_for_each (v, list)
        if (str_eq(json_get_str(v, "ip"), ip))
            return true;
    return false;
}

/* At most one of each family; what was there before may stay. */
static void check_ips(struct status *st, const struct site *list, const struct json *old)
{
    struct json_array shown = json_array_new(st->arena);
    int families[2] = { 0, 0 };
    struct site all = *list;

    site_each(item, list)
    {
        static const struct json empty = { .type = JSON_STRING };
        struct site at = item;
        struct json_object o = json_object_new(st->arena);
        const struct json *ip = json_get(item.v, STR("ip"));

        at.v = ip ? ip : &empty;
        if (!has_ip(old, json_str(at.v)))
            site_ip(st, &at);
        if (item.index < 2)
            families[item.index] = site_ip_family_loose(json_str(at.v));
        json_add(&o, STR("IP"), *at.v);
        json_push(&shown, json_object_value(&o));
    }
    if (json_len(list->v) < 2)
        return;
    all.v = json_array_done(&shown);
    if (!families[0] || !families[1]) {
        str bad = json_get_str(json_at(list->v, families[0] != 0), "ip");

        status_cause(st, CAUSE_INTERNAL, site_path(st->arena, list), STR_NONE,
                     "failed to check for dual stack with error:invalid IP[%d]: %.*s",
                     families[0] != 0, STR_ARG(bad));
    }
    if (json_len(list->v) > 2 || !families[0] || !families[1] || families[0] == families[1])
        site_invalid(st, &all, "may specify no more than one IP for each IP family");
}

static void check_addresses(struct status *st, const struct site *status, const struct json *old)
{
    struct site pods = site_in(status, "podIPs"), hosts = site_in(status, "hostIPs");
    struct site first = site_item(&hosts, 0), ip = site_in(&first, "ip");

    check_ips(st, &pods, json_path(old, "status.podIPs"));
    if (json_len(hosts.v) == 0)
        return;
    if (!str_eq(json_str(ip.v), site_str(status, "hostIP"))) {
        static const struct json empty = { .type = JSON_STRING };

        if (!ip.v)
            ip.v = &empty;
        site_invalid(st, &ip, "must be equal to `hostIP`");
    }
    check_ips(st, &hosts, json_path(old, "status.hostIPs"));
}

/* ---- containers ---- */

/* k8s: ContainerShouldRestart: rules of the container, its policy, the pod's */
static bool may_restart(const struct json *container, const struct json *spec, int64_t code)
{
    str policy = json_get_str(container, "restartPolicy");

    json_for_each (rule, json_get(container, STR("restartPolicyRules"))) {
        const struct json *codes = json_get(rule, STR("exitCodes"));
        bool in = false;

        json_for_each (v, json_get(codes, STR("values")))
            in = in || json_int(v, -1) == code;
        if (policy.n && codes && in == str_is(json_get_str(codes, "operator"), "In"))
            return true;
    }
    if (policy.n == 0)
        policy = json_get_str(spec, "restartPolicy");
    if (str_is(policy, "OnFailure"))
        return code != 0;
    return !str_is(policy, "Never");
}

/* Items by their names, the first of each: lists may be long. */
static struct map by_name(const struct json *list)
{
    struct map m = { 0 };

    json_for_each (v, list)
        if (!map_get(&m, json_get_str(v, "name")))
            (void)map_put(&m, json_get_str(v, "name"), (void *)(uintptr_t)v);
    return m;
}

/* What has ended stays so, unless it is to start again; containers is NULL: none is. */
static void check_states(struct status *st, const struct site *now, const struct json *was,
                         const struct json *containers, const struct json *spec)
{
    struct map nexts = by_name(now->v), all = by_name(containers);
    size_t i = 0;

    json_for_each (old, was) {
        const struct json *ended = json_path(old, "state.terminated");
        str name = json_get_str(old, "name");
        const struct json *next = ended ? map_get(&nexts, name) : NULL;
        const struct json *container = next ? map_get(&all, name) : NULL;
        struct site item = site_item(now, i++), state = site_in(&item, "state");

        if (!next || json_path(next, "state.terminated"))
            continue;
        if (!container ||
            !may_restart(container, spec, json_int(json_get(ended, STR("exitCode")), 0)))
            site_forbidden(st, &state, "may not be transitioned to non-terminated state");
    }
    map_release(&nexts);
    map_release(&all);
}

static void check_id(struct status *st, const struct site *id)
{
    int64_t n = json_int(id->v, 0);

    if (n < 0 || n > ID_MAX)
        site_invalid(st, id, "must be between 0 and 2147483647, inclusive");
}

static void check_users(struct status *st, const struct site *list, bool windows)
{
    site_each(c, list)
    {
        struct site user = site_in(&c, "user"), linux_user = site_in(&user, "linux");
        struct site uid = site_in(&linux_user, "uid"), gid = site_in(&linux_user, "gid");
        struct site groups = site_in(&linux_user, "supplementalGroups");

        if (linux_user.v && windows)
            site_forbidden(st, &linux_user, "cannot be set for a windows pod");
        if (!linux_user.v || windows)
            continue;
        check_id(st, &uid);
        check_id(st, &gid);
        site_each(g, &groups) check_id(st, &g);
    }
}

static const struct {
    const char *statuses, *containers;
} lists[] = {
    { "containerStatuses", "containers" },
    { "initContainerStatuses", "initContainers" },
    { "ephemeralContainerStatuses", NULL }, /* none is started again */
};
enum { LISTS = sizeof(lists) / sizeof(*lists) };

/* ---- claims ---- */

static void check_claims(struct status *st, const struct site *status, const struct json *spec)
{
    static const struct json empty = { .type = JSON_STRING };
    struct site list = site_in(status, "resourceClaimStatuses");
    struct map seen = { 0 }, claims = by_name(json_get(spec, STR("resourceClaims")));

    site_each(c, &list)
    {
        struct site name = site_in(&c, "name"), claim = name;

        if (!name.v)
            name.v = &empty;
        if (!map_get(&claims, json_str(name.v)))
            site_invalid(st, &name, "must match the name of an entry in `spec.resourceClaims`");
        if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
        claim.v = json_get(c.v, STR("resourceClaimName")); /* told as the name */
        if (claim.v)
            (void)site_name(st, &claim, NAME_SUBDOMAIN);
    }
    map_release(&seen);
    map_release(&claims);
}

void pod_check_status(struct status *st, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), status = site_in(&root, "status");
    struct site qos = site_in(&status, "qosClass"), seen = site_in(&status, "observedGeneration");
    const struct json *spec = json_get(old, STR("spec")), *before = json_get(old, STR("status"));

    check_conditions(st, &status);
    check_nominated(st, &status, old);
    if (json_int(seen.v, 0) < 0)
        site_invalid(st, &seen, "must be a non-negative integer");
    site_immutable(st, &qos, json_get(before, STR("qosClass")));
    for (size_t i = 0; i < LISTS; i++) {
        struct site list = site_in(&status, lists[i].statuses);

        check_states(st, &list, json_get(before, str_of(lists[i].statuses)),
                     lists[i].containers ? json_get(spec, str_of(lists[i].containers)) : NULL,
                     spec);
    }
    check_claims(st, &status, spec);
    check_addresses(st, &status, old);
    for (size_t i = 0; i < LISTS; i++) {
        struct site list = site_in(&status, lists[i].statuses);

        check_users(st, &list, str_is(json_get_str(spec, "os.name"), "windows"));
    }
}
