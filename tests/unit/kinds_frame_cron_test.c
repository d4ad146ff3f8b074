/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/cron.h"

#include "tap.h"

static const struct {
    const char *schedule, *fault;
} rows[] = {
    { "* * * * *", "" },
    { "*/5 0-12/3 1,15 jan-mar MON", "" },
    { "0 0 ? * ?", "" },
    { "5/10 * * * 0", "" },
    { "@hourly", "" },
    { "@every 1h30m", "" },
    { "TZ=UTC 0 0 * * *", "" },
    { "* * * *", "expected exactly 5 fields, found 4: [* * * *]" },
    { "* * * * * * *", "expected exactly 5 fields, found 7: [* * * * * * *]" },
    { "", "expected exactly 5 fields, found 0: []" },
    { "60 * * * *", "end of range (60) above maximum (59): 60" },
    { "* * 0 * *", "beginning of range (0) below minimum (1): 0" },
    { "5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1" },
    { "*/0 * * * *", "step of range should be a positive number: */0" },
    { "1-2-3 * * * *", "too many hyphens: 1-2-3" },
    { "1/2/3 * * * *", "too many slashes: 1/2/3" },
    { "x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax" },
    { "@never", "unrecognized descriptor: @never" },
};

TEST(schedules)
{
    struct arena *a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(str_z(a, cron_fault(a, str_of(rows[i].schedule))), rows[i].fault);
    arena_free(a);
}

TEST(zones_are_looked_up)
{
    CHECK(cron_zone_is_valid(STR("Europe/Berlin")));
    CHECK(cron_zone_is_valid(STR("Etc/GMT+1")));
    CHECK(cron_zone_is_valid(STR("UTC")));
    CHECK(cron_zone_is_valid(STR("Local")));
    CHECK(cron_zone_is_valid(STR("")));
    CHECK(!cron_zone_is_valid(STR("A/B")));
    CHECK(!cron_zone_is_valid(STR("../x")));
    CHECK(!cron_zone_is_valid(STR("/etc")));
    CHECK(!cron_zone_is_valid(STR("a b")));
}
