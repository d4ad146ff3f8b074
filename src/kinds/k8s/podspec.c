/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/podspec.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/podspec_internal.h"

enum { NAMESERVERS_MAX = 3, SEARCHES_MAX = 32, SEARCH_LIST_MAX = 2048, OVERRIDE_MAX = 64 };

/* A dot may stand behind each of them, or alone. */
static void check_searches(struct status *st, const struct site *searches)
{
    size_t all = json_len(searches->v);

    if (all > SEARCHES_MAX)
        site_fault(st, searches, CAUSE_INVALID, "must not have more than %d search paths",
                   SEARCHES_MAX);
    json_for_each (s, searches->v)
        all += json_str(s).n;
    if (all > SEARCH_LIST_MAX + 1) /* with the spaces between them */
        site_fault(st, searches, CAUSE_INVALID,
                   "must not have more than %d characters (including spaces) in the search list",
                   SEARCH_LIST_MAX);
    site_each(s, searches)
    {
        str text = json_str(s.v);
        struct json plain = json_of_str(str_sub(text, 0, text.n - str_ends(text, STR("."))));
        struct site shown = s;

        shown.v = &plain;
        if (!str_is(text, "."))
            (void)site_name(st, &shown, NAME_SEARCH);
    }
}

static void check_dns(struct status *st, const struct site *spec)
{
    struct site config = site_in(spec, "dnsConfig"), servers = site_in(&config, "nameservers");
    struct site searches = site_in(&config, "searches"), options = site_in(&config, "options");
    bool none = str_is(site_str(spec, "dnsPolicy"), "None");

    if (none && !config.v)
        site_missing(st, &config, "must provide `dnsConfig` when `dnsPolicy` is None");
    else if (none && json_len(servers.v) == 0)
        site_missing(st, &servers,
                     "must provide at least one DNS nameserver when `dnsPolicy` is None");
    if (none && json_len(servers.v) == 0)
        return;
    if (json_len(servers.v) > NAMESERVERS_MAX)
        site_fault(st, &servers, CAUSE_INVALID, "must not have more than %d nameservers",
                   NAMESERVERS_MAX);
    site_each(s, &servers) site_ip(st, &s);
    check_searches(st, &searches);
    site_each(o, &options) if (site_str(&o, "name").n == 0)
        site_missing(st, &o, "must not be empty");
}

static void check_claims(struct status *st, const struct site *claims, struct map *names)
{
    site_each(c, claims)
    {
        struct site name = site_in(&c, "name"), claim = site_in(&c, "resourceClaimName");
        struct site template = site_in(&c, "resourceClaimTemplateName");
        bool own = site_has(&c, "resourceClaimName");
        bool made = site_has(&c, "resourceClaimTemplateName");

        if (!site_required(st, &name)) {
            if (site_seen(names, json_str(name.v)))
                site_duplicate(st, &name);
            else
                (void)site_name(st, &name, NAME_LABEL);
        }
        if (own && made)
            site_invalid(st, &c,
                         "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                         "specified");
        if (!own && !made)
            site_invalid(st, &c,
                         "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
        if (own)
            (void)site_name(st, &claim, NAME_SUBDOMAIN);
        if (made)
            (void)site_name(st, &template, NAME_SUBDOMAIN);
    }
}

static void check_gates(struct status *st, const struct site *spec)
{
    struct site ready = site_in(spec, "readinessGates"), gates = site_in(spec, "schedulingGates");
    struct map seen = { 0 };

    site_each(g, &ready)
    {
        struct site type = site_in(&g, "conditionType");

        (void)site_qualified(st, &type);
    }
    site_each(g, &gates)
    {
        struct site shown = g;

        shown.v = json_get(g.v, STR("name"));
        (void)site_qualified(st, &shown);
        if (site_seen(&seen, json_str(shown.v)))
            site_duplicate(st, &shown);
    }
    map_release(&seen);
}

static void check_host(struct status *st, const struct site *spec, bool pod)
{
    struct site aliases = site_in(spec, "hostAliases"), containers = site_in(spec, "containers");
    struct site override = site_in(spec, "hostnameOverride");

    site_each(a, &aliases)
    {
        struct site ip = site_in(&a, "ip"), names = site_in(&a, "hostnames");

        site_ip(st, &ip);
        site_each(n, &names)(void) site_name(st, &n, NAME_SUBDOMAIN);
    }
    if (override.v && json_bool(json_get(spec->v, STR("setHostnameAsFQDN"))))
        site_forbidden(st, &override, "may not be specified when setHostnameAsFQDN is true");
    if (json_str(override.v).n > OVERRIDE_MAX)
        site_fault(st, &override, CAUSE_TOO_LONG, "may not be more than %d bytes", OVERRIDE_MAX);
    if (!json_bool(json_get(spec->v, STR("hostNetwork"))))
        return;
    if (override.v)
        site_forbidden(st, &override, "may not be specified when hostNetwork is true");
    site_each(c, &containers)
    {
        struct site ports = site_in(&c, "ports");

        site_each(p, &ports)
        {
            struct site host = site_in(&p, "hostPort");
            int64_t own = json_int(json_get(p.v, STR("containerPort")), 0);

            if ((pod || host.v) && json_int(host.v, 0) != own)
                site_invalid(st, &host, "must match `containerPort` when `hostNetwork` is true");
        }
    }
}

/* Names that follow one rule each. */
static void check_names(struct status *st, const struct site *spec)
{
    static const struct {
        const char *name;
        enum name_rule rule;
    } names[] = {
        { "serviceAccountName", NAME_SUBDOMAIN },
        { "nodeName", NAME_SUBDOMAIN },
        { "hostname", NAME_LABEL },
        { "subdomain", NAME_LABEL },
        { "priorityClassName", NAME_SUBDOMAIN },
        { "runtimeClassName", NAME_SUBDOMAIN },
        { "hostnameOverride", NAME_SUBDOMAIN },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct site name = site_in(spec, names[i].name);

        if (name.v)
            (void)site_name(st, &name, names[i].rule);
    }
}

static void check_words(struct status *st, const struct site *spec)
{
    static const char *const restarts[] = { "Always", "OnFailure", "Never", NULL };
    static const char *const dns[] = { "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None",
                                       NULL };
    static const char *const preemption[] = { "PreemptLowerPriority", "Never", NULL };
    static const char *const systems[] = { "linux", "windows", NULL };
    struct site restart = site_in(spec, "restartPolicy"), policy = site_in(spec, "dnsPolicy");
    struct site preempt = site_in(spec, "preemptionPolicy"), os = site_in(spec, "os");
    struct site os_name = site_in(&os, "name"), deadline = site_in(spec, "activeDeadlineSeconds");
    struct site context = site_in(spec, "securityContext"), shown = os;
    struct site shared = { .up = &context, /* k8s: where it is inside */
                           .kind = SITE_MEMBER,
                           .name = "shareProcessNamespace",
                           .v = json_get(spec->v, STR("shareProcessNamespace")) };

    shown.v = os_name.v;
    site_enum(st, &restart, restarts);
    site_enum(st, &policy, dns);
    if (!preempt.v || !site_required(st, &preempt))
        site_enum(st, &preempt, preemption);
    if (os.v && !site_required(st, &os_name))
        site_enum(st, &shown, systems);
    (void)site_range(st, &deadline, 1, INT32_MAX);
    if (json_bool(shared.v) && json_bool(json_get(spec->v, STR("hostPID"))))
        site_invalid(st, &shared, "ShareProcessNamespace and HostPID cannot both be enabled");
}

static void check_pod_only(struct status *st, const struct site *spec)
{
    struct site grace = site_in(spec, "terminationGracePeriodSeconds");
    struct site volumes = site_in(spec, "volumes");

    site_not_negative(st, &grace);
    site_each(v, &volumes)
    {
        struct site image = site_in(&v, "image"), reference = site_in(&image, "reference");

        if (image.v)
            (void)site_required(st, &reference);
    }
}

void podspec_check_overhead(struct status *st, const struct site *at, const struct json *amounts)
{
    struct json_object limits = json_object_new(st->arena);
    struct map none = { 0 };
    struct site as = *at;

    if (!amounts)
        return;
    json_add(&limits, STR("limits"), *amounts);
    as.v = json_object_done(&limits);
    podspec_check_resources(st, &as, &none);
}

void podspec_check(struct status *st, const struct site *spec, bool pod)
{
    struct podspec_context c = { .spec = spec->v, .pod = pod };
    struct site volumes = site_in(spec, "volumes"), claims = site_in(spec, "resourceClaims");
    struct site overhead = site_in(spec, "overhead");

    podspec_check_volumes(st, &volumes, &c.volumes);
    check_claims(st, &claims, &c.claims);
    podspec_check_containers(st, &c, spec);
    podspec_check_whole(st, spec, &c.claims);
    podspec_check_overhead(st, &overhead, overhead.v);
    map_release(&c.volumes);
    map_release(&c.claims);
    check_words(st, spec);
    podspec_check_pod_security(st, spec);
    podspec_check_host(st, spec);
    podspec_check_placement(st, spec);
    check_dns(st, spec);
    check_gates(st, spec);
    check_host(st, spec, pod);
    check_names(st, spec);
    podspec_check_os(st, spec);
    if (pod)
        check_pod_only(st, spec);
}

/* k8s: ValidatePodTemplateSpec */
void podspec_check_template(struct status *st, const struct site *template)
{
    struct site meta = site_in(template, "metadata"), labels = site_in(&meta, "labels");
    struct site annotations = site_in(&meta, "annotations"), spec = site_in(template, "spec");
    struct site ephemeral = site_in(&spec, "ephemeralContainers");

    labels.up = annotations.up = template; /* that is how they are told */
    site_labels(st, &labels);
    if (annotations.v)
        (void)annotations_check(st, site_path(st->arena, &annotations), annotations.v);
    podspec_check_annotations(st, &annotations, spec.v);
    podspec_check(st, &spec, false);
    podspec_check_profiles(st, annotations.v, &spec);
    if (json_len(ephemeral.v))
        site_forbidden(st, &ephemeral, "ephemeral containers not allowed in pod template");
}

void podspec_cells(struct json_array *cells, const struct json *spec)
{
    static const char *const shown[] = { "name", "image" };

    for (size_t i = 0; i < 2; i++) {
        scoped_buf b = { .max = 1 << 20 };

        json_for_each (c, json_get(spec, STR("containers"))) {
            if (b.n)
                buf_byte(&b, ',');
            buf_str_append(&b, json_get_str(c, shown[i]));
        }
        json_push(cells, json_of_str(str_dup(cells->arena, buf_str(&b))));
    }
}
