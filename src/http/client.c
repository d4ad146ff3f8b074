/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/client_conn.h"

enum { STREAMS_DEFAULT = 100, CONNECT_MS_DEFAULT = 10000 };

/* ---- lists ---- */

void client_reqs_push(struct client_reqs *l, struct client_req *r)
{
    r->next = NULL;
    r->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = r;
    l->last = r;
    l->n++;
}

static void client_reqs_unshift(struct client_reqs *l, struct client_req *r)
{
    r->prev = NULL;
    r->next = l->first;
    *(l->first ? &l->first->prev : &l->last) = r;
    l->first = r;
    l->n++;
}

void client_reqs_remove(struct client_reqs *l, struct client_req *r)
{
    *(r->prev ? &r->prev->next : &l->first) = r->next;
    *(r->next ? &r->next->prev : &l->last) = r->prev;
    r->next = r->prev = NULL;
    l->n--;
}

static void req_unlink(struct client_req *r)
{
    client_reqs_remove(r->conn ? &r->conn->reqs : &r->client->waiting, r);
}

/* ---- life of a client ---- */

static str authority(struct arena *a, const struct http_client_options *o)
{
    bool v6 = str_find(o->host, ':', 0) >= 0;

    return str_printf(a, "%s%.*s%s:%.*s", v6 ? "[" : "", STR_ARG(o->host), v6 ? "]" : "",
                      STR_ARG(o->port));
}

struct http_client *http_client_new(const struct http_client_options *o, struct status *st)
{
    SSL_CTX *tls = NULL;
    struct http_client *c;

    if (str_empty(o->host) || str_empty(o->port)) {
        (void)status_set(st, REASON_BAD_REQUEST, "a host and a port are needed");
        return NULL;
    }
    if (!o->tls && o->proxy_host.n) {
        (void)status_set(st, REASON_BAD_REQUEST, "through a proxy only https is spoken");
        return NULL;
    }
    if (o->tls && !(tls = client_tls_new(o, st)))
        return NULL;
    c = mem_zalloc(sizeof(*c));
    c->arena = arena_new();
    c->tls = tls;
    c->o = *o;
    c->o.host = str_dup(c->arena, o->host);
    c->o.port = str_dup(c->arena, o->port);
    c->o.proxy_host = str_dup(c->arena, o->proxy_host);
    c->o.proxy_port = str_dup(c->arena, o->proxy_port);
    c->o.server_name = str_dup(c->arena, str_empty(o->server_name) ? o->host : o->server_name);
    c->o.ca_pem = c->o.cert_pem = STR_NONE; /* in the SSL_CTX now */
    c->o.key_pem = SECRET_NONE;
    if (!c->o.streams)
        c->o.streams = STREAMS_DEFAULT;
    if (!c->o.connect_ms)
        c->o.connect_ms = CONNECT_MS_DEFAULT;
    c->authority = authority(c->arena, &c->o);
    c->http1 = o->http1 || (!o->tls && !o->h2_prior);
    c->held = 1;
    return c;
}

static void end_all(struct http_client *c, const struct status *why)
{
    for (struct client_conn *conn; (conn = c->conns);) {
        struct client_req *r = conn->reqs.first;

        if (r)
            client_req_end(r, why);
        else
            client_conn_close(conn);
    }
    while (c->waiting.first)
        client_req_end(c->waiting.first, why);
}

void http_client_free(struct http_client *c)
{
    scoped_arena a = arena_new();
    struct status st;

    if (!c)
        return;
    assert(!c->freed);
    c->freed = true;
    status_init(&st, a);
    (void)status_set(&st, REASON_UNAVAILABLE, "the client was closed");
    end_all(c, &st);
    client_unhold(c);
}

void client_hold(struct http_client *c)
{
    c->held++;
}

void client_unhold(struct http_client *c)
{
    if (--c->held)
        return;
    for (struct client_req *r; (r = c->spare);) {
        c->spare = r->next;
        free(r);
    }
    SSL_CTX_free(c->tls);
    arena_free(c->arena);
    free(c);
}

/* ---- requests ---- */

static void timed_out(struct loop_timer *t)
{
    struct client_req *r =
        (struct client_req *)((char *)t - __builtin_offsetof(struct client_req, timer));
    scoped_arena a = arena_new();
    struct http_client *c = r->client;
    struct http_call *call = r->call;
    struct status st;

    status_init(&st, a);
    (void)status_set(&st, REASON_TIMEOUT, "no complete reply from %.*s within %lld ms",
                     STR_ARG(c->authority), (long long)call->timeout_ms);
    http_call_cancel(c, call);
    call->end(call, &st);
}

static struct client_req *req_new(struct http_client *c, struct http_call *call)
{
    struct client_req *r = c->spare;

    if (r)
        c->spare = r->next;
    else
        r = mem_alloc(sizeof(*r));
    *r = (struct client_req){ .call = call, .client = c, .seq = ++c->seq, .timer.fn = timed_out };
    call->impl = r;
    return r;
}

static void req_free(struct client_req *r)
{
    struct http_client *c = r->client;

    loop_timer_cancel(c->o.loop, &r->timer);
    buf_release(&r->tail);
    r->call->impl = NULL;
    r->next = c->spare;
    c->spare = r;
}

void http_call_pause(struct http_call *call, bool paused)
{
    struct client_req *r = call->impl;

    if (!r || r->paused == paused)
        return;
    r->paused = paused;
    if (!paused && r->conn && r->conn->state == CONN_OPEN)
        r->conn->proto->resume(r->conn, r);
}

void client_req_end(struct client_req *r, const struct status *why)
{
    struct http_call *call = r->call;

    req_unlink(r);
    req_free(r);
    call->end(call, why);
}

void client_req_again(struct client_req *r, const struct status *why)
{
    struct http_client *c = r->client;

    if (r->tries >= CLIENT_TRIES || r->headed) {
        client_req_end(r, why);
        return;
    }
    req_unlink(r);
    r->conn = NULL;
    r->sent = 0;
    client_reqs_unshift(&c->waiting, r);
}

void http_client_call(struct http_client *c, struct http_call *call)
{
    struct client_req *r = req_new(c, call);

    assert(!c->freed);
    if (call->timeout_ms > 0)
        loop_timer_set(c->o.loop, &r->timer, call->timeout_ms);
    if (call->upgrade) {
        client_conn_open_for(c, r);
        return;
    }
    client_reqs_push(&c->waiting, r);
    client_pump(c);
}

void http_call_send(struct http_call *call, str bytes)
{
    struct client_req *r = call->impl;

    if (!r || !r->switched)
        return;
    if (!r->tail.p)
        buf_init(&r->tail, CLIENT_TAIL_MAX);
    if (r->tail.n + bytes.n > CLIENT_TAIL_MAX) { /* ends, never skips */
        loop_timer_set(r->client->o.loop, &r->timer, 0);
        return;
    }
    buf_str_append(&r->tail, bytes);
    client_conn_flush_later(r->conn);
}

size_t http_call_unsent(const struct http_call *call)
{
    const struct client_req *r = call->impl;

    return r && r->switched ? r->tail.n + r->conn->out.n - r->conn->out_at : 0;
}

void http_call_cancel(struct http_client *c, struct http_call *call)
{
    struct client_req *r = call->impl;
    struct client_conn *conn;

    if (!r)
        return;
    assert(r->client == c);
    conn = r->conn;
    req_unlink(r);
    if (conn && conn->state == CONN_OPEN)
        conn->proto->cancel(conn, r);
    else if (conn)
        client_conn_close(conn); /* nobody else waits for it */
    req_free(r);
    client_pump(c);
}

/* ---- which connection takes which request ---- */

static struct client_conn *conn_with_room(struct http_client *c)
{
    for (struct client_conn *conn = c->conns; conn; conn = conn->next)
        if (conn->state == CONN_OPEN && !conn->draining && conn->reqs.n < c->o.streams &&
            conn->proto->room(conn))
            return conn;
    return NULL;
}

/* HTTP/2 has one connection; HTTP/1.1 one per request, but one at first, to see which it is. */
static bool may_open(const struct http_client *c)
{
    unsigned coming = 0, open = 0;

    for (const struct client_conn *conn = c->conns; conn; conn = conn->next) {
        if (conn->own)
            continue;
        coming += conn->state < CONN_OPEN;
        open += conn->state == CONN_OPEN && !conn->draining;
    }
    if (!c->http1)
        return coming + open == 0;
    return coming < c->waiting.n && coming + open < c->o.streams;
}

void client_pump(struct http_client *c)
{
    while (c->waiting.first && !c->freed) {
        struct client_conn *conn = conn_with_room(c);
        struct client_req *r = c->waiting.first;

        if (!conn)
            break;
        client_reqs_remove(&c->waiting, r);
        r->conn = conn;
        r->tries++;
        client_reqs_push(&conn->reqs, r);
        conn->proto->start(conn, r);
    }
    while (c->waiting.first && !c->freed && may_open(c))
        client_conn_open(c);
}

/* ---- a connection is lost ---- */

static bool idempotent(str method)
{
    return str_is(method, "GET") || str_is(method, "HEAD") || str_is(method, "OPTIONS");
}

/*
 * A server may close a kept connection just when we use it.  What only reads, and has no answer
 * yet, may be sent again on a new one; anything else might have been done.
 */
static bool may_repeat(const struct client_conn *conn, const struct client_req *r)
{
    return conn->used && !r->headed && r->tries < CLIENT_TRIES && idempotent(r->call->method);
}

/* Those that wait now, unless another connection is there for them. */
static void fail_waiting(struct http_client *c, const struct status *why)
{
    uint64_t last = c->seq;

    for (const struct client_conn *conn = c->conns; conn; conn = conn->next)
        if (!conn->draining)
            return;
    while (c->waiting.first && c->waiting.first->seq <= last)
        client_req_end(c->waiting.first, why);
}

void client_conn_fail(struct client_conn *conn, const struct status *why)
{
    struct http_client *c = conn->client;
    bool was_open = conn->state == CONN_OPEN || conn->own; /* for which nobody waits */
    struct client_req *r;

    if (!c)
        return;
    client_hold(c);
    conn->busy++;
    conn->draining = true;
    while ((r = conn->reqs.first)) {
        if (may_repeat(conn, r))
            client_req_again(r, why);
        else
            client_req_end(r, why);
    }
    conn->busy--;
    client_conn_close(conn);
    if (!was_open)
        fail_waiting(c, why);
    client_pump(c);
    client_unhold(c);
}
