/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_H1_HEAD_H
#define HTTP_H1_HEAD_H

/*
 * The head of an HTTP/1.1 request, read strictly: whatever two servers might understand in two
 * ways (and so one request hide behind another) is refused.  Bare LF, folded lines, blanks before
 * the colon, two lengths, a length and chunks: all 400.
 */

#include "base/str.h"

/*
 * Bytes up to and with the empty line that ends the head which begins at p, 0 when it is not there
 * yet, or -1 when a line ends in a bare LF.  *at is where to go on looking; begin with 0.
 */
ptrdiff_t h1_head_end(str in, size_t *at);

struct h1_head {
    str method, target;
    int minor; /* of HTTP/1.x */
    bool keep_alive, chunked;
    bool expects_other; /* an expectation that is not 100-continue */
    bool has_length;
    uint64_t length;
    unsigned hosts;

    const char *error; /* why it was refused */
};

/* Called for each header; the name is in lower case. */
typedef void h1_header_fn(void *arg, str name, str value);

/*
 * Reads a whole head (names are put in lower case in place).  0, or the HTTP status to refuse it
 * with; headers may have been told before.
 */
int h1_head_parse(struct h1_head *out, char *p, size_t n, h1_header_fn *fn, void *arg);

/* A chunk's size line without its CRLF; false if it is malformed. */
bool h1_chunk_size(str line, uint64_t *size);

#endif
