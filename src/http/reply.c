/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/conn.h"

/* ---- headers ---- */

/* What a client has smuggled into a value must not begin a new line of our reply. */
static char harmless(unsigned char c)
{
    return (char)((c < 0x20 && c != '\t') || c == 0x7f ? ' ' : c);
}

/* Eight bytes of which one is below 0x20 or 0x7f, or so it seems: then each is looked at. */
static bool is_odd(uint64_t v)
{
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;
    uint64_t del = v ^ ones * 0x7f;

    return (((v - ones * 0x20) & ~v) | ((del - ones) & ~del)) & tops;
}

static void copy_value(char *to, str from)
{
    size_t i = 0;

    for (uint64_t v; i + sizeof(v) <= from.n; i += sizeof(v)) {
        memcpy(&v, from.p + i, sizeof(v));
        memcpy(to + i, &v, sizeof(v));
        for (size_t k = i; is_odd(v) && k < i + sizeof(v); k++)
            to[k] = harmless((unsigned char)from.p[k]);
    }
    for (; i < from.n; i++)
        to[i] = harmless((unsigned char)from.p[i]);
}

/* Copies of the caller's headers, with room for one behind them and for its value of DATE_SIZE. */
static struct http_header *copy_headers(struct arena *a, const struct http_header *h, size_t n,
                                        char **spare)
{
    struct http_header *to = arena_alloc_raw(a, (n + 1) * sizeof(*to));
    size_t bytes = DATE_SIZE, at = 0;
    char *mem;

    for (size_t i = 0; i < n; i++)
        bytes += h[i].name.n + h[i].value.n;
    mem = arena_alloc_raw(a, bytes);
    for (size_t i = 0; i < n; i++) {
        to[i].name = (str){ mem + at, h[i].name.n };
        memcpy(mem + at, h[i].name.p, h[i].name.n);
        at += h[i].name.n;
        to[i].value = (str){ mem + at, h[i].value.n };
        copy_value(mem + at, h[i].value);
        at += h[i].value.n;
    }
    *spare = mem + at;
    return to;
}

static void set_headers(struct http_stream *s, const struct http_header *h, size_t n)
{
    char *date;
    struct http_header *to = copy_headers(s->req.arena, h, n, &date);

    memcpy(date, shard_date(s->shard).p, DATE_SIZE - 1);
    to[n] = (struct http_header){ STR("date"), { date, DATE_SIZE - 1 } };
    s->reply_headers = to;
    s->reply_nheaders = n + 1;
}

static bool has_no_body(const struct http_stream *s)
{
    return s->status == 204 || s->status == 304;
}

bool reply_is_bare(const struct http_stream *s)
{
    return s->head || has_no_body(s);
}

/* False when nobody is there to hear it: the stream is freed then (unless it is an open end). */
static bool begin(struct http_stream *s, int status, const struct http_header *h, size_t n,
                  enum body_kind kind)
{
    assert(s->phase == STREAM_HANDLING); /* one reply each */
    assert((status >= 200 && status <= 999) || status == 101);
    s->phase = STREAM_REPLYING;
    s->status = status;
    s->kind = kind;
    if (!s->conn)
        return false;
    set_headers(s, h, n);
    s->since_ms = loop_now_ms(s->shard->loop);
    return true;
}

static void send_reply(struct http_stream *s)
{
    struct conn *c = s->conn;

    conn_arm(c, s->since_ms + s->shard->limits.write_ms);
    c->proto->reply(s);
    conn_wake(c);
}

/* ---- the three kinds ---- */

static struct http_stream *stream_of(struct http_request *req)
{
    struct http_stream *s = (struct http_stream *)req; /* its first member */

    /* Without TLS it is a test, which may hold the loop itself. */
    assert(loop_is_current(s->shard->loop) || s->shard->ended || !s->shard->tls);
    return s;
}

void http_reply_trailers(struct http_request *req, const struct http_header *h, size_t n)
{
    struct http_stream *s = stream_of(req);
    char *spare;

    s->trailers = copy_headers(req->arena, h, n, &spare);
    s->ntrailers = n;
}

void http_reply(struct http_request *req, int status, const struct http_header *headers,
                size_t nheaders, const str *pieces, size_t npieces)
{
    struct http_stream *s = stream_of(req);
    str *copy;

    if (!begin(s, status, headers, nheaders, BODY_PIECES)) {
        stream_free(s);
        return;
    }
    copy = arena_alloc_raw(req->arena, npieces * sizeof(*copy));
    s->pieces = (struct body_pieces){ .p = copy };
    for (size_t i = 0; i < npieces; i++) {
        if (pieces[i].n)
            copy[s->pieces.n++] = pieces[i];
        s->pieces.total += pieces[i].n;
    }
    send_reply(s);
}

void http_reply_source(struct http_request *req, int status, const struct http_header *headers,
                       size_t nheaders, struct http_source *src)
{
    struct http_stream *s = stream_of(req);

    if (!begin(s, status, headers, nheaders, BODY_SOURCE)) {
        s->kind = BODY_NONE;
        stream_free(s);
        return;
    }
    s->source = (struct body_source){ .src = src };
    buf_init(&s->source.rest, SHARD_OUT_MAX);
    send_reply(s);
}

static struct http_stream *open_queue(struct http_request *req, int status,
                                      const struct http_header *headers, size_t nheaders,
                                      const struct body_queue *queue)
{
    struct http_stream *s = stream_of(req);
    bool there = begin(s, status, headers, nheaders, BODY_QUEUE);

    s->queue = *queue;
    s->queue.cap = QUEUE_FEW;
    s->queue.ring = s->queue.few;
    shard_count(s->shard, streams_open, 1);
    if (there && !s->shard->stopping) {
        send_reply(s);
        return s;
    }
    if (there)
        s->conn->proto->reset(s); /* too late to begin something without an end */
    stream_detach(s);             /* `closed` comes at the end of the turn */
    return s;
}

struct http_stream *http_reply_stream(struct http_request *req, int status,
                                      const struct http_header *headers, size_t nheaders,
                                      void (*closed)(struct http_stream *s, void *arg), void *arg)
{
    return open_queue(req, status, headers, nheaders,
                      &(struct body_queue){ .closed = closed, .arg = arg });
}

struct http_stream *http_reply_upgrade(struct http_request *req, const struct http_header *headers,
                                       size_t nheaders,
                                       void (*data)(struct http_stream *s, void *arg, str bytes),
                                       void (*closed)(struct http_stream *s, void *arg), void *arg)
{
    assert(req->version == 1);
    return open_queue(req, 101, headers, nheaders,
                      &(struct body_queue){ .data = data, .closed = closed, .arg = arg });
}

void http_stream_pause(struct http_stream *s, bool paused)
{
    struct conn *c = s->conn;

    s->queue.deaf = paused;
    if (!paused && c && c->state != CONN_DEAD) {
        conn_wake(c); /* what came meanwhile is told by the next fill */
        shard_run_again(c);
    }
}

/* ---- open ends ---- */

static void ring_free(struct body_queue *q)
{
    if (q->ring != q->few)
        free(q->ring);
}

static void ring_push(struct body_queue *q, struct bytes *b)
{
    if (q->n == q->cap) {
        size_t cap = q->cap * 2;
        struct bytes **ring = mem_realloc_n(NULL, cap, sizeof(struct bytes *));

        for (size_t i = 0; i < q->n; i++)
            ring[i] = q->ring[(q->head + i) & (q->cap - 1)];
        ring_free(q);
        q->ring = ring;
        q->cap = cap;
        q->head = 0;
    }
    q->ring[(q->head + q->n++) & (q->cap - 1)] = b;
}

/* Cut off in the middle: the client sees an error, and so never takes it for a complete answer. */
static void cut_off(struct http_stream *s)
{
    shard_count(s->shard, rejected_limits, 1);
    s->conn->proto->reset(s);
    stream_detach(s);
}

bool http_stream_push(struct http_stream *s, struct bytes *b)
{
    struct conn *c = s->conn;
    struct body_queue *q = &s->queue;

    assert(s->phase == STREAM_REPLYING && s->kind == BODY_QUEUE && !q->ended);
    if (!c || c->state == CONN_DEAD)
        return false;
    if (q->queued + b->n > s->shard->limits.stream_queue ||
        c->queued + b->n > s->shard->limits.connection_queue) {
        cut_off(s);
        return false;
    }
    if (b->n == 0 || s->head)
        return true;
    ring_push(q, bytes_ref(b));
    c->queued += b->n;
    q->queued += b->n;
    if (q->queued > b->n)
        return true; /* it is known to be ready */
    s->since_ms = loop_now_ms(s->shard->loop);
    conn_arm(c, s->since_ms + s->shard->limits.write_ms);
    c->proto->ready(s);
    conn_wake(c);
    return true;
}

size_t http_stream_queued(const struct http_stream *s)
{
    return s->queue.queued;
}

void http_stream_end(struct http_stream *s)
{
    struct conn *c = s->conn;

    assert(s->phase == STREAM_REPLYING && s->kind == BODY_QUEUE && !s->queue.ended);
    s->queue.ended = true;
    if (!c) {
        stream_free(s); /* it waited for `closed`, which is not to come any more */
        return;
    }
    c->proto->ready(s);
    conn_wake(c);
}

void reply_stop(struct http_stream *s)
{
    struct body_queue *q = &s->queue;

    q->ended = true;
    if (q->closed)
        q->closed(s, q->arg);
    s->conn->proto->ready(s);
    conn_wake(s->conn);
}

void reply_closed(struct http_stream *s)
{
    struct body_queue *q = &s->queue;

    assert(!s->conn && !q->ended);
    q->ended = true;
    if (q->closed)
        q->closed(s, q->arg);
    stream_free(s);
}

/* ---- bodies ---- */

int64_t reply_length(const struct http_stream *s)
{
    if (has_no_body(s) || s->kind != BODY_PIECES || s->ntrailers)
        return -1;
    return (int64_t)s->pieces.total;
}

bool reply_ready(const struct http_stream *s)
{
    return s->kind != BODY_QUEUE || s->queue.queued || s->queue.ended;
}

bool reply_paused(const struct http_stream *s)
{
    return s->kind == BODY_SOURCE && s->source.paused;
}

void reply_resume(struct http_stream *s)
{
    if (s->kind == BODY_SOURCE)
        s->source.paused = false;
}

static void fill_pieces(struct body_pieces *b, struct buf *out, size_t max, bool *eof)
{
    while (b->i < b->n && max > 0) {
        str part = str_sub(b->p[b->i], b->at, max);

        buf_str_append(out, part);
        max -= part.n;
        b->at += part.n;
        if (b->at == b->p[b->i].n) {
            b->i++;
            b->at = 0;
        }
    }
    *eof = b->i == b->n;
}

/* What is left over from the last pull. */
static void fill_rest(struct body_source *b, struct buf *out, size_t max)
{
    str part = str_sub(buf_str(&b->rest), b->at, max);

    buf_str_append(out, part);
    b->at += part.n;
    if (b->at == b->rest.n) {
        buf_release(&b->rest);
        b->at = 0;
    }
}

/* One source of a connection may be asked in each turn, more as long as there is time. */
static bool may_pull(struct http_stream *s)
{
    struct shard *sh = s->shard;

    if (sh->pulled && !shard_has_turn(sh, s->conn->whose))
        return false;
    sh->pulled = true;
    return true;
}

/* The source writes straight into the output; only what is too much is put aside. */
static int fill_source(struct http_stream *s, struct buf *out, size_t max, bool *eof)
{
    struct body_source *b = &s->source;
    size_t end = out->n + max;

    if (b->rest.n)
        fill_rest(b, out, max);
    while (out->n < end && !b->done && !b->rest.n && !b->paused) {
        int rc;

        if (!may_pull(s)) {
            b->paused = true;
            break;
        }
        rc = b->src->pull(b->src, out, end - out->n);
        if (rc < 0 || buf_overflown(out))
            return -1;
        b->done = rc == 0;
        b->paused = rc > 0 && out->n < end;
    }
    if (out->n > end) {
        buf_append(&b->rest, out->p + end, out->n - end);
        out->n = end;
    }
    *eof = b->done && !b->rest.n;
    return 0;
}

static void fill_queue(struct http_stream *s, struct buf *out, size_t max, bool *eof)
{
    struct body_queue *q = &s->queue;
    size_t before = out->n;

    while (q->n && max > 0) {
        struct bytes *b = q->ring[q->head];
        str part = str_sub(bytes_str(b), q->at, max);

        buf_str_append(out, part);
        max -= part.n;
        q->at += part.n;
        if (q->at == b->n) {
            bytes_unref(b);
            q->head = (q->head + 1) & (q->cap - 1);
            q->n--;
            q->at = 0;
        }
    }
    q->queued -= out->n - before;
    s->conn->queued -= out->n - before;
    *eof = q->ended && !q->n;
}

ssize_t reply_fill(struct http_stream *s, struct buf *out, size_t max, bool *eof)
{
    size_t before = out->n;

    *eof = false;
    switch (s->kind) {
    case BODY_NONE:
        *eof = true;
        break;
    case BODY_PIECES:
        fill_pieces(&s->pieces, out, max, eof);
        break;
    case BODY_SOURCE:
        if (fill_source(s, out, max, eof) < 0)
            return -1;
        break;
    case BODY_QUEUE:
        fill_queue(s, out, max, eof);
        break;
    }
    if (buf_overflown(out))
        return -1;
    if (out->n > before || reply_paused(s)) /* then it is not the client that is slow */
        s->since_ms = loop_now_ms(s->shard->loop);
    return (ssize_t)(out->n - before);
}

void reply_release(struct http_stream *s)
{
    if (s->phase != STREAM_REPLYING)
        return;
    if (s->kind == BODY_SOURCE)
        buf_release(&s->source.rest);
    if (s->kind != BODY_QUEUE)
        return;
    for (; s->queue.n; s->queue.n--) {
        bytes_unref(s->queue.ring[s->queue.head]);
        s->queue.head = (s->queue.head + 1) & (s->queue.cap - 1);
    }
    ring_free(&s->queue);
    shard_count(s->shard, streams_open, -1);
}
