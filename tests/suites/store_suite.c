/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The promises of store/store.h, one by one, on every implementation: a backend exists when this
 * passes.  Those about instances are in store_instances.c.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store_backends.h"

/* ---- 1: one revision line ---- */

SUITE(revisions_count_up_from_one)
{
    struct store_op check = op_of(STORE_CHECK, 1, 1, STR("a"));
    struct store_op no = op_put(1, 1, STR("a"), STR("x"));

    CHECK(store_head(f->store) == 0 && store_floor(f->store) == 0);
    CHECK(put(f->store, 1, 1, "a", "1") == 1);
    CHECK(put(f->store, 1, 1, "a", "1") == 2); /* also when nothing differs */
    no.expect = 0;
    CHECK(commit(f->store, &no, 1) == 0);    /* a refused one takes none */
    CHECK(commit(f->store, &check, 1) == 3); /* one that writes nothing takes one */
    CHECK(del(f->store, 1, 1, "b") == 4);
    CHECK(store_head(f->store) == 4);
}

SUITE(revisions_go_on_after_a_power_cut)
{
    if (!b->reopen)
        return;
    for (int i = 0; i < 5; i++) {
        CHECK(put(f->store, 1, 1, "a", "1") == (uint64_t)i * 2 + 1);
        CHECK(del(f->store, 1, 1, "a") == (uint64_t)i * 2 + 2);
        b->reopen(f);
        REQUIRE(f->store);
        CHECK(store_head(f->store) == (uint64_t)i * 2 + 2);
    }
}

/* ---- 2: atomic ---- */

SUITE(all_operations_or_none)
{
    struct store_op ops[] = {
        op_put(1, 1, STR("a"), STR("A")),
        op_put(2, 1, STR("b"), STR("B")),
        op_of(STORE_DELETE, 1, 1, STR("old")),
        op_of(STORE_CHECK, 1, 1, STR("other")),
    };

    CHECK(put(f->store, 1, 1, "old", "O") == 1);
    ops[3].expect = 7;
    CHECK(commit(f->store, ops, 4) == 0);
    CHECK_STR(ROWS(.type = 1, .instance = 1), "1/1/old@1+1=O\n");
    CHECK_STR(ROWS(.type = 2, .instance = 1), "");
    ops[3].expect = 0;
    CHECK(commit(f->store, ops, 4) == 2);
    CHECK_STR(ROWS(.type = 1, .instance = 1), "1/1/a@2+2=A\n");
    CHECK_STR(ROWS(.type = 2, .instance = 1), "2/1/b@2+2=B\n");
    CHECK_STR(ROWS(.type = 1, .instance = 1, .rev = 1), "1/1/old@1+1=O\n");
}

/* ---- 3: durable ---- */

SUITE(what_was_acknowledged_survives_a_power_cut)
{
    uint64_t hashes[] = { 11, 22 };
    struct store_op op = op_put(1, 2, STR("hashed"), STR("H"));
    const char *rows, *events;
    char *value = mem_zalloc(40001);

    if (!b->reopen)
        goto out;
    memset(value, 'x', 40000); /* larger than a segment */
    op.hashes = hashes;
    op.nhashes = 2;
    CHECK(commit(f->store, &op, 1) == 1);
    CHECK(put(f->store, 1, 1, "large", value) == 2);
    CHECK(put(f->store, 1, 1, "empty", "") == 3);
    CHECK(put(f->store, 1, 1, "gone", "g") == 4);
    CHECK(del(f->store, 1, 1, "gone") == 5);
    CHECK(put(f->store, 1, 1, "empty", "no more") == 6);
    rows = ROWS(.type = 1, .instance = STORE_ALL);
    events = EVENTS(UINT32_MAX, STORE_ALL, 0);
    b->reopen(f);
    if (!CHECK(f->store != NULL))
        goto out;
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL), rows);
    CHECK_STR(EVENTS(UINT32_MAX, STORE_ALL, 0), events);
    CHECK_STR(GET(1, 1, "empty", 5), "");
    CHECK_STR(ROWS(.type = 1, .instance = 2, .hash = 22), "1/2/hashed@1+1=H\n");
    CHECK_STR(ROWS(.type = 1, .instance = 1, .hash = 22), "");
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 1 }) == 2);
out:
    free(value);
}

/* ---- 4: checked ---- */

SUITE(expectations_decide)
{
    struct store_op op = op_put(1, 1, STR("a"), STR("x"));
    struct store_txn txn = { .ops = &op, .nops = 1 };

    op.expect = 5;
    CHECK(store_commit_wait(f->store, &txn) < 0 && txn.failed_op == 0 && txn.found == 0);
    op.expect = 0;
    CHECK(store_commit_wait(f->store, &txn) == 0 && txn.rev == 1);
    CHECK(store_commit_wait(f->store, &txn) < 0 && txn.failed_op == 0 && txn.found == 1);
    CHECK(txn.error == 0 && txn.rev == 0);
    op.expect = 1;
    CHECK(store_commit_wait(f->store, &txn) == 0 && txn.rev == 2 && txn.failed_op == -1);
    op.kind = STORE_DELETE;
    CHECK(store_commit_wait(f->store, &txn) < 0 && txn.found == 2);
    op.expect = 2;
    CHECK(store_commit_wait(f->store, &txn) == 0);
    op.kind = STORE_CHECK;
    CHECK(store_commit_wait(f->store, &txn) < 0 && txn.found == 0);
    op.expect = 0;
    CHECK(store_commit_wait(f->store, &txn) == 0);
}

SUITE(expectations_are_about_the_state_before)
{
    struct store_op ops[] = {
        op_put(1, 1, STR("a"), STR("x")),
        op_of(STORE_CHECK, 1, 1, STR("a")),
    };
    struct store_txn txn = { .ops = ops, .nops = 2 };

    ops[1].expect = 0;
    CHECK(store_commit_wait(f->store, &txn) == 0);
    CHECK(store_commit_wait(f->store, &txn) < 0 && txn.failed_op == 1 && txn.found == 1);
}

struct race {
    struct store_txn txn;
    struct store_op op;
    char value[8];
    sem_t *done;
};

static void race_done(struct store_txn *txn)
{
    (void)sem_post(((struct race *)txn)->done);
}

SUITE(of_many_at_once_one_wins)
{
    enum { N = 50 };
    struct race *all = mem_zalloc(N * sizeof(*all));
    unsigned won = 0;
    sem_t done;

    (void)sem_init(&done, 0, 0);
    for (int round = 0; round < 20; round++) {
        uint64_t head = store_head(f->store);

        won = 0;
        for (int i = 0; i < N; i++) {
            struct race *r = &all[i];

            (void)snprintf(r->value, sizeof(r->value), "%d", i);
            r->done = &done;
            r->op = op_put(1, 1, STR("a"), str_of(r->value));
            r->op.expect = round ? (uint64_t)round : 0;
            r->txn = (struct store_txn){ .ops = &r->op, .nops = 1, .done = race_done };
            store_commit(f->store, &r->txn);
        }
        for (int i = 0; i < N; i++)
            (void)sem_wait(&done);
        for (int i = 0; i < N; i++) {
            won += all[i].txn.rev != 0;
            if (all[i].txn.rev)
                CHECK_STR(GET(1, 1, "a", 0), all[i].value);
            else
                CHECK(all[i].txn.found == head + 1 && all[i].txn.failed_op == 0);
        }
        CHECK(won == 1);
        CHECK(store_head(f->store) == head + 1);
    }
    (void)sem_destroy(&done);
    free(all);
}

/* ---- 5: repeatable ---- */

SUITE(reads_at_a_revision_do_not_change)
{
    CHECK(put(f->store, 1, 1, "a", "1") == 1);
    CHECK(put(f->store, 1, 1, "b", "2") == 2);
    CHECK(put(f->store, 1, 1, "a", "3") == 3);
    CHECK(del(f->store, 1, 1, "b") == 4);
    CHECK(del(f->store, 1, 1, "b") == 5);
    CHECK(put(f->store, 1, 1, "b", "6") == 6);
    CHECK_STR(ROWS(.type = 1, .instance = 1, .rev = 2), "1/1/a@1+1=1\n1/1/b@2+2=2\n");
    CHECK_STR(ROWS(.type = 1, .instance = 1, .rev = 4), "1/1/a@3+1=3\n");
    CHECK_STR(ROWS(.type = 1, .instance = 1), "1/1/a@3+1=3\n1/1/b@6+6=6\n");
    CHECK_STR(GET(1, 1, "b", 3), "2");
    CHECK_STR(GET(1, 1, "b", 5), "");
    CHECK_STR(GET(1, 1, "b", 0), "6");
    CHECK_STR(GET(1, 1, "b", 7), "Timeout");
    CHECK_STR(ROWS(.type = 1, .instance = 1, .rev = 7), "Timeout");
    store_compact(f->store, 4);
    CHECK(store_floor(f->store) == 4);
    CHECK_STR(GET(1, 1, "b", 3), "Expired");
    CHECK_STR(ROWS(.type = 1, .instance = 1, .rev = 3), "Expired");
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 1, .rev = 3 }) ==
          UINT64_MAX);
    CHECK_STR(ROWS(.type = 1, .instance = 1, .rev = 4), "1/1/a@3+1=3\n");
    store_compact(f->store, 2); /* never down */
    CHECK(store_floor(f->store) == 4);
    store_compact(f->store, 100); /* never beyond the head */
    CHECK(store_floor(f->store) == 6);
    CHECK_STR(ROWS(.type = 1, .instance = 1), "1/1/a@3+1=3\n1/1/b@6+6=6\n");
}

SUITE(pins_hold_the_floor)
{
    for (int i = 0; i < 10; i++)
        (void)put(f->store, 1, 1, "a", "x");
    CHECK(store_pin(f->store, 5));
    CHECK(store_pin(f->store, 5));
    CHECK(!store_pin(f->store, 11));
    store_compact(f->store, 8);
    CHECK(store_floor(f->store) == 5);
    CHECK(!store_pin(f->store, 4));
    store_unpin(f->store, 5);
    store_compact(f->store, 8);
    CHECK(store_floor(f->store) == 5);
    store_unpin(f->store, 5);
    store_compact(f->store, 8);
    CHECK(store_floor(f->store) == 8);
}

SUITE(keys_are_ordered_by_type_instance_name)
{
    (void)put(f->store, 2, 1, "a", "");
    (void)put(f->store, 1, 2, "a", "");
    (void)put(f->store, 1, 1, "b", "");
    (void)put(f->store, 1, 1, "a/b", "");
    (void)put(f->store, 1, 1, "a", "");
    (void)put(f->store, 1, 1, "a\xff", "");
    (void)put(f->store, 1, 300, "a", "");
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL),
              "1/1/a@5+5=\n1/1/a/b@4+4=\n1/1/a\xff@6+6=\n1/1/b@3+3=\n1/2/a@2+2=\n1/300/a@7+7=\n");
    CHECK_STR(ROWS(.type = 2, .instance = STORE_ALL), "2/1/a@1+1=\n");
    CHECK_STR(ROWS(.type = 3, .instance = STORE_ALL), "");
    CHECK_STR(ROWS(.type = 1, .instance = 2), "1/2/a@2+2=\n");
}

SUITE(ranges_begin_where_they_are_told)
{
    for (uint32_t i = 1; i <= 3; i++) {
        (void)put(f->store, 1, i, "n/a", "");
        (void)put(f->store, 1, i, "n/b", "");
        (void)put(f->store, 1, i, "m/c", "");
        (void)put(f->store, 1, i, "o", "");
    }
    store_compact(f->store, 12);
    CHECK_STR(ROWS(.type = 1, .instance = 2, .prefix = STR("n/")), "1/2/n/a@5+5=\n1/2/n/b@6+6=\n");
    CHECK_STR(ROWS(.type = 1, .instance = 2, .prefix = STR("n/"), .start = STR("n/a")),
              "1/2/n/b@6+6=\n");
    CHECK_STR(
        ROWS(.type = 1, .instance = 2, .prefix = STR("n/"), .start = STR("n/a"), .inclusive = true),
        "1/2/n/a@5+5=\n1/2/n/b@6+6=\n");
    CHECK_STR(ROWS(.type = 1, .instance = 2, .start = STR("n/aa")), "1/2/n/b@6+6=\n1/2/o@8+8=\n");
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL, .prefix = STR("n/"), .start_instance = 2,
                   .start = STR("n/a")),
              "1/2/n/b@6+6=\n1/3/n/a@9+9=\n1/3/n/b@10+10=\n");
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL, .prefix = STR("n/"), .start_instance = 2,
                   .start = STR("z")),
              "1/3/n/a@9+9=\n1/3/n/b@10+10=\n");
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL, .prefix = STR("x")), "");
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = STORE_ALL }) == 12);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 2 }) == 4);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 2, .prefix = STR("n/") }) ==
          2);
    CHECK(count(f->store,
                (struct store_range){
                    .type = 1, .instance = STORE_ALL, .start_instance = 2, .start = STR("n/a") }) ==
          6);
    CHECK(count(f->store, (struct store_range){ .type = 9, .instance = STORE_ALL }) == 0);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 2, .prefix = STR("/") }) ==
          0);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 2, .prefix = STR("n") }) ==
          2);
    (void)del(f->store, 1, 2, "n/a");
    (void)put(f->store, 1, 2, "n/b", "again");
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 2, .prefix = STR("n/") }) ==
          1);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 3, .prefix = STR("n/") }) ==
          2);
    if (b->reopen)
        b->reopen(f);
    REQUIRE(f->store);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = 2, .prefix = STR("n/") }) ==
          1);
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = STORE_ALL }) == 11);
}

static bool take_three(void *arg, const struct store_row *row)
{
    (void)row;
    return ++*(int *)arg < 3;
}

SUITE(a_range_at_the_head_says_which_revision_it_was)
{
    struct store_range r = { .type = 1, .instance = 1 };
    struct status st;
    int n = 0;

    status_init(&st, f->arena);
    for (int i = 0; i < 5; i++) {
        char name[2] = { (char)('a' + i), 0 };

        (void)put(f->store, 1, 1, name, "");
    }
    epoch_enter();
    CHECK(store_scan(f->store, &r, take_three, &n, &st) == 1);
    CHECK(n == 3 && r.rev == 5);
    n = -10;
    CHECK(store_scan(f->store, &r, take_three, &n, &st) == 0 && n == -5);
    epoch_exit();
}

SUITE(index_hashes_find_their_rows)
{
    uint64_t one[] = { 1, 2 }, two[] = { 2, 3 };
    struct store_op op = op_put(1, 1, STR("a"), STR("x"));

    op.hashes = one;
    op.nhashes = 2;
    CHECK(commit(f->store, &op, 1) == 1);
    op.key.instance = 2;
    op.hashes = two;
    CHECK(commit(f->store, &op, 1) == 2);
    op.key.name = STR("b");
    CHECK(commit(f->store, &op, 1) == 3);
    op.key.type = 2;
    CHECK(commit(f->store, &op, 1) == 4);
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL, .hash = 2),
              "1/1/a@1+1=x\n1/2/a@2+2=x\n1/2/b@3+3=x\n");
    CHECK_STR(ROWS(.type = 1, .instance = 2, .hash = 2, .start = STR("a")), "1/2/b@3+3=x\n");
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL, .hash = 1), "1/1/a@1+1=x\n");
    CHECK_STR(ROWS(.type = 1, .instance = STORE_ALL, .hash = 4), "");
    CHECK(count(f->store, (struct store_range){ .type = 1, .instance = STORE_ALL, .hash = 3 }) ==
          2);
    /* The row no longer has it, but at the old revision it had. */
    op.hashes = one;
    CHECK(commit(f->store, &op, 1) == 5);
    CHECK_STR(ROWS(.type = 2, .instance = 2, .hash = 3, .rev = 4), "2/2/b@4+4=x\n");
    CHECK_STR(ROWS(.type = 2, .instance = 2, .hash = 1), "2/2/b@5+4=x\n");
}

SUITE(rows_stay_valid_as_long_as_the_arena)
{
    struct store_key key = { 1, 1, STR("a") };
    struct store_row row;
    struct status st;

    status_init(&st, f->arena);
    (void)put(f->store, 1, 1, "a", "the first value");
    epoch_enter();
    CHECK(store_get(f->store, f->arena, key, 0, &row, &st) == 1);
    epoch_exit();
    for (int i = 0; i < 3000; i++)
        (void)put(f->store, 1, 1, "a", "another one, and many of them");
    store_compact(f->store, store_head(f->store));
    for (int i = 0; i < 3000; i++)
        (void)put(f->store, 1, 1, "a", "another one, and many of them");
    CHECK(str_is(row.value, "the first value") && str_is(row.key.name, "a"));
    CHECK(row.rev == 1 && row.created == 1);
}

/* ---- 6: watch ---- */

SUITE(events_come_in_order_with_what_was_before)
{
    struct store_op ops[] = { op_put(1, 1, STR("b"), STR("B")), op_put(2, 2, STR("c"), STR("C")) };

    (void)put(f->store, 1, 1, "a", "1");
    (void)put(f->store, 1, 1, "a", "2");
    (void)commit(f->store, ops, 2);
    (void)del(f->store, 1, 1, "a");
    (void)del(f->store, 1, 1, "a");
    (void)put(f->store, 1, 1, "a", "6");
    CHECK_STR(EVENTS(UINT32_MAX, STORE_ALL, 0),
              "+1/1/a@1+1=1<0:\n+1/1/a@2+1=2<1:1\n+1/1/b@3+3=B<0:\n+2/2/c@3+3=C<0:\n"
              "-1/1/a@4+1=<2:2\n+1/1/a@6+6=6<0:\nto 6");
    CHECK_STR(EVENTS(UINT32_MAX, STORE_ALL, 3), "-1/1/a@4+1=<2:2\n+1/1/a@6+6=6<0:\nto 6");
    CHECK_STR(EVENTS(2, STORE_ALL, 0), "+2/2/c@3+3=C<0:\nto 6");
    CHECK_STR(EVENTS(1, 2, 0), "to 6");
    CHECK_STR(EVENTS(1, 1, 6), "to 6");
    CHECK_STR(EVENTS(1, 1, 7), "Timeout");
    store_compact(f->store, 3);
    CHECK_STR(EVENTS(UINT32_MAX, STORE_ALL, 2), "Expired");
    CHECK_STR(EVENTS(UINT32_MAX, STORE_ALL, 3), "-1/1/a@4+1=<2:2\n+1/1/a@6+6=6<0:\nto 6");
}

static bool take_one(void *arg, const struct store_event *ev)
{
    *(uint64_t *)arg = ev->rev;
    return false;
}

SUITE(events_say_how_far_they_came)
{
    struct store_op ops[] = { op_put(1, 1, STR("a"), STR("")), op_put(2, 1, STR("b"), STR("")) };
    uint64_t seen = 0, upto = 0;
    struct status st;

    status_init(&st, f->arena);
    (void)commit(f->store, ops, 2);
    (void)put(f->store, 3, 1, "c", "");
    epoch_enter();
    CHECK(store_events(f->store, UINT32_MAX, STORE_ALL, 0, take_one, &seen, &upto, &st) == 0);
    CHECK(seen == 1 && upto == 0); /* there is another of that revision */
    CHECK(store_events(f->store, 1, STORE_ALL, 0, take_one, &seen, &upto, &st) == 0);
    CHECK(seen == 1 && upto == 1);
    CHECK(store_events(f->store, 9, STORE_ALL, 0, take_one, &seen, &upto, &st) == 0);
    CHECK(upto == 2);
    epoch_exit();
}

struct listener {
    struct store_sub sub;
    struct store *store;
    uint64_t seen, until;
};

static void listener_called(struct store_sub *sub)
{
    struct listener *l = (struct listener *)sub;

    l->seen = store_head(l->store);
    if (l->seen >= l->until)
        loop_stop(sub->loop);
}

static void *writes(void *arg)
{
    for (int i = 0; i < 100; i++)
        (void)put(arg, 1, 1, "a", "x");
    return NULL;
}

SUITE(subscribers_hear_of_every_move)
{
    struct loop *loop = loop_new();
    struct listener l = { .sub = { .loop = loop, .fn = listener_called }, .store = f->store };
    pthread_t thread;

    l.until = 100;
    store_subscribe(f->store, &l.sub);
    REQUIRE(pthread_create(&thread, NULL, writes, f->store) == 0);
    loop_run(loop);
    (void)pthread_join(thread, NULL);
    CHECK(l.seen == 100);
    (void)put(f->store, 1, 1, "a", "y"); /* its message is under way while he leaves */
    store_unsubscribe(f->store, &l.sub);
    l.seen = 0;
    loop_free(loop);
    CHECK(l.seen == 0);
}

/* ---- 7: refused means unchanged ---- */

SUITE(limits_are_refused)
{
    static const uint64_t hashes[STORE_HASHES_MAX + 1] = { 0 };
    char *large = mem_zalloc(STORE_VALUE_MAX + 1);
    struct store_op ops[STORE_TXN_OPS_MAX + 1], op = op_put(1, 1, STR("a"), STR("x"));
    struct store_txn txn = { .ops = &op, .nops = 1 };

#define REFUSED(with)                                                                     \
    CHECK(store_commit_wait(f->store, &txn) < 0 && txn.error == (with) && txn.rev == 0 && \
          txn.failed_op == -1)
    op.value = (str){ large, STORE_VALUE_MAX + 1 };
    REFUSED(EFBIG);
    op.value = STR("x");
    op.key.name = (str){ large, STORE_KEY_MAX + 1 };
    REFUSED(EFBIG);
    op.key.name = STR_NONE;
    REFUSED(EINVAL);
    op.key.name = STR("a");
    op.hashes = hashes;
    op.nhashes = STORE_HASHES_MAX + 1;
    REFUSED(EFBIG);
    op.nhashes = 0;
    op.key.instance = STORE_ALL;
    REFUSED(EINVAL);
    op.key.instance = 1;
    txn.nops = 0;
    REFUSED(EINVAL);
    for (size_t i = 0; i <= STORE_TXN_OPS_MAX; i++)
        ops[i] = op_put((uint32_t)i, 1, STR("a"), STR("x"));
    txn.ops = ops;
    txn.nops = STORE_TXN_OPS_MAX + 1;
    REFUSED(EFBIG);
    ops[1] = ops[0]; /* one row twice */
    txn.nops = 2;
    REFUSED(EINVAL);
    CHECK(store_head(f->store) == 0);
    op.value = (str){ large, STORE_VALUE_MAX };
    txn.ops = &op;
    txn.nops = 1;
    CHECK(store_commit_wait(f->store, &txn) == 0);
    free(large);
}

/* ---- readers beside the writer ---- */

enum { PAIRS = 8 };

struct observer {
    struct store *store;
    atomic_bool *stop;
    atomic_uint *started;
    unsigned rounds, torn, disorder;
};

/* Every transaction writes one number to a pair of rows: who sees two numbers sees half of one. */
static bool see_pair(void *arg, const struct store_row *row)
{
    str *seen = arg;

    if (seen->n == 0)
        *seen = (str){ memcpy(mem_alloc(row->value.n), row->value.p, row->value.n), row->value.n };
    else if (!str_eq(*seen, row->value))
        seen[1].n++;
    return true;
}

static bool see_event(void *arg, const struct store_event *ev)
{
    uint64_t *last = arg;

    if (ev->rev < last[0] || ev->value.n == 0)
        last[1]++;
    last[0] = ev->rev;
    return true;
}

static void observe(struct observer *o, struct arena *a, uint32_t pair)
{
    struct store_range r = { .type = 1, .instance = pair };
    struct status st;
    uint64_t last[2], upto;
    str seen[2] = { STR_NONE, STR_NONE };

    status_init(&st, a);
    epoch_enter();
    if (store_scan(o->store, &r, see_pair, seen, &st) == 0)
        o->torn += seen[1].n != 0;
    last[0] = store_floor(o->store);
    last[1] = 0;
    if (store_events(o->store, 1, STORE_ALL, last[0], see_event, last, &upto, &st) == 0)
        o->disorder += last[1] != 0;
    epoch_exit();
    free((void *)(uintptr_t)seen[0].p);
}

static void *observer_run(void *arg)
{
    struct observer *o = arg;

    for (; !atomic_load(o->stop); o->rounds++) {
        struct arena *a = arena_new();

        observe(o, a, o->rounds % PAIRS);
        if (o->rounds == 0)
            atomic_fetch_add(o->started, 1);
        arena_free(a);
    }
    return NULL;
}

SUITE(readers_see_whole_transactions)
{
    enum { OBSERVERS = 3 };
    struct observer o[OBSERVERS];
    pthread_t threads[OBSERVERS];
    atomic_bool stop = false;
    atomic_uint started = 0;
    char value[32];

    for (int i = 0; i < OBSERVERS; i++) {
        o[i] = (struct observer){ .store = f->store, .stop = &stop, .started = &started };
        REQUIRE(pthread_create(&threads[i], NULL, observer_run, &o[i]) == 0);
    }
    for (int i = 0; i < 1500 || atomic_load(&started) < OBSERVERS; i++) {
        uint32_t pair = (uint32_t)i % PAIRS;
        struct store_op ops[2];

        (void)snprintf(value, sizeof(value), "%d", i);
        ops[0] = op_put(1, pair, STR("left"), str_of(value));
        ops[1] = op_put(1, pair, STR("right"), str_of(value));
        CHECK(commit(f->store, ops, 2) != 0);
        if (i % 20 == 0)
            store_compact(f->store, store_head(f->store) - 10);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < OBSERVERS; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK(o[i].rounds > 0 && o[i].torn == 0 && o[i].disorder == 0);
    }
}
