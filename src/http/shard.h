/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_SHARD_H
#define HTTP_SHARD_H

/*
 * One loop's part of a server: its connections, and what they share because only one of them runs
 * at a time: buffers for one read and one write, the Date header, counters.  Touched on the loop's
 * thread only, but for the counters.
 */

#include <stdatomic.h>

#include "http/server.h"
#include "http/tls.h"

struct conn;
struct http_stream;

#define SHARD_COUNTERS(X) \
    X(connections)        \
    X(connections_open)   \
    X(requests)           \
    X(requests_open)      \
    X(streams_open)       \
    X(bytes_in)           \
    X(bytes_out)          \
    X(rejected_limits)

enum {
    SHARD_IN = 64 << 10,       /* bytes of one read */
    SHARD_TEXT = 4 << 10,      /* decrypted, and handed on at once: some fifty small requests */
    SHARD_OUT = 128 << 10,     /* output gathered before one TLS write and one send, */
    SHARD_OUT_BUSY = 16 << 10, /* while others wait */
    SHARD_OUT_MAX = 256 << 20, /* what a source may append in one go, at most */
    DATE_SIZE = 30,
};

struct shard {
    struct loop *loop;
    struct tls *tls; /* NULL: plain (tests) */
    struct http_limits limits;
    http_handler *handler;
    http_early *early; /* may be NULL */
    http_whose *whose; /* may be NULL */
    void *arg;

    struct conn *conns;
    struct http_stream *orphans; /* the client is gone, the handler has not replied */
    struct http_stream *closing; /* `closed` is still to be called */
    struct loop_defer closer;

    char *in;         /* for one read */
    str given;        /* what TLS has still to take of what was read */
    char *text;       /* decrypted */
    struct buf plain; /* output before TLS */
    struct buf wire;  /* and behind it */
    bool pulled;      /* a source was asked for the output that is being made */
    BIO *bio;         /* between OpenSSL and in, wire */
    struct tls_memory memory;

    int64_t date_s;
    char date[DATE_SIZE];

    bool stopping;
    bool frozen;                      /* connections are kept, and nothing moves on them */
    bool ended;                       /* the loop is gone: nothing may call it */
    void (*drained)(struct shard *s); /* stopping, and the last connection has gone */
    void *drained_arg;

    struct {
#define X(name) _Atomic uint64_t name;
        SHARD_COUNTERS(X)
#undef X
    } count;
};

void shard_init(struct shard *sh, struct loop *l, struct tls *tls, const struct http_limits *limits,
                http_handler *handler, void *arg);
void shard_release(struct shard *sh); /* the loop is gone, or no connection is open */

void shard_stop(struct shard *sh);      /* no new requests; `drained` when all have ended */
void shard_close_all(struct shard *sh); /* now */
void shard_freeze(struct shard *sh, bool frozen);
void shard_conn_gone(struct shard *sh);                /* a connection was taken off the list */
str shard_date(struct shard *sh);                      /* "Tue, 15 Nov 1994 08:12:31 GMT" */
void shard_run_again(struct conn *c);                  /* reads and flushes it when it has a turn */
bool shard_has_turn(struct shard *sh, uint64_t whose); /* or there are none here: loop/loop.h */
void shard_close_later(struct shard *sh, struct http_stream *s); /* calls its `closed` */

/* One thread writes, any reads: no locked instruction is needed. */
#define shard_count(sh, name, n)                                                          \
    atomic_store_explicit(&(sh)->count.name,                                              \
                          atomic_load_explicit(&(sh)->count.name, memory_order_relaxed) + \
                              (uint64_t)(n),                                              \
                          memory_order_relaxed)

#endif
