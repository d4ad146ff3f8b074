/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

/*
 * Sixteen bytes of a string at once, for readers and writers, in vectors that the compiler makes
 * of what the processor has.  A mask has all bits set in each byte that is meant.
 */

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/str.h"

typedef unsigned char scan_bytes __attribute__((vector_size(16)));
typedef signed char scan_signed __attribute__((vector_size(16)));
typedef uint64_t scan_words __attribute__((vector_size(16)));

enum { SCAN_BYTES = sizeof(scan_bytes) };

static inline scan_bytes scan_load(const char *p)
{
    scan_bytes w;

    memcpy(&w, p, sizeof(w));
    return w;
}

static inline scan_words scan_quotes(scan_bytes w)
{
    const scan_bytes quote = (scan_bytes){ 0 } + '"', backslash = (scan_bytes){ 0 } + '\\';

    return (scan_words)(w == quote) | (scan_words)(w == backslash);
}

/* What a writer must escape: quotes, backslashes and control characters. */
static inline scan_words scan_to_escape(scan_bytes w)
{
    const scan_bytes blank = (scan_bytes){ 0 } + ' ';

    return scan_quotes(w) | (scan_words)(w < blank);
}

/* Whatever keeps a string from being taken as it stands: the above, and what is not ASCII, which is
 * less than a blank where bytes have signs. */
static inline scan_words scan_not_plain(scan_bytes w)
{
    const scan_signed blank = (scan_signed){ 0 } + ' ';

    return scan_quotes(w) | (scan_words)(blank > (scan_signed)w);
}

static inline bool scan_none(scan_words mask)
{
#if defined(__SSE2__)
    return _mm_movemask_epi8((__m128i)mask) == 0;
#else
    return (mask[0] | mask[1]) == 0;
#endif
}

/* Of the first byte that is meant; SCAN_BYTES: none is. */
static inline size_t scan_index(scan_words mask)
{
#if defined(__SSE2__)
    return (size_t)__builtin_ctz((unsigned)_mm_movemask_epi8((__m128i)mask) | 1u << SCAN_BYTES);
#else
    if (mask[0])
        return (size_t)__builtin_ctzll(le64toh(mask[0])) / 8;
    return mask[1] ? 8 + (size_t)__builtin_ctzll(le64toh(mask[1])) / 8 : SCAN_BYTES;
#endif
}

/* How many bytes at the beginning of s a writer need not escape. */
static inline size_t scan_plain(str s)
{
    size_t i = 0;

    for (; i + SCAN_BYTES <= s.n; i += SCAN_BYTES) {
        size_t n = scan_index(scan_to_escape(scan_load(s.p + i)));

        if (n < SCAN_BYTES)
            return i + n;
    }
    for (; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c < ' ' || c == '"' || c == '\\')
            break;
    }
    return i;
}

/* Copies less than sixteen bytes, which are returned with some of them twice. */
static inline scan_bytes scan_copy_few(char *to, str s)
{
    uint64_t first = 0x6161616161616161u, last = first; /* a letter, where there is none */

    if (s.n >= 8) {
        memcpy(&first, s.p, 8);
        memcpy(&last, s.p + s.n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + s.n - 8, &last, 8);
    } else if (s.n >= 4) {
        uint32_t head, tail;

        memcpy(&head, s.p, 4);
        memcpy(&tail, s.p + s.n - 4, 4);
        memcpy(to, &head, 4);
        memcpy(to + s.n - 4, &tail, 4);
        first = (uint64_t)head << 32 | tail;
    } else if (s.n) {
        unsigned char head = (unsigned char)s.p[0], middle = (unsigned char)s.p[s.n / 2],
                      tail = (unsigned char)s.p[s.n - 1];

        to[0] = (char)head;
        to[s.n / 2] = (char)middle;
        to[s.n - 1] = (char)tail;
        first = first << 24 | (uint64_t)(head << 16 | middle << 8 | tail);
    }
    return (scan_bytes)(scan_words){ first, last };
}

static inline bool scan_copy_by(char *to, str s, scan_words (*mask)(scan_bytes))
{
    scan_words found = { 0 };
    scan_bytes w;

    if (s.n < SCAN_BYTES)
        return scan_none(mask(scan_copy_few(to, s)));
    for (size_t i = 0; i + SCAN_BYTES < s.n; i += SCAN_BYTES) {
        w = scan_load(s.p + i);
        memcpy(to + i, &w, sizeof(w));
        found |= mask(w);
    }
    w = scan_load(s.p + s.n - SCAN_BYTES); /* what is left, maybe with some of what is done */
    memcpy(to + s.n - SCAN_BYTES, &w, sizeof(w));
    return scan_none(found | mask(w));
}

/* Copies s, and says whether all of it stands for itself: else the copy is of no use. */
static inline bool scan_copy(char *to, str s)
{
    return scan_copy_by(to, s, scan_to_escape);
}

/* The same, and it is ASCII. */
static inline bool scan_copy_ascii(char *to, str s)
{
    return scan_copy_by(to, s, scan_not_plain);
}

/* As str_eq, without a call: for names of members, which are short. */
static inline bool scan_equal(str a, str b)
{
    uint64_t x, y;
    uint32_t u[2], v[2];

    if (a.n != b.n)
        return false;
    if (a.n >= 8) {
        for (size_t i = 0; i + 8 < a.n; i += 8) {
            memcpy(&x, a.p + i, 8);
            memcpy(&y, b.p + i, 8);
            if (x != y)
                return false;
        }
        memcpy(&x, a.p + a.n - 8, 8); /* the last, which may be some of the others again */
        memcpy(&y, b.p + a.n - 8, 8);
        return x == y;
    }
    if (a.n >= 4) {
        memcpy(&u[0], a.p, 4);
        memcpy(&u[1], a.p + a.n - 4, 4);
        memcpy(&v[0], b.p, 4);
        memcpy(&v[1], b.p + a.n - 4, 4);
        return u[0] == v[0] && u[1] == v[1];
    }
    return a.n == 0 ||
           (a.p[0] == b.p[0] && a.p[a.n / 2] == b.p[a.n / 2] && a.p[a.n - 1] == b.p[a.n - 1]);
}

#endif
