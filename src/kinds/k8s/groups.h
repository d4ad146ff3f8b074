/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_GROUPS_H
#define KINDS_K8S_GROUPS_H

/* Kubernetes' groups, and those of their strategies that have files of their own. */

#include "kinds/frame/group.h"

extern const struct group group_core, group_apiregistration, group_apps, group_events,
    group_authentication, group_authorization, group_autoscaling_v2, group_autoscaling_v1,
    group_batch, group_certificates, group_networking, group_policy, group_rbac, group_storage,
    group_admissionregistration, group_scheduling, group_coordination, group_node, group_discovery,
    group_resource, group_flowcontrol;

/* The strategies of the core group that have files of their own. */
extern const struct kind_ops namespace_ops, configmap_ops, secret_ops, limitrange_ops,
    resourcequota_ops;

extern const struct kind_ops pod_ops, podtemplate_ops, replicationcontroller_ops, service_ops,
    endpoints_ops, node_ops, persistentvolume_ops, persistentvolumeclaim_ops;
extern const struct column pod_columns[];
extern const struct field_label pod_labels[]; /* what fieldSelector knows */
enum { POD_COLUMNS = 9, POD_FIELD_LABELS = 9 };
void pod_cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells);

/* Where workloads say how many pods they want. */
extern const struct scale workload_scale;

/* Those of apps and batch. */
extern const struct kind_ops deployment_ops, replicaset_ops, daemonset_ops, statefulset_ops,
    controllerrevision_ops, job_ops, cronjob_ops;

extern const struct kind_ops ingress_ops, ingressclass_ops;

/* Events are in two groups; core's form is what is stored. */
extern const struct kind_ops event_core_ops;
extern const struct column event_columns[];
enum { EVENT_COLUMNS = 10 };

#endif
