/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client_conn.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    READ_TURN = 1 << 20, /* bytes read before others get their turn */
    TICK_MS = 15000,     /* how often an open connection is looked at */
    PING_MS = 30000,     /* silence with requests open before we ask; client-go: 30 s */
    DEAD_MS = 45000,     /* … and before we give it up; client-go: 15 s after the ping */
    IDLE_MS = 90000,     /* an HTTP/1.1 connection without a request is closed */
};

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

/* ---- closing ---- */

static void conn_release(struct client_conn *conn)
{
    if (conn->proto)
        conn->proto->release(conn);
    buf_release(&conn->out);
    free(conn);
}

/* Every entry from the loop is between these two. */
static void conn_enter(struct client_conn *conn)
{
    conn->busy++;
}

static void conn_leave(struct client_conn *conn)
{
    if (--conn->busy == 0 && conn->state == CONN_CLOSED && !conn->again_posted)
        conn_release(conn);
}

static void unlink_conn(struct http_client *c, struct client_conn *conn)
{
    struct client_conn **p = &c->conns;

    while (*p != conn)
        p = &(*p)->next;
    *p = conn->next;
}

static void close_socket(struct client_conn *conn)
{
    if (conn->fd.fd < 0)
        return;
    loop_fd_remove(conn->loop, &conn->fd);
    (void)close(conn->fd.fd);
    conn->fd.fd = -1;
}

void client_conn_close(struct client_conn *conn)
{
    bool in_use = conn->busy || conn->again_posted; /* who uses it releases the shell */

    if (conn->state != CONN_CLOSED) {
        assert(!conn->reqs.n);
        conn->state = CONN_CLOSED;
        unlink_conn(conn->client, conn);
        conn->client = NULL;
        client_resolve_cancel(conn->resolve);
        SSL_free(conn->ssl);
        conn->ssl = NULL;
        close_socket(conn);
        loop_timer_cancel(conn->loop, &conn->timer);
        loop_defer_cancel(conn->loop, &conn->flush);
    }
    if (!in_use)
        conn_release(conn);
}

static void fail(struct client_conn *conn, const char *what, int err)
{
    scoped_arena a = arena_new();
    struct status st;

    if (!conn->client)
        return;
    status_init(&st, a);
    (void)status_set(&st, REASON_UNAVAILABLE, "%s %.*s: %s", what, STR_ARG(conn->client->authority),
                     strerror(err));
    client_conn_fail(conn, &st);
}

static void fail_tls(struct client_conn *conn, const char *what)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)client_tls_status(&st, conn->ssl, what);
    (void)status_wrap(&st, "%.*s", STR_ARG(conn->client->authority));
    client_conn_fail(conn, &st);
}

/* ---- writing ---- */

/* Bytes taken, 0 when the socket is full, -1 with errno. */
static ssize_t write_some(struct client_conn *conn, const char *p, size_t n)
{
    size_t put = 0;
    ssize_t r;

    if (!conn->ssl) {
        r = send(conn->fd.fd, p, n, MSG_NOSIGNAL);
        return r < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : r;
    }
    ERR_clear_error();
    errno = 0;
    if (SSL_write_ex(conn->ssl, p, n, &put))
        return (ssize_t)put;
    switch (SSL_get_error(conn->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    default:
        if (!errno)
            errno = ECONNRESET;
        return -1;
    }
}

static void flush(struct client_conn *conn)
{
    while (conn->state == CONN_OPEN) {
        ssize_t n;

        if (conn->out_at == conn->out.n) {
            buf_clear(&conn->out);
            conn->out_at = 0;
            conn->proto->fill(conn);
            if (conn->state != CONN_OPEN || conn->out.n == 0)
                return;
        }
        n = write_some(conn, conn->out.p + conn->out_at, conn->out.n - conn->out_at);
        if (n == 0)
            return; /* EPOLLOUT comes */
        if (n < 0) {
            fail(conn, "write to", errno);
            return;
        }
        conn->out_at += (size_t)n;
    }
}

static void on_flush(struct loop_defer *d)
{
    struct client_conn *conn = CONTAINER(d, struct client_conn, flush);

    conn_enter(conn);
    flush(conn);
    conn_leave(conn);
}

void client_conn_flush_later(struct client_conn *conn)
{
    if (conn->state == CONN_OPEN)
        loop_defer(conn->loop, &conn->flush);
}

/* ---- reading ---- */

/* Bytes read, 0 at the end, -1 with errno (EAGAIN: later). */
static ssize_t read_some(struct client_conn *conn, char *p, size_t n)
{
    size_t got = 0;

    if (!conn->ssl)
        return recv(conn->fd.fd, p, n, 0);
    ERR_clear_error();
    errno = 0;
    if (SSL_read_ex(conn->ssl, p, n, &got))
        return (ssize_t)got;
    switch (SSL_get_error(conn->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        if (errno == 0 && ERR_peek_error() == 0)
            return 0; /* closed without close_notify */
        if (!errno)
            errno = EPROTO;
        return -1;
    }
}

static void read_end(struct client_conn *conn)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    if (conn->proto->eof(conn, &st) < 0 && conn->client)
        (void)status_wrap(&st, "%.*s", STR_ARG(conn->client->authority));
    else
        (void)status_set(&st, REASON_UNAVAILABLE, "the server closed the connection");
    client_conn_fail(conn, &st);
}

static void take_bytes(struct client_conn *conn, str bytes)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    conn->read_ms = loop_now_ms(conn->loop);
    conn->pinged = false;
    if (conn->proto->recv(conn, bytes, &st) < 0) {
        client_conn_fail(conn, &st);
    } else if (conn->draining && !conn->reqs.n) {
        assert(conn->busy); /* by our caller: only a shell is left */
        client_conn_close(conn);
    }
}

void client_conn_read_later(struct client_conn *conn)
{
    if (conn->again_posted)
        return;
    conn->again_posted = true;
    loop_post(conn->loop, &conn->again);
}

/* With HTTP/1.1 there is one answer at a time, and not reading is all that holds it up. */
static bool is_paused(const struct client_conn *conn)
{
    return conn->proto == &client_h1 && conn->reqs.first && conn->reqs.first->paused;
}

static void read_all(struct client_conn *conn)
{
    char chunk[16 << 10];
    struct http_client *c = conn->client;

    client_hold(c);
    for (size_t total = 0; conn->state == CONN_OPEN && !is_paused(conn);) {
        ssize_t n = read_some(conn, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            fail(conn, "read from", errno);
            break;
        }
        if (n == 0) {
            read_end(conn);
            break;
        }
        take_bytes(conn, (str){ chunk, (size_t)n });
        total += (size_t)n;
        if (total >= READ_TURN && conn->state == CONN_OPEN) {
            client_conn_read_later(conn);
            break;
        }
    }
    client_pump(c);
    client_unhold(c);
}

static void on_again(struct loop_msg *msg)
{
    struct client_conn *conn = CONTAINER(msg, struct client_conn, again);

    conn_enter(conn);
    conn->again_posted = false;
    if (conn->state == CONN_OPEN)
        read_all(conn);
    conn_leave(conn);
}

/* ---- opening ---- */

static void conn_opened(struct client_conn *conn, const struct client_proto *proto)
{
    struct http_client *c = conn->client;

    conn->state = CONN_OPEN;
    conn->proto = proto;
    conn->read_ms = conn->idle_ms = loop_now_ms(conn->loop);
    loop_timer_set(conn->loop, &conn->timer, TICK_MS);
    if (!conn->own)
        c->http1 = proto == &client_h1;
    proto->open(conn);
    if (conn->own)
        proto->start(conn, conn->reqs.first);
    else
        client_pump(c);
    client_conn_flush_later(conn);
}

static const struct client_proto *chosen(struct client_conn *conn)
{
    const unsigned char *alpn;
    unsigned n;

    SSL_get0_alpn_selected(conn->ssl, &alpn, &n);
    return n == 2 && memcmp(alpn, "h2", 2) == 0 ? &client_h2 : &client_h1;
}

static void handshake(struct client_conn *conn)
{
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(conn->ssl);
    if (rc != 1) {
        int e = SSL_get_error(conn->ssl, rc);

        if (e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE)
            fail_tls(conn, "TLS handshake");
        return;
    }
    conn_opened(conn, chosen(conn));
}

static void begin_tls(struct client_conn *conn)
{
    conn->ssl = client_tls_session(conn->client, conn);
    conn->state = CONN_TLS;
    handshake(conn);
}

static void tunnel(struct client_conn *conn, bool begin)
{
    scoped_arena a = arena_new();
    struct status st;
    int rc;

    status_init(&st, a);
    conn->state = CONN_TUNNEL;
    rc = begin && !client_tunnel_ask(conn, &st) ? -1 : client_tunnel_read(conn, &st);
    if (rc < 0)
        client_conn_fail(conn, &st);
    else if (rc > 0)
        begin_tls(conn);
}

static void connect_next(struct client_conn *conn, int err);

static void connected(struct client_conn *conn)
{
    struct http_client *c = conn->client;
    int err = 0;
    socklen_t n = sizeof(err);

    (void)getsockopt(conn->fd.fd, SOL_SOCKET, SO_ERROR, &err, &n);
    if (err) {
        connect_next(conn, err);
        return;
    }
    if (c->o.proxy_host.n)
        tunnel(conn, true);
    else if (c->tls)
        begin_tls(conn);
    else
        conn_opened(conn, c->o.h2_prior && !conn->own ? &client_h2 : &client_h1);
}

static void on_event(struct loop_fd *f, uint32_t events)
{
    struct client_conn *conn = CONTAINER(f, struct client_conn, fd);

    conn_enter(conn);
    conn->short_read = false;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        conn->hup = true;
    if (conn->state == CONN_CONNECTING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        connected(conn);
    else if (conn->state == CONN_TUNNEL)
        tunnel(conn, false);
    else if (conn->state == CONN_TLS)
        handshake(conn);
    if (conn->state == CONN_OPEN && events & EPOLLOUT && conn->out_at < conn->out.n)
        flush(conn);
    if (conn->state == CONN_OPEN)
        read_all(conn);
    conn_leave(conn);
}

static void set_options(int fd)
{
    const int on = 1, idle = 30, interval = 5, count = 3;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static int connect_one(struct client_conn *conn, unsigned i)
{
    const struct sockaddr *to = (const struct sockaddr *)&conn->addrs.addr[i];
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int err = 0;

    if (fd < 0)
        return errno;
    set_options(fd);
    if (connect(fd, to, conn->addrs.len[i]) < 0 && errno != EINPROGRESS)
        err = errno;
    conn->fd = (struct loop_fd){ .fd = fd, .fn = on_event };
    if (!err && loop_fd_add(conn->loop, &conn->fd) < 0)
        err = errno;
    if (err) {
        (void)close(fd);
        conn->fd.fd = -1;
    }
    return err;
}

/* Why the guard denies it, or NULL. */
static const char *refused(const struct client_conn *conn, unsigned i)
{
    const struct http_client_guard *g = &conn->client->o.guard;

    return g->refuses ? g->refuses(g->arg, (const struct sockaddr *)&conn->addrs.addr[i],
                                   conn->addrs.len[i])
                      : NULL;
}

static void fail_refused(struct client_conn *conn, const char *why)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_set(&st, REASON_FORBIDDEN, "connect to %.*s: not allowed: %s",
                     STR_ARG(conn->client->authority), why);
    client_conn_fail(conn, &st);
}

/* Tries one address after the other; err is why the last one failed. */
static void connect_next(struct client_conn *conn, int err)
{
    const char *why = NULL;

    close_socket(conn);
    conn->state = CONN_CONNECTING;
    for (; conn->addr < conn->addrs.n; conn->addr++) {
        why = refused(conn, conn->addr);
        if (why)
            continue;
        err = connect_one(conn, conn->addr);
        if (err == 0) {
            conn->addr++;
            return;
        }
    }
    if (why && err == 0)
        fail_refused(conn, why);
    else
        fail(conn, "connect to", err);
}

static void resolved(void *arg, const struct client_addrs *addrs)
{
    struct client_conn *conn = arg;
    scoped_arena a = arena_new();
    struct status st;

    conn->resolve = NULL;
    conn_enter(conn);
    conn->addrs = *addrs;
    if (addrs->n) {
        connect_next(conn, 0);
    } else {
        status_init(&st, a);
        (void)status_set(&st, REASON_UNAVAILABLE, "look up %.*s: %s", STR_ARG(conn->client->o.host),
                         gai_strerror(addrs->error));
        client_conn_fail(conn, &st);
    }
    conn_leave(conn);
}

/* ---- time ---- */

static void tick(struct client_conn *conn)
{
    int64_t now = loop_now_ms(conn->loop), quiet = now - conn->read_ms;

    loop_timer_set(conn->loop, &conn->timer, TICK_MS);
    if (conn->reqs.n) {
        conn->idle_ms = now;
        if (conn->proto->ping && quiet >= DEAD_MS && conn->pinged) {
            fail(conn, "no sign of life from", ETIMEDOUT);
        } else if (conn->proto->ping && quiet >= PING_MS) {
            conn->pinged = true;
            conn->proto->ping(conn);
        }
    } else if (conn->proto == &client_h1 && now - conn->idle_ms >= IDLE_MS) {
        assert(conn->busy); /* by our caller: only a shell is left */
        client_conn_close(conn);
    }
}

static void on_timer(struct loop_timer *t)
{
    struct client_conn *conn = CONTAINER(t, struct client_conn, timer);

    conn_enter(conn);
    if (conn->state == CONN_OPEN) {
        tick(conn);
    } else if (conn->state == CONN_RESOLVING && conn->addrs.n) {
        loop_timer_set(conn->loop, t, conn->client->o.connect_ms);
        connect_next(conn, 0);
    } else {
        fail(conn, "connect to", ETIMEDOUT);
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): between enter and leave only a shell is left */
    conn_leave(conn);
}

static struct client_conn *open_new(struct http_client *c)
{
    struct client_conn *conn = mem_zalloc(sizeof(*conn));
    bool direct = !c->o.proxy_host.n;
    str host = direct ? c->o.host : c->o.proxy_host;
    str port = direct ? c->o.port : c->o.proxy_port;

    conn->client = c;
    conn->loop = c->o.loop;
    conn->fd.fd = -1;
    conn->timer.fn = on_timer;
    conn->flush.fn = on_flush;
    conn->again.fn = on_again;
    buf_init(&conn->out, SIZE_MAX / 4);
    conn->next = c->conns;
    c->conns = conn;
    /* Numbers need no thread; the timer keeps errors out of the caller's stack. */
    if (client_resolve_number(host, port, &conn->addrs)) {
        loop_timer_set(conn->loop, &conn->timer, 0);
        return conn;
    }
    conn->resolve = client_resolve_start(conn->loop, host, port, resolved, conn);
    loop_timer_set(conn->loop, &conn->timer, c->o.connect_ms);
    return conn;
}

void client_conn_open(struct http_client *c)
{
    (void)open_new(c);
}

void client_conn_open_for(struct http_client *c, struct client_req *r)
{
    struct client_conn *conn = open_new(c);

    conn->own = conn->draining = true;
    r->conn = conn;
    r->tries = CLIENT_TRIES;
    client_reqs_push(&conn->reqs, r);
}
