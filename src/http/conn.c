/* SPDX-License-Identifier: Apache-2.0 */
#include "http/conn.h"

#include <errno.h>
#include <openssl/err.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    READS_A_TURN = 8, /* of SHARD_IN bytes, then others have their turn */
    LINGER_MS = 2000,
};

/* ---- sockets ---- */

static ssize_t socket_recv(struct conn *c, void *p, size_t n)
{
    return recv(c->fd.fd, p, n, 0);
}

static ssize_t socket_send(struct conn *c, const void *p, size_t n)
{
    return send(c->fd.fd, p, n, MSG_NOSIGNAL);
}

static void socket_end(struct conn *c)
{
    (void)shutdown(c->fd.fd, SHUT_WR);
}

static void socket_close(struct conn *c)
{
    if (!c->shard->ended)
        loop_fd_remove(c->shard->loop, &c->fd);
    (void)close(c->fd.fd);
}

static const struct conn_io socket_io = { socket_recv, socket_send, socket_end, socket_close };

/* ---- life ---- */

static void flush(struct loop_defer *d);
static void have_turn(struct loop_msg *msg);
static void on_timer(struct loop_timer *t);
static void on_event(struct loop_fd *f, uint32_t events);

static int64_t now_ms(const struct conn *c)
{
    return loop_now_ms(c->shard->loop);
}

static struct conn *conn_new(struct shard *sh, const struct conn_io *io, void *io_arg)
{
    struct conn *c = mem_zalloc(sizeof(*c));

    c->fd = (struct loop_fd){ .fd = -1, .fn = on_event };
    c->io = io;
    c->io_arg = io_arg;
    c->shard = sh;
    c->who = mem_zalloc(sizeof(*c->who));
    c->who->refs = 1;
    c->flush.fn = flush;
    c->turn.fn = have_turn;
    c->turn.rank = LOOP_READS;
    c->ready_tail = &c->ready;
    c->timer.fn = on_timer;
    c->since_ms = loop_now_ms(sh->loop);
    buf_init(&c->pending, SHARD_OUT_MAX);
    buf_init(&c->encoded, SHARD_IN);
    c->next = sh->conns;
    if (c->next)
        c->next->prev = c;
    sh->conns = c;
    shard_count(sh, connections, 1);
    shard_count(sh, connections_open, 1);
    return c;
}

static void open_proto(struct conn *c, const struct conn_proto *proto)
{
    c->state = CONN_OPEN;
    c->proto = proto;
    c->since_ms = now_ms(c);
    proto->open(c);
    conn_arm(c, c->since_ms + c->shard->limits.idle_ms);
    if (c->shard->stopping)
        proto->drain(c);
    conn_wake(c);
}

void conn_accept(struct shard *sh, int fd, const char *remote)
{
    struct conn *c = conn_new(sh, &socket_io, NULL);

    c->fd.fd = fd;
    (void)snprintf(c->who->remote, sizeof(c->who->remote), "%s", remote);
    if (sh->tls) {
        c->ssl = tls_session(sh->tls, sh->bio);
        conn_arm(c, c->since_ms + sh->limits.handshake_ms);
    } else {
        open_proto(c, &h1_proto);
    }
    if (sh->stopping || loop_fd_add(sh->loop, &c->fd) < 0)
        conn_kill(c);
}

struct conn *conn_open_plain(struct shard *sh, const struct conn_io *io, void *io_arg,
                             const struct conn_proto *proto)
{
    struct conn *c = conn_new(sh, io, io_arg);

    c->readable = true;
    open_proto(c, proto);
    return c;
}

static void unlink_conn(struct conn *c)
{
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        c->shard->conns = c->next;
    loop_wait_cancel(c->shard->loop, &c->turn);
}

void conn_destroy(struct conn *c)
{
    struct shard *sh = c->shard;

    c->state = CONN_DEAD;
    while (c->streams)
        stream_detach(c->streams);
    if (c->proto)
        c->proto->close(c);
    c->io->close(c);
    if (!sh->ended) {
        loop_timer_cancel(sh->loop, &c->timer);
        loop_defer_cancel(sh->loop, &c->flush);
    }
    unlink_conn(c);
    SSL_free(c->ssl);
    conn_who_unref(c->who);
    buf_release(&c->pending);
    buf_release(&c->encoded);
    free(c);
    shard_count(sh, connections_open, -1);
    shard_conn_gone(sh);
}

void conn_wake(struct conn *c)
{
    if (!c->shard->ended)
        loop_defer(c->shard->loop, &c->flush);
}

void conn_end(struct conn *c)
{
    if (c->state == CONN_HANDSHAKE || c->state == CONN_OPEN)
        c->state = CONN_CLOSING;
    conn_wake(c);
}

void conn_kill(struct conn *c)
{
    c->state = CONN_DEAD;
    conn_wake(c);
}

void conn_limit(struct conn *c)
{
    shard_count(c->shard, rejected_limits, 1);
    conn_kill(c);
}

/* ---- output ---- */

static void note_sent(struct conn *c, size_t n)
{
    shard_count(c->shard, bytes_out, n);
    c->write_ms = now_ms(c);
}

/* How much of it the socket took; what it did not take will go when it tells that it has room. */
static size_t send_some(struct conn *c, const char *p, size_t n)
{
    ssize_t sent;

    do
        sent = c->io->send(c, p, n);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        conn_kill(c);
        return 0;
    }
    if (sent < (ssize_t)n)
        c->blocked = true;
    if (sent <= 0)
        return 0;
    note_sent(c, (size_t)sent);
    return (size_t)sent;
}

/* Sends, or keeps, what TLS has written to the shard's buffer. */
static void send_wire(struct conn *c, struct buf *out)
{
    size_t sent = 0;

    if (out->n == 0 || c->state == CONN_DEAD)
        return;
    if (c->pending.n == 0)
        sent = send_some(c, out->p, out->n);
    if (sent < out->n && c->state != CONN_DEAD) {
        if (c->pending.n == 0) {
            c->write_ms = now_ms(c);
            conn_arm(c, c->write_ms + c->shard->limits.write_ms);
        }
        buf_append(&c->pending, out->p + sent, out->n - sent);
        if (c->pending.n > c->shard->limits.connection_queue || buf_overflown(&c->pending))
            conn_limit(c);
    }
}

/* True when nothing is left waiting for the socket. */
static bool send_pending(struct conn *c)
{
    if (c->pending.n == 0)
        return true;
    if (c->blocked)
        return false;
    c->pending_at += send_some(c, c->pending.p + c->pending_at, c->pending.n - c->pending_at);
    if (c->pending_at < c->pending.n)
        return false;
    buf_release(&c->pending);
    c->pending_at = 0;
    c->clear_ms = now_ms(c);
    return true;
}

static void encrypt(struct conn *c, const struct buf *plain)
{
    ERR_clear_error();
    if (SSL_write(c->ssl, plain->p, (int)plain->n) <= 0)
        conn_kill(c);
}

static void clear_scratch(struct buf *b)
{
    buf_clear(b);
    if (b->cap > 4 * SHARD_OUT)
        buf_release(b);
}

/* One TLS write, one send, for all that the turn has brought.  True if there is more. */
static bool fill_and_send(struct conn *c)
{
    struct shard *sh = c->shard;
    size_t max = shard_has_turn(sh, c->whose) ? SHARD_OUT : SHARD_OUT_BUSY;
    bool more;

    sh->pulled = false;
    more = c->proto->fill(c, &sh->plain, max);
    if (sh->plain.n > 0 && c->state != CONN_DEAD) {
        if (c->ssl)
            encrypt(c, &sh->plain);
        send_wire(c, c->ssl ? &sh->wire : &sh->plain);
    }
    clear_scratch(&sh->plain);
    clear_scratch(&sh->wire);
    return more;
}

static void linger(struct conn *c)
{
    if (c->ssl && c->proto && !c->said_goodbye) {
        c->said_goodbye = true;
        ERR_clear_error();
        (void)SSL_shutdown(c->ssl);
        send_wire(c, &c->shard->wire);
        clear_scratch(&c->shard->wire);
        if (c->pending.n || c->state == CONN_DEAD)
            return;
    }
    c->io->end(c);
    c->state = CONN_LINGER;
    c->since_ms = now_ms(c);
    if (c->eof)
        conn_kill(c);
    else
        conn_arm(c, c->since_ms + LINGER_MS);
}

/* c may be gone then. */
static void send_out(struct conn *c)
{
    bool more = false;

    if (c->state == CONN_DEAD) {
        conn_destroy(c);
        return;
    }
    if (c->shard->frozen || !send_pending(c))
        return;
    if (c->proto && (c->state == CONN_OPEN || c->state == CONN_CLOSING))
        more = fill_and_send(c);
    if (more && !c->blocked)
        shard_run_again(c);
    if (c->state == CONN_CLOSING && !more && c->pending.n == 0)
        linger(c);
}

static void flush(struct loop_defer *d)
{
    struct conn *c = (struct conn *)((char *)d - offsetof(struct conn, flush));

    if (c->state == CONN_DEAD || !c->shard->whose || loop_may_send(c->shard->loop))
        send_out(c);
    else
        shard_run_again(c);
}

/* ---- input ---- */

static void handshake_done(struct conn *c)
{
    if (SSL_get0_peer_certificate(c->ssl)) {
        c->who->arena = arena_new();
        c->who->peer = tls_peer(c->ssl, c->who->arena, &c->who->rejected);
    }
    open_proto(c, tls_is_h2(c->ssl) ? &h2_proto : &h1_proto);
}

/* True when the handshake is over and has succeeded. */
static bool shake_hands(struct conn *c)
{
    int rc;

    if (c->state != CONN_HANDSHAKE)
        return true;
    ERR_clear_error();
    rc = SSL_do_handshake(c->ssl);
    if (rc == 1) {
        handshake_done(c);
        return true;
    }
    if (SSL_get_error(c->ssl, rc) != SSL_ERROR_WANT_READ)
        conn_end(c); /* after the alert, which says why */
    return false;
}

static void end_of_input(struct conn *c)
{
    c->eof = true;
    c->readable = false;
    if (conn_is_open(c))
        c->proto->eof(c);
    else if (c->state != CONN_CLOSING)
        conn_kill(c);
}

static void decrypt(struct conn *c)
{
    struct shard *sh = c->shard;

    while (conn_is_open(c)) {
        int n, err;

        ERR_clear_error();
        n = SSL_read(c->ssl, sh->text, SHARD_TEXT);
        if (n > 0) {
            c->proto->input(c, sh->text, (size_t)n);
            c->unread = !shard_has_turn(sh, c->whose);
            if (!c->unread)
                continue;
            return;
        }
        err = SSL_get_error(c->ssl, n);
        if (err == SSL_ERROR_WANT_READ)
            return;
        if (err == SSL_ERROR_ZERO_RETURN) {
            end_of_input(c);
            return;
        }
        conn_kill(c);
    }
}

/* What TLS has not yet taken is copied once, and then taken from where it lies. */
static void keep_rest(struct conn *c)
{
    struct shard *sh = c->shard;

    if (c->encoded.n == 0) {
        buf_append(&c->encoded, sh->given.p, sh->given.n);
        sh->given = buf_str(&c->encoded);
    }
    c->rest = sh->given;
}

static void take_input(struct conn *c, str given)
{
    struct shard *sh = c->shard;

    c->unread = false;
    if (c->state == CONN_LINGER || c->state == CONN_CLOSING)
        return;
    if (!c->ssl) {
        c->proto->input(c, given.p, given.n);
        return;
    }
    sh->given = given;
    if (shake_hands(c))
        decrypt(c);
    if (c->unread)
        keep_rest(c);
    else
        buf_release(&c->encoded);
    sh->given = STR_NONE;
    send_wire(c, &sh->wire);
    clear_scratch(&sh->wire);
}

static void conn_read(struct conn *c)
{
    for (int i = 0; i < READS_A_TURN; i++) {
        ssize_t n;

        if (!c->readable || c->state == CONN_DEAD || c->shard->frozen)
            return;
        if (i > 0 && !shard_has_turn(c->shard, c->whose))
            break;
        if (conn_is_open(c) && !c->proto->wants_input(c))
            return;
        if (c->unread) {
            take_input(c, c->rest);
            continue;
        }
        n = c->io->recv(c, c->shard->in, SHARD_IN);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            c->readable = false;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                conn_kill(c);
            return;
        }
        if (n == 0) {
            end_of_input(c);
            return;
        }
        /* A short read took all there was; an edge tells of what comes later. */
        c->readable = n == SHARD_IN || c->hup;
        shard_count(c->shard, bytes_in, n);
        take_input(c, (str){ c->shard->in, (size_t)n });
        c->readable |= c->unread;
    }
    shard_run_again(c);
}

void conn_again(struct conn *c)
{
    conn_read(c);
    conn_wake(c);
}

/* It may have ended while nobody wanted its input. */
static void read_all(struct conn *c)
{
    conn_read(c);
    if (c->hup && conn_is_open(c) && !c->eof && !c->shard->frozen && !c->proto->wants_input(c))
        end_of_input(c);
}

static void have_turn(struct loop_msg *msg)
{
    struct conn *c = (struct conn *)((char *)msg - offsetof(struct conn, turn));

    read_all(c);
    send_out(c);
}

static void on_event(struct loop_fd *f, uint32_t events)
{
    struct conn *c = (struct conn *)f;

    if (events & (EPOLLERR | EPOLLHUP)) {
        conn_kill(c);
        return;
    }
    if (events & (EPOLLIN | EPOLLRDHUP))
        c->readable = true;
    if (events & EPOLLRDHUP)
        c->hup = true;
    if (events & EPOLLOUT && c->blocked) {
        c->blocked = false;
        conn_wake(c);
    }
    if (shard_has_turn(c->shard, c->whose))
        read_all(c);
    else
        shard_run_again(c);
}

/* ---- timeouts ---- */

void conn_arm(struct conn *c, int64_t at_ms)
{
    if (c->timer.slot && c->timer.at_ms <= at_ms)
        return;
    loop_timer_set(c->shard->loop, &c->timer, at_ms - now_ms(c));
}

/* The earlier of two deadlines, 0 being none. */
static int64_t earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

static int64_t check(struct conn *c, int64_t now)
{
    const struct http_limits *limits = &c->shard->limits;
    int64_t at = 0;

    if (c->state == CONN_HANDSHAKE)
        at = c->since_ms + limits->handshake_ms;
    else if (c->state == CONN_LINGER)
        at = c->since_ms + LINGER_MS;
    if (c->pending.n)
        at = earlier(at, c->write_ms + limits->write_ms);
    if (at && now >= at) {
        if (c->state == CONN_LINGER)
            conn_kill(c);
        else
            conn_limit(c);
        return 0;
    }
    return conn_is_open(c) ? earlier(at, c->proto->check(c, now)) : at;
}

static void on_timer(struct loop_timer *t)
{
    struct conn *c = (struct conn *)((char *)t - offsetof(struct conn, timer));
    int64_t next = c->state == CONN_DEAD || c->shard->frozen ? 0 : check(c, now_ms(c));

    if (next && c->state != CONN_DEAD)
        conn_arm(c, next);
}
