/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "tap.h"

TEST(a_fake_clock_moves_when_told)
{
    struct clock c = { 0 };

    CHECK(clock_now_ms(&c) == 0);
    clock_advance(&c, 1500);
    CHECK(clock_now_ms(&c) == 1500);
    CHECK(clock_wall_us(&c) == 1500000);
    CHECK(clock_wall_s(&c) == 1);
    clock_jump(&c, -500000);
    CHECK(clock_now_ms(&c) == 1500);
    CHECK(clock_wall_s(&c) == -1);
}

TEST(the_real_clock_runs)
{
    int64_t now = clock_now_ms(clock_real());

    CHECK(now > 0);
    CHECK(clock_now_ms(clock_real()) >= now);
    CHECK(clock_wall_s(clock_real()) > 1700000000);
}

TEST(seconds_are_written_in_utc)
{
    static const struct {
        int64_t s;
        const char *text;
    } cases[] = {
        { 0, "1970-01-01T00:00:00Z" },
        { -1, "1969-12-31T23:59:59Z" },
        { 951782400, "2000-02-29T00:00:00Z" },
        { 1767366245, "2026-01-02T15:04:05Z" },
        { -62167219200, "0000-01-01T00:00:00Z" },
        { -62135596800, "0001-01-01T00:00:00Z" },
        { 253402300799, "9999-12-31T23:59:59Z" },
        { 253402300800, "" },
        { -62167219201, "" },
        { INT64_MAX, "" },
        { INT64_MIN, "" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[TIME_TEXT_SIZE];
        int64_t back;

        CHECK(time_format_seconds(text, cases[i].s) == strlen(cases[i].text));
        CHECK_STR(text, cases[i].text);
        if (text[0])
            CHECK(time_parse_seconds(str_of(text), &back) && back == cases[i].s);
    }
}

TEST(microseconds_are_always_six_digits)
{
    char text[TIME_TEXT_SIZE];
    int64_t us;

    (void)time_format_micro(text, 1767366245000000);
    CHECK_STR(text, "2026-01-02T15:04:05.000000Z");
    (void)time_format_micro(text, 1767366245000042);
    CHECK_STR(text, "2026-01-02T15:04:05.000042Z");
    (void)time_format_micro(text, -1);
    CHECK_STR(text, "1969-12-31T23:59:59.999999Z");
    CHECK(time_parse_micro(str_of(text), &us) && us == -1);
    CHECK(time_format_micro(text, INT64_MIN) == 0);
}

TEST(every_day_of_four_centuries_comes_back)
{
    for (int64_t day = -146097; day < 146097; day++) {
        char text[TIME_TEXT_SIZE];
        int64_t back = 0;

        (void)time_format_seconds(text, day * 86400);
        REQUIRE(time_parse_seconds(str_of(text), &back));
        REQUIRE(back == day * 86400);
    }
}

TEST(go_accepts_these)
{
    static const char *const good[] = {
        "2026-01-02T15:04:05Z",        "2026-01-02T17:04:05+02:00",
        "2026-01-02T10:34:05-04:30",   "2026-01-02T15:04:05.9Z",
        "2026-01-02T15:04:05,123456Z", "2026-01-02T15:04:05.1234567890123Z",
        "2026-01-03T15:04:05+24:00",   "2026-01-02T16:04:05+00:60",
    };
    int64_t s;

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        if (!CHECK(time_parse_seconds(str_of(good[i]), &s) && s == 1767366245))
            printf("# %s\n", good[i]);
    CHECK(time_parse_seconds(STR("2026-01-02T5:04:05Z"), &s) && s == 1767366245 - 36000);
}

TEST(go_refuses_these)
{
    static const char *const bad[] = {
        "",
        "2026-01-02",
        "2026-01-02T15:04:05",
        "2026-01-02t15:04:05Z",
        "2026-01-02T15:04:05z",
        "2026-01-02 15:04:05Z",
        "2026-1-02T15:04:05Z",
        "2026-13-02T15:04:05Z",
        "2026-00-02T15:04:05Z",
        "2026-02-29T15:04:05Z",
        "1900-02-29T15:04:05Z",
        "2026-04-31T15:04:05Z",
        "2026-01-00T15:04:05Z",
        "2026-01-02T24:04:05Z",
        "2026-01-02T15:60:05Z",
        "2026-01-02T15:04:60Z",
        "2026-01-02T15:04:05.Z",
        "2026-01-02T15:04:05+0200",
        "2026-01-02T15:04:05+02",
        "2026-01-02T15:04:05+25:00",
        "2026-01-02T15:04:05Zx",
        "20260-01-02T15:04:05Z",
    };
    int64_t s = 42;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (!CHECK(!time_parse_seconds(str_of(bad[i]), &s) && s == 42))
            printf("# %s\n", bad[i]);
}

TEST(micro_time_has_exactly_six_digits)
{
    int64_t us = 0;

    CHECK(time_parse_micro(STR("2026-01-02T17:04:05.000123+02:00"), &us));
    CHECK(us == 1767366245000123);
    CHECK(!time_parse_micro(STR("2026-01-02T15:04:05Z"), &us));
    CHECK(!time_parse_micro(STR("2026-01-02T15:04:05.12345Z"), &us));
    CHECK(!time_parse_micro(STR("2026-01-02T15:04:05.1234567Z"), &us));
    CHECK(us == 1767366245000123);
}
