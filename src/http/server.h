/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

/*
 * An HTTP server: TLS 1.2/1.3, HTTP/2 and HTTP/1.1 on one port by ALPN, on several loops; or, if
 * asked, HTTP/1.1 without TLS.
 *
 * A connection belongs to one loop for life; requests, replies and streams of it are touched on
 * that loop's thread only.  The handler is called with the whole body, or if it wishes so before it
 * has come (http_server_options.early).  A request lives until its
 * reply has been handed to the kernel (or the client is gone); its arena with all that is deferred
 * to it lives just as long, so replies may point into the arena and into what it holds.
 *
 * All output of a connection made in one turn of the loop leaves in one TLS write.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/secret.h"
#include "base/status.h"
#include "base/str.h"
#include "http/limits.h"
#include "loop/loop.h"

struct http_header {
    str name, value; /* names in lower case */
};

/* Who is at the other end, from a client certificate that our client CA signed. */
struct http_peer {
    str cn;
    const str *orgs;
    size_t norgs;
    const str *uris; /* subject alternative names */
    size_t nuris;
    str uid;                       /* of the subject */
    str credential_id;             /* "X509SHA256=…", of its bytes */
    int64_t not_before, not_after; /* seconds since 1970 */
    bool not_for_clients;          /* it says what it is for, and that is something else */
};

struct http_request {
    struct arena *arena;
    struct loop *loop;
    str method, path, query; /* path as sent, before '?', not decoded; query behind it */
    const struct http_header *headers;
    size_t nheaders;
    str body;
    bool body_too_large;          /* over limits.body: body is empty, answer 413 */
    bool body_follows;            /* it comes while the request is handled: see below */
    const struct http_peer *peer; /* NULL without a (good) client certificate */
    bool peer_rejected;           /* there was one that our client CA does not vouch for */
    str remote;                   /* "127.0.0.1:51234" */
    int version;                  /* 1 or 2 */
    /*
     * Set by a handler that replies later: called when the client is gone or the server stops
     * before the reply.  A reply after that is allowed and goes nowhere.
     */
    void (*cancelled)(struct http_request *req);
    void *user;
};

/* First header of that (lower-case) name, or the empty string. */
str http_request_header(const struct http_request *req, const char *name);

/*
 * ---- bodies that come while the request is handled (HTTP/2) ----
 *
 * `more` is called when another part of it has come, or its end, or when it was too large; not from
 * within one of these functions, and not when the reply is complete.  What has come and is not yet
 * consumed is limited by limits.body.
 */
void http_body_listen(struct http_request *req, void (*more)(struct http_request *req));
str http_body_peek(const struct http_request *req, bool *end); /* valid until the next part */
void http_body_consume(struct http_request *req, size_t n);

/* ---- replies: exactly one of these per request, now or later, on its loop ---- */

/* What is to follow the body, copied: before the reply, or before its end.  HTTP/2 only. */
void http_reply_trailers(struct http_request *req, const struct http_header *h, size_t n);

/*
 * Pieces are sent one after the other and must live as long as the request's arena.  Date is added;
 * content-length too; a HEAD sends none of the body.
 */
void http_reply(struct http_request *req, int status, const struct http_header *headers,
                size_t nheaders, const str *pieces, size_t npieces);

/* A body made piece by piece, as the client takes it: bounded memory for replies of any size. */
struct http_source {
    /*
     * Appends some bytes to out (about `want`, more is fine) and returns 1, 0 when that was the
     * last, or -1 to break off (the client sees an error, never a complete answer).  Fewer than
     * `want`, even none, say that it is enough for this turn of the loop: it goes on in the next.
     */
    int (*pull)(struct http_source *self, struct buf *out, size_t want);
};
void http_reply_source(struct http_request *req, int status, const struct http_header *headers,
                       size_t nheaders, struct http_source *src);

/*
 * An open end: headers leave at once, then whatever is pushed.  `closed` is called once, when the
 * client is gone, the queue was full, or the server stops; not after http_stream_end, and never
 * from within one of these functions.  The stream is the request: it lives until closed or ended.
 */
struct http_stream;
struct http_stream *http_reply_stream(struct http_request *req, int status,
                                      const struct http_header *headers, size_t nheaders,
                                      void (*closed)(struct http_stream *s, void *arg), void *arg);
/*
 * The connection becomes what the headers say (101), HTTP/1.1 only: `data` gets all that comes from
 * now on, never from within one of these functions, and what is pushed leaves as it is.  The end of
 * the stream is that of the connection.
 */
struct http_stream *http_reply_upgrade(struct http_request *req, const struct http_header *headers,
                                       size_t nheaders,
                                       void (*data)(struct http_stream *s, void *arg, str bytes),
                                       void (*closed)(struct http_stream *s, void *arg), void *arg);
void http_stream_pause(struct http_stream *s, bool paused); /* no more data for now */
/* Takes a reference of its own.  When more than limits.stream_queue bytes wait, the stream is reset
 * (a reader that cannot keep up is closed, never skipped) and false is returned. */
bool http_stream_push(struct http_stream *s, struct bytes *b);
size_t http_stream_queued(const struct http_stream *s);
void http_stream_end(struct http_stream *s);

/* ---- the server ---- */

struct http_server;

typedef void http_handler(struct http_request *req, void *arg);
/* The headers are there: true if the handler wants it now, and the body as it comes. */
typedef bool http_early(const struct http_request *req, void *arg);

/* Whom a request is for, as a number: those of many have turns (loop/loop.h).  Never 0. */
typedef uint64_t http_whose(const struct http_request *req, void *arg);

struct http_server_options {
    str listen;   /* "127.0.0.1:6443", "[::1]:0", ":6443" */
    int listener; /* or one of http/listen.h, at that address; 0: none.  It is the server's then */
    struct loop *const *loops;
    size_t nloops;
    struct http_limits limits;
    bool plain;   /* HTTP/1.1 without TLS, for answers without secrets; every caller is anonymous */
    str cert_pem; /* else the serving certificate (chain) */
    secret key_pem;
    str client_ca_pem;     /* may be empty: no client certificates */
    http_handler *handler; /* called on the connection's loop */
    http_early *early;     /* may be NULL */
    http_whose *whose;     /* NULL: first come, first served */
    void *arg;
};

/* Listens, then serves as soon as the loops run.  Fails with a message that says what to do
 * (address in use …). */
struct http_server *http_server_new(const struct http_server_options *o, struct status *st);
str http_server_address(const struct http_server *s); /* "127.0.0.1:6443", with the real port */

/* New connections use the new certificate. Any thread. */
int http_server_reload(struct http_server *s, str cert_pem, secret key_pem, struct status *st);

/*
 * Stops accepting, tells HTTP/2 clients to go away, ends streams cleanly, lets running requests end
 * within grace_ms, then closes all; calls done on loops[0].
 */
void http_server_stop(struct http_server *s, int64_t grace_ms, void (*done)(void *arg), void *arg);
/* After its loops are gone (loop_free), or once stop has called done and no request is open.  What
 * is still open is closed without a word to the clients. */
void http_server_free(struct http_server *s);

/* ---- for servers that play broken ones ---- */

/* From now on no connection, old or new, takes or gives a byte; until it thaws.  Any thread. */
void http_server_freeze(struct http_server *s, bool frozen);
/*
 * Closes the listener and all connections at once, without a word; then listens again at the same
 * address.  Both on the thread of loops[0].
 */
void http_server_close(struct http_server *s);
int http_server_reopen(struct http_server *s, struct status *st)
    __attribute__((warn_unused_result));

/* Counters, summed over the loops; fields never change meaning. */
struct http_stats {
    uint64_t connections, connections_open, requests, requests_open, streams_open, bytes_in,
        bytes_out;
    uint64_t rejected_limits; /* connections or streams closed by a limit */
};
void http_server_stats(const struct http_server *s, struct http_stats *out);

#endif
