/* SPDX-License-Identifier: Apache-2.0 */

/* Timestamps and durations, as Go reads and prints them. */

#include "object/cel/cel_functions.h"

#include "base/banned.h"
#include "base/zone.h"

enum { SECOND = 1000000000 };

/* ---- durations ---- */

static const struct {
    const char *unit;
    int64_t ns;
} units[] = {
    { "ns", 1 },           { "us", 1000 },           { "\xc2\xb5s", 1000 },  { "\xce\xbcs", 1000 },
    { "ms", 1000 * 1000 }, { "h", 3600ll * SECOND }, { "m", 60ll * SECOND }, { "s", SECOND },
};

static bool part(str *s, __int128 *total)
{
    __int128 whole = 0, frac = 0, scale = 1;
    size_t i = 0, digits = 0;

    for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++, digits++)
        if ((whole = whole * 10 + (s->p[i] - '0')) > INT64_MAX)
            return false;
    if (i < s->n && s->p[i] == '.')
        for (i++; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++, digits++) {
            if (scale >= (__int128)1000000000000000)
                continue;
            frac = frac * 10 + (s->p[i] - '0');
            scale *= 10;
        }
    if (digits == 0)
        return false;
    *s = str_from(*s, i);
    for (size_t k = 0; k < sizeof(units) / sizeof(*units); k++) {
        if (!str_starts(*s, str_of(units[k].unit)))
            continue;
        *s = str_from(*s, strlen(units[k].unit));
        *total += whole * units[k].ns + frac * units[k].ns / scale;
        return *total <= INT64_MAX;
    }
    return false;
}

bool cel_parse_duration(str s, int64_t *ns)
{
    bool negative = s.n && s.p[0] == '-';
    __int128 total = 0;

    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_from(s, 1);
    if (str_is(s, "0")) {
        *ns = 0;
        return true;
    }
    if (s.n == 0 || s.n > 100)
        return false;
    while (s.n)
        if (!part(&s, &total))
            return false;
    *ns = (int64_t)(negative ? -total : total);
    return true;
}

/* Seconds and their fraction: what string() gives. */
str cel_print_duration(struct arena *a, int64_t ns)
{
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    str out = str_printf(a, "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(u / SECOND));

    if (u % SECOND) {
        out = str_printf(a, "%.*s.%09llu", STR_ARG(out), (unsigned long long)(u % SECOND));
        while (out.p[out.n - 1] == '0')
            out.n--;
    }
    return str_printf(a, "%.*ss", STR_ARG(out));
}

/* ---- timestamps ---- */

struct civil {
    int64_t year;
    unsigned month, day, weekday, yearday;
    unsigned hour, minute, second;
};

/* Days since 1970-01-01 in the proleptic Gregorian calendar; years begin in March for the sum. */
static int64_t days_of(int64_t y, unsigned m, unsigned d)
{
    int64_t era, doe;
    unsigned yoe, doy;

    y -= m <= 2;
    era = (y >= 0 ? y : y - 399) / 400;
    yoe = (unsigned)(y - era * 400);
    doy = (153 * (m + (m > 2 ? -3u : 9u)) + 2) / 5 + d - 1;
    doe = (int64_t)yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static struct civil civil_of(int64_t sec)
{
    struct civil c = { 0 };
    int64_t days = sec / 86400, rest = sec % 86400, era;
    unsigned doe, yoe, doy, mp;

    if (rest < 0) {
        rest += 86400;
        days--;
    }
    c.hour = (unsigned)(rest / 3600);
    c.minute = (unsigned)(rest / 60 % 60);
    c.second = (unsigned)(rest % 60);
    c.weekday = (unsigned)(((days + 4) % 7 + 7) % 7);
    days += 719468;
    era = (days >= 0 ? days : days - 146096) / 146097;
    doe = (unsigned)(days - era * 146097);
    yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    mp = (5 * doy + 2) / 153;
    c.day = doy - (153 * mp + 2) / 5 + 1;
    c.month = mp < 10 ? mp + 3 : mp - 9;
    c.year = era * 400 + yoe + (c.month <= 2);
    c.yearday = (unsigned)(days - 719468 - days_of(c.year, 1, 1));
    return c;
}

static bool number(str s, size_t at, size_t n, unsigned *out)
{
    unsigned v = 0;

    if (s.n < at + n)
        return false;
    for (size_t i = at; i < at + n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        v = v * 10 + (unsigned)(s.p[i] - '0');
    }
    *out = v;
    return true;
}

static unsigned days_in(unsigned year, unsigned month)
{
    static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month == 2 && leap ? 29 : days[month - 1];
}

bool cel_parse_date(str s, int64_t *sec)
{
    unsigned y, m, d;

    if (s.n != 10 || !number(s, 0, 4, &y) || s.p[4] != '-' || !number(s, 5, 2, &m) ||
        s.p[7] != '-' || !number(s, 8, 2, &d) || m < 1 || m > 12 || d < 1 || d > days_in(y, m))
        return false;
    *sec = days_of(y, m, d) * 86400;
    return true;
}

/* "Z", "+01:00"; of time zones "UTC" and "01:00", too.  Seconds east. */
static bool parse_offset(str s, int64_t *out)
{
    unsigned h, m;
    int sign = 1;

    if (str_is(s, "Z") || str_is(s, "z") || str_is(s, "UTC")) {
        *out = 0;
        return true;
    }
    if (s.n && (s.p[0] == '+' || s.p[0] == '-')) {
        sign = s.p[0] == '-' ? -1 : 1;
        s = str_from(s, 1);
    }
    if (s.n != 5 || !number(s, 0, 2, &h) || s.p[2] != ':' || !number(s, 3, 2, &m) || h > 23 ||
        m > 59)
        return false;
    *out = sign * (int64_t)(h * 3600 + m * 60);
    return true;
}

bool cel_parse_timestamp(str s, int64_t *sec, int32_t *ns)
{
    unsigned h, m, second;
    int64_t day, offset, frac = 0;
    size_t at = 19, scale = SECOND;
    str zone;

    if (s.n < 20 || s.n > 64 || !cel_parse_date(str_sub(s, 0, 10), &day) ||
        (s.p[10] != 'T' && s.p[10] != 't') || !number(s, 11, 2, &h) || s.p[13] != ':' ||
        !number(s, 14, 2, &m) || s.p[16] != ':' || !number(s, 17, 2, &second) || h > 23 || m > 59 ||
        second > 59)
        return false;
    if (s.p[at] == '.' || s.p[at] == ',')
        for (at++; at < s.n && s.p[at] >= '0' && s.p[at] <= '9'; at++) {
            scale /= 10;
            frac += (s.p[at] - '0') * (int64_t)scale;
        }
    zone = str_from(s, at);
    if (zone.n == 0 || (zone.p[0] >= '0' && zone.p[0] <= '9') || str_is(zone, "UTC") ||
        !parse_offset(zone, &offset))
        return false;
    *sec = day + h * 3600 + m * 60 + second - offset;
    *ns = (int32_t)frac;
    return *sec >= -62135596800 && *sec <= 253402300799;
}

str cel_print_timestamp(struct arena *a, int64_t sec, int32_t ns)
{
    struct civil c = civil_of(sec);
    str out = str_printf(a, "%04lld-%02u-%02uT%02u:%02u:%02u", (long long)c.year, c.month, c.day,
                         c.hour, c.minute, c.second);

    if (ns) {
        out = str_printf(a, "%.*s.%09d", STR_ARG(out), ns);
        while (out.p[out.n - 1] == '0')
            out.n--;
    }
    return str_printf(a, "%.*sZ", STR_ARG(out));
}

/* ---- their parts ---- */

/* In UTC or the zone of the second argument, which is an offset or a name. */
static bool parts(struct cel_run *r, const struct cel_value *v, struct civil *out,
                  struct cel_value *err)
{
    int64_t offset = 0;
    int32_t east;

    if (r->node->nargs == 2 && !parse_offset(v[1].s, &offset)) {
        if (!zone_offset(v[1].s, v[0].time.s, &east)) {
            *err = cel_error(r, "unknown time zone %.*s", STR_ARG(v[1].s));
            return false;
        }
        offset = east;
    }
    *out = civil_of(v[0].time.s + offset);
    return true;
}

#define PART(name, expression)                                               \
    CEL_FN(name)                                                             \
    {                                                                        \
        struct cel_value err;                                                \
        struct civil c;                                                      \
                                                                             \
        return parts(r, v, &c, &err) ? cel_int((int64_t)(expression)) : err; \
    }

PART(get_full_year, c.year)
PART(get_month, c.month - 1)
PART(get_date, c.day)
PART(get_day_of_month, c.day - 1)
PART(get_day_of_week, c.weekday)
PART(get_day_of_year, c.yearday)
PART(get_hours, c.hour)
PART(get_minutes, c.minute)
PART(get_seconds, c.second)
PART(get_milliseconds, v[0].time.ns / 1000000)

#define WHOLE(name, ns)                \
    CEL_FN(name)                       \
    {                                  \
        (void)r;                       \
        return cel_int(v[0].i / (ns)); \
    }

WHOLE(duration_hours, 3600ll * SECOND)
WHOLE(duration_minutes, 60ll * SECOND)
WHOLE(duration_seconds, SECOND)

CEL_FN(duration_milliseconds)
{
    (void)r;
    return cel_int(v[0].i % SECOND / 1000000);
}
