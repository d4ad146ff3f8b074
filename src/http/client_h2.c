/* SPDX-License-Identifier: Apache-2.0 */

/* HTTP/2 of the client, over nghttp2: many requests on one connection. */

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/client_conn.h"

enum {
    /*
     * We take all bytes as they come, unless a call is paused; small windows only make the server
     * wait for us.
     */
    STREAM_WINDOW = 8 << 20,
    CONN_WINDOW = 64 << 20,
    FRAME_MAX = 64 << 10,
    HEADERS_N = 128, /* of a reply */
};

struct h2 {
    nghttp2_session *session;
    /* The header block being received: there is only one at a time on a connection. */
    struct buf text;
    struct {
        uint32_t name_at, name_n, value_at, value_n;
    } at[HEADERS_N];
    struct http_header headers[HEADERS_N];
    size_t n;
    int status;
    bool too_large;
};

static struct h2 *h2_of(const struct client_conn *conn)
{
    return conn->state_h;
}

static struct client_req *req_of(struct client_conn *conn, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(h2_of(conn)->session, stream);
}

/* From inside of nghttp2, when a callback has closed the connection: stop parsing. */
static int go_on(const struct client_conn *conn)
{
    return conn->state == CONN_OPEN ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* ---- headers ---- */

static int on_begin_headers(nghttp2_session *s, const nghttp2_frame *frame, void *arg)
{
    struct h2 *h = h2_of(arg);

    (void)s;
    (void)frame;
    buf_clear(&h->text);
    h->n = 0;
    h->status = 0;
    h->too_large = false;
    return 0;
}

static int parse_status(const uint8_t *v, size_t n)
{
    int code = 0;

    for (size_t i = 0; i < n && i < 3; i++)
        code = code * 10 + (v[i] - '0'); /* nghttp2 has checked that these are digits */
    return code;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
    struct h2 *h = h2_of(arg);

    (void)s;
    (void)frame;
    (void)flags;
    if (name_n == 7 && memcmp(name, ":status", 7) == 0) {
        h->status = parse_status(value, value_n);
        return 0;
    }
    if (h->n == HEADERS_N || name_n + value_n > h->text.max - h->text.n) {
        h->too_large = true;
        return 0;
    }
    h->at[h->n].name_at = (uint32_t)h->text.n;
    h->at[h->n].name_n = (uint32_t)name_n;
    buf_append(&h->text, name, name_n);
    h->at[h->n].value_at = (uint32_t)h->text.n;
    h->at[h->n].value_n = (uint32_t)value_n;
    buf_append(&h->text, value, value_n);
    h->n++;
    return 0;
}

static void resolve_headers(struct h2 *h)
{
    for (size_t i = 0; i < h->n; i++) {
        h->headers[i].name = (str){ h->text.p + h->at[i].name_at, h->at[i].name_n };
        h->headers[i].value = (str){ h->text.p + h->at[i].value_at, h->at[i].value_n };
    }
}

static void headers_done(struct client_conn *conn, struct client_req *r)
{
    struct h2 *h = h2_of(conn);
    struct http_call *call = r->call;

    if (h->too_large) {
        (void)nghttp2_submit_rst_stream(h->session, 0, r->stream, NGHTTP2_INTERNAL_ERROR);
        return;
    }
    if (!r->headed && h->status < 200)
        return; /* 100 Continue and the like */
    resolve_headers(h);
    if (r->headed) {
        if (call->trailers)
            call->trailers(call, h->headers, h->n);
        return;
    }
    r->headed = true;
    if (call->head)
        call->head(call, h->status, h->headers, h->n);
}

/* ---- frames ---- */

static int on_frame(nghttp2_session *s, const nghttp2_frame *frame, void *arg)
{
    struct client_conn *conn = arg;
    struct client_req *r;

    if (frame->hd.type == NGHTTP2_GOAWAY)
        conn->draining = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    r = req_of(conn, frame->hd.stream_id);
    if (r && frame->hd.type == NGHTTP2_HEADERS) {
        headers_done(conn, r);
        if (conn->state != CONN_OPEN)
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        r = req_of(conn, frame->hd.stream_id); /* may have been cancelled */
    }
    if (!r || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    r->complete = r->headed;
    /* Answered before all of the request was sent: the rest is not wanted. */
    if (r->sent < r->call->body.n)
        (void)nghttp2_submit_rst_stream(s, 0, r->stream, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t stream, const uint8_t *p, size_t n,
                   void *arg)
{
    struct client_conn *conn = arg;
    struct client_req *r = req_of(conn, stream);

    (void)flags;
    if (r && r->call->data)
        r->call->data(r->call, (str){ (const char *)p, n });
    if (conn->state != CONN_OPEN)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    (void)nghttp2_session_consume_connection(s, n); /* one that is paused must not stop others */
    r = req_of(conn, stream);                       /* may have been cancelled */
    if (r && r->paused)
        r->unread += n;
    else
        (void)nghttp2_session_consume_stream(s, stream, n);
    return 0;
}

static void h2_resume(struct client_conn *conn, struct client_req *r)
{
    (void)nghttp2_session_consume_stream(h2_of(conn)->session, r->stream, r->unread);
    r->unread = 0;
    client_conn_flush_later(conn);
}

static void end_broken(struct client_conn *conn, struct client_req *r, uint32_t error)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_set(&st, REASON_UNAVAILABLE, "%.*s broke off the stream: %s",
                     STR_ARG(conn->client->authority), nghttp2_http2_strerror(error));
    /* RFC 9113, 8.7: refused streams were not processed, whatever the method. */
    if (error == NGHTTP2_REFUSED_STREAM)
        client_req_again(r, &st);
    else
        client_req_end(r, &st);
}

static int on_close(nghttp2_session *s, int32_t stream, uint32_t error, void *arg)
{
    struct client_conn *conn = arg;
    struct client_req *r = req_of(conn, stream);

    (void)s;
    if (!r)
        return 0;
    conn->used = true;
    if (r->complete)
        client_req_end(r, NULL);
    else
        end_broken(conn, r, error);
    return go_on(conn);
}

/* A request that could not be sent: the server is going away. */
static int on_not_sent(nghttp2_session *s, const nghttp2_frame *frame, int error, void *arg)
{
    struct client_conn *conn = arg;
    struct client_req *r;

    (void)s;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    r = req_of(conn, frame->hd.stream_id);
    if (!r)
        return 0;
    (void)nghttp2_session_set_stream_user_data(s, frame->hd.stream_id, NULL);
    conn->draining = true;
    end_broken(conn, r,
               error == NGHTTP2_ERR_HEADER_COMP ? NGHTTP2_COMPRESSION_ERROR
                                                : NGHTTP2_REFUSED_STREAM);
    return go_on(conn);
}

/* ---- requests ---- */

static ssize_t read_body(nghttp2_session *s, int32_t stream, uint8_t *p, size_t n, uint32_t *flags,
                         nghttp2_data_source *source, void *arg)
{
    struct client_req *r = req_of(arg, stream);
    size_t left;

    (void)s;
    (void)source;
    if (!r)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* cancelled */
    left = r->call->body.n - r->sent;
    if (n > left)
        n = left;
    memcpy(p, r->call->body.p + r->sent, n);
    r->sent += n;
    if (r->sent == r->call->body.n)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv nv(str name, str value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.n,
                         value.n, NGHTTP2_NV_FLAG_NONE };
}

static void h2_start(struct client_conn *conn, struct client_req *r)
{
    struct http_call *call = r->call;
    nghttp2_nv head[HEADERS_N];
    nghttp2_data_provider body = { .read_callback = read_body };
    char length[24];
    size_t n = 0;

    assert(call->nheaders <= HEADERS_N - 5);
    head[n++] = nv(STR(":method"), call->method);
    head[n++] = nv(STR(":scheme"), conn->ssl ? STR("https") : STR("http"));
    head[n++] = nv(STR(":authority"), conn->client->authority);
    head[n++] = nv(STR(":path"), call->path);
    for (size_t i = 0; i < call->nheaders; i++)
        head[n++] = nv(call->headers[i].name, call->headers[i].value);
    if (call->body.n) {
        int len = snprintf(length, sizeof(length), "%zu", call->body.n);

        head[n++] = nv(STR("content-length"), (str){ length, (size_t)len });
    }
    r->stream =
        nghttp2_submit_request(h2_of(conn)->session, NULL, head, n, call->body.n ? &body : NULL, r);
    if (r->stream < 0)
        conn->draining = true; /* ids used up: fill() sends those off that have none */
    client_conn_flush_later(conn);
}

static bool h2_room(const struct client_conn *conn)
{
    uint32_t max = nghttp2_session_get_remote_settings(h2_of(conn)->session,
                                                       NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

    return conn->reqs.n < max;
}

static void h2_cancel(struct client_conn *conn, struct client_req *r)
{
    struct h2 *h = h2_of(conn);

    if (r->stream < 0)
        return;
    (void)nghttp2_session_set_stream_user_data(h->session, r->stream, NULL);
    (void)nghttp2_submit_rst_stream(h->session, 0, r->stream, NGHTTP2_CANCEL);
    client_conn_flush_later(conn);
}

/* ---- the connection ---- */

static void retry_unnumbered(struct client_conn *conn)
{
    scoped_arena a = arena_new();
    struct status st;
    struct client_req *r = conn->reqs.first;

    status_init(&st, a);
    (void)status_set(&st, REASON_UNAVAILABLE, "the connection can take no more requests");
    while (r && conn->state == CONN_OPEN) {
        struct client_req *next = r->next;

        if (r->stream < 0) {
            client_req_again(r, &st);
            next = conn->reqs.first; /* a callback may have changed the list */
        }
        r = next;
    }
}

static void h2_fill(struct client_conn *conn)
{
    struct h2 *h = h2_of(conn);

    while (conn->out.n < CLIENT_OUT_BATCH) {
        const uint8_t *p;
        ssize_t n = nghttp2_session_mem_send(h->session, &p);

        if (conn->state != CONN_OPEN)
            return;
        if (n <= 0)
            break;
        buf_append(&conn->out, p, (size_t)n);
    }
    if (!conn->draining)
        return;
    retry_unnumbered(conn);
    if (conn->state == CONN_OPEN)
        client_pump(conn->client);
    if (conn->state == CONN_OPEN && !conn->reqs.n && !conn->out.n)
        client_conn_close(conn);
}

static int h2_recv(struct client_conn *conn, str bytes, struct status *st)
{
    struct h2 *h = h2_of(conn);
    ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)bytes.p, bytes.n);

    if (conn->state != CONN_OPEN)
        return 0;
    client_conn_flush_later(conn); /* acknowledgements, window updates */
    if (n < 0)
        return status_set(st, REASON_UNAVAILABLE, "%.*s does not speak HTTP/2: %s",
                          STR_ARG(conn->client->authority), nghttp2_strerror((int)n));
    if (!nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session))
        return status_set(st, REASON_UNAVAILABLE, "%.*s ended the connection",
                          STR_ARG(conn->client->authority));
    return 0;
}

static int h2_eof(struct client_conn *conn, struct status *st)
{
    (void)conn;
    return status_set(st, REASON_UNAVAILABLE, "the server closed the connection");
}

static void h2_ping(struct client_conn *conn)
{
    (void)nghttp2_submit_ping(h2_of(conn)->session, NGHTTP2_FLAG_NONE, NULL);
    client_conn_flush_later(conn);
}

static nghttp2_session *session_new(struct client_conn *conn)
{
    nghttp2_session *s = NULL;
    nghttp2_session_callbacks *cb = NULL;
    nghttp2_option *opt = NULL;

    if (nghttp2_session_callbacks_new(&cb) != 0 || nghttp2_option_new(&opt) != 0)
        mem_exhausted();
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_not_sent);
    nghttp2_option_set_no_closed_streams(opt, 1);
    nghttp2_option_set_no_auto_window_update(opt, 1); /* on_data does it */
    nghttp2_option_set_peer_max_concurrent_streams(opt, conn->client->o.streams);
    if (nghttp2_session_client_new2(&s, cb, conn, opt) != 0)
        mem_exhausted();
    nghttp2_option_del(opt);
    nghttp2_session_callbacks_del(cb);
    return s;
}

static void h2_open(struct client_conn *conn)
{
    size_t window = conn->client->o.window;
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window ? (uint32_t)window : STREAM_WINDOW },
        { NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_MAX },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, CLIENT_HEADERS_MAX },
    };
    struct h2 *h = mem_zalloc(sizeof(*h));

    conn->state_h = h;
    buf_init(&h->text, CLIENT_HEADERS_MAX);
    h->session = session_new(conn);
    (void)nghttp2_submit_settings(h->session, 0, settings, sizeof(settings) / sizeof(*settings));
    (void)nghttp2_session_set_local_window_size(h->session, 0, 0, CONN_WINDOW);
}

static void h2_release(struct client_conn *conn)
{
    struct h2 *h = h2_of(conn);

    nghttp2_session_del(h->session);
    buf_release(&h->text);
    free(h);
}

const struct client_proto client_h2 = {
    .open = h2_open,
    .room = h2_room,
    .start = h2_start,
    .cancel = h2_cancel,
    .recv = h2_recv,
    .eof = h2_eof,
    .fill = h2_fill,
    .resume = h2_resume,
    .ping = h2_ping,
    .release = h2_release,
};
