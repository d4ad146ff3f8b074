/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/fair.h"

#include <string.h>

#include "tap.h"

/* Turns, with costs that the test says. */

enum { LOUD = 1, QUIET = 2, US = 1000 };

static struct loop_msg *take(struct fair *f, int64_t ns)
{
    struct loop_msg *m = fair_take(f);

    if (!m)
        return NULL;
    (void)fair_charge(f, ns);
    fair_done(f);
    return m;
}

static void push(struct fair *f, uint64_t whose, struct loop_msg *m)
{
    m->whose = whose;
    fair_push(f, m);
}

TEST(a_thousand_of_one_delay_another_by_a_turn)
{
    struct fair f = { 0 };
    struct loop_msg loud[1000], quiet = { 0 };
    int before = 0;

    memset(loud, 0, sizeof(loud));
    for (int i = 0; i < 1000; i++)
        push(&f, LOUD, &loud[i]);
    CHECK(take(&f, 10 * US) == &loud[0]); /* in their order */
    push(&f, QUIET, &quiet);
    while (take(&f, 10 * US) != &quiet)
        before++;
    CHECK(before <= 10);
    for (int i = before + 1; i < 1000; i++)
        CHECK(take(&f, 10 * US) == &loud[i]);
    CHECK(!take(&f, 0) && fair_is_empty(&f));
}

TEST(time_is_shared_not_the_number)
{
    struct fair f = { 0 };
    struct loop_msg dear[200], cheap[200];
    int64_t spent[3] = { 0 };

    memset(dear, 0, sizeof(dear));
    memset(cheap, 0, sizeof(cheap));
    for (int i = 0; i < 200; i++) {
        push(&f, LOUD, &dear[i]);
        push(&f, QUIET, &cheap[i]);
    }
    for (int i = 0; i < 200; i++) {
        struct loop_msg *m = fair_take(&f);
        int64_t ns = m->whose == LOUD ? 90 * US : 10 * US;

        spent[m->whose] += ns;
        (void)fair_charge(&f, ns);
        fair_done(&f);
    }
    CHECK(spent[LOUD] < spent[QUIET] + 300 * US && spent[QUIET] < spent[LOUD] + 300 * US);
    while (take(&f, 1))
        ;
}

TEST(what_ends_something_comes_before_more_is_begun)
{
    struct fair f = { 0 };
    struct loop_msg conn = { .rank = LOOP_READS }, request = { .rank = LOOP_BEGINS };
    struct loop_msg written = { .rank = LOOP_GOES_ON };

    CHECK(fair_is_free(&f, LOUD));
    push(&f, LOUD, &conn);
    CHECK(fair_is_free(&f, LOUD) && !fair_is_free(&f, QUIET));
    push(&f, LOUD, &request);
    CHECK(!fair_is_free(&f, LOUD));
    push(&f, LOUD, &written);
    CHECK(take(&f, 1) == &written);
    CHECK(!fair_is_free(&f, LOUD));
    CHECK(take(&f, 1) == &request);
    CHECK(take(&f, 1) == &conn);
}

TEST(what_goes_away_is_not_taken)
{
    struct fair f = { 0 };
    struct loop_msg w[3] = { 0 };

    for (int i = 0; i < 3; i++)
        push(&f, (uint64_t)i, &w[i]);
    fair_remove(&f, &w[0]);
    fair_remove(&f, &w[0]);
    CHECK(fair_take(&f) == &w[1]);
    push(&f, 1, &w[0]); /* while it runs */
    fair_remove(&f, &w[0]);
    (void)fair_charge(&f, 5000000 * (int64_t)US);
    fair_done(&f);
    CHECK(take(&f, 1) == &w[2]);
    CHECK(fair_is_empty(&f));
}

TEST(a_turn_ends_with_its_time_unless_nobody_else_waits)
{
    struct fair f = { 0 };
    struct loop_msg w[4] = { 0 };

    for (int i = 0; i < 3; i++)
        push(&f, LOUD, &w[i]);
    CHECK(fair_take(&f) == &w[0]);
    CHECK(fair_charge(&f, 500 * US));
    push(&f, QUIET, &w[3]);
    CHECK(!fair_charge(&f, 1));
    fair_done(&f);
    CHECK(fair_take(&f) == &w[3]);
    CHECK(!fair_charge(&f, 1)); /* there is no more of it */
    fair_done(&f);
    CHECK(take(&f, 1) == &w[1] && take(&f, 1) == &w[2] && fair_is_empty(&f));
}

/* Against a list for each lane, which tells what may come: the first of its lane and rank. */
TEST(whatever_is_pushed_comes_once_in_the_order_of_its_lane)
{
    enum { MESSAGES = 64, WHOSE = 5, STEPS = 20000 };
    struct fair f = { 0 };
    struct loop_msg m[MESSAGES] = { 0 };
    unsigned since[MESSAGES] = { 0 }, clock = 0; /* when it was pushed; 0: it does not wait */
    uint32_t seed = 7;

    for (int i = 0; i < STEPS; i++) {
        unsigned which, op;
        struct loop_msg *got;

        seed = seed * 1103515245 + 12345;
        which = seed >> 8 & (MESSAGES - 1);
        op = seed >> 16 & 7;
        if (op < 4 && !since[which]) {
            m[which].rank = (seed >> 20) % LOOP_RANKS;
            push(&f, 1 + (seed >> 24) % WHOSE, &m[which]);
            since[which] = ++clock;
        } else if (op == 4) {
            fair_remove(&f, &m[which]);
            since[which] = 0;
        } else if (op > 4 && (got = take(&f, (seed >> 20 & 255) * US))) {
            size_t at = (size_t)(got - m);

            CHECK(since[at]);
            for (size_t k = 0; k < MESSAGES; k++)
                CHECK(!since[k] || k == at || m[k].whose != got->whose || m[k].rank > got->rank ||
                      (m[k].rank == got->rank && since[k] > since[at]));
            since[at] = 0;
        }
    }
    while (take(&f, 1))
        ;
    CHECK(fair_is_empty(&f));
}
