/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "federation/sched/sched_internal.h"
#include "tap.h"

/* One seat after the other, as the rule says it. */
static void slowly(struct sched_share *s, size_t n, int64_t seats, bool descend)
{
    for (; seats > 0; seats--) {
        struct sched_share *best = NULL;

        for (size_t i = 0; i < n; i++) {
            __int128 x = (__int128)s[i].weight * (best ? 2 * best->seats + 1 : 1);
            __int128 y = best ? (__int128)best->weight * (2 * s[i].seats + 1) : -1;
            int names = best ? str_cmp(s[i].name, best->name) : 0;

            if (s[i].weight <= 0)
                continue;
            if (x > y || (x == y && (s[i].seats < best->seats ||
                                     (s[i].seats == best->seats && (names < 0) != descend))))
                best = &s[i];
        }
        if (!best)
            return;
        best->seats++;
    }
}

TEST(webster_gives_the_same_fast_and_slowly)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    uint64_t seed = 7;

    for (int round = 0; round < 3000; round++) {
        scoped_arena a = arena_new();
        struct sched_share fast[8], slow[8];
        size_t n;
        int64_t seats;

        seed = seed * 6364136223846793005U + 1442695040888963407U;
        n = 1 + (seed >> 33) % 8;
        seats = (int64_t)((seed >> 40) % 200);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            fast[i] = (struct sched_share){ str_of(names[i]), (int64_t)((seed >> 33) % 9),
                                            (int64_t)((seed >> 50) % 7) };
            slow[i] = fast[i];
        }
        sched_webster(a, fast, n, seats, round % 2);
        slowly(slow, n, seats, round % 2);
        for (size_t i = 0; i < n; i++)
            if (!CHECK(fast[i].seats == slow[i].seats))
                return;
    }
}

TEST(webster_takes_no_longer_for_billions)
{
    scoped_arena a = arena_new();
    struct sched_share s[] = { { STR("a"), 1, 0 }, { STR("b"), 2, 0 }, { STR("c"), INT64_MAX, 0 } };
    struct sched_share t[] = { { STR("a"), 1, 0 }, { STR("b"), 2, 0 }, { STR("c"), 3, 5 } };

    sched_webster(a, s, 3, INT32_MAX, false);
    CHECK(s[0].seats == 0 && s[1].seats == 0 && s[2].seats == INT32_MAX);
    sched_webster(a, t, 3, 2000000000, true);
    CHECK(t[0].seats + t[1].seats + t[2].seats == 2000000005);
    CHECK(t[1].seats == 666666668 && t[2].seats == 1000000003);
}

TEST(weights_that_are_nothing_get_nothing)
{
    scoped_arena a = arena_new();
    struct sched_share s[] = { { STR("a"), 0, 0 }, { STR("b"), -3, 0 } };

    sched_webster(a, s, 2, 5, false);
    CHECK(s[0].seats == 0 && s[1].seats == 0);
    sched_webster(a, s, 0, 5, false);
}

TEST(ties_follow_the_uid)
{
    scoped_arena a = arena_new();
    struct sched_share up[] = { { STR("a"), 1, 0 }, { STR("b"), 1, 0 } };
    struct sched_share down[] = { { STR("a"), 1, 0 }, { STR("b"), 1, 0 } };

    CHECK(!sched_ties_descend(STR("")));
    /* FNV-1a of "a" is 0xe40c292c, of "b" 0xe70c2de5. */
    CHECK(!sched_ties_descend(STR("a")));
    CHECK(sched_ties_descend(STR("b")));
    sched_webster(a, up, 2, 1, false);
    sched_webster(a, down, 2, 1, true);
    CHECK(up[0].seats == 1 && up[1].seats == 0);
    CHECK(down[0].seats == 0 && down[1].seats == 1);
}

TEST(even_splits)
{
    int64_t out[3];

    sched_split_evenly(10, out, 3);
    CHECK(out[0] == 4 && out[1] == 3 && out[2] == 3);
    sched_split_evenly(2, out, 3);
    CHECK(out[0] == 1 && out[1] == 1 && out[2] == 0);
    sched_split_evenly(0, out, 2);
    CHECK(out[0] == 0 && out[1] == 0);
    sched_split_evenly(7, out, 0);
}

/* 40 regions of one cluster, 20 wanted: more sets than can be looked at. */
TEST(a_search_that_is_too_large_ends)
{
    scoped_arena a = arena_new();
    struct sched_candidate one = { .name = STR("c") };
    struct sched_group g[40];
    size_t n;

    for (size_t i = 0; i < 40; i++)
        g[i] = (struct sched_group){ str_printf(a, "r%02zu", i), 1, (int64_t)i, &one };
    CHECK(sched_select_groups(a, g, 40, 20, 20, 20) == 20);
    for (size_t i = 0; i < 40; i++)
        g[i] = (struct sched_group){ str_printf(a, "r%02zu", i), i < 39 ? 1 : 100, 1, &one };
    n = sched_select_groups(a, g, 40, 1, 20, 115); /* the large one and 15 others at least */
    CHECK(n >= 16 && n <= 20);
}
