/* SPDX-License-Identifier: Apache-2.0 */

/*
 * StatefulSets: pods with numbers, made and removed in order, each with claims of its own.
 * k8s: pkg/controller/statefulset/stateful_set_control.go
 */

#include "base/banned.h"
#include "sim/state.h"

enum { ORDINALS_MAX = 10000 };

struct work {
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    struct status *st;
    const struct json *set;
    struct revision revision;
    const struct json **pods; /* by ordinal - start, NULL where there is none */
    int64_t n, start;
    const struct json *beyond; /* the one with the highest ordinal that is too many */
    int64_t beyond_at;
    bool parallel;
};

static bool is_new(const struct work *w, const struct json *pod)
{
    return str_eq(
        json_str(json_get(json_path(pod, "metadata.labels"), STR("controller-revision-hash"))),
        w->revision.name);
}

/* ---- what there is ---- */

static bool ordinal_of(const struct json *set, const struct json *pod, int64_t *out)
{
    str name = obj_name(pod), prefix = obj_name(set);

    return name.n > prefix.n + 1 && str_starts(name, prefix) && name.p[prefix.n] == '-' &&
           str_to_i64(str_from(name, prefix.n + 1), out);
}

static int read_pods(struct work *w)
{
    struct obj_list all;
    int64_t at;

    w->n = json_int(json_path(w->set, "spec.replicas"), 1);
    w->n = w->n > ORDINALS_MAX ? ORDINALS_MAX : w->n;
    w->start = json_int(json_path(w->set, "spec.ordinals.start"), 0);
    w->parallel = str_is(json_get_str(w->set, "spec.podManagementPolicy"), "Parallel");
    w->pods = arena_array(w->arena, const struct json *, (size_t)w->n + 1);
    w->beyond_at = -1;
    if (obj_list_owned(w->client, w->arena, obj_ref(w->key, "", "pods"), w->set, &all, w->st) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        if (!ordinal_of(w->set, all.items[i], &at))
            continue;
        if (at >= w->start && at < w->start + w->n) {
            w->pods[at - w->start] = all.items[i];
        } else if (at > w->beyond_at) {
            w->beyond_at = at;
            w->beyond = all.items[i];
        }
    }
    return 0;
}

/* ---- one pod ---- */

static str claim_name(struct arena *a, str template, str pod)
{
    return str_printf(a, "%.*s-%.*s", STR_ARG(template), STR_ARG(pod));
}

static int make_claims(struct work *w, str pod)
{
    json_for_each (t, json_path(w->set, "spec.volumeClaimTemplates")) {
        struct arena *a = w->arena;
        const struct json *c = json_set(a, t, "status", NULL);

        c = obj_set_str(a, c, "kind", STR("PersistentVolumeClaim"));
        c = obj_set_str(a, c, "apiVersion", STR("v1"));
        c = obj_set_str(a, c, "metadata.name", claim_name(a, obj_name(t), pod));
        c = obj_set_str(a, c, "metadata.namespace", w->key->namespace);
        c = json_set(a, c, "metadata.labels", json_path(w->set, "spec.selector.matchLabels"));
        if (obj_create(w->client, a, w->key, "", "persistentvolumeclaims", c, w->st) == 0)
            continue;
        if (!status_is(w->st, REASON_ALREADY_EXISTS))
            return -1;
        status_reset(w->st);
    }
    return 0;
}

static const struct json *volumes(struct work *w, str pod)
{
    struct json_array all = json_array_new(w->arena);
    const struct json *claims = json_path(w->set, "spec.volumeClaimTemplates");

    json_for_each (v, json_path(w->set, "spec.template.spec.volumes"))
        json_push(&all, *v);
    json_for_each (t, claims) {
        const struct json *v = obj_set_str(w->arena, &json_empty_object, "name", obj_name(t));

        json_push(&all, *obj_set_str(w->arena, v, "persistentVolumeClaim.claimName",
                                     claim_name(w->arena, obj_name(t), pod)));
    }
    return json_array_done(&all);
}

static int make_pod(struct work *w, int64_t at)
{
    struct arena *a = w->arena;
    const struct json *pod = obj_pod(a, w->set, "apps/v1", "StatefulSet");
    int64_t number = at + w->start;
    str name = str_printf(a, "%.*s-%lld", STR_ARG(w->key->name), (long long)number);
    str digits = str_from(name, w->key->name.n + 1);

    pod = json_set(a, pod, "metadata.generateName", NULL);
    pod = obj_set_str(a, pod, "metadata.name", name);
    pod = obj_put(a, pod, "metadata.labels", STR("controller-revision-hash"),
                  json_of_str(w->revision.name));
    pod = obj_put(a, pod, "metadata.labels", STR("statefulset.kubernetes.io/pod-name"),
                  json_of_str(name));
    pod = obj_put(a, pod, "metadata.labels", STR("apps.kubernetes.io/pod-index"),
                  json_of_str(digits));
    pod = obj_set_str(a, pod, "spec.hostname", name);
    if (json_get_str(w->set, "spec.serviceName").n)
        pod = json_set(a, pod, "spec.subdomain", json_path(w->set, "spec.serviceName"));
    if (json_len(json_path(w->set, "spec.volumeClaimTemplates")))
        pod = json_set(a, pod, "spec.volumes", volumes(w, name));
    if (make_claims(w, name) < 0)
        return -1;
    return obj_create(w->client, a, w->key, "", "pods", pod, w->st);
}

static int delete_pod(struct work *w, const struct json *pod)
{
    struct client_ref ref = obj_ref_named(w->key, "", "pods", obj_name(pod));

    return obj_deleting(pod) ? 0 : obj_delete(w->client, w->arena, &ref, obj_uid(pod), -1, w->st);
}

/* ---- the next step ---- */

static bool is_well(const struct json *pod)
{
    return pod && !obj_deleting(pod) && pod_is_ready(pod);
}

/* 1: one step at a time, and one is under way. */
static int fill(struct work *w)
{
    for (int64_t i = 0; i < w->n; i++) {
        if (!w->pods[i] && make_pod(w, i) < 0)
            return -1;
        if (w->pods[i] && pod_is_over(w->pods[i]) && delete_pod(w, w->pods[i]) < 0)
            return -1;
        if (!is_well(w->pods[i]) && !w->parallel)
            return 1;
    }
    return 0;
}

/* The highest that is of an old template, once all above it are well. */
static int update(struct work *w)
{
    const struct json *strategy = json_path(w->set, "spec.updateStrategy");
    int64_t from = json_int(json_path(strategy, "rollingUpdate.partition"), 0) - w->start;

    if (str_is(json_get_str(strategy, "type"), "OnDelete"))
        return 0;
    for (int64_t i = w->n - 1; i >= 0 && i >= from; i--) {
        if (w->pods[i] && !is_new(w, w->pods[i]))
            return delete_pod(w, w->pods[i]);
        if (!is_well(w->pods[i]))
            return 0;
    }
    return 0;
}

static int step(struct work *w)
{
    int busy = fill(w);

    if (busy < 0)
        return -1;
    if (w->beyond && (!busy || w->parallel) && delete_pod(w, w->beyond) < 0)
        return -1;
    return busy || w->beyond ? 0 : update(w);
}

/* ---- status ---- */

static int put_status(struct work *w)
{
    const struct json *old = json_path(w->set, "status");
    int64_t replicas = w->beyond != NULL, ready = 0, updated = 0, ready_new = 0, available = 0;
    int64_t min_ready = json_int(json_path(w->set, "spec.minReadySeconds"), 0);
    struct json_object o = json_object_new(w->arena);
    str current = json_get_str(old, "currentRevision");
    int wait_ms = 0;

    for (int64_t i = 0; i < w->n; i++) {
        const struct json *p = w->pods[i];
        bool well = is_well(p);

        if (!p || obj_deleting(p))
            continue;
        replicas++;
        ready += well;
        updated += is_new(w, p);
        ready_new += well && is_new(w, p);
        available += well && pod_is_available(p, min_ready, sim_now_s(), &wait_ms);
    }
    if (!current.n || (ready_new == w->n && !w->beyond))
        current = w->revision.name;
    sim_count(&o, "observedGeneration", json_int(json_path(w->set, "metadata.generation"), 0));
    json_add(&o, STR("replicas"), json_of_int(replicas));
    sim_count(&o, "readyReplicas", ready);
    sim_count(&o, "currentReplicas",
              str_eq(current, w->revision.name) ? updated : replicas - updated);
    sim_count(&o, "updatedReplicas", updated);
    json_add(&o, STR("availableReplicas"), json_of_int(available));
    json_add(&o, STR("currentRevision"), json_of_str(current));
    json_add(&o, STR("updateRevision"), json_of_str(w->revision.name));
    json_add(&o, STR("collisionCount"), json_of_int(0));
    if (obj_put_status(w->client, w->arena, obj_ref(w->key, "apps", "statefulsets"), w->set,
                       json_object_done(&o), w->st) < 0)
        return -1;
    return wait_ms;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref(k, "apps", "statefulsets");
    struct work w = { .client = client, .arena = a, .key = k, .st = st };
    int found = obj_get(client, a, &ref, &w.set, st);

    (void)arg;
    if (found <= 0)
        return found;
    if (obj_deleting(w.set))
        return 0;
    if (revision_ensure(client, a, k, w.set, "StatefulSet", &w.revision, st) < 0 ||
        read_pods(&w) < 0)
        return -1;
    if (step(&w) < 0)
        return -1;
    return put_status(&w);
}

const struct controller_spec sim_statefulsets = {
    .name = "simulated-statefulsets",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apps"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("statefulsets") },
    .reconcile = reconcile,
};
