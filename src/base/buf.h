/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

/*
 * A growing byte buffer with a hard maximum: whoever makes one says how large it may become.
 *
 * Appending beyond the maximum marks the buffer as overflown, and it then stays as it is: callers
 * append freely and look once, at the end (buf_overflown).  Not for strings that live in an arena.
 *
 * One with `wipe` set holds secrets: what it held is overwritten when it grows and when it goes.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
    char *p;
    size_t n, cap, max;
    bool overflown, wipe;
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b); /* frees; the buffer may be used again */

static inline void buf_clear(struct buf *b) /* keeps the memory */
{
    b->n = 0;
    b->overflown = false;
}

static inline str buf_str(const struct buf *b) /* valid until the next append */
{
    return (str){ b->p, b->n };
}

static inline bool buf_overflown(const struct buf *b)
{
    return b->overflown;
}

/* Room for n more bytes at the returned place, not yet counted in b->n; NULL when overflown. */
char *buf_reserve(struct buf *b, size_t n);

void buf_append(struct buf *b, const void *p, size_t n);
void buf_str_append(struct buf *b, str s);
void buf_byte(struct buf *b, char c);
void buf_u64(struct buf *b, uint64_t v); /* decimal */
void buf_i64(struct buf *b, int64_t v);  /* decimal */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define buf_lit(b, literal) buf_append((b), "" literal, sizeof(literal) - 1)

/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);

#define scoped_buf __attribute__((cleanup(buf_release))) struct buf

#endif
