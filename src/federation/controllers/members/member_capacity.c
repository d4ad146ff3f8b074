/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How much room the members behind kcp's door have: nodes, and what of them can be and is used, in
 * the status of their Clusters, for the statistics of their instance.  Those of Karmada's door say
 * it by cluster_status.c.
 *
 * Only members that are Ready are looked at, so that one that hangs is not waited for again and
 * again; what was last seen of the others stays.
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "fleet/probe.h"
#include "object/meta/condition.h"

enum {
    LOOK_MS = 10000,
    WAIT_MS = 1000, /* until it is asked again whether it is Ready */
    HEALTH_MS = 2000,
    TOTAL_MS = 10000,
};

static const struct json *with_room(struct arena *a, const struct json *cluster,
                                    const struct probe_report *r)
{
    static const char *const lists[] = { "allocatable", "allocated" };

    if (r->nodes)
        cluster = json_set(a, cluster, "status.nodeSummary", r->nodes);
    for (size_t i = 0; r->resources && i < sizeof(lists) / sizeof(*lists); i++)
        cluster = json_set(a, cluster, arena_printf(a, "status.%s", lists[i]),
                           json_get(r->resources, str_of(lists[i])));
    return cluster;
}

static int look(struct fleet *fleet, struct client *client, struct arena *a, struct client_ref *ref,
                const struct json *cluster, struct status *st)
{
    struct probe_options o = { .health_ms = HEALTH_MS, .total_ms = TOTAL_MS };
    struct member_name name = { .instance = ref->instance,
                                .cluster = ref->name,
                                .door = MEMBER_KCP };
    struct probe_report r;
    const struct json *now;
    struct member *m;

    if (fleet_member(fleet, a, &name, &m, st) < 0) {
        status_reset(st); /* its conditions say why */
        return LOOK_MS;
    }
    r = probe_wait(member_client(m), &o);
    member_unref(m);
    arena_defer(a, (void (*)(void *))arena_free, r.arena);
    now = with_room(a, cluster, &r);
    ref->subresource = STR("status");
    if (!json_equal(now, cluster) && client_update(client, a, ref, now, NULL, st) < 0)
        return -1;
    return LOOK_MS;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = { .instance = str_is(k->instance, "root") ? STR_NONE : k->instance,
                              .group = STR("workload.kcp.dev"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters"),
                              .name = k->name };
    const struct json *cluster;

    if (client_get(client, a, &ref, &cluster, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(cluster))
        return 0;
    return object_is_ready(cluster) ? look(arg, client, a, &ref, cluster, st) : WAIT_MS;
}

const struct controller_spec member_room_controller = {
    .name = "member-room",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("workload.kcp.dev"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .spec_only = true,
    .reconcile = reconcile,
};
