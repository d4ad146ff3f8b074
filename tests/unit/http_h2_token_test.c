/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "tap.h"
#include "unit/http_h2_tokenlib.h"

enum { AUTHORIZATION = 23, LONG = 900 };

static char token[2][LONG + 1];

static void make_tokens(void)
{
    for (size_t i = 0; i < LONG; i++) {
        token[0][i] = (char)('a' + i % 26);
        token[1][i] = (char)('A' + i % 25);
    }
}

static void pack(nghttp2_hd_deflater *d, struct buf *out, const char *path, const char *value)
{
    const char *name = value ? "authorization" : "accept";
    nghttp2_nv nv[2] = {
        { (uint8_t *)(uintptr_t) ":path", (uint8_t *)(uintptr_t)path, 5, strlen(path), 0 },
        { (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)(value ? value : "*/*"), strlen(name),
          strlen(value ? value : "*/*"), 0 },
    };
    char *to = buf_reserve(out, 4096);
    ssize_t n = nghttp2_hd_deflate_hd(d, (uint8_t *)to, 4096, nv, 2);

    assert(n > 0);
    out->n += (size_t)n;
}

/* One literal that is in no table, named by the static table. */
static void raw(struct buf *out, unsigned char first, const char *value)
{
    size_t n = strlen(value) - 127;

    assert(strlen(value) >= 127);
    buf_byte(out, (char)(first | 15));
    buf_byte(out, AUTHORIZATION - 15);
    buf_byte(out, 127);
    for (; n >= 128; n >>= 7)
        buf_byte(out, (char)(128 | (n & 127)));
    buf_byte(out, (char)n);
    buf_append(out, value, strlen(value));
}

TEST(the_same_token_is_unpacked_once)
{
    nghttp2_hd_deflater *d;
    struct sides s;
    scoped_buf out = { .max = 1 << 20 };

    make_tokens();
    sides_init(&s);
    assert(nghttp2_hd_deflate_new(&d, 4096) == 0);
    for (int i = 0; i < 10; i++) {
        scoped_buf block = { .max = 1 << 20 };

        pack(d, &block, i % 2 ? "/a" : "/b", i == 4 ? NULL : token[i == 7 || i == 8]);
        CHECK(sides_feed(&s, buf_str(&block), &out));
        CHECK(i == 4 || str_contains(buf_str(&out), str_of(token[i == 7 || i == 8])));
    }
    /* 0 and 7 are new, 8 is as 7; 9 is new again. */
    CHECK(s.known == 6);
    nghttp2_hd_deflate_del(d);
    sides_release(&s);
}

TEST(either_kind_of_literal)
{
    struct sides s;
    scoped_buf out = { .max = 1 << 20 };

    make_tokens();
    sides_init(&s);
    for (int i = 0; i < 4; i++) {
        scoped_buf block = { .max = 1 << 20 };

        raw(&block, i % 2 ? 0x10 : 0, token[0]);
        CHECK(sides_feed(&s, buf_str(&block), &out));
    }
    CHECK(s.known == 3);
    sides_release(&s);
}

/* Who sends two at once could say that another's token means something else. */
TEST(two_in_one_request_are_not_kept)
{
    struct sides s;
    scoped_buf out = { .max = 1 << 20 }, two = { .max = 1 << 20 }, one = { .max = 1 << 20 };

    make_tokens();
    sides_init(&s);
    hpack(&two, "authorization", token[1]); /* named in another way */
    raw(&two, 0x10, token[0]);
    raw(&one, 0x10, token[0]);
    CHECK(sides_feed(&s, buf_str(&two), &out));
    CHECK(!s.token.sent && !s.token.value);
    CHECK(sides_feed(&s, buf_str(&one), &out));
    CHECK(s.known == 0 && str_contains(buf_str(&out), str_of(token[0])));
    buf_clear(&two);
    raw(&two, 0x10, token[0]);
    raw(&two, 0x10, token[0]);
    CHECK(sides_feed(&s, buf_str(&two), &out));
    CHECK(s.known == 0);
    CHECK(sides_feed(&s, buf_str(&one), &out));
    CHECK(s.known == 1);
    sides_release(&s);
}

/* What stands in for a token means nothing in the requests of others, even if they knew it. */
TEST(a_stand_in_is_no_token)
{
    struct sides s;
    scoped_buf out = { .max = 1 << 20 }, one = { .max = 1 << 20 }, guess = { .max = 1 << 20 };

    make_tokens();
    sides_init(&s);
    raw(&one, 0x10, token[0]);
    CHECK(sides_feed(&s, buf_str(&one), &out));
    CHECK(sides_feed(&s, buf_str(&one), &out) && s.known == 1);
    hpack(&guess, "authorization", s.token.stand_in);
    CHECK(sides_feed(&s, buf_str(&guess), &out));
    CHECK(str_contains(buf_str(&out), str_of(s.token.stand_in)));
    sides_release(&s);
}

TEST(short_and_long_ones_are_left_alone)
{
    static char large[H2_TOKEN_MAX + 1];
    struct sides s;
    scoped_buf out = { .max = 1 << 20 }, one = { .max = 1 << 20 };

    memset(large, 'x', H2_TOKEN_MAX);
    sides_init(&s);
    raw(&one, 0x10, large);
    CHECK(sides_feed(&s, buf_str(&one), &out) && !s.token.sent);
    buf_clear(&one);
    buf_append(&one,
               "\x1f\x08\x03"
               "abc",
               6);
    CHECK(sides_feed(&s, buf_str(&one), &out) && !s.token.sent);
    sides_release(&s);
}
