/* SPDX-License-Identifier: Apache-2.0 */

/* ReplicaSets: as many pods as they say.  k8s: pkg/controller/replicaset */

#include <stdlib.h>

#include "base/banned.h"
#include "sim/state.h"

enum { BURST = 500 }; /* pods made or deleted in one go */

/* Who goes first: not on a node, not ready, and among equals the newest. */
static int rank(const struct json *pod)
{
    if (!json_get_str(pod, "spec.nodeName").n)
        return 0;
    return pod_is_ready(pod) ? 2 : 1;
}

static int by_rank(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a, *y = *(const struct json *const *)b;

    if (rank(x) != rank(y))
        return rank(x) - rank(y);
    return str_cmp(json_get_str(y, "metadata.creationTimestamp"),
                   json_get_str(x, "metadata.creationTimestamp"));
}

static int delete_some(struct client *client, struct arena *a, const struct informer_key *k,
                       const struct json **pods, size_t n, size_t some, struct status *st)
{
    qsort(pods, n, sizeof(*pods), by_rank);
    for (size_t i = 0; i < some; i++) {
        struct client_ref ref = obj_ref_named(k, "", "pods", obj_name(pods[i]));

        if (obj_delete(client, a, &ref, obj_uid(pods[i]), -1, st) < 0)
            return -1;
    }
    return 0;
}

static int create_some(struct client *client, struct arena *a, const struct informer_key *k,
                       const struct json *rs, int64_t n, struct status *st)
{
    const struct json *pod = obj_pod(a, rs, "apps/v1", "ReplicaSet");

    for (int64_t i = 0; i < n; i++)
        if (obj_create(client, a, k, "", "pods", pod, st) < 0)
            return -1;
    return 0;
}

/* A positive result: there is more to do. */
static int scale(struct client *client, struct arena *a, const struct informer_key *k,
                 const struct json *rs, const struct json **pods, size_t n, int64_t diff,
                 struct status *st)
{
    int64_t now = diff > BURST ? BURST : diff < -BURST ? -BURST : diff;
    int rc = 0;

    if (now > 0)
        rc = create_some(client, a, k, rs, now, st);
    else if (now < 0)
        rc = delete_some(client, a, k, pods, n, (size_t)-now, st);
    if (rc < 0)
        return -1;
    return now != diff;
}

static const struct json *status_of(struct arena *a, const struct json *rs,
                                    const struct json **pods, size_t n, int *wait_ms)
{
    int64_t min_ready = json_int(json_path(rs, "spec.minReadySeconds"), 0);
    int64_t ready = 0, available = 0;
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < n; i++) {
        ready += pod_is_ready(pods[i]);
        available += pod_is_available(pods[i], min_ready, sim_now_s(), wait_ms);
    }
    json_add(&o, STR("replicas"), json_of_int((int64_t)n));
    sim_count(&o, "fullyLabeledReplicas", (int64_t)n);
    sim_count(&o, "readyReplicas", ready);
    sim_count(&o, "availableReplicas", available);
    sim_count(&o, "observedGeneration", json_int(json_path(rs, "metadata.generation"), 0));
    return json_object_done(&o);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref(k, "apps", "replicasets");
    const struct json *rs;
    struct obj_list pods;
    int found = obj_get(client, a, &ref, &rs, st), wait_ms = 0;
    int64_t active = 0, diff;

    (void)arg;
    if (found <= 0)
        return found;
    if (obj_list_owned(client, a, obj_ref(k, "", "pods"), rs, &pods, st) < 0)
        return -1;
    for (size_t i = 0; i < pods.n; i++)
        if (pod_is_active(pods.items[i]))
            pods.items[active++] = pods.items[i];
    diff = json_int(json_path(rs, "spec.replicas"), 1) - active;
    /* The status follows: each pod that comes or goes is told of. */
    if (diff && !obj_deleting(rs))
        return scale(client, a, k, rs, pods.items, (size_t)active, diff, st);
    if (obj_put_status(client, a, ref, rs, status_of(a, rs, pods.items, (size_t)active, &wait_ms),
                       st) < 0)
        return -1;
    return wait_ms;
}

const struct controller_spec sim_replicasets = {
    .name = "simulated-replicasets",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apps"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("replicasets") },
    .workers = 2,
    .reconcile = reconcile,
};
