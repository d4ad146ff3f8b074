/* SPDX-License-Identifier: Apache-2.0 */
#include "client/coalesce.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/banned.h"
#include "base/mem.h"

enum {
    CALM = 20,    /* events in a second, and milliseconds; then they are gathered, … */
    MAX_MS = 500, /* … up to this */
};

void coalesce_init(struct coalesce *g)
{
    *g = (struct coalesce){ 0 };
    g->last = &g->first;
}

void coalesced_free(struct coalesced *first)
{
    while (first) {
        struct coalesced *next = first->next;

        free(first->text);
        free(first);
        first = next;
    }
}

void coalesce_release(struct coalesce *g)
{
    coalesced_free(coalesce_take(g));
}

void coalesce_count(struct coalesce *g, int64_t now_ms)
{
    pace_count(&g->pace, now_ms);
}

int64_t coalesce_wait(struct coalesce *g, int64_t now_ms)
{
    int64_t ms = pace_gather_ms(&g->pace, now_ms, 1, 0, MAX_MS);

    return ms < CALM ? 0 : ms;
}

static struct coalesced *event_of(struct coalesce *g, str key)
{
    struct coalesced *e = map_get(&g->events, key);

    if (e) {
        g->bytes -= e->n;
        free(e->text);
        return e;
    }
    e = mem_zalloc(sizeof(*e) + key.n);
    memcpy(e + 1, key.p, key.n);
    e->key = (str){ (const char *)(e + 1), key.n };
    (void)map_put(&g->events, e->key, e);
    *g->last = e;
    g->last = &e->next;
    g->bytes += sizeof(*e) + key.n;
    return e;
}

void coalesce_put(struct coalesce *g, const struct object_scan *of, bool gone, str text)
{
    scoped_arena a = arena_new();
    struct coalesced *e = event_of(g, str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(of->instance),
                                                 STR_ARG(of->namespace), STR_ARG(of->name)));

    e->gone = gone;
    e->text = mem_dup(text.p, text.n);
    e->n = text.n;
    g->bytes += text.n;
}

struct coalesced *coalesce_next(struct coalesce *g)
{
    struct coalesced *e = g->first;

    if (!e)
        return NULL;
    (void)map_remove(&g->events, e->key);
    g->bytes -= sizeof(*e) + e->key.n + e->n;
    g->first = e->next;
    if (!g->first)
        g->last = &g->first;
    e->next = NULL;
    return e;
}

struct coalesced *coalesce_take(struct coalesce *g)
{
    struct coalesced *first = g->first;

    g->first = NULL;
    g->last = &g->first;
    g->bytes = 0;
    map_release(&g->events);
    return first;
}
