/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_TESTLIB_H
#define HTTP_TESTLIB_H

/*
 * For tests of the HTTP server: a small application behind it, and connections without sockets or
 * TLS whose other end the test holds in memory (struct wire).  Include after the system headers.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/conn.h"

/* ---- the application ---- */

enum { HELD_MAX = 300 };

static struct app {
    unsigned calls, cancelled, closed, pulled, pulls;
    struct http_request *held[HELD_MAX];
    unsigned nheld;
    struct http_stream *watch;
    char last[512]; /* what /info saw */
} app;

struct app_source {
    struct http_source source;
    size_t left;
    int end; /* returned with the last bytes */
};

static inline int app_pull(struct http_source *self, struct buf *out, size_t want)
{
    struct app_source *s = (struct app_source *)self;
    size_t n = s->left < want ? s->left : want;
    char *p = buf_reserve(out, n);

    if (!p)
        return -1;
    for (size_t i = 0; i < n; i++)
        p[i] = (char)('a' + (s->left - i) % 26);
    out->n += n;
    s->left -= n;
    app.pulled += (unsigned)n;
    return s->left ? 1 : s->end;
}

static inline void app_cancelled(struct http_request *req)
{
    app.cancelled++;
    for (unsigned i = 0; i < app.nheld; i++)
        if (app.held[i] == req)
            app.held[i] = NULL;
    http_reply(req, 500, NULL, 0, NULL, 0); /* goes nowhere, but ends the request */
}

static inline void app_closed(struct http_stream *s, void *arg)
{
    (void)arg;
    app.closed++;
    if (app.watch == s)
        app.watch = NULL;
}

static inline void app_source(struct http_request *req, size_t n, int end)
{
    struct app_source *s = arena_new_of(req->arena, struct app_source);

    *s = (struct app_source){ .source.pull = app_pull, .left = n, .end = end };
    http_reply_source(req, 200, NULL, 0, &s->source);
}

/* Takes so long. */
static inline void app_spin(int64_t ns)
{
    struct timespec from, now;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    do
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < ns);
}

/* Gives a byte now and then, as a list of which few rows match. */
static inline int app_pull_sparse(struct http_source *self, struct buf *out, size_t want)
{
    struct app_source *s = (struct app_source *)self;

    (void)want;
    app_spin(100000);
    app.pulls++;
    if (--s->left % 10 == 0)
        buf_byte(out, 'x');
    return s->left > 0;
}

static inline void app_sparse(struct http_request *req)
{
    struct app_source *s = arena_new_of(req->arena, struct app_source);

    *s = (struct app_source){ .source.pull = app_pull_sparse, .left = 100 };
    http_reply_source(req, 200, NULL, 0, &s->source);
}

static inline void app_info(struct http_request *req)
{
    const struct http_peer *p = req->peer;
    str body;

    (void)snprintf(app.last, sizeof(app.last),
                   "%.*s %.*s ?%.*s v%d host=%.*s cn=%.*s org=%.*s uri=%.*s rejected=%d\n",
                   STR_ARG(req->method), STR_ARG(req->path), STR_ARG(req->query), req->version,
                   STR_ARG(http_request_header(req, "host")), STR_ARG(p ? p->cn : STR("-")),
                   STR_ARG(p && p->norgs ? p->orgs[p->norgs - 1] : STR("-")),
                   STR_ARG(p && p->nuris ? p->uris[0] : STR("-")), req->peer_rejected);
    body = str_dup(req->arena, str_of(app.last));
    http_reply(req, 200, NULL, 0, &body, 1);
}

static inline void app_agent(struct http_request *req)
{
    str agent = http_request_header(req, "user-agent");

    http_reply(req, 200, NULL, 0, &agent, 1);
}

static inline void app_hold(struct http_request *req)
{
    req->cancelled = app_cancelled;
    if (app.nheld < HELD_MAX)
        app.held[app.nheld++] = req;
}

/* Takes its body as it comes, in bites, and answers with trailers at its end. */
static inline bool app_early(const struct http_request *req, void *arg)
{
    (void)arg;
    return str_starts(req->path, STR("/talk"));
}

static inline void app_more(struct http_request *req)
{
    const struct http_header trailer = { STR("grpc-status"), STR("0") };
    bool end;
    str part = http_body_peek(req, &end), done = STR("done");

    http_body_consume(req, end ? part.n : part.n / 2);
    if (!end && !req->body_too_large)
        return;
    http_reply_trailers(req, &trailer, 1);
    http_reply(req, 200, NULL, 0, &done, 1);
}

static inline void app_talk(struct http_request *req)
{
    str done = STR("done");

    if (!req->body_follows) {
        http_reply(req, 200, NULL, 0, &done, 1);
        return;
    }
    req->cancelled = app_cancelled;
    http_body_listen(req, app_more);
}

static inline void app_split(struct http_request *req)
{
    const struct http_header h[] = { { STR("warning"), STR("a\r\nset-cookie: b") } };
    const str body[] = { STR("one "), STR(""), STR("two") };

    http_reply(req, 200, h, 1, body, 3);
}

static inline void app_handle(struct http_request *req, void *arg)
{
    const struct http_header type = { STR("content-type"), STR("text/plain") };
    str hello = STR("hello\n"), large = STR("too large\n");

    (void)arg;
    app.calls++;
    if (req->body_too_large)
        http_reply(req, 413, &type, 1, &large, 1);
    else if (str_is(req->path, "/echo"))
        http_reply(req, 200, &type, 1, &req->body, 1);
    else if (str_is(req->path, "/info") || str_is(req->path, "*"))
        app_info(req);
    else if (str_is(req->path, "/agent"))
        app_agent(req);
    else if (str_is(req->path, "/source"))
        app_source(req, 1 << 20, 0);
    else if (str_is(req->path, "/sparse"))
        app_sparse(req);
    else if (str_is(req->path, "/broken"))
        app_source(req, 1000, -1);
    else if (str_is(req->path, "/hold"))
        app_hold(req);
    else if (str_is(req->path, "/talk"))
        app_talk(req);
    else if (str_is(req->path, "/watch"))
        app.watch = http_reply_stream(req, 200, &type, 1, app_closed, NULL);
    else if (str_is(req->path, "/split"))
        app_split(req);
    else if (str_is(req->path, "/nothing"))
        http_reply(req, 204, NULL, 0, NULL, 0);
    else
        http_reply(req, 200, &type, 1, &hello, 1);
}

static inline bool push_text(struct http_stream *s, const char *text)
{
    struct bytes *b = bytes_new(strlen(text));
    bool ok;

    memcpy(b->p, text, strlen(text));
    ok = http_stream_push(s, b);
    bytes_unref(b);
    return ok;
}

static inline bool push_zeros(struct http_stream *s, size_t n)
{
    struct bytes *b = bytes_new(n);
    bool ok;

    memset(b->p, 0, n);
    ok = http_stream_push(s, b);
    bytes_unref(b);
    return ok;
}

/* ---- the other end ---- */

struct wire {
    struct loop *loop;
    struct shard shard;
    struct conn *conn;
    struct buf in, out;
    size_t in_at, room; /* how much the "socket" takes */
    unsigned sends;
    bool eof, ended, closed;
};

static inline ssize_t wire_recv(struct conn *c, void *p, size_t n)
{
    struct wire *w = c->io_arg;
    size_t left = w->in.n - w->in_at;

    if (left == 0 && w->eof)
        return 0;
    if (left == 0) {
        errno = EAGAIN;
        return -1;
    }
    n = n < left ? n : left;
    memcpy(p, w->in.p + w->in_at, n);
    w->in_at += n;
    return (ssize_t)n;
}

static inline ssize_t wire_send(struct conn *c, const void *p, size_t n)
{
    struct wire *w = c->io_arg;

    n = n < w->room ? n : w->room;
    if (n == 0) {
        errno = EAGAIN;
        return -1;
    }
    buf_append(&w->out, p, n);
    w->room -= n;
    w->sends++;
    return (ssize_t)n;
}

static inline void wire_end(struct conn *c)
{
    ((struct wire *)c->io_arg)->ended = true;
}

static inline void wire_close(struct conn *c)
{
    struct wire *w = c->io_arg;

    w->closed = true;
    w->conn = NULL;
}

static const struct conn_io wire_io = { wire_recv, wire_send, wire_end, wire_close };

static inline void wire_stop(void *arg)
{
    loop_stop(arg);
}

/* Lets the loop have some turns: all that can happen without new input has happened then. */
static inline void wire_turn(struct wire *w)
{
    for (int i = 0; i < 4; i++) {
        loop_call(w->loop, wire_stop, w->loop);
        loop_run(w->loop);
    }
}

static inline void wire_open(struct wire *w, const struct conn_proto *proto,
                             const struct http_limits *limits)
{
    memset(&app, 0, sizeof(app));
    memset(w, 0, sizeof(*w));
    w->loop = loop_new();
    w->room = SIZE_MAX;
    buf_init(&w->in, 64 << 20);
    buf_init(&w->out, 256 << 20);
    shard_init(&w->shard, w->loop, NULL, limits, app_handle, NULL);
    w->conn = conn_open_plain(&w->shard, &wire_io, w, proto);
    wire_turn(w);
}

static inline void wire_release(struct wire *w)
{
    wire_turn(w);
    loop_free(w->loop);
    shard_release(&w->shard);
    buf_release(&w->in);
    buf_release(&w->out);
}

static inline void wire_look(struct wire *w)
{
    if (w->conn) {
        w->conn->readable = true;
        conn_again(w->conn);
    }
    wire_turn(w);
}

static inline void wire_write(struct wire *w, const void *p, size_t n)
{
    buf_append(&w->in, p, n);
    wire_look(w);
}

static inline void wire_eof(struct wire *w)
{
    w->eof = true;
    wire_look(w);
}

/* The client reads: n more bytes fit. */
static inline void wire_room(struct wire *w, size_t n)
{
    w->room = n;
    if (w->conn) {
        w->conn->blocked = false;
        conn_wake(w->conn);
    }
    wire_turn(w);
}

/* As if so much time went by. */
static inline void wire_sleep(struct wire *w, unsigned seconds)
{
    loop_skip_ms(w->loop, (int64_t)seconds * 1000);
    wire_turn(w);
}

static inline bool wire_has(const struct wire *w, const char *text)
{
    return str_contains(buf_str(&w->out), str_of(text));
}

static inline unsigned wire_count(const struct wire *w, const char *text)
{
    str rest = buf_str(&w->out), want = str_of(text);
    unsigned n = 0;

    for (; rest.n; rest = str_from(rest, 1))
        n += str_starts(rest, want);
    return n;
}

/* The counter of the shard: http_stats' fields. */
#define wire_stat(w, name) atomic_load(&(w)->shard.count.name)

#endif
