/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

/*
 * Frozen, shared bytes: encoded once, sent to many.  The count is atomic, the bytes never change
 * after bytes_new's caller has filled them.
 */

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

struct bytes {
    atomic_uint refs;
    uint32_t n;
    char p[];
};

static inline struct bytes *bytes_new(size_t n) /* one reference; fill p, then share */
{
    struct bytes *b = mem_alloc(sizeof(*b) + n);

    atomic_init(&b->refs, 1);
    b->n = (uint32_t)n;
    return b;
}

static inline struct bytes *bytes_ref(struct bytes *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

static inline void bytes_unref(struct bytes *b)
{
    if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        free(b);
}

static inline str bytes_str(const struct bytes *b)
{
    return (str){ b->p, b->n };
}

#endif
