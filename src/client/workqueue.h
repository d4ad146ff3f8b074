/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_WORKQUEUE_H
#define CLIENT_WORKQUEUE_H

/*
 * A queue of keys for reconcilers, with client-go's promises:
 *
 *  - a key is in the queue once, however often it is added;
 *  - a key is handled by one worker at a time: added while it is handled, it runs again after;
 *  - keys come in the order in which they were first added;
 *  - a key that failed comes back after a delay that doubles each time, until it is forgotten.
 *
 * Workers:
 *
 *     while (workqueue_take(q, &key)) {
 *         if (reconcile(key) < 0)
 *             workqueue_add_failed(q, key);
 *         else
 *             workqueue_forget(q, key);
 *         workqueue_done(q, key);
 *     }
 *
 * Any thread.  Time is a parameter; with a fake clock use workqueue_poll.
 */

#include "base/clock.h"
#include "base/metric.h"
#include "base/str.h"

struct workqueue;

struct workqueue_options {
    struct clock *clock; /* NULL: the real one */
    int64_t base_ms;     /* first delay of a failed key; 0: 5 ms */
    int64_t cap_ms;      /* no delay is longer; 0: 1000 s */
    /* To these it adds how many keys wait, and how many failed and are not forgotten; or NULL. */
    metric_slot *waiting, *failing;
};

struct workqueue *workqueue_new(const struct workqueue_options *o); /* NULL: all defaults */
void workqueue_free(struct workqueue *q);                           /* no worker is left in it */

/* True: somebody who takes or polls may find it now, or has to wait less long than before. */
bool workqueue_add(struct workqueue *q, str key);
bool workqueue_add_after(struct workqueue *q, str key, int64_t delay_ms); /* the earliest counts */
void workqueue_add_failed(struct workqueue *q, str key);
void workqueue_forget(struct workqueue *q, str key);       /* its next delay is the first again */
unsigned workqueue_failures(struct workqueue *q, str key); /* since it was forgotten */

/*
 * The next key, once there is one; false when the queue is shut down and empty.  The bytes of the
 * key are the queue's, and stay until workqueue_done, which must follow.
 */
bool workqueue_take(struct workqueue *q, str *key);
/* Without waiting: false when there is none now; *wait_ms (may be NULL) is the time until a delayed
 * one, -1 if none is delayed. */
bool workqueue_poll(struct workqueue *q, str *key, int64_t *wait_ms);
void workqueue_done(struct workqueue *q, str key);

size_t workqueue_len(struct workqueue *q); /* waiting, without delayed ones */

/* What waits is still handed out; delayed keys and later adds are dropped. */
void workqueue_shutdown(struct workqueue *q);

#endif
