/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ROSTER_H
#define CMD_ROSTER_H

/*
 * Which clusters have joined which instances, as root's registry says: read once and kept while the
 * registry stays as it is, so that a search of somebody who sees three clusters does not read the
 * entries of ten thousand instances.  Every change that was acknowledged before the question
 * counts. Any thread; may block.
 */

#include <pthread.h>

#include "client/client.h"
#include "store/store.h"

struct roster_cluster {
    str name;
    bool member; /* else it stands for an instance */
    const str *instances;
    size_t ninstances;
};

struct roster_list;

struct roster {
    struct store *store;
    pthread_mutex_t lock;
    struct roster_list *now; /* guarded by lock */
};

void roster_init(struct roster *r, struct store *store);
void roster_release(struct roster *r);

/* Members, and what has joined an instance; lives as long as the arena.  root: of the registry's
 * instance, with the right to list it. */
int roster_get(struct roster *r, struct client *root, struct arena *a,
               const struct roster_cluster **out, size_t *n, struct status *st)
    __attribute__((warn_unused_result));

#endif
