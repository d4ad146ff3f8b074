/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/banned.h"
#include "http/gzip.h"
#include "tap.h"

struct pieces {
    struct http_source source; /* first */
    const str *p;
    size_t n, i, at;
};

static int pieces_pull(struct http_source *self, struct buf *out, size_t want)
{
    struct pieces *s = (struct pieces *)self;

    while (s->i < s->n && want > 0) {
        str part = str_sub(s->p[s->i], s->at, want);

        buf_str_append(out, part);
        want -= part.n;
        s->at += part.n;
        if (s->at == s->p[s->i].n) {
            s->i++;
            s->at = 0;
        }
    }
    return s->i < s->n;
}

/* Pulls until the end; what the last pull returned. */
static int pull_all(struct http_source *src, struct buf *out)
{
    int rc = 1;

    while (rc == 1)
        rc = src->pull(src, out, 1000);
    return rc;
}

static void gunzip(const struct buf *in, struct buf *out)
{
    z_stream z = { .next_in = (Bytef *)in->p, .avail_in = (uInt)in->n };
    int rc;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        abort();
    do {
        z.next_out = (Bytef *)buf_reserve(out, 65536);
        z.avail_out = 65536;
        rc = inflate(&z, Z_NO_FLUSH);
        out->n += 65536 - z.avail_out;
    } while (rc == Z_OK);
    CHECK(rc == Z_STREAM_END && z.avail_in == 0);
    (void)inflateEnd(&z);
}

/* Bytes that do not compress, or (run > 1) do. */
static str noise(struct arena *a, size_t n, size_t run)
{
    char *p = arena_alloc(a, n);
    uint32_t x = 12345;

    for (size_t i = 0; i < n; i++) {
        if (i % run == 0)
            x = x * 1664525 + 1013904223;
        p[i] = (char)(x >> 24);
    }
    return (str){ p, n };
}

TEST(what_is_compressed_comes_back)
{
    static const struct {
        size_t n, run;
    } cases[] = { { 0, 1 }, { 1, 1 }, { 5000, 1 }, { 1 << 20, 1 }, { 4 << 20, 50 } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scoped_arena a = arena_new();
        scoped_buf zipped, plain;
        str text = noise(a, cases[i].n, cases[i].run);
        str pieces[] = { str_sub(text, 0, 700), STR_NONE, str_from(text, 700) };
        struct pieces source = { { pieces_pull }, pieces, 3, 0, 0 };

        buf_init(&zipped, 16 << 20);
        buf_init(&plain, 16 << 20);
        CHECK(pull_all(http_gzip_source(a, &source.source), &zipped) == 0);
        gunzip(&zipped, &plain);
        CHECK(str_eq(buf_str(&plain), text));
        CHECK(cases[i].run == 1 || zipped.n < text.n / 10);
    }
}

static int pull_broken(struct http_source *self, struct buf *out, size_t want)
{
    (void)self;
    (void)want;
    buf_lit(out, "half of it");
    return -1;
}

TEST(a_broken_source_stays_broken)
{
    scoped_arena a = arena_new();
    struct http_source broken = { pull_broken };
    scoped_buf out;

    buf_init(&out, 1 << 20);
    CHECK(pull_all(http_gzip_source(a, &broken), &out) == -1);
}

TEST(a_gzip_source_that_is_not_pulled_leaks_nothing)
{
    scoped_arena a = arena_new();
    str piece = STR("x");
    struct pieces source = { { pieces_pull }, &piece, 1, 0, 0 };

    (void)http_gzip_source(a, &source.source);
}
