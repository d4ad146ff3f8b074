/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_TXN_QUEUE_H
#define STORE_TXN_QUEUE_H

/*
 * Transactions that wait for the writer.  Instances have turns: one that has hundreds waiting
 * delays another's by one of them.  Those of an instance (of the first operation) keep their order;
 * between instances there is none to keep, since nobody has been told of any of them.
 *
 * One that only checks a row is a mark (store_settle): it comes behind all that were put before it,
 * and before all that are put later.  One thread.
 */

#include <stdbool.h>

#include "store/store.h"

enum { TXN_LANES = 256 }; /* instances share them when there are more */

struct txn_lane {
    struct store_txn *first, *last;
    struct txn_lane *next; /* whose turn comes then; only of those that hold something */
};

struct txn_queue {
    struct txn_lane lanes[TXN_LANES];
    struct txn_lane *turn, *end;        /* the first and the last in the order of turns */
    struct store_txn *mark, *mark_last; /* the mark that was met, and all that came behind it */
};

static inline bool txn_queue_is_empty(const struct txn_queue *q)
{
    return !q->turn && !q->mark;
}

/* A list of them, oldest first. */
void txn_queue_put(struct txn_queue *q, struct store_txn *list);
/* The next one, or NULL. */
struct store_txn *txn_queue_take(struct txn_queue *q);

#endif
