/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MGMT_CLUSTER_H
#define MGMT_CLUSTER_H

/* Clusters as messages: what an instance says of its member, and what Container Management does. */

#include "mgmt/mgmt_internal.h"

/* Either may be NULL, not both. */
struct json cluster_shape(struct arena *a, const struct json *joined, const struct json *known);

/* This API's name of a provider: a word of the enum ClusterProvider. */
str cluster_provider(str name);

/* What a list of clusters is filtered by; works on the message. */
struct cluster_filter;
int cluster_filter_read(struct arena *a, const struct json *request,
                        const struct cluster_filter **out, struct status *st)
    __attribute__((warn_unused_result));
bool cluster_filter_takes(const struct cluster_filter *f, const struct json *message);

/* mgmt/cluster_join.c */
rpc_fn cluster_join, cluster_remove, cluster_update;

#endif
