/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <assert.h>
#include <time.h>

#include "base/banned.h"

struct clock *clock_real(void)
{
    static struct clock real = { .real = true };

    return &real;
}

enum { DAY_S = 86400, MICRO = 1000000 };

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t read_us(clockid_t id)
{
    struct timespec t;

    (void)clock_gettime(id, &t); /* cannot fail for these ids */
    return (int64_t)t.tv_sec * MICRO + t.tv_nsec / 1000;
}

int64_t clock_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_now_ms(struct clock *c)
{
    return c->real ? read_us(CLOCK_MONOTONIC) / 1000 : atomic_load(&c->fake_now_ms);
}

int64_t clock_wall_us(struct clock *c)
{
    return c->real ? read_us(CLOCK_REALTIME) : atomic_load(&c->fake_wall_us);
}

int64_t clock_wall_s(struct clock *c)
{
    return floor_div(clock_wall_us(c), MICRO);
}

void clock_advance(struct clock *c, int64_t ms)
{
    assert(!c->real && ms >= 0);
    atomic_fetch_add(&c->fake_now_ms, ms);
    atomic_fetch_add(&c->fake_wall_us, ms * 1000);
}

void clock_jump(struct clock *c, int64_t wall_us)
{
    assert(!c->real);
    atomic_store(&c->fake_wall_us, wall_us);
}

/* Days since 1970-01-01.  Years count from March, so that the leap day comes last and months have a
 * closed form. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t era = floor_div(y, 400);
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct date {
    int64_t year;
    unsigned month, day;
};

static struct date date_of(int64_t days)
{
    int64_t z = days + 719468, era = floor_div(z, 146097), d = z - era * 146097;
    int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t of_year = d - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;

    return (struct date){ .year = y + era * 400 + (m >= 10),
                          .month = (unsigned)(m < 10 ? m + 3 : m - 9),
                          .day = (unsigned)(of_year - (153 * m + 2) / 5 + 1) };
}

/* The number with so many digits, and what stands behind it. */
static char *put(char *out, unsigned v, unsigned digits, char behind)
{
    for (unsigned i = digits; i > 0; i--, v /= 10)
        out[i - 1] = (char)('0' + v % 10);
    out[digits] = behind;
    return out + digits + 1;
}

/* Written by hand: every answer with an object in it has times.  micro < 0: seconds only. */
static size_t format(char *out, int64_t unix_s, int64_t micro)
{
    int64_t days = floor_div(unix_s, DAY_S);
    unsigned s = (unsigned)(unix_s - days * DAY_S);
    struct date d;
    char *p = out;

    out[0] = '\0';
    if (days < days_of(0, 1, 1) || days > days_of(9999, 12, 31))
        return 0;
    d = date_of(days);
    p = put(p, (unsigned)d.year, 4, '-');
    p = put(p, d.month, 2, '-');
    p = put(p, d.day, 2, 'T');
    p = put(p, s / 3600, 2, ':');
    p = put(p, s / 60 % 60, 2, ':');
    p = put(p, s % 60, 2, micro < 0 ? 'Z' : '.');
    if (micro >= 0)
        p = put(p, (unsigned)micro, 6, 'Z');
    *p = '\0';
    return (size_t)(p - out);
}

size_t time_format_seconds(char out[TIME_TEXT_SIZE], int64_t unix_s)
{
    return format(out, unix_s, -1);
}

size_t time_format_micro(char out[TIME_TEXT_SIZE], int64_t unix_us)
{
    int64_t rest = unix_us % MICRO;

    return format(out, floor_div(unix_us, MICRO), rest < 0 ? rest + MICRO : rest);
}

static bool digit(str s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* Takes between `min` and `max` digits. */
static bool take_number(str *s, size_t min, size_t max, unsigned *out)
{
    unsigned v = 0;
    size_t i = 0;

    for (; i < max && digit(*s, i); i++)
        v = v * 10 + (unsigned)(s->p[i] - '0');
    if (i < min)
        return false;
    *s = str_from(*s, i);
    *out = v;
    return true;
}

static bool take_char(str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

/* How many digits of a second's fraction come next; 0 when there is none. */
static size_t fraction_digits(str s)
{
    size_t n = 1;

    if (s.n == 0 || (s.p[0] != '.' && s.p[0] != ','))
        return 0;
    while (digit(s, n))
        n++;
    return n - 1;
}

/* Go lets 24:00 and 60 minutes pass in offsets (time/format.go, Parse). */
static bool take_offset(str *s, int64_t *offset_s)
{
    bool west = s->n && s->p[0] == '-';
    unsigned h, m;

    *offset_s = 0;
    if (take_char(s, 'Z'))
        return true;
    if (!take_char(s, west ? '-' : '+') || !take_number(s, 2, 2, &h) || !take_char(s, ':') ||
        !take_number(s, 2, 2, &m) || h > 24 || m > 60)
        return false;
    *offset_s = (int64_t)h * 3600 + (int64_t)m * 60;
    if (west)
        *offset_s = -*offset_s;
    return true;
}

static bool take_date(str *s, int64_t *days)
{
    static const unsigned char month_days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    unsigned y, m, d;
    bool leap;

    if (!take_number(s, 4, 4, &y) || !take_char(s, '-') || !take_number(s, 2, 2, &m) ||
        !take_char(s, '-') || !take_number(s, 2, 2, &d))
        return false;
    leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if (m < 1 || m > 12 || d < 1 || d > month_days[m - 1] || (m == 2 && d == 29 && !leap))
        return false;
    *days = days_of(y, m, d);
    return true;
}

static bool take_clock(str *s, unsigned *seconds)
{
    unsigned h, m, sec;

    if (!take_number(s, 1, 2, &h) || !take_char(s, ':') || !take_number(s, 2, 2, &m) ||
        !take_char(s, ':') || !take_number(s, 2, 2, &sec) || h > 23 || m > 59 || sec > 59)
        return false;
    *seconds = h * 3600 + m * 60 + sec;
    return true;
}

/* `digits` of the fraction: exactly that many, or any number when 0. */
static bool parse(str s, size_t digits, int64_t *unix_s, unsigned *fraction)
{
    int64_t days, offset_s;
    unsigned seconds;
    size_t n;

    if (!take_date(&s, &days) || !take_char(&s, 'T') || !take_clock(&s, &seconds))
        return false;
    n = fraction_digits(s);
    if (digits) {
        if (n != digits)
            return false;
        s = str_from(s, 1);
        if (!take_number(&s, digits, digits, fraction))
            return false;
    } else if (n) {
        s = str_from(s, n + 1);
    }
    if (!take_offset(&s, &offset_s) || s.n != 0)
        return false;
    *unix_s = days * DAY_S + seconds - offset_s;
    return true;
}

bool time_parse_seconds(str s, int64_t *unix_s)
{
    return parse(s, 0, unix_s, NULL);
}

bool time_parse_micro(str s, int64_t *unix_us)
{
    unsigned micro = 0;
    int64_t unix_s;

    if (!parse(s, 6, &unix_s, &micro))
        return false;
    *unix_us = unix_s * MICRO + micro;
    return true;
}
