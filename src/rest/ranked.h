/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_RANKED_H
#define REST_RANKED_H

/*
 * Rows of a table that are not shown in the order of their names: FlowSchemas stand in the order in
 * which they are tried.  Notes where in a text of rows each one is, and puts them in order.
 */

#include "base/arena.h"
#include "base/buf.h"

struct ranked_row {
    int64_t rank;
    size_t start, n;
};

struct ranked {
    struct arena *arena;
    struct ranked_row *rows;
    size_t n, cap;
};

void ranked_add(struct ranked *r, int64_t rank, size_t start, size_t n);

/* `text` is the rows that were added, with commas between them; equal ranks stay as they are. */
void ranked_sort(struct ranked *r, struct buf *text);

#endif
