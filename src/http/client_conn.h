/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CLIENT_CONN_H
#define HTTP_CLIENT_CONN_H

/*
 * The inside of the HTTP client: a client has connections, a connection has requests.
 *
 * client.c queues requests and decides which connection takes which; client_conn.c moves bytes
 * (TCP, TLS); client_h1.c and client_h2.c turn requests into bytes and bytes into replies.  A
 * callback of the user may do anything, even free the client: so a connection that is closed while
 * one of its functions runs (busy) stays as an empty shell until that function has returned.
 */

#include <openssl/ssl.h>

#include "http/client.h"
#include "http/client_resolve.h"

struct client_conn;

enum {
    CLIENT_HEADERS_MAX = 256 << 10, /* bytes of a reply's headers */
    CLIENT_OUT_BATCH = 64 << 10,    /* bytes gathered for one write */
    CLIENT_TRIES = 3,               /* a request is sent at most as often */
    CLIENT_TAIL_MAX = 8 << 20,      /* bytes that wait behind a 101 */
};

/* What the client keeps of one http_call; call->impl points here. */
struct client_req {
    struct client_req *next, *prev; /* in the list that holds it */
    struct http_call *call;
    struct http_client *client;
    struct client_conn *conn; /* NULL while it waits */
    struct loop_timer timer;
    int32_t stream; /* HTTP/2 */
    size_t sent;    /* bytes of the body that have been taken */
    uint64_t seq;
    unsigned tries;
    size_t unread;   /* bytes handed over while paused */
    struct buf tail; /* behind a 101: what is still to be sent */
    bool switched;
    bool paused;
    bool headed;   /* the head of the reply was handed over */
    bool complete; /* the reply came whole */
};

struct client_reqs {
    struct client_req *first, *last;
    unsigned n;
};

void client_reqs_push(struct client_reqs *l, struct client_req *r);
void client_reqs_remove(struct client_reqs *l, struct client_req *r);

/* HTTP/1.1 or HTTP/2 on an open connection. */
struct client_proto {
    void (*open)(struct client_conn *c);
    bool (*room)(const struct client_conn *c); /* for one more request? */
    void (*start)(struct client_conn *c, struct client_req *r);
    void (*cancel)(struct client_conn *c, struct client_req *r); /* r is off the list already */
    int (*recv)(struct client_conn *c, str bytes, struct status *st);
    /* The other side has ended: 0 if that completes what was running. */
    int (*eof)(struct client_conn *c, struct status *st);
    void (*fill)(struct client_conn *c);                         /* puts output into c->out */
    void (*resume)(struct client_conn *c, struct client_req *r); /* is paused no more */
    void (*ping)(struct client_conn *c); /* NULL: the kernel's keep-alive must do */
    void (*release)(struct client_conn *c);
};

extern const struct client_proto client_h1, client_h2;

enum client_conn_state {
    CONN_RESOLVING,
    CONN_CONNECTING,
    CONN_TUNNEL, /* a proxy is asked for the way on */
    CONN_TLS,
    CONN_OPEN,
    CONN_CLOSED
};

struct client_conn {
    struct loop_fd fd;
    struct client_conn *next;   /* of the client */
    struct http_client *client; /* NULL once closed */
    struct loop *loop;
    enum client_conn_state state;
    unsigned busy;
    bool draining; /* takes no more requests; closes when it has none */
    bool own;      /* of one request, which is to be upgraded */
    bool used;     /* has answered a request before */
    bool pinged, again_posted, failed;

    struct client_resolve *resolve;
    struct client_addrs addrs;
    unsigned addr;   /* the one being tried */
    bool hup;        /* the other side has ended */
    bool short_read; /* the last read took all there was; a new edge will tell of more */

    SSL *ssl;
    const struct client_proto *proto;
    void *state_h; /* of the protocol */
    struct client_reqs reqs;
    struct buf out;
    size_t out_at;
    int64_t read_ms, idle_ms;
    struct loop_timer timer;
    struct loop_defer flush;
    struct loop_msg again;
};

struct http_client {
    struct http_client_options o;
    struct arena *arena; /* of the options' strings */
    str authority;
    SSL_CTX *tls;
    struct client_conn *conns;
    struct client_reqs waiting;
    struct client_req *spare; /* for reuse */
    bool http1;               /* what the last connection spoke */
    bool freed;
    unsigned held; /* memory stays while > 0 */
    uint64_t seq;  /* of the newest request */
};

/* ---- client_conn.c ---- */

/* Begins to connect; never calls back before it has returned. */
void client_conn_open(struct http_client *c);
/* One of its own for this request, which is taken. */
void client_conn_open_for(struct http_client *c, struct client_req *r);
/* Closes without a word to its requests, which must have been taken off. */
void client_conn_close(struct client_conn *conn);
/* Reads on, a turn later. */
void client_conn_read_later(struct client_conn *conn);
/* Output is waiting: it leaves at the end of this turn. */
void client_conn_flush_later(struct client_conn *conn);

/* ---- client.c, for the connections ---- */

/* Keeps the memory of a client whose user frees it in a callback. */
void client_hold(struct http_client *c);
void client_unhold(struct http_client *c);
/* The connection is open, or has room again. */
void client_pump(struct http_client *c);
/* A request is over: takes it off its list, calls `end`, may start others or free the client. */
void client_req_end(struct client_req *r, const struct status *why);
/* The request was surely not looked at: once more, or end with `why` after too many tries. */
void client_req_again(struct client_req *r, const struct status *why);
/* The connection is lost with all that runs on it; closes it. */
void client_conn_fail(struct client_conn *conn, const struct status *why);

/* ---- client_tunnel.c ---- */

/* Asks the proxy for a connection to the server; false with a status when that fails. */
bool client_tunnel_ask(struct client_conn *conn, struct status *st);
/* Reads its answer: 1 the way is free, 0 there is more to come, -1 it is not. */
int client_tunnel_read(struct client_conn *conn, struct status *st);

/* ---- client_tls.c ---- */

SSL_CTX *client_tls_new(const struct http_client_options *o, struct status *st);
/* A connection's TLS on its socket, ready for the handshake. */
void client_tls_name(SSL *ssl, const char *name); /* whom to ask for, and to verify */
SSL *client_tls_session(struct http_client *c, struct client_conn *conn);
/* Says what OpenSSL has to say: certificate errors first. */
int client_tls_status(struct status *st, SSL *ssl, const char *what);

#endif
