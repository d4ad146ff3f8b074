/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/discovery.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/map.h"
#include "http/sign.h"
#include "object/meta/api_version.h"

/* As Kubernetes lists them: by name, those of CRDs in an order of their own.
 * k8s: apiextensions-apiserver/pkg/apiserver/customresource_discovery_controller.go */
enum { NVERBS = 8 };
static const enum verb verbs_by_name[NVERBS] = {
    VERB_CREATE, VERB_DELETE, VERB_DELETE_COLLECTION, VERB_GET, VERB_LIST, VERB_PATCH,
    VERB_UPDATE, VERB_WATCH,
};
static const enum verb verbs_of_customs[NVERBS] = {
    VERB_DELETE, VERB_DELETE_COLLECTION, VERB_GET, VERB_LIST, VERB_PATCH, VERB_CREATE, VERB_UPDATE,
    VERB_WATCH,
};

/* ---- order ---- */

int discovery_version_cmp(str a, str b)
{
    return api_version_cmp(b, a);
}

static int cmp_versions(const void *a, const void *b)
{
    return discovery_version_cmp(*(const str *)a, *(const str *)b);
}

static int cmp_plurals(const void *a, const void *b)
{
    const struct kind *const *ka = a, *const *kb = b;

    return str_cmp((*ka)->plural, (*kb)->plural);
}

static int cmp_texts(const void *a, const void *b)
{
    return str_cmp(json_str(a), json_str(b));
}

/* ---- what there is ---- */

static bool contains(const str *list, size_t n, str s)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i], s))
            return true;
    }
    return false;
}

static void collect_versions(struct arena *a, struct discovery_group *g)
{
    str *versions = arena_array(a, str, g->nkinds + 1);
    size_t n = 0;

    for (size_t i = 0; i < g->nkinds; i++)
        if (!contains(versions, n, g->kinds[i]->version))
            versions[n++] = g->kinds[i]->version;
    qsort(versions, n, sizeof(*versions), cmp_versions);
    g->versions = versions;
    g->nversions = n;
}

/* Of that name, with its kinds: none when it is not served. */
static struct discovery_group find_group(struct arena *a, const struct catalog *c, str name)
{
    struct discovery_group g = { .name = name };
    const struct kind **kinds;

    for (size_t i = 0; i < c->nkinds; i++)
        g.nkinds += str_eq(c->kinds[i]->group, name);
    kinds = arena_alloc_n(a, g.nkinds + 1, sizeof(*kinds));
    g.kinds = kinds;
    for (size_t i = 0; i < c->nkinds; i++)
        if (str_eq(c->kinds[i]->group, name))
            *kinds++ = c->kinds[i];
    collect_versions(a, &g);
    return g;
}

/* The group of each kind, counted; by the order in which they come. */
static size_t count_groups(const struct catalog *c, struct discovery_group *groups, size_t *of)
{
    struct map map = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < c->nkinds; i++) {
        str name = c->kinds[i]->group;
        struct discovery_group *g = map_get(&map, name);

        if (!g) {
            g = &groups[n++];
            g->name = name;
            (void)map_put(&map, name, g);
        }
        g->nkinds++;
        of[i] = (size_t)(g - groups);
    }
    map_release(&map);
    return n;
}

/* Kubernetes' own come first, in the catalog's order; the priority of all others is the same. */
static bool is_first(const struct discovery_group *g)
{
    return !g->kinds[0]->schema_id &&
           (str_find(g->name, '.', 0) < 0 || str_ends(g->name, STR(".k8s.io")));
}

static int cmp_groups(const void *a, const void *b)
{
    const struct discovery_group *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

static void order_groups(struct arena *a, struct discovery_group *groups, size_t n)
{
    struct discovery_group *others = arena_array(a, struct discovery_group, n + 1);
    size_t nfirst = 0, nothers = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_first(&groups[i]))
            groups[nfirst++] = groups[i];
        else
            others[nothers++] = groups[i];
    }
    if (nothers == 0)
        return;
    qsort(others, nothers, sizeof(*others), cmp_groups);
    memcpy(groups + nfirst, others, nothers * sizeof(*others));
}

size_t discovery_groups(struct arena *a, const struct catalog *c, struct discovery_group **out)
{
    struct discovery_group *groups = arena_array(a, struct discovery_group, c->nkinds + 1);
    size_t *of = arena_array(a, size_t, c->nkinds + 1), n = count_groups(c, groups, of);
    const struct kind **kinds = arena_alloc_n(a, c->nkinds + 1, sizeof(*kinds));
    const struct kind ***ends = arena_alloc_n(a, n + 1, sizeof(*ends));

    for (size_t i = 0; i < n; i++) {
        groups[i].kinds = ends[i] = kinds;
        kinds += groups[i].nkinds;
    }
    for (size_t i = 0; i < c->nkinds; i++)
        *ends[of[i]]++ = c->kinds[i];
    for (size_t i = 0; i < n; i++)
        collect_versions(a, &groups[i]);
    order_groups(a, groups, n);
    *out = groups;
    return n;
}

static size_t kinds_of(struct arena *a, const struct kind *const *from, size_t nfrom, str group,
                       str version, const struct kind *const **out)
{
    const struct kind **kinds = arena_alloc_n(a, nfrom + 1, sizeof(*kinds));
    size_t n = 0;

    for (size_t i = 0; i < nfrom; i++)
        if (str_eq(from[i]->group, group) && str_eq(from[i]->version, version))
            kinds[n++] = from[i];
    qsort(kinds, n, sizeof(*kinds), cmp_plurals);
    *out = kinds;
    return n;
}

size_t discovery_kinds(struct arena *a, const struct catalog *c, str group, str version,
                       const struct kind *const **out)
{
    return kinds_of(a, c->kinds, c->nkinds, group, version, out);
}

static str group_version(struct arena *a, str group, str version)
{
    if (group.n == 0)
        return version;
    return str_printf(a, "%.*s/%.*s", STR_ARG(group), STR_ARG(version));
}

/* ---- parts ---- */

static void add_str(struct json_object *o, str name, str value)
{
    json_add(o, name, json_of_str(value));
}

static struct json verbs_value(struct arena *a, const struct kind *k, unsigned verbs)
{
    const enum verb *order = k->schema_id ? verbs_of_customs : verbs_by_name;
    struct json_array r = json_array_new(a);

    for (size_t i = 0; i < NVERBS; i++) {
        if (verbs & order[i])
            json_push(&r, json_of_str(str_of(verb_name(order[i]))));
    }
    return json_array_value(&r);
}

static void add_strings(struct json_object *o, str name, const str *list, size_t n)
{
    struct json_array r = json_array_new(o->arena);

    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(list[i]));
    json_add(o, name, json_array_value(&r));
}

/* What a subresource speaks: its own kind, or the parent's. */
bool discovery_is_native(const struct catalog *c, str group)
{
    for (size_t i = 0; i < c->nkinds; i++)
        if (str_eq(c->kinds[i]->group, group) && !c->kinds[i]->schema_id)
            return true;
    return false;
}

static void sub_gvk(const struct kind *k, const struct subresource *s, str *group, str *version,
                    str *kind)
{
    bool own = s->kind.n > 0;

    *kind = own ? s->kind : k->kind;
    *version = own && s->version.n > 0 ? s->version : k->version;
    *group = own && s->version.n > 0 ? s->group : k->group;
}

/* ---- legacy ---- */

/* k8s: apiserver/pkg/endpoints/discovery/storageversionhash.go; of CRDs the stored version only */
static str stored_as(struct arena *a, const struct kind *k)
{
    const struct kind *as = k->storage;
    unsigned char sum[SHA256_SIZE];

    if (!(k->verbs & VERB_WATCH) || (k->schema_id && !str_eq(k->version, as->version)))
        return STR_NONE;
    sign_sha256(str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(as->group), STR_ARG(as->version),
                           STR_ARG(as->kind)),
                sum);
    return base64_encode(a, BASE64_STD, (str){ (const char *)sum, 8 });
}

static void push_resource(struct json_array *r, const struct kind *k)
{
    struct json_object o = json_object_new(r->arena);
    str hash;

    add_str(&o, STR("name"), k->plural);
    add_str(&o, STR("singularName"), k->singular);
    json_add(&o, STR("namespaced"), json_of_bool(k->namespaced));
    add_str(&o, STR("kind"), k->kind);
    json_add(&o, STR("verbs"), verbs_value(r->arena, k, k->verbs));
    add_strings(&o, STR("shortNames"), k->short_names, k->nshort_names);
    add_strings(&o, STR("categories"), k->categories, k->ncategories);
    hash = stored_as(r->arena, k);
    if (hash.n)
        add_str(&o, STR("storageVersionHash"), hash);
    json_push(r, json_object_value(&o));
}

static void push_subresource(struct json_array *r, const struct kind *k,
                             const struct subresource *s)
{
    struct json_object o = json_object_new(r->arena);
    str group, version, kind;

    sub_gvk(k, s, &group, &version, &kind);
    add_str(&o, STR("name"),
            str_printf(r->arena, "%.*s/%.*s", STR_ARG(k->plural), STR_ARG(s->name)));
    add_str(&o, STR("singularName"), STR(""));
    json_add(&o, STR("namespaced"), json_of_bool(k->namespaced));
    if (!str_eq(group, k->group) || !str_eq(version, k->version)) {
        if (group.n > 0)
            add_str(&o, STR("group"), group);
        add_str(&o, STR("version"), version);
    }
    add_str(&o, STR("kind"), kind);
    json_add(&o, STR("verbs"), verbs_value(r->arena, k, s->verbs));
    json_push(r, json_object_value(&o));
}

const struct json *discovery_resources(struct arena *a, const struct catalog *c, str group,
                                       str version)
{
    const struct kind *const *kinds;
    size_t n = discovery_kinds(a, c, group, version, &kinds);
    struct json_object o = json_object_new(a);
    struct json_array r = json_array_new(a);

    if (n == 0)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        push_resource(&r, kinds[i]);
        for (size_t s = 0; s < kinds[i]->nsubresources; s++)
            push_subresource(&r, kinds[i], &kinds[i]->subresources[s]);
    }
    add_str(&o, STR("kind"), STR("APIResourceList"));
    /* k8s: /api/v1 has none, for clients of 2015 */
    if (group.n > 0)
        add_str(&o, STR("apiVersion"), STR("v1"));
    add_str(&o, STR("groupVersion"), group_version(a, group, version));
    json_add(&o, STR("resources"), json_array_value(&r));
    return json_object_done(&o);
}

const struct json *discovery_api(struct arena *a, const struct catalog *c, str server)
{
    struct discovery_group core = find_group(a, c, STR(""));
    struct json_object o = json_object_new(a), place = json_object_new(a);
    struct json_array places = json_array_new(a);

    add_str(&o, STR("kind"), STR("APIVersions"));
    if (core.nversions == 0)
        json_add(&o, STR("versions"), json_empty_array);
    add_strings(&o, STR("versions"), core.versions, core.nversions);
    add_str(&place, STR("clientCIDR"), STR("0.0.0.0/0"));
    add_str(&place, STR("serverAddress"), server);
    if (server.n)
        json_push(&places, json_object_value(&place));
    json_add(&o, STR("serverAddressByClientCIDRs"), json_array_value(&places));
    return json_object_done(&o);
}

static struct json version_value(struct arena *a, str group, str version)
{
    struct json_object o = json_object_new(a);

    add_str(&o, STR("groupVersion"), group_version(a, group, version));
    add_str(&o, STR("version"), version);
    return json_object_value(&o);
}

static void fill_group(struct json_object *o, const struct discovery_group *g)
{
    struct json_array versions = json_array_new(o->arena);

    for (size_t i = 0; i < g->nversions; i++)
        json_push(&versions, version_value(o->arena, g->name, g->versions[i]));
    add_str(o, STR("name"), g->name);
    json_add(o, STR("versions"), json_array_value(&versions));
    json_add(o, STR("preferredVersion"), version_value(o->arena, g->name, g->versions[0]));
}

const struct json *discovery_apis(struct arena *a, const struct catalog *c)
{
    struct json_object o = json_object_new(a);
    struct json_array list = json_array_new(a);
    struct discovery_group *groups;
    size_t n = discovery_groups(a, c, &groups);

    for (size_t i = 0; i < n; i++) {
        struct json_object g = json_object_new(a);

        if (groups[i].name.n == 0)
            continue;
        fill_group(&g, &groups[i]);
        json_push(&list, json_object_value(&g));
    }
    add_str(&o, STR("kind"), STR("APIGroupList"));
    add_str(&o, STR("apiVersion"), STR("v1"));
    json_add(&o, STR("groups"), json_array_value(&list));
    return json_object_done(&o);
}

const struct json *discovery_group(struct arena *a, const struct catalog *c, str group)
{
    struct discovery_group g = find_group(a, c, group);
    struct json_object o = json_object_new(a);

    if (group.n == 0 || g.nversions == 0)
        return NULL;
    add_str(&o, STR("kind"), STR("APIGroup"));
    add_str(&o, STR("apiVersion"), STR("v1"));
    fill_group(&o, &g);
    return json_object_done(&o);
}

/* ---- aggregated ---- */

/* k8s: where it is the resource's own, only those of CRDs say which group and version. */
static struct json gvk_value(struct arena *a, const struct kind *k, str group, str version,
                             str kind)
{
    bool own = !k->schema_id && str_eq(group, k->group) && str_eq(version, k->version);
    struct json_object o = json_object_new(a);

    add_str(&o, STR("group"), own ? STR("") : group);
    add_str(&o, STR("version"), own ? STR("") : version);
    add_str(&o, STR("kind"), kind);
    return json_object_value(&o);
}

static struct json aggregated_subresource(struct arena *a, const struct kind *k,
                                          const struct subresource *s)
{
    struct json_object o = json_object_new(a);
    str group, version, kind;

    sub_gvk(k, s, &group, &version, &kind);
    add_str(&o, STR("subresource"), s->name);
    json_add(&o, STR("responseKind"), gvk_value(a, k, group, version, kind));
    json_add(&o, STR("verbs"), verbs_value(a, k, s->verbs));
    return json_object_value(&o);
}

static struct json aggregated_resource(struct arena *a, const struct kind *k)
{
    struct json_object o = json_object_new(a);
    struct json_array subs = json_array_new(a);

    add_str(&o, STR("resource"), k->plural);
    json_add(&o, STR("responseKind"), gvk_value(a, k, k->group, k->version, k->kind));
    add_str(&o, STR("scope"), k->namespaced ? STR("Namespaced") : STR("Cluster"));
    add_str(&o, STR("singularResource"), k->singular);
    json_add(&o, STR("verbs"), verbs_value(a, k, k->verbs));
    add_strings(&o, STR("shortNames"), k->short_names, k->nshort_names);
    add_strings(&o, STR("categories"), k->categories, k->ncategories);
    for (size_t i = 0; i < k->nsubresources; i++)
        json_push(&subs, aggregated_subresource(a, k, &k->subresources[i]));
    if (k->nsubresources > 0)
        json_add(&o, STR("subresources"), json_array_value(&subs));
    return json_object_value(&o);
}

static struct json aggregated_version(struct arena *a, const struct discovery_group *g, str version)
{
    struct json_object o = json_object_new(a);
    struct json_array resources = json_array_new(a);
    const struct kind *const *kinds;
    size_t n = kinds_of(a, g->kinds, g->nkinds, g->name, version, &kinds);

    for (size_t i = 0; i < n; i++)
        json_push(&resources, aggregated_resource(a, kinds[i]));
    add_str(&o, STR("version"), version);
    json_add(&o, STR("resources"), json_array_value(&resources));
    add_str(&o, STR("freshness"), STR("Current"));
    return json_object_value(&o);
}

static struct json aggregated_group(struct arena *a, const struct discovery_group *g)
{
    struct json_object o = json_object_new(a), metadata = json_object_new(a);
    struct json_array versions = json_array_new(a);

    if (g->name.n > 0)
        add_str(&metadata, STR("name"), g->name);
    for (size_t i = 0; i < g->nversions; i++)
        json_push(&versions, aggregated_version(a, g, g->versions[i]));
    json_add(&o, STR("metadata"), json_object_value(&metadata));
    json_add(&o, STR("versions"), json_array_value(&versions));
    return json_object_value(&o);
}

const struct json *discovery_aggregated(struct arena *a, const struct catalog *c, bool core,
                                        str api_version)
{
    struct json_object o = json_object_new(a);
    struct json_array items = json_array_new(a);
    struct discovery_group *groups;
    size_t n = discovery_groups(a, c, &groups);

    for (size_t i = 0; i < n; i++) {
        if ((groups[i].name.n == 0) == core)
            json_push(&items, aggregated_group(a, &groups[i]));
    }
    add_str(&o, STR("kind"), STR("APIGroupDiscoveryList"));
    add_str(&o, STR("apiVersion"), str_printf(a, "apidiscovery.k8s.io/%.*s", STR_ARG(api_version)));
    json_add(&o, STR("metadata"), json_empty_object);
    json_add(&o, STR("items"), json_array_value(&items));
    return json_object_done(&o);
}

/* ---- paths ---- */

const struct json *discovery_paths(struct arena *a, const struct catalog *c)
{
    static const str fixed[] = {
        STR_INIT("/api"),          STR_INIT("/apis"),       STR_INIT("/healthz"),
        STR_INIT("/livez"),        STR_INIT("/metrics"),    STR_INIT("/openapi/v2"),
        STR_INIT("/openapi/v3"),   STR_INIT("/readyz"),     STR_INIT("/version"),
        STR_INIT("/healthz/ping"), STR_INIT("/livez/ping"), STR_INIT("/readyz/ping"),
    };
    struct json_array paths = json_array_new(a);
    struct json_object o = json_object_new(a);
    struct discovery_group *groups;
    size_t n = discovery_groups(a, c, &groups);

    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        json_push(&paths, json_of_str(fixed[i]));
    for (size_t i = 0; i < n; i++) {
        str base = groups[i].name.n == 0 ? STR("/api")
                                         : str_printf(a, "/apis/%.*s", STR_ARG(groups[i].name));

        if (groups[i].name.n > 0)
            json_push(&paths, json_of_str(base));
        for (size_t v = 0; v < groups[i].nversions; v++)
            json_push(&paths, json_of_str(str_printf(a, "%.*s/%.*s", STR_ARG(base),
                                                     STR_ARG(groups[i].versions[v]))));
    }
    qsort(paths.items, paths.n, sizeof(*paths.items), cmp_texts);
    json_add(&o, STR("paths"), json_array_value(&paths));
    return json_object_done(&o);
}
