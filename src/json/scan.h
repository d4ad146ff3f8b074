/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

/*
 * Eight bytes of a string at once, for the reader and the writer: the masks have the high bit set
 * in the first byte that is meant (and maybe in later ones, which are not to be looked at).
 */

#include <endian.h>
#include <stdint.h>
#include <string.h>

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

/* What a writer must escape: the above without what is not ASCII. */
static inline uint64_t scan_to_escape(uint64_t w)
{
    return scan_special(w & ~SCAN_ALL(0x80)) & ~w & SCAN_ALL(0x80);
}

static inline size_t scan_index(uint64_t mask) /* of the first byte; mask is not 0 */
{
    return (size_t)__builtin_ctzll(mask) / 8;
}

#endif
