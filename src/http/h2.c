/* SPDX-License-Identifier: Apache-2.0 */

/*
 * HTTP/2 on a server's connection: nghttp2 speaks it, this file ties its streams to ours.
 *
 * The bytes of open ends, of which a connection may have hundreds, go out as DATA frames that are
 * made here: for an event that every watch gets, nghttp2 would cost as much as TLS.  It sends the
 * headers of such a stream and its end.
 */

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/conn.h"
#include "http/h2_credit.h"
#include "http/h2_guard.h"

enum {
    /*
     * How much of a body a client may send unasked: enough for most, little enough for 250 streams
     * at once.  Where there are few, a larger window lets a far client send 3 MiB in a few round
     * trips.
     */
    STREAM_WINDOW = 32 << 10,
    WIDE_WINDOW = 1 << 20,
    FEW_STREAMS = 4,
    CONN_WINDOW = 1 << 20,
    DIRECT_MAX = 16 << 10, /* bytes of a frame that every client takes */
};

struct h2 {
    nghttp2_session *session;
    struct h2_guard guard;
    struct h2_credit credit;
    uint64_t owed;       /* of the connection's window, for what was sent without nghttp2 */
    unsigned own_resets; /* on their way out, and not the client's fault */
    /* While nghttp2 packs a DATA frame: */
    struct buf *out;
    size_t out_max, frame_at;
    bool full;
    bool ending;     /* GOAWAY is said, */
    int32_t last_id; /* and that this is the last that is answered */
    bool held;       /* some uploads wait for us to give them a window */
    bool waits;      /* some replies wait: see h2_part.waits */
    bool paused;     /* and of these some only for the next turn */
};

static struct h2 *h2_of(const struct conn *c)
{
    return c->impl;
}

static int64_t now_ms(const struct conn *c)
{
    return loop_now_ms(c->shard->loop);
}

/* Enough: tells the client why, then closes. */
static void enough(struct conn *c)
{
    struct h2 *h = h2_of(c);

    if (h->ending)
        return;
    h->ending = true;
    shard_count(c->shard, rejected_limits, 1);
    (void)nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
    conn_end(c);
}

static void reset_id(struct h2 *h, int32_t id, uint32_t code)
{
    h->own_resets++;
    (void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, id, code);
}

static struct http_stream *find(struct h2 *h, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h->session, id);
}

/* ---- requests ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct http_stream *s;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (h2_of(arg)->ending && frame->hd.stream_id > h2_of(arg)->last_id) {
        /* It has crossed our GOAWAY, which says that we have not seen it. */
        reset_id(h2_of(arg), frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    s = stream_new(arg);
    s->h2.id = frame->hd.stream_id;
    s->req.version = 2;
    (void)nghttp2_session_set_stream_user_data(session, s->h2.id, s);
    return 0;
}

static void pseudo_header(struct http_stream *s, str name, str value)
{
    s->header_bytes += name.n + value.n;
    if (str_eq(name, STR(":method")))
        s->req.method = str_dup(s->req.arena, value);
    else if (str_eq(name, STR(":path")))
        stream_target(s, str_dup(s->req.arena, value));
    else if (str_eq(name, STR(":authority")))
        stream_header(s, STR("host"), value);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
    struct http_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    str n = { (const char *)name, name_n }, v = { (const char *)value, value_n };

    (void)flags;
    v = str_trim(h2_token_value(&h2_of(arg)->credit.token, n, v)); /* as in HTTP/1.1 */
    if (!s || s->headed)
        return 0; /* trailers: nobody asked for them */
    if (name_n && name[0] == ':')
        pseudo_header(s, n, v);
    else
        stream_header(s, n, v);
    return 0;
}

/* nghttp2 would leave such a header out and go on: two readers of one request could then differ. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_n, const uint8_t *value,
                             size_t value_n, uint8_t flags, void *arg)
{
    (void)session;
    (void)frame;
    (void)name;
    (void)name_n;
    (void)value;
    (void)value_n;
    (void)flags;
    (void)arg;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void say_continue(struct h2 *h, struct http_stream *s)
{
    nghttp2_nv nv = { (uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "100", 7, 3, 0 };

    (void)nghttp2_submit_headers(h->session, NGHTTP2_FLAG_NONE, s->h2.id, NULL, &nv, 1, NULL);
    conn_wake(s->conn);
}

/* The handler hears of a request when it is whole, or at once when nothing more can change the
 * answer. */
static void maybe_dispatch(struct http_stream *s)
{
    if (s->phase != STREAM_READING)
        return;
    if (s->received || s->req.body_too_large || s->headers_too_large) {
        stream_dispatch(s);
        return;
    }
    if (s->shard->early && s->shard->early(&s->req, s->shard->arg)) {
        s->req.body_follows = true;
        stream_dispatch(s);
        return;
    }
    conn_arm(s->conn, s->since_ms + s->shard->limits.body_ms);
}

/* The initial window may have shrunk, and that of each stream with it. */
static void windows_moved(struct conn *c)
{
    for (struct http_stream *s = c->streams; s; s = s->next)
        s->h2.room = 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct conn *c = arg;
    struct http_stream *s;

    if (frame->hd.type == NGHTTP2_SETTINGS)
        windows_moved(c);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!s || s->received)
        return 0;
    s->received = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (!s->headed) {
        stream_headed(s);
        if (s->expects && !s->received && !s->req.body_too_large)
            say_continue(h2_of(c), s);
    }
    if (s->req.body_follows)
        stream_more(s);
    else
        maybe_dispatch(s);
    return 0;
}

static bool is_reading(const struct http_stream *s)
{
    return s->phase == STREAM_READING && !s->req.body_too_large;
}

/*
 * Uploads share limits.connection_queue: when half of it is taken they go on one by one, the oldest
 * first, and only while those that are already being handled leave room.
 */
static bool may_send_more(const struct http_stream *s)
{
    const struct conn *c = s->conn;
    size_t handled = c->bodies, half = s->shard->limits.connection_queue / 2;

    if (!stream_takes_body(s) || s->req.body_too_large || c->bodies < half)
        return true;
    for (const struct http_stream *o = c->streams; o; o = o->next) {
        if (is_reading(o) && o->h2.id < s->h2.id)
            return false;
        if (is_reading(o))
            handled -= o->body.n;
    }
    return handled < half;
}

static void give_window(struct h2 *h, struct http_stream *s)
{
    size_t n = s->held;

    if (!may_send_more(s)) {
        h->held = true;
        return;
    }
    s->held = 0;
    if (s->body.n >= STREAM_WINDOW / 2 && s->conn->nstreams <= FEW_STREAMS)
        (void)nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, s->h2.id,
                                                    WIDE_WINDOW);
    (void)nghttp2_session_consume_stream(h->session, s->h2.id, n);
}

static void give_held_windows(struct conn *c)
{
    struct h2 *h = h2_of(c);

    h->held = false;
    for (struct http_stream *s = c->streams; s; s = s->next)
        if (s->held)
            give_window(h, s);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *arg)
{
    struct conn *c = arg;
    struct http_stream *s = nghttp2_session_get_stream_user_data(session, id);

    (void)flags;
    (void)nghttp2_session_consume_connection(session, n);
    if (!s)
        return 0;
    if (!stream_body(s, p, n)) {
        shard_count(c->shard, rejected_limits, 1);
        reset_id(h2_of(c), id, NGHTTP2_ENHANCE_YOUR_CALM);
        (void)nghttp2_session_set_stream_user_data(session, id, NULL);
        stream_detach(s);
        return 0;
    }
    s->held += n;
    give_window(h2_of(c), s);
    if (s->req.body_too_large)
        maybe_dispatch(s);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
    struct http_stream *s = nghttp2_session_get_stream_user_data(session, id);

    (void)code;
    if (s)
        stream_detach(s);
    if (h2_of(arg)->held)
        conn_wake(arg);
    return 0;
}

/* ---- replies ---- */

/*
 * Its value never comes again: in the table of known headers it would only push out others, and
 * each new one would be compared with all that are there.
 */
static uint8_t index_flag(str name)
{
    return str_eq(name, STR("audit-id")) ? NGHTTP2_NV_FLAG_NO_INDEX : 0;
}

static void set_nv(nghttp2_nv *nv, str name, str value)
{
    /* The stream's arena holds them until the frame has left, or the stream is gone. */
    *nv =
        (nghttp2_nv){ (uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.n, value.n,
                      NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE |
                          index_flag(name) };
}

/* Decimal; printf would cost a tenth of the whole reply. */
static str digits(struct arena *a, uint64_t v)
{
    enum { MAX = 20 };
    char *p = arena_alloc_raw(a, MAX);
    size_t i = MAX;

    do
        p[--i] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    return (str){ p + i, MAX - i };
}

/* What the connection's window has room for. */
static int64_t conn_room(const struct h2 *h)
{
    return nghttp2_session_get_remote_window_size(h->session) - (int64_t)h->owed;
}

static ssize_t wait(struct h2 *h, struct http_stream *s)
{
    s->h2.waits = h->waits = true;
    h->paused |= reply_paused(s);
    return NGHTTP2_ERR_DEFERRED;
}

/* Of the last DATA frame; trailers come behind it. */
static uint32_t end_flags(struct http_stream *s)
{
    struct h2 *h = h2_of(s->conn);
    nghttp2_nv *nv;

    if (!s->ntrailers)
        return NGHTTP2_DATA_FLAG_EOF;
    nv = arena_alloc_raw(s->req.arena, s->ntrailers * sizeof(*nv));
    for (size_t i = 0; i < s->ntrailers; i++)
        set_nv(&nv[i], s->trailers[i].name, s->trailers[i].value);
    if (nghttp2_submit_trailer(h->session, s->h2.id, nv, s->ntrailers) != 0)
        conn_kill(s->conn);
    return NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
}

/* nghttp2 has only the end to send; what is before it, we do. */
static ssize_t read_queue(struct http_stream *s, uint32_t *flags)
{
    s->h2.direct = true;
    if (s->queue.n == 0 && s->queue.ended) {
        *flags |= end_flags(s);
        return 0;
    }
    if (s->queue.n)
        stream_ready(s);
    return NGHTTP2_ERR_DEFERRED;
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *unused, size_t length,
                         uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct conn *c = arg;
    struct h2 *h = h2_of(c);
    struct http_stream *s = nghttp2_session_get_stream_user_data(session, id);
    int64_t room = conn_room(h);
    ssize_t n;
    bool eof;

    (void)unused;
    (void)source;
    if (!s)
        return NGHTTP2_ERR_DEFERRED; /* it is being reset */
    if (s->kind == BODY_QUEUE)
        return read_queue(s, flags);
    if (room <= 0)
        return wait(h, s);
    if (h->out->n >= h->out_max) {
        h->full = true;
        return NGHTTP2_ERR_PAUSE;
    }
    /* The bytes go straight to their place behind the frame header, which send_data fills in. */
    h->frame_at = h->out->n;
    if (!buf_reserve(h->out, H2_FRAME_HEADER))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    h->out->n += H2_FRAME_HEADER;
    n = reply_fill(s, h->out, (int64_t)length < room ? length : (size_t)room, &eof);
    if (n > 0 || (n == 0 && eof)) {
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY | (eof ? end_flags(s) : 0u);
        return n;
    }
    h->out->n = h->frame_at;
    h->out->overflown = false;
    if (n == 0)
        return wait(h, s);
    h->own_resets++;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *header,
                     size_t length, nghttp2_data_source *source, void *arg)
{
    struct h2 *h = h2_of(arg);

    (void)session;
    (void)frame;
    (void)source;
    assert(h->out->n == h->frame_at + H2_FRAME_HEADER + length);
    memcpy(h->out->p + h->frame_at, header, H2_FRAME_HEADER);
    return 0;
}

static void h2_reply(struct http_stream *s)
{
    struct h2 *h = h2_of(s->conn);
    nghttp2_nv *nv = arena_alloc_raw(s->req.arena, (s->reply_nheaders + 2) * sizeof(*nv));
    nghttp2_data_provider body = { .read_callback = read_body };
    int64_t length = reply_length(s);
    bool bare = reply_is_bare(s) || length == 0;
    size_t n = 0;

    set_nv(&nv[n++], STR(":status"), digits(s->req.arena, (uint64_t)s->status));
    for (size_t i = 0; i < s->reply_nheaders; i++)
        set_nv(&nv[n++], s->reply_headers[i].name, s->reply_headers[i].value);
    if (length >= 0)
        set_nv(&nv[n++], STR("content-length"), digits(s->req.arena, (uint64_t)length));
    if (nghttp2_submit_response(h->session, s->h2.id, nv, n, bare ? NULL : &body) != 0)
        conn_kill(s->conn);
}

static void h2_ready(struct http_stream *s)
{
    if (s->h2.direct)
        stream_ready(s);
}

static void put_header(char *p, size_t n, int32_t id)
{
    const unsigned char h[H2_FRAME_HEADER] = {
        (unsigned char)(n >> 16),  (unsigned char)(n >> 8),
        (unsigned char)n,          NGHTTP2_DATA,
        NGHTTP2_FLAG_NONE,         (unsigned char)(id >> 24),
        (unsigned char)(id >> 16), (unsigned char)(id >> 8),
        (unsigned char)id,
    };

    memcpy(p, h, sizeof(h));
}

/* One DATA frame of an open end; false when its window is too small. */
static bool send_direct(struct h2 *h, struct http_stream *s, int64_t *room)
{
    struct buf *out = h->out;
    size_t at = out->n;
    int64_t want = s->queue.queued < DIRECT_MAX ? (int64_t)s->queue.queued : DIRECT_MAX;
    ssize_t n;
    bool eof;

    if (s->h2.room < want)
        s->h2.room = nghttp2_session_get_stream_remote_window_size(h->session, s->h2.id) -
                     (int64_t)s->h2.owed;
    want = want < s->h2.room ? want : s->h2.room;
    want = want < *room ? want : *room;
    if (want <= 0)
        return false;
    if (!buf_reserve(out, H2_FRAME_HEADER + (size_t)want))
        return false;
    out->n += H2_FRAME_HEADER;
    n = reply_fill(s, out, (size_t)want, &eof);
    put_header(out->p + at, (size_t)n, s->h2.id);
    h->owed += (uint64_t)n;
    s->h2.owed += (uint32_t)n;
    s->h2.room -= n;
    *room -= n;
    return true;
}

/* Each in turn, until out holds max bytes.  True: nghttp2 has the end of one to send. */
static bool fill_direct(struct conn *c, size_t max)
{
    struct h2 *h = h2_of(c);
    int64_t room = c->ready ? conn_room(h) : 0;
    bool ended = false;

    while (c->ready && h->out->n < max) {
        struct http_stream *s = c->ready;

        stream_unready(s);
        if (s->queue.n && !send_direct(h, s, &room))
            (void)wait(h, s);
        else if (s->queue.n)
            stream_ready(s);
        else if (s->queue.ended)
            ended |= nghttp2_session_resume_data(h->session, s->h2.id) == 0;
    }
    return ended;
}

/* Those that waited try again. */
static void retry(struct conn *c)
{
    struct h2 *h = h2_of(c);

    h->waits = h->paused = false;
    for (struct http_stream *s = c->streams; s; s = s->next) {
        if (!s->h2.waits)
            continue;
        s->h2.waits = false;
        reply_resume(s);
        if (s->kind == BODY_QUEUE)
            stream_ready(s);
        else
            (void)nghttp2_session_resume_data(h->session, s->h2.id);
    }
}

static void h2_reset(struct http_stream *s)
{
    struct h2 *h = h2_of(s->conn);

    (void)nghttp2_session_set_stream_user_data(h->session, s->h2.id, NULL);
    reset_id(h, s->h2.id, NGHTTP2_CANCEL);
    conn_wake(s->conn);
}

/* A reply that has gone out before its request was whole: the rest is not wanted. */
static void stop_upload(struct h2 *h, const nghttp2_frame *frame)
{
    struct http_stream *s = find(h, frame->hd.stream_id);

    if (s && !s->received && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        reset_id(h, s->h2.id, NGHTTP2_NO_ERROR);
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct conn *c = arg;
    struct h2 *h = h2_of(c);

    (void)session;
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
        stop_upload(h, frame);
    if (frame->hd.type != NGHTTP2_RST_STREAM)
        return 0;
    /* MadeYouReset: a client may also make us reset its streams, while their work goes on. */
    if (h->own_resets)
        h->own_resets--;
    else if (!h2_guard_reset(&h->guard, now_ms(c)))
        enough(c);
    return 0;
}

/* Headers that cannot be sent (too large for a header block): the client must not wait for them. */
static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int error,
                             void *arg)
{
    struct h2 *h = h2_of(arg);

    (void)session;
    (void)error;
    if (frame->hd.type == NGHTTP2_RST_STREAM && h->own_resets)
        h->own_resets--;
    if (frame->hd.type == NGHTTP2_HEADERS && find(h, frame->hd.stream_id))
        reset_id(h, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

/* ---- the connection ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static nghttp2_session_callbacks *callbacks;
static nghttp2_option *option;

static void init_once(void)
{
    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
        mem_exhausted();
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_no_auto_window_update(option, 1);
    /* Go sends a User-Agent as it is, and asks again for ever when such a stream is reset. */
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
}

static void h2_open(struct conn *c)
{
    struct h2 *h = mem_zalloc(sizeof(*h));
    const struct http_limits *limits = &c->shard->limits;
    nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits->streams },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->headers },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
    };

    (void)pthread_once(&once, init_once);
    c->impl = h;
    h2_guard_init(&h->guard, limits);
    h2_credit_init(&h->credit);
    if (nghttp2_session_server_new2(&h->session, callbacks, c, option) != 0 ||
        nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
                                sizeof(settings) / sizeof(settings[0])) != 0 ||
        nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW) != 0)
        mem_exhausted();
}

static void h2_close(struct conn *c)
{
    nghttp2_session_del(h2_of(c)->session);
    h2_credit_release(&h2_of(c)->credit);
    free(c->impl);
}

static bool h2_wants_input(const struct conn *c)
{
    (void)c;
    return true;
}

static bool credit_feed(void *arg, const void *p, size_t n)
{
    struct conn *c = arg;

    return nghttp2_session_mem_recv(h2_of(c)->session, p, n) >= 0;
}

static uint32_t credit_pay(void *arg, int32_t id, uint32_t n)
{
    struct h2 *h = h2_of(arg);
    struct http_stream *s = id ? find(h, id) : NULL;
    uint32_t paid = n;

    if (id == 0 && h->owed < n)
        paid = (uint32_t)h->owed;
    else if (id != 0 && (!s || s->h2.owed < n))
        paid = s ? s->h2.owed : 0;
    if (id == 0)
        h->owed -= paid;
    else if (s)
        s->h2.owed -= paid;
    return paid;
}

static const struct h2_credit_ops credit_ops = { credit_feed, credit_pay };

static void h2_input(struct conn *c, const char *p, size_t n)
{
    struct h2 *h = h2_of(c);

    if (!h2_guard_input(&h->guard, p, n, now_ms(c))) {
        enough(c);
        return;
    }
    if (h->guard.since_ms)
        conn_arm(c, h->guard.since_ms + c->shard->limits.header_ms);
    if (!h2_credit_input(&h->credit, p, n, &credit_ops, c))
        conn_kill(c); /* not HTTP/2 at all, or a flood that nghttp2 knows of */
    conn_wake(c);
}

static void h2_eof(struct conn *c)
{
    conn_kill(c);
}

static bool h2_fill(struct conn *c, struct buf *out, size_t max)
{
    struct h2 *h = h2_of(c);
    const uint8_t *p;
    ssize_t n = 1;
    bool ended;

    h->out = out;
    h->out_max = max;
    h->full = false;
    if (h->held)
        give_held_windows(c);
    if (h->waits)
        retry(c);
    (void)fill_direct(c, max / 2);
    while (out->n < max && nghttp2_session_want_write(h->session) &&
           (n = nghttp2_session_mem_send(h->session, &p)) > 0)
        buf_append(out, p, (size_t)n);
    ended = fill_direct(c, max);
    if (n < 0 || buf_overflown(out)) {
        conn_kill(c);
        return false;
    }
    if (!nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session))
        conn_end(c);
    return ended || h->full || h->paused || c->ready || out->n >= max;
}

static void h2_drain(struct conn *c)
{
    struct h2 *h = h2_of(c);

    for (struct http_stream *s = c->streams, *next; s; s = next) {
        next = s->next;
        if (s->phase == STREAM_REPLYING && s->kind == BODY_QUEUE && !s->queue.ended)
            reply_stop(s);
    }
    if (!h->ending) {
        h->last_id = nghttp2_session_get_last_proc_stream_id(h->session);
        (void)nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, h->last_id, NGHTTP2_NO_ERROR,
                                    NULL, 0);
    }
    h->ending = true;
    conn_wake(c);
}

/* ---- timeouts ---- */

static int64_t stream_deadline(const struct http_stream *s)
{
    const struct http_limits *limits = &s->shard->limits;
    const struct conn *c = s->conn;

    if (s->phase == STREAM_READING && s->headed)
        return s->since_ms + limits->body_ms;
    /* While the connection is stuck, no stream is to blame for not moving. */
    if (s->phase != STREAM_REPLYING || !reply_ready(s) || c->pending.n)
        return 0;
    return (s->since_ms > c->clear_ms ? s->since_ms : c->clear_ms) + limits->write_ms;
}

static int64_t h2_check(struct conn *c, int64_t now)
{
    struct h2 *h = h2_of(c);
    const struct http_limits *limits = &c->shard->limits;
    int64_t next = 0;

    if (h->guard.since_ms)
        next = h->guard.since_ms + limits->header_ms;
    else if (!c->nstreams)
        next = c->since_ms + limits->idle_ms;
    if (next && now >= next) {
        if (h->guard.since_ms)
            conn_limit(c);
        else
            h2_drain(c);
        return 0;
    }
    for (struct http_stream *s = c->streams, *after; s; s = after) {
        int64_t at = stream_deadline(s);

        after = s->next;
        if (at && now >= at) {
            shard_count(c->shard, rejected_limits, 1);
            h2_reset(s);
            stream_detach(s);
        } else if (at && (!next || at < next)) {
            next = at;
        }
    }
    return next;
}

const struct conn_proto h2_proto = {
    .open = h2_open,
    .close = h2_close,
    .wants_input = h2_wants_input,
    .input = h2_input,
    .eof = h2_eof,
    .fill = h2_fill,
    .reply = h2_reply,
    .ready = h2_ready,
    .reset = h2_reset,
    .check = h2_check,
    .drain = h2_drain,
};
