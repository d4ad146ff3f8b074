/* SPDX-License-Identifier: Apache-2.0 */
#include "http/fair.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    QUANTUM_NS = 100000,       /* of a turn: some ten small requests */
    DEBT_NS = 20 * QUANTUM_NS, /* what took longer is forgiven: turns must come back */
};

struct fair_lane {
    uint64_t whose;
    int64_t left_ns; /* of its turn; below 0: it has taken more */
    struct fair_item *first[FAIR_KINDS], *last[FAIR_KINDS];
    struct fair_lane *next, *prev; /* the ring */
};

/* Few lanes have something waiting at a time: they are looked through. */
static struct fair_lane *find(const struct fair *f, uint64_t whose)
{
    struct fair_lane *l = f->lanes;

    if (!l)
        return NULL;
    do
        if (l->whose == whose)
            return l;
    while ((l = l->next) != f->lanes);
    return NULL;
}

static bool is_empty(const struct fair_lane *l)
{
    return !l->first[FAIR_REQUEST] && !l->first[FAIR_CONN];
}

/* At the ring's end: before the one whose turn it is. */
static struct fair_lane *add(struct fair *f, uint64_t whose)
{
    struct fair_lane *l = mem_zalloc(sizeof(*l));

    l->whose = whose;
    l->left_ns = QUANTUM_NS;
    l->next = l->prev = l;
    if (f->lanes) {
        l->next = f->lanes;
        l->prev = f->lanes->prev;
        l->prev->next = l->next->prev = l;
    } else {
        f->lanes = l;
    }
    return l;
}

static void drop(struct fair *f, struct fair_lane *l)
{
    if (f->lanes == l)
        f->lanes = l->next == l ? NULL : l->next;
    l->prev->next = l->next;
    l->next->prev = l->prev;
    free(l);
}

void fair_push(struct fair *f, uint64_t whose, struct fair_item *i)
{
    struct fair_lane *l = find(f, whose);

    assert(!i->lane);
    if (!l)
        l = add(f, whose);
    i->lane = l;
    i->next = NULL;
    i->prev = l->last[i->kind];
    if (i->prev)
        i->prev->next = i;
    else
        l->first[i->kind] = i;
    l->last[i->kind] = i;
}

static void unlink_item(struct fair_item *i)
{
    struct fair_lane *l = i->lane;

    if (i->prev)
        i->prev->next = i->next;
    else
        l->first[i->kind] = i->next;
    if (i->next)
        i->next->prev = i->prev;
    else
        l->last[i->kind] = i->prev;
    i->lane = NULL;
}

void fair_remove(struct fair *f, struct fair_item *i)
{
    struct fair_lane *l = i->lane;

    if (!l)
        return;
    unlink_item(i);
    if (is_empty(l) && l != f->ran)
        drop(f, l);
}

struct fair_item *fair_take(struct fair *f)
{
    struct fair_lane *l;
    struct fair_item *i;

    assert(!f->ran);
    if (!f->lanes)
        return NULL;
    while ((l = f->lanes)->left_ns <= 0) {
        l->left_ns += QUANTUM_NS;
        f->lanes = l->next;
    }
    i = l->first[l->first[FAIR_REQUEST] ? FAIR_REQUEST : FAIR_CONN];
    unlink_item(i);
    f->ran = l; /* stays until it is charged, though it may be empty */
    return i;
}

void fair_charge(struct fair *f, int64_t ns)
{
    struct fair_lane *l = f->ran;

    f->ran = NULL;
    l->left_ns -= ns;
    if (l->left_ns < -DEBT_NS)
        l->left_ns = -DEBT_NS;
    if (is_empty(l))
        drop(f, l);
}

bool fair_is_free(const struct fair *f, uint64_t whose)
{
    const struct fair_lane *l = f->lanes;

    return !l || (l->next == l && l->whose == whose && !l->first[FAIR_REQUEST]);
}
