/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/groups.h"

/* ---- columns; k8s: pkg/printers/internalversion/printers.go ---- */

#define WIDE_COLUMNS                                          \
    COLUMN("Containers", "", 1, "Names of the containers."),  \
        COLUMN("Images", "", 1, "Images of the containers."), \
        COLUMN("Selector", "", 1, "Which pods it is in charge of.")

static const struct column deployment_columns[] = {
    NAME_COLUMN,
    COLUMN("Ready", "", 0, "Pods that are ready, of those wanted."),
    COLUMN("Up-to-date", "", 0, "Pods of the present template."),
    COLUMN("Available", "", 0, "Pods that have been ready for long enough."),
    AGE_COLUMN,
    WIDE_COLUMNS,
};

static const struct column replicaset_columns[] = {
    NAME_COLUMN,
    COUNT_COLUMN("Desired", "Pods wanted."),
    COUNT_COLUMN("Current", "Pods there are."),
    COUNT_COLUMN("Ready", "Pods that are ready."),
    AGE_COLUMN,
    WIDE_COLUMNS,
};

static const struct column daemonset_columns[] = {
    NAME_COLUMN,
    COUNT_COLUMN("Desired", "Nodes that should have a pod."),
    COUNT_COLUMN("Current", "Nodes that have one."),
    COUNT_COLUMN("Ready", "Nodes whose pod is ready."),
    COUNT_COLUMN("Up-to-date", "Nodes with a pod of the present template."),
    COUNT_COLUMN("Available", "Nodes whose pod is available."),
    COLUMN("Node Selector", "", 0, "Which nodes."),
    AGE_COLUMN,
    WIDE_COLUMNS,
};

static const struct column statefulset_columns[] = {
    NAME_COLUMN,
    COLUMN("Ready", "", 0, "Pods that are ready, of those wanted."),
    AGE_COLUMN,
    COLUMN("Containers", "", 1, "Names of the containers."),
    COLUMN("Images", "", 1, "Images of the containers."),
};

static const struct column revision_columns[] = {
    NAME_COLUMN,
    COLUMN("Controller", "", 0, "Whose state it is."),
    COLUMN("Revision", "", 0, "Its number."),
    AGE_COLUMN,
};

/* ---- the kinds, in the order of names ---- */

static const str daemonset_short[] = { STR_INIT("ds") };
static const str deployment_short[] = { STR_INIT("deploy") };
static const str replicaset_short[] = { STR_INIT("rs") };
static const str statefulset_short[] = { STR_INIT("sts") };
static const str everything[] = { STR_INIT("all") };

static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource status_and_scale[] = {
    { .name = STR_INIT("scale"),
      .verbs = VERBS_STATUS,
      .group = STR_INIT("autoscaling"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("Scale"),
      .scale = &workload_scale },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        .kind = STR_INIT("ControllerRevision"),
        .plural = STR_INIT("controllerrevisions"),
        .singular = STR_INIT("controllerrevision"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        LIST(columns, revision_columns),
        .ops = &controllerrevision_ops,
    },
    {
        .kind = STR_INIT("DaemonSet"),
        .plural = STR_INIT("daemonsets"),
        .singular = STR_INIT("daemonset"),
        LIST(short_names, daemonset_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(subresources, status_only),
        LIST(columns, daemonset_columns),
        .ops = &daemonset_ops,
    },
    {
        .kind = STR_INIT("Deployment"),
        .plural = STR_INIT("deployments"),
        .singular = STR_INIT("deployment"),
        LIST(short_names, deployment_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        .status_meta = STATUS_META_LABELS,
        LIST(subresources, status_and_scale),
        LIST(columns, deployment_columns),
        .ops = &deployment_ops,
    },
    {
        .kind = STR_INIT("ReplicaSet"),
        .plural = STR_INIT("replicasets"),
        .singular = STR_INIT("replicaset"),
        LIST(short_names, replicaset_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(subresources, status_and_scale),
        LIST(columns, replicaset_columns),
        .ops = &replicaset_ops,
    },
    {
        .kind = STR_INIT("StatefulSet"),
        .plural = STR_INIT("statefulsets"),
        .singular = STR_INIT("statefulset"),
        LIST(short_names, statefulset_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .name_rule = NAME_LABEL,
        .generation = true,
        .unconditional_update = true,
        LIST(subresources, status_and_scale),
        LIST(columns, statefulset_columns),
        .ops = &statefulset_ops,
    },
};

const struct group group_apps = {
    .name = STR_INIT("apps"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.apps.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
