/* SPDX-License-Identifier: Apache-2.0 */
#include "base/zone.h"

#include "base/banned.h"
#include "base/buf.h"
#include "tap.h"

/* A file of version 2 without changes, with this rule at its end. */
static struct zone *of_rule(const char *rule)
{
    char bytes[300] = { 0 };
    size_t n = 0;

    for (int i = 0; i < 2; i++) {
        memcpy(bytes + n, "TZif2", 5);
        bytes[n + 39] = 1; /* one type: nothing east, no summer time */
        bytes[n + 43] = 1; /* and its name, empty */
        n += 44 + 6 + 1;
    }
    n += (size_t)snprintf(bytes + n, sizeof(bytes) - n, "\n%s\n", rule);
    return zone_parse((str){ bytes, n });
}

TEST(a_rule_says_when_summer_begins_and_ends)
{
    static const struct {
        const char *rule;
        int64_t at;
        int32_t offset;
    } cases[] = {
        { "UTC0", 0, 0 },
        { "<+0530>-5:30", 1767366245, 19800 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", 1774745999, 3600 }, /* 2026-03-29 00:59:59 */
        { "CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, 7200 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", 1792889999, 7200 }, /* 2026-10-25 00:59:59 */
        { "CET-1CEST,M3.5.0,M10.5.0/3", 1792890000, 3600 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", 253402300799, 3600 }, /* the year 9999 */
        { "CET-1CEST,M3.5.0,M10.5.0/3", INT64_MIN, 3600 },
        { "NZST-12NZDT,M9.5.0,M4.1.0/3", 1767366245, 46800 }, /* January is summer there */
        { "NZST-12NZDT,M9.5.0,M4.1.0/3", 1782864000, 43200 },
        { "EST5EDT,J60,J300", 1772344799, -18000 }, /* 1 March 2026, 06:59:59 */
        { "EST5EDT,J60,J300", 1772348400, -14400 },
        { "EST5EDT,59,300", 1772348400, -14400 },
        { "IST-1GMT0,M10.5.0,M3.5.0/1", 1767366245, 0 }, /* Dublin: winter is the exception */
        { "IST-1GMT0,M10.5.0,M3.5.0/1", 1782864000, 3600 },
        { "EET-2EEST,M3.4.4/50,M10.4.4/50", 1774656000, 10800 }, /* Gaza: hours of another day */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct zone *z = of_rule(cases[i].rule);

        REQUIRE(z);
        if (!CHECK(zone_offset_in(z, cases[i].at) == cases[i].offset))
            printf("# %s at %lld: %d\n", cases[i].rule, (long long)cases[i].at,
                   (int)zone_offset_in(z, cases[i].at));
        zone_free(z);
    }
}

TEST(rules_and_files_that_are_none)
{
    static const char *const rules[] = { "C",
                                         "CET",
                                         "CET-1CEST",
                                         "CET-1CEST,M3.5.0",
                                         "CET-1CEST,M13.5.0,M10.5.0",
                                         "CET-1CEST,M3.6.0,M10.5.0",
                                         "CET-1CEST,M3.5.0,M10.5.0x",
                                         "<CET-1",
                                         "CET-999",
                                         "CET-1CEST,J0,J10",
                                         "CET-1CEST,J1,366" };

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (!CHECK(!of_rule(rules[i])))
            printf("# %s\n", rules[i]);
    CHECK(!zone_parse(STR_NONE));
    CHECK(!zone_parse(STR("TZif")));
    CHECK(!zone_parse(
        STR("TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff"
            "\0\0\0\1\0\0\0\0")));
}

TEST(zones_have_names)
{
    static const struct {
        str name;
        int64_t at;
        int32_t offset;
    } cases[] = {
        { STR_INIT("UTC"), 0, 0 },
        { STR_INIT("Europe/Berlin"), 1774746000, 7200 },
        { STR_INIT("Europe/Berlin"), 0, 3600 },
        { STR_INIT("America/New_York"), 1767366245, -18000 },
        { STR_INIT("America/New_York"), -2717650801, -17762 }, /* before 1883-11-18: its own */
        { STR_INIT("Asia/Kolkata"), 4102444800, 19800 },
        { STR_INIT("Etc/GMT+5"), 0, -18000 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int32_t offset = -1;

        if (!CHECK(zone_offset(cases[i].name, cases[i].at, &offset) && offset == cases[i].offset))
            printf("# %s: %d\n", cases[i].name.p, (int)offset);
        CHECK(zone_known(cases[i].name));
    }
}

TEST(what_is_no_zone_is_not_known)
{
    static const str names[] = { STR_INIT(""),
                                 STR_INIT("Local"),
                                 STR_INIT("Europe"),
                                 STR_INIT("Europe/Atlantis"),
                                 STR_INIT("/UTC"),
                                 STR_INIT("Europe//Berlin"),
                                 STR_INIT("../zoneinfo/UTC"),
                                 STR_INIT("zone.tab"),
                                 STR_INIT("Europe/Berlin\0"),
                                 STR_INIT("europe/berlin") };
    int32_t offset = 7;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!CHECK(!zone_known(names[i])))
            printf("# %s\n", names[i].p);
    CHECK(!zone_offset(STR("Europe/Atlantis"), 0, &offset) && offset == 7);
}
