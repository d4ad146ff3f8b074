/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/resources.h"
#include "kinds/k8s/podspec_internal.h"
#include "object/meta/amounts.h"

#define HUGE_PAGES "hugepages-"

/* ---- limits and requests; k8s: validateResourceRequirements ---- */

/* Of the pod itself; k8s: validatePodResourceName. */
static void check_pod_name(struct status *st, const struct site *at, str name)
{
    static const char *const known[] = { "cpu", "hugepages-", "memory", NULL };
    struct json value = json_of_str(name);
    struct site shown = *at;
    unsigned before = st->ncauses;

    resource_check_name(st, RESOURCE_ANY, site_path(st->arena, at), name);
    shown.v = &value;
    if (st->ncauses == before && !amounts_of_whole_pod(name))
        site_unsupported(st, &shown, known);
}

/* k8s: IsHugePageResourceValueDivisible */
static bool fills_pages(str name, str amount)
{
    struct quantity page, q;
    __int128 whole = 1000000000;

    if (!quantity_parse(str_from(name, strlen(HUGE_PAGES)), &page) || page.nanos <= 0 ||
        page.nanos % whole)
        return false;
    if (!quantity_parse(amount, &q))
        return true; /* the schema has seen to it */
    return (q.nanos + (q.nanos > 0 ? whole - 1 : 0)) / whole % (page.nanos / whole) == 0;
}

static void check_list(struct status *st, const struct site *list, bool pod, bool *compute,
                       bool *huge)
{
    json_for_each_member (m, list->v) {
        struct site at = site_key(list, m->name, &m->value);
        str path = site_path(st->arena, &at);

        if (pod)
            check_pod_name(st, &at, m->name);
        else
            resource_check_name(st, RESOURCE_CONTAINER, path, m->name);
        resource_check_value(st, path, m->name, json_str(&m->value));
        *compute = *compute || str_is(m->name, "cpu") || str_is(m->name, "memory");
        if (!str_starts(m->name, STR(HUGE_PAGES)))
            continue;
        *huge = true;
        if (!fills_pages(m->name, json_str(&m->value)))
            site_fault(st, &at, CAUSE_INVALID, "%.*s is not positive integer multiple of %.*s",
                       STR_ARG(json_str(&m->value)), STR_ARG(m->name));
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

static void check_requirements(struct status *st, const struct site *resources,
                               const struct map *claims, bool pod)
{
    struct site limits = site_in(resources, "limits"), requests = site_in(resources, "requests");
    struct site used = site_in(resources, "claims");
    bool compute = false, huge = false;

    check_list(st, &limits, pod, &compute, &huge);
    check_list(st, &requests, pod, &compute, &huge);
    json_for_each_member (m, requests.v)
        check_pair(st, &requests, &limits, m);
    if (huge && !compute)
        site_forbidden(st, resources, "HugePages require cpu or memory");
    check_claims(st, &used, claims);
}

void podspec_check_resources(struct status *st, const struct site *resources,
                             const struct map *claims)
{
    check_requirements(st, resources, claims, false);
}

/* A list of the pod's is not below what the containers need in all. */
static void check_sum(struct status *st, const struct site *resources, const struct json *spec,
                      const char *which, bool huge_only)
{
    struct amounts all = amounts_of_spec(st->arena, spec, which, AMOUNTS_CONTAINERS);
    struct site list = site_in(resources, which);

    for (size_t i = 0; i < all.n; i++) {
        const struct json *own = json_get(list.v, all.at[i].name);
        struct site at = site_key(&list, all.at[i].name, own);
        struct quantity q;

        if (!own || !quantity_parse(json_str(own), &q) || quantity_cmp(&all.at[i].q, &q) <= 0 ||
            (huge_only && resource_overcommits(all.at[i].name)))
            continue;
        site_fault(st, &at, CAUSE_INVALID,
                   "must be greater than or equal to aggregate container %s of %.*s", which,
                   STR_ARG(quantity_print(st->arena, &all.at[i].q)));
    }
}

/* k8s puts the containers below resources, and the name before limits. */
static void check_limits(struct status *st, const struct site *resources, const struct json *spec)
{
    const struct json *own = json_get(resources->v, STR("limits"));
    struct site containers = site_in(resources, "containers");

    containers.v = json_get(spec, STR("containers"));
    site_each(c, &containers) json_for_each_member (m, json_path(c.v, "resources.limits"))
    {
        struct site by_name = site_key(&c, m->name, NULL), at = site_in(&by_name, "limits");
        str most = json_str(json_get(own, m->name));
        struct quantity limit, q;

        at.v = &m->value;
        if (quantity_parse(most, &limit) && quantity_parse(json_str(&m->value), &q) &&
            quantity_cmp(&q, &limit) > 0)
            site_fault(st, &at, CAUSE_INVALID, "must be less than or equal to pod limits of %.*s",
                       STR_ARG(most));
    }
}

/* k8s: validatePodResources */
void podspec_check_whole(struct status *st, const struct site *spec, const struct map *claims)
{
    struct site resources = site_in(spec, "resources"), used = site_in(&resources, "claims");

    if (!resources.v)
        return;
    if (str_is(json_get_str(spec->v, "os.name"), "windows")) {
        site_forbidden(st, &resources, "may not be set for a windows pod");
        return;
    }
    if (used.v)
        site_forbidden(st, &used, "claims may not be set for Resources at pod-level");
    check_requirements(st, &resources, claims, true);
    check_sum(st, &resources, spec->v, "requests", false);
    check_sum(st, &resources, spec->v, "limits", true);
    check_limits(st, &resources, spec->v);
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

enum { SYSCTL_MAX = 253 };

static void check_id(struct status *st, const struct site *id)
{
    int64_t n = json_int(id->v, 0);

    if (n < 0 || n > INT32_MAX)
        site_fault(st, id, CAUSE_INVALID, "must be between 0 and 2147483647, inclusive");
}

/* k8s: ValidateAppArmorProfileField */
static void check_armor(struct status *st, const struct site *profile)
{
    static const char *const types[] = { "Localhost", "RuntimeDefault", "Unconfined", NULL };
    struct site type = site_in(profile, "type"), local = site_in(profile, "localhostProfile");
    str kind = json_str(type.v), file = json_str(local.v);

    if (!profile->v)
        return;
    if (!kind.n)
        site_missing(st, &type, "type is required when appArmorProfile is set");
    else
        site_enum(st, &type, types);
    if (!str_is(kind, "Localhost")) {
        if (local.v && str_is_any(kind, types))
            site_invalid(st, &local, "can only be set when AppArmor type is Localhost");
        return;
    }
    if (!file.n)
        site_missing(st, &local, "must be set when AppArmor type is Localhost");
    else if (!str_eq(str_trim(file), file))
        site_invalid(st, &local, "must not be padded with whitespace");
    if (file.n > PODSPEC_PROFILE_MAX)
        site_fault(st, &local, CAUSE_TOO_LONG, "may not be more than %d bytes",
                   PODSPEC_PROFILE_MAX);
}

static void check_seccomp(struct status *st, const struct site *profile)
{
    static const char *const types[] = { "Localhost", "RuntimeDefault", "Unconfined", NULL };
    struct site type = site_in(profile, "type"), local = site_in(profile, "localhostProfile");

    if (!profile->v)
        return;
    if (json_str(type.v).n)
        site_enum(st, &type, types);
    else
        site_missing(st, &type, "type is required when seccompProfile is set");
    if (str_is(json_str(type.v), "Localhost")) {
        if (!local.v)
            site_missing(st, &local, "must be set when seccomp type is Localhost");
        podspec_check_path(st, &local, true);
    } else if (local.v) {
        site_invalid(st, &local, "can only be set when seccomp type is Localhost");
    }
}

static void check_ids(struct status *st, const struct site *context)
{
    struct site user = site_in(context, "runAsUser"), group = site_in(context, "runAsGroup");
    struct site seccomp = site_in(context, "seccompProfile");
    struct site apparmor = site_in(context, "appArmorProfile");
    struct site windows = site_in(context, "windowsOptions");

    check_id(st, &user);
    check_id(st, &group);
    check_seccomp(st, &seccomp);
    check_armor(st, &apparmor);
    podspec_check_windows(st, &windows);
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

/* Parts of lower case letters, digits, - and _, with . or / between them. */
static bool is_sysctl(str name)
{
    for (size_t i = 0, from = 0; i <= name.n; i++) {
        bool end = i == name.n || name.p[i] == '.' || name.p[i] == '/';
        char c = end ? 0 : name.p[i];

        if (end && (i == from || name.p[from] == '-' || name.p[from] == '_' ||
                    name.p[i - 1] == '-' || name.p[i - 1] == '_'))
            return false;
        if (!end && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
        if (end)
            from = i + 1;
    }
    return name.n <= SYSCTL_MAX;
}

static bool is_below(str name, const char *prefix)
{
    size_t n = strlen(prefix);

    if (name.n <= n || (name.p[n] != '.' && name.p[n] != '/'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (name.p[i] != prefix[i] && !(name.p[i] == '/' && prefix[i] == '.'))
            return false;
    return true;
}

/* k8s: component-helpers/node/util/sysctl: what is of the host where the pod shares it */
static const char *of_host(const struct json *spec, str name)
{
    static const char *const ipc[] = { "kernel.sem",    "kernel.shm",    "kernel.shmall",
                                       "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
                                       "kernel.msg",    "kernel.msgmax", "kernel.msgmnb",
                                       "kernel.msgmni" };
    bool shared = is_below(name, "fs.mqueue");

    for (size_t i = 0; i < sizeof(ipc) / sizeof(*ipc); i++)
        shared = shared || str_is(name, ipc[i]);
    if (is_below(name, "net") && json_bool(json_get(spec, STR("hostNetwork"))))
        return "hostNetwork";
    return shared && json_bool(json_get(spec, STR("hostIPC"))) ? "hostIPC" : NULL;
}

static void check_sysctls(struct status *st, const struct site *sysctls, const struct json *spec)
{
    struct map seen = { 0 };

    site_each(s, sysctls)
    {
        struct site name = site_in(&s, "name");
        const char *shared = of_host(spec, json_str(name.v));

        if (!site_required(st, &name)) {
            if (!is_sysctl(json_str(name.v)))
                site_invalid(st, &name,
                             "must have at most 253 characters and match regex "
                             "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*"
                             "[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
            else if (site_seen(&seen, json_str(name.v)))
                site_duplicate(st, &name);
        }
        if (shared)
            site_fault(st, &name, CAUSE_INVALID, "may not be specified when '%s' is true", shared);
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
    check_sysctls(st, &sysctls, spec->v);
    site_enum(st, &change, changes);
    site_enum(st, &policy, group_policies);
    site_enum(st, &linux_policy, recursive);
}
