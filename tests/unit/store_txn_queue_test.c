/* SPDX-License-Identifier: Apache-2.0 */
#include "store/txn_queue.h"

#include <string.h>

#include "base/rand.h"
#include "tap.h"

/* Whose turn it is among transactions that wait for the writer. */

enum { MANY = 400 };

struct work {
    struct store_txn txn; /* first */
    struct store_op op;
};

static void make(struct work *w, enum store_op_kind kind, uint32_t instance)
{
    *w = (struct work){ .op = { .kind = kind, .key.instance = instance } };
    w->txn.ops = &w->op;
    w->txn.nops = 1;
}

static void put(struct txn_queue *q, struct work *w, enum store_op_kind kind, uint32_t instance)
{
    make(w, kind, instance);
    txn_queue_put(q, &w->txn);
}

TEST(one_with_hundreds_delays_another_by_one)
{
    struct txn_queue q = { 0 };
    struct work loud[MANY], quiet[3];

    for (size_t i = 0; i < MANY; i++)
        put(&q, &loud[i], STORE_PUT, 7);
    CHECK(txn_queue_take(&q) == &loud[0].txn);
    for (size_t i = 0; i < 3; i++)
        put(&q, &quiet[i], STORE_PUT, 8);
    for (size_t i = 0; i < 3; i++) {
        CHECK(txn_queue_take(&q) == &loud[i + 1].txn);
        CHECK(txn_queue_take(&q) == &quiet[i].txn);
    }
    for (size_t i = 4; i < MANY; i++)
        CHECK(txn_queue_take(&q) == &loud[i].txn);
    CHECK(!txn_queue_take(&q) && txn_queue_is_empty(&q));
}

TEST(a_mark_has_its_place)
{
    struct txn_queue q = { 0 };
    struct work w[8];

    for (size_t i = 0; i < 8; i++) {
        make(&w[i], i == 3 || i == 4 ? STORE_CHECK : STORE_PUT, i % 2 ? 1 : 2);
        w[i].txn.next = i < 7 ? &w[i + 1].txn : NULL;
    }
    txn_queue_put(&q, &w[0].txn);
    CHECK(txn_queue_take(&q) == &w[0].txn); /* 2, then 1, then 2 again */
    CHECK(txn_queue_take(&q) == &w[1].txn);
    CHECK(txn_queue_take(&q) == &w[2].txn);
    for (size_t i = 3; i < 8; i++)
        CHECK(!txn_queue_is_empty(&q) && txn_queue_take(&q) == &w[i].txn);
    CHECK(txn_queue_is_empty(&q));
}

/* Any order is right that keeps an instance's own, and the marks. */
TEST(nothing_is_lost_and_each_instance_keeps_its_order)
{
    enum { INSTANCES = 600, STEPS = 40000, SLOTS = 4096 };
    static struct work w[SLOTS];
    struct txn_queue q = { 0 };
    struct rand_seq r = { 4711 };
    size_t put_at = 0, taken = 0, number[SLOTS], last[INSTANCES] = { 0 }, mark = 0;
    size_t done_to = 0; /* all numbers below were taken */
    static bool done[STEPS + 1];

    for (size_t i = 0; i < STEPS; i++) {
        struct store_txn *txn;
        size_t at, n;

        if (put_at - taken < SLOTS / 2 && rand_seq_below(&r, 5) < 3) {
            bool is_mark = rand_seq_below(&r, 200) == 0;

            for (at = put_at % SLOTS; w[at].txn.nops; at = (at + 1) % SLOTS)
                ;
            number[at] = ++put_at;
            put(&q, &w[at], is_mark ? STORE_CHECK : STORE_PUT, rand_seq_below(&r, INSTANCES));
            continue;
        }
        txn = txn_queue_take(&q);
        CHECK(!txn == (put_at == taken));
        if (!txn)
            continue;
        taken++;
        at = (size_t)((struct work *)(void *)txn - w);
        n = number[at];
        done[n] = true;
        while (done[done_to + 1])
            done_to++;
        CHECK(n > mark);
        if (w[at].op.kind == STORE_CHECK) {
            CHECK(done_to >= n); /* all before it */
            mark = n;
        } else {
            CHECK(n > last[w[at].op.key.instance]);
            last[w[at].op.key.instance] = n;
        }
        memset(&w[at], 0, sizeof(w[at]));
    }
    while (txn_queue_take(&q))
        taken++;
    CHECK(taken == put_at && txn_queue_is_empty(&q));
}
