/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "search/answer.h"

void search_discovery_group(struct answer *w)
{
    buf_str_append(&w->out,
                   STR("{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"clusterpedia.io\","
                       "\"versions\":[{\"groupVersion\":\"clusterpedia.io/v1beta1\","
                       "\"version\":\"v1beta1\"}],\"preferredVersion\":{\"groupVersion\":"
                       "\"clusterpedia.io/v1beta1\",\"version\":\"v1beta1\"}}"));
}

void search_discovery_group_version(struct answer *w)
{
    buf_str_append(
        &w->out, STR("{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":"
                     "\"clusterpedia.io/v1beta1\",\"resources\":[{\"name\":\"collectionresources\","
                     "\"singularName\":\"collectionresources\",\"namespaced\":false,\"kind\":"
                     "\"CollectionResource\",\"verbs\":[\"get\",\"list\"]},{\"name\":\"resources\","
                     "\"singularName\":\"resources\",\"namespaced\":false,\"kind\":\"Resources\","
                     "\"verbs\":[\"get\"]}]}"));
}

/* ---- versions of a group, the preferred one first ---- */

struct versions {
    str group;
    str list[64];
    size_t n;
};

/* k8s: version.CompareKubeAwareVersionStrings: v2 before v1 before v1beta2 before v1alpha1. */
static uint64_t rank(str version)
{
    uint64_t major = 0, minor = 0, stage = 3;
    size_t i = 1;

    if (version.n < 2 || version.p[0] != 'v')
        return 0;
    for (; i < version.n && version.p[i] >= '0' && version.p[i] <= '9' && major < 100000; i++)
        major = major * 10 + (uint64_t)(version.p[i] - '0');
    if (i < version.n) {
        stage = str_starts(str_from(version, i), STR("beta")) ? 2 : 1;
        while (i < version.n && (version.p[i] < '0' || version.p[i] > '9'))
            i++;
        (void)str_to_u64(str_from(version, i), &minor);
        minor = minor < 100000 ? minor : 100000;
    }
    return (stage << 40) + (major << 20) + minor;
}

static int by_rank(const void *a, const void *b)
{
    uint64_t x = rank(*(const str *)a), y = rank(*(const str *)b);

    return (x < y) - (x > y);
}

static void add_version(struct versions *v, str version)
{
    for (size_t i = 0; i < v->n; i++)
        if (str_eq(v->list[i], version))
            return;
    if (v->n < sizeof(v->list) / sizeof(*v->list))
        v->list[v->n++] = version;
}

static void add_old_versions(struct versions *v, const struct search_index_type *t)
{
    static const str olds[] = { STR_INIT("v1beta2"), STR_INIT("v1beta1") };

    for (size_t i = 0; !t->custom && i < sizeof(olds) / sizeof(*olds); i++)
        if (answer_old_version(t->group, t->resource, olds[i]))
            add_version(v, olds[i]);
}

static struct versions versions_of(const struct search_index_type *types, size_t n, str group)
{
    struct versions v = { .group = group };

    for (size_t i = 0; i < n; i++)
        if (str_eq(types[i].group, group)) {
            add_version(&v, types[i].version);
            add_old_versions(&v, &types[i]);
        }
    if (v.n)
        qsort(v.list, v.n, sizeof(*v.list), by_rank);
    return v;
}

/* ---- documents ---- */

static void print_version(struct buf *b, str group, str version)
{
    buf_printf(b, "{\"groupVersion\":\"%.*s/%.*s\",\"version\":\"%.*s\"}", STR_ARG(group),
               STR_ARG(version), STR_ARG(version));
}

static void print_group(struct buf *b, const struct versions *v, const char *head)
{
    buf_printf(b, "{%s\"name\":\"%.*s\",\"versions\":[", head, STR_ARG(v->group));
    for (size_t i = 0; i < v->n; i++) {
        if (i)
            buf_byte(b, ',');
        print_version(b, v->group, v->list[i]);
    }
    buf_lit(b, "],\"preferredVersion\":");
    print_version(b, v->group, v->list[0]);
    buf_byte(b, '}');
}

static int by_group(const void *a, const void *b)
{
    const struct search_index_type *x = a, *y = b;
    int c = str_cmp(x->group, y->group);

    return c ? c : str_cmp(x->resource, y->resource);
}

static void groups(struct answer *w, const struct search_index_type *types, size_t n)
{
    bool first = true;

    buf_lit(&w->out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; i < n; i++) {
        struct versions v;

        if (str_empty(types[i].group) || (i && str_eq(types[i].group, types[i - 1].group)))
            continue;
        v = versions_of(types, n, types[i].group);
        if (!first)
            buf_byte(&w->out, ',');
        first = false;
        print_group(&w->out, &v, "");
    }
    buf_lit(&w->out, "]}");
}

static void print_resource(struct buf *b, const struct search_index_type *t)
{
    buf_printf(b,
               "{\"name\":\"%.*s\",\"singularName\":\"%.*s\",\"namespaced\":%s,\"kind\":\"%.*s\","
               "\"verbs\":[\"get\",\"list\"]%.*s}",
               STR_ARG(t->resource), STR_ARG(t->singular), t->namespaced ? "true" : "false",
               STR_ARG(t->kind), STR_ARG(t->more));
}

static int resources(struct answer *w, const struct search_index_type *types, size_t n, str group,
                     str version, struct status *st)
{
    bool any = false;

    /* Clusterpedia's document of the core group has no apiVersion. */
    buf_printf(&w->out, "{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%.*s%s%.*s\"",
               str_empty(group) ? "" : "\"apiVersion\":\"v1\",", STR_ARG(group),
               str_empty(group) ? "" : "/", STR_ARG(version));
    buf_lit(&w->out, ",\"resources\":[");
    for (size_t i = 0; i < n; i++) {
        const struct search_index_type *t = &types[i];

        if (!str_eq(t->group, group) ||
            (!str_eq(t->version, version) &&
             (t->custom || !answer_old_version(group, t->resource, version))))
            continue;
        if (i && any && str_eq(types[i - 1].resource, t->resource) &&
            str_eq(types[i - 1].version, t->version))
            continue; /* once as hidden and once not */
        if (any)
            buf_byte(&w->out, ',');
        any = true;
        print_resource(&w->out, t);
    }
    buf_lit(&w->out, "]}");
    return any ? 0 : answer_missing(st);
}

int search_discovery_answer(struct answer *w, str cluster, const str *parts, size_t n,
                            struct status *st)
{
    struct search_index_type *types;
    struct search_index_cluster c;
    size_t ntypes;

    if (str_is(parts[0], "version")) {
        buf_str_append(&w->out, w->version);
        return 0;
    }
    if (!str_is(parts[0], "api") && !str_is(parts[0], "apis"))
        return answer_missing(st);
    if (!str_empty(cluster) && !answer_knows(w, cluster, &c))
        return answer_missing(st);
    types =
        str_empty(cluster) ? answer_offered(w, &ntypes) : answer_types(w, cluster, false, &ntypes);
    if (ntypes)
        qsort(types, ntypes, sizeof(*types), by_group);
    if (str_is(parts[0], "api") && n == 1) {
        buf_lit(&w->out, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
                         "\"serverAddressByClientCIDRs\":null}");
        return 0;
    }
    if (str_is(parts[0], "api"))
        return resources(w, types, ntypes, STR_NONE, parts[1], st);
    if (n == 1) {
        groups(w, types, ntypes);
        return 0;
    }
    if (n == 2) {
        struct versions v = versions_of(types, ntypes, parts[1]);

        if (v.n == 0)
            return answer_missing(st);
        print_group(&w->out, &v, "\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
        return 0;
    }
    return resources(w, types, ntypes, parts[1], parts[2], st);
}
