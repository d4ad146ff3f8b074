/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/agent.h"

#include "base/banned.h"
#include "federation/controllers/frame/tenancy.h"
#include "federation/controllers/members/clusters.h"
#include "object/meta/condition.h"

/* The report's arena goes with a. */
static struct probe_report look(const struct agent *agent, struct arena *a,
                                const struct json *cluster)
{
    struct probe_options o = { .models = json_path(cluster, "spec.resourceModels") };
    struct probe_report r = probe_wait(agent->member, &o);

    arena_defer(a, (void (*)(void *))arena_free, r.arena);
    return r;
}

/* ---- the Lease ---- */

static int ensure_namespace(const struct agent *g, struct arena *a, struct status *st)
{
    struct client_ref ref = { .instance = g->instance,
                              .version = STR("v1"),
                              .resource = STR("namespaces") };
    const struct json *ns = json_set(a, &json_empty_object, "metadata.name",
                                     json_box(a, json_of_str(STR(CLUSTER_NAMESPACE))));

    if (client_create(g->control, a, &ref, ns, NULL, st) < 0 &&
        !status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    return 0;
}

static int put_lease(const struct agent *g, struct arena *a, struct status *st)
{
    struct client_ref ref = { .instance = g->instance,
                              .group = STR("coordination.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("leases"),
                              .namespace = STR(CLUSTER_NAMESPACE),
                              .name = g->cluster };
    char now[TIME_TEXT_SIZE];
    struct json_object lease = json_object_new(a), meta = json_object_new(a),
                       spec = json_object_new(a);

    json_add(&meta, STR("name"), json_of_str(ref.name));
    json_add(&meta, STR("namespace"), json_of_str(ref.namespace));
    json_add(&spec, STR("holderIdentity"), json_of_str(g->cluster));
    json_add(&spec, STR("leaseDurationSeconds"), json_of_int(4 * g->period_ms / 1000));
    json_add(&spec, STR("renewTime"),
             json_of_str((str){ now, time_format_micro(now, clock_wall_us(clock_real())) }));
    json_add(&lease, STR("apiVersion"), json_of_str(STR("coordination.k8s.io/v1")));
    json_add(&lease, STR("kind"), json_of_str(STR("Lease")));
    json_add(&lease, STR("metadata"), json_object_value(&meta));
    json_add(&lease, STR("spec"), json_object_value(&spec));
    return client_apply(g->control, a, &ref, STR("kairship"), json_object_done(&lease), NULL, st);
}

static int renew(const struct agent *g, struct arena *a, struct status *st)
{
    if (put_lease(g, a, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return ensure_namespace(g, a, st) < 0 ? -1 : put_lease(g, a, st);
}

/* ---- all of it ---- */

int agent_beat(const struct agent *g, struct arena *a, struct status *st)
{
    struct informer_key k = { .instance = g->instance, .name = g->cluster };
    struct client_ref ref = clusters_ref(&k);
    const struct json *cluster, *status;
    struct probe_report report;
    char now[TIME_TEXT_SIZE];

    ref.instance = g->instance;
    if (client_get(g->control, a, &ref, &cluster, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    if (!str_is(json_get_str(cluster, "spec.syncMode"), "Pull"))
        return 0;
    if (renew(g, a, st) < 0)
        return -1;
    report = look(g, a, cluster);
    status = clusters_found(
        a, json_get(cluster, STR("status")), &report,
        str_dup(a, (str){ now, time_format_seconds(now, clock_wall_s(clock_real())) }));
    if (json_equal(json_get(cluster, STR("status")), status))
        return 0;
    ref.subresource = STR("status");
    return client_update(g->control, a, &ref, json_set(a, cluster, "status", status), NULL, st);
}

int agent_suspended(const struct agent *g, struct arena *a, str group, str version, bool *out,
                    struct status *st)
{
    struct client_ref ref = { .instance = g->instance,
                              .group = group,
                              .version = version,
                              .resource = STR("clusters"),
                              .name = g->cluster };
    const struct json *cluster = NULL;

    if (client_get(g->control, a, &ref, &cluster, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    *out = condition_holds(json_path(cluster, "status.conditions"), CLUSTER_SUSPENDED);
    return 0;
}
