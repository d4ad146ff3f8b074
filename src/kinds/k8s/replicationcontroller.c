/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* Their selector is plain labels, and may be left out. */

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
