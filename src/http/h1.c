/* SPDX-License-Identifier: Apache-2.0 */

/* HTTP/1.1 on a server's connection: one request after the other, replies in their order. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/conn.h"
#include "http/h1_head.h"

enum {
    LINE_SLOP = 4096, /* of a head beyond limits.headers: separators, the request line's frame */
    CHUNK_LINE_MAX = 256,
    CHUNK_HEAD = 10, /* "0000c0de" CR LF */
};

enum h1_state { H1_HEAD, H1_LENGTH, H1_CHUNK_SIZE, H1_CHUNK, H1_CHUNK_END, H1_TRAILERS, H1_STATES };

struct h1 {
    struct buf in; /* from byte at on not yet read */
    size_t at, scanned;
    enum h1_state state;
    uint64_t left; /* bytes of the body, or of the chunk */
    size_t trailers;
    struct http_stream *cur;
    bool say_continue;
    bool head_sent, chunked, close; /* of the reply */
    bool http10;
    int64_t since_ms; /* the first byte of a head that is not whole yet */
};

static struct h1 *h1_of(const struct conn *c)
{
    return c->impl;
}

static int64_t now_ms(const struct conn *c)
{
    return loop_now_ms(c->shard->loop);
}

static bool is_busy(const struct h1 *h)
{
    return h->cur && h->cur->phase != STREAM_READING;
}

static struct http_stream *begin(struct conn *c)
{
    struct h1 *h = h1_of(c);

    h->cur = stream_new(c);
    h->cur->req.version = 1;
    h->head_sent = false;
    return h->cur;
}

/* Answers what cannot be understood; where the next request would begin is not known either. */
static void fail(struct conn *c, int status, const char *why)
{
    struct h1 *h = h1_of(c);
    struct http_stream *s = h->cur ? h->cur : begin(c);

    h->close = true;
    stream_refuse(s, status, why);
}

/* ---- reading ---- */

static str unread(const struct h1 *h)
{
    return str_from(buf_str(&h->in), h->at);
}

static void whole(struct h1 *h)
{
    h->state = H1_HEAD;
    h->scanned = 0;
    h->cur->received = true;
    stream_dispatch(h->cur);
}

/* More than is allowed: the handler says so, and the rest is not read. */
static void dispatch_too_large(struct h1 *h)
{
    h->close = true;
    stream_dispatch(h->cur);
}

static void add_header(void *arg, str name, str value)
{
    stream_header(arg, name, value);
}

static void begin_body(struct conn *c, const struct h1_head *head)
{
    struct h1 *h = h1_of(c);
    struct http_stream *s = h->cur;

    /* Who asks for another protocol may already speak it: nothing behind this is a request. */
    h->close =
        !head->keep_alive || c->shard->stopping || http_request_header(&s->req, "upgrade").n > 0;
    h->http10 = head->minor == 0;
    h->state = head->chunked ? H1_CHUNK_SIZE : H1_LENGTH;
    h->left = head->length;
    h->trailers = 0;
    if (s->headers_too_large || s->req.body_too_large) {
        dispatch_too_large(h);
    } else if (!head->chunked && !head->length) {
        whole(h);
    } else {
        h->say_continue = s->expects && unread(h).n == 0;
        conn_arm(c, s->since_ms + c->shard->limits.body_ms);
        conn_wake(c);
    }
}

static void read_head_of(struct conn *c, size_t n)
{
    struct h1 *h = h1_of(c);
    struct http_stream *s = begin(c);
    struct h1_head head;
    int refused = h1_head_parse(&head, h->in.p + h->at, n, add_header, s);

    h->at += n;
    h->scanned = 0;
    h->since_ms = 0;
    if (refused) {
        fail(c, refused, head.error);
        return;
    }
    s->req.method = str_dup(s->req.arena, head.method);
    stream_target(s, str_dup(s->req.arena, head.target));
    s->header_bytes += head.target.n;
    stream_headed(s);
    if (str_is(head.method, "CONNECT"))
        fail(c, 405, "CONNECT is not served here\n");
    else if (head.expects_other)
        fail(c, 417, "the only expectation known here is 100-continue\n");
    else
        begin_body(c, &head);
}

/* The steps return false when they need more input. */
static bool step_head(struct conn *c)
{
    struct h1 *h = h1_of(c);
    size_t max = c->shard->limits.headers + LINE_SLOP;
    ptrdiff_t n;

    while (h->scanned == 0 && str_starts(unread(h), STR("\r\n")))
        h->at += 2; /* between requests: old clients send one too many */
    if (unread(h).n == 0) {
        h->since_ms = 0;
        return false;
    }
    n = h1_head_end(unread(h), &h->scanned);
    if (n < 0) {
        fail(c, 400, "a line that does not end in CR LF\n");
    } else if ((size_t)n > max || (n == 0 && unread(h).n > max)) {
        fail(c, 431, "the headers of this request are too large\n");
    } else if (n == 0) {
        if (!h->since_ms) {
            h->since_ms = now_ms(c);
            conn_arm(c, h->since_ms + c->shard->limits.header_ms);
        }
        return false;
    } else {
        read_head_of(c, (size_t)n);
    }
    return true;
}

/* Moves body bytes to the stream; true when all `left` are there (or not wanted any more). */
static bool move_body(struct conn *c)
{
    struct h1 *h = h1_of(c);
    str part = str_sub(unread(h), 0, h->left < SIZE_MAX ? (size_t)h->left : SIZE_MAX);

    if (!stream_body(h->cur, part.p, part.n)) {
        fail(c, 413, "too much is being sent at once\n");
        return true;
    }
    h->at += part.n;
    h->left -= part.n;
    if (h->cur->req.body_too_large) {
        dispatch_too_large(h);
        return true;
    }
    return h->left == 0;
}

static bool step_length(struct conn *c)
{
    struct h1 *h = h1_of(c);

    if (!move_body(c))
        return false;
    if (!is_busy(h))
        whole(h);
    return true;
}

/* Takes a line without its CR LF.  False when it is not whole yet, or was refused. */
static bool take_line(struct conn *c, size_t max, str *line)
{
    struct h1 *h = h1_of(c);
    str in = unread(h);
    ptrdiff_t lf = str_find(in, '\n', 0);

    if (lf == 0 || (lf > 0 && in.p[lf - 1] != '\r')) {
        fail(c, 400, "a line that does not end in CR LF\n");
        return false;
    }
    if ((lf < 0 ? in.n : (size_t)lf) > max) {
        fail(c, 400, "a line of a chunked body is too long\n");
        return false;
    }
    if (lf < 0)
        return false;
    *line = str_sub(in, 0, (size_t)lf - 1);
    h->at += (size_t)lf + 1;
    return true;
}

static bool step_chunk_size(struct conn *c)
{
    struct h1 *h = h1_of(c);
    str line;

    if (!take_line(c, CHUNK_LINE_MAX, &line))
        return false;
    if (!h1_chunk_size(line, &h->left)) {
        fail(c, 400, "malformed chunk size\n");
        return true;
    }
    h->state = h->left ? H1_CHUNK : H1_TRAILERS;
    return true;
}

static bool step_chunk(struct conn *c)
{
    struct h1 *h = h1_of(c);

    if (!move_body(c))
        return false;
    h->state = H1_CHUNK_END;
    return true;
}

static bool step_chunk_end(struct conn *c)
{
    str line;

    if (!take_line(c, 1, &line)) /* nothing but the CR */
        return false;
    if (line.n)
        fail(c, 400, "a chunk that is longer than its size\n");
    h1_of(c)->state = H1_CHUNK_SIZE;
    return true;
}

static bool step_trailers(struct conn *c)
{
    struct h1 *h = h1_of(c);
    str line;

    if (!take_line(c, c->shard->limits.headers, &line))
        return false;
    h->trailers += line.n;
    if (h->trailers > c->shard->limits.headers)
        fail(c, 431, "the trailers of this request are too large\n");
    else if (line.n == 0)
        whole(h);
    return true;
}

static bool (*const steps[H1_STATES])(struct conn *c) = {
    [H1_HEAD] = step_head,   [H1_LENGTH] = step_length,       [H1_CHUNK_SIZE] = step_chunk_size,
    [H1_CHUNK] = step_chunk, [H1_CHUNK_END] = step_chunk_end, [H1_TRAILERS] = step_trailers,
};

/* Reads on until a request has to be answered first, or input is missing. */
static void advance(struct conn *c)
{
    struct h1 *h = h1_of(c);

    while (conn_is_open(c) && !is_busy(h) && steps[h->state](c))
        ;
    buf_consume(&h->in, h->at);
    h->at = 0;
    if (h->in.n == 0)
        buf_release(&h->in);
}

/* The connection is no HTTP any more. */
static bool is_upgraded(const struct h1 *h)
{
    return h->cur && h->cur->phase == STREAM_REPLYING && h->cur->status == 101;
}

/* Hands over what has come, as long as it is wanted. */
static void tell_data(struct conn *c)
{
    struct h1 *h = h1_of(c);

    while (conn_is_open(c) && is_upgraded(h) && !h->cur->queue.deaf && !h->cur->queue.ended &&
           h->in.n) {
        struct buf part = h->in;

        buf_init(&h->in, part.max);
        h->cur->queue.data(h->cur, h->cur->queue.arg, buf_str(&part));
        buf_release(&part);
    }
}

static bool h1_wants_input(const struct conn *c)
{
    const struct h1 *h = h1_of(c);

    if (is_upgraded(h))
        return !h->cur->queue.deaf && h->in.n < SHARD_IN;
    return !is_busy(h) || h->in.n < SHARD_IN;
}

static void h1_input(struct conn *c, const char *p, size_t n)
{
    struct h1 *h = h1_of(c);

    buf_append(&h->in, p, n);
    if (buf_overflown(&h->in))
        conn_limit(c);
    else if (is_upgraded(h))
        tell_data(c);
    else
        advance(c);
}

static void h1_eof(struct conn *c)
{
    struct h1 *h = h1_of(c);

    /* A client may end its side and still wait for the reply, but not for the end of a watch. */
    if (!is_busy(h) || (h->cur->phase == STREAM_REPLYING && h->cur->kind == BODY_QUEUE))
        conn_kill(c);
}

/* ---- writing ---- */

static const struct {
    int status;
    const char *text;
} reasons[] = {
    { 101, "Switching Protocols" },
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 301, "Moved Permanently" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 413, "Request Entity Too Large" },
    { 415, "Unsupported Media Type" },
    { 417, "Expectation Failed" },
    { 422, "Unprocessable Entity" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Unknown";
}

static void write_head(struct h1 *h, const struct http_stream *s, struct buf *out)
{
    int64_t length = reply_length(s);

    h->head_sent = true;
    h->chunked = length < 0 && !reply_is_bare(s) && !h->http10 && s->status != 101;
    if (length < 0 && h->http10)
        h->close = true; /* its end is the body's end */
    buf_lit(out, "HTTP/1.1 ");
    buf_u64(out, (uint64_t)s->status);
    buf_byte(out, ' ');
    buf_str_append(out, str_of(reason_of(s->status)));
    for (size_t i = 0; i < s->reply_nheaders; i++) {
        buf_lit(out, "\r\n");
        buf_str_append(out, s->reply_headers[i].name);
        buf_lit(out, ": ");
        buf_str_append(out, s->reply_headers[i].value);
    }
    if (length >= 0) {
        buf_lit(out, "\r\ncontent-length: ");
        buf_u64(out, (uint64_t)length);
    }
    if (h->chunked)
        buf_lit(out, "\r\ntransfer-encoding: chunked");
    if (s->status == 101)
        buf_lit(out, "\r\nconnection: Upgrade");
    else if (h->close)
        buf_lit(out, "\r\nconnection: close");
    else if (h->http10)
        buf_lit(out, "\r\nconnection: keep-alive");
    buf_lit(out, "\r\n\r\n");
}

static void finish(struct conn *c)
{
    struct h1 *h = h1_of(c);
    struct http_stream *s = h->cur;

    h->cur = NULL;
    stream_detach(s);
    if (h->close || c->shard->stopping) {
        conn_end(c);
        return;
    }
    advance(c);
    if (!h->cur && c->eof)
        conn_end(c);
    if (c->readable)
        shard_run_again(c);
}

/* As reply_fill, with the framing of chunks. */
static ssize_t fill_chunk(struct http_stream *s, struct buf *out, size_t max, bool *eof)
{
    size_t at = out->n;
    char size[CHUNK_HEAD + 1];
    ssize_t n;

    if (!buf_reserve(out, CHUNK_HEAD))
        return -1;
    out->n += CHUNK_HEAD;
    n = reply_fill(s, out, max, eof);
    if (n <= 0) {
        out->n = at;
    } else {
        (void)snprintf(size, sizeof(size), "%08zx\r\n", (size_t)n);
        memcpy(out->p + at, size, CHUNK_HEAD);
        buf_lit(out, "\r\n");
    }
    if (n >= 0 && *eof)
        buf_lit(out, "0\r\n\r\n");
    return n;
}

/* One step of a reply; false when it has to wait. */
static bool fill_some(struct conn *c, struct buf *out, size_t max)
{
    struct h1 *h = h1_of(c);
    struct http_stream *s = h->cur;
    size_t start = out->n;
    bool eof = reply_is_bare(s);
    ssize_t n = 0;

    if (!h->head_sent)
        write_head(h, s, out);
    if (!eof)
        n = (h->chunked ? fill_chunk : reply_fill)(s, out, max, &eof);
    if (n < 0) {
        out->n = start;
        conn_kill(c);
        return false;
    }
    if (eof)
        finish(c);
    return eof || n > 0;
}

static bool h1_fill(struct conn *c, struct buf *out, size_t max)
{
    struct h1 *h = h1_of(c);
    bool moved = true;

    if (h->say_continue)
        buf_lit(out, "HTTP/1.1 100 Continue\r\n\r\n");
    h->say_continue = false;
    tell_data(c);
    if (h->cur)
        reply_resume(h->cur);
    while (moved && out->n < max && h->cur && h->cur->phase == STREAM_REPLYING)
        moved = fill_some(c, out, max - out->n);
    return h->cur && h->cur->phase == STREAM_REPLYING && (moved || reply_paused(h->cur));
}

static void h1_reply(struct http_stream *s)
{
    struct conn *c = s->conn;

    if (c->eof && s->kind == BODY_QUEUE)
        conn_kill(c);
}

static void h1_ready(struct http_stream *s)
{
    (void)s; /* the next fill will see it */
}

static void h1_reset(struct http_stream *s)
{
    h1_of(s->conn)->cur = NULL;
    conn_kill(s->conn);
}

/* ---- the connection ---- */

static void h1_open(struct conn *c)
{
    struct h1 *h = mem_zalloc(sizeof(*h));

    buf_init(&h->in, c->shard->limits.headers + LINE_SLOP + 4 * SHARD_IN);
    c->impl = h;
}

static void h1_close(struct conn *c)
{
    buf_release(&h1_of(c)->in);
    free(c->impl);
}

static int64_t h1_check(struct conn *c, int64_t now)
{
    struct h1 *h = h1_of(c);
    const struct http_limits *limits = &c->shard->limits;
    int64_t at;

    if (is_busy(h))
        return 0; /* what waits for a slow reader is the connection's business */
    at = h->cur        ? h->cur->since_ms + limits->body_ms
         : h->since_ms ? h->since_ms + limits->header_ms
                       : c->since_ms + limits->idle_ms;
    if (now < at)
        return at;
    if (h->cur || h->since_ms) {
        shard_count(c->shard, rejected_limits, 1);
        fail(c, 408, "the request took too long to arrive\n");
    } else {
        conn_end(c);
    }
    return 0;
}

static void h1_drain(struct conn *c)
{
    struct h1 *h = h1_of(c);

    h->close = true;
    if (!h->cur)
        conn_end(c);
    else if (h->cur->phase == STREAM_REPLYING && h->cur->kind == BODY_QUEUE)
        reply_stop(h->cur);
}

const struct conn_proto h1_proto = {
    .open = h1_open,
    .close = h1_close,
    .wants_input = h1_wants_input,
    .input = h1_input,
    .eof = h1_eof,
    .fill = h1_fill,
    .reply = h1_reply,
    .ready = h1_ready,
    .reset = h1_reset,
    .check = h1_check,
    .drain = h1_drain,
};
