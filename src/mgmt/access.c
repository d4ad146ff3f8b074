/* SPDX-License-Identifier: Apache-2.0 */

/* Who may, and acting for them. */

#include "base/banned.h"
#include "base/epoch.h"
#include "fleet/registered.h"
#include "mgmt/mgmt_internal.h"
#include "object/meta/unserved.h"

const struct client_ref mgmt_instances = { .group = STR_INIT("tenancy.kairship.io"),
                                           .version = STR_INIT("v1alpha1"),
                                           .resource = STR_INIT("instances") };
const struct client_ref mgmt_clusters = { .group = STR_INIT("fleet.kairship.io"),
                                          .version = STR_INIT("v1alpha1"),
                                          .resource = STR_INIT("clusters") };

struct client_ref mgmt_named(struct client_ref ref, str name)
{
    ref.name = name;
    return ref;
}

enum iam_role mgmt_role(const struct mgmt_parts *p, const struct rpc_context *ctx, str instance)
{
    enum iam_role role;

    if (identity_in_group(ctx->who, "system:masters"))
        return IAM_PLATFORM;
    epoch_enter();
    role = permissions_role(p->permissions, ctx->who, instance);
    epoch_exit();
    return role;
}

struct listable mgmt_listable(enum iam_role role)
{
    static const struct listable nothing;

    return role > IAM_VIEWER ? listable_everything : role ? listable_but_secrets : nothing;
}

void mgmt_see(const struct mgmt_parts *p, struct rpc_context *ctx, str instance, str cluster,
              struct mgmt_sight *out)
{
    out->grant = (struct search_grant){ .cluster = cluster,
                                        .listable = mgmt_listable(mgmt_role(p, ctx, instance)) };
    out->rights = (struct search_rights){ .grants = &out->grant, .ngrants = 1 };
}

int mgmt_require(const struct mgmt_parts *p, const struct rpc_context *ctx, str instance,
                 enum iam_role least, struct status *st)
{
    if (mgmt_role(p, ctx, instance) >= least)
        return 0;
    if (least == IAM_PLATFORM)
        return status_forbidden(st, mgmt_instances.group, mgmt_instances.resource, instance,
                                "User \"%.*s\" is no administrator of the platform",
                                STR_ARG(ctx->who->user));
    return status_forbidden(st, mgmt_instances.group, mgmt_instances.resource, instance,
                            "User \"%.*s\" is not %s of the instance", STR_ARG(ctx->who->user),
                            iam_role_name(least));
}

/* The caller's role for a cluster by itself, as a workspace gives it. */
static enum iam_role cluster_role(const struct mgmt_parts *p, struct rpc_context *ctx, str name)
{
    const struct iam_grant *grants;
    enum iam_role role = IAM_NONE;
    size_t n;

    epoch_enter();
    (void)permissions_cluster_grants(p->permissions, ctx->arena, ctx->who, &grants, &n);
    for (size_t i = 0; i < n; i++)
        if (str_eq(grants[i].instance, name) && grants[i].role > role)
            role = grants[i].role;
    epoch_exit();
    return role;
}

bool mgmt_may_enter(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                    const struct json *cluster)
{
    if (mgmt_role(p, ctx, STR_NONE) >= IAM_PLATFORM || cluster_role(p, ctx, name) >= IAM_ADMIN)
        return true;
    json_for_each (instance, json_path(cluster, "status.instances"))
        if (mgmt_role(p, ctx, json_str(instance)) >= IAM_ADMIN)
            return true;
    return false;
}

int mgmt_require_cluster(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                         const struct json *cluster, struct status *st)
{
    if (mgmt_may_enter(p, ctx, name, cluster))
        return 0;
    return status_forbidden(st, mgmt_clusters.group, mgmt_clusters.resource, name,
                            "User \"%.*s\" is not Admin of the cluster, nor of an instance that it "
                            "has joined",
                            STR_ARG(ctx->who->user));
}

/* Groups of roles are given anew where the request goes to. */
static const struct identity *acting(struct rpc_context *ctx)
{
    struct identity *who = arena_new_of(ctx->arena, struct identity);
    str *groups = arena_array(ctx->arena, str, ctx->who->ngroups);
    size_t n = 0;

    *who = *ctx->who;
    for (size_t i = 0; i < who->ngroups; i++)
        if (!str_starts(who->groups[i], STR("kairship:")))
            groups[n++] = who->groups[i];
    who->groups = groups;
    who->ngroups = n;
    return who;
}

static int run(const struct mgmt_parts *p, struct rpc_context *ctx, struct client_request *req,
               const struct json **out, struct status *st)
{
    const struct json *answer;

    out = out ? out : &answer;
    req->timeout_ms = rpc_time_left_ms(ctx);
    req->audit_id = ctx->audit_id; /* what is written down of both is found by it */
    if (req->timeout_ms == 0)
        return status_set(st, REASON_TIMEOUT, "the deadline of the call is over");
    if (client_do(p->client, ctx->arena, req, out, st) < 0)
        return -1;
    if (!str_is(req->method, "GET") && !ctx->warning.n)
        ctx->warning = unserved_text(ctx->arena, *out);
    return 0;
}

int mgmt_do(const struct mgmt_parts *p, struct rpc_context *ctx, struct client_request *req,
            const struct json **out, struct status *st)
{
    req->as = acting(ctx);
    return run(p, ctx, req, out, st);
}

int mgmt_do_own(const struct mgmt_parts *p, struct rpc_context *ctx, struct client_request *req,
                const struct json **out, struct status *st)
{
    return run(p, ctx, req, out, st);
}

int mgmt_look(const struct mgmt_parts *p, struct rpc_context *ctx, const struct client_ref *ref,
              const struct json **out, struct status *st)
{
    int found = p->look(p->look_arg, ctx->arena, ref, out, st);

    if (found == 0)
        return status_not_found(st, ref->group, ref->resource, ref->name);
    return found < 0 ? -1 : 0;
}

/* Then what the index has by that name is not the entry's. */
static int is_pedia_cluster(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                            struct status *st)
{
    struct client_ref ref = { .group = STR("cluster.clusterpedia.io"),
                              .version = STR("v1alpha2"),
                              .resource = STR("pediaclusters"),
                              .name = name };
    struct client_request req = client_request_get(ctx->arena, &ref);

    if (mgmt_do_own(p, ctx, &req, NULL, st) == 0)
        return 1;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

int mgmt_registered(const struct mgmt_parts *p, struct rpc_context *ctx, str instance, str cluster,
                    const struct json **out, struct status *st)
{
    const struct json *found = NULL;
    int taken = 0;
    struct client_query q = { .label_selector =
                                  registered_selector(ctx->arena, instance, cluster) };
    struct client_request req = client_request_list(ctx->arena, &mgmt_clusters, &q);
    const struct json *list;

    *out = NULL;
    if (mgmt_do_own(p, ctx, &req, &list, st) < 0)
        return -1;
    json_for_each (entry, json_get(list, STR("items")))
        if (registered_in(entry, instance))
            found = entry;
    if (found)
        taken = is_pedia_cluster(p, ctx, json_get_str(found, "metadata.name"), st);
    *out = taken ? NULL : found;
    return taken < 0 ? -1 : 0;
}
