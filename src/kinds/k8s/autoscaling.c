/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/banned.h"
#include "kinds/frame/autoscaler.h"
#include "kinds/frame/check.h"
#include "kinds/frame/resources.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"
#include "object/meta/quantity.h"

/* k8s: pkg/apis/autoscaling/validation, pkg/apis/autoscaling/v2/defaults.go */

/* ---- defaults of v2 ---- */

static const char cpu_load[] = "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{"
                               "\"type\":\"Utilization\",\"averageUtilization\":80}}}]";
static const char up_rules[] = "{\"stabilizationWindowSeconds\":0,\"selectPolicy\":\"Max\","
                               "\"policies\":[{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},"
                               "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}";
static const char down_rules[] =
    "{\"selectPolicy\":\"Max\","
    "\"policies\":[{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}";

static const struct json *constant(struct arena *a, const char *text)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, str_of(text), NULL, &v, &st) < 0)
        assert(!"a default that is no JSON");
    return v;
}

static const struct json *fill_rules(struct arena *a, const struct json *obj, const char *path,
                                     const char *text)
{
    const struct json *given = json_path(obj, path);

    return json_set(a, obj, path, check_union(a, given, constant(a, text)));
}

static const struct json *fill(struct arena *a, const struct json *obj)
{
    if (json_len(json_path(obj, "spec.metrics")) == 0)
        obj = json_set(a, obj, "spec.metrics", constant(a, cpu_load));
    if (!json_path(obj, "spec.behavior"))
        return obj;
    obj = fill_rules(a, obj, "spec.behavior.scaleUp", up_rules);
    return fill_rules(a, obj, "spec.behavior.scaleDown", down_rules);
}

const struct json *autoscaler_defaults(const struct kind_context *c, const struct json *obj)
{
    return fill(c->arena, obj);
}

/* ---- rules ---- */

/* k8s: ValidateAPIVersion: a group must be said, except of what may be of the core group. */
static void check_version(struct status *st, const struct site *ref, bool core)
{
    struct site version = site_in(ref, "apiVersion");
    str text = json_str(version.v);
    ptrdiff_t slash = str_find(text, '/', 0);

    if (slash >= 0 && str_find(text, '/', (size_t)slash + 1) >= 0)
        site_fault(st, &version, CAUSE_INVALID, "unexpected GroupVersion string: %.*s",
                   STR_ARG(text));
    else if (slash <= 0 && !core)
        site_invalid(st, &version, "apiVersion must specify API group");
}

static void check_reference(struct status *st, const struct site *ref)
{
    struct site kind = site_in(ref, "kind"), name = site_in(ref, "name");

    if (!site_required(st, &kind))
        (void)site_name(st, &kind, NAME_PATH);
    if (!site_required(st, &name))
        (void)site_name(st, &name, NAME_PATH);
}

static void check_target(struct status *st, const struct site *target)
{
    static const char *const values[] = { "value", "averageValue" };
    struct site type = site_in(target, "type"), percent = site_in(target, "averageUtilization");
    str is = json_str(type.v);

    if (!is.n)
        site_missing(st, &type, "must specify a metric target type");
    if (!str_is(is, "AverageValue") && !str_is(is, "Utilization") && !str_is(is, "Value"))
        site_invalid(st, &type, "must be either Utilization, Value, or AverageValue");
    for (size_t i = 0; i < GROUP_LEN(values); i++) {
        struct site v = site_in(target, values[i]);
        struct quantity q;

        if (v.v && quantity_parse(json_str(v.v), &q) && q.nanos <= 0)
            site_invalid(st, &v, "must be positive");
    }
    if (json_int(percent.v, 1) < 1)
        site_invalid(st, &percent, "must be greater than 0");
}

static void check_identifier(struct status *st, const struct site *metric)
{
    struct site name = site_in(metric, "name");

    if (!json_str(name.v).n)
        site_missing(st, &name, "must specify a metric name");
    else
        (void)site_name(st, &name, NAME_PATH);
}

/* Of two members a target needs one, and `both` says why not both; the first is named when neither
 * is there, the second when both are. */
static void check_has(struct status *st, const struct site *target, const char *one,
                      const char *other, const char *why, const char *both)
{
    struct site at = site_in(target, one), second = site_in(target, other);

    if (!at.v && !second.v)
        site_missing(st, &at, why);
    if (both && at.v && second.v)
        site_forbidden(st, &second, both);
}

static void check_source(struct status *st, const struct site *source, str type)
{
    struct site target = site_in(source, "target"), name = site_in(source, "name");
    struct site metric = site_in(source, "metric"), object = site_in(source, "describedObject");
    struct site container = site_in(source, "container");

    if (str_is(type, "resource") || str_is(type, "containerResource")) {
        bool one = str_is(type, "containerResource");

        if (!json_str(name.v).n)
            site_missing(st, &name, "must specify a resource name");
        else if (one)
            resource_check_name(st, RESOURCE_CONTAINER, site_path(st->arena, &name),
                                json_str(name.v));
        if (one && !json_str(container.v).n)
            site_missing(st, &container, "must specify a container");
        else if (one)
            (void)site_name(st, &container, NAME_LABEL);
        check_target(st, &target);
        check_has(st, &target, "averageUtilization", "averageValue",
                  "must set either a target raw value or a target utilization",
                  "may not set both a target raw value and a target utilization");
        return;
    }
    if (str_is(type, "object")) {
        check_reference(st, &object);
        check_version(st, &object, true);
    }
    check_identifier(st, &metric);
    check_target(st, &target);
    if (str_is(type, "pods"))
        check_has(st, &target, "averageValue", "averageValue",
                  "must specify a positive target averageValue", NULL);
    else if (str_is(type, "external"))
        check_has(st, &target, "averageValue", "value",
                  "must set either a target value for metric or a per-pod target",
                  "may not set both a target value for metric and a per-pod target");
    else
        check_has(st, &target, "averageValue", "value",
                  "must set either a target value or averageValue", NULL);
}

/* The first source is checked whatever the type says; an unknown type is told twice. */
static void check_metric(struct status *st, const struct site *metric)
{
    static const char *const types[] = { "ContainerResource", "External", "Object", "Pods",
                                         "Resource",          NULL };
    static const struct {
        const char *member, *type;
    } sources[] = { { "object", "Object" },
                    { "external", "External" },
                    { "pods", "Pods" },
                    { "resource", "Resource" },
                    { "containerResource", "ContainerResource" } };
    struct site type = site_in(metric, "type");
    size_t there = 0;
    bool known = false;

    if (!json_str(type.v).n)
        site_missing(st, &type, "must specify a metric source type");
    site_enum(st, &type, types);
    for (size_t i = 0; i < GROUP_LEN(sources); i++) {
        struct site source = site_in(metric, sources[i].member);

        if (source.v && there++ == 0)
            check_source(st, &source, str_of(sources[i].member));
        known = known || str_is(json_str(type.v), sources[i].type);
    }
    if (!known)
        site_enum(st, &type, types);
    for (size_t i = 0; i < GROUP_LEN(sources); i++) {
        struct site source = site_in(metric, sources[i].member);
        bool wanted = str_is(json_str(type.v), sources[i].type);

        if (wanted && !source.v)
            site_missing(st, &source, "must populate information for the given metric source");
        else if (!wanted && source.v && there > 1)
            site_forbidden(st, &source, "must populate the given metric source only");
    }
}

static void check_metrics(struct status *st, const struct site *metrics)
{
    site_each(m, metrics) check_metric(st, &m);
}

static void check_at_most(struct status *st, const struct site *s, int64_t least, int64_t most)
{
    int64_t n = json_int(s->v, least);

    if (n < least)
        site_invalid(st, s,
                     least ? "must be greater than zero" : "must be greater than or equal to zero");
    else if (n > most)
        site_fault(st, s, CAUSE_INVALID, "must be less than or equal to %lld", (long long)most);
}

static void check_rules(struct status *st, const struct site *rules)
{
    static const char *const selects[] = { "Disabled", "Max", "Min", NULL };
    static const char *const types[] = { "Percent", "Pods", NULL };
    struct site window = site_in(rules, "stabilizationWindowSeconds");
    struct site select = site_in(rules, "selectPolicy"), policies = site_in(rules, "policies");
    struct site tolerance = site_in(rules, "tolerance");

    if (!rules->v)
        return;
    check_at_most(st, &window, 0, 3600);
    site_enum(st, &select, selects);
    if (json_len(policies.v) == 0)
        site_missing(st, &policies, "must specify at least one Policy");
    site_each(p, &policies)
    {
        struct site type = site_in(&p, "type"), value = site_in(&p, "value");
        struct site period = site_in(&p, "periodSeconds");

        site_enum(st, &type, types);
        if (json_int(value.v, 0) <= 0)
            site_invalid(st, &value, "must be greater than zero");
        check_at_most(st, &period, 1, 1800);
    }
    site_not_negative_quantity(st, &tolerance);
}

/* Nothing tells that pods are wanted where there are none, but what is outside of them. */
static void check_from_zero(struct status *st, const struct site *metrics)
{
    json_for_each (m, metrics->v)
        if (str_is(json_get_str(m, "type"), "Object") ||
            str_is(json_get_str(m, "type"), "External"))
            return;
    site_forbidden(st, metrics,
                   "must specify at least one Object or External metric to support scaling to zero "
                   "replicas");
}

/* Of autoscalers only: what scales in several clusters does not look at it. */
static void check_scaled(const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site target = site_in(&spec, "scaleTargetRef");

    check_version(st, &target, str_is(site_str(&target, "kind"), "ReplicationController"));
}

void autoscaler_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site least = site_in(&spec, "minReplicas"), most = site_in(&spec, "maxReplicas");
    struct site target = site_in(&spec, "scaleTargetRef"), metrics = site_in(&spec, "metrics");
    struct site behavior = site_in(&spec, "behavior"), up = site_in(&behavior, "scaleUp");
    struct site down = site_in(&behavior, "scaleDown");

    if (str_is(c->subresource, "status")) {
        static const char *const counts[] = { "currentReplicas", "desiredReplicas", NULL };
        struct site status = site_in(&root, "status");

        workload_check_counts(st, &status, counts);
        return;
    }
    if (json_int(least.v, 1) < 1)
        site_invalid(st, &least, "must be greater than or equal to 1");
    if (json_int(most.v, 0) < 1)
        site_invalid(st, &most, "must be greater than 0");
    if (json_int(most.v, 0) < json_int(least.v, 1))
        site_invalid(st, &most, "must be greater than or equal to `minReplicas`");
    check_reference(st, &target);
    if (c->create && str_is(c->kind->group, "autoscaling"))
        check_scaled(obj, st);
    check_metrics(st, &metrics);
    if (least.v && json_int(least.v, 1) == 0)
        check_from_zero(st, &metrics);
    check_rules(st, &up);
    check_rules(st, &down);
}

/* ---- cells ---- */

static str or_unknown(struct arena *a, const struct json *v, const char *unit)
{
    if (!v)
        return STR("<unknown>");
    if (json_is(v, JSON_INT))
        return str_printf(a, "%lld%s", (long long)json_int(v, 0), unit);
    return json_str(v);
}

static str metric_text(struct arena *a, const struct json *want, const struct json *have)
{
    static const char *const members[] = { "resource", "containerResource", "pods", "object",
                                           "external" };
    static const char *const values[] = { "averageUtilization", "averageValue", "value" };

    for (size_t i = 0; i < GROUP_LEN(members); i++) {
        const struct json *source = json_get(want, str_of(members[i]));
        const struct json *target = json_get(source, STR("target"));
        const struct json *now = json_get(json_get(have, str_of(members[i])), STR("current"));

        for (size_t j = 0; source && j < GROUP_LEN(values); j++) {
            const struct json *aim = json_get(target, str_of(values[j]));
            str name = json_get_str(source, "name");

            if (!aim)
                continue;
            return str_printf(a, "%.*s%s%.*s/%.*s%s", STR_ARG(name), name.n ? ": " : "",
                              STR_ARG(or_unknown(a, json_get(now, str_of(values[j])), "%")),
                              STR_ARG(or_unknown(a, aim, "%")),
                              j == 1 && !name.n && i != 2 ? " (avg)" : "");
        }
    }
    return STR("<unknown>");
}

static str metrics_text(struct arena *a, const struct json *obj)
{
    enum { SHOWN = 2 };
    const struct json *want = json_path(obj, "spec.metrics");
    const struct json *have = json_path(obj, "status.currentMetrics");
    scoped_buf b = { .max = 1 << 20 };

    for (size_t i = 0; i < json_len(want) && i < SHOWN; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : "",
                   STR_ARG(metric_text(a, json_at(want, i), json_at(have, i))));
    if (json_len(want) > SHOWN)
        buf_printf(&b, " + %zu more...", json_len(want) - SHOWN);
    return b.n ? str_dup(a, buf_str(&b)) : STR("<none>");
}

static void cells_of(struct arena *a, const struct json *obj, int64_t now_s,
                     struct json_array *cells)
{
    const struct json *least = json_path(obj, "spec.minReplicas");

    cell_str(cells, obj, "metadata.name");
    cell_text(cells,
              str_printf(a, "%.*s/%.*s", STR_ARG(json_get_str(obj, "spec.scaleTargetRef.kind")),
                         STR_ARG(json_get_str(obj, "spec.scaleTargetRef.name"))));
    cell_text(cells, metrics_text(a, obj));
    cell_text(cells, least ? json_text(a, least) : STR("<unset>"));
    cell_int(cells, obj, "spec.maxReplicas");
    cell_int(cells, obj, "status.currentReplicas");
    cell_age(cells, obj, now_s);
}

/* ---- version 1 ---- */

static struct kind kinds_v1[1], kinds_v2[1];

/* Notes that are not what they should be are as if they were not there. */
static const struct json *decode(struct arena *a, const struct kind *to, const struct json *obj,
                                 const struct json *plain)
{
    struct json version = json_of_str(to->api_version);
    const struct json *out = obj;
    struct status st;

    status_init(&st, a);
    if (schema_decode(a, to->schema, json_set(a, obj, "apiVersion", &version), NULL, &out, &st) ==
        0)
        return out;
    status_reset(&st);
    if (schema_decode(a, to->schema, json_set(a, plain, "apiVersion", &version), NULL, &out, &st) <
        0)
        assert(!"an autoscaler that fits one version and not the other");
    return out;
}

static const struct json *to_v2(struct arena *a, const struct json *obj)
{
    const struct json *plain = json_set(a, obj, "metadata.annotations", NULL);

    return fill(a, decode(a, &kinds_v2[0], autoscaler_to_v2(a, obj), autoscaler_to_v2(a, plain)));
}

static const struct json *to_v1(struct arena *a, const struct json *obj)
{
    const struct json *v1 = autoscaler_to_v1(a, obj);

    return decode(a, &kinds_v1[0], v1, v1);
}

/* What it will say once it was stored. */
static const struct json *defaults_v1(const struct kind_context *c, const struct json *obj)
{
    static const char percent[] = "spec.targetCPUUtilizationPercentage";
    const struct json *aim;

    if (json_path(obj, percent))
        return obj;
    aim = json_path(to_v1(c->arena, to_v2(c->arena, obj)), percent);
    return aim ? json_set(c->arena, obj, percent, aim) : obj;
}

static void validate_v1(const struct kind_context *c, const struct json *obj, struct status *st)
{
    autoscaler_validate(c, to_v2(c->arena, obj), st);
}

/* What was not checked once may stay. */
static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    const char *version = "spec.scaleTargetRef.apiVersion", *kind = "spec.scaleTargetRef.kind";

    (void)c;
    if (!str_eq(json_get_str(obj, version), json_get_str(old, version)) ||
        !str_eq(json_get_str(obj, kind), json_get_str(old, kind)))
        check_scaled(obj, st);
}

static void cells_v1(struct arena *a, const struct json *obj, int64_t now_s,
                     struct json_array *cells)
{
    cells_of(a, to_v2(a, obj), now_s, cells);
}

/* ---- the kinds ---- */

static const struct kind_ops ops_v2 = {
    .defaults = autoscaler_defaults,
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = autoscaler_validate,
    .validate_update = validate_update,
    .cells = cells_of,
};
static const struct kind_ops ops_v1 = {
    .defaults = defaults_v1,
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = validate_v1,
    .validate_update = validate_update,
    .to_stored = to_v2,
    .from_stored = to_v1,
    .cells = cells_v1,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Reference", "", 0, "What it scales."),
    COLUMN("Targets", "", 0, "What is measured, of what is aimed at."),
    COLUMN("MinPods", "", 0, "No fewer pods than these."),
    COLUMN("MaxPods", "", 0, "No more pods than these."),
    COLUMN("Replicas", "", 0, "Pods there are."),
    AGE_COLUMN,
};
static const str short_names[] = { STR_INIT("hpa") };
static const str everything[] = { STR_INIT("all") };
static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

#define AUTOSCALER(functions)                                                             \
    {                                                                                     \
        KIND_NAMES("HorizontalPodAutoscaler", "horizontalpodautoscalers",                 \
                   "horizontalpodautoscaler"),                                            \
            LIST(short_names, short_names), LIST(categories, everything),                 \
            .namespaced = true, .verbs = VERBS_ALL, .unconditional_update = true,         \
            LIST(subresources, status_only), LIST(columns, columns), .ops = &(functions), \
    }

static struct kind kinds_v2[1] = { AUTOSCALER(ops_v2) };
static struct kind kinds_v1[1] = { AUTOSCALER(ops_v1) };

const struct group group_autoscaling_v2 = {
    .name = STR_INIT("autoscaling"),
    .version = STR_INIT("v2"),
    .schemas = "io.k8s.api.autoscaling.v2",
    .kinds = kinds_v2,
    .n = GROUP_LEN(kinds_v2),
};

const struct group group_autoscaling_v1 = {
    .name = STR_INIT("autoscaling"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.autoscaling.v1",
    .stored = &group_autoscaling_v2,
    .kinds = kinds_v1,
    .n = GROUP_LEN(kinds_v1),
};
