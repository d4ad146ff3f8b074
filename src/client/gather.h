/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_GATHER_H
#define CLIENT_GATHER_H

/*
 * The last event of each object, as text, until somebody takes it: most events of a busy cluster
 * are overtaken by the next of the same object before anybody has to read them.  Who hears little
 * need not wait for more.  One thread.
 */

#include "base/map.h"
#include "base/pace.h"
#include "client/glance.h"

struct gathered {
    struct gathered *next;
    bool gone;
    char *text;
    size_t n;
    str key; /* behind the struct */
};

struct gather {
    struct map events;
    struct gathered *first, **last; /* in the order of each object's first event */
    size_t bytes;
    struct pace pace;
};

void gather_init(struct gather *g);
void gather_release(struct gather *g); /* may be used again */

/* One more has come. */
void gather_count(struct gather *g, int64_t now_ms);
/* How long to wait for others, in milliseconds; 0: not at all. */
int64_t gather_wait(struct gather *g, int64_t now_ms);

void gather_put(struct gather *g, const struct glance *of, bool gone, str text);

/* The first of them, or NULL, and all; they are the caller's then. */
struct gathered *gather_next(struct gather *g);
struct gathered *gather_take(struct gather *g);
void gathered_free(struct gathered *first);

#endif
