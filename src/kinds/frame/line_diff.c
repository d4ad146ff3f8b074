/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/line_diff.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/map.h"

enum { CONTEXT = 3, POPULAR_FROM = 200, HEAD_MAX = 128 };

struct side {
    str *lines;
    uint32_t *ids; /* equal lines have equal ones */
    size_t n;
};

struct match { /* so many lines from these on are equal */
    size_t a, b, n;
};

struct range {
    size_t a, a_end, b, b_end;
};

struct differ {
    struct arena *arena;
    struct side a, b;
    uint32_t *starts, *places; /* where a line stands in b: places[starts[id]] to [starts[id + 1]]*/
    /* By place in b + 1, how long the match is that ends there and at this line of a; `before` at
     * the one above it. */
    uint32_t *before, *here;
    struct match *matches;
    size_t n, cap;
    size_t left; /* steps */
};

/* ---- lines and where they are ---- */

static size_t count_lines(str text)
{
    size_t n = 1;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static void split(struct differ *d, struct side *s, str text, struct map *ids)
{
    size_t n = count_lines(text);
    const char *end;

    s->lines = arena_array(d->arena, str, n);
    s->ids = arena_array(d->arena, uint32_t, n);
    for (; s->n < n; s->n++) {
        str line = text;
        uintptr_t id;

        end = text.n ? memchr(text.p, '\n', text.n) : NULL;
        if (end)
            line.n = (size_t)(end - text.p);
        text = str_from(text, end ? line.n + 1 : line.n);
        id = (uintptr_t)map_get(ids, line);
        if (!id) {
            id = map_size(ids) + 1;
            (void)map_put(ids, line, (void *)id);
        }
        s->lines[s->n] = line;
        s->ids[s->n] = (uint32_t)(id - 1);
    }
}

/* Of a long text, lines that are everywhere do not count (k8s: "popular" ones). */
static void find_places(struct differ *d, size_t nids)
{
    size_t most = d->b.n >= POPULAR_FROM ? d->b.n / 100 + 1 : SIZE_MAX;
    uint32_t *counts = arena_array(d->arena, uint32_t, nids + 1), total = 0;

    d->starts = arena_array(d->arena, uint32_t, nids + 1);
    d->places = arena_array(d->arena, uint32_t, d->b.n);
    for (size_t j = 0; j < d->b.n; j++)
        counts[d->b.ids[j]]++;
    for (size_t id = 0; id < nids; id++) {
        d->starts[id] = total;
        if (counts[id] > most)
            counts[id] = 0;
        total += counts[id];
    }
    d->starts[nids] = total;
    memset(counts, 0, nids * sizeof(*counts));
    for (size_t j = 0; j < d->b.n; j++) {
        uint32_t id = d->b.ids[j], at = d->starts[id] + counts[id];

        if (at == d->starts[id + 1]) /* they are dropped */
            continue;
        d->places[at] = (uint32_t)j;
        counts[id]++;
    }
}

/* ---- the longest common pieces ---- */

/* The first place of the line that is at or behind `from`. */
static uint32_t place_from(const struct differ *d, uint32_t id, size_t from)
{
    uint32_t low = d->starts[id], high = d->starts[id + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (d->places[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void forget(struct differ *d, uint32_t from, uint32_t end)
{
    for (uint32_t p = from; p < end; p++)
        d->before[d->places[p] + 1] = 0;
}

static struct match longest_counted(struct differ *d, const struct range *r)
{
    struct match best = { .a = r->a, .b = r->b };
    uint32_t was_from = 0, was_end = 0;

    for (size_t i = r->a; i < r->a_end && d->left; i++) {
        uint32_t id = d->a.ids[i], from = place_from(d, id, r->b), p = from, *swap;

        for (; p < d->starts[id + 1] && d->places[p] < r->b_end; p++) {
            uint32_t j = d->places[p], n = d->before[j] + 1;

            d->here[j + 1] = n;
            if (n > best.n)
                best = (struct match){ i + 1 - n, j + 1 - n, n };
        }
        d->left -= d->left < 1 + p - from ? d->left : 1 + p - from;
        forget(d, was_from, was_end);
        swap = d->before;
        d->before = d->here;
        d->here = swap;
        was_from = from;
        was_end = p;
    }
    forget(d, was_from, was_end);
    return best;
}

static bool same_line(const struct differ *d, size_t a, size_t b)
{
    return d->a.ids[a] == d->b.ids[b];
}

static struct match longest(struct differ *d, const struct range *r)
{
    struct match m = longest_counted(d, r);

    if (d->left == 0)
        return (struct match){ .n = 0 };
    while (m.a > r->a && m.b > r->b && same_line(d, m.a - 1, m.b - 1)) {
        m.a--;
        m.b--;
        m.n++;
    }
    while (m.a + m.n < r->a_end && m.b + m.n < r->b_end && same_line(d, m.a + m.n, m.b + m.n))
        m.n++;
    return m;
}

static int by_line(const void *x, const void *y)
{
    const struct match *a = x, *b = y;

    return a->a < b->a ? -1 : a->a > b->a;
}

/* Room for one more in an array that doubles. */
static void *grown(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    void *more;

    if (n < *cap)
        return items;
    *cap = *cap ? 2 * *cap : 32;
    more = arena_alloc_n(a, *cap, size);
    if (n)
        memcpy(more, items, n * size);
    return more;
}

static void find_matches(struct differ *d)
{
    struct range *todo = NULL;
    size_t n = 0, cap = 0;

    todo = grown(d->arena, todo, n, &cap, sizeof(*todo));
    todo[n++] = (struct range){ 0, d->a.n, 0, d->b.n };
    while (n > 0) {
        struct range r = todo[--n];
        struct match m = longest(d, &r);

        if (m.n == 0)
            continue;
        d->matches = grown(d->arena, d->matches, d->n, &d->cap, sizeof(*d->matches));
        d->matches[d->n++] = m;
        if (r.a < m.a && r.b < m.b) {
            todo = grown(d->arena, todo, n, &cap, sizeof(*todo));
            todo[n++] = (struct range){ r.a, m.a, r.b, m.b };
        }
        if (m.a + m.n < r.a_end && m.b + m.n < r.b_end) {
            todo = grown(d->arena, todo, n, &cap, sizeof(*todo));
            todo[n++] = (struct range){ m.a + m.n, r.a_end, m.b + m.n, r.b_end };
        }
    }
    if (d->n)
        qsort(d->matches, d->n, sizeof(*d->matches), by_line);
}

/* ---- what is printed ---- */

struct step { /* lines that are equal, or that come in place of others */
    struct range r;
    bool equal;
};

/* Matches that touch are one; between two of them something differs. */
static struct step *steps_of(struct differ *d, size_t *out)
{
    struct step *steps = arena_array(d->arena, struct step, 2 * d->n + 1);
    size_t n = 0, a = 0, b = 0;

    for (size_t i = 0; i <= d->n; i++) {
        struct match m = i < d->n ? d->matches[i] : (struct match){ d->a.n, d->b.n, 0 };

        if (a < m.a || b < m.b)
            steps[n++] = (struct step){ { a, m.a, b, m.b }, false };
        a = m.a + m.n;
        b = m.b + m.n;
        if (m.n && n && steps[n - 1].equal) {
            steps[n - 1].r.a_end = a;
            steps[n - 1].r.b_end = b;
        } else if (m.n) {
            steps[n++] = (struct step){ { m.a, a, m.b, b }, true };
        }
    }
    *out = n;
    return steps;
}

static void put_range(struct buf *b, size_t from, size_t end)
{
    size_t n = end - from;

    buf_u64(b, n ? from + 1 : from);
    if (n != 1)
        buf_printf(b, ",%zu", n);
}

static void put_lines(struct buf *b, char mark, const struct side *s, size_t from, size_t end)
{
    for (size_t i = from; i < end && !buf_overflown(b); i++)
        if (buf_reserve(b, s->lines[i].n + 2)) { /* a whole line or nothing */
            buf_byte(b, mark);
            buf_str_append(b, s->lines[i]);
            buf_byte(b, '\n');
        }
}

static void put_group(struct buf *b, const struct differ *d, const struct step *steps, size_t n)
{
    if (n == 0 || (n == 1 && steps[0].equal) || !buf_reserve(b, HEAD_MAX))
        return;
    buf_lit(b, "@@ -");
    put_range(b, steps[0].r.a, steps[n - 1].r.a_end);
    buf_lit(b, " +");
    put_range(b, steps[0].r.b, steps[n - 1].r.b_end);
    buf_lit(b, " @@\n");
    for (size_t i = 0; i < n; i++) {
        const struct range *r = &steps[i].r;

        put_lines(b, steps[i].equal ? ' ' : '-', &d->a, r->a, r->a_end);
        if (!steps[i].equal)
            put_lines(b, '+', &d->b, r->b, r->b_end);
    }
}

static struct range first_lines(struct range r)
{
    if (r.a_end - r.a > CONTEXT)
        return (struct range){ r.a, r.a + CONTEXT, r.b, r.b + CONTEXT };
    return r;
}

static struct range last_lines(struct range r)
{
    if (r.a_end - r.a > CONTEXT)
        return (struct range){ r.a_end - CONTEXT, r.a_end, r.b_end - CONTEXT, r.b_end };
    return r;
}

/* A long piece that is equal ends a group, and begins the next. */
static void put_groups(struct buf *b, const struct differ *d, struct step *steps, size_t n)
{
    size_t first = 0;

    if (n && steps[0].equal)
        steps[0].r = last_lines(steps[0].r);
    if (n && steps[n - 1].equal)
        steps[n - 1].r = first_lines(steps[n - 1].r);
    for (size_t i = 0; i < n; i++) {
        struct range whole = steps[i].r;

        if (!steps[i].equal || whole.a_end - whole.a <= (size_t)2 * CONTEXT)
            continue;
        steps[i].r = first_lines(whole);
        put_group(b, d, steps + first, i + 1 - first);
        steps[i].r = last_lines(whole);
        first = i;
    }
    put_group(b, d, steps + first, n - first);
}

str line_diff(struct arena *a, str was, str now)
{
    struct differ d = { .arena = a, .left = LINE_DIFF_STEPS };
    struct map ids = { 0 };
    scoped_buf out;
    size_t nsteps;
    struct step *steps;

    buf_init(&out, LINE_DIFF_MAX);
    split(&d, &d.a, was, &ids);
    split(&d, &d.b, now, &ids);
    find_places(&d, map_size(&ids));
    map_release(&ids);
    d.before = arena_array(a, uint32_t, d.b.n + 1);
    d.here = arena_array(a, uint32_t, d.b.n + 1);
    find_matches(&d);
    steps = steps_of(&d, &nsteps);
    put_groups(&out, &d, steps, nsteps);
    return str_concat(a, buf_str(&out), buf_overflown(&out) ? STR("...\n") : STR_NONE, STR_NONE);
}
