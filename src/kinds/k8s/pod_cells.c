/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"
#include "rest/duration.h"

/* What `kubectl get pods` shows.  k8s: pkg/printers/internalversion/printers.go printPod */

struct look {
    struct arena *arena;
    const struct json *pod;
    str reason;
    int64_t restarts, ready, total;
    str last_restart; /* RFC 3339 in UTC: bytes order as times do */
};

static bool is_sidecar(const struct json *pod, str name)
{
    json_for_each (c, json_path(pod, "spec.initContainers"))
        if (str_eq(json_get_str(c, "name"), name))
            return str_is(json_get_str(c, "restartPolicy"), "Always");
    return false;
}

static void count_restarts(struct look *l, const struct json *status)
{
    str ended = json_get_str(status, "lastState.terminated.finishedAt");

    l->restarts += json_int(json_get(status, STR("restartCount")), 0);
    if (str_cmp(ended, l->last_restart) > 0)
        l->last_restart = ended;
}

static str ended_text(struct look *l, const char *prefix, const struct json *terminated)
{
    str reason = json_get_str(terminated, "reason");
    int64_t signal = json_int(json_get(terminated, STR("signal")), 0);

    if (reason.n)
        return str_printf(l->arena, "%s%.*s", prefix, STR_ARG(reason));
    if (signal)
        return str_printf(l->arena, "%sSignal:%lld", prefix, (long long)signal);
    return str_printf(l->arena, "%sExitCode:%lld", prefix,
                      (long long)json_int(json_get(terminated, STR("exitCode")), 0));
}

/* True when this init container is done, or a sidecar that has started. */
static bool init_passed(struct look *l, const struct json *s)
{
    const struct json *terminated = json_path(s, "state.terminated");

    if (terminated && json_int(json_get(terminated, STR("exitCode")), 0) == 0)
        return true;
    if (!is_sidecar(l->pod, json_get_str(s, "name")) || !json_bool(json_get(s, STR("started"))))
        return false;
    l->ready += json_bool(json_get(s, STR("ready")));
    return true;
}

/* False when they are all done. */
static bool look_at_init(struct look *l, struct look *sidecars)
{
    size_t i = 0, n = json_len(json_path(l->pod, "spec.initContainers"));

    json_for_each (s, json_path(l->pod, "status.initContainerStatuses")) {
        const struct json *terminated = json_path(s, "state.terminated");
        str waiting = json_get_str(s, "state.waiting.reason");

        count_restarts(l, s);
        if (is_sidecar(l->pod, json_get_str(s, "name")))
            count_restarts(sidecars, s);
        if (init_passed(l, s)) {
            i++;
            continue;
        }
        if (terminated)
            l->reason = ended_text(l, "Init:", terminated);
        else if (waiting.n && !str_is(waiting, "PodInitializing"))
            l->reason = str_printf(l->arena, "Init:%.*s", STR_ARG(waiting));
        else
            l->reason = str_printf(l->arena, "Init:%zu/%zu", i, n);
        return true;
    }
    return false;
}

static bool condition_true(const struct json *pod, const char *type)
{
    json_for_each (c, json_path(pod, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return str_is(json_get_str(c, "status"), "True");
    return false;
}

static void look_at_containers(struct look *l)
{
    const struct json *statuses = json_path(l->pod, "status.containerStatuses");
    bool running = false;
    str error = STR_NONE;

    for (size_t i = json_len(statuses); i-- > 0;) {
        const struct json *s = json_at(statuses, i);
        const struct json *terminated = json_path(s, "state.terminated");
        str waiting = json_get_str(s, "state.waiting.reason");

        count_restarts(l, s);
        if (waiting.n) {
            l->reason = waiting;
        } else if (terminated) {
            l->reason = ended_text(l, "", terminated);
            if (json_int(json_get(terminated, STR("exitCode")), 0))
                error = l->reason;
        } else if (json_bool(json_get(s, STR("ready"))) && json_path(s, "state.running")) {
            running = true;
            l->ready++;
        }
    }
    if (!str_is(l->reason, "Completed"))
        return;
    if (running && condition_true(l->pod, "Ready"))
        l->reason = STR("Running");
    else if (error.n)
        l->reason = error;
    else if (running)
        l->reason = STR("NotReady");
}

static void look_at_phase(struct look *l)
{
    str reason = json_get_str(l->pod, "status.reason");

    l->reason = reason.n ? reason : json_get_str(l->pod, "status.phase");
    json_for_each (c, json_path(l->pod, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "PodScheduled") &&
            str_is(json_get_str(c, "reason"), "SchedulingGated"))
            l->reason = STR("SchedulingGated");
    l->total = (int64_t)json_len(json_path(l->pod, "spec.containers"));
    json_for_each (c, json_path(l->pod, "spec.initContainers"))
        l->total += str_is(json_get_str(c, "restartPolicy"), "Always");
}

static void look_at_end(struct look *l)
{
    str phase = json_get_str(l->pod, "status.phase");

    if (json_get_str(l->pod, "metadata.deletionTimestamp").n == 0)
        return;
    if (str_is(json_get_str(l->pod, "status.reason"), "NodeLost"))
        l->reason = STR("Unknown");
    else if (!str_is(phase, "Succeeded") && !str_is(phase, "Failed"))
        l->reason = STR("Terminating");
}

static str gates_text(struct arena *a, const struct json *pod)
{
    const struct json *gates = json_path(pod, "spec.readinessGates");
    size_t open = 0;

    if (json_len(gates) == 0)
        return STR("<none>");
    json_for_each (g, gates)
        open += condition_true(pod, str_z(a, json_get_str(g, "conditionType")));
    return str_printf(a, "%zu/%zu", open, json_len(gates));
}

static str or_none(str s)
{
    return s.n ? s : STR("<none>");
}

void pod_cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    struct look l = { .arena = a, .pod = obj }, sidecars = { .arena = a, .pod = obj };
    str texts[4];

    look_at_phase(&l);
    if (!look_at_init(&l, &sidecars) || condition_true(obj, "Initialized")) {
        l.restarts = sidecars.restarts;
        l.last_restart = sidecars.last_restart;
        look_at_containers(&l);
    }
    look_at_end(&l);
    texts[0] = str_printf(a, "%lld", (long long)l.restarts);
    if (l.restarts && l.last_restart.n)
        texts[0] = str_printf(a, "%lld (%.*s ago)", (long long)l.restarts,
                              STR_ARG(duration_since(a, l.last_restart, now_s)));
    cell_str(cells, obj, "metadata.name");
    json_push(cells,
              json_of_str(str_printf(a, "%lld/%lld", (long long)l.ready, (long long)l.total)));
    json_push(cells, json_of_str(l.reason));
    json_push(cells, json_of_str(texts[0]));
    cell_age(cells, obj, now_s);
    texts[0] = or_none(json_get_str(json_at(json_path(obj, "status.podIPs"), 0), "ip"));
    texts[1] = or_none(json_get_str(obj, "spec.nodeName"));
    texts[2] = or_none(json_get_str(obj, "status.nominatedNodeName"));
    texts[3] = gates_text(a, obj);
    for (size_t i = 0; i < GROUP_LEN(texts); i++)
        json_push(cells, json_of_str(texts[i]));
}
