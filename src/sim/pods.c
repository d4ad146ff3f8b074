/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of a pod: a node is found for it, its containers run, and end.  The scheduler and the
 * kubelet of a cluster, in one controller: what is due for a pod follows from how it is, and when
 * from what was told.
 */

#include "base/banned.h"
#include "sim/process.h"
#include "sim/state.h"

enum {
    WAKE_MAX = 32,      /* pods that look again when room becomes free */
    RECHECK_MS = 30000, /* and each one looks by itself as often */
    GATHER_MS = 5,      /* changes of pods within that time are one to their owner */
};

static bool is_root(const struct informer_key *k)
{
    return str_is(k->instance, "root");
}

static bool is_of_job(const struct json *pod)
{
    return str_is(json_get_str(obj_controller(pod), "kind"), "Job");
}

/* ---- what is told ---- */

static const struct {
    const char *kind;
    enum sim_controller controller;
} owners[] = {
    { "ReplicaSet", SIM_REPLICASETS },
    { "StatefulSet", SIM_STATEFULSETS },
    { "DaemonSet", SIM_DAEMONSETS },
    { "Job", SIM_JOBS },
};

static void wake_owner(struct sim *s, const struct informer_key *k, const struct json *pod)
{
    const struct json *ref = obj_controller(pod);
    struct informer_key owner = { k->instance, k->namespace, json_get_str(ref, "name") };

    for (size_t i = 0; ref && i < sizeof(owners) / sizeof(*owners); i++)
        if (str_is(json_get_str(ref, "kind"), owners[i].kind))
            controller_wake_after(s->controllers[owners[i].controller], &owner, GATHER_MS);
}

static void wake_waiting(struct sim *s, str instance)
{
    scoped_arena a = arena_new();
    struct informer_key *keys;
    size_t n;

    keys = usage_waiting(s->usage, a, instance, WAKE_MAX, &n);
    for (size_t i = 0; i < n; i++)
        sim_wake(s, SIM_PODS, &keys[i]);
}

/* Milliseconds until something is due for the pod; -1: nothing is. */
static int64_t due_ms(const struct sim *s, const struct json *pod)
{
    str phase = json_get_str(pod, "status.phase");

    if (obj_deleting(pod))
        return s->o.delay_ms;
    if (pod_is_over(pod))
        return -1;
    if (!json_get_str(pod, "spec.nodeName").n)
        return 0;
    if (!str_is(phase, "Running"))
        return s->o.delay_ms;
    if (is_of_job(pod))
        return s->o.job_ms;
    return process_wanted(pod) ? 0 : -1;
}

static void pod_told(void *arg, struct controller *c, const struct informer_key *k,
                     const struct json *pod, bool deleted)
{
    struct sim *s = arg;
    unsigned change;
    int64_t due;

    if (is_root(k))
        return;
    change = usage_pod(s->usage, k, pod, deleted);
    if (deleted)
        processes_stop(s->processes, k);
    if (change & USAGE_FREED)
        wake_waiting(s, k->instance);
    if (change & (USAGE_STATE | USAGE_LABELS)) {
        wake_owner(s, k, pod);
        services_touch(s, k, json_path(pod, "metadata.labels"), change & USAGE_LABELS);
    }
    due = deleted ? -1 : due_ms(s, pod);
    if (due == 0)
        controller_wake(c, k);
    else if (due > 0)
        controller_wake_after(c, k, due);
}

/* ---- a node for it ---- */

static int wait_for_room(struct client *client, struct arena *a, const struct informer_key *k,
                         const struct json *pod, str why, struct status *st)
{
    const struct obj_condition c = { .type = "PodScheduled",
                                     .reason = STR("Unschedulable"),
                                     .message = why };
    const struct json *status = json_path(pod, "status");

    status = json_set(a, status ? status : &json_empty_object, "conditions",
                      obj_condition(a, json_path(pod, "status.conditions"), &c, sim_now_s()));
    if (obj_put_status(client, a, obj_ref(k, "", "pods"), pod, status, st) < 0)
        return -1;
    return RECHECK_MS;
}

static bool is_gated(const struct json *pod)
{
    return json_len(json_path(pod, "spec.schedulingGates")) > 0;
}

static int schedule(struct sim *s, struct client *client, struct arena *a,
                    const struct informer_key *k, const struct json *pod, struct status *st)
{
    struct client_ref ref = obj_ref(k, "", "pods");
    const struct json *b = obj_of(a, "{\"kind\":\"Binding\",\"apiVersion\":\"v1\",\"target\":{"
                                     "\"kind\":\"Node\",\"apiVersion\":\"v1\"}}");
    str node, why;

    if (is_gated(pod))
        return 0;
    if (!usage_place(s->usage, a, k, pod, &node, &why))
        return wait_for_room(client, a, k, pod, why, st);
    b = obj_set_str(a, b, "target.name", node);
    b = obj_set_str(a, b, "metadata.name", k->name);
    b = obj_set_str(a, b, "metadata.uid", obj_uid(pod));
    ref.subresource = STR("binding");
    if (obj_post(client, a, &ref, b, NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    (void)usage_pod(s->usage, k, NULL, true);
    status_reset(st);
    return 0;
}

/* ---- its containers ---- */

/* What a container, and with it the pod, is at. */
enum stage { RUNS, DOWN, OVER };

static struct json container_state(struct arena *a, const struct json *old, enum stage stage)
{
    const struct json *v = &json_empty_object;
    struct json now = obj_time(a, sim_now_s());
    const struct json *since = json_path(old, "state.running.startedAt");

    since = since ? since : json_box(a, now);
    if (stage == RUNS)
        return *json_set(a, v, "running.startedAt", since);
    if (stage == DOWN)
        return *obj_set_str(a, v, "waiting.reason", STR("CrashLoopBackOff"));
    v = obj_set_int(a, v, "terminated.exitCode", 0);
    v = obj_set_str(a, v, "terminated.reason", STR("Completed"));
    v = json_set(a, v, "terminated.startedAt", since);
    return *json_set(a, v, "terminated.finishedAt", json_box(a, now));
}

static struct json container_status(const struct sim *s, struct arena *a,
                                    const struct informer_key *k, const struct json *container,
                                    const struct json *old, enum stage stage)
{
    struct json_object o = json_object_new(a);
    str name = json_get_str(container, "name"), image = json_get_str(container, "image");
    str id = str_printf(a, "kairship://%.*s/%.*s/%.*s", STR_ARG(k->namespace), STR_ARG(k->name),
                        STR_ARG(name));
    struct process_view view = process_look(s->processes, k, name);

    if (stage == RUNS && view.down)
        stage = DOWN;

    json_add(&o, STR("name"), json_of_str(name));
    json_add(&o, STR("image"), json_of_str(image));
    json_add(&o, STR("imageID"), json_of_str(image));
    json_add(&o, STR("containerID"), json_of_str(id));
    json_add(&o, STR("lastState"), json_empty_object);
    json_add(&o, STR("ready"), json_of_bool(stage == RUNS));
    json_add(&o, STR("started"), json_of_bool(stage == RUNS));
    json_add(&o, STR("restartCount"), json_of_int(view.restarts));
    json_add(&o, STR("state"), container_state(a, old, stage));
    return json_object_value(&o);
}

static const struct json *old_status_of(const struct json *list, str name)
{
    json_for_each (c, list)
        if (str_eq(json_get_str(c, "name"), name))
            return c;
    return NULL;
}

static const struct json *container_statuses(const struct sim *s, struct arena *a,
                                             const struct informer_key *k, const struct json *pod,
                                             const char *from, const char *member, enum stage stage)
{
    const struct json *old = json_get(json_get(pod, STR("status")), str_of(member));
    struct json_array list = json_array_new(a);

    json_for_each (c, json_get(json_get(pod, STR("spec")), str_of(from)))
        json_push(&list,
                  container_status(s, a, k, c, old_status_of(old, json_get_str(c, "name")), stage));
    return json_array_done(&list);
}

static const struct json *conditions(struct arena *a, const struct json *old, enum stage stage)
{
    const str reasons[] = {
        [RUNS] = STR_NONE, [DOWN] = STR("ContainersNotReady"), [OVER] = STR("PodCompleted")
    };
    const bool up = stage == RUNS;
    const struct obj_condition rows[] = {
        { .type = "PodReadyToStartContainers", .holds = stage != OVER },
        { .type = "Initialized",
          .holds = true,
          .reason = stage == OVER ? reasons[OVER] : STR_NONE },
        { .type = "Ready", .holds = up, .reason = reasons[stage] },
        { .type = "ContainersReady", .holds = up, .reason = reasons[stage] },
        { .type = "PodScheduled", .holds = true },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        old = obj_condition(a, old, &rows[i], sim_now_s());
    return old;
}

static enum stage stage_of(const struct sim *s, const struct informer_key *k,
                           const struct json *pod)
{
    json_for_each (c, json_path(pod, "spec.containers"))
        if (process_look(s->processes, k, json_get_str(c, "name")).down)
            return DOWN;
    return RUNS;
}

/* One of 8 million, after the last. */
static str new_address(struct sim *s, struct arena *a)
{
    unsigned n = atomic_fetch_add_explicit(&s->next_ip, 1, memory_order_relaxed) & 0x7fffff;

    return str_printf(a, "10.%u.%u.%u", 128 + (n >> 16), (n >> 8) & 255, n & 255);
}

static const struct json *ips(struct arena *a, str ip)
{
    struct json_array list = json_array_new(a);

    json_push(&list, *obj_set_str(a, &json_empty_object, "ip", ip));
    return json_array_done(&list);
}

static const struct json *addresses(struct sim *s, struct arena *a, const struct informer_key *k,
                                    const struct json *pod, const struct json *status)
{
    str host = sim_node_address(a, k->instance, json_get_str(pod, "spec.nodeName"));
    bool shares = json_bool(json_path(pod, "spec.hostNetwork"));
    str ip = shares ? host : new_address(s, a);

    if (json_get_str(status, "podIP").n)
        return status;
    status = obj_set_str(a, status, "hostIP", host);
    status = json_set(a, status, "hostIPs", ips(a, host));
    status = obj_set_str(a, status, "podIP", ip);
    return json_set(a, status, "podIPs", ips(a, ip));
}

static int put_running(struct sim *s, struct client *client, struct arena *a,
                       const struct informer_key *k, const struct json *pod, enum stage stage,
                       struct status *st)
{
    const struct json *status = json_path(pod, "status");

    status = status ? status : &json_empty_object;
    status = obj_set_str(a, status, "phase", stage == OVER ? STR("Succeeded") : STR("Running"));
    status = addresses(s, a, k, pod, status);
    if (!json_get(status, STR("startTime")))
        status = json_set(a, status, "startTime", json_box(a, obj_time(a, sim_now_s())));
    status = json_set(a, status, "conditions",
                      conditions(a, json_get(status, STR("conditions")), stage));
    status = json_set(a, status, "containerStatuses",
                      container_statuses(s, a, k, pod, "containers", "containerStatuses", stage));
    if (json_len(json_path(pod, "spec.initContainers")))
        status = json_set(
            a, status, "initContainerStatuses",
            container_statuses(s, a, k, pod, "initContainers", "initContainerStatuses", OVER));
    return obj_put_status(client, a, obj_ref(k, "", "pods"), pod, status, st);
}

static int run(struct sim *s, struct client *client, struct arena *a, const struct informer_key *k,
               const struct json *pod, struct status *st)
{
    bool running = str_is(json_get_str(pod, "status.phase"), "Running");
    enum stage stage = running && is_of_job(pod) ? OVER : RUNS;
    int again = 0;

    if (process_wanted(pod)) {
        again = process_ensure(s->processes, client, a, k, pod, st);
        stage = stage_of(s, k, pod);
    }
    if (again < 0 || put_running(s, client, a, k, pod, stage, st) < 0)
        return -1;
    return again;
}

static int end(struct sim *s, struct client *client, struct arena *a, const struct informer_key *k,
               const struct json *pod, struct status *st)
{
    struct client_ref ref = obj_ref(k, "", "pods");

    processes_stop(s->processes, k);
    return obj_delete(client, a, &ref, obj_uid(pod), 0, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct sim *s = arg;
    struct client_ref ref = obj_ref(k, "", "pods");
    const struct json *pod;
    int found;

    if (is_root(k))
        return 0;
    if (!k->namespace.n)
        return sim_reconcile_node(s, client, a, k, st);
    found = obj_get(client, a, &ref, &pod, st);
    if (found < 0)
        return -1;
    if (!found) {
        (void)usage_pod(s->usage, k, NULL, true);
        return 0;
    }
    if (obj_deleting(pod))
        return end(s, client, a, k, pod, st);
    if (pod_is_over(pod))
        return 0;
    if (!json_get_str(pod, "spec.nodeName").n)
        return schedule(s, client, a, k, pod, st);
    if (!usage_has_node(s->usage, k->instance, json_get_str(pod, "spec.nodeName")))
        return 0; /* it looks again when there is one */
    return run(s, client, a, k, pod, st);
}

static void started(void *arg, struct controller *c)
{
    ((struct sim *)arg)->controllers[SIM_PODS] = c;
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"), .version = STR_INIT("v1"), .resource = STR_INIT("pods") },
      .map = pod_told },
};

const struct controller_spec sim_pods = {
    .name = "simulated-pods",
    .ref = { .instance = STR_INIT("*"), .version = STR_INIT("v1"), .resource = STR_INIT("nodes") },
    .also = sources,
    .nalso = sizeof(sources) / sizeof(*sources),
    .workers = 3,
    .reconcile = reconcile,
    .started = started,
};
