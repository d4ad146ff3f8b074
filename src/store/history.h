/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H

/*
 * The engine's list of changes, in order: what watches are fed from, and what tells the writer
 * which versions to forget when the floor rises.  One writer appends and takes away the oldest;
 * readers walk it without locks, in an epoch section.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/index.h"

struct event {
    uint64_t rev;
    struct index_row *row; /* NULL: an instance was dropped */
    union {
        struct version *version;
        uint32_t instance;
    };
};

enum { HISTORY_CHUNK = 512 };

struct history_chunk {
    _Atomic(struct history_chunk *) older, newer;
    atomic_size_t n;
    struct event events[HISTORY_CHUNK];
};

struct history {
    _Atomic(struct history_chunk *) newest;
    struct history_chunk *oldest; /* the writer's, as the rest */
    size_t taken;                 /* from the oldest chunk */
    atomic_uint_fast64_t n;
};

void history_init(struct history *h);
void history_release(struct history *h);

void history_add(struct history *h, struct event ev);

/* The oldest event, or NULL; _take forgets it. */
const struct event *history_peek(const struct history *h);
void history_take(struct history *h);
const struct event *history_nth(const struct history *h, size_t n); /* from the oldest, 0 */

/* A reader's way: the events after a revision.  They may be fewer than asked for: check the floor
 * after each. */
struct history_cursor {
    struct history_chunk *chunk;
    size_t at;
};
void history_seek(const struct history *h, struct history_cursor *c, uint64_t after);
const struct event *history_next(struct history_cursor *c); /* NULL at the end */

#endif
