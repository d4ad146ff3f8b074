/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pace.h"

#include "tap.h"

TEST(who_hears_much_gathers_longer)
{
    struct pace p = { 0 };

    CHECK(pace_gather_ms(&p, 5000, 5, 100, 2000) == 100);
    for (int i = 0; i < 40; i++)
        pace_count(&p, 5000 + i);
    CHECK(pace_gather_ms(&p, 5100, 5, 100, 2000) == 200);
    for (int i = 0; i < 1000; i++)
        pace_count(&p, 5200);
    CHECK(pace_gather_ms(&p, 5200, 5, 100, 2000) == 2000);
}

TEST(and_not_when_it_is_over)
{
    struct pace p = { 0 };

    for (int i = 0; i < 60; i++)
        pace_count(&p, 7900);
    CHECK(pace_gather_ms(&p, 8100, 5, 100, 2000) == 300); /* of the second before */
    pace_count(&p, 8200);
    CHECK(pace_gather_ms(&p, 9000, 5, 100, 2000) == 100);
    for (int i = 0; i < 60; i++)
        pace_count(&p, 9100);
    CHECK(pace_gather_ms(&p, 11000, 5, 100, 2000) == 100); /* a second without any lies between */
}
