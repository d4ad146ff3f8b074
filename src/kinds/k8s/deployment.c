/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/registry/apps/deployment */

static const struct json *deployment_defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;
    struct json quarter = json_of_str(STR("25%"));

    obj = podspec_default_template(a, obj, "spec.template.spec");
    if (!str_is(json_get_str(obj, "spec.strategy.type"), "RollingUpdate"))
        return obj;
    obj = workload_put_missing(a, obj, "spec.strategy.rollingUpdate.maxUnavailable", quarter);
    return workload_put_missing(a, obj, "spec.strategy.rollingUpdate.maxSurge", quarter);
}

/* k8s: annotations count as a change of a Deployment, too: rollbacks are noted there. */
static const struct json *deployment_update(const struct kind_context *c, const struct json *obj,
                                            const struct json *old)
{
    struct json next = json_of_int(json_int(json_path(old, "metadata.generation"), 0) + 1);

    obj = workload_prepare_update(c, obj, old);
    if (c->subresource.n ||
        check_same(json_path(obj, "metadata.annotations"), json_path(old, "metadata.annotations")))
        return obj;
    return json_set(c->arena, obj, "metadata.generation", &next);
}

static void check_deployment_strategy(struct status *st, const struct site *strategy)
{
    static const char *const types[] = { "Recreate", "RollingUpdate", NULL };
    struct site rolling = site_in(strategy, "rollingUpdate");
    struct site missing = site_in(&rolling, "maxUnavailable"), more = site_in(&rolling, "maxSurge");
    str type = site_str(strategy, "type");

    if (str_is(type, "Recreate")) {
        if (rolling.v)
            site_forbidden(st, &rolling, "may not be specified when strategy `type` is 'Recreate'");
    } else if (str_is(type, "RollingUpdate")) {
        workload_check_part(st, &missing);
        workload_check_part(st, &more);
        if (workload_is_zero(&missing) && workload_is_zero(&more))
            site_invalid(st, &missing, "may not be 0 when `maxSurge` is 0");
        workload_check_at_most_all(st, &missing);
    } else {
        site_unsupported(st, strategy, types);
    }
}

static void deployment_validate(const struct kind_context *c, const struct json *obj,
                                struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site strategy = site_in(&spec, "strategy");
    struct site deadline = site_in(&spec, "progressDeadlineSeconds");

    if (str_is(c->subresource, "status")) {
        workload_check_available(st, &root, "updatedReplicas");
        return;
    }
    workload_check_counts(st, &spec, workload_spec_counts);
    workload_check_pods(st, &spec);
    check_deployment_strategy(st, &strategy);
    if (deadline.v &&
        json_int(deadline.v, 0) <= json_int(json_get(spec.v, STR("minReadySeconds")), 0))
        site_invalid(st, &deadline, "must be greater than minReadySeconds");
}

static void deployment_cells(struct arena *a, const struct json *obj, int64_t now_s,
                             struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    cell_text(cells, str_printf(a, "%lld/%lld",
                                (long long)json_int(json_path(obj, "status.readyReplicas"), 0),
                                (long long)json_int(json_path(obj, "spec.replicas"), 0)));
    cell_int(cells, obj, "status.updatedReplicas");
    cell_int(cells, obj, "status.availableReplicas");
    cell_age(cells, obj, now_s);
    podspec_cells(cells, json_path(obj, "spec.template.spec"));
    cell_selector(cells, json_path(obj, "spec.selector"));
}

const struct kind_ops deployment_ops = {
    .defaults = deployment_defaults,
    .prepare_create = workload_prepare_create,
    .prepare_update = deployment_update,
    .validate = deployment_validate,
    .validate_update = workload_selector_stays,
    .warn = warn_deployment,
    .cells = deployment_cells,
};
