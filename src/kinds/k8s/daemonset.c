/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/*
 * How often the template changed, in a field that only older versions had: v1 has a note instead.
 * k8s: pkg/apis/apps/v1/conversion.go, pkg/registry/apps/daemonset/strategy.go
 */
#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"

static const struct json *with_generation(struct arena *a, const struct json *obj, int64_t n)
{
    const struct json *notes = json_path(obj, "metadata.annotations");
    struct json_object o = json_object_from(a, notes ? notes : &json_empty_object);

    json_put(&o, STR(TEMPLATE_GENERATION), json_of_str(str_printf(a, "%lld", (long long)n)));
    return json_set(a, obj, "metadata.annotations", json_object_done(&o));
}

static int64_t template_generation(const struct json *obj)
{
    const struct json *notes = json_path(obj, "metadata.annotations");
    int64_t n;

    return str_to_i64(json_str(json_get(notes, STR(TEMPLATE_GENERATION))), &n) ? n : 0;
}

static const struct json *daemonset_defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;

    obj = with_generation(a, workload_defaults(c, obj), template_generation(obj));
    if (!str_is(json_get_str(obj, "spec.updateStrategy.type"), "RollingUpdate"))
        return obj;
    obj = workload_put_missing(a, obj, "spec.updateStrategy.rollingUpdate.maxUnavailable",
                               json_of_int(1));
    return workload_put_missing(a, obj, "spec.updateStrategy.rollingUpdate.maxSurge",
                                json_of_int(0));
}

static const struct json *daemonset_create(const struct kind_context *c, const struct json *obj)
{
    return with_generation(c->arena, workload_prepare_create(c, obj), 1);
}

static const struct json *daemonset_update(const struct kind_context *c, const struct json *obj,
                                           const struct json *old)
{
    bool other;

    obj = workload_prepare_update(c, obj, old);
    other = !check_same(json_path(obj, "spec.template"), json_path(old, "spec.template"));
    return with_generation(c->arena, obj, template_generation(old) + other);
}

static void check_daemon_strategy(struct status *st, const struct site *strategy)
{
    static const char *const types[] = { "RollingUpdate", "OnDelete", NULL };
    struct site rolling = site_in(strategy, "rollingUpdate");
    struct site missing = site_in(&rolling, "maxUnavailable"), more = site_in(&rolling, "maxSurge");
    str type = site_str(strategy, "type");

    if (!str_is(type, "RollingUpdate")) {
        if (!str_is(type, "OnDelete"))
            site_unsupported(st, strategy, types);
        return;
    }
    workload_check_part(st, &missing);
    workload_check_part(st, &more);
    workload_check_at_most_all(st, &missing);
    workload_check_at_most_all(st, &more);
    if (!workload_is_zero(&missing) && !workload_is_zero(&more))
        site_invalid(st, &more, "may not be set when maxUnavailable is non-zero");
    if (workload_is_zero(&missing) && workload_is_zero(&more))
        site_missing(st, &missing, "cannot be 0 when maxSurge is 0");
}

static void check_daemons(struct status *st, const struct site *spec)
{
    struct site strategy = site_in(spec, "updateStrategy");

    (void)workload_check_selector(st, spec, "daemonset");
    workload_check_template(st, spec);
    workload_check_endless(st, spec, "DaemonSet");
    workload_check_counts(st, spec, workload_spec_counts);
    check_daemon_strategy(st, &strategy);
}

static void daemonset_validate(const struct kind_context *c, const struct json *obj,
                               struct status *st)
{
    static const char *const counts[] = { "currentNumberScheduled", "numberMisscheduled",
                                          "desiredNumberScheduled", "numberReady",
                                          "observedGeneration",     "updatedNumberScheduled",
                                          "numberAvailable",        "numberUnavailable",
                                          "collisionCount",         NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site status = site_in(&root, "status");

    if (str_is(c->subresource, "status"))
        workload_check_counts(st, &status, counts);
    else if (c->create)
        check_daemons(st, &spec);
}

/* k8s: that the selector may not change is told first */
static void daemonset_stays(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    if (str_is(c->subresource, "status")) {
        workload_check_collisions(st, &root, old);
        return;
    }
    workload_selector_stays(c, obj, old, st);
    check_daemons(st, &spec);
}

static void daemonset_cells(struct arena *a, const struct json *obj, int64_t now_s,
                            struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    cell_int(cells, obj, "status.desiredNumberScheduled");
    cell_int(cells, obj, "status.currentNumberScheduled");
    cell_int(cells, obj, "status.numberReady");
    cell_int(cells, obj, "status.updatedNumberScheduled");
    cell_int(cells, obj, "status.numberAvailable");
    cell_text(cells, cell_labels(a, json_path(obj, "spec.template.spec.nodeSelector")));
    cell_age(cells, obj, now_s);
    podspec_cells(cells, json_path(obj, "spec.template.spec"));
    cell_selector(cells, json_path(obj, "spec.selector"));
}

const struct kind_ops daemonset_ops = {
    .defaults = daemonset_defaults,
    .prepare_create = daemonset_create,
    .prepare_update = daemonset_update,
    .validate = daemonset_validate,
    .validate_update = daemonset_stays,
    .warn = warn_daemonset,
    .cells = daemonset_cells,
};
