/* SPDX-License-Identifier: Apache-2.0 */
#include "store/history.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"

void history_init(struct history *h)
{
    h->oldest = NULL;
    h->taken = 0;
    atomic_init(&h->newest, NULL);
    atomic_init(&h->n, 0);
}

void history_release(struct history *h)
{
    for (struct history_chunk *c = h->oldest, *newer; c; c = newer) {
        newer = atomic_load(&c->newer);
        free(c);
    }
}

static struct history_chunk *chunk_add(struct history *h, struct history_chunk *last)
{
    struct history_chunk *c = mem_alloc(sizeof(*c));

    atomic_init(&c->older, last);
    atomic_init(&c->newer, NULL);
    atomic_init(&c->n, 0);
    if (last)
        atomic_store_explicit(&last->newer, c, memory_order_release);
    else
        h->oldest = c;
    return c;
}

void history_add(struct history *h, struct event ev)
{
    struct history_chunk *last = atomic_load_explicit(&h->newest, memory_order_relaxed), *c = last;
    size_t n = c ? atomic_load_explicit(&c->n, memory_order_relaxed) : HISTORY_CHUNK;

    if (n == HISTORY_CHUNK) {
        c = chunk_add(h, last);
        n = 0;
    }
    c->events[n] = ev;
    atomic_store_explicit(&c->n, n + 1, memory_order_release);
    if (c != last) /* with its first event, so that a reader never meets an empty one */
        atomic_store_explicit(&h->newest, c, memory_order_release);
    atomic_fetch_add_explicit(&h->n, 1, memory_order_relaxed);
}

const struct event *history_peek(const struct history *h)
{
    struct history_chunk *c = h->oldest;

    if (!c || h->taken == atomic_load_explicit(&c->n, memory_order_relaxed))
        return NULL;
    return &c->events[h->taken];
}

void history_take(struct history *h)
{
    struct history_chunk *c = h->oldest, *newer;

    atomic_fetch_sub_explicit(&h->n, 1, memory_order_relaxed);
    if (++h->taken < HISTORY_CHUNK)
        return;
    newer = atomic_load_explicit(&c->newer, memory_order_relaxed);
    h->oldest = newer;
    h->taken = 0;
    if (newer)
        atomic_store_explicit(&newer->older, NULL, memory_order_release);
    else
        atomic_store_explicit(&h->newest, NULL, memory_order_release);
    epoch_retire(free, c);
}

const struct event *history_nth(const struct history *h, size_t n)
{
    struct history_chunk *c = h->oldest;

    for (n += h->taken; n >= HISTORY_CHUNK; n -= HISTORY_CHUNK)
        c = atomic_load_explicit(&c->newer, memory_order_relaxed);
    return &c->events[n];
}

void history_seek(const struct history *h, struct history_cursor *c, uint64_t after)
{
    struct history_chunk *chunk = atomic_load_explicit(&h->newest, memory_order_acquire), *older;
    size_t low = 0, high;

    c->chunk = chunk;
    c->at = 0;
    if (!chunk)
        return;
    while (chunk->events[0].rev > after &&
           (older = atomic_load_explicit(&chunk->older, memory_order_acquire)))
        chunk = older;
    high = atomic_load_explicit(&chunk->n, memory_order_acquire);
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (chunk->events[mid].rev <= after)
            low = mid + 1;
        else
            high = mid;
    }
    c->chunk = chunk;
    c->at = low;
}

const struct event *history_next(struct history_cursor *c)
{
    if (!c->chunk)
        return NULL;
    if (c->at == HISTORY_CHUNK) {
        struct history_chunk *newer = atomic_load_explicit(&c->chunk->newer, memory_order_acquire);

        if (!newer)
            return NULL;
        c->chunk = newer;
        c->at = 0;
    }
    if (c->at == atomic_load_explicit(&c->chunk->n, memory_order_acquire))
        return NULL;
    return &c->chunk->events[c->at++];
}
