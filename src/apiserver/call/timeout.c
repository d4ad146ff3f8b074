/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls that take too long.  Only writes can: reads answer at once, or watch their deadline
 * themselves.  A write joins a list of its loop and leaves it when it is answered; one timer a loop
 * walks the list now and then, and only while there is something in it.
 */

#include <assert.h>

#include "apiserver/call/internal.h"
#include "base/banned.h"

enum { SWEEP_MS = 250 };

static struct server_loop *loop_of(struct server *s, const struct loop *l)
{
    for (size_t i = 0; i < s->nloops; i++)
        if (s->loops[i].loop == l)
            return &s->loops[i];
    assert(!"a call on a loop that is not the server's");
    return NULL;
}

void timeout_watch(struct call *c)
{
    struct server_loop *l = loop_of(c->server, c->loop);

    c->next = l->open;
    c->prev = &l->open;
    if (c->next)
        c->next->prev = &c->next;
    l->open = c;
    if (!l->sweep.slot)
        loop_timer_set(l->loop, &l->sweep, SWEEP_MS);
}

void timeout_unwatch(struct call *c)
{
    if (!c->prev)
        return;
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->prev = NULL;
}

static void time_is_over(struct call *c)
{
    struct status *st = call_status(c);

    c->timed_out = true;
    (void)status_set(st, REASON_TIMEOUT,
                     "Timeout: request did not complete within the allotted timeout");
    call_fail(c, st);
}

void timeout_sweep(struct loop_timer *t)
{
    struct server_loop *l = (struct server_loop *)(void *)t;
    int64_t now = loop_now_ms(l->loop);

    for (struct call *c = l->open, *next; c; c = next) {
        next = c->next;
        if (c->deadline_ms <= now)
            time_is_over(c);
    }
    if (l->open)
        loop_timer_set(l->loop, t, SWEEP_MS);
}
