/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CLIENT_H1_READER_H
#define HTTP_CLIENT_H1_READER_H

/*
 * Reads one HTTP/1.1 reply after the other from bytes as they come: RFC 9112, with a bare LF
 * taken for CRLF.  Replies 1xx are skipped, but 101.  Never holds more than the headers of one
 * reply.
 */

#include "base/buf.h"
#include "base/status.h"
#include "http/server.h"

enum h1_reader_state {
    H1_HEAD,
    H1_BODY,       /* `left` bytes */
    H1_CHUNK_SIZE, /* a line */
    H1_CHUNK,      /* `left` bytes */
    H1_CHUNK_END,  /* the empty line behind a chunk */
    H1_TRAILER,    /* lines up to an empty one */
    H1_UNTIL_CLOSE,
    H1_DONE,
};

struct h1_reader {
    enum h1_reader_state state;
    struct buf line; /* what is not yet whole: head or a line */
    uint64_t left;
    bool no_body;    /* the request was a HEAD */
    bool may_switch; /* it asked for another protocol: 101 is an answer, and all behind it data */
    bool keep_alive; /* known once the head is read */

    void (*head)(void *arg, int status, const struct http_header *h, size_t n);
    void (*data)(void *arg, str bytes);
    void *arg;
};

void h1_reader_init(struct h1_reader *r); /* then set the callbacks */
void h1_reader_release(struct h1_reader *r);

/* The next reply, to a HEAD request or not. */
void h1_reader_next(struct h1_reader *r, bool no_body);

/*
 * Takes bytes until the reply is done (state H1_DONE) or they are used up; *used says how many.
 * Fails with UNAVAILABLE when this is not HTTP.  `stop` may be set by a callback to return at once.
 */
int h1_reader_feed(struct h1_reader *r, str bytes, size_t *used, const bool *stop,
                   struct status *st) __attribute__((warn_unused_result));

/* The connection has ended: true if the reply is whole by that. */
bool h1_reader_eof(struct h1_reader *r);

#endif
