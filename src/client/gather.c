/* SPDX-License-Identifier: Apache-2.0 */
#include "client/gather.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/banned.h"
#include "base/mem.h"

enum {
    CALM = 20,    /* events in a second, and milliseconds; then they are gathered, … */
    MAX_MS = 500, /* … up to this */
};

void gather_init(struct gather *g)
{
    *g = (struct gather){ 0 };
    g->last = &g->first;
}

void gathered_free(struct gathered *first)
{
    while (first) {
        struct gathered *next = first->next;

        free(first->text);
        free(first);
        first = next;
    }
}

void gather_release(struct gather *g)
{
    gathered_free(gather_take(g));
}

void gather_count(struct gather *g, int64_t now_ms)
{
    pace_count(&g->pace, now_ms);
}

int64_t gather_wait(struct gather *g, int64_t now_ms)
{
    int64_t ms = pace_gather_ms(&g->pace, now_ms, 1, 0, MAX_MS);

    return ms < CALM ? 0 : ms;
}

static struct gathered *event_of(struct gather *g, str key)
{
    struct gathered *e = map_get(&g->events, key);

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

void gather_put(struct gather *g, const struct glance *of, bool gone, str text)
{
    scoped_arena a = arena_new();
    struct gathered *e = event_of(g, str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(of->instance),
                                                STR_ARG(of->namespace), STR_ARG(of->name)));

    e->gone = gone;
    e->text = mem_dup(text.p, text.n);
    e->n = text.n;
    g->bytes += text.n;
}

struct gathered *gather_next(struct gather *g)
{
    struct gathered *e = g->first;

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

struct gathered *gather_take(struct gather *g)
{
    struct gathered *first = g->first;

    g->first = NULL;
    g->last = &g->first;
    g->bytes = 0;
    map_release(&g->events);
    return first;
}
