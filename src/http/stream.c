/* SPDX-License-Identifier: Apache-2.0 */
#include "http/stream.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/banned.h"
#include "http/conn.h"

/* ---- lists ---- */

static void list_push(struct http_stream **list, struct http_stream *s)
{
    assert(!s->list);
    s->list = list;
    s->prev = NULL;
    s->next = *list;
    if (s->next)
        s->next->prev = s;
    *list = s;
}

static void list_remove(struct http_stream *s)
{
    if (!s->list)
        return;
    if (s->next)
        s->next->prev = s->prev;
    if (s->prev)
        s->prev->next = s->next;
    else
        *s->list = s->next;
    s->list = NULL;
}

void stream_ready(struct http_stream *s)
{
    struct conn *c = s->conn;

    if (s->h2.prev)
        return;
    s->h2.next = NULL;
    s->h2.prev = c->ready_tail;
    *c->ready_tail = s;
    c->ready_tail = &s->h2.next;
}

void stream_unready(struct http_stream *s)
{
    if (!s->h2.prev)
        return;
    *s->h2.prev = s->h2.next;
    if (s->h2.next)
        s->h2.next->h2.prev = s->h2.prev;
    else
        s->conn->ready_tail = s->h2.prev;
    s->h2.prev = NULL;
}

/* ---- life ---- */

static struct conn_who *conn_who_ref(struct conn_who *w)
{
    w->refs++;
    return w;
}

void conn_who_unref(struct conn_who *w)
{
    if (!w || --w->refs)
        return;
    arena_free(w->arena);
    free(w);
}

struct http_stream *stream_new(struct conn *c)
{
    struct arena *a = arena_new();
    struct http_stream *s = arena_new_of(a, struct http_stream);

    s->req.arena = a;
    s->req.loop = c->shard->loop;
    s->who = conn_who_ref(c->who);
    s->req.peer = c->who->peer;
    s->req.peer_rejected = c->who->rejected;
    s->req.remote = str_of(c->who->remote);
    s->conn = c;
    s->shard = c->shard;
    s->since_ms = loop_now_ms(c->shard->loop);
    buf_init(&s->body, c->shard->limits.body + 1);
    list_push(&c->streams, s);
    c->nstreams++;
    shard_count(s->shard, requests_open, 1);
    return s;
}

/* Takes the stream off its connection, with all that it counts for there. */
static void leave_conn(struct http_stream *s)
{
    struct conn *c = s->conn;

    list_remove(s);
    if (!c)
        return;
    stream_unready(s);
    c->nstreams--;
    c->bodies -= s->body.n;
    if (s->kind == BODY_QUEUE)
        c->queued -= s->queue.queued;
    s->conn = NULL;
    if (c->nstreams || s->shard->ended)
        return;
    c->since_ms = loop_now_ms(s->shard->loop);
    conn_arm(c, c->since_ms + s->shard->limits.idle_ms);
}

void stream_free(struct http_stream *s)
{
    struct shard *sh = s->shard;
    struct conn_who *who = s->who;

    leave_conn(s);
    reply_release(s);
    buf_release(&s->body);
    shard_count(sh, requests_open, -1);
    arena_free(s->req.arena); /* what is deferred to it may still look at the request */
    conn_who_unref(who);
}

void stream_detach(struct http_stream *s)
{
    leave_conn(s);
    loop_wait_cancel(s->shard->loop, &s->turn);
    if (s->phase == STREAM_HANDLING) {
        list_push(&s->shard->orphans, s);
        if (s->req.cancelled)
            s->req.cancelled(&s->req); /* may reply, and so free it */
        return;
    }
    if (s->phase == STREAM_REPLYING && s->kind == BODY_QUEUE && !s->queue.ended) {
        list_push(&s->shard->closing, s);
        shard_close_later(s->shard, s);
        return;
    }
    stream_free(s);
}

/* ---- the request ---- */

void stream_header(struct http_stream *s, str name, str value)
{
    struct arena *a = s->req.arena;
    char *copy;

    s->header_bytes += name.n + value.n;
    if (s->header_bytes > s->shard->limits.headers || s->req.nheaders == STREAM_HEADERS_MAX) {
        s->headers_too_large = true;
        return;
    }
    if (s->req.nheaders == s->headers_cap) {
        size_t cap = s->headers_cap ? s->headers_cap * 2 : 16;
        struct http_header *more = arena_alloc_raw(a, cap * sizeof(*more));

        if (s->req.nheaders)
            memcpy(more, s->headers, s->req.nheaders * sizeof(*more));
        s->headers = more;
        s->headers_cap = cap;
        s->req.headers = more;
    }
    copy = arena_alloc_raw(a, name.n + value.n);
    memcpy(copy, name.p, name.n);
    if (value.n)
        memcpy(copy + name.n, value.p, value.n);
    s->headers[s->req.nheaders++] =
        (struct http_header){ { copy, name.n }, { copy + name.n, value.n } };
}

void stream_target(struct http_stream *s, str target)
{
    ptrdiff_t mark = str_find(target, '?', 0);

    s->req.path = mark < 0 ? target : str_sub(target, 0, (size_t)mark);
    s->req.query = mark < 0 ? STR_NONE : str_from(target, (size_t)mark + 1);
}

void stream_headed(struct http_stream *s)
{
    str length = http_request_header(&s->req, "content-length");
    uint64_t n;

    s->headed = true;
    s->since_ms = loop_now_ms(s->shard->loop);
    s->head = str_is(s->req.method, "HEAD");
    s->expects = str_eq_nocase(http_request_header(&s->req, "expect"), STR("100-continue"));
    if (s->header_bytes > s->shard->limits.headers)
        s->headers_too_large = true;
    if (str_to_u64(length, &n) && n > s->shard->limits.body)
        s->req.body_too_large = true;
}

bool stream_takes_body(const struct http_stream *s)
{
    if (s->phase == STREAM_READING || !s->req.body_follows)
        return s->phase == STREAM_READING;
    return s->phase == STREAM_WAITING || s->phase == STREAM_HANDLING ||
           (s->kind == BODY_QUEUE && !s->queue.ended);
}

void stream_more(struct http_stream *s)
{
    if (s->more && stream_takes_body(s))
        s->more(&s->req);
}

bool stream_body(struct http_stream *s, const void *p, size_t n)
{
    struct conn *c = s->conn;

    if (s->req.body_too_large || !stream_takes_body(s))
        return true;
    if (n > s->shard->limits.body - s->body.n) {
        s->req.body_too_large = true;
        c->bodies -= s->body.n;
        buf_release(&s->body);
        return true;
    }
    if (c->bodies + n > 2 * s->shard->limits.connection_queue)
        return false;
    c->bodies += n;
    buf_append(&s->body, p, n);
    return true;
}

static void handle(struct http_stream *s)
{
    struct shard *sh = s->shard;

    s->phase = STREAM_HANDLING;
    s->req.body = buf_str(&s->body);
    if (s->headers_too_large)
        stream_refuse(s, 431, "the headers of this request are too large\n");
    else if (str_is(s->req.method, "CONNECT"))
        stream_refuse(s, 405, "CONNECT is not served here\n");
    else
        sh->handler(&s->req, sh->arg);
}

/* What has come of the body meanwhile is there from the beginning, or is told of. */
static void have_turn(struct loop_msg *msg)
{
    struct http_stream *s =
        (struct http_stream *)(void *)((char *)msg - offsetof(struct http_stream, turn));
    bool came = s->req.body_follows && (s->body.n || s->received);
    struct shard *sh = s->shard;
    struct conn *c = s->conn;
    int32_t id = s->h2.id;

    handle(s);
    if (!came)
        return;
    /* The handler may have answered and the stream be gone. */
    for (s = sh->ended ? NULL : c->streams; s; s = s->next)
        if (s->h2.id == id) {
            stream_more(s);
            return;
        }
}

/* Whose it is costs something to find out: while all is calm nobody asks. */
static bool must_wait(struct http_stream *s)
{
    struct shard *sh = s->shard;

    if (!sh->whose || s->headers_too_large || loop_is_calm(sh->loop))
        return false;
    s->conn->whose = sh->whose(&s->req, sh->arg);
    return !loop_has_turn(sh->loop, s->conn->whose);
}

void stream_dispatch(struct http_stream *s)
{
    assert(s->phase == STREAM_READING && s->conn);
    shard_count(s->shard, requests, 1);
    if (!must_wait(s)) {
        handle(s);
        return;
    }
    s->phase = STREAM_WAITING;
    s->turn = (struct loop_msg){ .fn = have_turn, .whose = s->conn->whose, .rank = LOOP_BEGINS };
    loop_wait(s->shard->loop, &s->turn);
}

void stream_refuse(struct http_stream *s, int status, const char *text)
{
    const struct http_header type = { STR("content-type"), STR("text/plain; charset=utf-8") };
    str piece = str_of(text);

    s->phase = STREAM_HANDLING;
    http_reply(&s->req, status, &type, 1, &piece, 1);
}

static struct http_stream *stream_of(const struct http_request *req)
{
    return (struct http_stream *)(uintptr_t)req; /* its first member */
}

void http_body_listen(struct http_request *req, void (*more)(struct http_request *req))
{
    stream_of(req)->more = more;
}

str http_body_peek(const struct http_request *req, bool *end)
{
    const struct http_stream *s = stream_of(req);

    *end = s->received;
    return buf_str(&s->body);
}

void http_body_consume(struct http_request *req, size_t n)
{
    struct http_stream *s = stream_of(req);

    assert(n <= s->body.n);
    if (s->conn)
        s->conn->bodies -= n;
    buf_consume(&s->body, n);
}

str http_request_header(const struct http_request *req, const char *name)
{
    str want = str_of(name);

    for (size_t i = 0; i < req->nheaders; i++)
        if (str_eq(req->headers[i].name, want))
            return req->headers[i].value;
    return STR_NONE;
}
