/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/check.h"
#include "kinds/podspec_parts.h"
#include "kinds/resources.h"
#include "meta/quantity.h"

/* ---- limits and requests; k8s: validateResourceRequirements ---- */

static void check_list(struct status *st, const struct site *list, bool *compute, bool *huge)
{
    json_for_each_member (m, list->v) {
        struct site at = site_key(list, m->name, &m->value);
        str path = site_path(st->arena, &at);

        resource_check_name(st, RESOURCE_CONTAINER, path, m->name);
        resource_check_value(st, path, m->name, json_str(&m->value));
        *compute = *compute || str_is(m->name, "cpu") || str_is(m->name, "memory");
        *huge = *huge || str_starts(m->name, STR("hugepages-"));
    }
}

static void check_pair(struct status *st, const struct site *requests, const struct site *limits,
                       const struct json_member *m)
{
    str limit_text = json_str(json_get(limits->v, m->name));
    struct site shown = *requests;
    struct quantity request, limit;
    bool overcommits = resource_overcommits(m->name);

    shown.v = &m->value;
    if (limit_text.n == 0) {
        if (!overcommits)
            site_missing(st, limits, "Limit must be set for non overcommitable resources");
        return;
    }
    if (!quantity_parse(json_str(&m->value), &request) || !quantity_parse(limit_text, &limit))
        return; /* the schema has seen to it */
    if (!overcommits && quantity_cmp(&request, &limit) != 0)
        site_fault(st, &shown, CAUSE_INVALID, "must be equal to %.*s limit of %.*s",
                   STR_ARG(m->name), STR_ARG(limit_text));
    else if (quantity_cmp(&request, &limit) > 0)
        site_fault(st, &shown, CAUSE_INVALID, "must be less than or equal to %.*s limit of %.*s",
                   STR_ARG(m->name), STR_ARG(limit_text));
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* k8s: validateResourceClaimNames */
static void unknown_claim(struct status *st, const struct site *claim, const struct map *claims)
{
    str *names = arena_array(st->arena, str, map_size(claims) + 1);
    scoped_buf b = { .max = 1 << 20 };
    size_t n = 0, at = 0;
    void *value;

    while (map_each(claims, &at, &names[n], &value))
        n++;
    qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : ": ", STR_ARG(names[i]));
    site_fault(st, claim, CAUSE_NOT_FOUND,
               "must be one of the names in pod.spec.resourceClaims%.*s",
               STR_ARG(n ? buf_str(&b) : STR(" which is empty")));
}

static void check_claims(struct status *st, const struct site *used, const struct map *claims)
{
    struct map seen = { 0 };

    site_each(c, used)
    {
        struct site request = site_in(&c, "request"), shown = c;
        struct json key;

        shown.v = json_get(c.v, STR("name"));
        if (json_str(shown.v).n == 0) {
            site_missing(st, &c, "");
            continue;
        }
        key = *shown.v;
        if (json_str(request.v).n) {
            (void)site_name(st, &request, NAME_LABEL);
            key = json_of_str(str_printf(st->arena, "%.*s/%.*s", STR_ARG(json_str(shown.v)),
                                         STR_ARG(json_str(request.v))));
        }
        if (map_get(&seen, json_str(shown.v)) || site_seen(&seen, json_str(&key))) {
            struct site again = c;

            again.v = &key;
            site_duplicate(st, &again);
        }
        if (!map_get(claims, json_str(shown.v)))
            unknown_claim(st, &shown, claims);
    }
    map_release(&seen);
}

void podspec_check_resources(struct status *st, const struct site *resources,
                             const struct map *claims)
{
    struct site limits = site_in(resources, "limits"), requests = site_in(resources, "requests");
    struct site used = site_in(resources, "claims");
    bool compute = false, huge = false;

    check_list(st, &limits, &compute, &huge);
    check_list(st, &requests, &compute, &huge);
    json_for_each_member (m, requests.v)
        check_pair(st, &requests, &limits, m);
    if (huge && !compute)
        site_forbidden(st, resources, "HugePages require cpu or memory");
    check_claims(st, &used, claims);
}

/* ---- quality of service; k8s: pkg/apis/core/helper/qos ---- */

struct usage {
    bool any;        /* cpu or memory is asked for at all */
    bool guaranteed; /* every container limits both and asks for as much */
};

static bool positive(const struct json *v, struct quantity *q)
{
    return v && quantity_parse(json_str(v), q) && q->nanos > 0;
}

static void add_usage(struct usage *u, const struct json *resources)
{
    static const char *const counted[] = { "cpu", "memory" };

    for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
        const struct json *request =
            json_get(json_get(resources, STR("requests")), str_of(counted[i]));
        const struct json *limit = json_get(json_get(resources, STR("limits")), str_of(counted[i]));
        struct quantity r, l;
        bool asks = positive(request, &r), limits = positive(limit, &l);

        u->any = u->any || asks || limits;
        u->guaranteed = u->guaranteed && limits && (!asks || quantity_cmp(&r, &l) == 0);
    }
}

str podspec_qos(const struct json *spec)
{
    static const char *const lists[] = { "containers", "initContainers" };
    struct usage u = { .guaranteed = true };
    const struct json *whole = json_get(spec, STR("resources"));

    if (json_len(whole))
        add_usage(&u, whole);
    for (size_t i = 0; !json_len(whole) && i < sizeof(lists) / sizeof(*lists); i++)
        json_for_each (c, json_get(spec, str_of(lists[i])))
            add_usage(&u, json_get(c, STR("resources")));
    if (!u.any)
        return STR("BestEffort");
    return u.guaranteed ? STR("Guaranteed") : STR("Burstable");
}

/* ---- security ---- */

static void check_id(struct status *st, const struct site *id)
{
    int64_t n = json_int(id->v, 0);

    if (n < 0 || n > INT32_MAX)
        site_fault(st, id, CAUSE_INVALID, "must be between 0 and 2147483647, inclusive");
}

static void check_profile(struct status *st, const struct site *profile, const char *what)
{
    static const char *const types[] = { "Localhost", "RuntimeDefault", "Unconfined", NULL };
    struct site type = site_in(profile, "type"), local = site_in(profile, "localhostProfile");

    if (!profile->v)
        return;
    if (json_str(type.v).n)
        site_enum(st, &type, types);
    else
        site_fault(st, &type, CAUSE_REQUIRED, "type is required when %s is set", profile->name);
    if (str_is(json_str(type.v), "Localhost")) {
        if (!local.v)
            site_fault(st, &local, CAUSE_REQUIRED, "must be set when %s type is Localhost", what);
        podspec_check_path(st, &local, true);
    } else if (local.v) {
        site_fault(st, &local, CAUSE_INVALID, "can only be set when %s type is Localhost", what);
    }
}

static void check_ids(struct status *st, const struct site *context)
{
    struct site user = site_in(context, "runAsUser"), group = site_in(context, "runAsGroup");
    struct site seccomp = site_in(context, "seccompProfile");
    struct site apparmor = site_in(context, "appArmorProfile");

    check_id(st, &user);
    check_id(st, &group);
    check_profile(st, &seccomp, "seccomp");
    check_profile(st, &apparmor, "AppArmor");
}

void podspec_check_security(struct status *st, const struct site *container,
                            const struct json *spec)
{
    static const char *const mounts[] = { "Default", "Unmasked", NULL };
    struct site context = site_in(container, "securityContext");
    struct site escalation = site_in(&context, "allowPrivilegeEscalation");
    struct site proc = site_in(&context, "procMount");
    const struct json *users = json_get(spec, STR("hostUsers"));

    if (!context.v)
        return;
    check_ids(st, &context);
    site_enum(st, &proc, mounts);
    if (str_is(json_str(proc.v), "Unmasked") && (!users || json_bool(users)))
        site_invalid(st, &proc, "`hostUsers` must be false to use `Unmasked`");
    if (!escalation.v || json_bool(escalation.v))
        return;
    if (json_bool(json_get(context.v, STR("privileged"))))
        site_invalid(st, &context,
                     "cannot set `allowPrivilegeEscalation` to false and "
                     "`privileged` to true");
    json_for_each (cap, json_path(context.v, "capabilities.add"))
        if (str_is(json_str(cap), "CAP_SYS_ADMIN"))
            site_invalid(st, &context,
                         "cannot set `allowPrivilegeEscalation` to false and "
                         "`capabilities.Add` CAP_SYS_ADMIN");
}

static void check_sysctls(struct status *st, const struct site *sysctls)
{
    struct map seen = { 0 };

    site_each(s, sysctls)
    {
        struct site name = site_in(&s, "name");

        if (!site_required(st, &name) && site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
    }
    map_release(&seen);
}

void podspec_check_pod_security(struct status *st, const struct site *spec)
{
    static const char *const changes[] = { "Always", "OnRootMismatch", NULL };
    static const char *const group_policies[] = { "Merge", "Strict", NULL };
    static const char *const recursive[] = { "Recursive", NULL }; /* the gate SELinuxMount is off */
    struct site context = site_in(spec, "securityContext");
    struct site group = site_in(&context, "fsGroup"),
                more = site_in(&context, "supplementalGroups");
    struct site change = site_in(&context, "fsGroupChangePolicy");
    struct site policy = site_in(&context, "supplementalGroupsPolicy");
    struct site sysctls = site_in(&context, "sysctls");
    struct site linux_policy = site_in(&context, "seLinuxChangePolicy");

    check_ids(st, &context);
    check_id(st, &group);
    site_each(g, &more) check_id(st, &g);
    check_sysctls(st, &sysctls);
    site_enum(st, &change, changes);
    site_enum(st, &policy, group_policies);
    site_enum(st, &linux_policy, recursive);
}
