/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_GROUP_H
#define KINDS_GROUP_H

/* What a file of one group gives to kinds.c; only the files of kinds/ include this. */

#include "rest/kind.h"

struct group {
    str name, version;
    const char *schemas;        /* OpenAPI names are this, a dot and the Kind */
    const struct group *stored; /* where these kinds are stored in another's form */
    struct kind *kinds;         /* kinds_init fills in what follows from the rest */
    size_t n;
};

extern const struct group group_core, group_apiregistration, group_apps, group_events,
    group_authentication, group_authorization, group_autoscaling_v2, group_autoscaling_v1,
    group_batch, group_certificates, group_networking, group_policy, group_rbac, group_storage,
    group_admissionregistration, group_apiextensions, group_scheduling, group_coordination,
    group_node, group_discovery, group_resource, group_flowcontrol, group_tenancy;

extern const struct group group_karmada_cluster, group_karmada_policy, group_karmada_bindings,
    group_karmada_old_bindings, group_karmada_work, group_karmada_apps, group_karmada_config,
    group_karmada_autoscaling, group_karmada_networking, group_karmada_remedy, group_kcp_workload,
    group_kcp_apiresource, group_fleet, group_iam, group_pedia;

#define GROUP_LEN(array)    (sizeof(array) / sizeof(*(array)))
#define LIST(member, array) .member = (array), .n##member = GROUP_LEN(array)
#define KIND_NAMES(one, many, lower) \
    .kind = STR_INIT(one), .plural = STR_INIT(many), .singular = STR_INIT(lower)

/* Columns of strings; most kinds begin with one of these and end with the other. */
#define COLUMN_OF(kind, title, fmt, prio, text)                                           \
    {                                                                                     \
        STR_INIT(title), STR_INIT(kind), STR_INIT(fmt), STR_INIT(text), .priority = prio, \
    }
#define COLUMN(title, fmt, prio, text) COLUMN_OF("string", title, fmt, prio, text)
#define COUNT_COLUMN(title, text)      COLUMN_OF("integer", title, "", 0, text)
#define NAME_COLUMN                    COLUMN("Name", "name", 0, "Name of the object.")
#define AGE_COLUMN                     COLUMN("Age", "", 0, "How long ago it was made.")

/* The strategies of the core group that have files of their own. */
extern const struct kind_ops namespace_ops, configmap_ops, secret_ops, limitrange_ops,
    resourcequota_ops;

extern const struct kind_ops pod_ops, podtemplate_ops, replicationcontroller_ops, service_ops,
    endpoints_ops, node_ops, persistentvolume_ops, persistentvolumeclaim_ops;
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
