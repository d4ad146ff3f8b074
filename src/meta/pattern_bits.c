/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/pattern_bits.h"

#include "base/banned.h"

#include "base/arena.h"

struct bits {
    uint64_t first, last;
    bool empty, caret, dollar;
    uint8_t kind[BITS_CHARS]; /* characters that no state tells apart have one number */
    const uint64_t *taken_by; /* by that number: the states that take such a character */
    const uint64_t *follow;   /* by state: what may come next */
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
    table = arena_array(a, uint64_t, kinds);
    memcpy(table, taken, kinds * sizeof(*table));
    follow = arena_array(a, uint64_t, b->n + 1);
    memcpy(follow, b->follow, b->n * sizeof(*follow));
    m->taken_by = table;
    m->follow = follow;
    return m;
}

enum bits_result bits_match(const struct bits *b, str text)
{
    uint64_t now = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        uint64_t next = i == 0 || !b->caret ? b->first : 0;

        if (c >= BITS_CHARS)
            return BITS_NOT_ASCII;
        for (; now; now &= now - 1)
            next |= b->follow[__builtin_ctzll(now)];
        now = next & b->taken_by[b->kind[c]];
        if (!b->dollar && now & b->last)
            return BITS_YES;
        if (!now && b->caret)
            break;
    }
    if (b->dollar)
        return now & b->last || (b->empty && (text.n == 0 || !b->caret)) ? BITS_YES : BITS_NO;
    return b->empty ? BITS_YES : BITS_NO;
}
