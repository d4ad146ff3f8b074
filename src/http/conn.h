/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

/*
 * A server's connection: moves bytes between a socket (or a test), TLS, and HTTP/1.1 or HTTP/2.
 *
 * Nothing is freed in the middle of a call: conn_kill only marks the connection, which goes at the
 * end of the turn.  Idle connections own no buffers; those are the shard's.
 */

#include <openssl/ssl.h>
#include <sys/types.h>

#include "http/stream.h"

/* What a connection reads from and writes to: -1 with errno as recv(2), send(2). */
struct conn_io {
    ssize_t (*recv)(struct conn *c, void *p, size_t n);
    ssize_t (*send)(struct conn *c, const void *p, size_t n);
    void (*end)(struct conn *c);   /* no more output comes */
    void (*close)(struct conn *c); /* the connection goes */
};

/* What HTTP/1.1 and HTTP/2 do on a connection. */
struct conn_proto {
    void (*open)(struct conn *c);
    void (*close)(struct conn *c); /* frees; the streams are gone already */
    bool (*wants_input)(const struct conn *c);
    void (*input)(struct conn *c, const char *p, size_t n);
    void (*eof)(struct conn *c); /* no more input comes */
    /* Appends output until out holds about max bytes; true if there is more. */
    bool (*fill)(struct conn *c, struct buf *out, size_t max);
    void (*reply)(struct http_stream *s); /* headers are known */
    void (*ready)(struct http_stream *s); /* the queue has grown or ended */
    void (*reset)(struct http_stream *s); /* break off; s is detached afterwards by the caller */
    int64_t (*check)(struct conn *c, int64_t now); /* acts on timeouts; the next one, or 0 */
    void (*drain)(struct conn *c); /* the server stops: no new requests, end when all are done */
};
extern const struct conn_proto h1_proto, h2_proto;

enum conn_state {
    CONN_HANDSHAKE,
    CONN_OPEN,
    CONN_CLOSING, /* sends what it has, then ends */
    CONN_LINGER, /* has ended; waits a little for the other side, or it might lose our last words */
    CONN_DEAD,
};

struct conn {
    struct loop_fd fd; /* first */
    const struct conn_io *io;
    void *io_arg;
    struct shard *shard;
    struct conn *next, *prev;
    struct loop_msg turn; /* it waits to be read from, or to send more */
    uint64_t whose;       /* the last of its requests that waited was */

    enum conn_state state;
    bool readable; /* there may be more to read */
    bool hup;      /* the other side has ended; what it sent before may still be unread */
    bool eof;      /* and now all is read, or nobody wants it */
    bool blocked;  /* the socket takes no more for now */
    bool said_goodbye;
    SSL *ssl;
    const struct conn_proto *proto;
    void *impl; /* the protocol's */
    struct loop_defer flush;
    struct loop_timer timer;
    int64_t since_ms; /* of the state; OPEN: of being without a request */
    int64_t write_ms; /* when the other side last took something */
    int64_t clear_ms; /* when it last had taken all */

    struct buf pending; /* encrypted, not yet taken, from byte pending_at */
    size_t pending_at;
    bool unread;        /* there is more of what was read: the turn had an end */
    struct buf encoded; /* of it, what TLS had not taken when the turn ended, */
    str rest;           /* and what of this it has not taken yet */

    struct http_stream *streams; /* newest first */
    struct http_stream *ready;   /* HTTP/2: open ends with something to send, oldest first */
    struct http_stream **ready_tail;
    unsigned nstreams;
    size_t queued; /* bytes in their queues */
    size_t bodies; /* and in their request bodies */

    struct conn_who *who;
};

/* A connection on a socket (which becomes the connection's), with TLS if the shard has it; or on a
 * test's io without. */
void conn_accept(struct shard *sh, int fd, const char *remote);
struct conn *conn_open_plain(struct shard *sh, const struct conn_io *io, void *io_arg,
                             const struct conn_proto *proto);

void conn_wake(struct conn *c);               /* there is output: flush at the turn's end */
void conn_end(struct conn *c);                /* close after what is to be sent */
void conn_kill(struct conn *c);               /* close without another word */
void conn_limit(struct conn *c);              /* kill because of a limit */
void conn_arm(struct conn *c, int64_t at_ms); /* check timeouts then, or sooner */
void conn_again(struct conn *c);
void conn_destroy(struct conn *c);

static inline bool conn_is_open(const struct conn *c)
{
    return c->state == CONN_OPEN;
}

#endif
