/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/ranked.h"

#include "base/banned.h"

#include <stdlib.h>

enum { ROWS_FIRST = 32 };

void ranked_add(struct ranked *r, int64_t rank, size_t start, size_t n)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : ROWS_FIRST;
        struct ranked_row *rows = arena_array(r->arena, struct ranked_row, cap);

        if (r->n)
            memcpy(rows, r->rows, r->n * sizeof(*rows));
        r->rows = rows;
        r->cap = cap;
    }
    r->rows[r->n++] = (struct ranked_row){ .rank = rank, .start = start, .n = n };
}

static int by_rank(const void *x, const void *y)
{
    const struct ranked_row *a = x, *b = y;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

void ranked_sort(struct ranked *r, struct buf *text)
{
    str was = str_dup(r->arena, buf_str(text));

    if (r->n == 0)
        return;
    qsort(r->rows, r->n, sizeof(*r->rows), by_rank);
    buf_clear(text);
    for (size_t i = 0; i < r->n; i++) {
        if (i)
            buf_byte(text, ',');
        buf_str_append(text, str_sub(was, r->rows[i].start, r->rows[i].n));
    }
    r->n = 0;
}
