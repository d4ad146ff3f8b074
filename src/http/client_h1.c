/* SPDX-License-Identifier: Apache-2.0 */

/* HTTP/1.1 of the client: one request at a time on a connection. */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/client_conn.h"
#include "http/client_h1_reader.h"

struct h1 {
    struct h1_reader reader;
    bool gone; /* the request was cancelled, or the connection closed, in a callback */
};

static struct h1 *h1_of(const struct client_conn *conn)
{
    return conn->state_h;
}

/* ---- replies ---- */

static void on_head(void *arg, int status, const struct http_header *h, size_t n)
{
    struct client_conn *conn = arg;
    struct client_req *r = conn->reqs.first;

    r->headed = true;
    r->switched = status == 101;
    if (r->call->head)
        r->call->head(r->call, status, h, n);
    h1_of(conn)->gone = conn->reqs.first != r || conn->state != CONN_OPEN;
}

static void on_data(void *arg, str bytes)
{
    struct client_conn *conn = arg;
    struct client_req *r = conn->reqs.first;

    if (r->call->data)
        r->call->data(r->call, bytes);
    h1_of(conn)->gone = conn->reqs.first != r || conn->state != CONN_OPEN;
}

static void reply_done(struct client_conn *conn)
{
    struct client_req *r = conn->reqs.first;

    conn->used = true;
    /* Answered before all of the request was sent: what comes next cannot be told apart. */
    if (!h1_of(conn)->reader.keep_alive || r->sent < r->call->body.n)
        conn->draining = true;
    client_req_end(r, NULL);
}

static int unasked(const struct client_conn *conn, struct status *st)
{
    return status_set(st, REASON_UNAVAILABLE, "%.*s sent a reply that nobody asked for",
                      STR_ARG(conn->client->authority));
}

static int h1_recv(struct client_conn *conn, str bytes, struct status *st)
{
    struct h1 *h = h1_of(conn);
    bool more;
    size_t used;

    if (!conn->reqs.n)
        return unasked(conn, st);
    h->gone = false;
    if (h1_reader_feed(&h->reader, bytes, &used, &h->gone, st) < 0)
        return -1;
    if (h->gone || h->reader.state != H1_DONE)
        return 0;
    more = used < bytes.n; /* must never become the answer to the next request */
    if (more)
        h->reader.keep_alive = false;
    reply_done(conn);
    return more && conn->state == CONN_OPEN ? unasked(conn, st) : 0;
}

static int h1_eof(struct client_conn *conn, struct status *st)
{
    if (!conn->reqs.n)
        return 0;
    if (!h1_reader_eof(&h1_of(conn)->reader))
        return status_set(st, REASON_UNAVAILABLE, "the server closed the connection");
    reply_done(conn);
    return 0;
}

/* ---- requests ---- */

static void h1_start(struct client_conn *conn, struct client_req *r)
{
    const struct http_call *call = r->call;
    struct buf *b = &conn->out;

    buf_str_append(b, call->method);
    buf_byte(b, ' ');
    buf_str_append(b, call->path);
    buf_lit(b, " HTTP/1.1\r\nhost: ");
    buf_str_append(b, conn->client->authority);
    for (size_t i = 0; i < call->nheaders; i++) {
        buf_lit(b, "\r\n");
        buf_str_append(b, call->headers[i].name);
        buf_lit(b, ": ");
        buf_str_append(b, call->headers[i].value);
    }
    if (call->body.n || str_is(call->method, "POST") || str_is(call->method, "PUT") ||
        str_is(call->method, "PATCH")) {
        buf_lit(b, "\r\ncontent-length: ");
        buf_u64(b, call->body.n);
    }
    if (call->upgrade)
        buf_lit(b, "\r\nconnection: Upgrade");
    buf_lit(b, "\r\n\r\n");
    h1_reader_next(&h1_of(conn)->reader, str_is(call->method, "HEAD"));
    h1_of(conn)->reader.may_switch = call->upgrade;
    client_conn_flush_later(conn);
}

static void h1_fill(struct client_conn *conn)
{
    struct client_req *r = conn->reqs.first;
    str part;

    if (!r)
        return;
    part = str_sub(r->call->body, r->sent, CLIENT_OUT_BATCH);
    buf_str_append(&conn->out, part);
    r->sent += part.n;
    if (!r->switched || !r->tail.n)
        return;
    part = str_sub(buf_str(&r->tail), 0, CLIENT_OUT_BATCH);
    buf_str_append(&conn->out, part);
    buf_consume(&r->tail, part.n);
}

static bool h1_room(const struct client_conn *conn)
{
    return conn->reqs.n == 0;
}

static void h1_cancel(struct client_conn *conn, struct client_req *r)
{
    (void)r;
    h1_of(conn)->gone = true;
    client_conn_close(conn); /* there is no other way to say it */
}

static void h1_open(struct client_conn *conn)
{
    struct h1 *h = mem_zalloc(sizeof(*h));

    conn->state_h = h;
    h1_reader_init(&h->reader);
    h->reader.head = on_head;
    h->reader.data = on_data;
    h->reader.arg = conn;
}

static void h1_release(struct client_conn *conn)
{
    h1_reader_release(&h1_of(conn)->reader);
    free(h1_of(conn));
}

static void h1_resume(struct client_conn *conn, struct client_req *r)
{
    (void)r;
    client_conn_read_later(conn);
}

const struct client_proto client_h1 = {
    .open = h1_open,
    .room = h1_room,
    .start = h1_start,
    .cancel = h1_cancel,
    .recv = h1_recv,
    .eof = h1_eof,
    .fill = h1_fill,
    .resume = h1_resume,
    .release = h1_release,
};
