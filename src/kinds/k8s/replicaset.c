/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

static void replicaset_validate(const struct kind_context *c, const struct json *obj,
                                struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    if (str_is(c->subresource, "status")) {
        workload_check_available(st, &root, "fullyLabeledReplicas");
        return;
    }
    workload_check_counts(st, &spec, workload_spec_counts);
    workload_check_pods(st, &spec);
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
