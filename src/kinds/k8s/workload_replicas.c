/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* ---- deployments; k8s: pkg/registry/apps/deployment ---- */

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

/* k8s: where the selector is none, the template is not looked at */
static void check_pods(struct status *st, const struct site *spec)
{
    if (!workload_check_selector(st, spec, "deployment"))
        return;
    workload_check_template(st, spec);
    workload_check_endless(st, spec, "ReplicaSet");
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
    check_pods(st, &spec);
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

/* ---- replica sets ---- */

static void replicaset_validate(const struct kind_context *c, const struct json *obj,
                                struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    if (str_is(c->subresource, "status")) {
        workload_check_available(st, &root, "fullyLabeledReplicas");
        return;
    }
    workload_check_counts(st, &spec, workload_spec_counts);
    check_pods(st, &spec);
}

static void replicaset_cells(struct arena *a, const struct json *obj, int64_t now_s,
                             struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_int(cells, obj, "spec.replicas");
    cell_int(cells, obj, "status.replicas");
    cell_int(cells, obj, "status.readyReplicas");
    cell_age(cells, obj, now_s);
    podspec_cells(cells, json_path(obj, "spec.template.spec"));
    cell_selector(cells, json_path(obj, "spec.selector"));
}

const struct kind_ops replicaset_ops = {
    .defaults = workload_defaults,
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = replicaset_validate,
    .validate_update = workload_selector_stays,
    .warn = warn_replicaset,
    .cells = replicaset_cells,
};

/* ---- replication controllers: their selector is plain labels, and may be left out ---- */

static const struct json *rc_defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;
    const struct json *labels = json_path(obj, "spec.template.metadata.labels");

    obj = workload_defaults(c, obj);
    if (!labels)
        return obj;
    if (json_len(json_path(obj, "spec.selector")) == 0)
        obj = json_set(a, obj, "spec.selector", labels);
    if (json_len(json_path(obj, "metadata.labels")) == 0)
        obj = json_set(a, obj, "metadata.labels", labels);
    return obj;
}

static void rc_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site selector = site_in(&spec, "selector"), template = site_in(&spec, "template");
    struct json_object as = json_object_new(c->arena);

    if (str_is(c->subresource, "status")) {
        workload_check_available(st, &root, "fullyLabeledReplicas");
        return;
    }
    workload_check_counts(st, &spec, workload_spec_counts);
    if (json_len(selector.v) == 0)
        site_missing(st, &selector, "");
    if (!template.v) {
        site_missing(st, &template, "");
        return;
    }
    if (selector.v)
        json_add(&as, STR("matchLabels"), *selector.v);
    workload_check_labels(st, &spec, json_object_done(&as));
    workload_check_template(st, &spec);
    workload_check_endless(st, &spec, "ReplicationController");
}

static void rc_cells(struct arena *a, const struct json *obj, int64_t now_s,
                     struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    cell_int(cells, obj, "spec.replicas");
    cell_int(cells, obj, "status.replicas");
    cell_int(cells, obj, "status.readyReplicas");
    cell_age(cells, obj, now_s);
    podspec_cells(cells, json_path(obj, "spec.template.spec"));
    cell_text(cells, cell_labels(a, json_path(obj, "spec.selector")));
}

const struct kind_ops replicationcontroller_ops = {
    .defaults = rc_defaults,
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = rc_validate,
    .warn = warn_replicationcontroller,
    .cells = rc_cells,
};
