/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_USAGE_H
#define SIM_USAGE_H

/*
 * What runs where: the nodes of all members and what their pods take of them, so that placing one
 * more pod looks at nodes only.  Fed by what informers tell and by what was just placed.
 *
 * Any thread.  A pod costs some hundred bytes.
 */

#include "client/informer.h"

struct usage;

struct usage *usage_new(void);
void usage_free(struct usage *u);

/* The node as it is; NULL: it is gone.  True if that is news. */
bool usage_node(struct usage *u, str instance, str name, const struct json *node);
bool usage_has_node(struct usage *u, str instance, str name);

/* What the world sees of a pod has changed since it was last told. */
enum usage_change {
    USAGE_STATE = 1,  /* its phase, readiness, address, deletion */
    USAGE_LABELS = 2, /* or it is new, or gone */
    USAGE_FREED = 4,  /* there is more room than before */
};
/* A pod as it is; deleted: it is gone (pod may be NULL then).  enum usage_change. */
unsigned usage_pod(struct usage *u, const struct informer_key *k, const struct json *pod,
                   bool deleted);

/*
 * Takes room for the pod on the node that has most of it: true and *node.  Else *why, and the pod
 * waits: usage_waiting() names it.  usage_pod() with the pod as it is undoes it.
 */
bool usage_place(struct usage *u, struct arena *a, const struct informer_key *k,
                 const struct json *pod, str *node, str *why);

/* Pods of the instance that wait for room, the first of them at most max; in the arena. */
struct informer_key *usage_waiting(struct usage *u, struct arena *a, str instance, size_t max,
                                   size_t *n);

#endif
