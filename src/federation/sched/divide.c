/* SPDX-License-Identifier: Apache-2.0 */

/* Replicas over clusters by weights: Webster's method, and what is kept of an earlier result. */

#include <stdlib.h>

#include "base/banned.h"
#include "federation/sched/sched_internal.h"

void sched_split_evenly(int64_t replicas, int64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = replicas / (int64_t)n + ((int64_t)i < replicas % (int64_t)n);
}

/* Karmada: FNV-1a of the uid, odd: descending. */
bool sched_ties_descend(str uid)
{
    uint32_t h = 2166136261U;

    for (size_t i = 0; i < uid.n; i++)
        h = (h ^ (unsigned char)uid.p[i]) * 16777619U;
    return uid.n && h % 2;
}

/* ---- Webster ---- */

struct election {
    struct sched_share **heap; /* the next to get a seat is first */
    size_t n;
    bool descend;
};

static bool before(const struct election *e, const struct sched_share *x,
                   const struct sched_share *y)
{
    __int128 a = (__int128)x->weight * (2 * y->seats + 1);
    __int128 b = (__int128)y->weight * (2 * x->seats + 1);

    if (a != b)
        return a > b;
    if (x->seats != y->seats)
        return x->seats < y->seats;
    return e->descend ? str_cmp(x->name, y->name) > 0 : str_cmp(x->name, y->name) < 0;
}

static void sift(struct election *e, size_t i)
{
    for (;;) {
        size_t best = i, left = 2 * i + 1, right = left + 1;
        struct sched_share *moved = e->heap[i];

        if (left < e->n && before(e, e->heap[left], e->heap[best]))
            best = left;
        if (right < e->n && before(e, e->heap[right], e->heap[best]))
            best = right;
        if (best == i)
            return;
        e->heap[i] = e->heap[best];
        e->heap[best] = moved;
        i = best;
    }
}

/*
 * Seats whose quotient is above total / (2 * parts) go before all others, whatever else happens; so
 * they can be given at once.  How many that are for one share, beyond those that it has.
 */
static __int128 sure_seats(const struct sched_share *s, __int128 total, int64_t parts)
{
    __int128 odd = (2 * (__int128)s->weight * parts - 1) / total; /* the largest divisor */
    __int128 seats = (odd + 1) / 2;

    if (s->weight <= 0 || parts <= 0 || seats <= s->seats)
        return 0;
    return seats - s->seats;
}

static __int128 sure_of_all(const struct sched_share *s, size_t n, __int128 total, int64_t parts)
{
    __int128 sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += sure_seats(&s[i], total, parts);
    return sum;
}

/* So the time does not depend on how many replicas there are. */
static int64_t give_sure_seats(struct sched_share *s, size_t n, int64_t seats, __int128 total)
{
    int64_t low = 0, high = seats;

    for (size_t i = 0; i < n; i++)
        high += s[i].seats;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;

        if (sure_of_all(s, n, total, middle) <= seats)
            low = middle;
        else
            high = middle - 1;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t sure = (int64_t)sure_seats(&s[i], total, low);

        s[i].seats += sure;
        seats -= sure;
    }
    return seats;
}

void sched_webster(struct arena *a, struct sched_share *s, size_t n, int64_t seats, bool descend)
{
    struct election e = { arena_array(a, struct sched_share *, n), 0, descend };
    __int128 total = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i].weight <= 0)
            continue;
        e.heap[e.n++] = &s[i];
        total += s[i].weight;
    }
    if (e.n == 0)
        return;
    if (seats > 2 * (int64_t)n)
        seats = give_sure_seats(s, n, seats, total);
    for (size_t i = e.n; i-- > 0;)
        sift(&e, i);
    for (; seats > 0; seats--) {
        e.heap[0]->seats++;
        sift(&e, 0);
    }
}

/* ---- dynamic weight and aggregated ---- */

/* The order in which clusters are taken: those that keep replicas first, then heavy ones. */
struct pick {
    size_t i;
    int64_t weight, kept;
};

static int heavier_first(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

static int keepers_first(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;

    if ((x->kept > 0) != (y->kept > 0))
        return x->kept > 0 ? -1 : 1;
    return heavier_first(a, b);
}

/* As few as reach the target, in that order. */
static size_t shortest_prefix(const struct pick *p, size_t n, int64_t target)
{
    __int128 sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += p[i].weight;
        if (sum >= target)
            return i + 1;
    }
    return n;
}

static int share_out(struct arena *a, struct sched_division *d, struct sched_holder *h,
                     struct pick *p, size_t n, int64_t target)
{
    struct sched_share *s = arena_array(a, struct sched_share, n);
    __int128 sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += p[i].weight;
    if (sum < target) {
        d->short_of = (int64_t)sum;
        return -1;
    }
    if (d->aggregated && n) {
        qsort(p, n, sizeof(*p), keepers_first);
        n = shortest_prefix(p, n, target);
    }
    for (size_t i = 0; i < n; i++)
        s[i] = (struct sched_share){ h[p[i].i].name, p[i].weight, 0 };
    sched_webster(a, s, n, target, d->descend);
    for (size_t i = 0; i < n; i++) {
        h[p[i].i].weight = p[i].weight;
        h[p[i].i].after += s[i].seats;
    }
    return 0;
}

/* One tier: h[from..to). */
static int divide_tier(struct arena *a, struct sched_division *d, struct sched_holder *h, size_t n,
                       int64_t replicas)
{
    struct pick *p = arena_array(a, struct pick, n);
    int64_t had = 0, target = replicas;

    for (size_t i = 0; i < n; i++)
        had += h[i].before;
    if (!d->fresh && had == replicas) {
        for (size_t i = 0; i < n; i++)
            h[i].after = h[i].before;
        d->kept = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        p[i] = (struct pick){ .i = i, .weight = h[i].room };
        if (d->fresh)
            p[i].weight += h[i].before;
        else if (had > replicas)
            p[i].weight = h[i].before;
        else
            h[i].after = p[i].kept = h[i].before;
    }
    d->scaled_down |= !d->fresh && had > replicas;
    if (!d->fresh && had < replicas) {
        d->scaled_up |= had > 0;
        target -= had;
    }
    return share_out(a, d, h, p, n, target);
}

int sched_divide(struct arena *a, struct sched_division *d, struct sched_holder *h, size_t n)
{
    int64_t left = d->replicas, all = 0;

    for (size_t i = 0; i < n; i++) {
        h[i].after = 0;
        h[i].weight = -1;
        all += h[i].available;
    }
    if (n == 0 || h[0].tier == h[n - 1].tier)
        return divide_tier(a, d, h, n, left);
    for (size_t from = 0, to; from < n; from = to) {
        int64_t room = 0, part;

        for (to = from; to < n && h[to].tier == h[from].tier; to++)
            room += h[to].available;
        part = left < room ? left : room;
        if (part > 0 && divide_tier(a, d, h + from, to - from, part) < 0)
            return -1;
        left -= part;
    }
    if (left > 0) {
        d->short_of = all;
        return -1;
    }
    return 0;
}

void sched_divide_alike(struct arena *a, const struct json *targets, int64_t n, str uid,
                        int64_t *out)
{
    size_t count = json_len(targets);
    struct sched_share *s = arena_array(a, struct sched_share, count + 1);

    for (size_t i = 0; i < count; i++) {
        const struct json *t = json_at(targets, i);

        s[i] = (struct sched_share){ .name = json_get_str(t, "name"),
                                     .weight = json_int(json_get(t, STR("replicas")), 0) };
    }
    sched_webster(a, s, count, n, sched_ties_descend(uid));
    for (size_t i = 0; i < count; i++)
        out[i] = s[i].seats;
}
