/* SPDX-License-Identifier: Apache-2.0 */

/* Service Core: pods in a member. */

#include "base/banned.h"
#include "mgmt/resource.h"
#include "object/meta/amounts.h"
#include "object/meta/selector.h"

/* ---- as messages ---- */

/* Thousandths of cores, and bytes. */
static const struct {
    const char *field, *which, *amount;
    int64_t unit; /* in billionths */
} sums[] = {
    { "cpuRequest", "requests", "cpu", 1000000 },
    { "cpuLimit", "limits", "cpu", 1000000 },
    { "memoryRequest", "requests", "memory", 1000000000 },
    { "memoryLimit", "limits", "memory", 1000000000 },
};

static void add_sums(struct arena *a, const struct json *pod, struct json_object *status)
{
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
        struct amounts m = amounts_of_pod(a, pod, sums[i].which);
        const struct quantity *q = amounts_get(&m, str_of(sums[i].amount));
        __int128 whole = q ? q->nanos / sums[i].unit : 0;

        if (whole > 0 && whole <= INT64_MAX)
            json_put(status, str_of(sums[i].field), json_of_int((int64_t)whole));
    }
}

static void add_containers(const struct json *pod, struct json_object *status)
{
    int64_t restarts = 0, ready = 0;

    json_for_each (s, json_path(pod, "status.containerStatuses")) {
        restarts += json_int(json_get(s, STR("restartCount")), 0);
        ready += json_bool(json_get(s, STR("ready")));
    }
    json_put(status, STR("restartCount"), json_of_int(restarts));
    json_put(status, STR("containerReadyCount"), json_of_int(ready));
    json_put(status, STR("containerTotalCount"),
             json_of_int((int64_t)json_len(json_path(pod, "spec.containers"))));
}

static const struct json *controller_of(const struct json *obj)
{
    json_for_each (ref, json_path(obj, "metadata.ownerReferences"))
        if (json_bool(json_get(ref, STR("controller"))))
            return ref;
    return NULL;
}

/* A ReplicaSet is called after its Deployment and the hash that its pods are labelled with. */
static str deployment_of(struct arena *a, const struct json *pod, str set)
{
    str hash = json_str(json_get(json_path(pod, "metadata.labels"), STR("pod-template-hash")));
    str tail = str_printf(a, "-%.*s", STR_ARG(hash));

    return hash.n && str_ends(set, tail) ? str_sub(set, 0, set.n - tail.n) : STR_NONE;
}

static void add_owner(struct arena *a, const struct json *pod, struct json_object *status)
{
    static const char *const kinds[][2] = { { "StatefulSet", "STATEFULSET" },
                                            { "DaemonSet", "DAEMONSET" },
                                            { "ReplicaSet", "REPLICASET" } };
    const struct json *ref = controller_of(pod);
    struct json_object o = json_object_new(a);
    str name = json_get_str(ref, "name"), deployment = deployment_of(a, pod, name);

    if (deployment.n) {
        json_put(&o, STR("kind"), json_of_str(STR("DEPLOYMENT")));
        name = deployment;
    }
    for (size_t i = 0; !deployment.n && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (str_is(json_get_str(ref, "kind"), kinds[i][0]))
            json_put(&o, STR("kind"), json_of_str(str_of(kinds[i][1])));
    json_put(&o, STR("name"), json_of_str(name));
    if (ref)
        json_put(status, STR("ownedBy"), json_object_value(&o));
}

static const struct json *finish(struct resource_call *c, const struct json *obj,
                                 const struct json *message)
{
    struct json_object status = json_object_from(c->arena, json_get(message, STR("status")));

    add_sums(c->arena, obj, &status);
    add_containers(obj, &status);
    add_owner(c->arena, obj, &status);
    return json_set(c->arena, message, "status", json_object_done(&status));
}

const struct resource resource_pods = {
    .ref = { .version = STR_INIT("v1"), .resource = STR_INIT("pods") },
    .kind = "Pod",
    .finish = finish,
};

/* ---- of a workload ---- */

/* What runs pods: itself, or by what stands between. */
static const struct {
    const char *kind;
    struct resource self, between;
} workloads[] = {
    { "Deployment",
      { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("deployments") } },
      { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("replicasets") } } },
    { "StatefulSet",
      { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("statefulsets") } },
      { .kind = NULL } },
    { "DaemonSet",
      { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("daemonsets") } },
      { .kind = NULL } },
    { "Service",
      { .ref = { .version = STR_INIT("v1"), .resource = STR_INIT("services") } },
      { .kind = NULL } },
    { "Job",
      { .ref = { .group = STR_INIT("batch"), .resource = STR_INIT("jobs") } },
      { .kind = NULL } },
    { "CronJob",
      { .ref = { .group = STR_INIT("batch"), .resource = STR_INIT("cronjobs") } },
      { .ref = { .group = STR_INIT("batch"), .resource = STR_INIT("jobs") } } },
};
enum { WORKLOADS = sizeof(workloads) / sizeof(*workloads) };

struct owners {
    const struct json **objects;
    size_t n;
};

static bool is_owned(const void *arg, const struct json *pod)
{
    const struct owners *o = arg;
    str uid = json_get_str(controller_of(pod), "uid");

    for (size_t i = 0; i < o->n; i++)
        if (str_eq(json_get_str(o->objects[i], "metadata.uid"), uid))
            return true;
    return false;
}

/* Those of one workload; `owners` lives as long as the filter. */
static int of_workload(struct resource_call *c, size_t kind, struct owners *owners,
                       struct resource_filter *f, struct status *st)
{
    struct search_find find = resource_find(c, &workloads[kind].between);
    const struct json *workload;

    f->arg = owners;
    if (resource_read(c, &workloads[kind].self, c->namespace, json_get_str(c->request, "kindName"),
                      &workload, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st); /* it may not have come there yet: it has no pods */
        f->takes = is_owned;
        return 0;
    }
    if (str_is(str_of(workloads[kind].kind), "Service")) {
        const struct json *selector = json_path(workload, "spec.selector");

        f->labels = selector_print(c->arena,
                                   json_set(c->arena, &json_empty_object, "matchLabels", selector));
        f->takes = json_len(selector) ? NULL : is_owned; /* by nobody */
        return 0;
    }
    if (!find.resource.n) {
        f->owner = json_get_str(workload, "metadata.uid");
        return 0;
    }
    find.owner_uid = json_get_str(workload, "metadata.uid");
    if (resource_search(c, &find, &owners->objects, &owners->n, NULL, st) < 0)
        return -1;
    f->labels = selector_print(c->arena, json_path(workload, "spec.selector"));
    f->takes = is_owned;
    return 0;
}

int pods_of_member(struct resource_call *c, const struct json **response, struct status *st)
{
    str kind = json_get_str(c->request, "kind"), phase = json_get_str(c->request, "phase");
    struct resource_filter f = { .takes = NULL };
    struct owners owners = { .n = 0 };

    resource_check_word(c, "phase", st);
    if (kind.n && !json_get_str(c->request, "kindName").n)
        status_cause(st, CAUSE_REQUIRED, STR("kindName"), STR_NONE, "must name the %.*s",
                     STR_ARG(kind));
    if (status_invalid(st, STR_NONE, c->method->input->name, STR_NONE) < 0 ||
        resource_at_member(c, st) < 0)
        return -1;
    if (phase.n)
        f.fields = str_printf(c->arena, "status.phase=%.*s", STR_ARG(phase));
    for (size_t i = 0; i < WORKLOADS; i++)
        if (str_is(kind, workloads[i].kind) && of_workload(c, i, &owners, &f, st) < 0)
            return -1;
    return resource_list_filtered(c, &f, response, st);
}
