/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Joining and leaving.  A cluster is known to Container Management first
 * (clusters.fleet.kairship.io of root, with its credentials in a Secret there); by these it is
 * reached.
 */

#include "base/banned.h"
#include "base/log.h"
#include "fleet/join.h"
#include "fleet/member_config.h"
#include "fleet/registered.h"
#include "mgmt/cluster.h"
#include "mgmt/instance.h"

static struct client_ref joined_ref(const struct json *request)
{
    return (struct client_ref){ .instance = json_get_str(request, "instance"),
                                .group = STR("cluster.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("clusters"),
                                .name = json_get_str(request, "name") };
}

static int begin(void *arg, struct rpc_context *ctx, const struct json *request,
                 struct mgmt_parts **p, struct status *st)
{
    if (mgmt_parts_of(arg, p, st) < 0)
        return -1;
    return mgmt_require(*p, ctx, json_get_str(request, "instance"), IAM_ADMIN, st);
}

/* The cluster as Container Management knows it, and the way to it, for those who may join it. */
static int look_up(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                   const struct json **known, struct kubeconfig *way, struct status *st)
{
    static const struct member_config_options plain = { 0 };
    struct client_ref ref = mgmt_named(mgmt_clusters, name),
                      creds_ref = { .version = STR("v1"), .resource = STR("secrets") };
    struct client_request req = client_request_get(ctx->arena, &ref);
    const struct json *creds = NULL;

    if (mgmt_do_own(p, ctx, &req, known, st) < 0) {
        struct status hidden;

        status_init(&hidden, ctx->arena);
        if (!status_is(st, REASON_NOT_FOUND) ||
            mgmt_require_cluster(p, ctx, name, NULL, &hidden) == 0)
            return -1;
        status_copy(st, &hidden);
        return -1;
    }
    if (mgmt_require_cluster(p, ctx, name, *known, st) < 0)
        return -1;
    if (str_is(json_get_str(*known, "spec.type"), "Virtual"))
        return status_not_found(st, mgmt_clusters.group, mgmt_clusters.resource, name);
    if (member_config_secret(*known, &plain, &creds_ref.namespace, &creds_ref.name)) {
        req = client_request_get(ctx->arena, &creds_ref);
        if (mgmt_do_own(p, ctx, &req, &creds, st) < 0)
            return status_wrap(st, "the credentials of cluster %.*s", STR_ARG(name));
    }
    return member_config_read(ctx->arena, *known, creds, NULL, &plain, way, st);
}

static const struct json *zones_of(struct arena *a, const struct json *known)
{
    struct json_array list = json_array_new(a);
    str zone = json_get_str(known, "spec.zone");

    if (zone.n)
        json_push(&list, json_of_str(zone));
    return json_array_done(&list);
}

/* The body may repeat the name of the path. */
static int check_body_name(const struct json *request, struct status *st)
{
    str name = json_get_str(request, "name"),
        given = json_get_str(request, "cluster.metadata.name");

    if (!given.n || str_eq(given, name))
        return 0;
    return message_refuse(st, STR("cluster.metadata.name"), "must be \"%.*s\", or left out",
                          STR_ARG(name));
}

/* *given: it was not so before. */
static int grant(const struct mgmt_parts *p, struct rpc_context *ctx, const struct join *j,
                 const struct json *known, bool *given, struct status *st)
{
    struct client_ref ref = mgmt_named(mgmt_clusters, j->name);
    struct client_request req;
    const struct json *owner;
    str uid;

    if (instance_get(p, ctx, j->instance, &owner, st) < 0)
        return -1;
    uid = json_get_str(owner, "metadata.uid");
    *given = !registered_is_granted(ctx->arena, known, j->instance, uid, j->name);
    if (!*given)
        return 0;
    req = client_request_patch(ctx->arena, &ref, NULL, CLIENT_PATCH_MERGE,
                               registered_grant(ctx->arena, j->instance, uid, &j->name));
    return mgmt_do_own(p, ctx, &req, NULL, st);
}

static void revoke(const struct mgmt_parts *p, struct rpc_context *ctx, const struct join *j)
{
    struct client_ref ref = mgmt_named(mgmt_clusters, j->name);
    struct client_request req =
        client_request_patch(ctx->arena, &ref, NULL, CLIENT_PATCH_MERGE,
                             registered_grant(ctx->arena, j->instance, STR_NONE, NULL));
    struct status st;

    status_init(&st, ctx->arena);
    if (mgmt_do_own(p, ctx, &req, NULL, &st) < 0)
        log_warn("a cluster that has not joined still names the instance that was to have it",
                 log_str("cluster", j->name), log_str("instance", j->instance), log_status(&st));
}

/* The right is written down before, so that the registry does not take it for another cluster. */
static int join_granted(const struct mgmt_parts *p, struct rpc_context *ctx, const struct join *j,
                        const struct json *known, struct status *st)
{
    bool given;
    int rc;

    if (grant(p, ctx, j, known, &given, st) < 0)
        return -1;
    rc = join_member(j, ctx->arena, NULL, st);
    if (rc < 0 && given)
        revoke(p, ctx, j);
    return rc;
}

int cluster_join(void *arg, struct rpc_context *ctx, const struct json *request,
                 const struct json **response, struct status *st)
{
    str name = json_get_str(request, "name");
    const struct json *labels = json_path(request, "cluster.metadata.labels"), *known;
    struct member_name at = { .cluster = name, .door = MEMBER_REGISTRY };
    struct json theirs;
    struct kubeconfig way;
    struct member *member;
    struct mgmt_parts *p;
    struct join j;
    int rc;

    (void)response;
    if (begin(arg, ctx, request, &p, st) < 0 || check_body_name(request, st) < 0 ||
        look_up(p, ctx, name, &known, &way, st) < 0 ||
        fleet_member(p->fleet, ctx->arena, &at, &member, st) < 0)
        return -1;
    theirs = registered_labels(ctx->arena, json_path(known, "metadata.labels"));
    j = (struct join){ .control = p->client,
                       .instance = json_get_str(request, "instance"),
                       .name = name,
                       .member = member_client(member),
                       .server = way.server,
                       .ca_pem = way.ca_pem,
                       .provider = json_get_str(known, "spec.provider"),
                       .region = json_get_str(known, "spec.region"),
                       .zones = zones_of(ctx->arena, known),
                       .labels = labels ? labels : &theirs };
    rc = join_granted(p, ctx, &j, known, st);
    member_unref(member);
    return rc;
}

/* ---- leaving ---- */

enum { PAGE = 500 };

static bool is_only_in(const struct json *binding, str cluster)
{
    const struct json *all = json_path(binding, "spec.clusters");

    return json_len(all) == 1 && str_eq(json_get_str(json_at(all, 0), "name"), cluster);
}

/* What has copies in this cluster alone.  An instance without bindings distributes otherwise. */
static int find_only_copies(const struct mgmt_parts *p, struct rpc_context *ctx,
                            const struct json *request, const char *resource,
                            struct mgmt_affected *out, struct status *st)
{
    struct client_ref ref = { .instance = json_get_str(request, "instance"),
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha2"),
                              .resource = str_of(resource) };
    struct client_query q = { .limit = PAGE };

    do {
        struct client_request req = client_request_list(ctx->arena, &ref, &q);
        const struct json *list;

        if (mgmt_do(p, ctx, &req, &list, st) < 0) {
            if (!status_is(st, REASON_NOT_FOUND))
                return -1;
            status_reset(st);
            return 0;
        }
        json_for_each (binding, json_get(list, STR("items")))
            if (is_only_in(binding, json_get_str(request, "name")))
                mgmt_affected_add(out, binding);
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

static int refuse_only_copies(const struct mgmt_parts *p, struct rpc_context *ctx,
                              const struct json *request, struct status *st)
{
    struct mgmt_affected only = { .arena = ctx->arena };

    if (json_bool(json_get(request, STR("confirm"))))
        return 0;
    if (find_only_copies(p, ctx, request, "resourcebindings", &only, st) < 0 ||
        find_only_copies(p, ctx, request, "clusterresourcebindings", &only, st) < 0)
        return -1;
    if (only.n == 0)
        return 0;
    return status_conflict(st, STR("cluster.karmada.io"), STR("clusters"),
                           json_get_str(request, "name"),
                           "the only copies of %.*s are in this cluster and are deleted when it is "
                           "removed; place them elsewhere first, or confirm the removal "
                           "(confirm=true)",
                           STR_ARG(mgmt_affected_text(&only)));
}

int cluster_remove(void *arg, struct rpc_context *ctx, const struct json *request,
                   const struct json **response, struct status *st)
{
    struct mgmt_parts *p;

    (void)response;
    if (begin(arg, ctx, request, &p, st) < 0 || refuse_only_copies(p, ctx, request, st) < 0)
        return -1;
    return join_leave(p->client, ctx->arena, json_get_str(request, "instance"),
                      json_get_str(request, "name"), st);
}

/* What of a cluster can be changed, each as a whole; what is neither given nor cleared stays. */
static const struct {
    const char *word, *given, *path;
    const struct json *empty;
} parts[] = {
    { "labels", "cluster.metadata.labels", "metadata.labels", &json_empty_object },
    { "taints", "cluster.spec.taints", "spec.taints", &json_empty_array },
};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

static int check_clear(const struct json *request, struct status *st)
{
    json_for_each (word, json_get(request, STR("clear"))) {
        size_t i = 0;

        while (i < PARTS && !str_is(json_str(word), parts[i].word))
            i++;
        if (i == PARTS)
            return message_refuse(st, STR("clear"), "must be labels or taints");
    }
    return 0;
}

static const struct json *with_parts(struct arena *a, const struct json *obj,
                                     const struct json *request)
{
    for (size_t i = 0; i < PARTS; i++) {
        const struct json *given = json_path(request, parts[i].given);

        json_for_each (word, json_get(request, STR("clear")))
            if (!given && str_is(json_str(word), parts[i].word))
                given = parts[i].empty;
        if (given)
            obj = json_set(a, obj, parts[i].path, given);
    }
    return obj;
}

int cluster_update(void *arg, struct rpc_context *ctx, const struct json *request,
                   const struct json **response, struct status *st)
{
    const struct json *obj, *made;
    struct client_ref ref = joined_ref(request);
    struct json_object o = json_object_new(ctx->arena);
    struct client_request req = client_request_get(ctx->arena, &ref);
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, &p, st) < 0 || check_body_name(request, st) < 0 ||
        check_clear(request, st) < 0 || mgmt_do(p, ctx, &req, &obj, st) < 0)
        return -1;
    req = client_request_update(ctx->arena, &ref, NULL, with_parts(ctx->arena, obj, request));
    if (mgmt_do(p, ctx, &req, &made, st) < 0)
        return -1;
    json_add(&o, STR("cluster"), cluster_shape(ctx->arena, made, NULL));
    *response = json_object_done(&o);
    return 0;
}
