/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_CAPACITY_H
#define FLEET_CAPACITY_H

/*
 * How much room a member has: the sums over its nodes and pods that a Cluster's status shows
 * (nodeSummary, resourceSummary).  First all nodes, then all pods, in pages as they come; nothing
 * of them is kept but sums.  Pure; one thread.
 */

#include "json/json.h"

struct capacity;

/* models: the Cluster's spec.resourceModels, or NULL; must outlive the room. */
struct capacity *capacity_new(const struct json *models);
void capacity_free(struct capacity *r);

enum { ROOM_NODES_MAX = 20000 }; /* twice what Kubernetes supports; more are not looked at */

void capacity_add_node(struct capacity *r, const struct json *node);
/* Pods that have ended count nothing. */
void capacity_add_pod(struct capacity *r, const struct json *pod);

const struct json *capacity_nodes(const struct capacity *r, struct arena *a); /* nodeSummary */
const struct json *capacity_summary(const struct capacity *r,
                                    struct arena *a); /* resourceSummary */

#endif
