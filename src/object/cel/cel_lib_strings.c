/* SPDX-License-Identifier: Apache-2.0 */

/* Strings and regular expressions.  Indices count code points. */

#include "object/cel/cel_functions.h"

#include <time.h>

#include "base/banned.h"
#include "base/buf.h"

enum { TEXT_MAX = 16 << 20 };

/* The byte where a code point begins; s.n for the one behind the last.  False beyond. */
static bool byte_at(str s, int64_t point, size_t *out)
{
    size_t at = 0;

    if (point < 0)
        return false;
    for (; point > 0; point--) {
        if (at >= s.n)
            return false;
        at = cel_next_point(s, at);
    }
    *out = at;
    return true;
}

static ptrdiff_t find_from(str s, str part, size_t from)
{
    const char *hit;

    if (from > s.n || part.n > s.n - from)
        return -1;
    if (part.n == 0)
        return (ptrdiff_t)from;
    hit = memmem(s.p + from, s.n - from, part.p, part.n);
    return hit ? hit - s.p : -1;
}

static struct cel_value point_of(str s, ptrdiff_t at)
{
    return cel_int(at < 0 ? -1 : cel_code_points(str_sub(s, 0, (size_t)at)));
}

static struct cel_value out_of_range(struct cel_run *r, int64_t i)
{
    return cel_error(r, "index out of range: %lld", (long long)i);
}

CEL_FN(contains)
{
    (void)r;
    return cel_bool(find_from(v[0].s, v[1].s, 0) >= 0);
}

CEL_FN(starts_with)
{
    (void)r;
    return cel_bool(str_starts(v[0].s, v[1].s));
}

CEL_FN(ends_with)
{
    (void)r;
    return cel_bool(str_ends(v[0].s, v[1].s));
}

CEL_FN(char_at)
{
    size_t at;

    if (!byte_at(v[0].s, v[1].i, &at))
        return out_of_range(r, v[1].i);
    if (at == v[0].s.n)
        return cel_str(STR(""));
    return cel_str(str_sub(v[0].s, at, cel_next_point(v[0].s, at) - at));
}

CEL_FN(index_of)
{
    size_t from = 0;

    if (r->node->nargs == 3 && !byte_at(v[0].s, v[2].i, &from))
        return out_of_range(r, v[2].i);
    return point_of(v[0].s, find_from(v[0].s, v[1].s, from));
}

CEL_FN(last_index_of)
{
    str s = v[0].s, part = v[1].s;
    size_t from = s.n;

    if (r->node->nargs == 3 && (!byte_at(s, v[2].i, &from) || from >= s.n + (s.n == 0)))
        return out_of_range(r, v[2].i);
    if (part.n > s.n)
        return cel_int(-1);
    if (from > s.n - part.n)
        from = s.n - part.n;
    for (size_t i = from + 1; i > 0; i--)
        if (part.n == 0 || memcmp(s.p + i - 1, part.p, part.n) == 0)
            return point_of(s, (ptrdiff_t)i - 1);
    return cel_int(-1);
}

static struct cel_value mapped(struct cel_run *r, str s, char from, char to, char by)
{
    char *out = arena_alloc_raw(r->arena, s.n + 1);

    for (size_t i = 0; i < s.n; i++)
        out[i] = (char)(s.p[i] >= from && s.p[i] <= to ? s.p[i] ^ by : s.p[i]);
    return cel_str((str){ out, s.n });
}

CEL_FN(lower_ascii)
{
    return mapped(r, v[0].s, 'A', 'Z', 0x20);
}

CEL_FN(upper_ascii)
{
    return mapped(r, v[0].s, 'a', 'z', 0x20);
}

static struct cel_value text_of(struct cel_run *r, const struct buf *b)
{
    if (buf_overflown(b) || !cel_work(r, b->n))
        return cel_error(r, "the string is too long");
    return cel_str(str_dup(r->arena, buf_str(b)));
}

/* With an empty `from` the text goes before every code point, and behind the last. */
CEL_FN(replace)
{
    str s = v[0].s, from = v[1].s, to = v[2].s;
    int64_t left = r->node->nargs == 4 ? v[3].i : -1;
    size_t at = 0;
    scoped_buf b;

    buf_init(&b, TEXT_MAX);
    while (left != 0 && at <= s.n) {
        ptrdiff_t hit = find_from(s, from, at);

        if (hit < 0)
            break;
        buf_str_append(&b, str_sub(s, at, (size_t)hit - at));
        buf_str_append(&b, to);
        at = (size_t)hit + from.n;
        left--;
        if (from.n == 0) {
            size_t next = at < s.n ? cel_next_point(s, at) : s.n + 1;

            buf_str_append(&b, str_sub(s, at, next - at));
            at = next;
        }
    }
    if (at <= s.n)
        buf_str_append(&b, str_from(s, at));
    return text_of(r, &b);
}

struct strings {
    struct cel_value *all;
    size_t n, cap;
};

static bool add(struct cel_run *r, struct strings *l, str s)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 8;
        struct cel_value *more = arena_alloc_raw(r->arena, cap * sizeof(*more));

        if (l->n)
            memcpy(more, l->all, l->n * sizeof(*more));
        l->all = more;
        l->cap = cap;
    }
    l->all[l->n++] = cel_str(s);
    return cel_work(r, 8);
}

static struct cel_value list_of(const struct strings *l)
{
    return cel_list(l->all, l->n);
}

CEL_FN(split)
{
    str s = v[0].s, sep = v[1].s;
    int64_t limit = r->node->nargs == 3 ? v[2].i : -1;
    struct strings l = { 0 };
    size_t at = 0;

    if (limit == 0)
        return list_of(&l);
    while (limit < 0 || (int64_t)l.n + 1 < limit) {
        ptrdiff_t hit = sep.n ? find_from(s, sep, at) : -1;

        if (sep.n == 0 && at < s.n && cel_next_point(s, at) < s.n)
            hit = (ptrdiff_t)cel_next_point(s, at);
        if (hit < 0)
            break;
        if (!add(r, &l, str_sub(s, at, (size_t)hit - at)))
            return cel_no_overload(r);
        at = (size_t)hit + sep.n;
    }
    if (s.n || sep.n)
        (void)add(r, &l, str_from(s, at));
    return list_of(&l);
}

CEL_FN(substring)
{
    str s = v[0].s;
    size_t from, to = s.n;

    if (!byte_at(s, v[1].i, &from))
        return out_of_range(r, v[1].i);
    if (r->node->nargs == 3 && !byte_at(s, v[2].i, &to))
        return out_of_range(r, v[2].i);
    if (from > to)
        return cel_error(r, "invalid substring range. start: %lld, end: %lld", (long long)v[1].i,
                         (long long)v[2].i);
    return cel_str(str_sub(s, from, to - from));
}

/* Unicode's white space, at either end. */
static size_t blank_at(str s)
{
    static const char *const wide[] = { "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
                                        "\xe2\x81\x9f", "\xe3\x80\x80" };

    if (s.n && (s.p[0] == ' ' || (s.p[0] >= '\t' && s.p[0] <= '\r')))
        return 1;
    if (s.n >= 3 && memcmp(s.p, "\xe2\x80", 2) == 0 && (unsigned char)s.p[2] <= 0x8a)
        return 3;
    for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
        if (str_starts(s, str_of(wide[i])))
            return strlen(wide[i]);
    return 0;
}

CEL_FN(trim)
{
    str s = v[0].s;
    size_t n;

    (void)r;
    while ((n = blank_at(s)))
        s = str_from(s, n);
    while (s.n) {
        size_t at = s.n - 1;

        while (at > 0 && (s.p[at] & 0xc0) == 0x80)
            at--;
        if (blank_at(str_from(s, at)) != s.n - at)
            break;
        s.n = at;
    }
    return cel_str(s);
}

CEL_FN(join)
{
    scoped_buf b;

    buf_init(&b, TEXT_MAX);
    for (size_t i = 0; i < v[0].n; i++) {
        struct cel_value item = cel_item(r, &v[0], i);

        if (item.kind != CEL_STRING)
            return item.kind == CEL_ERROR ? item : cel_no_overload(r);
        if (i && r->node->nargs == 2)
            buf_str_append(&b, v[1].s);
        buf_str_append(&b, item.s);
    }
    return text_of(r, &b);
}

CEL_FN(quote)
{
    static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
    scoped_buf b;

    buf_init(&b, TEXT_MAX);
    buf_byte(&b, '"');
    for (size_t i = 0; i < v[0].s.n; i++) {
        char c = v[0].s.p[i];
        const char *hit = c ? strchr(from, c) : NULL;

        if (hit)
            buf_byte(&b, '\\');
        buf_byte(&b, hit ? to[hit - from] : c);
    }
    buf_byte(&b, '"');
    return text_of(r, &b);
}

/* ---- regular expressions ---- */

static const struct pattern *pattern_of(struct cel_run *r, str text, bool find,
                                        struct cel_value *err)
{
    const struct pattern *p = r->node->pattern;
    str why = STR_NONE;

    if (p)
        return p;
    /* Compiled for this one match: dearer than the match itself. */
    if (!cel_work(r, 1000 + 10 * text.n))
        *err = cel_no_overload(r);
    else if (!(p = find ? pattern_compile_find(r->arena, text, &why)
                        : pattern_compile(r->arena, text, &why)))
        *err = cel_error(r, "%.*s", STR_ARG(why));
    return p;
}

/* Time of this thread in the units of cel_run.steps; they are what a step takes, roughly. */
static uint64_t steps_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) / 16;
}

/*
 * The cost is that of an automaton that is linear in text and pattern.  Ours can take far longer on
 * patterns that are made for it: then its time counts.
 */
static enum pattern_result timed(struct cel_run *r, const struct pattern *p, str text, size_t at,
                                 size_t *from, size_t *to)
{
    bool quick = !from && pattern_is_quick(p);
    uint64_t begun = quick ? 0 : steps_now();
    enum pattern_result out = from ? pattern_find(p, text, at, from, to) : pattern_match(p, text);

    if (!quick)
        r->steps += steps_now() - begun;
    return out;
}

CEL_FN(matches)
{
    struct cel_value err;
    const struct pattern *p = pattern_of(r, v[1].s, false, &err);

    if (!p)
        return err;
    switch (timed(r, p, v[0].s, 0, NULL, NULL)) {
    case PATTERN_YES:
        return cel_bool(true);
    case PATTERN_NO:
        return cel_bool(false);
    case PATTERN_TOO_COMPLEX:
        break;
    }
    return cel_error(r, "the text is too long for the pattern");
}

CEL_FN(find)
{
    struct cel_value err;
    const struct pattern *p = pattern_of(r, v[1].s, true, &err);
    size_t from, to;

    if (!p)
        return err;
    if (timed(r, p, v[0].s, 0, &from, &to) != PATTERN_YES)
        return cel_str(STR(""));
    return cel_str(str_sub(v[0].s, from, to - from));
}

CEL_FN(find_all)
{
    struct cel_value err;
    const struct pattern *p = pattern_of(r, v[1].s, true, &err);
    int64_t limit = r->node->nargs == 3 ? v[2].i : -1;
    struct strings l = { 0 };
    size_t at = 0, from, to;

    if (!p)
        return err;
    while ((limit < 0 || (int64_t)l.n < limit) && at <= v[0].s.n) {
        /* A search may read all that is left. */
        if (!cel_work(r, v[0].s.n - at) || timed(r, p, v[0].s, at, &from, &to) != PATTERN_YES)
            break;
        if (!add(r, &l, str_sub(v[0].s, from, to - from)))
            break;
        at = to > from ? to : to < v[0].s.n ? cel_next_point(v[0].s, to) : to + 1;
    }
    return list_of(&l);
}
