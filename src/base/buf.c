/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/mem.h"

void buf_init(struct buf *b, size_t max)
{
    assert(max > 0 && max < SIZE_MAX / 2);
    *b = (struct buf){ .max = max };
}

void buf_release(struct buf *b)
{
    if (b->wipe && b->p)
        mem_wipe(b->p, b->cap);
    free(b->p);
    *b = (struct buf){ .max = b->max, .wipe = b->wipe };
}

/* As realloc, which would leave a copy behind. */
static char *moved(struct buf *b, size_t cap)
{
    char *p = mem_alloc(cap);

    if (b->p) {
        memcpy(p, b->p, b->n);
        mem_wipe(b->p, b->cap);
    }
    free(b->p);
    return p;
}

/* Rare, and kept out of those that are not. */
static __attribute__((noinline)) char *grow(struct buf *b, size_t n)
{
    size_t cap = b->cap ? b->cap * 2 : 256;

    if (b->overflown || n > b->max - b->n) {
        b->overflown = true;
        return NULL;
    }
    if (cap < b->n + n)
        cap = b->n + n;
    if (cap > b->max)
        cap = b->max;
    b->p = b->wipe ? moved(b, cap) : mem_realloc(b->p, cap);
    b->cap = cap;
    return b->p + b->n;
}

/* An overflown buffer has none. */
static inline bool has_room(const struct buf *b, size_t n)
{
    return b->cap - b->n >= n && !b->overflown;
}

char *buf_reserve(struct buf *b, size_t n)
{
    return has_room(b, n) && b->p ? b->p + b->n : grow(b, n);
}

static __attribute__((noinline)) void append_more(struct buf *b, const void *p, size_t n)
{
    if (n && grow(b, n)) {
        memcpy(b->p + b->n, p, n);
        b->n += n;
    }
}

void buf_append(struct buf *b, const void *p, size_t n)
{
    if (!has_room(b, n) || n == 0) {
        append_more(b, p, n);
        return;
    }
    b->n += n; /* first, so that copying is the last thing that it does */
    memcpy(b->p + b->n - n, p, n);
}

void buf_str_append(struct buf *b, str s)
{
    buf_append(b, s.p, s.n);
}

void buf_byte(struct buf *b, char c)
{
    if (has_room(b, 1))
        b->p[b->n++] = c;
    else
        append_more(b, &c, 1);
}

void buf_u64(struct buf *b, uint64_t v)
{
    char digits[20];
    size_t i = sizeof(digits);

    do
        digits[--i] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    buf_append(b, digits + i, sizeof(digits) - i);
}

void buf_i64(struct buf *b, int64_t v)
{
    if (v < 0)
        buf_byte(b, '-');
    buf_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    char *to;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    to = buf_reserve(b, (size_t)n + 1);
    if (!to)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(to, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

void buf_consume(struct buf *b, size_t n)
{
    assert(n <= b->n);
    if (n < b->n)
        memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}
