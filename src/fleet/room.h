/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_ROOM_H
#define FLEET_ROOM_H

/*
 * How much room a member has: the sums over its nodes and pods that a Cluster's status shows
 * (nodeSummary, resourceSummary).  First all nodes, then all pods, in pages as they come; nothing
 * of them is kept but sums.  Pure; one thread.
 */

#include "json/json.h"

struct room;

/* models: the Cluster's spec.resourceModels, or NULL; must outlive the room. */
struct room *room_new(const struct json *models);
void room_free(struct room *r);

enum { ROOM_NODES_MAX = 20000 }; /* twice what Kubernetes supports; more are not looked at */

void room_add_node(struct room *r, const struct json *node);
/* Pods that have ended count nothing. */
void room_add_pod(struct room *r, const struct json *pod);

const struct json *room_nodes(const struct room *r, struct arena *a);   /* nodeSummary */
const struct json *room_summary(const struct room *r, struct arena *a); /* resourceSummary */

#endif
