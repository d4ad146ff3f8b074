/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"

/* k8s: pkg/api/pod/warnings.go warningsForPodSpecAndMeta */

#define ROWS(array) (array), sizeof(array) / sizeof(*(array))

static const struct warn_row old_annotations[] = {
    WARN_ROW("scheduler.alpha.kubernetes.io/critical-pod",
             "non-functional in v1.16+; use the \"priorityClassName\" field instead"),
    WARN_ROW("security.alpha.kubernetes.io/sysctls",
             "non-functional in v1.11+; use the \"sysctls\" field instead"),
    WARN_ROW("security.alpha.kubernetes.io/unsafe-sysctls",
             "non-functional in v1.11+; use the \"sysctls\" field instead"),
};
static const struct warn_row seccomp_annotation =
    WARN_ROW("seccomp.security.alpha.kubernetes.io/pod",
             "non-functional in v1.27+; use the \"seccompProfile\" field instead");

/* Before and behind the claim of an ephemeral volume, which has warnings of its own. */
static const struct warn_row old_volumes[] = {
    WARN_ROW("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    WARN_ROW("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    WARN_ROW("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    WARN_ROW("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    { "storageos", "deprecated in v1.22, non-functional in v1.25+", "storageOS" },
    WARN_ROW("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    WARN_ROW("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
};
static const struct warn_row ceph_volumes[] = {
    WARN_ROW("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    WARN_ROW("rbd", "deprecated in v1.28, non-functional in v1.31+"),
};

void podspec_warn_each(const struct warner *w, const struct site *spec, warn_container_fn *fn,
                       void *arg)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct site list = site_in(spec, lists[i]);

        site_each(container, &list) fn(w, &container, arg);
    }
}

/* ---- where a pod may run ---- */

static void warn_selector(const struct warner *w, const struct site *at)
{
    if (!at->v)
        warn_at(w, at, "a null labelSelector results in matching no pod");
}

static void warn_nodes(const struct warner *w, const struct site *spec)
{
    struct site selector = site_in(spec, "nodeSelector"), affinity = site_in(spec, "affinity");
    struct site node = site_in(&affinity, "nodeAffinity");
    struct site required = site_in(&node, "requiredDuringSchedulingIgnoredDuringExecution");
    struct site terms = site_in(&required, "nodeSelectorTerms");
    struct site preferred = site_in(&node, "preferredDuringSchedulingIgnoredDuringExecution");

    json_for_each_member (m, selector.v) {
        struct site at = site_key(&selector, m->name, &m->value);

        if (warn_node_label(m->name))
            warn_at(w, &at, "%s", warn_node_label(m->name));
    }
    site_each(term, &terms) warn_node_term(w, &term, false);
    site_each(term, &preferred)
    {
        struct site preference = site_in(&term, "preference");

        warn_node_term(w, &preference, true);
    }
}

static void warn_spread(const struct warner *w, const struct site *spec)
{
    struct site all = site_in(spec, "topologySpreadConstraints");

    site_each(one, &all)
    {
        struct site key = site_in(&one, "topologyKey"), selector = site_in(&one, "labelSelector");
        const char *why = warn_node_label(json_str(key.v));

        if (why)
            warn_at(w, &key, "%.*s is %s", STR_ARG(json_str(key.v)), why);
        warn_selector(w, &selector);
    }
}

static void warn_affinity(const struct warner *w, const struct site *spec)
{
    static const char *const sides[] = { "podAffinity", "podAntiAffinity" };
    struct site affinity = site_in(spec, "affinity");

    for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
        struct site side = site_in(&affinity, sides[i]);
        struct site required = site_in(&side, "requiredDuringSchedulingIgnoredDuringExecution");
        struct site preferred = site_in(&side, "preferredDuringSchedulingIgnoredDuringExecution");

        site_each(term, &required)
        {
            struct site selector = site_in(&term, "labelSelector");

            warn_selector(w, &selector);
        }
        site_each(weighted, &preferred)
        {
            struct site term = site_in(&weighted, "podAffinityTerm");
            struct site selector = site_in(&term, "labelSelector");

            warn_selector(w, &selector);
        }
    }
}

/* ---- what it has ---- */

static void warn_volumes(const struct warner *w, const struct site *spec)
{
    struct site volumes = site_in(spec, "volumes");

    site_each(volume, &volumes)
    {
        struct site ephemeral = site_in(&volume, "ephemeral");
        struct site claim = site_in(&ephemeral, "volumeClaimTemplate");
        struct site claim_spec = site_in(&claim, "spec");

        warn_members(w, &volume, ROWS(old_volumes));
        warn_claim(w, &claim_spec);
        warn_members(w, &volume, ROWS(ceph_volumes));
    }
    podspec_warn_paths(w, &volumes);
}

/* A name that an item before has, too. */
static void warn_twice(const struct warner *w, const struct site *list, const char *member)
{
    struct map seen = { 0 };

    site_each(item, list)
    {
        struct site name = site_in(&item, member);

        if (site_seen(&seen, json_str(name.v)))
            warn_at(w, &name, "duplicate %s %.*s", member,
                    STR_ARG(check_quote(w->arena, json_str(name.v))));
    }
    map_release(&seen);
}

static void warn_lists(const struct warner *w, const struct site *spec)
{
    struct site aliases = site_in(spec, "hostAliases"), secrets = site_in(spec, "imagePullSecrets");
    struct site overhead = site_in(spec, "overhead");

    warn_twice(w, &aliases, "ip");
    warn_twice(w, &secrets, "name");
    site_each(secret, &secrets)
    {
        struct site name = site_in(&secret, "name");

        if (json_str(name.v).n == 0)
            warn_at(w, &name, "invalid empty name \"\"");
    }
    warn_fraction(w, &overhead, "memory");
    warn_fraction(w, &overhead, "ephemeral-storage");
}

/* ---- containers ---- */

struct owner {
    struct site annotations;
    const struct json *context; /* of the pod */
    bool made;                  /* a new pod: its profiles may stem from its annotations */
};

/* k8s: ApparmorFieldForAnnotation, as the text that the annotation would have. */
static bool same_profile(const struct json *profile, str annotation)
{
    str type = json_get_str(profile, "type");
    str file = json_get_str(profile, "localhostProfile");

    if (str_is(annotation, "unconfined"))
        return str_is(type, "Unconfined");
    if (str_is(annotation, "runtime/default"))
        return str_is(type, "RuntimeDefault");
    return str_is(type, "Localhost") && str_starts(annotation, STR("localhost/")) &&
           str_eq(file, str_from(annotation, strlen("localhost/")));
}

static void warn_profiles(const struct warner *w, const struct site *container,
                          const struct owner *o)
{
    str name = site_str(container, "name");
    const struct json *context = json_get(container->v, STR("securityContext"));
    str seccomp =
        str_printf(w->arena, "container.seccomp.security.alpha.kubernetes.io/%.*s", STR_ARG(name));
    str armor =
        str_printf(w->arena, "container.apparmor.security.beta.kubernetes.io/%.*s", STR_ARG(name));
    struct site a = site_key(&o->annotations, seccomp, json_get(o->annotations.v, seccomp));
    struct site b = site_key(&o->annotations, armor, json_get(o->annotations.v, armor));
    const struct json *whole = json_get(o->context, STR("appArmorProfile"));
    const struct json *own = json_get(context, STR("appArmorProfile"));

    if (a.v && !json_get(context, STR("seccompProfile")))
        warn_at(w, &a, "%s", seccomp_annotation.why);
    if (b.v && (own ? o->made && same_profile(own, json_str(b.v))
                    : !(whole && same_profile(whole, json_str(b.v)))))
        warn_at(w, &b, "deprecated since v1.30; use the \"appArmorProfile\" field instead");
}

static void warn_container(const struct warner *w, const struct site *container, void *arg)
{
    static const char *const names[] = { "memory", "ephemeral-storage" };
    const struct owner *o = arg;
    struct site resources = site_in(container, "resources");
    struct site limits = site_in(&resources, "limits");
    struct site requests = site_in(&resources, "requests");

    if (json_len(o->annotations.v))
        warn_profiles(w, container, o);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        warn_fraction(w, &limits, names[i]);
        warn_fraction(w, &requests, names[i]);
    }
    podspec_warn_env(w, container);
}

void podspec_warn(const struct warner *w, const struct site *pod)
{
    struct site meta = site_in(pod, "metadata"), spec = site_in(pod, "spec");
    struct site grace = site_in(&spec, "terminationGracePeriodSeconds");
    struct site dns = site_in(&spec, "dnsConfig"), servers = site_in(&dns, "nameservers");
    struct site aliases = site_in(&spec, "hostAliases");
    struct owner o = { .annotations = site_in(&meta, "annotations"),
                       .context = json_get(spec.v, STR("securityContext")),
                       .made = pod->kind == SITE_ROOT };

    warn_nodes(w, &spec);
    warn_spread(w, &spec);
    warn_annotations(w, pod, ROWS(old_annotations));
    warn_volumes(w, &spec);
    warn_lists(w, &spec);
    if (!json_get(o.context, STR("seccompProfile")))
        warn_annotations(w, pod, &seccomp_annotation, 1);
    podspec_warn_each(w, &spec, warn_container, &o);
    podspec_warn_ports(w, &spec);
    if (json_int(grace.v, 0) < 0)
        warn_at(w, &grace, "must be >= 0; negative values are invalid and will be treated as 1");
    warn_affinity(w, &spec);
    warn_ips(w, &servers, NULL);
    warn_ips(w, &aliases, "ip");
}
