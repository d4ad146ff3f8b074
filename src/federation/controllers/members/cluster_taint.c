/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Taints that say how a Cluster is doing: while it is not Ready nothing new goes there, and where
 * failover is on, what it has is moved away after a while.  There, too, policies set and take away
 * taints by conditions (ClusterTaintPolicy); these stay when their policy goes.
 *
 * karmada: pkg/controllers/cluster/cluster_controller.go taintClusterByCondition;
 * pkg/controllers/taint/clustertaintpolicy_controller.go; before 1.15 NoExecute came from
 * --failover-eviction-timeout, as it does from the instance's settings here.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/members/clusters.h"
#include "federation/sched/sched_internal.h"

static const str no_schedule = STR_INIT("NoSchedule"), no_execute = STR_INIT("NoExecute");

/* ---- by Ready ---- */

/* The key of the taint that the state asks for; empty: none. */
static str key_of(const struct json *ready)
{
    str status = json_get_str(ready, "status");

    if (str_is(status, "True"))
        return STR_NONE;
    return str_is(status, "Unknown") ? STR(CLUSTER_UNREACHABLE) : STR(CLUSTER_NOT_READY);
}

/* How long until workloads are moved away; < 0: never, for now. */
static int64_t until_eviction(const struct clusters *c, const struct json *ready,
                              const struct failover *f)
{
    int64_t age = clusters_age_ms(c, json_get_str(ready, "lastTransitionTime"), 0);

    if (!f->enabled || !ready)
        return -1;
    return age >= f->eviction_ms ? 0 : f->eviction_ms - age;
}

static const struct json *by_ready(const struct clusters *c, struct arena *a,
                                   const struct json *cluster, const struct json *taints,
                                   const struct failover *f, int64_t *wait)
{
    static const str keys[] = { STR_INIT(CLUSTER_NOT_READY), STR_INIT(CLUSTER_UNREACHABLE) };
    const struct json *ready = clusters_condition(cluster, STR("Ready"));
    str wanted = key_of(ready), now = clusters_now(c, a);
    int64_t evict = wanted.n ? until_eviction(c, ready, f) : -1;

    for (size_t i = 0; i < 2; i++) {
        if (str_eq(keys[i], wanted))
            continue;
        taints = clusters_taint_remove(a, taints, keys[i], no_schedule);
        taints = clusters_taint_remove(a, taints, keys[i], no_execute);
    }
    if (wanted.n)
        taints = clusters_taint_add(a, taints, wanted, STR_NONE, no_schedule, now);
    if (evict == 0)
        taints = clusters_taint_add(a, taints, wanted, STR_NONE, no_execute, now);
    else if (evict > 0)
        *wait = evict;
    return taints;
}

/* ---- by policies ---- */

/* A condition that is not there fits nothing. */
static bool holds(const struct json *cluster, const struct json *rule)
{
    const struct json *c = clusters_condition(cluster, json_get_str(rule, "conditionType"));
    bool in = false;

    json_for_each (v, json_get(rule, STR("statusValues")))
        in = in || str_eq(json_str(v), json_get_str(c, "status"));
    return c && in == str_is(json_get_str(rule, "operator"), "In");
}

/* All of them; an empty list never. */
static bool all_hold(const struct json *cluster, const struct json *rules)
{
    json_for_each (rule, rules)
        if (!holds(cluster, rule))
            return false;
    return json_len(rules) > 0;
}

static const struct json *by_policy(const struct clusters *c, struct arena *a,
                                    const struct json *cluster, const struct json *policy,
                                    const struct json *taints)
{
    const struct json *spec = json_get(policy, STR("spec"));
    const struct json *target = json_get(spec, STR("targetClusters"));
    bool add = all_hold(cluster, json_get(spec, STR("addOnConditions")));
    bool drop = all_hold(cluster, json_get(spec, STR("removeOnConditions")));
    str now = clusters_now(c, a);

    if (json_is(target, JSON_OBJECT) &&
        !sched_affinity_matches(sched_affinity_parse(a, target), sched_cluster_parse(a, cluster)))
        return taints;
    json_for_each (t, json_get(spec, STR("taints"))) {
        str key = json_get_str(t, "key"), effect = json_get_str(t, "effect");

        if (add)
            taints = clusters_taint_add(a, taints, key, json_get_str(t, "value"), effect, now);
        if (drop)
            taints = clusters_taint_remove(a, taints, key, effect);
    }
    return taints;
}

/* The oldest first, then by name. */
static int by_age(const void *x, const void *y)
{
    const struct json *const *p = x, *const *q = y;
    int cmp = str_cmp(json_get_str(*p, "metadata.creationTimestamp"),
                      json_get_str(*q, "metadata.creationTimestamp"));

    return cmp ? cmp
               : str_cmp(json_get_str(*p, "metadata.name"), json_get_str(*q, "metadata.name"));
}

static int by_policies(const struct clusters *c, struct client *client, struct arena *a,
                       const struct informer_key *k, const struct json *cluster,
                       const struct json **taints, struct status *st)
{
    struct client_ref ref = { .instance = clusters_instance(k),
                              .group = STR("policy.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clustertaintpolicies") };
    const struct json *list, *items, **sorted;
    size_t n;

    if (client_list(client, a, &ref, NULL, &list, st) < 0)
        return -1;
    items = json_get(list, STR("items"));
    n = json_len(items);
    sorted = arena_array(a, const struct json *, n + 1);
    for (size_t i = 0; i < n; i++)
        sorted[i] = json_at(items, i);
    if (n)
        qsort(sorted, n, sizeof(*sorted), by_age);
    for (size_t i = 0; i < n; i++)
        *taints = by_policy(c, a, cluster, sorted[i], *taints);
    return 0;
}

/* ---- the controller ---- */

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const struct clusters *c = arg;
    struct client_ref ref = clusters_ref(k);
    const struct json *cluster, *before, *taints;
    struct failover f;
    int64_t wait = 0;

    if (!k->name.n)
        return clusters_wake_all(client, a, k, c->taints, st);
    if (client_get(client, a, &ref, &cluster, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(cluster))
        return 0;
    if (failover_read(c, client, a, ref.instance, &f, st) < 0)
        return -1;
    before = json_path(cluster, "spec.taints");
    taints = by_ready(c, a, cluster, before, &f, &wait);
    if (f.enabled && by_policies(c, client, a, k, cluster, &taints, st) < 0)
        return -1;
    if (taints != before && !(json_len(taints) == 0 && json_len(before) == 0) &&
        client_update(client, a, &ref,
                      json_set(a, cluster, "spec.taints", json_len(taints) ? taints : NULL), NULL,
                      st) < 0)
        return -1;
    return (int)wait;
}

/* A policy has changed: all clusters of the instance are looked at. */
static void map_policy(void *arg, struct controller *ctl, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    struct informer_key all = { .instance = k->instance };

    (void)arg;
    (void)object;
    if (!deleted)
        controller_wake(ctl, &all);
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("policy.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clustertaintpolicies") },
      .map = map_policy },
    CLUSTERS_SETTINGS,
};

static void started(void *arg, struct controller *ctl)
{
    ((struct clusters *)arg)->taints = ctl;
}

const struct controller_spec cluster_taint_controller = {
    .name = "cluster-taint-controller",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("cluster.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .also = sources,
    .nalso = 2,
    .reconcile = reconcile,
    .started = started,
};
