/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_CRON_H
#define KINDS_FRAME_CRON_H

/*
 * Whether a text is a schedule as robfig/cron's standard parser takes it: five fields (minute,
 * hour, day, month, weekday) with lists, ranges, steps, * and ?, names of months and weekdays, or
 * @hourly and its like, `@every 1h30m`, and `TZ=…` in front.
 */

#include "base/arena.h"
#include "base/str.h"

/* What is wrong, in that parser's words; empty when nothing is. */
str cron_fault(struct arena *a, str schedule);

/* What Go's time.LoadLocation takes: a name of the time zone data base, none, or Local. */
bool cron_zone_is_valid(str zone);

#endif
