/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/pod_resize.h"
#include "kinds/k8s/pod_status.h"
#include "kinds/k8s/pod_update.h"
#include "kinds/k8s/podspec.h"
#include "kinds/k8s/workload.h"
#include "object/meta/condition.h"

/* k8s: pkg/registry/core/pod/strategy.go */

static const struct json *ips_in_line(struct arena *a, const struct json *obj)
{
    str one = json_get_str(obj, "status.podIP");
    const struct json *list = json_path(obj, "status.podIPs");
    str first = json_get_str(json_at(list, 0), "ip");
    struct json_array ips;
    struct json_object o;

    if (str_eq(one, first))
        return obj;
    if (one.n == 0)
        return json_set(a, obj, "status.podIP", json_box(a, json_of_str(first)));
    ips = json_array_new(a);
    o = json_object_new(a);
    json_add(&o, STR("ip"), json_of_str(one));
    json_push(&ips, json_object_value(&o));
    return json_set(a, obj, "status.podIPs", json_array_done(&ips));
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    return ips_in_line(c->arena, podspec_default_pod(c->arena, obj));
}

/* A pod that must not be scheduled yet says so from the start. */
static void add_gated(struct arena *a, struct json_object *status, int64_t now_s)
{
    struct json_array conditions = json_array_new(a);
    struct json_object o = json_object_new(a);
    char now[TIME_TEXT_SIZE];

    json_add(&o, STR("type"), json_of_str(STR("PodScheduled")));
    json_add(&o, STR("status"), json_of_str(STR("False")));
    json_add(&o, STR("lastProbeTime"), json_null);
    json_add(&o, STR("lastTransitionTime"),
             json_of_str(str_dup(a, (str){ now, time_format_seconds(now, now_s) })));
    json_add(&o, STR("reason"), json_of_str(STR("SchedulingGated")));
    json_add(&o, STR("message"),
             json_of_str(STR("Scheduling is blocked due to non-empty scheduling gates")));
    json_push(&conditions, json_object_value(&o));
    json_add(status, STR("conditions"), json_array_value(&conditions));
}

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    struct json_object status = json_object_new(c->arena);
    const struct json *spec = json_get(obj, STR("spec"));

    json_add(&status, STR("phase"), json_of_str(STR("Pending")));
    if (json_len(json_get(spec, STR("schedulingGates"))))
        add_gated(c->arena, &status, c->now_s);
    json_add(&status, STR("qosClass"), json_of_str(podspec_qos(spec)));
    obj = json_set(c->arena, obj, "status", json_object_done(&status));
    return podspec_apply_keys(c->arena, podspec_apply_armor(c->arena, obj));
}

/* ---- updates ---- */

static const struct json *next_generation(struct arena *a, const struct json *obj,
                                          const struct json *old)
{
    struct json n = json_of_int(json_int(json_path(old, "metadata.generation"), 0) + 1);

    if (check_same(json_get(obj, STR("spec")), json_get(old, STR("spec"))))
        return obj;
    return json_set(a, obj, "metadata.generation", &n);
}

static const struct json *status_update(struct arena *a, const struct json *obj,
                                        const struct json *old)
{
    const struct json *qos = json_path(old, "status.qosClass");

    obj = check_keep(a, obj, old, "spec");
    obj = json_set(a, obj, "metadata.ownerReferences", json_path(old, "metadata.ownerReferences"));
    if (qos && !json_path(obj, "status.qosClass"))
        obj = json_set(a, obj, "status.qosClass", qos);
    return obj;
}

/* The old pod with the new one's ephemeral containers, and nothing else of it. */
static const struct json *ephemeral_update(struct arena *a, const struct json *obj,
                                           const struct json *old)
{
    const struct json *list = json_path(obj, "spec.ephemeralContainers");

    return next_generation(a, json_set(a, old, "spec.ephemeralContainers", list), old);
}

/* The old pod on a node, with the labels and annotations of the binding; it counts as scheduled
 * from now. */
static const struct json *binding_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    struct arena *a = c->arena;
    struct json_array conditions = json_array_new(a);
    struct json_object o = json_object_new(a);
    char *now = arena_alloc(a, TIME_TEXT_SIZE);
    const struct json *pod = json_set(a, old, "spec.nodeName", json_path(obj, "spec.nodeName"));

    (void)time_format_seconds(now, c->now_s);
    json_for_each (had, json_path(old, "status.conditions"))
        if (!str_is(json_get_str(had, "type"), "PodScheduled"))
            json_push(&conditions, *had);
    json_add(&o, STR("type"), json_of_str(STR("PodScheduled")));
    json_add(&o, STR("status"), json_of_str(STR("True")));
    json_add(&o, STR("lastProbeTime"), json_null);
    json_add(&o, STR("lastTransitionTime"), json_of_str(str_of(now)));
    json_push(&conditions, json_object_value(&o));
    pod = json_set(a, pod, "status.conditions", json_array_done(&conditions));
    pod = json_set(a, pod, "metadata.labels", json_path(obj, "metadata.labels"));
    return json_set(a, pod, "metadata.annotations", json_path(obj, "metadata.annotations"));
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    if (str_is(c->subresource, "binding"))
        return binding_update(c, obj, old);
    if (str_is(c->subresource, "status"))
        return status_update(c->arena, obj, old);
    if (str_is(c->subresource, "ephemeralcontainers"))
        return ephemeral_update(c->arena, obj, old);
    if (str_is(c->subresource, "resize"))
        return next_generation(c->arena, pod_resized(c->arena, obj, old), old);
    return check_keep(c->arena, obj, old, "status");
}

/* ---- rules ---- */

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site ephemeral = site_in(&spec, "ephemeralContainers");
    struct site node = site_in(&spec, "nodeName"), meta = site_in(&root, "metadata");
    struct site notes = site_in(&meta, "annotations");

    if (str_is(c->subresource, "status") || str_is(c->subresource, "binding"))
        return; /* the spec is the stored one */
    podspec_check_annotations(st, &notes, spec.v);
    podspec_check(st, &spec, true);
    if (!c->create)
        return;
    if (json_len(ephemeral.v))
        site_forbidden(st, &ephemeral, "cannot be set on create");
    if (json_str(node.v).n && json_len(json_get(spec.v, STR("schedulingGates"))))
        site_forbidden(st, &node, "cannot be set until all schedulingGates have been cleared");
    podspec_check_profiles(st, notes.v, &spec);
}

static void check_ephemeral_update(const struct json *obj, const struct json *old,
                                   struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site list = site_in(&spec, "ephemeralContainers");
    struct map all = { 0 };

    json_for_each (v, list.v)
        (void)map_put(&all, json_get_str(v, "name"), (void *)(uintptr_t)v);
    json_for_each (was, json_path(old, "spec.ephemeralContainers")) {
        str name = json_get_str(was, "name");
        const struct json *now = map_get(&all, name);

        if (!now)
            site_fault(st, &list, CAUSE_FORBIDDEN,
                       "existing ephemeral containers \"%.*s\" may not be removed", STR_ARG(name));
        else if (!json_equal(now, was))
            site_fault(st, &list, CAUSE_FORBIDDEN,
                       "existing ephemeral containers \"%.*s\" may not be changed", STR_ARG(name));
    }
    map_release(&all);
}

static void check_status_update(struct status *st, const struct json *obj, const struct json *old)
{
    pod_check_annotations(st, obj, old);
    pod_check_status(st, obj, old);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    if (str_is(c->subresource, "status"))
        check_status_update(st, obj, old);
    else if (str_is(c->subresource, "ephemeralcontainers"))
        check_ephemeral_update(obj, old, st);
    else if (str_is(c->subresource, "resize"))
        pod_check_resize(st, obj, old);
    else if (c->subresource.n == 0)
        pod_check_update(c, obj, old, st);
}

/* ---- the end ---- */

static bool is_over(const struct json *obj)
{
    str phase = json_get_str(obj, "status.phase");

    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

/* k8s: CheckGracefulDelete: a pod on a node gets time to stop, and its kubelet deletes it then
 * with no grace; nobody waits for others. */
static int64_t grace_of(const struct kind_context *c, const struct json *obj)
{
    int64_t grace = c->has_grace
                        ? c->grace_s
                        : json_int(json_path(obj, "spec.terminationGracePeriodSeconds"), 0);

    if (is_over(obj) || json_get_str(obj, "spec.nodeName").n == 0)
        return 0;
    return grace < 0 ? 1 : grace;
}

/* k8s: addConditionAndDeletePod: jobs judge a pod by why it went */
static const struct json *tell_eviction(const struct kind_context *c, const struct json *obj)
{
    const struct json *all = json_path(obj, "status.conditions");
    const struct json *had = condition_find(all, "DisruptionTarget");
    char *now = arena_alloc(c->arena, TIME_TEXT_SIZE);
    struct json_array conditions = json_array_new(c->arena);
    struct json_object o = json_object_new(c->arena);
    str since = { now, time_format_seconds(now, c->now_s) };

    if (!c->evicts)
        return obj;
    json_for_each (old, all)
        if (old != had)
            json_push(&conditions, *old);
    if (str_is(json_get_str(had, "status"), "True"))
        since = json_get_str(had, "lastTransitionTime");
    json_add(&o, STR("type"), json_of_str(STR("DisruptionTarget")));
    json_add(&o, STR("status"), json_of_str(STR("True")));
    json_add(&o, STR("lastProbeTime"), json_null);
    json_add(&o, STR("lastTransitionTime"), json_of_str(since));
    json_add(&o, STR("reason"), json_of_str(STR("EvictionByEvictionAPI")));
    json_add(&o, STR("message"), json_of_str(STR("Eviction API: evicting")));
    json_push(&conditions, json_object_value(&o));
    return json_set(c->arena, obj, "status.conditions", json_array_done(&conditions));
}

static const struct json *begin_delete(const struct kind_context *c, const struct json *pod)
{
    struct arena *a = c->arena;
    const struct json *obj = tell_eviction(c, pod);
    int64_t grace = grace_of(c, obj);
    const struct json *left = json_path(obj, "metadata.deletionGracePeriodSeconds");
    bool deleting = json_get_str(obj, "metadata.deletionTimestamp").n > 0;
    struct json_object meta = json_object_from(a, json_get(obj, STR("metadata")));
    char *when = arena_alloc(a, TIME_TEXT_SIZE);
    int64_t from = c->now_s, until;

    if (grace == 0)
        return NULL;
    if (deleting && (!c->has_grace || grace >= json_int(left, 0)))
        return obj; /* only a shorter time counts, */
    if (deleting && time_parse_seconds(json_get_str(obj, "metadata.deletionTimestamp"), &until))
        from = until - json_int(left, 0); /* from when the first was given */
    (void)time_format_seconds(when, from + grace);
    json_put(&meta, STR("deletionTimestamp"), json_of_str(str_of(when)));
    json_put(&meta, STR("deletionGracePeriodSeconds"), json_of_int(grace));
    if (!deleting)
        json_put(&meta, STR("generation"),
                 json_of_int(json_int(json_path(obj, "metadata.generation"), 0) + 1));
    return json_set(a, obj, "metadata", json_object_done(&meta));
}

static bool may_vanish(const struct json *obj)
{
    return json_int(json_path(obj, "metadata.deletionGracePeriodSeconds"), 0) == 0;
}

const struct kind_ops pod_ops = {
    .defaults = defaults,
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn_pod,
    .begin_delete = begin_delete,
    .held = tell_eviction,
    .may_vanish = may_vanish,
    .cells = pod_cells,
};

/* k8s: pkg/printers/internalversion/printers.go; the cells are in pod_cells.c */
const struct column pod_columns[POD_COLUMNS] = {
    NAME_COLUMN,
    COLUMN("Ready", "", 0, "Containers that are ready, of all."),
    COLUMN("Status", "", 0, "What it does, or what hinders it."),
    COLUMN("Restarts", "", 0, "How often containers were started again, and when last."),
    AGE_COLUMN,
    COLUMN("IP", "", 1, "Its address."),
    COLUMN("Node", "", 1, "Its node."),
    COLUMN("Nominated Node", "", 1, "Node where room is being made for it."),
    COLUMN("Readiness Gates", "", 1, "Gates that are open, of all."),
};

/* k8s: pkg/apis/core/v1/conversion.go */
const struct field_label pod_labels[POD_FIELD_LABELS] = {
    { .label = STR_INIT("spec.nodeName"), .path = "spec.nodeName", .indexed = true },
    { .label = STR_INIT("spec.restartPolicy"), .path = "spec.restartPolicy" },
    { .label = STR_INIT("spec.schedulerName"), .path = "spec.schedulerName" },
    { .label = STR_INIT("spec.serviceAccountName"), .path = "spec.serviceAccountName" },
    { .label = STR_INIT("spec.hostNetwork"), .path = "spec.hostNetwork", .zero = "false" },
    { .label = STR_INIT("status.phase"), .path = "status.phase" },
    { .label = STR_INIT("status.podIP"), .path = "status.podIP" },
    { .label = STR_INIT("status.podIPs"), .path = "status.podIP" },
    { .label = STR_INIT("status.nominatedNodeName"), .path = "status.nominatedNodeName" },
};

/* ---- pod templates ---- */

static const struct json *template_defaults(const struct kind_context *c, const struct json *obj)
{
    return podspec_default_template(c->arena, obj, "template.spec");
}

static void template_validate(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    struct site root = site_root(obj), template = site_in(&root, "template");

    (void)c;
    podspec_check_template(st, &template);
}

static void template_cells(struct arena *a, const struct json *obj, int64_t now_s,
                           struct json_array *cells)
{
    (void)now_s;
    cell_str(cells, obj, "metadata.name");
    podspec_cells(cells, json_path(obj, "template.spec"));
    json_push(cells, json_of_str(cell_labels(a, json_path(obj, "template.metadata.labels"))));
}

const struct kind_ops podtemplate_ops = {
    .defaults = template_defaults,
    .validate = template_validate,
    .warn = warn_podtemplate,
    .cells = template_cells,
};
