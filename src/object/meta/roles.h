/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_ROLES_H
#define OBJECT_META_ROLES_H

/* ClusterRoles that collect the rules of others. */

#include "json/json.h"

/*
 * The rules that an aggregated ClusterRole should have: those of the roles that its aggregationRule
 * selects, in their order, each rule once; NULL when it is not aggregated.  `roles` is an array of
 * ClusterRoles, by name; the role itself does not count.
 * k8s: pkg/controller/clusterroleaggregation
 */
const struct json *roles_aggregate(struct arena *a, const struct json *role,
                                   const struct json *roles);

#endif
