/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/call.h"

#include "apiserver/call/internal.h"
#include "base/banned.h"

struct status *call_status(struct call *c)
{
    struct status *st = arena_new_of(c->arena, struct status);

    status_init(st, c->arena);
    return st;
}

str call_header(const struct call *c, const char *name)
{
    str wanted = str_of(name);

    for (size_t i = 0; i < c->nheaders; i++)
        if (str_eq(c->headers[i].name, wanted))
            return c->headers[i].value;
    return STR_NONE;
}

void call_header_add(struct call *c, str name, str value)
{
    if (c->nout == c->out_cap) { /* few answers have many: warnings */
        struct http_header *all = arena_array(c->arena, struct http_header, 2 * c->nout + 16);

        if (c->nout)
            memcpy(all, c->out, c->nout * sizeof(*all));
        c->out = all;
        c->out_cap = 2 * c->nout + 16;
    }
    c->out[c->nout++] = (struct http_header){ name, value };
}

void call_release(struct call *c)
{
    if (--c->holders == 0)
        arena_free(c->arena);
}

void call_continue(struct call *c)
{
    const struct call_chain *chain = c->server->chain;

    while (c->step < chain->nsteps)
        if (!chain->steps[c->step++].fn(c))
            return;
}

void call_run(struct call *c)
{
    c->began_us = clock_wall_us(c->server->clock);
    call_continue(c);
}

/* The step that had to go home is done again there. */
static void at_home(struct loop_msg *msg)
{
    struct call *c = (struct call *)(void *)((char *)msg - offsetof(struct call, moved));

    if (c->mutating)
        timeout_watch(c);
    c->step--;
    call_continue(c);
}

bool call_go_home(struct call *c)
{
    if (!c->home)
        return false;
    c->loop = c->home;
    c->home = NULL;
    c->moved.fn = at_home;
    loop_post(c->loop, &c->moved);
    return true;
}
