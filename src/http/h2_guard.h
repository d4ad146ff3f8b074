/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_H2_GUARD_H
#define HTTP_H2_GUARD_H

/*
 * Watches the frames that a client sends, before nghttp2 sees them, and says when it has had
 * enough: too many resets, too many frames that cost us work and carry nothing, header blocks
 * without end.  Knows no more of HTTP/2 than the frame header.
 */

#include <stdbool.h>

#include "http/limits.h"

enum { H2_PREFACE = 24, H2_FRAME_HEADER = 9 };

struct h2_budget { /* so many per window */
    int64_t since_ms;
    unsigned n;
};

struct h2_guard {
    const struct http_limits *limits;
    size_t preface; /* bytes of it still to come */
    unsigned char header[H2_FRAME_HEADER];
    size_t header_n;  /* bytes of it that are there */
    size_t payload;   /* bytes of it still to come */
    bool in_block;    /* HEADERS came, END_HEADERS did not */
    size_t block;     /* bytes of CONTINUATION in it */
    int64_t since_ms; /* in the middle of a header block, or of a frame that is no DATA; or 0 */
    struct h2_budget resets, controls;
};

void h2_guard_init(struct h2_guard *g, const struct http_limits *limits);

/* False when the client has used up what it may. */
bool h2_guard_input(struct h2_guard *g, const void *p, size_t n, int64_t now_ms);

/* A stream was reset, by either side.  False when that was one too many. */
bool h2_guard_reset(struct h2_guard *g, int64_t now_ms);

#endif
