/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/duration.h"

#include <inttypes.h>

#include "base/banned.h"
#include "base/clock.h"

#define MINUTE INT64_C(60)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define YEAR   (365 * DAY)

/* The longer ago, the coarser: below `below` seconds the unit is this, with a rest in the smaller
 * unit if there is one. */
static const struct {
    int64_t below, unit, rest;
    char name, rest_name;
} steps[] = {
    { 2 * MINUTE, 1, 0, 's', 0 },    { 10 * MINUTE, MINUTE, 1, 'm', 's' },
    { 3 * HOUR, MINUTE, 0, 'm', 0 }, { 8 * HOUR, HOUR, MINUTE, 'h', 'm' },
    { 2 * DAY, HOUR, 0, 'h', 0 },    { 8 * DAY, DAY, HOUR, 'd', 'h' },
    { 2 * YEAR, DAY, 0, 'd', 0 },    { 8 * YEAR, YEAR, DAY, 'y', 'd' },
    { INT64_MAX, YEAR, 0, 'y', 0 },
};

str duration_text(struct arena *a, int64_t seconds)
{
    size_t i = 0;
    int64_t rest;

    /* Clocks of two machines may differ by a second or so. */
    if (seconds < 0)
        return seconds < -1 ? STR("<invalid>") : STR("0s");
    while (seconds >= steps[i].below && steps[i].below != INT64_MAX)
        i++;
    rest = steps[i].rest ? seconds % steps[i].unit / steps[i].rest : 0;
    if (rest)
        return str_printf(a, "%" PRId64 "%c%" PRId64 "%c", seconds / steps[i].unit, steps[i].name,
                          rest, steps[i].rest_name);
    return str_printf(a, "%" PRId64 "%c", seconds / steps[i].unit, steps[i].name);
}

str duration_since(struct arena *a, str time, int64_t now_s)
{
    int64_t then;

    return time_parse_seconds(time, &then) ? duration_text(a, now_s - then) : STR("<unknown>");
}
