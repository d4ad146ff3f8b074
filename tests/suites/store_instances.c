/* SPDX-License-Identifier: Apache-2.0 */

/* The promises of store/store.h about instances: what they hold, and how they end. */

#include "store/backend.h"
#include "store_backends.h"

static const char *usage(struct store *s, uint32_t instance)
{
    static char text[64];
    struct store_usage u;

    epoch_enter();
    store_usage(s, instance, &u);
    epoch_exit();
    (void)snprintf(text, sizeof(text), "%llu rows %llu bytes", (unsigned long long)u.rows,
                   (unsigned long long)u.bytes);
    return text;
}

SUITE(what_an_instance_holds_is_known)
{
    (void)put(f->store, 1, 7, "a", "12345");
    (void)put(f->store, 2, 7, "bb", "123");
    (void)put(f->store, 1, 8, "a", "1");
    (void)put(f->store, 1, 9, "gone", "1");
    CHECK_STR(usage(f->store, 7), "2 rows 11 bytes");
    (void)put(f->store, 1, 7, "a", "1");
    CHECK_STR(usage(f->store, 7), "2 rows 7 bytes");
    (void)del(f->store, 2, 7, "bb");
    CHECK_STR(usage(f->store, 7), "1 rows 2 bytes");
    (void)put(f->store, 2, 7, "bb", "again");
    CHECK(drop(f->store, 9) != 0);
    for (int again = 0; again < 2; again++) {
        CHECK_STR(usage(f->store, 7), "2 rows 9 bytes");
        CHECK_STR(usage(f->store, 8), "1 rows 2 bytes");
        CHECK_STR(usage(f->store, 9), "0 rows 0 bytes");
        if (b->reopen)
            b->reopen(f);
        REQUIRE(f->store);
    }
}

/* ---- dropping instances ---- */

SUITE(a_dropped_instance_is_gone_at_once_and_for_good)
{
    struct store_op op = op_put(1, 7, STR("new"), STR("n"));
    struct store_txn txn = { .ops = &op, .nops = 1 };

    (void)put(f->store, 1, 7, "a", "1");
    (void)put(f->store, 2, 7, "b", "2");
    (void)put(f->store, 1, 8, "a", "3");
    CHECK(drop(f->store, 7) == 4);
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL), "1/8/a@3+3=3\n");
    CHECK_STR(ROWS(.type = 1, .instance = 7), "");
    CHECK_STR(GET(1, 7, "a", 0), "");
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = STORE_ALL }) == 1);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 7 }) == 0);
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL, .rev = 3), "1/7/a@1+1=1\n1/8/a@3+3=3\n");
    CHECK_STR(EVENTS(1, 7, 0), "+1/7/a@1+1=1<0:\nx0/7/@4+0=<0:\nto 4");
    CHECK_STR(EVENTS(1, 8, 3), "to 4");
    CHECK_STR(EVENTS(1, STORE_ALL, 3), "x0/7/@4+0=<0:\nto 4");
    for (int again = 0; again < 2; again++) {
        for (enum store_op_kind k = STORE_PUT; k <= STORE_DROP; k++) {
            op.kind = k;
            op.expect = STORE_ANY;
            if (k == STORE_CHECK)
                continue;
            CHECK(store_commit_wait(f->store, &txn) < 0 && txn.error == EOWNERDEAD);
        }
        op = op_of(STORE_CHECK, 1, 7, STR("a"));
        op.expect = 0;
        CHECK(store_commit_wait(f->store, &txn) == 0);
        store_compact(f->store, store_head(f->store));
        if (b->reopen)
            b->reopen(f);
        REQUIRE(f->store);
        CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL), "1/8/a@3+3=3\n");
    }
}

SUITE(what_was_touched_is_known)
{
    struct store_op check = { .kind = STORE_CHECK, .key = { 7, 9, STR("a") }, .expect = STORE_ANY };
    uint64_t first = put(f->store, 7, 9, "a", "1"), second;

    CHECK(store_touched(f->store, 7, 9) >= first);
    second = put(f->store, 8, 10, "a", "1");
    CHECK(store_touched(f->store, 8, 10) >= second);
    CHECK(store_touched(f->store, 7, 9) < second); /* their numbers are not the same one */
    CHECK(commit(f->store, &check, 1) > second);   /* writes nothing */
    CHECK(store_touched(f->store, 7, 9) < second);
    second = del(f->store, 7, 9, "a");
    CHECK(store_touched(f->store, 7, 9) >= second);
    second = drop(f->store, 10);
    for (uint32_t type = 0; type < 64; type++)
        CHECK(store_touched(f->store, type, 10) >= second);
    if (!b->reopen)
        return;
    b->reopen(f);
    CHECK(store_touched(f->store, 7, 9) >= second); /* it is not known any more: the worst */
}

/* However busy the others are. */
SUITE(the_lowest_share_with_nobody)
{
    uint64_t rev = put(f->store, 255, 1, "a", "1");

    for (uint32_t i = 0; i < 20000; i++)
        store_touch(f->store, 256 + i % 64, 2 + i / 64, rev + 1);
    store_touch(f->store, 255, 0, rev + 1);
    store_touch(f->store, 254, 1, rev + 1);
    CHECK(store_touched(f->store, 255, 1) == rev);
    CHECK(store_touched(f->store, 255, 0) == rev + 1);
}

SUITE(many_instances_come_and_go)
{
    struct store_stats stats;
    char name[16];

    for (uint32_t i = 1; i <= 200; i++)
        for (int k = 0; k < 5; k++) {
            (void)snprintf(name, sizeof(name), "r%d", k);
            (void)put(f->store, (uint32_t)k % 3 + 1, i, name, "v");
        }
    for (uint32_t i = 1; i <= 200; i++)
        if (i % 10)
            CHECK(drop(f->store, i) != 0);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = STORE_ALL }) == 40);
    store_stats(f->store, &stats);
    CHECK(stats.rows == 100);
    store_compact(f->store, store_head(f->store));
    for (int i = 0; i < 500; i++)
        (void)put(f->store, 1, 10, "r0", "w");
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = STORE_ALL }) == 40);
    CHECK(count(f->store, (struct store_range){
                              .type = 2, .instance = STORE_ALL, .prefix = STR("r") }) == 40);
    if (b->reopen)
        b->reopen(f);
    REQUIRE(f->store);
    CHECK(count(f->store, (struct store_range){ .type = 2, .instance = STORE_ALL }) == 40);
    CHECK(count(f->store, (struct store_range){
                              .type = 2, .instance = STORE_ALL, .prefix = STR("r") }) == 40);
}
