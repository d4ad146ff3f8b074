/* SPDX-License-Identifier: Apache-2.0 */
#include "base/zone.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    FILE_MAX = 16 * 1024, /* the largest of the data base has 4 KiB */
    NAME_MAX_ZONE = 64,
    HEADER = 44,
    TIMES_MAX = 4096,
    TYPES_MAX = 256,
    OFFSET_MAX = 26 * 3600, /* RFC 8536, 3.2 */
    DAY = 86400,
};

/* When summer time begins or ends: a day of the year and a time of that day. */
struct turn {
    char form; /* M: month, week, weekday; J: 1 to 365, never 29 February; D: 0 to 365 */
    int m, week, day;
    int32_t time; /* seconds, may be negative or of another day */
};

/* What holds behind the last change: the rule at the end of a file. */
struct rule {
    bool given, summer;
    int32_t offset, summer_offset;
    struct turn begin, end;
};

struct change {
    int64_t at;
    int32_t offset;
};

struct zone {
    int32_t first; /* before the first change */
    size_t n;
    struct rule rule;
    struct change changes[];
};

/* ---- the rule, as POSIX writes it: CET-1CEST,M3.5.0,M10.5.0/3 ---- */

static bool number(str *s, int max, int *out)
{
    size_t i = 0;
    int v = 0;

    for (; i < s->n && i < 4 && s->p[i] >= '0' && s->p[i] <= '9'; i++)
        v = v * 10 + (s->p[i] - '0');
    if (i == 0 || v > max)
        return false;
    *s = str_from(*s, i);
    *out = v;
    return true;
}

static bool take(str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

/* Hours, minutes and seconds with a sign; hours up to a week, as RFC 8536 lets them be. */
static bool clock_text(str *s, int32_t *out)
{
    bool minus = take(s, '-');
    int h, m = 0, sec = 0;

    if (!minus)
        (void)take(s, '+');
    if (!number(s, 24 * 7 - 1, &h))
        return false;
    if (take(s, ':')) {
        if (!number(s, 59, &m))
            return false;
        if (take(s, ':') && !number(s, 59, &sec))
            return false;
    }
    *out = (minus ? -1 : 1) * (h * 3600 + m * 60 + sec);
    return true;
}

/* An abbreviation: letters, or anything between < and >. */
static bool abbreviation(str *s)
{
    size_t i = 0;

    if (take(s, '<')) {
        ptrdiff_t end = str_find(*s, '>', 0);

        if (end < 0)
            return false;
        *s = str_from(*s, (size_t)end + 1);
        return true;
    }
    while (i < s->n && ((s->p[i] | 0x20) >= 'a' && (s->p[i] | 0x20) <= 'z'))
        i++;
    *s = str_from(*s, i);
    return i >= 3;
}

static bool turn_text(str *s, struct turn *t)
{
    *t = (struct turn){ .form = 'D', .time = 2 * 3600 };
    if (take(s, 'M')) {
        t->form = 'M';
        if (!number(s, 12, &t->m) || t->m < 1 || !take(s, '.') || !number(s, 5, &t->week) ||
            t->week < 1 || !take(s, '.') || !number(s, 6, &t->day))
            return false;
    } else if (take(s, 'J')) {
        t->form = 'J';
        if (!number(s, 365, &t->day) || t->day < 1)
            return false;
    } else if (!number(s, 365, &t->day)) {
        return false;
    }
    return !take(s, '/') || clock_text(s, &t->time);
}

/* Offsets of POSIX count to the west. */
static bool rule_text(str s, struct rule *r)
{
    *r = (struct rule){ 0 };
    if (s.n == 0)
        return true;
    if (!abbreviation(&s) || !clock_text(&s, &r->offset))
        return false;
    r->given = true;
    r->offset = -r->offset;
    if (s.n == 0)
        return true;
    r->summer = true;
    r->summer_offset = r->offset + 3600;
    if (!abbreviation(&s))
        return false;
    if (s.n && s.p[0] != ',') {
        if (!clock_text(&s, &r->summer_offset))
            return false;
        r->summer_offset = -r->summer_offset;
    }
    return take(&s, ',') && turn_text(&s, &r->begin) && take(&s, ',') && turn_text(&s, &r->end) &&
           s.n == 0;
}

static bool is_leap(int64_t y)
{
    return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

/* Days from 1970 to the first of January. */
static int64_t days_to(int64_t y)
{
    y--;
    return 365 * (y - 1969) + (y / 4 - 1969 / 4) - (y / 100 - 1969 / 100) + (y / 400 - 1969 / 400);
}

/* Seconds from the year's begin on the clock of before the turn. */
static int64_t turn_at(const struct turn *t, int64_t year)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };
    int64_t day = t->day, first, weekday, next;

    if (t->form == 'J')
        day = t->day - 1 + (is_leap(year) && t->day >= 60);
    if (t->form == 'M') {
        first = before[t->m - 1] + (is_leap(year) && t->m > 2);
        next = before[t->m] + (is_leap(year) && t->m > 1);
        weekday = (days_to(year) + first + 4) % 7; /* 1970 began on a Thursday */
        day = first + (t->day - weekday + 7) % 7 + 7 * (int64_t)(t->week - 1);
        while (day >= next)
            day -= 7;
    }
    return day * DAY + t->time;
}

static int32_t rule_offset(const struct rule *r, int64_t unix_s)
{
    enum { YEARS_400 = 146097 };
    int64_t local, era, year, since, begin, end;
    bool summer;

    if (!r->summer)
        return r->offset;
    /* The calendar repeats after 400 years, so any time is one of 1970 to 2369. */
    local = unix_s % ((int64_t)YEARS_400 * DAY);
    if (local < 0)
        local += (int64_t)YEARS_400 * DAY;
    era = (local + r->offset) / DAY;
    year = 1970 + era / 366;
    while (days_to(year + 1) <= era)
        year++;
    since = local - days_to(year) * DAY;
    begin = turn_at(&r->begin, year) - r->offset;
    end = turn_at(&r->end, year) - r->summer_offset;
    summer = begin < end ? since >= begin && since < end : since >= begin || since < end;
    return summer ? r->summer_offset : r->offset;
}

/* ---- files ---- */

static uint64_t big(const char *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* One of the two parts of a file: times of 4 bytes, then, from version 2 on, the same with 8. */
struct part {
    size_t utc, std, leaps, times, types, chars, width;
};

static bool header(str s, size_t width, struct part *p)
{
    if (s.n < HEADER || memcmp(s.p, "TZif", 4) != 0)
        return false;
    *p = (struct part){ .utc = big(s.p + 20, 4),
                        .std = big(s.p + 24, 4),
                        .leaps = big(s.p + 28, 4),
                        .times = big(s.p + 32, 4),
                        .types = big(s.p + 36, 4),
                        .chars = big(s.p + 40, 4),
                        .width = width };
    return p->utc <= TYPES_MAX && p->std <= TYPES_MAX && p->leaps <= TIMES_MAX &&
           p->times <= TIMES_MAX && p->types >= 1 && p->types <= TYPES_MAX && p->chars <= FILE_MAX;
}

static size_t part_size(const struct part *p)
{
    return p->times * (p->width + 1) + p->types * 6 + p->chars + p->leaps * (p->width + 4) +
           p->std + p->utc;
}

/* The offset of a type of local time; false if none has this number. */
static bool type_offset(const struct part *p, const char *types, size_t i, int32_t *out)
{
    if (i >= p->types)
        return false;
    *out = (int32_t)(uint32_t)big(types + 6 * i, 4);
    return *out >= -OFFSET_MAX && *out <= OFFSET_MAX;
}

static bool fill(struct zone *z, const struct part *p, const char *at)
{
    const char *numbers = at + p->times * p->width, *types = numbers + p->times;

    if (!type_offset(p, types, 0, &z->first))
        return false;
    for (size_t i = 0; i < p->times; i++) {
        uint64_t t = big(at + i * p->width, p->width);
        struct change *c = &z->changes[z->n++];

        c->at = p->width == 4 ? (int32_t)(uint32_t)t : (int64_t)t;
        if (!type_offset(p, types, (unsigned char)numbers[i], &c->offset) ||
            (i && c->at <= c[-1].at))
            return false;
    }
    return true;
}

/* The line behind the second part. */
static bool footer(struct zone *z, str rest)
{
    ptrdiff_t end;

    if (!take(&rest, '\n'))
        return false;
    end = str_find(rest, '\n', 0);
    return end >= 0 && rule_text(str_sub(rest, 0, (size_t)end), &z->rule);
}

struct zone *zone_parse(str bytes)
{
    struct part p;
    struct zone *z;
    bool later;

    if (bytes.n > FILE_MAX || !header(bytes, 4, &p) || bytes.n - HEADER < part_size(&p))
        return NULL;
    later = bytes.p[4] != 0;
    if (later) {
        bytes = str_from(bytes, HEADER + part_size(&p));
        if (!header(bytes, 8, &p) || bytes.n - HEADER < part_size(&p))
            return NULL;
    }
    z = mem_zalloc(sizeof(*z) + p.times * sizeof(*z->changes));
    if (!fill(z, &p, bytes.p + HEADER) ||
        (later && !footer(z, str_from(bytes, HEADER + part_size(&p))))) {
        zone_free(z);
        return NULL;
    }
    return z;
}

void zone_free(struct zone *z)
{
    free(z);
}

int32_t zone_offset_in(const struct zone *z, int64_t unix_s)
{
    size_t lo = 0, hi = z->n; /* changes below lo are past, those from hi on are to come */

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (z->changes[mid].at <= unix_s)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == z->n && z->rule.given)
        return rule_offset(&z->rule, unix_s);
    return lo == 0 ? z->first : z->changes[lo - 1].offset;
}

/* ---- names ---- */

struct named_zone {
    struct zone *zone;
    char name[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct map entries; /* none is ever taken out */

/* What cannot leave the folder, and has one spelling only; no zone is called otherwise. */
static bool is_plain(str name)
{
    if (name.n == 0 || name.n > NAME_MAX_ZONE)
        return false;
    for (str rest = name, part; str_split(&rest, '/', &part);) {
        if (part.n == 0)
            return false;
        for (size_t i = 0; i < part.n; i++) {
            char c = part.p[i], low = (char)(c | 0x20);

            if (!(low >= 'a' && low <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-' &&
                c != '+')
                return false;
        }
    }
    return true;
}

static struct zone *read_zone(str name)
{
    static const char folder[] = "/usr/share/zoneinfo/";
    char path[sizeof(folder) + NAME_MAX_ZONE], bytes[FILE_MAX];
    struct zone *z = NULL;
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof(path), "%s%.*s", folder, STR_ARG(name));
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    n = read(fd, bytes, sizeof(bytes));
    if (n > 0)
        z = zone_parse((str){ bytes, (size_t)n });
    (void)close(fd);
    return z;
}

/* Two that read the same at once agree on the first. */
static const struct zone *zone_peek(str name)
{
    struct named_zone *e, *mine;
    struct zone *z;

    if (!is_plain(name))
        return NULL;
    (void)pthread_mutex_lock(&mutex);
    e = map_get(&entries, name);
    (void)pthread_mutex_unlock(&mutex);
    if (e)
        return e->zone;
    z = read_zone(name);
    if (!z)
        return NULL;
    mine = mem_alloc(sizeof(*mine) + name.n);
    mine->zone = z;
    memcpy(mine->name, name.p, name.n);
    (void)pthread_mutex_lock(&mutex);
    e = map_get(&entries, name);
    if (!e)
        (void)map_put(&entries, (str){ mine->name, name.n }, mine);
    (void)pthread_mutex_unlock(&mutex);
    if (!e)
        return z;
    zone_free(z);
    free(mine);
    return e->zone;
}

bool zone_known(str name)
{
    return str_is(name, "UTC") || zone_peek(name);
}

bool zone_offset(str name, int64_t unix_s, int32_t *seconds)
{
    const struct zone *z;

    if (str_is(name, "UTC")) {
        *seconds = 0;
        return true;
    }
    z = zone_peek(name);
    if (!z)
        return false;
    *seconds = zone_offset_in(z, unix_s);
    return true;
}
