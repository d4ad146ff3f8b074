/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_H2_TOKENLIB_H
#define HTTP_H2_TOKENLIB_H

/*
 * The same header blocks unpacked on two sides, by nghttp2 alone and by way of h2_token.h: what
 * comes out must be the same.
 */

#include <assert.h>

#include "http/h2_token.h"
#include "unit/http_h2lib.h"

struct sides {
    nghttp2_hd_inflater *plain, *other;
    struct h2_token token;
    unsigned known; /* blocks of which a part was not unpacked */
};

static inline void sides_init(struct sides *s)
{
    *s = (struct sides){ 0 };
    assert(nghttp2_hd_inflate_new(&s->plain) == 0 && nghttp2_hd_inflate_new(&s->other) == 0);
}

static inline void sides_release(struct sides *s)
{
    nghttp2_hd_inflate_del(s->plain);
    nghttp2_hd_inflate_del(s->other);
    h2_token_release(&s->token);
}

static inline bool sides_unpack(nghttp2_hd_inflater *in, str block, struct h2_token *t,
                                struct buf *out)
{
    const uint8_t *p = (const uint8_t *)block.p;
    size_t left = block.n;
    int flags = 0;

    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv nv;
        ssize_t n = nghttp2_hd_inflate_hd2(in, &nv, &flags, p, left, 1);
        str name, value;

        if (n < 0)
            return false;
        p += n;
        left -= (size_t)n;
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT))
            continue;
        name = (str){ (const char *)nv.name, nv.namelen };
        value = (str){ (const char *)nv.value, nv.valuelen };
        if (t)
            value = h2_token_value(t, name, value);
        buf_str_append(out, name);
        buf_byte(out, '=');
        buf_str_append(out, value);
        buf_byte(out, '\n');
    }
    (void)nghttp2_hd_inflate_end_headers(in);
    return true;
}

/* The block by way of h2_token.h, as http/h2_credit.c does it. */
static inline bool sides_other(struct sides *s, str frame, struct buf *out)
{
    str sent, fed = frame;
    char *scratch = mem_alloc(frame.n);
    enum h2_token_way way = h2_token_look(&s->token, frame, &sent);
    bool ok;

    h2_token_begin(&s->token, way, sent);
    if (way == H2_TOKEN_KNOWN) {
        fed = (str){ scratch, h2_token_stand_in(&s->token, frame, sent, scratch) };
        assert(fed.n < frame.n);
        s->known++;
    }
    assert(fed.n == 9 + (h2_u32(fed, 0) >> 8));
    ok = sides_unpack(s->other, str_from(fed, 9), &s->token, out);
    h2_token_end(&s->token);
    free(scratch);
    return ok;
}

/* False when it is no header block; *out is what was in it. */
static inline bool sides_feed(struct sides *s, str block, struct buf *out)
{
    scoped_buf frame = { .max = 1 << 20 }, other = { .max = 1 << 20 };
    bool good, same;

    buf_clear(out);
    h2_frame(&frame, HEADERS, END_HEADERS, 1, block.p, block.n);
    good = sides_unpack(s->plain, block, NULL, out);
    same = sides_other(s, buf_str(&frame), &other);
    assert(good == same);
    assert(!good || str_eq(buf_str(out), buf_str(&other)));
    return good;
}

#endif
