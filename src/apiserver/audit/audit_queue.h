/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_QUEUE_H
#define APISERVER_AUDIT_AUDIT_QUEUE_H

/*
 * A queue of events from the loops to the one thread that writes or sends them.  Its number of
 * events and their bytes are limited; events that the thread has taken count until it is done with
 * them.  Putting an event holds a lock for a few instructions and never waits.
 */

#include <pthread.h>

#include "base/bytes.h"

struct audit_queue {
    pthread_mutex_t mu;
    struct bytes **items; /* guarded by mu, like all below */
    size_t n, cap;
    size_t held, held_bytes; /* including taken events */
    size_t max, max_bytes;
};

void audit_queue_init(struct audit_queue *q, size_t max, size_t max_bytes);
void audit_queue_release(struct audit_queue *q); /* and the events in it */

/* Takes a reference of its own to the event; *n is the number of events that wait now.  Returns
 * false when there is no room. */
bool audit_queue_put(struct audit_queue *q, struct bytes *event, size_t *n);
bool audit_queue_has_room(struct audit_queue *q);

size_t audit_queue_waiting(struct audit_queue *q); /* events that are not taken */

/*
 * Takes up to max events of up to max_bytes, but at least one if there is any, in their order, into
 * the caller's array.  Returns how many; audit_queue_done() releases them.
 */
size_t audit_queue_take(struct audit_queue *q, struct bytes **out, size_t max, size_t max_bytes);
void audit_queue_done(struct audit_queue *q, struct bytes **events, size_t n);

#endif
