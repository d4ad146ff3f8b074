/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_HTTP_H2SESSION_H
#define UNIT_HTTP_H2SESSION_H

/* One HTTP/2 session with the server on a wire of the test: what was sent, what came back. */

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "tap.h"
#include "unit/http_h2lib.h"
#include "unit/http_testlib.h"

static struct wire w;
static struct buf out; /* what we are about to send */
static nghttp2_hd_inflater *inflater;
static struct h2_got got[4096];
static size_t ngot, got_at;

/* Sends what was built, and reads what came. */
static inline void flush_out(void)
{
    wire_write(&w, out.p, out.n);
    buf_clear(&out);
    while (ngot < sizeof(got) / sizeof(got[0]) &&
           h2_next(buf_str(&w.out), &got_at, inflater, &got[ngot]))
        ngot++;
    /* The buffer may have moved. */
    got_at = 0;
    for (size_t i = 0; i < ngot; i++) {
        got[i].payload.p = w.out.p + got_at + 9;
        got_at += 9 + got[i].payload.n;
    }
}

/* acked: the client has seen our settings. */
static inline void begin_session(bool acked)
{
    buf_init(&out, 64 << 20);
    ngot = got_at = 0;
    if (nghttp2_hd_inflate_new(&inflater) != 0)
        abort();
    buf_append(&out, h2_preface, sizeof(h2_preface) - 1);
    h2_frame(&out, SETTINGS, 0, 0, NULL, 0);
    if (acked)
        h2_frame(&out, SETTINGS, ACK, 0, NULL, 0);
    flush_out();
}

static inline void open_with(const struct http_limits *limits)
{
    wire_open(&w, &h2_proto, limits);
    begin_session(true);
}

static inline void open_h2(void)
{
    open_with(&HTTP_LIMITS_DEFAULT);
}

static inline void release(void)
{
    wire_release(&w);
    buf_release(&out);
    nghttp2_hd_inflate_del(inflater);
}

static inline const struct h2_got *frame_of(int type, int32_t id)
{
    for (size_t i = ngot; i-- > 0;)
        if (got[i].type == type && got[i].id == id)
            return &got[i];
    return NULL;
}

static inline size_t count_of(int type, int32_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < ngot; i++)
        n += got[i].type == type && (id < 0 || got[i].id == id);
    return n;
}

static inline int status_of(int32_t id)
{
    const struct h2_got *g = frame_of(HEADERS, id);

    return g ? g->status : 0;
}

static inline uint32_t reset_code(int32_t id)
{
    const struct h2_got *g = frame_of(RST_STREAM, id);

    return g ? h2_u32(g->payload, 0) : 0xffffffff;
}

static inline size_t body_bytes(int32_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < ngot; i++)
        if (got[i].type == DATA && got[i].id == id)
            n += got[i].payload.n;
    return n;
}

static inline bool body_is(int32_t id, const char *text)
{
    const struct h2_got *g = NULL;

    for (size_t i = 0; i < ngot; i++) /* the end may come as a frame of its own */
        if (got[i].type == DATA && got[i].id == id && (got[i].payload.n || !g))
            g = &got[i];
    return g && str_is(g->payload, text);
}

static inline bool ended(int32_t id)
{
    const struct h2_got *d = frame_of(DATA, id), *h = frame_of(HEADERS, id);

    return (d && d->flags & END_STREAM) || (h && h->flags & END_STREAM);
}

/* GOAWAY with that code, and the connection is closed. */
static inline bool sent_away(uint32_t code)
{
    const struct h2_got *g = frame_of(GOAWAY, 0);

    return g && h2_u32(g->payload, 4) == code && w.ended;
}

static inline void get(int32_t id, const char *path)
{
    h2_request(&out, id, "GET", path, END_STREAM);
}

#endif
