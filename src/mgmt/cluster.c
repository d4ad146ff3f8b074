/* SPDX-License-Identifier: Apache-2.0 */

/* Service Cluster: the members of an instance, and those that could be. */

#include "mgmt/cluster.h"

#include "base/banned.h"
#include "fleet/registered.h"

/* Objects by their names. */
struct named {
    const struct json **p;
    size_t n;
};

/* What Container Management knows, without the hidden ones that stand for instances. */
static int list_known(const struct mgmt_parts *p, struct rpc_context *ctx, struct named *out,
                      struct status *st)
{
    struct client_request req = client_request_list(ctx->arena, &mgmt_clusters, NULL);
    const struct json *list, *items;

    if (mgmt_do_own(p, ctx, &req, &list, st) < 0)
        return -1;
    items = json_path(list, "items");
    out->p = arena_array(ctx->arena, const struct json *, json_len(items));
    json_for_each (item, items)
        if (!str_is(json_get_str(item, "spec.type"), "Virtual"))
            out->p[out->n++] = item;
    return 0;
}

/* The members of an instance, from the index. */
static int list_joined(const struct mgmt_parts *p, struct rpc_context *ctx, str instance,
                       struct named *out, struct status *st)
{
    str cluster = search_cluster_name(ctx->arena, instance);
    struct mgmt_sight sight;
    struct search_find find = { .clusters = &cluster,
                                .nclusters = 1,
                                .group = STR("cluster.karmada.io"),
                                .resource = STR("clusters"),
                                .rights = &sight.rights };
    struct search_found found;

    mgmt_see(p, ctx, instance, cluster, &sight);
    (void)search_wait(p->search, SEARCH_WAIT_MS);
    if (search_find(p->search, ctx->arena, &find, &found, st) < 0)
        return -1;
    out->p = arena_array(ctx->arena, const struct json *, found.n);
    for (size_t i = 0; i < found.n; i++)
        if (json_parse(ctx->arena, found.items[i].json, NULL, &out->p[out->n++], st) < 0)
            return -1;
    return 0;
}

static const struct json *find_named(const struct named *list, str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(json_get_str(list->p[i], "metadata.name"), name))
            return list->p[i];
    return NULL;
}

/* The entry that a member stands for: one of its name may be another's. */
static const struct json *find_registered(struct rpc_context *ctx, const struct named *known,
                                          str instance, str name)
{
    str key = str_printf(ctx->arena, REGISTERED_JOINED "%.*s", STR_ARG(instance));

    for (size_t i = 0; i < known->n; i++)
        if (registered_in(known->p[i], instance) &&
            str_eq(json_str(json_get(json_path(known->p[i], "metadata.labels"), key)), name))
            return known->p[i];
    return NULL;
}

static struct json as_it_is(struct arena *a, const struct json *obj)
{
    (void)a;
    return *obj;
}

/* Messages, of which the page is cut. */
static int answer(struct rpc_context *ctx, const struct json *request, const struct json **messages,
                  size_t n, const struct json **response, struct status *st)
{
    const struct cluster_filter *filter;
    struct mgmt_page page;
    size_t kept = 0;

    if (cluster_filter_read(ctx->arena, request, &filter, st) < 0 ||
        mgmt_page_read(request, &page, st) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (cluster_filter_takes(filter, messages[i]))
            messages[kept++] = messages[i];
    *response = mgmt_page_answer(ctx->arena, &page, messages, kept, as_it_is);
    return 0;
}

static int begin(void *arg, struct rpc_context *ctx, const struct json *request,
                 struct mgmt_parts **p, struct named *joined, struct status *st)
{
    str instance = json_get_str(request, "instance");

    if (mgmt_parts_of(arg, p, st) < 0 || mgmt_require(*p, ctx, instance, IAM_VIEWER, st) < 0)
        return -1;
    return list_joined(*p, ctx, instance, joined, st);
}

static int list_joined_clusters(void *arg, struct rpc_context *ctx, const struct json *request,
                                const struct json **response, struct status *st)
{
    struct named joined = { 0 }, known = { 0 };
    const struct json **messages;
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, &p, &joined, st) < 0 || list_known(p, ctx, &known, st) < 0)
        return -1;
    messages = arena_array(ctx->arena, const struct json *, joined.n);
    for (size_t i = 0; i < joined.n; i++) {
        str name = json_get_str(joined.p[i], "metadata.name");

        messages[i] = json_box(
            ctx->arena,
            cluster_shape(ctx->arena, joined.p[i],
                          find_registered(ctx, &known, json_get_str(request, "instance"), name)));
    }
    return answer(ctx, request, messages, joined.n, response, st);
}

/* All that the caller could join: without those that have, if an instance is named. */
static int list_clusters(void *arg, struct rpc_context *ctx, const struct json *request,
                         const struct json **response, struct status *st)
{
    str instance = json_get_str(request, "instance");
    bool all = json_bool(json_path(request, "allCluster"));
    struct named joined = { 0 }, known = { 0 };
    const struct json **messages;
    struct mgmt_parts *p;
    size_t n = 0;

    if (mgmt_parts_of(arg, &p, st) < 0 ||
        mgmt_require(p, ctx, instance, instance.n ? IAM_ADMIN : IAM_PLATFORM, st) < 0 ||
        list_known(p, ctx, &known, st) < 0 ||
        (instance.n && !all && list_joined(p, ctx, instance, &joined, st) < 0))
        return -1;
    messages = arena_array(ctx->arena, const struct json *, known.n);
    for (size_t i = 0; i < known.n; i++) {
        str name = json_get_str(known.p[i], "metadata.name");
        bool has_it = instance.n && !all && registered_in(known.p[i], instance);

        if (!has_it && !find_named(&joined, name) && mgmt_may_enter(p, ctx, name, known.p[i]))
            messages[n++] = json_box(ctx->arena, cluster_shape(ctx->arena, NULL, known.p[i]));
    }
    return answer(ctx, request, messages, n, response, st);
}

static int list_labels(void *arg, struct rpc_context *ctx, const struct json *request,
                       const struct json **response, struct status *st)
{
    struct json_array list = json_array_new(ctx->arena);
    struct json_object o = json_object_new(ctx->arena);
    struct named joined = { 0 };
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, &p, &joined, st) < 0)
        return -1;
    for (size_t i = 0; i < joined.n; i++) {
        struct json_object one = json_object_new(ctx->arena);

        mgmt_copy(&one, "cluster", joined.p[i], "metadata.name");
        mgmt_copy(&one, "labels", joined.p[i], "metadata.labels");
        json_push(&list, json_object_value(&one));
    }
    json_add(&o, STR("clusterLabels"), json_array_value(&list));
    *response = json_object_done(&o);
    return 0;
}

static int list_locations(void *arg, struct rpc_context *ctx, const struct json *request,
                          const struct json **response, struct status *st)
{
    struct json_array list = json_array_new(ctx->arena);
    struct json_object o = json_object_new(ctx->arena);
    struct named joined = { 0 };
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, &p, &joined, st) < 0)
        return -1;
    for (size_t i = 0; i < joined.n; i++) {
        struct json_object one = json_object_new(ctx->arena);
        struct json message = cluster_shape(ctx->arena, joined.p[i], NULL);

        mgmt_copy(&one, "cluster", &message, "metadata.name");
        mgmt_copy(&one, "provider", joined.p[i], "spec.provider");
        mgmt_copy(&one, "region", &message, "spec.region");
        mgmt_copy(&one, "zone", &message, "spec.zone");
        json_push(&list, json_object_value(&one));
    }
    json_add(&o, STR("locations"), json_array_value(&list));
    *response = json_object_done(&o);
    return 0;
}

static const struct rpc_handler handlers[] = {
    { .method = "ListJoinedClusters", .fn = list_joined_clusters },
    { .method = "ListClusters", .fn = list_clusters },
    { .method = "ListClustersLabels", .fn = list_labels },
    { .method = "ListClustersLocationSummary", .fn = list_locations },
    { .method = "JoinCluster", .fn = cluster_join },
    { .method = "RemoveJoinedCluster", .fn = cluster_remove },
    { .method = "UpdateJoinedCluster", .fn = cluster_update },
};

const struct mgmt_service cluster_service = { "Cluster", handlers,
                                              sizeof(handlers) / sizeof(*handlers) };
