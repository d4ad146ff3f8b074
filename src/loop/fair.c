/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/fair.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    QUANTUM_NS = 50000,        /* of a turn: some five small requests */
    DEBT_NS = 20 * QUANTUM_NS, /* what took longer is forgiven: turns must come back */
};

struct fair_lane {
    unsigned slot;
    int64_t left_ns; /* of its turn; below 0: it has taken more */
    struct loop_msg *first[LOOP_RANKS], *last[LOOP_RANKS];
    struct fair_lane *next, *prev; /* the ring */
};

static bool is_empty(const struct fair_lane *l)
{
    for (size_t i = 0; i < LOOP_RANKS; i++)
        if (l->first[i])
            return false;
    return true;
}

/* At the ring's end: before the one whose turn it is. */
static struct fair_lane *add(struct fair *f, unsigned slot)
{
    struct fair_lane *l = mem_zalloc(sizeof(*l));

    l->slot = slot;
    l->left_ns = QUANTUM_NS;
    l->next = l->prev = l;
    if (f->ring) {
        l->next = f->ring;
        l->prev = f->ring->prev;
        l->prev->next = l->next->prev = l;
    } else {
        f->ring = l;
    }
    f->lanes[slot] = l;
    return l;
}

static void drop(struct fair *f, struct fair_lane *l)
{
    if (f->ring == l)
        f->ring = l->next == l ? NULL : l->next;
    l->prev->next = l->next;
    l->next->prev = l->prev;
    f->lanes[l->slot] = NULL;
    free(l);
}

void fair_push(struct fair *f, struct loop_msg *m)
{
    unsigned slot = (unsigned)(m->whose % FAIR_LANES);
    struct fair_lane *l = f->lanes[slot] ? f->lanes[slot] : add(f, slot);

    assert(!m->lane);
    m->lane = l;
    m->next = NULL;
    m->prev = l->last[m->rank];
    if (m->prev)
        m->prev->next = m;
    else
        l->first[m->rank] = m;
    l->last[m->rank] = m;
}

static void unlink_msg(struct loop_msg *m)
{
    struct fair_lane *l = m->lane;

    if (m->prev)
        m->prev->next = m->next;
    else
        l->first[m->rank] = m->next;
    if (m->next)
        m->next->prev = m->prev;
    else
        l->last[m->rank] = m->prev;
    m->lane = NULL;
}

void fair_remove(struct fair *f, struct loop_msg *m)
{
    struct fair_lane *l = m->lane;

    if (!l)
        return;
    unlink_msg(m);
    if (is_empty(l) && l != f->ran)
        drop(f, l);
}

struct loop_msg *fair_take(struct fair *f)
{
    struct fair_lane *l;
    struct loop_msg *m = NULL;

    assert(!f->ran);
    if (!f->ring)
        return NULL;
    while ((l = f->ring)->left_ns <= 0) {
        l->left_ns += QUANTUM_NS;
        f->ring = l->next;
    }
    for (size_t i = 0; !m; i++)
        m = l->first[i];
    unlink_msg(m);
    f->ran = l; /* stays until it is done, though it may be empty */
    return m;
}

bool fair_charge(struct fair *f, int64_t ns)
{
    struct fair_lane *l = f->ran;

    l->left_ns -= ns;
    if (l->left_ns < -DEBT_NS)
        l->left_ns = -DEBT_NS;
    return !is_empty(l) && (l->left_ns > 0 || l->next == l);
}

void fair_done(struct fair *f)
{
    struct fair_lane *l = f->ran;

    f->ran = NULL;
    if (is_empty(l))
        drop(f, l);
}

bool fair_is_free(const struct fair *f, uint64_t whose)
{
    const struct fair_lane *l = f->ring;

    return !l || (l->next == l && l->slot == whose % FAIR_LANES && !l->first[LOOP_GOES_ON] &&
                  !l->first[LOOP_BEGINS]);
}
