/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Moves workloads away from clusters with NoExecute taints, where failover is on: a binding whose
 * placement does not bear the taint, or not any longer, loses the cluster and gets a task by which
 * the old copy stays until the new ones are healthy (graceful_eviction.c).  The scheduler does the
 * rest, since the binding is short of replicas then.
 *
 * karmada: pkg/controllers/cluster/taint_manager.go, pkg/util/helper/taint.go
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/members/clusters.h"
#include "object/meta/karmada.h"

enum { PAGE = 500 };

static const str no_execute = STR_INIT("NoExecute");

/* ---- tolerations ---- */

/* k8s: core/v1/helper ToleratesTaint */
static bool tolerates(const struct json *toleration, const struct json *taint)
{
    str effect = json_get_str(toleration, "effect"), key = json_get_str(toleration, "key");
    str operator= json_get_str(toleration, "operator");

    if (effect.n && !str_eq(effect, json_get_str(taint, "effect")))
        return false;
    if (key.n && !str_eq(key, json_get_str(taint, "key")))
        return false;
    if (str_is(operator, "Exists"))
        return true;
    return key.n && (!operator.n || str_is(operator, "Equal")) &&
           str_eq(json_get_str(toleration, "value"), json_get_str(taint, "value"));
}

/* How long this taint is borne from now on: 0: no longer, < 0: for ever. */
static int64_t borne_ms(const struct clusters *c, const struct json *tolerations,
                        const struct json *taint)
{
    int64_t age = clusters_age_ms(c, json_get_str(taint, "timeAdded"), 0), least = -1;
    bool found = false;

    json_for_each (t, tolerations) {
        const struct json *seconds = json_get(t, STR("tolerationSeconds"));
        int64_t left;

        if (!tolerates(t, taint))
            continue;
        found = true;
        if (!json_is(seconds, JSON_INT))
            continue;
        left = seconds->i > INT32_MAX ? INT32_MAX : seconds->i;
        left = left > 0 ? left * 1000 - age : 0;
        left = left > 0 ? left : 0;
        least = least < 0 || left < least ? left : least;
    }
    return found ? least : 0;
}

/* By the placement that the binding was scheduled with last. */
static const struct json *tolerations_of(struct arena *a, const struct json *binding)
{
    str text = karmada_annotation(binding, KARMADA_APPLIED_PLACEMENT);
    const struct json *placement = NULL;
    struct status ignored;

    status_init(&ignored, a);
    if (!text.n || json_parse(a, text, NULL, &placement, &ignored) < 0)
        placement = json_path(binding, "spec.placement");
    return json_get(placement, STR("clusterTolerations"));
}

static int64_t stays_ms(const struct clusters *c, struct arena *a, const struct json *taints,
                        const struct json *binding)
{
    const struct json *tolerations = tolerations_of(a, binding);
    int64_t least = -1;

    json_for_each (taint, taints) {
        int64_t ms;

        if (!str_eq(json_get_str(taint, "effect"), no_execute))
            continue;
        ms = borne_ms(c, tolerations, taint);
        if (ms >= 0)
            least = least < 0 || ms < least ? ms : least;
    }
    return least;
}

/* ---- eviction ---- */

static const struct json *target_of(const struct json *binding, str cluster)
{
    json_for_each (t, json_path(binding, "spec.clusters"))
        if (str_eq(json_get_str(t, "name"), cluster))
            return t;
    return NULL;
}

static bool has_task(const struct json *binding, str cluster)
{
    json_for_each (t, json_path(binding, "spec.gracefulEvictionTasks"))
        if (str_eq(json_get_str(t, "fromCluster"), cluster))
            return true;
    return false;
}

static struct json task_for(const struct clusters *c, struct arena *a, const struct json *binding,
                            str cluster)
{
    const struct json *target = target_of(binding, cluster);
    str mode = json_get_str(binding, "spec.failover.cluster.purgeMode");
    struct json_object t = json_object_new(a);

    json_add(&t, STR("fromCluster"), json_of_str(cluster));
    json_add(&t, STR("purgeMode"), json_of_str(mode.n ? mode : STR("Gracefully")));
    if (json_int(json_get(target, STR("replicas")), 0) > 0)
        json_add(&t, STR("replicas"), *json_get(target, STR("replicas")));
    json_add(&t, STR("reason"), json_of_str(STR("TaintUntolerated")));
    json_add(&t, STR("producer"), json_of_str(STR("TaintManager")));
    json_add(&t, STR("creationTimestamp"), json_of_str(clusters_now(c, a)));
    return json_object_value(&t);
}

static int evict(const struct clusters *c, struct client *client, struct arena *a,
                 const struct client_ref *ref, const struct json *binding, str cluster,
                 struct status *st)
{
    struct json_array targets = json_array_new(a), tasks = json_array_new(a);

    json_for_each (t, json_path(binding, "spec.clusters"))
        if (!str_eq(json_get_str(t, "name"), cluster))
            json_push(&targets, *t);
    json_for_each (t, json_path(binding, "spec.gracefulEvictionTasks"))
        json_push(&tasks, *t);
    if (!has_task(binding, cluster))
        json_push(&tasks, task_for(c, a, binding, cluster));
    binding = json_set(a, binding, "spec.clusters", targets.n ? json_array_done(&targets) : NULL);
    binding = json_set(a, binding, "spec.gracefulEvictionTasks", json_array_done(&tasks));
    return client_update(client, a, ref, binding, NULL, st);
}

/* Looks at all bindings of one kind; *wait becomes the time of the next that must go. */
static int look(const struct clusters *c, struct client *client, struct arena *a,
                const struct informer_key *k, const struct json *taints, const char *resource,
                int64_t *wait, struct status *st)
{
    struct client_ref all = { .instance = clusters_instance(k),
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha2"),
                              .resource = str_of(resource) };
    struct client_query q = { .limit = PAGE };

    do {
        scoped_arena page = arena_new();
        const struct json *list;

        if (client_list(client, page, &all, &q, &list, st) < 0)
            return -1;
        json_for_each (b, json_get(list, STR("items"))) {
            struct client_ref ref = all;
            int64_t ms;

            if (is_deleting(b) || !target_of(b, k->name))
                continue;
            ms = stays_ms(c, page, taints, b);
            if (ms > 0 && (*wait == 0 || ms < *wait))
                *wait = ms;
            if (ms != 0)
                continue;
            ref.namespace = json_get_str(b, "metadata.namespace");
            ref.name = json_get_str(b, "metadata.name");
            if (evict(c, client, page, &ref, b, k->name, st) < 0 &&
                !status_is(st, REASON_NOT_FOUND))
                return -1;
        }
        q.continue_token = str_dup(a, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const struct clusters *c = arg;
    struct client_ref ref = clusters_ref(k);
    const struct json *cluster, *taints;
    struct failover f;
    bool any = false;
    int64_t wait = 0;

    if (!k->name.n)
        return clusters_wake_all(client, a, k, c->evictions, st);
    if (client_get(client, a, &ref, &cluster, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    taints = json_path(cluster, "spec.taints");
    json_for_each (t, taints)
        any = any || str_eq(json_get_str(t, "effect"), no_execute);
    if (!any)
        return 0;
    if (failover_read(c, client, a, ref.instance, &f, st) < 0)
        return -1;
    if (!f.enabled)
        return 0;
    if (look(c, client, a, k, taints, "resourcebindings", &wait, st) < 0 ||
        look(c, client, a, k, taints, "clusterresourcebindings", &wait, st) < 0)
        return -1;
    return wait < INT32_MAX ? (int)wait : INT32_MAX;
}

static void map_binding(void *arg, struct controller *ctl, const struct informer_key *k,
                        const struct json *object, bool deleted)
{
    (void)arg;
    if (deleted)
        return;
    json_for_each (t, json_path(object, "spec.clusters")) {
        struct informer_key cluster = { .instance = k->instance, .name = json_get_str(t, "name") };

        controller_wake(ctl, &cluster);
    }
}

#define BINDINGS(plural)                               \
    {                                                  \
        .ref = { .instance = STR_INIT("*"),            \
                 .group = STR_INIT("work.karmada.io"), \
                 .version = STR_INIT("v1alpha2"),      \
                 .resource = STR_INIT(plural) },       \
        .spec_only = true, .map = map_binding,         \
    }

static const struct controller_source sources[] = { BINDINGS("resourcebindings"),
                                                    BINDINGS("clusterresourcebindings"),
                                                    CLUSTERS_SETTINGS };

static void started(void *arg, struct controller *ctl)
{
    ((struct clusters *)arg)->evictions = ctl;
}

const struct controller_spec taint_eviction_controller = {
    .name = "taint-eviction-controller",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("cluster.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .also = sources,
    .nalso = 3,
    .reconcile = reconcile,
    .started = started,
};
