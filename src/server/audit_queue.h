/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_QUEUE_H
#define SERVER_AUDIT_QUEUE_H

/*
 * Events on their way from the loops to the one thread that writes or sends them.  Bounded in
 * number and bytes, what was taken and is not done with included.  Putting takes a lock for the
 * time of a few instructions and never waits.
 */

#include <pthread.h>

#include "base/bytes.h"

struct audit_queue {
    pthread_mutex_t mu;
    struct bytes **items; /* guarded by mu, like the rest */
    size_t n, cap;
    size_t held, held_bytes; /* with those that were taken */
    size_t max, max_bytes;
};

void audit_queue_init(struct audit_queue *q, size_t max, size_t max_bytes);
void audit_queue_release(struct audit_queue *q); /* with what is in it */

/* With a reference of its own; *n is how many wait now.  False: there is no room. */
bool audit_queue_put(struct audit_queue *q, struct bytes *event, size_t *n);
bool audit_queue_has_room(struct audit_queue *q);

size_t audit_queue_waiting(struct audit_queue *q); /* that nobody took */

/*
 * Up to max of them and max_bytes (but one at least), in their order, into an array of the
 * caller's; audit_queue_done ends them.
 */
size_t audit_queue_take(struct audit_queue *q, struct bytes **out, size_t max, size_t max_bytes);
void audit_queue_done(struct audit_queue *q, struct bytes **events, size_t n);

#endif
