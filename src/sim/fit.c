/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/fit.h"

#include "base/banned.h"
#include "base/buf.h"
#include "object/meta/condition.h"
#include "object/meta/quantity.h"
#include "object/meta/selector.h"
#include "sim/objects.h"

/* In units of 10^-scale, rounded up; what is no quantity, or too large, is clipped. */
static int64_t amount(const struct json *v, int scale)
{
    static const int64_t nanos[] = { [0] = 1000000000, [3] = 1000000 };
    struct quantity q;
    str text = json_str(v);
    __int128 n;

    if (json_is(v, JSON_INT))
        return v->i * (scale ? 1000 : 1);
    if (!quantity_parse(text, &q) || q.nanos <= 0)
        return 0;
    n = (q.nanos + nanos[scale] - 1) / nanos[scale];
    return n > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)n;
}

static struct fit_amount amounts(const struct json *v)
{
    return (struct fit_amount){ .cpu_m = amount(json_get(v, STR("cpu")), 3),
                                .memory = amount(json_get(v, STR("memory")), 0),
                                .pods = amount(json_get(v, STR("pods")), 0) };
}

static void add(struct fit_amount *to, const struct json *requests)
{
    struct fit_amount r = amounts(requests);

    to->cpu_m += r.cpu_m;
    to->memory += r.memory;
}

struct fit_amount fit_requests(const struct json *pod)
{
    struct fit_amount all = { .pods = 1 };

    json_for_each (c, json_path(pod, "spec.containers"))
        add(&all, json_path(c, "resources.requests"));
    json_for_each (c, json_path(pod, "spec.initContainers")) {
        struct fit_amount one = amounts(json_path(c, "resources.requests"));

        if (one.cpu_m > all.cpu_m)
            all.cpu_m = one.cpu_m;
        if (one.memory > all.memory)
            all.memory = one.memory;
    }
    add(&all, json_path(pod, "spec.overhead"));
    return all;
}

struct fit_amount fit_allocatable(const struct json *node)
{
    const struct json *v = json_path(node, "status.allocatable");

    return amounts(v ? v : json_path(node, "status.capacity"));
}

/* ---- what both say ---- */

/* k8s: component-helpers/scheduling/corev1, ToleratesTaint */
static bool tolerates(const struct json *t, const struct json *taint)
{
    str key = json_get_str(t, "key"), effect = json_get_str(t, "effect");
    bool exists = str_is(json_get_str(t, "operator"), "Exists");

    if (effect.n && !str_eq(effect, json_get_str(taint, "effect")))
        return false;
    if (key.n && !str_eq(key, json_get_str(taint, "key")))
        return false;
    if (!key.n && !exists)
        return false;
    return exists || str_eq(json_get_str(t, "value"), json_get_str(taint, "value"));
}

static bool tolerated(const struct json *taint, const struct json *tolerations)
{
    if (str_is(json_get_str(taint, "effect"), "PreferNoSchedule"))
        return true;
    json_for_each (t, tolerations)
        if (tolerates(t, taint))
            return true;
    return false;
}

/* A nodeSelectorTerm: its expressions are those of a label selector, and Gt and Lt. */
static bool term_matches(struct arena *a, const struct json *term, const struct json *node)
{
    const struct json *labels = json_path(node, "metadata.labels");
    struct json_object tree = json_object_new(a);
    struct selector s;
    struct status st;

    json_for_each (f, json_get(term, STR("matchFields"))) {
        str want = json_str(json_at(json_get(f, STR("values")), 0));
        bool in = str_is(json_get_str(f, "operator"), "In");

        if (str_eq(want, json_get_str(node, "metadata.name")) != in)
            return false;
    }
    if (!json_get(term, STR("matchExpressions")))
        return json_len(json_get(term, STR("matchFields"))) > 0;
    status_init(&st, a);
    json_add(&tree, STR("matchExpressions"), *json_get(term, STR("matchExpressions")));
    return selector_of_tree(a, json_object_done(&tree), &s, &st) == 0 &&
           selector_matches(&s, labels);
}

static bool wanted(struct arena *a, const struct json *node, const struct json *pod)
{
    const struct json *terms =
        json_path(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                       "nodeSelectorTerms");

    if (!obj_selects(json_path(pod, "spec.nodeSelector"), json_path(node, "metadata.labels")))
        return false;
    if (!terms)
        return true;
    json_for_each (t, terms)
        if (term_matches(a, t, node))
            return true;
    return false;
}

enum fit_result fit_allows(struct arena *a, const struct json *node, const struct json *pod)
{
    const struct json *tolerations = json_path(pod, "spec.tolerations");

    if (!object_is_ready(node))
        return FIT_NOT_READY;
    if (json_bool(json_path(node, "spec.unschedulable"))) {
        const struct json cordon = { .type = JSON_OBJECT,
                                     .n = 2,
                                     .members = (const struct json_member[]){
                                         { STR("key"),
                                           json_of_str(STR("node.kubernetes.io/unschedulable")) },
                                         { STR("effect"), json_of_str(STR("NoSchedule")) } } };

        if (!tolerated(&cordon, tolerations))
            return FIT_UNSCHEDULABLE;
    }
    json_for_each (t, json_path(node, "spec.taints"))
        if (!tolerated(t, tolerations))
            return FIT_TAINTED;
    return wanted(a, node, pod) ? FIT_OK : FIT_SELECTOR;
}

/* ---- room ---- */

enum fit_result fit_room(const struct fit_amount *all, const struct fit_amount *used,
                         const struct fit_amount *wants)
{
    if (used->pods + wants->pods > all->pods)
        return FIT_PODS;
    if (wants->cpu_m > 0 && used->cpu_m + wants->cpu_m > all->cpu_m)
        return FIT_CPU;
    if (wants->memory > 0 && used->memory + wants->memory > all->memory)
        return FIT_MEMORY;
    return FIT_OK;
}

static int64_t part(int64_t used, int64_t all)
{
    return all > 0 ? (int64_t)((__int128)used * 1000000 / all) : 0;
}

int64_t fit_load(const struct fit_amount *all, const struct fit_amount *used,
                 const struct fit_amount *wants)
{
    return part(used->cpu_m + wants->cpu_m, all->cpu_m) +
           part(used->memory + wants->memory, all->memory) +
           part(used->pods + wants->pods, all->pods);
}

str fit_explain(struct arena *a, const size_t count[FIT_RESULTS], size_t nodes)
{
    static const char *const words[FIT_RESULTS] = {
        [FIT_NOT_READY] = "node(s) were not ready",
        [FIT_UNSCHEDULABLE] = "node(s) were unschedulable",
        [FIT_TAINTED] = "node(s) had untolerated taint(s)",
        [FIT_SELECTOR] = "node(s) didn't match Pod's node affinity/selector",
        [FIT_PODS] = "Too many pods",
        [FIT_CPU] = "Insufficient cpu",
        [FIT_MEMORY] = "Insufficient memory",
    };
    scoped_buf b = { .max = 1024 };
    const char *between = ": ";

    if (nodes == 0)
        return STR("no nodes available to schedule pods");
    buf_printf(&b, "0/%zu nodes are available", nodes);
    for (size_t i = FIT_OK + 1; i < FIT_RESULTS; i++) {
        if (!count[i])
            continue;
        buf_printf(&b, "%s%zu %s", between, count[i], words[i]);
        between = ", ";
    }
    buf_byte(&b, '.');
    return str_dup(a, buf_str(&b));
}
