/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/pod_resize.h"

#include "base/banned.h"
#include "kinds/frame/site.h"
#include "kinds/k8s/podspec.h"

/* k8s: pkg/registry/core/pod/strategy.go dropNonResizeUpdates, core/validation ValidatePodResize */

static const char *const lists[] = { "containers", "initContainers" };
enum { LISTS = 2 };

static const struct json *list_of(const struct json *pod, size_t i)
{
    return json_get(json_get(pod, STR("spec")), str_of(lists[i]));
}

static bool same_names(const struct json *now, const struct json *was)
{
    if (json_len(now) != json_len(was))
        return false;
    for (size_t i = 0; i < json_len(now); i++)
        if (!str_eq(json_get_str(json_at(now, i), "name"), json_get_str(json_at(was, i), "name")))
            return false;
    return true;
}

static struct json resized(struct arena *a, const struct json *was, const struct json *now)
{
    static const char *const changed[] = { "resources", "resizePolicy" };
    struct json_object o = json_object_from(a, was);

    for (size_t i = 0; i < sizeof(changed) / sizeof(*changed); i++) {
        const struct json *v = json_get(now, str_of(changed[i]));

        json_remove(&o, str_of(changed[i]));
        if (v)
            json_add(&o, str_of(changed[i]), *v);
    }
    return json_object_value(&o);
}

const struct json *pod_resized(struct arena *a, const struct json *obj, const struct json *old)
{
    const struct json *pod = old;

    for (size_t i = 0; i < LISTS; i++)
        if (!same_names(list_of(obj, i), list_of(old, i)))
            return obj;
    for (size_t i = 0; i < LISTS; i++) {
        const struct json *now = list_of(obj, i), *was = list_of(old, i);
        struct json_array out = json_array_new(a);

        if (!was)
            continue;
        for (size_t j = 0; j < json_len(was); j++)
            json_push(&out, resized(a, json_at(was, j), json_at(now, j)));
        pod =
            json_set(a, pod, i ? "spec.initContainers" : "spec.containers", json_array_done(&out));
    }
    return pod;
}

/* ---- rules ---- */

static bool check_order(struct status *st, const struct site *spec, const struct json *old)
{
    bool fits = true;

    for (size_t i = 0; i < LISTS; i++) {
        struct site list = site_in(spec, lists[i]);
        const struct json *was = list_of(old, i);

        if (json_len(list.v) != json_len(was)) {
            site_fault(st, &list, CAUSE_FORBIDDEN, "%s may not be added or removed on resize",
                       lists[i]);
            fits = false;
            continue;
        }
        site_each(c, &list)
        {
            struct site name = site_in(&c, "name");

            if (str_eq(json_str(name.v), json_get_str(json_at(was, c.index), "name")))
                continue;
            site_fault(st, &name, CAUSE_FORBIDDEN, "%s may not be renamed or reordered on resize",
                       lists[i]);
            fits = false;
        }
    }
    return fits;
}

static bool is_sidecar(const struct json *container)
{
    return str_is(json_get_str(container, "restartPolicy"), "Always");
}

static bool lost_one(const struct json *now, const struct json *was)
{
    json_for_each_member (m, was)
        if (!json_get(now, m->name))
            return true;
    return false;
}

static void check_removed(struct status *st, const struct site *container, const struct json *old)
{
    static const char *const which[] = { "requests", "limits" };
    struct site resources = site_in(container, "resources");

    for (size_t i = 0; i < 2; i++) {
        struct site list = site_in(&resources, which[i]);
        const struct json *was = json_get(json_get(old, STR("resources")), str_of(which[i]));

        if (lost_one(list.v, was))
            site_fault(st, &list, CAUSE_FORBIDDEN, "resource %s cannot be removed", which[i]);
    }
}

static bool is_mutable(str name)
{
    return str_is(name, "cpu") || str_is(name, "memory");
}

/* Nothing but cpu and memory differs; a list that is gone differs, whatever was in it. */
static bool only_mutable(const struct json *now, const struct json *was)
{
    if (!json_len(now))
        return !json_len(was);
    json_for_each_member (m, now)
        if (!is_mutable(m->name) && !json_equal(&m->value, json_get(was, m->name)))
            return false;
    json_for_each_member (m, was)
        if (!is_mutable(m->name) && !json_get(now, m->name))
            return false;
    return true;
}

static bool same(const struct json *a, const struct json *b)
{
    return a && b ? json_equal(a, b) : !json_len(a) && !json_len(b);
}

static bool may_become(const struct json *now, const struct json *was)
{
    const struct json *to = json_get(now, STR("resources")),
                      *from = json_get(was, STR("resources"));

    return same(json_get(now, STR("resizePolicy")), json_get(was, STR("resizePolicy"))) &&
           only_mutable(json_get(to, STR("limits")), json_get(from, STR("limits"))) &&
           only_mutable(json_get(to, STR("requests")), json_get(from, STR("requests"))) &&
           !json_len(json_get(from, STR("claims")));
}

static void check_mutable(struct status *st, const struct site *spec, const struct json *old)
{
    const struct json *now = json_get(spec->v, STR("containers"));
    const struct json *init = json_get(spec->v, STR("initContainers"));

    for (size_t i = 0; i < json_len(now); i++)
        if (!may_become(json_at(now, i), json_at(list_of(old, 0), i)))
            site_forbidden(st, spec, "only cpu and memory resources are mutable");
    for (size_t i = 0; i < json_len(init); i++) {
        const struct json *c = json_at(init, i), *was = json_at(list_of(old, 1), i);

        if (is_sidecar(c) && !may_become(c, was))
            site_forbidden(st, spec,
                           "only cpu and memory resources for sidecar containers are "
                           "mutable");
        else if (!is_sidecar(c) && !json_equal(c, was))
            site_forbidden(st, spec, "resources for non-sidecar init containers are immutable");
    }
}

/* A node that says what its containers have can change it. */
static bool is_supported(const struct json *pod)
{
    json_for_each (s, json_path(pod, "status.containerStatuses"))
        if (json_path(s, "state.running"))
            return json_get(s, STR("resources")) != NULL;
    return true;
}

static bool has_own(const struct json *pod)
{
    return json_len(json_path(pod, "spec.resources.requests")) ||
           json_len(json_path(pod, "spec.resources.limits"));
}

static void forbid_all(struct status *st, const char *why)
{
    status_cause(st, CAUSE_FORBIDDEN, STR_NONE, STR_NONE, "%s", why);
}

static void check_containers(struct status *st, const struct site *spec, const struct json *old)
{
    struct site list = site_in(spec, "containers"), init = site_in(spec, "initContainers");

    if (!check_order(st, spec, old))
        return;
    site_each(c, &init) if (is_sidecar(json_at(list_of(old, 1), c.index)))
        check_removed(st, &c, json_at(list_of(old, 1), c.index));
    site_each(c, &list) check_removed(st, &c, json_at(list_of(old, 0), c.index));
    check_mutable(st, spec, old);
}

void pod_check_resize(struct status *st, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    str class = json_get_str(old, "status.qosClass");

    if (json_get(json_path(old, "metadata.annotations"), STR("kubernetes.io/config.mirror"))) {
        forbid_all(st, "static pods cannot be resized");
        return;
    }
    if (str_is(json_get_str(old, "spec.os.name"), "windows")) {
        forbid_all(st, "windows pods cannot be resized");
        return;
    }
    if (!str_eq(class.n ? class : podspec_qos(json_get(old, STR("spec"))), podspec_qos(spec.v)))
        status_cause(
            st, CAUSE_INVALID, STR("spec"),
            str_printf(st->arena, "\"%.*s\"", STR_ARG(json_get_str(obj, "status.qosClass"))),
            "Pod QOS Class may not change as a result of resizing");
    if (!is_supported(old))
        site_forbidden(st, &spec, "Pod running on node without support for resize");
    if (has_own(old) || has_own(obj)) {
        forbid_all(st, "resize of pods with pod-level resources is forbidden when "
                       "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled");
        return;
    }
    check_containers(st, &spec, old);
}
