/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_STREAM_H
#define HTTP_STREAM_H

/*
 * One request and its reply, on HTTP/1.1 or HTTP/2.
 *
 * It lives in its own arena.  While `conn` is set the connection holds it; a stream whose client
 * went away before the handler has replied stays (as an orphan) until the handler does.
 */

#include "http/shard.h"

/* Who is at the other end; shared by a connection and its streams, some of which outlive it. */
struct conn_who {
    unsigned refs;
    struct arena *arena; /* of the peer; may be NULL */
    const struct http_peer *peer;
    bool rejected;
    char remote[64];
};

void conn_who_unref(struct conn_who *w);

/* WAITING: for its turn; nobody has heard of it yet. */
enum stream_phase { STREAM_READING, STREAM_WAITING, STREAM_HANDLING, STREAM_REPLYING };

enum body_kind { BODY_NONE, BODY_PIECES, BODY_SOURCE, BODY_QUEUE };

/* What HTTP/2 keeps of a stream. */
struct h2_part {
    int32_t id;
    uint32_t owed;                    /* sent without nghttp2: see h2_credit.h */
    int64_t room;                     /* the window has at least so much */
    bool direct;                      /* the headers have left: an open end is sent by us */
    bool waits;                       /* for the window, or for the next turn */
    struct http_stream *next, **prev; /* on the connection's list of those to be sent */
};

enum { STREAM_HEADERS_MAX = 256 }; /* as many header lines; more get 431 */

struct body_pieces {
    const str *p;
    size_t n, i, at; /* piece i from byte at */
    uint64_t total;
};

struct body_source {
    struct http_source *src;
    struct buf rest; /* what the source gave beyond what fitted, from byte at */
    size_t at;
    bool done;
    bool paused; /* it has done enough for this turn of the loop */
};

enum { QUEUE_FEW = 4 };

struct body_queue {
    struct bytes **ring; /* n entries from head on, cap a power of two */
    size_t head, n, cap;
    size_t at;     /* in the first one */
    size_t queued; /* bytes in all */
    bool ended;
    struct bytes *few[QUEUE_FEW]; /* the ring, as long as it is short */
    void (*closed)(struct http_stream *s, void *arg);
    void (*data)(struct http_stream *s, void *arg, str bytes); /* of an upgraded connection */
    bool deaf;                                                 /* which wants none for now */
    void *arg;
};

struct http_stream {
    struct http_request req; /* first: they are the same to the outside */

    /* What an open end needs to pass a frame on lies together: there may be thousands. */
    struct conn *conn; /* NULL when the client is gone */
    struct shard *shard;
    enum stream_phase phase;
    enum body_kind kind;
    bool head;        /* HEAD: no body goes out */
    int64_t since_ms; /* READING: since when; REPLYING: when it last moved */
    struct h2_part h2;
    union {
        struct body_pieces pieces;
        struct body_source source;
        struct body_queue queue;
    };

    struct conn_who *who;
    struct loop_msg turn;            /* for which it waits */
    struct http_stream *next, *prev; /* of the connection, or of the shard's lists */
    struct http_stream **list;       /* the head of the list it is on */
    struct http_header *headers;
    size_t headers_cap, header_bytes;
    bool headers_too_large;
    bool headed;                            /* all request headers are there */
    bool received;                          /* the whole request is there */
    bool expects;                           /* 100-continue is asked for */
    void (*more)(struct http_request *req); /* of a body that comes while it is handled */
    struct buf body;
    size_t held; /* HTTP/2: bytes of it that we have not yet let the client replace */

    int status;
    struct http_header *reply_headers;
    size_t reply_nheaders;
    struct http_header *trailers;
    size_t ntrailers;
};

struct http_stream *stream_new(struct conn *c);
void stream_free(struct http_stream *s);

/* Puts it on the connection's list of those with something to send, and off. */
void stream_ready(struct http_stream *s);
void stream_unready(struct http_stream *s);

/* Both copied.  The name is in lower case. */
void stream_header(struct http_stream *s, str name, str value);
/* Splits the target into path and query. */
void stream_target(struct http_stream *s, str target);
/* Sets what the headers tell about the body; call after the last one. */
void stream_headed(struct http_stream *s);
/* Is it wanted, what comes of the body? */
bool stream_takes_body(const struct http_stream *s);
/* Another part of the body has come, of one that is being handled already. */
void stream_more(struct http_stream *s);
/* False when the connection holds far too much already: break the stream off. */
bool stream_body(struct http_stream *s, const void *p, size_t n);
/* The request is complete, or larger than allowed: calls the handler (or answers 431), now or when
 * it has a turn. */
void stream_dispatch(struct http_stream *s);
/* A short answer in plain text, for what never reaches the handler. */
void stream_refuse(struct http_stream *s, int status, const char *text);

/* The client is gone or was cut off: s is freed now, or when its user is done with it. */
void stream_detach(struct http_stream *s);

/* ---- the reply's body, for the protocols (reply.c) ---- */

/*
 * Appends at most max bytes to out; *eof tells that these were the last.  Returns how many, 0
 * without *eof when there are none yet, -1 to break off.
 */
ssize_t reply_fill(struct http_stream *s, struct buf *out, size_t max, bool *eof);
bool reply_ready(const struct http_stream *s); /* would it give something now? */
/* It gives no more in this turn of the loop, but would in the next; _resume begins that one. */
bool reply_paused(const struct http_stream *s);
void reply_resume(struct http_stream *s);
bool reply_is_bare(const struct http_stream *s); /* nothing follows the headers */
/* Content-Length of the reply, or -1 if it is not known (or there must be none). */
int64_t reply_length(const struct http_stream *s);
void reply_release(struct http_stream *s); /* the body's memory */
/* The server stops: calls `closed` of an open queue; what is in it is still sent. */
void reply_stop(struct http_stream *s);
/* Calls `closed` of an open queue and frees the stream: the shard's closer. */
void reply_closed(struct http_stream *s);

#endif
