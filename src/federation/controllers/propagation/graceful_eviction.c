/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ends the tasks by which copies stay on clusters that they were evicted from: when the new copies
 * are healthy, or after a time.  With its task the last reason for a copy's Work goes.
 *
 * Without a place to go an eviction does not end, however long it takes: what runs is not taken
 * away for nothing (in Karmada it goes with its time, or at once: karmada#7455).  With purgeMode
 * Directly, too, the copy goes when there is a place, but before a new one comes: binding.c waits.
 *
 * karmada: pkg/controllers/gracefuleviction
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/members/clusters.h"
#include "federation/controllers/propagation/propagator.h"
#include "object/meta/karmada.h"

enum {
    PURGE_MS = 500,       /* until a Work that must go first is looked for again */
    PURGE_MAX_MS = 30000, /* and no longer: its member may be silent for ever */
};

static bool is_healthy(const struct json *binding, str cluster)
{
    json_for_each (s, json_path(binding, "status.aggregatedStatus"))
        if (str_eq(json_get_str(s, "clusterName"), cluster))
            return str_is(json_get_str(s, "health"), "Healthy");
    return false;
}

/* All that the scheduler chose are healthy. */
static bool is_replaced(const struct json *binding)
{
    json_for_each (t, json_path(binding, "spec.clusters"))
        if (!is_healthy(binding, json_get_str(t, "name")))
            return false;
    return true;
}

static bool is_direct(const struct json *task)
{
    str mode = json_get_str(task, "purgeMode");

    return str_is(mode, "Directly") || str_is(mode, "Immediately");
}

/* Deletes the Work in the cluster that the task is about.  1: it is still there. */
static int purge(const struct clusters *c, struct client *client, struct arena *a,
                 const struct client_ref *ref, const struct json *binding, const struct json *task,
                 struct status *st)
{
    const struct json *works;
    int left = 0;

    if (propagator_works(client, a, ref->instance, binding, &works, st) < 0)
        return -1;
    json_for_each (w, works) {
        str namespace = json_get_str(w, "metadata.namespace"), cluster = STR_NONE;
        struct client_ref work =
            propagator_work_ref(ref->instance, namespace, json_get_str(w, "metadata.name"));

        (void)karmada_execution_cluster(namespace, &cluster);
        if (!str_eq(cluster, json_get_str(task, "fromCluster")) ||
            clusters_age_ms(c, json_get_str(w, "metadata.deletionTimestamp"), 0) > PURGE_MAX_MS)
            continue;
        left = 1;
        if (is_deleting(w) || client_delete(client, a, &work, NULL, st) == 0)
            continue;
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    return left;
}

/* How long it must stay; 0: it may go; < 0: until the binding changes. */
static int64_t stays_ms(const struct clusters *c, const struct json *binding,
                        const struct json *task, const struct failover *f)
{
    const struct json *suppress = json_get(task, STR("suppressDeletion"));
    int64_t grace = json_int(json_get(task, STR("gracePeriodSeconds")), 0);
    int64_t age = clusters_age_ms(c, json_get_str(task, "creationTimestamp"), 0);
    str mode = json_get_str(task, "purgeMode");

    if (json_is(suppress, JSON_BOOL))
        return suppress->b ? -1 : 0;
    if (str_is(mode, "Never") || !propagator_is_placed(binding))
        return -1;
    if (is_direct(task) || is_replaced(binding))
        return 0;
    grace = grace > 0 && grace < INT32_MAX / 1000 ? grace * 1000 : f->graceful_ms;
    return age >= grace ? 0 : grace - age;
}

static int reconcile(const struct clusters *c, struct client *client, struct arena *a,
                     const struct client_ref *ref, struct status *st)
{
    struct json_array left = json_array_new(a);
    const struct json *binding, *tasks;
    struct failover f;
    bool changed = false;
    int64_t wait = 0;

    if (client_get(client, a, ref, &binding, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    tasks = json_path(binding, "spec.gracefulEvictionTasks");
    if (!json_len(tasks) || is_deleting(binding))
        return 0;
    if (failover_read(c, client, a, ref->instance, &f, st) < 0)
        return -1;
    json_for_each (t, tasks) {
        struct json now = json_of_str(clusters_now(c, a));
        bool dated = json_get(t, STR("creationTimestamp")) != NULL;
        const struct json *task = dated ? t : json_set(a, t, "creationTimestamp", json_box(a, now));
        int64_t ms = stays_ms(c, binding, task, &f);
        int there = 0;

        if (ms == 0 && is_direct(task) && (there = purge(c, client, a, ref, binding, task, st)) < 0)
            return -1;
        if (there)
            ms = PURGE_MS;
        changed = changed || ms == 0 || !dated;
        if (ms != 0)
            json_push(&left, *task);
        if (ms > 0 && (wait == 0 || ms < wait))
            wait = ms;
    }
    tasks = left.n ? json_array_done(&left) : NULL;
    if (changed &&
        client_update(client, a, ref, json_set(a, binding, "spec.gracefulEvictionTasks", tasks),
                      NULL, st) < 0)
        return -1;
    return wait < INT32_MAX ? (int)wait : INT32_MAX;
}

static struct client_ref binding_ref(const struct informer_key *k, const char *resource)
{
    return (struct client_ref){ .instance = clusters_instance(k),
                                .group = STR("work.karmada.io"),
                                .version = STR("v1alpha2"),
                                .resource = str_of(resource),
                                .namespace = k->namespace,
                                .name = k->name };
}

static int reconcile_binding(void *arg, struct client *client, struct arena *a,
                             const struct informer_key *k, struct status *st)
{
    struct client_ref ref = binding_ref(k, "resourcebindings");

    return reconcile(arg, client, a, &ref, st);
}

static int reconcile_cluster_binding(void *arg, struct client *client, struct arena *a,
                                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = binding_ref(k, "clusterresourcebindings");

    return reconcile(arg, client, a, &ref, st);
}

/* Most bindings have none. */
static void map_tasks(void *arg, struct controller *c, const struct informer_key *k,
                      const struct json *object, bool deleted)
{
    (void)arg;
    if (!deleted && json_len(json_path(object, "spec.gracefulEvictionTasks")))
        controller_wake(c, k);
}

const struct controller_spec graceful_eviction_controller = {
    .name = "graceful-eviction-controller",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("work.karmada.io"),
             .version = STR_INIT("v1alpha2"),
             .resource = STR_INIT("resourcebindings") },
    .map = map_tasks,
    .reconcile = reconcile_binding,
};

const struct controller_spec cluster_graceful_eviction_controller = {
    .name = "cluster-graceful-eviction-controller",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("work.karmada.io"),
             .version = STR_INIT("v1alpha2"),
             .resource = STR_INIT("clusterresourcebindings") },
    .map = map_tasks,
    .reconcile = reconcile_cluster_binding,
};
