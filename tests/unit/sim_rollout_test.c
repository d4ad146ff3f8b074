/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/banned.h"
#include "sim/rollout.h"
#include "tap.h"

/* What each is to have next, as text. */
static const char *next(const struct rollout *r, struct rollout_set *sets, size_t n)
{
    static char text[128];
    size_t at = 0;

    (void)rollout_step(r, sets, n);
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%lld", i ? " " : "",
                               (long long)sets[i].want);
    return text;
}

TEST(a_new_one_gets_all_at_once_where_there_is_nothing_else)
{
    const struct rollout r = { .desired = 3, .max_surge = 1 };
    struct rollout_set sets[] = { { .spec = 0 } };

    CHECK_STR(next(&r, sets, 1), "3");
}

TEST(the_surge_comes_first)
{
    const struct rollout r = { .desired = 3, .max_surge = 1 };
    struct rollout_set sets[] = { { .spec = 0 }, { .spec = 3, .replicas = 3, .available = 3 } };

    CHECK_STR(next(&r, sets, 2), "1 3");
}

TEST(an_old_one_goes_only_when_a_new_one_is_available)
{
    const struct rollout r = { .desired = 3, .max_surge = 1 };
    struct rollout_set waiting[] = { { .spec = 1, .replicas = 1 },
                                     { .spec = 3, .replicas = 3, .available = 3 } };
    struct rollout_set there[] = { { .spec = 1, .replicas = 1, .available = 1 },
                                   { .spec = 3, .replicas = 3, .available = 3 } };

    CHECK_STR(next(&r, waiting, 2), "1 3");
    CHECK_STR(next(&r, there, 2), "1 2");
}

TEST(what_may_be_unavailable_goes_at_once)
{
    const struct rollout r = { .desired = 4, .max_surge = 0, .max_unavailable = 2 };
    struct rollout_set sets[] = { { .spec = 0 }, { .spec = 4, .replicas = 4, .available = 4 } };

    CHECK_STR(next(&r, sets, 2), "0 2");
    sets[1] = (struct rollout_set){ .spec = 2, .replicas = 2, .available = 2 };
    CHECK_STR(next(&r, sets, 2), "2 2");
}

TEST(old_ones_that_are_not_available_go_first)
{
    const struct rollout r = { .desired = 3, .max_surge = 1, .max_unavailable = 1 };
    struct rollout_set sets[] = { { .spec = 1, .replicas = 1, .available = 1 },
                                  { .spec = 2, .replicas = 2, .available = 2 },
                                  { .spec = 1, .replicas = 1 } };

    CHECK_STR(next(&r, sets, 3), "1 1 0");
}

TEST(the_scale_changes)
{
    const struct rollout r = { .desired = 2, .max_surge = 1 };
    struct rollout_set sets[] = { { .spec = 5, .replicas = 5, .available = 5 } };

    CHECK_STR(next(&r, sets, 1), "2");
}

TEST(recreate_waits_until_the_old_pods_are_gone)
{
    const struct rollout r = { .desired = 2, .recreate = true };
    struct rollout_set sets[] = { { .spec = 0 }, { .spec = 2, .replicas = 2, .available = 2 } };

    CHECK_STR(next(&r, sets, 2), "0 0");
    sets[1] = (struct rollout_set){ .spec = 0, .replicas = 1 };
    CHECK_STR(next(&r, sets, 2), "0 0");
    sets[1] = (struct rollout_set){ .spec = 0 };
    CHECK_STR(next(&r, sets, 2), "2 0");
}

TEST(a_paused_one_scales_and_does_not_roll)
{
    const struct rollout r = { .desired = 5, .max_surge = 2, .paused = true };
    struct rollout_set sets[] = { { .spec = 1, .replicas = 1, .available = 1 },
                                  { .spec = 2, .replicas = 2, .available = 2 } };

    CHECK_STR(next(&r, sets, 2), "3 2");
}

/* From any beginning, with pods that become available one after the other, it ends; on the way
 * there are never too many, nor too few that were there at the start. */
TEST(it_ends_and_keeps_its_bounds)
{
    for (int64_t desired = 0; desired <= 6; desired++)
        for (int64_t surge = 0; surge <= 2; surge++)
            for (int64_t lack = 0; lack <= 2; lack++) {
                struct rollout r = { desired, surge, lack, false, false };
                struct rollout_set s[] = { { .spec = 0 }, { desired, desired, desired, 0 } };
                int steps = 0;

                if (surge == 0 && lack == 0)
                    continue;
                while (!rollout_is_complete(&r, s, 2) && steps++ < 100) {
                    (void)rollout_step(&r, s, 2);
                    for (int i = 0; i < 2; i++) {
                        s[i].spec = s[i].replicas = s[i].want;
                        if (s[i].available > s[i].spec)
                            s[i].available = s[i].spec;
                    }
                    CHECK(s[0].spec + s[1].spec <= desired + surge);
                    CHECK(s[0].available + s[1].available >= desired - lack);
                    s[0].available += s[0].available < s[0].spec;
                }
                CHECK(steps < 100);
            }
}
