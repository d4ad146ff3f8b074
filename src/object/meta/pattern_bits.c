/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/pattern_bits.h"

#include "base/banned.h"

#include "base/arena.h"

/*
 * Most patterns have few sets of states that can be reached: then each is a row of a table, which
 * says where a character leads to (rows are told by where they begin), and in its last column
 * whether the text may end there.  The first rows stand for answers.
 */
enum { ROW_NO, ROW_YES, ROW_NOT_ASCII, ROW_START, ROWS_MAX = 64, TABLE_MAX = 2048 };

struct bits {
    uint64_t first, last;
    bool empty, caret, dollar;
    uint8_t kind[UINT8_MAX + 1]; /* characters that no state tells apart have one number */
    unsigned kinds;              /* the last is of what is not ASCII */
    const uint64_t *taken_by;    /* by that number: the states that take such a character */
    const uint64_t *follow;      /* by state: what may come next */
    const uint16_t *rows;        /* NULL: they would be too many */
};

void bits_set_range(struct bits_set *s, uint32_t lo, uint32_t hi)
{
    for (uint32_t c = lo; c <= hi && c < BITS_CHARS; c++)
        s->half[c / 64] |= (uint64_t)1 << c % 64;
}

struct bits_part bits_nothing(const struct bits_builder *b)
{
    return (struct bits_part){ .empty = true, .from = b->n };
}

struct bits_part bits_atom(struct bits_builder *b, const struct bits_set *set)
{
    uint64_t bit;

    if (b->off || b->n == BITS_STATES) {
        b->off = true;
        return bits_nothing(b);
    }
    bit = (uint64_t)1 << b->n;
    b->sets[b->n] = *set;
    b->follow[b->n] = 0;
    return (struct bits_part){ .first = bit, .last = bit, .from = b->n++ };
}

static void link_parts(struct bits_builder *b, uint64_t last, uint64_t first)
{
    for (; last; last &= last - 1)
        b->follow[__builtin_ctzll(last)] |= first;
}

struct bits_part bits_then(struct bits_builder *b, struct bits_part x, struct bits_part y)
{
    link_parts(b, x.last, y.first);
    return (struct bits_part){
        .first = x.first | (x.empty ? y.first : 0),
        .last = y.last | (y.empty ? x.last : 0),
        .empty = x.empty && y.empty,
        .from = x.from,
    };
}

struct bits_part bits_or(struct bits_part x, struct bits_part y)
{
    return (struct bits_part){ .first = x.first | y.first,
                               .last = x.last | y.last,
                               .empty = x.empty || y.empty,
                               .from = x.from };
}

/* States [from, to) once more, behind all others. */
static struct bits_part copy(struct bits_builder *b, struct bits_part x, unsigned to,
                             const uint64_t *inner)
{
    unsigned n = to - x.from, shift = b->n - x.from;

    if (b->off || b->n + n > BITS_STATES) {
        b->off = true;
        return x;
    }
    for (unsigned i = 0; i < n; i++) {
        b->sets[b->n] = b->sets[x.from + i];
        b->follow[b->n++] = inner[i] << shift;
    }
    return (struct bits_part){
        .first = x.first << shift, .last = x.last << shift, .empty = x.empty, .from = x.from + shift
    };
}

struct bits_part bits_repeat(struct bits_builder *b, struct bits_part x, long min, long max)
{
    unsigned to = b->n, n = to - x.from;
    long times = max < 0 ? (min > 1 ? min : 1) : max;
    struct bits_part all = bits_nothing(b);
    uint64_t inner[BITS_STATES];

    if (b->off || n == 0 || times * (long)n > BITS_STATES) {
        b->off = b->off || n != 0;
        return x;
    }
    memcpy(inner, b->follow + x.from, n * sizeof(*inner)); /* as they are without the rest */
    for (long i = 0; i < times; i++) {
        struct bits_part one = i == 0 ? x : copy(b, x, to, inner);

        one.empty = one.empty || i >= min;
        if (max < 0 && i == times - 1)
            link_parts(b, one.last, one.first);
        all = i == 0 ? one : bits_then(b, all, one);
    }
    all.from = x.from;
    return all;
}

/* The states behind those of `now`, by a character of this kind. */
static uint64_t step(const struct bits *b, uint64_t now, bool start, unsigned kind)
{
    uint64_t next = start || !b->caret ? b->first : 0;

    for (; now; now &= now - 1)
        next |= b->follow[__builtin_ctzll(now)];
    return next & b->taken_by[kind];
}

/* The row of a set of states, made if need be; ROWS_MAX when there are too many. */
static unsigned row_of(const struct bits *b, uint64_t *sets, unsigned *n, uint64_t set)
{
    unsigned i = ROW_START + 1;

    if (!b->dollar && (b->empty || set & b->last))
        return ROW_YES;
    if (b->caret && !set)
        return ROW_NO;
    while (i < *n && sets[i] != set)
        i++;
    if (i == *n && i < ROWS_MAX)
        sets[(*n)++] = set;
    return i;
}

static bool may_end(const struct bits *b, uint64_t set, bool start)
{
    if (!b->dollar)
        return b->empty;
    return set & b->last || (b->empty && (start || !b->caret));
}

static const uint16_t *make_rows(struct arena *a, const struct bits *b)
{
    unsigned width = b->kinds + 1, n = ROW_START + 1;
    uint64_t sets[ROWS_MAX] = { 0 };
    uint16_t rows[TABLE_MAX], *out;

    for (unsigned r = ROW_START; r < n; r++) {
        if ((r + 1) * width > TABLE_MAX)
            return NULL;
        for (unsigned k = 0; k + 1 < b->kinds; k++) {
            unsigned to = row_of(b, sets, &n, step(b, sets[r], r == ROW_START, k));

            if (to == ROWS_MAX)
                return NULL;
            rows[r * width + k] = (uint16_t)(to * width);
        }
        rows[r * width + b->kinds - 1] = (uint16_t)(ROW_NOT_ASCII * width);
        rows[r * width + b->kinds] = may_end(b, sets[r], r == ROW_START);
    }
    out = arena_array(a, uint16_t, n * width);
    memcpy(out + ROW_START * width, rows + ROW_START * width,
           (n - ROW_START) * width * sizeof(*out));
    return out;
}

const struct bits *bits_done(struct arena *a, const struct bits_builder *b, struct bits_part all)
{
    struct bits *m;
    uint64_t taken[BITS_CHARS], *table, *follow;
    unsigned kinds = 0;

    if (b->off)
        return NULL;
    m = arena_new_of(a, struct bits);
    *m = (struct bits){ .first = all.first,
                        .last = all.last,
                        .empty = all.empty,
                        .caret = b->caret,
                        .dollar = b->dollar };
    for (unsigned c = 0; c < BITS_CHARS; c++) {
        uint64_t by = 0;
        unsigned k = 0;

        for (unsigned i = 0; i < b->n; i++)
            if (b->sets[i].half[c / 64] >> c % 64 & 1)
                by |= (uint64_t)1 << i;
        while (k < kinds && taken[k] != by)
            k++;
        taken[k] = by;
        kinds += k == kinds;
        m->kind[c] = (uint8_t)k;
    }
    memset(m->kind + BITS_CHARS, (int)kinds, sizeof(m->kind) - BITS_CHARS);
    m->kinds = kinds + 1;
    table = arena_array(a, uint64_t, kinds);
    memcpy(table, taken, kinds * sizeof(*table));
    follow = arena_array(a, uint64_t, b->n + 1);
    memcpy(follow, b->follow, b->n * sizeof(*follow));
    m->taken_by = table;
    m->follow = follow;
    m->rows = make_rows(a, m);
    return m;
}

static enum bits_result match_rows(const struct bits *b, str text)
{
    static const enum bits_result answers[] = {
        [ROW_NO] = BITS_NO, [ROW_YES] = BITS_YES, [ROW_NOT_ASCII] = BITS_NOT_ASCII
    };
    const unsigned width = b->kinds + 1, start = ROW_START * width;
    unsigned at = start;

    for (size_t i = 0; i < text.n; i++) {
        at = b->rows[at + b->kind[(unsigned char)text.p[i]]];
        if (at < start)
            return answers[at / width];
    }
    return b->rows[at + b->kinds] ? BITS_YES : BITS_NO;
}

enum bits_result bits_match(const struct bits *b, str text)
{
    uint64_t now = 0;

    if (b->rows)
        return match_rows(b, text);

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c >= BITS_CHARS)
            return BITS_NOT_ASCII;
        now = step(b, now, i == 0, b->kind[c]);
        if (!b->dollar && now & b->last)
            return BITS_YES;
        if (!now && b->caret)
            break;
    }
    return may_end(b, now, text.n == 0) ? BITS_YES : BITS_NO;
}
