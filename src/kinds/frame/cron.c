/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/cron.h"

#include "base/banned.h"
#include "base/zone.h"

enum { FIELDS = 5 };

static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                      "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const days[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

static const struct field {
    uint64_t low, high;
    const char *const *names;
    size_t nnames;
} fields[FIELDS] = {
    { 0, 59, NULL, 0 },    { 0, 23, NULL, 0 }, { 1, 31, NULL, 0 },
    { 1, 12, months, 12 }, { 0, 6, days, 7 },
};

static bool number(const struct field *f, str s, uint64_t *out)
{
    for (size_t i = 0; i < f->nnames; i++)
        if (str_eq_nocase(s, str_of(f->names[i]))) {
            *out = i + f->low;
            return true;
        }
    return str_to_u64(s, out);
}

static str bad_number(struct arena *a, str s)
{
    if (s.n > 1 && s.p[0] == '-')
        return str_printf(a, "negative number (%.*s) not allowed: %.*s", STR_ARG(s), STR_ARG(s));
    return str_printf(a,
                      "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": invalid "
                      "syntax",
                      STR_ARG(s), STR_ARG(s));
}

/* a, a-b, *, ?, each with an optional /step */
static str range_fault(struct arena *a, const struct field *f, str expr)
{
    ptrdiff_t slash = str_find(expr, '/', 0), dash;
    str range = slash < 0 ? expr : str_sub(expr, 0, (size_t)slash);
    str step_text = slash < 0 ? STR_NONE : str_from(expr, (size_t)slash + 1);
    uint64_t low = f->low, high = f->high, step = 1;
    bool any = str_is(range, "*") || str_is(range, "?");

    if (str_find(step_text, '/', 0) >= 0)
        return str_printf(a, "too many slashes: %.*s", STR_ARG(expr));
    dash = any ? -1 : str_find(range, '-', 0);
    if (!any) {
        str first = dash < 0 ? range : str_sub(range, 0, (size_t)dash);
        str last = dash < 0 ? first : str_from(range, (size_t)dash + 1);

        if (str_find(last, '-', 0) >= 0)
            return str_printf(a, "too many hyphens: %.*s", STR_ARG(expr));
        if (!number(f, first, &low))
            return bad_number(a, first);
        if (!number(f, last, &high))
            return bad_number(a, last);
        if (dash < 0 && slash >= 0)
            high = f->high;
    }
    if (slash >= 0 && !str_to_u64(step_text, &step))
        return bad_number(a, step_text);
    if (low < f->low)
        return str_printf(a, "beginning of range (%llu) below minimum (%llu): %.*s",
                          (unsigned long long)low, (unsigned long long)f->low, STR_ARG(expr));
    if (high > f->high)
        return str_printf(a, "end of range (%llu) above maximum (%llu): %.*s",
                          (unsigned long long)high, (unsigned long long)f->high, STR_ARG(expr));
    if (low > high)
        return str_printf(a, "beginning of range (%llu) beyond end of range (%llu): %.*s",
                          (unsigned long long)low, (unsigned long long)high, STR_ARG(expr));
    if (step == 0)
        return str_printf(a, "step of range should be a positive number: %.*s", STR_ARG(expr));
    return STR_NONE;
}

static str field_fault(struct arena *a, const struct field *f, str text)
{
    for (str rest = text, part; str_split(&rest, ',', &part);) {
        str fault;

        if (part.n == 0)
            continue;
        fault = range_fault(a, f, part);
        if (fault.n)
            return fault;
    }
    return STR_NONE;
}

static str word_fault(struct arena *a, str s)
{
    static const char *const words[] = { "@yearly", "@annually", "@monthly", "@weekly",
                                         "@daily",  "@midnight", "@hourly" };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (str_is(s, words[i]))
            return STR_NONE;
    if (str_starts(s, STR("@every ")) && s.n > 7 && s.p[7] >= '0' && s.p[7] <= '9')
        return STR_NONE;
    if (str_starts(s, STR("@every ")))
        return str_printf(a, "failed to parse duration %.*s: time: invalid duration \"%.*s\"",
                          STR_ARG(s), STR_ARG(str_from(s, 7)));
    return str_printf(a, "unrecognized descriptor: %.*s", STR_ARG(s));
}

str cron_fault(struct arena *a, str schedule)
{
    str words[FIELDS + 1], rest = schedule, part, fault;
    size_t n = 0;

    if (str_starts(rest, STR("TZ=")) || str_starts(rest, STR("CRON_TZ="))) {
        ptrdiff_t blank = str_find(rest, ' ', 0);

        part = str_from(str_sub(rest, 0, blank < 0 ? rest.n : (size_t)blank),
                        (size_t)str_find(rest, '=', 0) + 1);
        if (!cron_zone_is_valid(part))
            return str_printf(a, "provided bad location %.*s: unknown time zone %.*s",
                              STR_ARG(part), STR_ARG(part));
        rest = blank < 0 ? STR("") : str_trim(str_from(rest, (size_t)blank));
    }
    schedule = rest;
    if (str_starts(rest, STR("@")))
        return word_fault(a, rest);
    while (n <= FIELDS && str_split(&rest, ' ', &part))
        if (str_trim(part).n)
            words[n++] = str_trim(part);
    while (n > FIELDS && str_split(&rest, ' ', &part))
        n += str_trim(part).n > 0;
    if (n != FIELDS)
        return str_printf(a, "expected exactly 5 fields, found %zu: [%.*s]", n, STR_ARG(schedule));
    for (size_t i = 0; i < FIELDS; i++) {
        fault = field_fault(a, &fields[i], words[i]);
        if (fault.n)
            return fault;
    }
    return STR_NONE;
}

bool cron_zone_is_valid(str zone)
{
    return zone.n == 0 || str_is(zone, "Local") || zone_known(zone);
}
