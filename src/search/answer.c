/* SPDX-License-Identifier: Apache-2.0 */
#include "search/answer.h"

#include "base/banned.h"
#include "search/rights.h"

int answer_missing(struct status *st)
{
    st->empty_details = true;
    return status_set(st, REASON_NOT_FOUND, "the server could not find the requested resource");
}

/* ---- which form ---- */

struct accepted_media {
    str type, as, group, version;
};

static struct accepted_media media_of(str text)
{
    struct accepted_media m = { 0 };
    str part;

    (void)str_split(&text, ';', &part);
    m.type = str_trim(part);
    while (str_split(&text, ';', &part)) {
        ptrdiff_t eq = str_find(part, '=', 0);
        str key = str_trim(eq < 0 ? part : str_sub(part, 0, (size_t)eq));
        str value = eq < 0 ? STR_NONE : str_trim(str_from(part, (size_t)eq + 1));

        if (str_is(key, "as"))
            m.as = value;
        else if (str_is(key, "g"))
            m.group = value;
        else if (str_is(key, "v"))
            m.version = value;
    }
    return m;
}

static bool take_media(struct answer *w, const struct accepted_media *m)
{
    bool any = str_is(m->type, "*/*") || str_is(m->type, "application/*");

    if (!any && !str_is(m->type, "application/json") && !str_is(m->type, "application/yaml"))
        return false;
    w->yaml = str_is(m->type, "application/yaml");
    if (str_empty(m->as))
        return true;
    if (!str_is(m->group, "meta.k8s.io") || str_empty(m->version))
        return false;
    w->form_version = m->version;
    if (str_is(m->as, "Table"))
        w->form = ANSWER_TABLE;
    else if (str_is(m->as, "PartialObjectMetadata") || str_is(m->as, "PartialObjectMetadataList"))
        w->form = ANSWER_PARTIAL;
    else
        return false;
    return true;
}

/* What may be answered with; NOT_ACCEPTABLE. */
static int answer_accept(struct answer *w, struct status *st)
{
    if (str_empty(w->accept))
        return 0;
    for (str rest = w->accept, part; str_split(&rest, ',', &part);) {
        struct accepted_media m = media_of(part);

        if (take_media(w, &m))
            return 0;
    }
    return status_set(st, REASON_NOT_ACCEPTABLE,
                      "only the following media types are accepted: application/json, "
                      "application/yaml");
}

/* ---- what there is ---- */

bool answer_knows(struct answer *w, str cluster, struct search_index_cluster *out)
{
    return rights_know(w->rights, cluster) &&
           search_index_cluster(w->search_index, w->arena, cluster, out);
}

static bool has_type(const struct search_index_type *all, size_t n,
                     const struct search_index_type *t)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].id == t->id)
            return true;
    return false;
}

static bool search_discovery_resource(const struct search_index_type *all, size_t n,
                                      const struct search_index_type *t)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].group, t->group) && str_eq(all[i].resource, t->resource))
            return true;
    return false;
}

static bool is_by_crd(const struct search_index_type *t)
{
    return t->hidden && t->custom && !t->everywhere;
}

static bool has_crd(struct arena *a, const str *crds, size_t n, const struct search_index_type *t)
{
    str name = str_printf(a, "%.*s.%.*s", STR_ARG(t->resource), STR_ARG(t->group));

    for (size_t i = 0; i < n; i++)
        if (str_eq(crds[i], name))
            return true;
    return false;
}

static bool shares_types(struct answer *w, str cluster, const struct search_index_type *types,
                         size_t n)
{
    struct search_index_cluster c;

    for (size_t i = 0; i < n; i++)
        if (is_by_crd(&types[i]))
            return search_index_cluster(w->search_index, w->arena, cluster, &c) && !c.apart;
    return false;
}

/* Instances do not learn of each other's kinds: only those stay whose CRD is here.  n is what is
 * left. */
static void drop_foreign(struct answer *w, str cluster, struct search_index_type *types, size_t *n)
{
    const str *crds = NULL;
    size_t ncrds = 0, left = 0;
    struct status st;

    if (!shares_types(w, cluster, types, *n))
        return;
    status_init(&st, w->arena);
    for (size_t i = 0; i < *n; i++)
        if (str_is(types[i].resource, "customresourcedefinitions") &&
            str_is(types[i].group, "apiextensions.k8s.io") &&
            search_index_names(w->reader, w->arena, types[i].id, cluster, &crds, &ncrds, &st) < 0)
            break;
    for (size_t i = 0; i < *n; i++)
        if (!is_by_crd(&types[i]) || has_crd(w->arena, crds, ncrds, &types[i]))
            types[left++] = types[i];
    *n = left;
}

/* Of the clusters that the caller knows, what they may see there. */
static struct search_index_type *types_seen(struct answer *w, bool hidden, size_t *n)
{
    struct search_index_type *all = search_index_types(w->search_index, w->arena, hidden, n), *out;
    size_t nout = 0;

    if (w->rights->all)
        return all;
    out = arena_array(w->arena, struct search_index_type, *n);
    for (size_t i = 0; i < w->rights->ngrants; i++) {
        const struct search_grant *g = &w->rights->grants[i];
        size_t nof;
        struct search_index_type *of =
            search_index_types_of(w->search_index, w->arena, g->cluster, &nof);

        drop_foreign(w, g->cluster, of, &nof);
        for (size_t j = 0; j < nof; j++)
            if (of[j].hidden == hidden && !has_type(out, nout, &of[j]) && nout < *n &&
                rights_grant_shows(g, of[j].group, of[j].resource))
                out[nout++] = of[j];
    }
    *n = nout;
    return out;
}

static struct search_index_type *types_of_cluster(struct answer *w, str cluster, size_t *n)
{
    size_t nall, nout = 0;
    struct search_index_type *types =
        search_index_types_of(w->search_index, w->arena, cluster, &nall);

    drop_foreign(w, cluster, types, &nall);
    for (size_t i = 0; i < nall; i++)
        if (!types[i].custom || rights_show(w->rights, cluster, types[i].group, types[i].resource))
            types[nout++] = types[i];
    *n = nout;
    return types;
}

struct search_index_type *answer_types(struct answer *w, str cluster, bool show_virtual, size_t *n)
{
    struct search_index_type *a, *b, *out;
    size_t na, nb;

    if (!str_empty(cluster))
        return types_of_cluster(w, cluster, n);
    a = types_seen(w, false, &na);
    *n = na;
    if (!show_virtual)
        return a;
    b = types_seen(w, true, &nb);
    out = arena_array(w->arena, struct search_index_type, na + nb);
    if (na)
        memcpy(out, a, na * sizeof(*a));
    if (nb)
        memcpy(out + na, b, nb * sizeof(*b));
    *n = na + nb;
    return out;
}

/*
 * Whoever sees few clusters, or none yet, has the built-in types, too: empty (id 0), so that lists
 * of them are empty and not missing.  Which types others have by CRDs is not told.
 */
struct search_index_type *answer_offered(struct answer *w, size_t *n)
{
    struct search_index_type *seen = types_seen(w, false, n), *of[2], *out;
    size_t nof[2], nout = *n;

    if (w->rights->all)
        return seen;
    of[0] = search_index_types(w->search_index, w->arena, false, &nof[0]);
    of[1] = search_index_types(w->search_index, w->arena, true, &nof[1]);
    out = arena_array(w->arena, struct search_index_type, *n + nof[0] + nof[1]);
    if (*n)
        memcpy(out, seen, *n * sizeof(*out));
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < nof[k]; i++) {
            if (of[k][i].custom || search_discovery_resource(out, nout, &of[k][i]))
                continue;
            out[nout] = of[k][i];
            out[nout++].id = 0;
        }
    *n = nout;
    return out;
}

/* Clusterpedia offers built-in types in every version that Kubernetes ever had of them. */
static const struct {
    const char *group, *resource, *version;
} old_versions[] = {
    { "apps", "deployments", "v1beta2" },  { "apps", "deployments", "v1beta1" },
    { "apps", "statefulsets", "v1beta2" }, { "apps", "statefulsets", "v1beta1" },
    { "apps", "daemonsets", "v1beta2" },   { "apps", "replicasets", "v1beta2" },
    { "batch", "cronjobs", "v1beta1" },
};

bool answer_old_version(str group, str resource, str version)
{
    for (size_t i = 0; i < sizeof(old_versions) / sizeof(*old_versions); i++)
        if (str_is(group, old_versions[i].group) && str_is(resource, old_versions[i].resource) &&
            str_is(version, old_versions[i].version))
            return true;
    return false;
}

/* ---- clusters that cannot be followed ---- */

enum { WARNED_MAX = 10 };

struct warned {
    struct arena *arena;
    str names, reason; /* of the first */
    size_t n;
};

static void warn(struct warned *l, const struct search_index_cluster *c)
{
    if (l->n++ == 0)
        l->reason = c->reason;
    if (l->n <= WARNED_MAX)
        l->names = str_printf(l->arena, "%.*s%s%.*s", STR_ARG(l->names), l->n > 1 ? ", " : "",
                              STR_ARG(c->name));
}

/* Rows of these types are missing, or would be: a cluster that was never reached has none yet. */
static bool lacks(struct answer *w, const struct search_index_cluster *c,
                  const struct search_index_type *types, size_t n)
{
    size_t nof;
    const struct search_index_type *of =
        search_index_types_of(w->search_index, w->arena, c->name, &nof);

    for (size_t i = 0; i < n; i++)
        if (rights_show(w->rights, c->name, types[i].group, types[i].resource) &&
            (nof == 0 || search_discovery_resource(of, nof, &types[i])))
            return true;
    return false;
}

/* What stands between quotes in a header; the reason may be a member's words. */
static str quoted(struct arena *a, str text)
{
    char *p = arena_alloc(a, 2 * text.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        char x = text.p[i];

        if (x == '"' || x == '\\')
            p[n++] = '\\';
        p[n++] = x < ' ' || x > '~' ? ' ' : x;
    }
    return (str){ p, n };
}

#define NOT_READY "not ready and the resources obtained may be inaccurate"

static str warning_of(const struct warned *l)
{
    if (l->n == 1)
        return str_printf(l->arena, "%.*s is " NOT_READY ", reason: %.*s", STR_ARG(l->names),
                          STR_ARG(l->reason));
    if (l->n <= WARNED_MAX)
        return str_printf(l->arena, "%.*s are " NOT_READY, STR_ARG(l->names));
    return str_printf(l->arena, "%.*s and %zu more are " NOT_READY, STR_ARG(l->names),
                      l->n - WARNED_MAX);
}

void answer_warn(struct answer *w, const struct query *q, const struct search_index_type *types,
                 size_t n)
{
    struct warned l = { .arena = w->arena };
    struct search_index_cluster c, *all;
    size_t nall;

    for (size_t i = 0; i < q->clusters.n; i++)
        if (answer_knows(w, q->clusters.p[i], &c) && !c.healthy)
            warn(&l, &c);
    if (q->clusters.n == 0) {
        all = search_index_unhealthy(w->search_index, w->arena, &nall);
        for (size_t i = 0; i < nall; i++)
            if ((!all[i].hidden || q->show_virtual) && lacks(w, &all[i], types, n))
                warn(&l, &all[i]);
    }
    if (l.n == 0)
        return;
    w->warning = str_printf(w->arena, "299 - \"%.*s\"", STR_ARG(quoted(w->arena, warning_of(&l))));
}

/* ---- objects ---- */

/* "api/v1/namespaces/x/pods/y", taken apart. */
struct object_path {
    str group, version, namespace, resource, name;
    bool in_namespace, deeper;
};

static struct object_path target_of(const str *parts, size_t n)
{
    bool core = str_is(parts[0], "api");
    struct object_path t = { .group = core ? STR_NONE : parts[1], .version = parts[core ? 1 : 2] };
    size_t at = core ? 2 : 3;

    if (n - at >= 3 && str_is(parts[at], "namespaces")) {
        t.in_namespace = true;
        t.namespace = parts[at + 1];
        at += 2;
    }
    t.resource = parts[at++];
    if (at < n)
        t.name = parts[at++];
    t.deeper = at < n;
    return t;
}

static struct search_index_type *matching(struct answer *w, const struct object_path *t,
                                          const struct search_index_type *types, size_t nall,
                                          size_t *n)
{
    size_t nout = 0;
    struct search_index_type *out = arena_array(w->arena, struct search_index_type, nall);
    bool old = answer_old_version(t->group, t->resource, t->version);

    for (size_t i = 0; i < nall; i++)
        if (str_eq(types[i].group, t->group) && str_eq(types[i].resource, t->resource) &&
            (str_eq(types[i].version, t->version) || (old && !types[i].custom)))
            out[nout++] = types[i];
    *n = nout;
    return out;
}

static struct search_index_type *types_of(struct answer *w, const struct object_path *t,
                                          str cluster, bool hidden, size_t *n)
{
    size_t nall;
    struct search_index_type *all = answer_types(w, cluster, hidden, &nall);
    struct search_index_type *out = matching(w, t, all, nall, n);

    if (*n || !str_empty(cluster))
        return out;
    all = answer_offered(w, &nall);
    return matching(w, t, all, nall, n);
}

static bool names_hidden(struct answer *w, const struct query *q)
{
    for (size_t i = 0; i < q->clusters.n; i++) {
        struct search_index_cluster c;

        if (answer_knows(w, q->clusters.p[i], &c) && c.hidden)
            return true;
    }
    return q->show_virtual;
}

/* The path says more precisely what the query says. */
static void narrow(struct answer *w, struct query *q, const struct object_path *t, str cluster)
{
    str *words = arena_array(w->arena, str, 2);

    words[0] = cluster;
    words[1] = t->namespace;
    if (!str_empty(cluster))
        q->clusters = (struct query_list){ words, 1 };
    if (t->in_namespace)
        q->namespaces = (struct query_list){ words + 1, 1 };
}

static int objects(struct answer *w, str cluster, const str *parts, size_t n, struct status *st)
{
    struct object_path t = target_of(parts, n);
    struct shape_request r = { .cluster = cluster, .version = t.version };
    struct search_index_cluster c;
    struct query q;

    if (t.deeper)
        return answer_missing(st);
    if (!str_empty(t.name) && str_empty(cluster))
        return status_set(st, REASON_BAD_REQUEST,
                          "please specify the cluster name when using the resource name to get a "
                          "specific resource.");
    if (!str_empty(cluster) && !answer_knows(w, cluster, &c))
        return status_set(st, REASON_BAD_REQUEST,
                          "the server could not find the requested cluster");
    if (query_parse(w->arena, w->query, &q, st) < 0)
        return -1;
    r.types = types_of(w, &t, cluster, names_hidden(w, &q), &r.ntypes);
    if (r.ntypes == 0 || (t.in_namespace && !r.types[0].namespaced) ||
        (!str_empty(t.name) && r.types[0].namespaced && !t.in_namespace))
        return answer_missing(st);
    if (q.watch && str_empty(t.name)) {
        st->empty_details = true;
        return status_set(st, REASON_METHOD_NOT_ALLOWED,
                          "the server does not allow this method on the requested resource");
    }
    narrow(w, &q, &t, cluster);
    answer_warn(w, &q, r.types, r.ntypes);
    r.q = &q;
    return str_empty(t.name) ? shape_list(w, &r, st) : shape_object(w, &r, t.name, st);
}

/* ---- paths ---- */

enum { PARTS_MAX = 16 };

static size_t split(str path, str parts[PARTS_MAX])
{
    size_t n = 0;
    str rest = path, part;

    while (str_split(&rest, '/', &part))
        if (part.n && n < PARTS_MAX)
            parts[n++] = part;
    return n;
}

static int resources(struct answer *w, const str *parts, size_t n, struct status *st)
{
    str cluster = STR_NONE;
    size_t document;

    if (n >= 2 && str_is(parts[0], "clusters")) {
        cluster = parts[1];
        parts += 2;
        n -= 2;
    }
    if (n == 0)
        return answer_missing(st);
    document = str_is(parts[0], "api") ? 2 : str_is(parts[0], "apis") ? 3 : 1;
    if (n <= document)
        return search_discovery_answer(w, cluster, parts, n, st);
    if (document == 1)
        return answer_missing(st);
    return objects(w, cluster, parts, n, st);
}

static bool reads(str method)
{
    return str_is(method, "GET") || str_is(method, "HEAD");
}

static bool is_object_path(const str *parts, size_t n)
{
    return n && n > (str_is(parts[0], "api") ? 2 : 3) &&
           (str_is(parts[0], "api") || str_is(parts[0], "apis"));
}

void answer_describe(str method, str path, struct mount_deed *out)
{
    str parts[PARTS_MAX];
    size_t n = split(path, parts), at = 2;
    struct object_path t;

    if (!reads(method) || n < 3 || !str_is(parts[0], "v1beta1"))
        return;
    if (str_is(parts[1], "collectionresources")) {
        *out = (struct mount_deed){ .verb = STR("get"),
                                    .object = true,
                                    .group = STR("clusterpedia.io"),
                                    .version = parts[0],
                                    .resource = parts[1],
                                    .name = parts[2] };
        return;
    }
    if (n > 4 && str_is(parts[2], "clusters"))
        at = 4;
    if (!str_is(parts[1], "resources") || !is_object_path(parts + at, n - at))
        return;
    t = target_of(parts + at, n - at);
    *out = (struct mount_deed){ .verb = str_empty(t.name) ? STR("list") : STR("get"),
                                .object = true,
                                .group = t.group,
                                .version = t.version,
                                .resource = t.resource,
                                .namespace_ = t.namespace,
                                .name = t.name };
}

int answer_make(struct answer *w, struct status *st)
{
    str parts[PARTS_MAX];
    size_t n = split(w->path, parts);

    if (!reads(w->method)) {
        st->empty_details = true;
        return status_set(st, REASON_METHOD_NOT_ALLOWED,
                          "the server does not allow this method on the requested resource");
    }
    if (answer_accept(w, st) < 0)
        return -1;
    if (n == 0) {
        search_discovery_group(w);
        return 0;
    }
    if (!str_is(parts[0], "v1beta1"))
        return answer_missing(st);
    if (n == 1) {
        search_discovery_group_version(w);
        return 0;
    }
    if (str_is(parts[1], "resources"))
        return resources(w, parts + 2, n - 2, st);
    if (str_is(parts[1], "collectionresources"))
        return collections_answer(w, parts + 2, n - 2, st);
    return answer_missing(st);
}
