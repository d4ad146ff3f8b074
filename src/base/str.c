/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <endian.h>
#include <stdarg.h>

#include "base/arena.h"
#include "base/banned.h"

/* As memcmp, without a call: keys are short. */
static inline int compare(const char *a, const char *b, size_t n)
{
    uint64_t x = 0, y = 0;

    for (size_t i = 0; i + 8 < n && x == y; i += 8) {
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
    }
    if (x == y && n >= 8) { /* the last, which may be some of the others again */
        memcpy(&x, a + n - 8, 8);
        memcpy(&y, b + n - 8, 8);
    } else if (n < 8) {
        for (size_t i = 0; i < n && x == y; i++) {
            x = (unsigned char)a[i];
            y = (unsigned char)b[i];
        }
        return (int)x - (int)y;
    }
    x = be64toh(x);
    y = be64toh(y);
    return x < y ? -1 : x > y;
}

int str_cmp_all(str a, str b)
{
    int c = compare(a.p, b.p, a.n < b.n ? a.n : b.n);

    if (c != 0)
        return c;
    return a.n < b.n ? -1 : a.n > b.n;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool str_eq_nocase(str a, str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

bool str_is_any(str a, const char *const *words)
{
    while (*words && !str_is(a, *words))
        words++;
    return *words;
}

ptrdiff_t str_find(str a, char c, size_t from)
{
    const char *hit = from < a.n ? memchr(a.p + from, c, a.n - from) : NULL;

    return hit ? hit - a.p : -1;
}

bool str_contains(str a, str part)
{
    return part.n == 0 || (a.n >= part.n && memmem(a.p, a.n, part.p, part.n) != NULL);
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

str str_trim(str a)
{
    while (a.n && blank(a.p[0])) {
        a.p++;
        a.n--;
    }
    while (a.n && blank(a.p[a.n - 1]))
        a.n--;
    return a;
}

str str_cut(str a, size_t max)
{
    if (a.n <= max)
        return a;
    while (max && ((unsigned char)a.p[max] & 0xc0) == 0x80)
        max--;
    return str_sub(a, 0, max);
}

bool str_has_control(str a)
{
    for (size_t i = 0; i < a.n; i++)
        if ((unsigned char)a.p[i] < ' ' || a.p[i] == 0x7f)
            return true;
    return false;
}

bool str_split(str *rest, char c, str *part)
{
    ptrdiff_t at;

    if (!rest->p)
        return false;
    at = str_find(*rest, c, 0);
    if (at < 0) {
        *part = *rest;
        *rest = STR_NONE;
    } else {
        *part = str_sub(*rest, 0, (size_t)at);
        *rest = str_from(*rest, (size_t)at + 1);
    }
    return true;
}

bool str_to_u64(str a, uint64_t *out)
{
    uint64_t v = 0;

    if (a.n == 0)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (a.p[i] < '0' || a.p[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(a.p[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

bool str_to_i64(str a, int64_t *out)
{
    bool neg = a.n && a.p[0] == '-';
    uint64_t v;

    if (!str_to_u64(neg ? str_from(a, 1) : a, &v))
        return false;
    if (v > (uint64_t)INT64_MAX + neg)
        return false;
    *out = neg ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

str str_dup(struct arena *a, str s)
{
    return (str){ str_z(a, s), s.n };
}

char *str_z(struct arena *a, str s)
{
    char *z = arena_alloc_raw(a, s.n + 1);

    if (s.n)
        memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    return z;
}

str str_lower(struct arena *a, str s)
{
    char *z = str_z(a, s);

    for (size_t i = 0; i < s.n; i++)
        z[i] = lower(z[i]);
    return (str){ z, s.n };
}

str str_concat(struct arena *a, str x, str y, str z)
{
    char *p = arena_alloc_raw(a, x.n + y.n + z.n + 1), *at = p;

    if (x.n)
        memcpy(at, x.p, x.n);
    at += x.n;
    if (y.n)
        memcpy(at, y.p, y.n);
    at += y.n;
    if (z.n)
        memcpy(at, z.p, z.n);
    at[z.n] = '\0';
    return (str){ p, x.n + y.n + z.n };
}

str str_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *z;

    va_start(ap, fmt);
    z = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return str_of(z);
}

static uint64_t rotl(uint64_t x, int b)
{
    return (x << b) | (x >> (64 - b));
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

uint64_t str_hash(str s, uint64_t k0, uint64_t k1)
{
    uint64_t v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                      k1 ^ 0x7465646279746573 };
    uint64_t word = 0;
    size_t i = 0;

    for (; i + 8 <= s.n; i += 8) {
        memcpy(&word, s.p + i, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)s.n << 56;
    for (size_t shift = 0; i < s.n; i++, shift += 8)
        word |= (uint64_t)(unsigned char)s.p[i] << shift;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int r = 0; r < 3; r++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Length of the UTF-8 sequence at p, 0 if it is none. */
static size_t utf8_seq(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return n >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
    if ((p[0] & 0xf0) == 0xe0) {
        if (n < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
            return 0;
        if (p[0] == 0xe0 && p[1] < 0xa0)
            return 0;
        return p[0] == 0xed && p[1] >= 0xa0 ? 0 : 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (n < 4 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 || (p[3] & 0xc0) != 0x80)
            return 0;
        if (p[0] == 0xf0 && p[1] < 0x90)
            return 0;
        return p[0] == 0xf4 && p[1] >= 0x90 ? 0 : 4;
    }
    return 0;
}

bool str_utf8_valid(str s)
{
    const unsigned char *p = (const unsigned char *)s.p;

    for (size_t i = 0; i < s.n;) {
        uint64_t word;
        size_t k;

        /* Eight ASCII bytes at once: nearly all that comes is ASCII. */
        if (s.n - i >= 8 && (memcpy(&word, p + i, 8), (word & 0x8080808080808080) == 0)) {
            i += 8;
            continue;
        }
        if (p[i] < 0x80) {
            i++;
            continue;
        }
        k = utf8_seq(p + i, s.n - i);
        if (k == 0)
            return false;
        i += k;
    }
    return true;
}
