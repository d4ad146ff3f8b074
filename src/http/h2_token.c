/* SPDX-License-Identifier: Apache-2.0 */
#include "http/h2_token.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "base/rand.h"
#include "http/h2_guard.h"

enum {
    HEADERS = 1,
    END_HEADERS = 0x4,
    PADDED = 0x8,
    PRIORITY = 0x20,
    PRIORITY_BYTES = 5,
    FRAME_MAX = 16 << 10, /* a longer one is an error, which is nghttp2's to find */
    AUTHORIZATION = 23,   /* RFC 7541 appendix A */
    NUMBER_MAX = 1 << 20,
};

struct block {
    const unsigned char *p, *end;
};

/* An integer with a prefix of so many bits (RFC 7541 5.1). */
static bool number(struct block *b, unsigned bits, size_t *out)
{
    size_t most = ((size_t)1 << bits) - 1, v = *b->p++ & most;

    for (unsigned shift = 0; v >= most; shift += 7) {
        unsigned char c;

        if (b->p == b->end || shift > 14)
            return false;
        c = *b->p++;
        v += (size_t)(c & 0x7f) << shift;
        if (v > NUMBER_MAX)
            return false;
        if (!(c & 0x80))
            break;
    }
    *out = v;
    return true;
}

static bool skip_string(struct block *b)
{
    size_t n;

    if (b->p == b->end || !number(b, 7, &n) || n > (size_t)(b->end - b->p))
        return false;
    b->p += n;
    return true;
}

/* One header; *literal is where its value begins if it is in no table, and *name what it is of. */
static bool step(struct block *b, const unsigned char **literal, size_t *name)
{
    unsigned char c = *b->p;
    unsigned bits = c & 0x80 ? 7 : c & 0x40 ? 6 : c & 0x20 ? 5 : 4;

    *literal = NULL;
    if (!number(b, bits, name))
        return false;
    if (bits == 7 || bits == 5)
        return true; /* nothing but a number */
    if (*name == 0 && !skip_string(b))
        return false;
    if (bits == 4)
        *literal = b->p;
    return skip_string(b);
}

/* The one credential of the block, with its length in front. */
static bool find(struct block b, str *out)
{
    const unsigned char *literal;
    size_t name;

    *out = STR_NONE;
    while (b.p < b.end) {
        if (!step(&b, &literal, &name))
            return false;
        if (!literal || name != AUTHORIZATION)
            continue;
        if (out->n)
            return false;
        *out = (str){ (const char *)literal, (size_t)(b.p - literal) };
    }
    return out->n >= H2_TOKEN_MIN && out->n <= H2_TOKEN_MAX;
}

/* In a time that does not tell where they differ. */
static bool same(const char *a, const char *b, size_t n)
{
    uint64_t x, y, diff = 0;
    size_t i = 0;

    for (; i + sizeof(x) <= n; i += sizeof(x)) {
        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        diff |= x ^ y;
    }
    for (; i < n; i++)
        diff |= (unsigned char)(a[i] ^ b[i]);
    return diff == 0;
}

enum h2_token_way h2_token_look(const struct h2_token *t, str frame, str *sent)
{
    const unsigned char *head = (const unsigned char *)frame.p;
    struct block b = { head + H2_FRAME_HEADER, head + frame.n };

    if (head[3] != HEADERS || !(head[4] & END_HEADERS) || head[4] & PADDED ||
        frame.n < H2_FRAME_HEADER + PRIORITY_BYTES + H2_TOKEN_MIN || frame.n > FRAME_MAX)
        return H2_TOKEN_NONE;
    if (head[4] & PRIORITY)
        b.p += PRIORITY_BYTES;
    if (!find(b, sent))
        return H2_TOKEN_NONE;
    return sent->n == t->nsent && same(sent->p, t->sent, sent->n) ? H2_TOKEN_KNOWN : H2_TOKEN_NEW;
}

size_t h2_token_stand_in(const struct h2_token *t, str frame, str sent, char *out)
{
    size_t before = (size_t)(sent.p - frame.p), after = frame.n - before - sent.n;
    size_t n = before + 1 + H2_TOKEN_STAND_IN + after, length = n - H2_FRAME_HEADER;

    memcpy(out, frame.p, before);
    out[before] = H2_TOKEN_STAND_IN;
    memcpy(out + before + 1, t->stand_in, H2_TOKEN_STAND_IN);
    memcpy(out + before + 1 + H2_TOKEN_STAND_IN, sent.p + sent.n, after);
    out[0] = (char)(length >> 16);
    out[1] = (char)(length >> 8);
    out[2] = (char)length;
    return n;
}

static void forget(char **p, size_t *n)
{
    if (*p)
        mem_wipe(*p, *n);
    free(*p);
    *p = NULL;
    *n = 0;
}

void h2_token_release(struct h2_token *t)
{
    forget(&t->sent, &t->nsent);
    forget(&t->value, &t->nvalue);
}

void h2_token_begin(struct h2_token *t, enum h2_token_way way, str sent)
{
    unsigned char random[H2_TOKEN_STAND_IN / 2];

    t->way = way;
    t->seen = 0;
    if (way != H2_TOKEN_NEW)
        return;
    h2_token_release(t);
    rand_bytes(random, sizeof(random));
    hex_encode(t->stand_in, random, sizeof(random));
    t->sent = mem_dup(sent.p, sent.n);
    t->nsent = sent.n;
}

str h2_token_value(struct h2_token *t, str name, str value)
{
    if (t->way == H2_TOKEN_NONE || !str_eq(name, STR("authorization")))
        return value;
    if (t->way == H2_TOKEN_KNOWN)
        return str_is(value, t->stand_in) ? (str){ t->value, t->nvalue } : value;
    if (t->seen++ == 0) {
        t->value = mem_dup(value.p, value.n);
        t->nvalue = value.n;
    }
    return value;
}

void h2_token_end(struct h2_token *t)
{
    if (t->way == H2_TOKEN_NEW && t->seen != 1)
        h2_token_release(t);
    t->way = H2_TOKEN_NONE;
}
