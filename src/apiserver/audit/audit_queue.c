/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_queue.h"

#include <stdlib.h>

#include "base/banned.h"

enum { FIRST = 64 };

void audit_queue_init(struct audit_queue *q, size_t max, size_t max_bytes)
{
    *q = (struct audit_queue){ .max = max, .max_bytes = max_bytes };
    (void)pthread_mutex_init(&q->mu, NULL);
}

void audit_queue_release(struct audit_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        bytes_unref(q->items[i]);
    free(q->items);
    (void)pthread_mutex_destroy(&q->mu);
}

bool audit_queue_put(struct audit_queue *q, struct bytes *event, size_t *n)
{
    bool room;

    (void)pthread_mutex_lock(&q->mu);
    room = q->held < q->max && q->held_bytes + event->n <= q->max_bytes;
    if (room) {
        if (q->n == q->cap) {
            q->cap = q->cap ? 2 * q->cap : FIRST;
            q->items = mem_realloc(q->items, q->cap * sizeof(*q->items));
        }
        q->items[q->n++] = bytes_ref(event);
        q->held++;
        q->held_bytes += event->n;
    }
    *n = q->n;
    (void)pthread_mutex_unlock(&q->mu);
    return room;
}

bool audit_queue_has_room(struct audit_queue *q)
{
    bool room;

    (void)pthread_mutex_lock(&q->mu);
    room = q->held < q->max && q->held_bytes < q->max_bytes;
    (void)pthread_mutex_unlock(&q->mu);
    return room;
}

size_t audit_queue_waiting(struct audit_queue *q)
{
    size_t n;

    (void)pthread_mutex_lock(&q->mu);
    n = q->n;
    (void)pthread_mutex_unlock(&q->mu);
    return n;
}

size_t audit_queue_take(struct audit_queue *q, struct bytes **out, size_t max, size_t max_bytes)
{
    size_t n = 0, bytes = 0;

    (void)pthread_mutex_lock(&q->mu);
    while (n < q->n && n < max && (!n || bytes + q->items[n]->n <= max_bytes))
        bytes += q->items[n++]->n;
    if (n)
        memcpy(out, q->items, n * sizeof(*out));
    q->n -= n;
    if (q->n)
        memmove(q->items, q->items + n, q->n * sizeof(*out));
    (void)pthread_mutex_unlock(&q->mu);
    return n;
}

void audit_queue_done(struct audit_queue *q, struct bytes **events, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        bytes += events[i]->n;
        bytes_unref(events[i]);
    }
    (void)pthread_mutex_lock(&q->mu);
    q->held -= n;
    q->held_bytes -= bytes;
    (void)pthread_mutex_unlock(&q->mu);
}
