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

typedef void container_fn(const struct warner *w, const struct site *container, void *arg);

/* Calls fn for the init containers, the containers and the ephemeral ones. */
static void each_container(const struct warner *w, const struct site *spec, container_fn *fn,
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

/* ---- variables ---- */

/* A later one of the same name is fine when it adds to the one before. */
static bool hides(struct arena *a, const struct site *variable)
{
    str value = site_str(variable, "value");
    str ref = str_printf(a, "$(%.*s)", STR_ARG(site_str(variable, "name")));

    return site_has(variable, "valueFrom") || str_eq(value, ref) || !str_contains(value, ref);
}

static void warn_env(const struct warner *w, const struct site *container)
{
    struct site env = site_in(container, "env");
    struct map seen = { 0 };

    site_each(variable,
              &env) if (site_seen(&seen, site_str(&variable, "name")) && hides(w->arena, &variable))
        warn_at(w, &variable,
                "hides previous definition of %.*s, which may be dropped when using apply",
                STR_ARG(check_quote(w->arena, site_str(&variable, "name"))));
    map_release(&seen);
}

/* ---- ports ---- */

struct port {
    struct port *next; /* of the same number and protocol, in the order of the object */
    str path, host_ip;
    int64_t host_port;
};

enum { SAME_PORTS = 256 }; /* of one number are compared with each other */

struct chain {
    struct port *first, *last;
    size_t n;
};

static void warn_overlap(const struct warner *w, const struct site *at, const struct port *p,
                         const struct port *other)
{
    bool any = p->host_ip.n == 0, any_other = other->host_ip.n == 0;
    const char *how = NULL;

    if (str_eq(p->host_ip, other->host_ip) && p->host_port == other->host_port)
        how = "duplicate";
    else if (p->host_port == 0 || other->host_port == 0)
        how = "overlapping";
    else if (p->host_port == other->host_port && any != any_other)
        how = "dangerously ambiguous";
    if (how)
        warn_at(w, at, "%s port definition with %.*s", how, STR_ARG(other->path));
}

static void warn_port(const struct warner *w, const struct site *at, struct map *all)
{
    struct port *p = arena_new_of(w->arena, struct port);
    str protocol = site_str(at, "protocol");
    int64_t number = json_int(json_get(at->v, STR("containerPort")), 0);
    str key = str_printf(w->arena, "%lld/%.*s", (long long)number, STR_ARG(protocol));
    struct chain *same = map_get(all, key);

    *p = (struct port){ .path = site_path(w->arena, at),
                        .host_ip = site_str(at, "hostIP"),
                        .host_port = json_int(json_get(at->v, STR("hostPort")), 0) };
    if (p->host_ip.n && p->host_port == 0)
        warn_at(w, at,
                "hostIP set without hostPort: {Name:%.*s HostPort:0 ContainerPort:%lld "
                "Protocol:%.*s HostIP:%.*s}",
                STR_ARG(site_str(at, "name")), (long long)number, STR_ARG(protocol),
                STR_ARG(p->host_ip));
    for (const struct port *o = same ? same->first : NULL; o && !warn_full(w); o = o->next)
        warn_overlap(w, at, p, o);
    if (!same) {
        same = arena_new_of(w->arena, struct chain);
        *same = (struct chain){ p, p, 1 };
        (void)map_put(all, key, same);
    } else if (same->n++ < SAME_PORTS) {
        same->last->next = p;
        same->last = p;
    }
}

static void warn_numbers(const struct warner *w, const struct site *container, void *arg)
{
    struct site ports = site_in(container, "ports");

    site_each(p, &ports) warn_port(w, &p, arg);
}

static void warn_names(const struct warner *w, const struct site *container, void *arg)
{
    struct site ports = site_in(container, "ports");

    site_each(p, &ports)
    {
        str name = site_str(&p, "name");
        const str *other = name.n ? map_get(arg, name) : NULL;

        if (other) {
            warn_at(w, &p,
                    "duplicate port name %.*s with %.*s, services and probes that select ports by "
                    "name will use %.*s",
                    STR_ARG(check_quote(w->arena, name)), STR_ARG(*other), STR_ARG(*other));
        } else if (name.n) {
            str *path = arena_new_of(w->arena, str);

            *path = site_path(w->arena, &p);
            (void)map_put(arg, name, path);
        }
    }
}

static void warn_ports(const struct warner *w, const struct site *spec)
{
    struct map numbers = { 0 }, names = { 0 };

    each_container(w, spec, warn_numbers, &numbers);
    each_container(w, spec, warn_names, &names);
    map_release(&numbers);
    map_release(&names);
}

/* ---- files of one volume that hide one another ---- */

enum { PATHS = 256 }; /* of one volume are compared with each other */

struct paths {
    struct path {
        str path, source;
    } all[PATHS];
    size_t n;
    str volume, what; /* for the sentence */
};

static str shown_path(struct arena *a, const struct path *p)
{
    str quoted = check_quote(a, p->path);

    return p->source.n ? str_printf(a, "%.*s (%.*s)", STR_ARG(quoted), STR_ARG(p->source)) : quoted;
}

/* Whether one is the other, or a folder of it. */
static bool overlap(str a, str b)
{
    str first = a.n < b.n ? a : b, second = a.n < b.n ? b : a;

    return str_starts(second, first) && (second.n == first.n || second.p[first.n] == '/');
}

static void add_path(const struct warner *w, struct paths *all, str path, str source)
{
    struct path p = { path, source };

    while (p.path.n && p.path.p[p.path.n - 1] == '/')
        p.path.n--;
    for (size_t i = 0; p.path.n && i < all->n && !warn_full(w); i++)
        if (all->all[i].path.n && overlap(p.path, all->all[i].path))
            schema_fault(w->arena, w->out, "volume %.*s (%.*s): overlapping paths: %.*s with %.*s",
                         STR_ARG(check_quote(w->arena, all->volume)), STR_ARG(all->what),
                         STR_ARG(shown_path(w->arena, &p)),
                         STR_ARG(shown_path(w->arena, &all->all[i])));
    if (all->n < PATHS)
        all->all[all->n++] = p;
}

static void add_items(const struct warner *w, struct paths *all, const struct json *source,
                      str from)
{
    json_for_each (item, json_get(source, STR("items")))
        add_path(w, all, json_get_str(item, "path"), from);
}

/* Sources with items: the member, how it is called, which field names it in a volume. */
static const struct {
    const char *member, *kind, *name;
} listed[] = {
    { "configMap", "ConfigMap", "name" },
    { "secret", "Secret", "secretName" },
    { "downwardAPI", "DownwardAPI", NULL },
};
enum { LISTED = sizeof(listed) / sizeof(*listed) };

static str source_name(struct arena *a, size_t i, const struct json *source, const char *member)
{
    if (!listed[i].name)
        return str_of(listed[i].kind);
    return str_printf(a, "%s %.*s", listed[i].kind,
                      STR_ARG(check_quote(a, json_get_str(source, member))));
}

static void add_bundle(const struct warner *w, struct paths *all, const struct json *bundle)
{
    str name = json_get_str(bundle, json_get(bundle, STR("name")) ? "name" : "signerName");

    add_path(w, all, json_get_str(bundle, "path"),
             str_printf(w->arena, "ClusterTrustBundle %.*s", STR_ARG(check_quote(w->arena, name))));
}

static void add_certificate(const struct warner *w, struct paths *all, const struct json *cert)
{
    static const char *const files[][2] = {
        { "certificateChainPath", "PodCertificate chain" },
        { "keyPath", "PodCertificate key" },
        { "credentialBundlePath", "PodCertificate credential bundle" },
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (json_get_str(cert, files[i][0]).n)
            add_path(w, all, json_get_str(cert, files[i][0]), str_of(files[i][1]));
}

/* k8s: the first of the members that is there, in this order, counts. */
static void add_projection(const struct warner *w, struct paths *all, const struct json *source)
{
    const struct json *token = json_get(source, STR("serviceAccountToken"));
    const struct json *bundle = json_get(source, STR("clusterTrustBundle"));
    const struct json *cert = json_get(source, STR("podCertificate"));

    for (size_t i = 0; i < LISTED; i++) {
        const struct json *one = json_get(source, str_of(listed[i].member));

        if (json_get(one, STR("items"))) {
            add_items(w, all, one, source_name(w->arena, i, one, "name"));
            return;
        }
    }
    if (token)
        add_path(w, all, json_get_str(token, "path"), STR("ServiceAccountToken"));
    else if (bundle)
        add_bundle(w, all, bundle);
    else if (cert)
        add_certificate(w, all, cert);
}

static void warn_projected(const struct warner *w, struct paths *all, const struct json *projected)
{
    all->n = 0;
    all->what = STR("Projected");
    json_for_each (source, json_get(projected, STR("sources"))) {
        if (json_len(source) == 0)
            schema_fault(w->arena, w->out, "volume %.*s (Projected) has no sources provided",
                         STR_ARG(check_quote(w->arena, all->volume)));
        add_projection(w, all, source);
    }
}

static void warn_paths(const struct warner *w, const struct site *volumes)
{
    struct paths *all = json_len(volumes->v) ? arena_new_of(w->arena, struct paths) : NULL;

    site_each(volume, volumes)
    {
        all->volume = site_str(&volume, "name");
        for (size_t i = 0; i < LISTED; i++) {
            const struct json *source = json_get(volume.v, str_of(listed[i].member));

            all->n = 0;
            all->what = source_name(w->arena, i, source, listed[i].name ? listed[i].name : "");
            add_items(w, all, source, STR_NONE);
        }
        warn_projected(w, all, json_get(volume.v, STR("projected")));
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
    warn_paths(w, &volumes);
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
    warn_env(w, container);
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
    each_container(w, &spec, warn_container, &o);
    warn_ports(w, &spec);
    if (json_int(grace.v, 0) < 0)
        warn_at(w, &grace, "must be >= 0; negative values are invalid and will be treated as 1");
    warn_affinity(w, &spec);
    warn_ips(w, &servers, NULL);
    warn_ips(w, &aliases, "ip");
}
