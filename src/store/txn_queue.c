/* SPDX-License-Identifier: Apache-2.0 */
#include "store/txn_queue.h"

#include "base/banned.h"

/* Its next turn is behind the others. */
static void line_up(struct txn_queue *q, struct txn_lane *l)
{
    l->next = NULL;
    if (q->turn)
        q->end->next = l;
    else
        q->turn = l;
    q->end = l;
}

static void put_lane(struct txn_queue *q, struct store_txn *txn)
{
    struct txn_lane *l = &q->lanes[txn->ops[0].key.instance % TXN_LANES];

    txn->next = NULL;
    if (l->first) {
        l->last->next = txn;
        l->last = txn;
        return;
    }
    l->first = l->last = txn;
    line_up(q, l);
}

static bool is_mark(const struct store_txn *txn)
{
    return txn->nops == 1 && txn->ops[0].kind == STORE_CHECK;
}

void txn_queue_put(struct txn_queue *q, struct store_txn *list)
{
    for (struct store_txn *next; list; list = next) {
        next = list->next;
        if (!q->mark && !is_mark(list)) {
            put_lane(q, list);
            continue;
        }
        list->next = NULL;
        if (q->mark)
            q->mark_last->next = list;
        else
            q->mark = list;
        q->mark_last = list;
    }
}

struct store_txn *txn_queue_take(struct txn_queue *q)
{
    struct txn_lane *l = q->turn;
    struct store_txn *txn = l ? l->first : q->mark;

    if (!txn)
        return NULL;
    if (!l) {
        struct store_txn *later = txn->next;

        q->mark = q->mark_last = NULL;
        txn_queue_put(q, later);
        txn->next = NULL;
        return txn;
    }
    q->turn = l->next;
    l->first = txn->next;
    if (l->first)
        line_up(q, l);
    txn->next = NULL;
    return txn;
}
