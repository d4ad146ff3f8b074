/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_FAKE_H
#define CLIENT_FAKE_H

/*
 * A transport whose server is a function of the test.  It is called on the loop, after call() has
 * returned, and answers with fake_reply(), or fake_open() and later fake_send() and fake_end().
 */

#include <stdlib.h>

#include "base/mem.h"
#include "client/client.h"

struct fake {
    struct client_transport base;
    void (*serve)(struct fake *f, struct http_call *call);
    int calls, cancels, open;
    void *arg;
};

struct fake_sent {
    struct fake *fake;
    struct http_call *call; /* NULL: cancelled or ended */
    bool waiting;           /* the loop still has it */
};

static inline void fake_run(void *arg)
{
    struct fake_sent *s = arg;

    s->waiting = false;
    if (s->call)
        s->fake->serve(s->fake, s->call);
    else
        free(s);
}

static inline void fake_over(struct http_call *call)
{
    struct fake_sent *s = call->impl;

    call->impl = NULL;
    s->fake->open--;
    s->call = NULL;
    if (!s->waiting)
        free(s);
}

static inline void fake_call(struct client_transport *t, struct http_call *call)
{
    struct fake *f = (struct fake *)t;
    struct fake_sent *s = mem_zalloc(sizeof(*s));

    *s = (struct fake_sent){ .fake = f, .call = call, .waiting = true };
    call->impl = s;
    f->calls++;
    f->open++;
    loop_call(t->loop, fake_run, s);
}

static inline void fake_cancel(struct client_transport *t, struct http_call *call)
{
    ((struct fake *)t)->cancels++;
    if (call->impl)
        fake_over(call);
}

static inline void fake_free(struct client_transport *t)
{
    (void)t; /* the test's */
}

static inline void fake_init(struct fake *f, struct loop *l)
{
    f->base = (struct client_transport){
        .loop = l, .call = fake_call, .cancel = fake_cancel, .free = fake_free
    };
}

static inline void fake_open(struct http_call *call, int status)
{
    call->head(call, status, NULL, 0);
}

static inline void fake_send(struct http_call *call, const char *text)
{
    call->data(call, str_of(text));
}

static inline void fake_end(struct http_call *call, const struct status *why)
{
    fake_over(call);
    call->end(call, why);
}

static inline void fake_reply(struct http_call *call, int status, const char *body)
{
    fake_open(call, status);
    if (*body)
        fake_send(call, body);
    fake_end(call, NULL);
}

#endif
