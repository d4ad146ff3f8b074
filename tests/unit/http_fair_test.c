/* SPDX-License-Identifier: Apache-2.0 */
#include "http/fair.h"

#include <string.h>

#include "tap.h"

/* Turns, with costs that the test says. */

enum { LOUD = 1, QUIET = 2, US = 1000 };

struct work {
    struct fair_item item; /* first */
    uint64_t whose;
};

static struct work *take(struct fair *f, int64_t ns)
{
    struct work *w = (struct work *)(void *)fair_take(f);

    if (w)
        fair_charge(f, ns);
    return w;
}

TEST(a_thousand_of_one_delay_another_by_a_turn)
{
    struct fair f = { 0 };
    struct work loud[1000], quiet = { .whose = QUIET };
    int before = 0;

    memset(loud, 0, sizeof(loud));
    for (int i = 0; i < 1000; i++) {
        loud[i].whose = LOUD;
        fair_push(&f, LOUD, &loud[i].item);
    }
    CHECK(take(&f, 10 * US) == &loud[0]); /* in their order */
    fair_push(&f, QUIET, &quiet.item);
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
    struct work dear[200], cheap[200];
    int64_t spent[3] = { 0 };

    memset(dear, 0, sizeof(dear));
    memset(cheap, 0, sizeof(cheap));
    for (int i = 0; i < 200; i++) {
        dear[i].whose = LOUD;
        cheap[i].whose = QUIET;
        fair_push(&f, LOUD, &dear[i].item);
        fair_push(&f, QUIET, &cheap[i].item);
    }
    for (int i = 0; i < 200; i++) {
        struct fair_item *item = fair_take(&f);
        struct work *w = (struct work *)(void *)item;
        int64_t ns = w->whose == LOUD ? 90 * US : 10 * US;

        spent[w->whose] += ns;
        fair_charge(&f, ns);
    }
    CHECK(spent[LOUD] < spent[QUIET] + 300 * US && spent[QUIET] < spent[LOUD] + 300 * US);
    while (take(&f, 1))
        ;
}

TEST(requests_come_before_more_of_them_are_read)
{
    struct fair f = { 0 };
    struct work conn = { .item.kind = FAIR_CONN }, request = { .item.kind = FAIR_REQUEST };

    CHECK(fair_is_free(&f, LOUD));
    fair_push(&f, LOUD, &conn.item);
    CHECK(fair_is_free(&f, LOUD) && !fair_is_free(&f, QUIET));
    fair_push(&f, LOUD, &request.item);
    CHECK(!fair_is_free(&f, LOUD));
    CHECK(take(&f, 1) == &request);
    CHECK(take(&f, 1) == &conn);
}

TEST(what_goes_away_is_not_taken)
{
    struct fair f = { 0 };
    struct work w[3] = { 0 };

    for (int i = 0; i < 3; i++)
        fair_push(&f, (uint64_t)i, &w[i].item);
    fair_remove(&f, &w[0].item);
    fair_remove(&f, &w[0].item);
    CHECK((struct work *)(void *)fair_take(&f) == &w[1]);
    fair_push(&f, 1, &w[0].item); /* while it runs */
    fair_remove(&f, &w[0].item);
    fair_charge(&f, 5000000 * (int64_t)US);
    CHECK(take(&f, 1) == &w[2]);
    CHECK(fair_is_empty(&f));
}
