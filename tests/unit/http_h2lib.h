/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_H2LIB_H
#define HTTP_H2LIB_H

/*
 * HTTP/2 frames by hand, for tests that must be able to send nonsense: builds them into a buffer,
 * and reads them from one.  Include after the system headers.
 */

#include <nghttp2/nghttp2.h>
#include <string.h>

#include "base/buf.h"

enum {
    DATA,
    HEADERS,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    PUSH_PROMISE,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    CONTINUATION
};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8 };

static const char h2_preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static inline void h2_frame(struct buf *b, int type, int flags, int32_t id, const void *p, size_t n)
{
    const unsigned char h[9] = {
        (unsigned char)(n >> 16),  (unsigned char)(n >> 8),  (unsigned char)n,
        (unsigned char)type,       (unsigned char)flags,     (unsigned char)(id >> 24),
        (unsigned char)(id >> 16), (unsigned char)(id >> 8), (unsigned char)id,
    };

    buf_append(b, h, sizeof(h));
    buf_append(b, p, n);
}

static inline void h2_u32_frame(struct buf *b, int type, int flags, int32_t id, uint32_t v)
{
    const unsigned char p[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16),
                                 (unsigned char)(v >> 8), (unsigned char)v };

    h2_frame(b, type, flags, id, p, sizeof(p));
}

/* A literal of HPACK that is not indexed. */
static inline void hpack(struct buf *b, const char *name, const char *value)
{
    size_t n = strlen(value);

    buf_byte(b, 0);
    buf_byte(b, (char)strlen(name));
    buf_append(b, name, strlen(name));
    if (n < 127) {
        buf_byte(b, (char)n);
    } else {
        buf_byte(b, 127);
        for (n -= 127; n >= 128; n >>= 7)
            buf_byte(b, (char)(128 | (n & 127)));
        buf_byte(b, (char)n);
    }
    buf_append(b, value, strlen(value));
}

static inline void hpack_request(struct buf *b, const char *method, const char *path)
{
    hpack(b, ":method", method);
    hpack(b, ":scheme", "https");
    hpack(b, ":authority", "a");
    hpack(b, ":path", path);
}

static inline void h2_request(struct buf *b, int32_t id, const char *method, const char *path,
                              int flags)
{
    scoped_buf block;

    buf_init(&block, 1 << 20);
    hpack_request(&block, method, path);
    h2_frame(b, HEADERS, END_HEADERS | flags, id, block.p, block.n);
}

/* ---- what came back ---- */

struct h2_got {
    int type, flags, status; /* status: of HEADERS */
    int32_t id;
    str payload;
};

static inline uint32_t h2_u32(str s, size_t at)
{
    const unsigned char *p = (const unsigned char *)s.p + at;

    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline int hpack_status(nghttp2_hd_inflater *inflater, str block)
{
    const uint8_t *p = (const uint8_t *)block.p;
    size_t left = block.n;
    int status = 0, flags = 0;

    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv nv;
        ssize_t n;

        flags = 0;
        n = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, p, left, 1);
        if (n < 0)
            return -1;
        p += n;
        left -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT && nv.namelen == 7 && nv.name[1] == 's')
            status = (nv.value[0] - '0') * 100 + (nv.value[1] - '0') * 10 + (nv.value[2] - '0');
        if (n == 0 && !(flags & NGHTTP2_HD_INFLATE_EMIT))
            break;
    }
    (void)nghttp2_hd_inflate_end_headers(inflater);
    return status;
}

/* The next frame of `in` from *at on; false when there is none (whole). */
static inline bool h2_next(str in, size_t *at, nghttp2_hd_inflater *inflater, struct h2_got *out)
{
    const unsigned char *p = (const unsigned char *)in.p + *at;
    size_t n;

    if (in.n - *at < 9)
        return false;
    n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
    if (in.n - *at - 9 < n)
        return false;
    *out = (struct h2_got){ .type = p[3], .flags = p[4], .id = (int32_t)h2_u32(in, *at + 5) };
    out->payload = str_sub(in, *at + 9, n);
    if (out->type == HEADERS)
        out->status = hpack_status(inflater, out->payload);
    *at += 9 + n;
    return true;
}

#endif
