/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/listener.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/server/http_entry.h"
#include "base/banned.h"
#include "base/mem.h"

struct listener {
    struct server *server;
    struct http_server *http;
    char *instance;
    enum listener_mode mode; /* loops[0] */
    atomic_llong delay_ms;
};

/* A request that waits; in its arena. */
struct waiting {
    struct loop_timer timer; /* first */
    struct http_request *req;
    const struct listener *listener;
};

static void go_on(struct loop_timer *t)
{
    struct waiting *w = (struct waiting *)(void *)t;

    http_entry_serve_instance(w->req, w->listener->server, str_of(w->listener->instance));
}

/* Nobody waits for the answer any more. */
static void give_up(struct http_request *req)
{
    struct waiting *w = req->user;

    loop_timer_cancel(req->loop, &w->timer);
    http_reply(req, 503, NULL, 0, NULL, 0);
}

static void handle(struct http_request *req, void *arg)
{
    const struct listener *l = arg;
    int64_t delay = atomic_load_explicit(&l->delay_ms, memory_order_relaxed);
    struct waiting *w;

    if (delay <= 0) {
        http_entry_serve_instance(req, l->server, str_of(l->instance));
        return;
    }
    w = arena_new_of(req->arena, struct waiting);
    *w = (struct waiting){ .timer.fn = go_on, .req = req, .listener = l };
    req->user = w;
    req->cancelled = give_up;
    loop_timer_set(req->loop, &w->timer, delay);
}

struct listener *listener_new(const struct listener_options *o, struct status *st)
{
    struct listener *l = mem_zalloc(sizeof(*l));
    struct http_server_options http = { .listen = o->listen,
                                        .loops = o->loops,
                                        .nloops = o->nloops,
                                        .limits = o->http,
                                        .cert_pem = o->cert_pem,
                                        .key_pem = o->key_pem,
                                        .client_ca_pem = o->client_ca_pem,
                                        .handler = handle,
                                        .arg = l };

    l->server = o->server;
    l->instance = mem_zalloc(o->instance.n + 1);
    memcpy(l->instance, o->instance.p, o->instance.n);
    l->http = http_server_new(&http, st);
    if (l->http)
        return l;
    listener_free(l);
    return NULL;
}

void listener_free(struct listener *l)
{
    if (!l)
        return;
    http_server_free(l->http);
    free(l->instance);
    free(l);
}

str listener_address(const struct listener *l)
{
    return http_server_address(l->http);
}

int listener_set(struct listener *l, enum listener_mode mode, int64_t delay_ms, struct status *st)
{
    if (mode != LISTENER_DOWN && http_server_reopen(l->http, st) < 0)
        return -1;
    if (mode == LISTENER_DOWN)
        http_server_close(l->http);
    if ((mode == LISTENER_HUNG) != (l->mode == LISTENER_HUNG))
        http_server_freeze(l->http, mode == LISTENER_HUNG);
    atomic_store(&l->delay_ms, mode == LISTENER_SLOW ? delay_ms : 0);
    l->mode = mode;
    return 0;
}
