/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

/*
 * Eight bytes of a string at once, for readers and writers: the masks have the high bit set
 * in the first byte that is meant (and maybe in later ones, which are not to be looked at).
 */

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

#define SCAN_ALL(byte) (0x0101010101010101ull * (byte))

static inline uint64_t scan_load(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    return le64toh(w);
}

/* Quotes, backslashes and control characters; right where the bytes before are ASCII. */
static inline uint64_t scan_special(uint64_t w)
{
    return ((w ^ SCAN_ALL('"')) - SCAN_ALL(1)) | ((w ^ SCAN_ALL('\\')) - SCAN_ALL(1)) |
           (w - SCAN_ALL(' '));
}

/* Whatever keeps a string from being taken as it stands: the above, and what is not ASCII. */
static inline uint64_t scan_not_plain(uint64_t w)
{
    return (scan_special(w) | w) & SCAN_ALL(0x80);
}

/* What a writer must escape, each byte for itself: the above without what is not ASCII. */
static inline uint64_t scan_to_escape(uint64_t w)
{
    uint64_t low = w & ~SCAN_ALL(0x80);
    uint64_t fine = (low + SCAN_ALL(0x80 - ' ')) & ((low ^ SCAN_ALL('"')) + SCAN_ALL(0x7f)) &
                    ((low ^ SCAN_ALL('\\')) + SCAN_ALL(0x7f));

    return ~(fine | w) & SCAN_ALL(0x80);
}

static inline size_t scan_index(uint64_t mask) /* of the first byte; mask is not 0 */
{
    return (size_t)__builtin_ctzll(mask) / 8;
}

/* How many bytes at the beginning of s a writer need not escape. */
static inline size_t scan_plain(str s)
{
    size_t i = 0;

    for (; i + 8 <= s.n; i += 8) {
        uint64_t mask = scan_to_escape(scan_load(s.p + i));

        if (mask)
            return i + scan_index(mask);
    }
    for (; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c < ' ' || c == '"' || c == '\\')
            break;
    }
    return i;
}

/* Copies less than eight bytes; what the mask says of them. */
static inline uint64_t scan_copy_few(char *to, str s, uint64_t (*mask)(uint64_t))
{
    uint64_t w = SCAN_ALL('a');
    uint32_t first, last;

    if (s.n >= 4) {
        memcpy(&first, s.p, 4);
        memcpy(&last, s.p + s.n - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + s.n - 4, &last, 4);
        w = (uint64_t)first << 32 | last;
    } else if (s.n) {
        to[0] = s.p[0];
        to[s.n / 2] = s.p[s.n / 2];
        to[s.n - 1] = s.p[s.n - 1];
        w = w << 24 | (uint64_t)(unsigned char)s.p[0] << 16 |
            (uint64_t)(unsigned char)s.p[s.n / 2] << 8 | (unsigned char)s.p[s.n - 1];
    }
    return mask(w);
}

static inline uint64_t scan_copy_by(char *to, str s, uint64_t (*mask)(uint64_t))
{
    uint64_t w, found = 0;
    size_t i = 0;

    if (s.n < 8)
        return scan_copy_few(to, s, mask);
    for (; i + 8 <= s.n; i += 8) {
        memcpy(&w, s.p + i, 8);
        memcpy(to + i, &w, 8);
        found |= mask(w);
    }
    memcpy(&w, s.p + s.n - 8, 8); /* what is left, with some of what is done */
    memcpy(to + s.n - 8, &w, 8);
    return found | mask(w);
}

/* Copies s, and says whether all of it stands for itself: else the copy is of no use. */
static inline bool scan_copy(char *to, str s)
{
    return scan_copy_by(to, s, scan_to_escape) == 0;
}

/* The same, and it is ASCII. */
static inline bool scan_copy_ascii(char *to, str s)
{
    return scan_copy_by(to, s, scan_not_plain) == 0;
}

/* As str_eq, without a call for what has 16 bytes at most, as most names of members have. */
static inline bool scan_equal(str a, str b)
{
    uint64_t x[2], y[2];
    uint32_t u[2], v[2];

    if (a.n != b.n || a.n > 16)
        return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
    if (a.n >= 8) { /* the first and the last, which may be some of the first again */
        memcpy(&x[0], a.p, 8);
        memcpy(&x[1], a.p + a.n - 8, 8);
        memcpy(&y[0], b.p, 8);
        memcpy(&y[1], b.p + a.n - 8, 8);
        return x[0] == y[0] && x[1] == y[1];
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
