/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"

/* k8s: pkg/api/pod/warnings.go */

/* ---- variables ---- */

/* A later one of the same name is fine when it adds to the one before. */
static bool hides(struct arena *a, const struct site *variable)
{
    str value = site_str(variable, "value");
    str ref = str_printf(a, "$(%.*s)", STR_ARG(site_str(variable, "name")));

    return site_has(variable, "valueFrom") || str_eq(value, ref) || !str_contains(value, ref);
}

void podspec_warn_env(const struct warner *w, const struct site *container)
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

void podspec_warn_ports(const struct warner *w, const struct site *spec)
{
    struct map numbers = { 0 }, names = { 0 };

    podspec_warn_each(w, spec, warn_numbers, &numbers);
    podspec_warn_each(w, spec, warn_names, &names);
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

void podspec_warn_paths(const struct warner *w, const struct site *volumes)
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
