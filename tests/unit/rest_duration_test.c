/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/duration.h"
#include "tap.h"

#define M 60LL
#define H (60 * M)
#define D (24 * H)
#define Y (365 * D)

TEST(ages_get_coarser)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        { -2, "<invalid>" },
        { -1, "0s" },
        { 0, "0s" },
        { 119, "119s" },
        { 2 * M, "2m" },
        { 3 * M + 2, "3m2s" },
        { 10 * M - 1, "9m59s" },
        { 10 * M + 30, "10m" },
        { 3 * H - 1, "179m" },
        { 3 * H, "3h" },
        { 3 * H + 5 * M + 59, "3h5m" },
        { 8 * H - 1, "7h59m" },
        { 8 * H + 59 * M, "8h" },
        { 48 * H - 1, "47h" },
        { 2 * D, "2d" },
        { 4 * D + 3 * H, "4d3h" },
        { 8 * D - 1, "7d23h" },
        { 8 * D + 5 * H, "8d" },
        { 2 * Y - 1, "729d" },
        { 2 * Y, "2y" },
        { 3 * Y + 2 * D, "3y2d" },
        { 8 * Y - 1, "7y364d" },
        { 8 * Y + 5 * D, "8y" },
        { INT64_MAX, "292471208677y" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(str_z(a, duration_text(a, cases[i].seconds)), cases[i].text);
}

TEST(ages_are_counted_from_either_form_of_time)
{
    scoped_arena a = arena_new();

    CHECK_STR(str_z(a, duration_since(a, STR("2020-01-02T03:04:05Z"), 1577934245 + 5)), "5s");
    CHECK_STR(str_z(a, duration_since(a, STR("2020-01-02T03:04:05.900000Z"), 1577934245 + 300)),
              "5m");
    CHECK_STR(str_z(a, duration_since(a, STR(""), 0)), "<unknown>");
    CHECK_STR(str_z(a, duration_since(a, STR("yesterday"), 0)), "<unknown>");
}
