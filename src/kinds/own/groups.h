/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_OWN_GROUPS_H
#define KINDS_OWN_GROUPS_H

/* Our own groups, and those of Karmada, kcp and Clusterpedia. */

#include "kinds/frame/group.h"

extern const struct group group_tenancy, group_fleet, group_iam, group_audit, group_pedia;

extern const struct group group_karmada_cluster, group_karmada_policy, group_karmada_bindings,
    group_karmada_old_bindings, group_karmada_work, group_karmada_apps, group_karmada_config,
    group_karmada_autoscaling, group_karmada_networking, group_karmada_remedy;

/* An Instance as it is stored without a word on its release (kinds/upgrades.c). */
const struct json *tenancy_without_default(struct arena *a, const struct json *instance);
/* And without being suspended. */
const struct json *tenancy_without_suspension(struct arena *a, const struct json *instance);

extern const struct group group_kcp_workload, group_kcp_apiresource;

#endif
