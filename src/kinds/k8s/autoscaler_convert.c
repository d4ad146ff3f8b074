/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/autoscaler.h"
#include "kinds/k8s/groups.h"

#define NOTES "autoscaling.alpha.kubernetes.io/"

/* A member of a source of metrics: in an annotation, and in v2. */
struct pair {
    const char *v1, *v2;
};

#define UTILIZATION(which, side)                                \
    { which "AverageUtilization", side ".averageUtilization" }, \
    {                                                           \
        which "AverageValue", side ".averageValue"              \
    }
#define SOURCES(which, side)                                                                    \
    {                                                                                           \
        { "Resource", "resource", { { "name", "name" }, UTILIZATION(which, side) } },           \
            { "ContainerResource",                                                              \
              "containerResource",                                                              \
              { { "name", "name" }, { "container", "container" }, UTILIZATION(which, side) } }, \
            { "Pods",                                                                           \
              "pods",                                                                           \
              { { "metricName", "metric.name" },                                                \
                { "selector", "metric.selector" },                                              \
                { which "AverageValue", side ".averageValue" } } },                             \
            { "Object",                                                                         \
              "object",                                                                         \
              { { "target", "describedObject" },                                                \
                { "metricName", "metric.name" },                                                \
                { "selector", "metric.selector" },                                              \
                { which "Value", side ".value" },                                               \
                { "averageValue", side ".averageValue" } } },                                   \
            { "External",                                                                       \
              "external",                                                                       \
              { { "metricName", "metric.name" },                                                \
                { "metricSelector", "metric.selector" },                                        \
                { which "Value", side ".value" },                                               \
                { which "AverageValue", side ".averageValue" } } },                             \
    }

static const struct source {
    const char *type, *member;
    struct pair pairs[6]; /* up to one without names */
} spec_sources[] = SOURCES("target", "target"), status_sources[] = SOURCES("current", "current");

/* k8s: the annotation has the names of Go's fields */
static const struct pair behavior[] = {
    { "ScaleUp", "scaleUp" },
    { "ScaleDown", "scaleDown" },
    { "StabilizationWindowSeconds", "stabilizationWindowSeconds" },
    { "SelectPolicy", "selectPolicy" },
    { "Policies", "policies" },
    { "Type", "type" },
    { "Value", "value" },
    { "PeriodSeconds", "periodSeconds" },
    { "Tolerance", "tolerance" },
};

static const struct json *renamed(struct arena *a, const struct json *v, bool to_v2)
{
    struct json_object o = json_object_new(a);
    struct json_array list = json_array_new(a);

    if (json_is(v, JSON_ARRAY)) {
        json_for_each (item, v)
            json_push(&list, *renamed(a, item, to_v2));
        return json_array_done(&list);
    }
    if (!json_is(v, JSON_OBJECT))
        return v;
    json_for_each_member (m, v)
        for (size_t i = 0; i < GROUP_LEN(behavior); i++)
            if (str_is(m->name, to_v2 ? behavior[i].v1 : behavior[i].v2))
                json_put(&o, str_of(to_v2 ? behavior[i].v2 : behavior[i].v1),
                         *renamed(a, &m->value, to_v2));
    return json_object_done(&o);
}

/* ---- one metric ---- */

static const struct source *source_of(const struct source *sources, const struct json *metric)
{
    for (size_t i = 0; i < GROUP_LEN(spec_sources); i++)
        if (str_is(json_get_str(metric, "type"), sources[i].type))
            return &sources[i];
    return NULL;
}

static str target_type(const struct json *target)
{
    if (json_get(target, STR("averageUtilization")))
        return STR("Utilization");
    return json_get(target, STR("averageValue")) ? STR("AverageValue") : STR("Value");
}

static struct json metric(struct arena *a, const struct source *sources, const struct json *from,
                          bool to_v2)
{
    const struct source *s = source_of(sources, from);
    const struct json *in = s ? json_get(from, str_of(s->member)) : NULL;
    const struct json *out = &json_empty_object, *v;
    struct json_object o = json_object_new(a);
    struct json type;

    json_add(&o, STR("type"), json_of_str(json_get_str(from, "type")));
    for (const struct pair *p = s ? s->pairs : NULL; in && p->v1; p++) {
        v = json_path(in, to_v2 ? p->v1 : p->v2);
        if (v)
            out = json_set(a, out, to_v2 ? p->v2 : p->v1, v);
    }
    if (to_v2 && sources == spec_sources) {
        type = json_of_str(target_type(json_get(out, STR("target"))));
        out = json_set(a, out, "target.type", &type);
    }
    if (in)
        json_add(&o, str_of(s->member), *out);
    return json_object_value(&o);
}

/* ---- annotations ---- */

static const struct json *read_note(struct arena *a, const struct json *notes, const char *name)
{
    const struct json *out = NULL;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, json_str(json_get(notes, str_of(name))), NULL, &out, &st) < 0)
        return NULL;
    return out;
}

static void write_note(struct arena *a, struct json_object *notes, const char *name,
                       const struct json *v)
{
    if (json_len(v))
        json_put(notes, str_of(name), json_of_str(json_text(a, v)));
}

static const struct json *with_notes(struct arena *a, const struct json *obj,
                                     struct json_object *notes)
{
    return json_set(a, obj, "metadata.annotations", notes->n ? json_object_done(notes) : NULL);
}

/* ---- v1 to v2 ---- */

static const struct json *metrics_to_v2(struct arena *a, const struct source *sources,
                                        const struct json *percent, const struct json *others)
{
    struct json_array all = json_array_new(a);
    const struct json *cpu;
    struct json name = json_of_str(STR("cpu")), type = json_of_str(STR("Resource"));
    struct json utilization = json_of_str(STR("Utilization"));

    if (percent && (sources == spec_sources || !others)) {
        cpu = json_set(a, &json_empty_object, "type", &type);
        cpu = json_set(a, cpu, "resource.name", &name);
        if (sources == spec_sources) {
            cpu = json_set(a, cpu, "resource.target.type", &utilization);
            cpu = json_set(a, cpu, "resource.target.averageUtilization", percent);
        } else {
            cpu = json_set(a, cpu, "resource.current.averageUtilization", percent);
        }
        json_push(&all, *cpu);
    }
    json_for_each (m, others)
        json_push(&all, metric(a, sources, m, true));
    return json_len(json_array_done(&all)) ? json_array_done(&all) : NULL;
}

const struct json *autoscaler_to_v2(struct arena *a, const struct json *obj)
{
    static const char *const taken[] = { NOTES "metrics", NOTES "current-metrics",
                                         NOTES "conditions", NOTES "behavior" };
    const struct json *notes = json_path(obj, "metadata.annotations"), *v;
    struct json_object kept = json_object_from(a, notes);
    const struct json *percent = json_path(obj, "spec.targetCPUUtilizationPercentage");
    const struct json *used = json_path(obj, "status.currentCPUUtilizationPercentage");

    obj = json_set(a, obj, "spec.targetCPUUtilizationPercentage", NULL);
    obj = json_set(a, obj, "status.currentCPUUtilizationPercentage", NULL);
    obj = json_set(a, obj, "spec.metrics",
                   metrics_to_v2(a, spec_sources, percent, read_note(a, notes, taken[0])));
    obj = json_set(a, obj, "status.currentMetrics",
                   metrics_to_v2(a, status_sources, used, read_note(a, notes, taken[1])));
    obj = json_set(a, obj, "status.conditions", read_note(a, notes, taken[2]));
    v = read_note(a, notes, taken[3]);
    obj = json_set(a, obj, "spec.behavior", v ? renamed(a, v, true) : NULL);
    for (size_t i = 0; i < GROUP_LEN(taken); i++)
        json_remove(&kept, str_of(taken[i]));
    return notes ? with_notes(a, obj, &kept) : obj;
}

/* ---- v2 to v1 ---- */

/* The load of the processors, which v1 has a field for. */
static const struct json *cpu_percent(const struct json *m, const char *path)
{
    if (!str_is(json_get_str(m, "type"), "Resource") ||
        !str_is(json_get_str(m, "resource.name"), "cpu"))
        return NULL;
    return json_path(m, path);
}

static const struct json *metrics_to_v1(struct arena *a, const struct source *sources,
                                        const struct json *all, const char *path,
                                        const struct json **percent)
{
    struct json_array others = json_array_new(a);

    *percent = NULL;
    json_for_each (m, all) {
        const struct json *n = *percent ? NULL : cpu_percent(m, path);
        static const char *const value = "resource.current.averageValue";
        struct json none = json_of_str(STR("0"));

        if (n)
            *percent = n;
        /* What was measured is kept whole: there is a value beside the percentage. */
        if (sources == status_sources && json_get(m, STR("resource")) && !json_path(m, value))
            json_push(&others, metric(a, sources, json_set(a, m, value, &none), false));
        else if (sources == status_sources || !n)
            json_push(&others, metric(a, sources, m, false));
    }
    return json_array_done(&others);
}

const struct json *autoscaler_to_v1(struct arena *a, const struct json *obj)
{
    const struct json *notes = json_path(obj, "metadata.annotations"), *percent, *used;
    struct json_object more = json_object_from(a, notes);
    const struct json *metrics = json_path(obj, "spec.metrics");
    const struct json *measured = json_path(obj, "status.currentMetrics");
    const struct json *rules = json_path(obj, "spec.behavior");

    metrics =
        metrics_to_v1(a, spec_sources, metrics, "resource.target.averageUtilization", &percent);
    measured =
        metrics_to_v1(a, status_sources, measured, "resource.current.averageUtilization", &used);
    write_note(a, &more, NOTES "metrics", metrics);
    write_note(a, &more, NOTES "current-metrics", measured);
    write_note(a, &more, NOTES "conditions", json_path(obj, "status.conditions"));
    write_note(a, &more, NOTES "behavior", rules ? renamed(a, rules, false) : NULL);
    obj = json_set(a, obj, "spec.metrics", NULL);
    obj = json_set(a, obj, "spec.behavior", NULL);
    obj = json_set(a, obj, "status.currentMetrics", NULL);
    obj = json_set(a, obj, "status.conditions", NULL);
    obj = json_set(a, obj, "spec.targetCPUUtilizationPercentage", percent);
    obj = json_set(a, obj, "status.currentCPUUtilizationPercentage", used);
    return notes || more.n ? with_notes(a, obj, &more) : obj;
}
