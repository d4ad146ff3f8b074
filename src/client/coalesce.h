/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_COALESCE_H
#define CLIENT_COALESCE_H

/*
 * The last event of each object, as text, until somebody takes it: most events of a busy cluster
 * are overtaken by the next of the same object before anybody has to read them.  Who hears little
 * need not wait for more.  One thread.
 */

#include "base/map.h"
#include "base/pace.h"
#include "client/object_scan.h"

struct coalesced {
    struct coalesced *next;
    bool gone;
    char *text;
    size_t n;
    str key; /* behind the struct */
};

struct coalesce {
    struct map events;
    struct coalesced *first, **last; /* in the order of each object's first event */
    size_t bytes;
    struct pace pace;
};

void coalesce_init(struct coalesce *g);
void coalesce_release(struct coalesce *g); /* may be used again */

/* One more has come. */
void coalesce_count(struct coalesce *g, int64_t now_ms);
/* How long to wait for others, in milliseconds; 0: not at all. */
int64_t coalesce_wait(struct coalesce *g, int64_t now_ms);

void coalesce_put(struct coalesce *g, const struct object_scan *of, bool gone, str text);

/* The first of them, or NULL, and all; they are the caller's then. */
struct coalesced *coalesce_next(struct coalesce *g);
struct coalesced *coalesce_take(struct coalesce *g);
void coalesced_free(struct coalesced *first);

#endif
