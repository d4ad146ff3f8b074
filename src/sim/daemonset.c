/* SPDX-License-Identifier: Apache-2.0 */

/* DaemonSets: a pod on each node that it may run on.  k8s: pkg/controller/daemon */

#include "base/banned.h"
#include "object/meta/amounts.h"
#include "sim/fit.h"
#include "sim/state.h"

struct work {
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    struct status *st;
    const struct json *set;
    struct revision revision;
    struct obj_list pods;
    const struct json *nodes;
    int64_t desired, current, ready, available, updated, misscheduled;
    int wait_ms;
};

/* k8s: its pods stay on nodes that are in trouble, or cordoned. */
static const struct json *tolerations(struct arena *a, const struct json *pod)
{
    static const char *const rows[][2] = {
        { "node.kubernetes.io/not-ready", "NoExecute" },
        { "node.kubernetes.io/unreachable", "NoExecute" },
        { "node.kubernetes.io/disk-pressure", "NoSchedule" },
        { "node.kubernetes.io/memory-pressure", "NoSchedule" },
        { "node.kubernetes.io/pid-pressure", "NoSchedule" },
        { "node.kubernetes.io/unschedulable", "NoSchedule" },
    };
    struct json_array all = json_array_new(a);

    json_for_each (t, json_path(pod, "spec.tolerations"))
        json_push(&all, *t);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct json_object o = json_object_new(a);

        json_add(&o, STR("key"), json_of_str(str_of(rows[i][0])));
        json_add(&o, STR("operator"), json_of_str(STR("Exists")));
        json_add(&o, STR("effect"), json_of_str(str_of(rows[i][1])));
        json_push(&all, json_object_value(&o));
    }
    return json_array_done(&all);
}

/* Bound to its node by a nodeAffinity, as the scheduler wants to see it. */
static const struct json *pod_for(struct work *w, str node)
{
    struct arena *a = w->arena;
    const struct json *pod = obj_pod(a, w->set, "apps/v1", "DaemonSet");
    const struct json *required =
        obj_of(a, "{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
                  "\"operator\":\"In\",\"values\":[]}]}]}");
    struct json_array names = json_array_new(a), fields = json_array_new(a),
                      terms = json_array_new(a);
    const struct json *term = json_at(json_get(required, STR("nodeSelectorTerms")), 0);
    const struct json *field = json_at(json_get(term, STR("matchFields")), 0);

    json_push(&names, json_of_str(node));
    json_push(&fields, *json_set(a, field, "values", json_array_done(&names)));
    json_push(&terms, *json_set(a, term, "matchFields", json_array_done(&fields)));
    required = json_set(a, required, "nodeSelectorTerms", json_array_done(&terms));
    pod = json_set(a, pod,
                   "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                   required);
    pod = json_set(a, pod, "spec.tolerations", tolerations(a, pod));
    return obj_put(a, pod, "metadata.labels", STR("controller-revision-hash"),
                   json_of_str(w->revision.hash));
}

/* The node that a pod of ours is on, or is meant for. */
static str node_of(const struct json *pod)
{
    const struct json *terms =
        json_path(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                       "nodeSelectorTerms");
    const struct json *field = json_at(json_get(json_at(terms, 0), STR("matchFields")), 0);
    str bound = json_get_str(pod, "spec.nodeName");

    return bound.n ? bound : json_str(json_at(json_get(field, STR("values")), 0));
}

static bool may_run(struct work *w, const struct json *node)
{
    const struct json *pod = obj_pod(w->arena, w->set, "apps/v1", "DaemonSet");
    enum fit_result r;

    pod = json_set(w->arena, pod, "spec.tolerations", tolerations(w->arena, pod));
    r = fit_allows(w->arena, node, pod);
    return r == FIT_OK || r == FIT_NOT_READY;
}

static bool is_new(const struct work *w, const struct json *pod)
{
    return str_eq(
        json_str(json_get(json_path(pod, "metadata.labels"), STR("controller-revision-hash"))),
        w->revision.hash);
}

static int delete_pod(struct work *w, const struct json *pod)
{
    struct client_ref ref = obj_ref_named(w->key, "", "pods", obj_name(pod));

    return obj_deleting(pod) ? 0 : obj_delete(w->client, w->arena, &ref, obj_uid(pod), -1, w->st);
}

static void count(struct work *w, const struct json *pod)
{
    int64_t min_ready = json_int(json_path(w->set, "spec.minReadySeconds"), 0);

    if (obj_deleting(pod))
        return;
    w->current++;
    w->ready += pod_is_ready(pod);
    w->updated += is_new(w, pod);
    w->available += pod_is_available(pod, min_ready, sim_now_s(), &w->wait_ms);
}

static int on_node(struct work *w, const struct json *node)
{
    const struct json *mine = NULL;
    bool wanted = may_run(w, node);

    w->desired += wanted;
    for (size_t i = 0; i < w->pods.n; i++) {
        const struct json *p = w->pods.items[i];

        if (!str_eq(node_of(p), obj_name(node)))
            continue;
        if (mine || !wanted || pod_is_over(p)) {
            w->misscheduled += !wanted && !obj_deleting(p);
            if (delete_pod(w, p) < 0)
                return -1;
            continue;
        }
        mine = p;
        count(w, p);
    }
    if (mine || !wanted)
        return 0;
    return obj_create(w->client, w->arena, w->key, "", "pods", pod_for(w, obj_name(node)), w->st);
}

/* Of an old template: as many at once as may be unavailable. */
static int update(struct work *w)
{
    const struct json *strategy = json_path(w->set, "spec.updateStrategy");
    int64_t most = amounts_int_or_percent(json_path(strategy, "rollingUpdate.maxUnavailable"),
                                          w->desired, true, 1);
    int64_t spare = most - (w->desired - w->available);

    if (str_is(json_get_str(strategy, "type"), "OnDelete"))
        return 0;
    for (size_t i = 0; i < w->pods.n; i++) {
        const struct json *p = w->pods.items[i];

        if (is_new(w, p) || obj_deleting(p))
            continue;
        if (pod_is_ready(p) && spare-- <= 0)
            continue;
        if (delete_pod(w, p) < 0)
            return -1;
    }
    return 0;
}

static int put_status(struct work *w)
{
    struct json_object o = json_object_new(w->arena);
    int64_t missing = w->desired - w->available;

    json_add(&o, STR("currentNumberScheduled"), json_of_int(w->current));
    json_add(&o, STR("numberMisscheduled"), json_of_int(w->misscheduled));
    json_add(&o, STR("desiredNumberScheduled"), json_of_int(w->desired));
    json_add(&o, STR("numberReady"), json_of_int(w->ready));
    sim_count(&o, "observedGeneration", json_int(json_path(w->set, "metadata.generation"), 0));
    sim_count(&o, "updatedNumberScheduled", w->updated);
    sim_count(&o, "numberAvailable", w->available);
    sim_count(&o, "numberUnavailable", missing > 0 ? missing : 0);
    return obj_put_status(w->client, w->arena, obj_ref(w->key, "apps", "daemonsets"), w->set,
                          json_object_done(&o), w->st);
}

/* A node has changed: all of the member look. */
static int wake_all(struct sim *s, struct client *client, struct arena *a,
                    const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref_named(k, "apps", "daemonsets", STR_NONE);
    const struct json *list;

    if (client_list(client, a, &ref, NULL, &list, st) < 0)
        return -1;
    json_for_each (d, json_get(list, STR("items"))) {
        struct informer_key at = { k->instance, json_get_str(d, "metadata.namespace"),
                                   obj_name(d) };

        sim_wake(s, SIM_DAEMONSETS, &at);
    }
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref(k, "apps", "daemonsets");
    struct informer_key cluster = { .instance = k->instance };
    struct client_ref nodes = obj_ref(&cluster, "", "nodes");
    struct work w = { .client = client, .arena = a, .key = k, .st = st };
    const struct json *list;
    int found;

    if (!k->name.n)
        return wake_all(arg, client, a, k, st);
    found = obj_get(client, a, &ref, &w.set, st);
    if (found <= 0)
        return found;
    if (obj_deleting(w.set))
        return 0;
    if (revision_ensure(client, a, k, w.set, "DaemonSet", &w.revision, st) < 0 ||
        obj_list_owned(client, a, obj_ref(k, "", "pods"), w.set, &w.pods, st) < 0 ||
        client_list(client, a, &nodes, NULL, &list, st) < 0)
        return -1;
    json_for_each (n, json_get(list, STR("items")))
        if (on_node(&w, n) < 0)
            return -1;
    if (update(&w) < 0 || put_status(&w) < 0)
        return -1;
    return w.wait_ms;
}

const struct controller_spec sim_daemonsets = {
    .name = "simulated-daemonsets",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apps"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("daemonsets") },
    .reconcile = reconcile,
};
