/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A pod that names a runtime class gets what that costs and where it may run.
 * k8s: plugin/pkg/admission/runtimeclass, pkg/util/tolerations
 */

#include "apiserver/admission/admission.h"
#include "base/banned.h"
#include "rest/lookup.h"

static int refuse(const struct admission *a, const struct json *pod, str why, struct status *st)
{
    return status_forbidden(st, STR_NONE, a->req->kind->plural, json_get_str(pod, "metadata.name"),
                            "%.*s", STR_ARG(why));
}

/* NULL where the pod names none. */
static int find_class(const struct admission *a, const struct json *pod, const struct json **out,
                      struct status *st)
{
    const struct rest_request *r = a->req;
    const struct kind *k =
        catalog_find(r->catalog, STR("node.k8s.io"), STR("v1"), STR("runtimeclasses"));
    str name = json_get_str(pod, "spec.runtimeClassName");
    int found;

    *out = NULL;
    if (name.n == 0 || !k)
        return 0;
    found = lookup_get(r->rest, r->arena, &r->instance, k, STR_NONE, name, out, st);
    if (found != 0)
        return found < 0 ? -1 : 0;
    return refuse(
        a, pod,
        str_printf(r->arena, "pod rejected: RuntimeClass \"%.*s\" not found", STR_ARG(name)), st);
}

/* ---- where it may run ---- */

static int add_selector(const struct admission *a, const struct json *class,
                        const struct json **pod, struct status *st)
{
    struct json_object all = json_object_from(a->req->arena, json_path(*pod, "spec.nodeSelector"));
    const struct json *wanted = json_path(class, "scheduling.nodeSelector");

    if (json_len(wanted) == 0)
        return 0;
    json_for_each_member (m, wanted) {
        const struct json *had = json_get(json_path(*pod, "spec.nodeSelector"), m->name);

        if (had && !json_equal(had, &m->value))
            return refuse(a, *pod,
                          str_printf(a->req->arena,
                                     "conflict: runtimeClass.scheduling.nodeSelector[%.*s] = "
                                     "%.*s; pod.spec.nodeSelector[%.*s] = %.*s",
                                     STR_ARG(m->name), STR_ARG(json_str(&m->value)),
                                     STR_ARG(m->name), STR_ARG(json_str(had))),
                          st);
        json_put(&all, m->name, m->value);
    }
    *pod = json_set(a->req->arena, *pod, "spec.nodeSelector", json_object_done(&all));
    return 0;
}

static bool is_or(const struct json *toleration, const char *field, const char *value)
{
    str got = json_get_str(toleration, field);

    return got.n == 0 || str_is(got, value);
}

/* Whatever b tolerates, a does as well. */
static bool covers(const struct json *a, const struct json *b)
{
    bool exists = str_is(json_get_str(a, "operator"), "Exists");
    str key = json_get_str(a, "key"), effect = json_get_str(a, "effect");
    const struct json *for_a = json_get(a, STR("tolerationSeconds")),
                      *for_b = json_get(b, STR("tolerationSeconds"));

    if (json_equal(a, b))
        return true;
    if (!str_eq(key, json_get_str(b, "key")) && !(key.n == 0 && exists))
        return false;
    if (effect.n && !str_eq(effect, json_get_str(b, "effect")))
        return false;
    if (str_is(effect, "NoExecute") && for_a && (!for_b || json_int(for_b, 0) > json_int(for_a, 0)))
        return false;
    return exists || (is_or(a, "operator", "Equal") && is_or(b, "operator", "Equal") &&
                      str_eq(json_get_str(a, "value"), json_get_str(b, "value")));
}

static bool is_redundant(const struct json *const *all, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        if (i != at && covers(all[i], all[at]) && (i < at || !json_equal(all[i], all[at])))
            return true;
    return false;
}

static void add_tolerations(const struct admission *a, const struct json *class,
                            const struct json **pod)
{
    struct arena *arena = a->req->arena;
    const struct json *had = json_path(*pod, "spec.tolerations");
    const struct json *more = json_path(class, "scheduling.tolerations");
    const struct json **all =
        arena_array(arena, const struct json *, json_len(had) + json_len(more) + 1);
    struct json_array merged = json_array_new(arena);
    size_t n = 0;

    if (json_len(more) == 0)
        return;
    json_for_each (t, had)
        all[n++] = t;
    json_for_each (t, more)
        all[n++] = t;
    for (size_t i = 0; i < n; i++)
        if (!is_redundant(all, n, i))
            json_push(&merged, *all[i]);
    *pod = json_set(arena, *pod, "spec.tolerations", json_array_done(&merged));
}

/* ---- what it costs ---- */

static int set_overhead(const struct admission *a, const struct json *class,
                        const struct json **pod, struct status *st)
{
    const struct json *fixed = json_path(class, "overhead.podFixed");
    const struct json *said = json_path(*pod, "spec.overhead");

    if (!json_path(class, "overhead"))
        return 0;
    if (said && !json_equal(said, fixed))
        return refuse(
            a, *pod,
            STR("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"), st);
    if (fixed)
        *pod = json_set(a->req->arena, *pod, "spec.overhead", fixed);
    return 0;
}

static int mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    const struct json *class;

    if (a->req->subresource.n)
        return 0;
    if (find_class(a, *obj, &class, st) < 0 || set_overhead(a, class, obj, st) < 0 ||
        add_selector(a, class, obj, st) < 0)
        return -1;
    add_tolerations(a, class, obj);
    return 0;
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct json *class;

    if (a->req->subresource.n || !json_path(obj, "spec.overhead"))
        return 0;
    if (find_class(a, obj, &class, st) < 0)
        return -1;
    if (json_path(class, "overhead"))
        return 0;
    return refuse(a, obj,
                  STR("pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                      "Overhead"),
                  st);
}

const struct admission_plugin admit_runtime_class = {
    .name = "RuntimeClass",
    .group = "",
    .resource = "pods",
    .verbs = VERB_CREATE,
    .mutate = mutate,
    .validate = validate,
};
