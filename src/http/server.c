/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/conn.h"
#include "http/listen.h"
#include "http/shard.h"
#include "http/tls.h"

enum {
    ACCEPTS_A_TURN = 64,
    ACCEPT_RETRY_MS = 100, /* when descriptors have run out */
    ADDRESS_SIZE = 64,
};

struct http_server {
    struct loop_fd listener; /* first; on loops[0] */
    struct loop_timer accept_retry, grace;
    struct loop_msg accept_again;
    bool again_posted;
    struct tls *tls;
    struct http_limits limits;
    struct shard *shards;
    size_t nshards, next;
    char address[ADDRESS_SIZE];

    int64_t grace_ms;
    void (*done)(void *arg);
    void *done_arg;
    size_t draining; /* shards that have not yet ended; on loops[0] */
};

/* ---- addresses ---- */

static void format_address(const struct sockaddr *sa, socklen_t n, char *out, size_t size)
{
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";

    (void)getnameinfo(sa, n, host, sizeof(host), port, sizeof(port),
                      NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(out, size, sa->sa_family == AF_INET6 ? "[%.45s]:%.5s" : "%.45s:%.5s", host,
                   port);
}

static int open_listener(struct http_server *s, str address, int listener, struct status *st)
{
    struct sockaddr_storage sa = { 0 };
    socklen_t n = sizeof(sa);

    s->listener.fd = listener > 0 ? listener : listen_bind(address, st);
    if (s->listener.fd < 0 || listen_begin(s->listener.fd, st) < 0)
        return status_wrap(st, "listen on %.*s", STR_ARG(address));
    if (getsockname(s->listener.fd, (struct sockaddr *)&sa, &n) < 0)
        return status_errno(st, errno, "listen on %.*s", STR_ARG(address));
    format_address((struct sockaddr *)&sa, n, s->address, sizeof(s->address));
    return 0;
}

/* ---- accepting ---- */

struct handover {
    struct loop_msg msg;
    struct shard *shard;
    int fd;
    char remote[ADDRESS_SIZE];
};

static void take_over(struct loop_msg *msg)
{
    struct handover *h = (struct handover *)msg;

    conn_accept(h->shard, h->fd, h->remote);
    free(h);
}

static uint64_t open_connections(const struct http_server *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->nshards; i++)
        n += atomic_load_explicit(&s->shards[i].count.connections_open, memory_order_relaxed);
    return n;
}

static void hand_out(struct http_server *s, int fd, const struct sockaddr *sa, socklen_t n)
{
    struct shard *sh = &s->shards[s->next++ % s->nshards];
    struct handover *h;
    int on = 1;

    if (open_connections(s) >= s->limits.connections) {
        shard_count(&s->shards[0], rejected_limits, 1);
        (void)close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    h = mem_alloc(sizeof(*h));
    *h = (struct handover){ .msg.fn = take_over, .shard = sh, .fd = fd };
    format_address(sa, n, h->remote, sizeof(h->remote));
    if (sh == &s->shards[0])
        take_over(&h->msg);
    else
        loop_post(sh->loop, &h->msg);
}

/* Whether the error is of that one connection only, and the next may be better. */
static bool is_passing(int err)
{
    return err == EINTR || err == ECONNABORTED || err == EPROTO || err == EPERM;
}

static void accept_some(struct http_server *s)
{
    struct loop *l = s->shards[0].loop;

    for (int i = 0; i < ACCEPTS_A_TURN && s->listener.fd >= 0; i++) {
        struct sockaddr_storage sa = { 0 };
        socklen_t n = sizeof(sa);
        int fd = accept4(s->listener.fd, (struct sockaddr *)&sa, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            hand_out(s, fd, (struct sockaddr *)&sa, n);
            continue;
        }
        if (is_passing(errno))
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            loop_timer_set(l, &s->accept_retry, ACCEPT_RETRY_MS);
        return;
    }
    if (!s->again_posted && s->listener.fd >= 0) {
        s->again_posted = true;
        loop_post(l, &s->accept_again);
    }
}

static void on_listener(struct loop_fd *f, uint32_t events)
{
    (void)events;
    accept_some((struct http_server *)f);
}

static void on_accept_again(struct loop_msg *msg)
{
    struct http_server *s =
        (struct http_server *)((char *)msg - offsetof(struct http_server, accept_again));

    s->again_posted = false;
    accept_some(s);
}

static void on_accept_retry(struct loop_timer *t)
{
    accept_some((struct http_server *)((char *)t - offsetof(struct http_server, accept_retry)));
}

/* ---- life ---- */

static void on_grace(struct loop_timer *t);

static void start_accepting(void *arg)
{
    struct http_server *s = arg;

    if (s->listener.fd >= 0 && loop_fd_add(s->shards[0].loop, &s->listener) < 0)
        loop_timer_set(s->shards[0].loop, &s->accept_retry, ACCEPT_RETRY_MS);
}

struct http_server *http_server_new(const struct http_server_options *o, struct status *st)
{
    struct http_server *s = mem_zalloc(sizeof(*s));

    assert(o->nloops > 0 && o->handler);
    s->listener = (struct loop_fd){ .fd = -1, .fn = on_listener };
    s->accept_retry.fn = on_accept_retry;
    s->grace.fn = on_grace;
    s->accept_again.fn = on_accept_again;
    s->limits = o->limits;
    if (!o->plain)
        s->tls = tls_new(o->cert_pem, o->key_pem, o->client_ca_pem, st);
    if ((!o->plain && !s->tls) || open_listener(s, o->listen, o->listener, st) < 0) {
        http_server_free(s);
        return NULL;
    }
    s->shards = mem_zalloc(o->nloops * sizeof(*s->shards));
    s->nshards = o->nloops;
    for (size_t i = 0; i < o->nloops; i++) {
        shard_init(&s->shards[i], o->loops[i], s->tls, &o->limits, o->handler, o->arg);
        s->shards[i].early = o->early;
        s->shards[i].whose = o->whose;
    }
    loop_call(o->loops[0], start_accepting, s);
    return s;
}

str http_server_address(const struct http_server *s)
{
    return str_of(s->address);
}

int http_server_reload(struct http_server *s, str cert_pem, secret key_pem, struct status *st)
{
    return tls_reload(s->tls, cert_pem, key_pem, st);
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nshards; i++)
        shard_release(&s->shards[i]);
    if (s->listener.fd >= 0)
        (void)close(s->listener.fd);
    tls_free(s->tls);
    free(s->shards);
    free(s);
}

void http_server_stats(const struct http_server *s, struct http_stats *out)
{
    *out = (struct http_stats){ 0 };
    for (size_t i = 0; i < s->nshards; i++) {
#define X(name) out->name += atomic_load_explicit(&s->shards[i].count.name, memory_order_relaxed);
        SHARD_COUNTERS(X)
#undef X
    }
}

/* ---- stopping ---- */

static void one_drained(void *arg)
{
    struct http_server *s = arg;

    if (--s->draining > 0)
        return;
    loop_timer_cancel(s->shards[0].loop, &s->grace);
    if (s->done)
        s->done(s->done_arg);
}

/* On the shard's loop: tells loops[0], once. */
static void on_drained(struct shard *sh)
{
    struct http_server *s = sh->drained_arg;

    sh->drained = NULL;
    loop_call(s->shards[0].loop, one_drained, s);
}

static void stop_shard(void *arg)
{
    struct shard *sh = arg;

    shard_stop(sh);
}

static void close_shard(void *arg)
{
    shard_close_all(arg);
}

static void on_grace(struct loop_timer *t)
{
    struct http_server *s = (struct http_server *)((char *)t - offsetof(struct http_server, grace));

    for (size_t i = 0; i < s->nshards; i++)
        loop_call(s->shards[i].loop, close_shard, &s->shards[i]);
}

static void stop_accepting(struct http_server *s)
{
    struct loop *l = s->shards[0].loop;

    if (s->listener.fd >= 0) {
        loop_fd_remove(l, &s->listener);
        (void)close(s->listener.fd);
        s->listener.fd = -1;
    }
    loop_timer_cancel(l, &s->accept_retry);
}

static void start_stopping(void *arg)
{
    struct http_server *s = arg;
    struct loop *l = s->shards[0].loop;

    stop_accepting(s);
    s->draining = s->nshards;
    loop_timer_set(l, &s->grace, s->grace_ms);
    for (size_t i = 0; i < s->nshards; i++) {
        s->shards[i].drained = on_drained;
        s->shards[i].drained_arg = s;
        loop_call(s->shards[i].loop, stop_shard, &s->shards[i]);
    }
}

void http_server_stop(struct http_server *s, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
    s->grace_ms = grace_ms;
    s->done = done;
    s->done_arg = arg;
    loop_call(s->shards[0].loop, start_stopping, s);
}

/* ---- playing a broken one ---- */

static void freeze_shard(void *arg)
{
    shard_freeze(arg, true);
}

static void thaw_shard(void *arg)
{
    shard_freeze(arg, false);
}

void http_server_freeze(struct http_server *s, bool frozen)
{
    for (size_t i = 0; i < s->nshards; i++)
        loop_call(s->shards[i].loop, frozen ? freeze_shard : thaw_shard, &s->shards[i]);
}

void http_server_close(struct http_server *s)
{
    assert(loop_is_current(s->shards[0].loop));
    stop_accepting(s);
    /* Connections that are on their way to a loop get there before this does. */
    for (size_t i = 0; i < s->nshards; i++)
        loop_call(s->shards[i].loop, close_shard, &s->shards[i]);
}

int http_server_reopen(struct http_server *s, struct status *st)
{
    scoped_arena a = arena_new();

    assert(loop_is_current(s->shards[0].loop));
    if (s->listener.fd >= 0)
        return 0;
    if (open_listener(s, str_dup(a, str_of(s->address)), 0, st) < 0)
        return -1;
    start_accepting(s);
    return 0;
}
