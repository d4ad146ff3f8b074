/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "kinds/changes.h"
#include "kinds/check.h"
#include "kinds/group.h"
#include "kinds/pod_resize.h"
#include "kinds/pod_status.h"
#include "kinds/podspec.h"
#include "kinds/warn.h"
#include "kinds/workload.h"

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
    return podspec_apply_keys(c->arena, obj);
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
    struct site node = site_in(&spec, "nodeName");

    if (str_is(c->subresource, "status") || str_is(c->subresource, "binding"))
        return; /* the spec is the stored one */
    podspec_check(st, &spec, true);
    if (!c->create)
        return;
    if (json_len(ephemeral.v))
        site_forbidden(st, &ephemeral, "cannot be set on create");
    if (json_str(node.v).n && json_len(json_get(spec.v, STR("schedulingGates"))))
        site_forbidden(st, &node, "cannot be set until all schedulingGates have been cleared");
}

/* The containers with the images of the old ones; NULL when their number differs. */
static const struct json *old_images(struct arena *a, const struct json *now,
                                     const struct json *was)
{
    struct json_array out = json_array_new(a);

    if (json_len(now) != json_len(was))
        return NULL;
    for (size_t i = 0; i < json_len(now); i++) {
        struct json_object o = json_object_from(a, json_at(now, i));
        const struct json *image = json_get(json_at(was, i), STR("image"));

        json_put(&o, STR("image"), image ? *image : json_of_str(STR("")));
        json_push(&out, json_object_value(&o));
    }
    return json_array_done(&out);
}

static bool has_item(const struct json *list, const struct json *item)
{
    json_for_each (v, list)
        if (json_equal(v, item))
            return true;
    return false;
}

static void check_tolerations(struct status *st, const struct site *spec, const struct json *old)
{
    struct site tolerations = site_in(spec, "tolerations");

    json_for_each (t, json_get(old, STR("tolerations")))
        if (!has_item(tolerations.v, t)) {
            site_forbidden(st, &tolerations,
                           "existing toleration can not be modified except its tolerationSeconds");
            return;
        }
}

static void check_deadline(struct status *st, const struct site *spec, const struct json *old)
{
    struct site deadline = site_in(spec, "activeDeadlineSeconds");
    const struct json *was = json_get(old, STR("activeDeadlineSeconds"));

    if (was && !deadline.v) {
        deadline.v = &json_null;
        site_invalid(st, &deadline, "must not update from a positive integer to nil value");
    } else if (was && json_int(was, 0) < json_int(deadline.v, 0)) {
        site_invalid(st, &deadline, "must be less than or equal to previous value");
    }
}

/* Of one that is there twice the last is told. */
static void check_gate_removal(struct status *st, const struct site *spec, const struct json *old)
{
    struct site gates = site_in(spec, "schedulingGates");

    site_each(g, &gates)
    {
        struct site name = site_in(&g, "name");
        bool again = false;

        for (size_t i = g.index + 1; i < json_len(gates.v); i++)
            again = again || json_equal(json_at(gates.v, i), g.v);
        if (!again && !has_item(json_get(old, STR("schedulingGates")), g.v))
            site_fault(st, &name, CAUSE_FORBIDDEN,
                       "only deletion is allowed, but found new scheduling gate '%.*s'",
                       STR_ARG(json_str(name.v)));
    }
}

/* The new spec with everything that may change put back; what differs then may not. */
static const struct json *put_back(struct arena *a, const struct json *now, const struct json *was)
{
    static const char *const free_[] = { "activeDeadlineSeconds", "tolerations",
                                         "schedulingGates" };
    static const char *const gated[] = { "nodeSelector", "affinity" };
    static const char *const lists[] = { "containers", "initContainers" };

    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        const struct json *list = json_get(now, str_of(lists[i]));

        if (list)
            now = json_set(a, now, lists[i], old_images(a, list, json_get(was, str_of(lists[i]))));
    }
    for (size_t i = 0; i < GROUP_LEN(free_); i++)
        now = check_keep(a, now, was, free_[i]);
    for (size_t i = 0; json_len(json_get(was, STR("schedulingGates"))) && i < GROUP_LEN(gated); i++)
        now = check_keep(a, now, was, gated[i]);
    return now;
}

static void check_spec_update(const struct kind_context *c, const struct json *obj,
                              const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    const struct json *was = json_get(old, STR("spec")), *now;
    static const char *const lists[] = { "containers", "initContainers" };

    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        struct site list = site_in(&spec, lists[i]);

        if (json_len(list.v) != json_len(json_get(was, str_of(lists[i])))) {
            site_forbidden(st, &list, "pod updates may not add or remove containers");
            return;
        }
    }
    check_deadline(st, &spec, was);
    check_tolerations(st, &spec, was);
    check_gate_removal(st, &spec, was);
    now = put_back(c->arena, spec.v, was);
    if (!json_equal(now, was))
        site_fault(st, &spec, CAUSE_FORBIDDEN,
                   "pod updates may not change fields other than `spec.containers[*].image`,"
                   "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
                   "`spec.tolerations` (only additions to existing tolerations),"
                   "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
                   "previously negative)\n%.*s",
                   STR_ARG(changes_text(c, "spec", was, now)));
}

static void check_ephemeral_update(const struct kind_context *c, const struct json *obj,
                                   const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site list = site_in(&spec, "ephemeralContainers");

    json_for_each (was, json_path(old, "spec.ephemeralContainers")) {
        str name = json_get_str(was, "name");
        const struct json *now = NULL;

        json_for_each (v, list.v)
            if (str_eq(json_get_str(v, "name"), name))
                now = v;
        if (!now)
            site_fault(st, &list, CAUSE_FORBIDDEN,
                       "existing ephemeral containers \"%.*s\" may not be removed\n",
                       STR_ARG(name));
        else if (!json_equal(now, was))
            site_fault(st, &list, CAUSE_FORBIDDEN,
                       "existing ephemeral containers \"%.*s\" may not be changed\n%.*s",
                       STR_ARG(name),
                       STR_ARG(changes_text(c, "spec.ephemeralContainers.*", was, now)));
    }
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    if (str_is(c->subresource, "status"))
        pod_check_status(st, obj, old);
    else if (str_is(c->subresource, "ephemeralcontainers"))
        check_ephemeral_update(c, obj, old, st);
    else if (str_is(c->subresource, "resize"))
        pod_check_resize(st, obj, old);
    else if (c->subresource.n == 0)
        check_spec_update(c, obj, old, st);
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

static const struct json *begin_delete(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;
    int64_t grace = grace_of(c, obj);
    const struct json *left = json_path(obj, "metadata.deletionGracePeriodSeconds");
    bool deleting = json_get_str(obj, "metadata.deletionTimestamp").n > 0;
    struct json_object meta = json_object_from(a, json_get(obj, STR("metadata")));
    char *when = arena_alloc(a, TIME_TEXT_SIZE);

    if (grace == 0)
        return NULL;
    if (deleting && (!c->has_grace || grace >= json_int(left, 0)))
        return obj; /* only a shorter time counts */
    (void)time_format_seconds(when, c->now_s + grace);
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
    .may_vanish = may_vanish,
    .cells = pod_cells,
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
