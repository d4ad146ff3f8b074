/* SPDX-License-Identifier: Apache-2.0 */

/*
 * gRPC over HTTP/2: a message is a byte (is it compressed?), four bytes of length, and protobuf;
 * the status comes in trailers.  Of streams there is one form: each message of the client's is
 * answered by one of ours, in order, until the client ends (that is how reflection talks).
 */

#include "base/banned.h"
#include "base/encode.h"
#include "rpc/error.h"
#include "rpc/recorded.h"
#include "rpc/rpc.h"

enum { PREFIX = 5, IDLE_MS = 300000, MESSAGE_MS = 60000, USUAL = 1000 };

struct grpc {
    struct loop_timer timer; /* first: a client that does not go on */
    struct rpc *rpc;
    struct mount_call *m;
    const struct rpc_endpoint *endpoint;
    struct rpc_call *running;
    int64_t deadline_ms;
    bool streams, open, over, advancing;
    bool *told; /* set when it is over: with that it may be gone */
};

static const struct http_header content_type = { STR_INIT("content-type"),
                                                 STR_INIT("application/grpc") };

static bool advance(struct grpc *g);

/* ---- answers ---- */

static size_t status_headers(struct arena *a, const struct status *st, struct http_header h[3])
{
    scoped_buf b = { .max = 64 << 10 };
    size_t n = 0;

    h[n++] = (struct http_header){ STR("grpc-status"),
                                   st ? str_printf(a, "%d", status_grpc(st)) : STR("0") };
    if (!st)
        return n;
    h[n++] = (struct http_header){ STR("grpc-message"), error_message(a, st) };
    error_encode(&b, st);
    if (st->causes && !buf_overflown(&b) && b.n < 8192) /* clients take no more of headers */
        h[n++] = (struct http_header){ STR("grpc-status-details-bin"),
                                       base64_encode(a, BASE64_STD, buf_str(&b)) };
    return n;
}

/* gRPC's trailers alone: clients take the status from them, and no text from another code. */
size_t grpc_refusal(struct arena *a, const struct status *st, struct http_header *h)
{
    h[0] = content_type;
    return 1 + status_headers(a, st, h + 1);
}

static void close_call(struct grpc *g)
{
    g->over = true;
    if (g->told)
        *g->told = true;
    g->told = NULL; /* who asked has heard it, and may be gone when it is closed once more */
    loop_timer_cancel(g->m->loop, &g->timer);
    if (g->running)
        rpc_call_abandon(g->running);
    g->running = NULL;
}

/* The end of a call: with a status alone, or behind what was streamed. */
static void end_with(struct grpc *g, const struct status *st)
{
    struct mount_call *m = g->m;
    struct http_header h[MOUNT_REFUSAL];
    size_t n = grpc_refusal(m->arena, st, h);

    if (st)
        m->ops->failed(m, error_http(st), st);
    close_call(g);
    if (g->open) {
        m->ops->trailers(m, h + 1, n - 1);
        m->ops->end(m);
        return;
    }
    m->ops->answer(m, 200, h, n, NULL, 0);
}

static void fail(struct grpc *g, enum reason reason, const char *why)
{
    struct status st;

    status_init(&st, g->m->arena);
    (void)status_set(&st, reason, "%s", why);
    end_with(g, &st);
}

static void put_prefix(struct buf *b)
{
    unsigned char p[PREFIX] = { 0 };
    size_t n = b->n - PREFIX;

    for (int i = 0; i < 4; i++)
        p[1 + i] = (unsigned char)(n >> (24 - 8 * i));
    memcpy(b->p, p, PREFIX);
}

static void release_buf(void *arg)
{
    buf_release(arg);
}

/* The one message of the answer, and its end. */
static void answer(struct grpc *g, const struct json *response, str warning)
{
    struct mount_call *m = g->m;
    struct buf *b = arena_new_of(m->arena, struct buf);
    str *piece = arena_array(m->arena, str, 1);
    struct http_header h[3],
        head[2] = { content_type, { STR("warning"), str_dup(m->arena, warning) } };
    size_t n;

    buf_init(b, RPC_RESPONSE_MAX);
    arena_defer(m->arena, release_buf, b);
    (void)buf_reserve(b, USUAL);
    buf_append(b, "\0\0\0\0\0", PREFIX);
    message_encode(b, g->endpoint->method->output, response);
    if (buf_overflown(b)) {
        fail(g, REASON_TOO_LARGE, "the answer is too large");
        return;
    }
    put_prefix(b);
    *piece = buf_str(b);
    close_call(g);
    n = status_headers(m->arena, NULL, h);
    m->ops->trailers(m, h, n);
    m->ops->answer(m, 200, head, warning.n ? 2 : 1, piece, 1);
}

/* False: it is over. */
static bool push(struct grpc *g, const struct json *response)
{
    scoped_buf b = { .max = RPC_RESPONSE_MAX };
    struct bytes *frame;
    bool pushed;

    buf_append(&b, "\0\0\0\0\0", PREFIX);
    message_encode(&b, g->endpoint->method->output, response);
    if (buf_overflown(&b)) {
        fail(g, REASON_TOO_LARGE, "the answer is too large");
        return false;
    }
    put_prefix(&b);
    frame = bytes_new(b.n);
    memcpy(frame->p, b.p, b.n);
    pushed = g->m->ops->push(g->m, frame);
    if (!pushed)
        close_call(g); /* `gone` follows */
    bytes_unref(frame);
    return pushed;
}

static void done(struct rpc_call *c, const struct json *response, const struct status *failure)
{
    struct grpc *g = c->user;

    g->running = NULL;
    rpc_call_told(c, g->m);
    if (failure) {
        end_with(g, failure);
        return;
    }
    if (!g->streams) {
        answer(g, response, c->ctx.warning);
        return;
    }
    if (!push(g, response) || g->advancing)
        return;
    while (advance(g))
        ;
}

/* ---- messages ---- */

/* 1: one is there; 0: not yet; -1: none can come. */
static int next_message(str in, str *out)
{
    const unsigned char *p = (const unsigned char *)in.p;
    size_t n;

    if (in.n < PREFIX)
        return 0;
    n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] != 0)
        return -1;
    *out = str_sub(in, PREFIX, n);
    return out->n == n;
}

/* True: it has been answered, and another may be. */
static bool start(struct grpc *g, str message)
{
    struct mount_call *m = g->m;
    bool over = false;
    struct rpc_call *c;

    if (g->streams)
        m->deadline_ms = loop_now_ms(m->loop) + MESSAGE_MS;
    c = rpc_call_new(g->endpoint, m, g->deadline_ms);
    if (message_decode(c->ctx.arena, g->endpoint->method->input, message, &c->request, &c->st) <
        0) {
        end_with(g, &c->st);
        rpc_call_drop(c);
        return false;
    }
    m->ops->consume(m, PREFIX + message.n);
    rpc_call_tell(c, m);
    c->user = g;
    c->done = done;
    g->running = c;
    loop_timer_cancel(m->loop, &g->timer);
    g->advancing = true;
    /* cppcheck-suppress autoVariables // taken back below, while g is there */
    g->told = &over;
    rpc_call_start(c, g->rpc->workers);
    if (over)
        return false;
    g->told = NULL;
    g->advancing = false;
    return !g->running;
}

/* Looks at what has come; true: one was answered at once, there may be more. */
static bool advance(struct grpc *g)
{
    struct mount_call *m = g->m;
    str in, message;
    bool end;
    int got;

    if (g->running)
        return false;
    in = m->ops->peek(m, &end);
    got = m->body_too_large ? 0 : next_message(in, &message);
    if (m->body_too_large) {
        fail(g, REASON_TOO_LARGE, "the message is too large: limit is 3145728");
    } else if (got < 0) {
        fail(g, REASON_METHOD_NOT_ALLOWED, "compressed messages are not taken");
    } else if (got > 0 && (g->streams || (end && message.n + PREFIX == in.n))) {
        return start(g, message);
    } else if (end && g->streams && in.n == 0) {
        end_with(g, NULL);
    } else if (end) {
        fail(g, REASON_BAD_REQUEST, "there must be one whole message");
    } else if (g->streams) {
        loop_timer_set(m->loop, &g->timer, IDLE_MS);
    }
    return false;
}

static void more(struct mount_call *m)
{
    struct grpc *g = m->user;

    if (g->over)
        return;
    while (advance(g))
        ;
}

/* What goes nowhere ends the call all the same, and is recorded. */
static void gone(struct mount_call *m)
{
    struct grpc *g = m->user;

    if (g->open)
        close_call(g);
    else if (!g->over && !g->running)
        fail(g, REASON_BAD_REQUEST, "the client went away before its message was whole");
    /* else what it has begun goes on, and is answered when it is known how it ended */
}

static void time_is_over(struct loop_timer *t)
{
    struct grpc *g = (struct grpc *)(void *)t;

    fail(g, REASON_TIMEOUT, "nothing came for too long");
}

/* ---- calls ---- */

/* "100m": a number of at most eight digits, and its unit; 0 if there is none. */
static int64_t timeout_ms(str text)
{
    static const struct {
        char unit;
        int64_t ns;
    } units[] = { { 'H', 3600000000000 }, { 'M', 60000000000 }, { 'S', 1000000000 },
                  { 'm', 1000000 },       { 'u', 1000 },        { 'n', 1 } };
    uint64_t n;

    if (text.n < 2 || text.n > 9 || !str_to_u64(str_sub(text, 0, text.n - 1), &n))
        return 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (units[i].unit == text.p[text.n - 1])
            return (int64_t)n > INT64_MAX / units[i].ns
                       ? INT64_MAX / 2
                       : ((int64_t)n * units[i].ns + 999999) / 1000000;
    return 0;
}

static str header_of(const struct mount_call *m, const char *name)
{
    for (size_t i = 0; i < m->nheaders; i++)
        if (str_is(m->headers[i].name, name))
            return m->headers[i].value;
    return STR_NONE;
}

static bool is_protobuf(str type)
{
    ptrdiff_t end = str_find(type, ';', 0);

    type = str_trim(end < 0 ? type : str_sub(type, 0, (size_t)end));
    return str_is(type, "application/grpc") || str_is(type, "application/grpc+proto");
}

static void refuse_type(struct mount_call *m)
{
    const struct http_header type = { STR("content-type"), STR("text/plain; charset=utf-8") };
    static const str text = STR_INIT("gRPC is served as protobuf only\n");

    m->ops->answer(m, 415, &type, 1, &text, 1);
}

static struct grpc *grpc_new(struct rpc *r, struct mount_call *m)
{
    struct grpc *g = arena_new_of(m->arena, struct grpc);
    int64_t ms = timeout_ms(header_of(m, "grpc-timeout"));

    *g = (struct grpc){ .timer.fn = time_is_over, .rpc = r, .m = m, .deadline_ms = INT64_MAX };
    if (ms > 0)
        g->deadline_ms = loop_now_ms(m->loop) + ms;
    m->user = g;
    g->endpoint = map_get(&r->by_path, m->path);
    g->streams = g->endpoint && g->endpoint->method->client_streaming;
    return g;
}

void grpc_describe(void *arg, str method, str path, struct mount_deed *out)
{
    const struct rpc *r = arg;
    const struct rpc_endpoint *e = map_get(&r->by_path, path);

    (void)method;
    if (e)
        recorded_of_method(e->method, out);
}

void grpc_serve(void *arg, struct mount_call *m)
{
    struct grpc *g;
    struct status st;

    if (!is_protobuf(header_of(m, "content-type")) || !str_is(m->method, "POST")) {
        refuse_type(m);
        return;
    }
    g = grpc_new(arg, m);
    status_init(&st, m->arena);
    if (!g->endpoint) {
        fail(g, REASON_METHOD_NOT_ALLOWED, "there is no such method");
        return;
    }
    if (rpc_call_check(g->endpoint, &m->who, &st) < 0) {
        end_with(g, &st);
        return;
    }
    m->more = more;
    m->gone = gone;
    if (g->streams) {
        g->open = true;
        m->ops->open(m, &content_type, 1);
    } else if (m->body_follows) {
        int64_t at = g->deadline_ms < m->deadline_ms ? g->deadline_ms : m->deadline_ms;

        loop_timer_set(m->loop, &g->timer, at - loop_now_ms(m->loop));
    }
    more(m);
}
