/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SKIPLIST_H
#define STORE_SKIPLIST_H

/*
 * An ordered list with express lanes: one writer, any number of readers without locks.
 *
 * Elements are the caller's memory, with a tower of links at a fixed offset; an element of height h
 * has h of them (skip_height() draws it).  An element that was removed still leads readers on, so
 * it is freed through base/epoch.h.  All functions are inline, with the comparison as a constant
 * argument, so that it is inlined as well.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SKIP_HEIGHT_MAX = 12 }; /* each lane has a quarter of the one below: good for 4^12 */

typedef _Atomic(void *) skip_link;

struct skiplist {
    size_t tower;      /* offset of the links in an element */
    atomic_int height; /* of the tallest that was ever there */
    uint64_t random;
    skip_link head[SKIP_HEIGHT_MAX];
};

/* Negative when elem comes before what is looked for, 0 when it is that. */
typedef int skip_cmp(const void *elem, const void *probe);

static inline void skip_init(struct skiplist *l, size_t tower)
{
    *l = (struct skiplist){ .tower = tower, .random = 0x9e3779b97f4a7c15 };
    atomic_init(&l->height, 1);
}

static inline skip_link *skip_links(const struct skiplist *l, const void *elem)
{
    if (!elem)
        return (skip_link *)(uintptr_t)l->head;
    return (skip_link *)((uintptr_t)elem + l->tower);
}

static inline void *skip_next(const struct skiplist *l, const void *elem) /* NULL: the first */
{
    return atomic_load_explicit(&skip_links(l, elem)[0], memory_order_acquire);
}

/* Writer only. */
static inline int skip_height(struct skiplist *l)
{
    uint64_t r = l->random;
    int h = 1;

    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    l->random = r;
    for (r >>= 8; h < SKIP_HEIGHT_MAX && (r & 3) == 0; r >>= 2)
        h++;
    return h;
}

/* The first element that is not before the probe, or NULL; in `before` what precedes it by lane. */
__attribute__((always_inline)) static inline void *
skip_find(const struct skiplist *l, skip_cmp *cmp, const void *probe, void **before)
{
    void *at = NULL, *next = NULL, *seen = NULL;

    for (int lane = atomic_load_explicit(&l->height, memory_order_relaxed) - 1; lane >= 0; lane--) {
        for (;;) {
            next = atomic_load_explicit(&skip_links(l, at)[lane], memory_order_acquire);
            if (!next || next == seen)
                break;
            if (cmp(next, probe) >= 0) {
                seen = next; /* the lane below often leads to the same one */
                break;
            }
            at = next;
        }
        if (before)
            before[lane] = at;
    }
    return next;
}

/*
 * Several searches side by side.  One is a chain of cache misses; sixteen chains abreast take
 * hardly longer.  With 64 transactions of four hashes each in a batch this halves the cost of
 * applying it. `hint` asks for what a comparison looks at beyond the element itself.
 */
typedef void skip_hint(const void *elem, const void *probe);
enum { SKIP_ABREAST = 16 }; /* 8 gains a little less, 32 nothing more */

struct skip_walk {
    const void *probe;
    void *next;                    /* in the end: as skip_find */
    void *before[SKIP_HEIGHT_MAX]; /* as skip_find */
    void *at;
    int lane;
    bool hinted;
};

static inline void skip_look(const struct skiplist *l, struct skip_walk *w)
{
    w->next = atomic_load_explicit(&skip_links(l, w->at)[w->lane], memory_order_acquire);
    w->hinted = false;
    __builtin_prefetch(w->next);
}

/* False when it has arrived. */
__attribute__((always_inline)) static inline bool skip_step(const struct skiplist *l, skip_cmp *cmp,
                                                            skip_hint *hint, struct skip_walk *w)
{
    if (w->next && !w->hinted) {
        hint(w->next, w->probe);
        w->hinted = true;
        return true;
    }
    if (w->next && cmp(w->next, w->probe) < 0) {
        w->at = w->next;
    } else {
        w->before[w->lane] = w->at;
        if (--w->lane < 0)
            return false;
    }
    skip_look(l, w);
    return true;
}

/* At most SKIP_ABREAST of them, with their probes set. */
__attribute__((always_inline)) static inline void skip_walk_all(const struct skiplist *l,
                                                                skip_cmp *cmp, skip_hint *hint,
                                                                struct skip_walk *walks, size_t n)
{
    struct skip_walk *under_way[SKIP_ABREAST];

    for (size_t i = 0; i < n; i++) {
        walks[i] = (struct skip_walk){ .probe = walks[i].probe };
        walks[i].lane = atomic_load_explicit(&l->height, memory_order_relaxed) - 1;
        skip_look(l, &walks[i]);
        under_way[i] = &walks[i];
    }
    while (n > 0)
        for (size_t i = 0; i < n; i++)
            if (!skip_step(l, cmp, hint, under_way[i]))
                under_way[i--] = under_way[--n];
}

/* Brings a walk up to date with what was inserted since; its `next`, too.  Writer only. */
__attribute__((always_inline)) static inline void
skip_catch_up(const struct skiplist *l, skip_cmp *cmp, struct skip_walk *w, int height)
{
    for (int lane = height - 1; lane >= 0; lane--)
        for (;;) {
            w->next =
                atomic_load_explicit(&skip_links(l, w->before[lane])[lane], memory_order_relaxed);
            if (!w->next || cmp(w->next, w->probe) >= 0)
                break;
            w->before[lane] = w->next;
        }
}

/* Writer only; `before` as skip_find left it. */
static inline void skip_insert(struct skiplist *l, void *elem, int height, void **before)
{
    skip_link *links = skip_links(l, elem);
    int tallest = atomic_load_explicit(&l->height, memory_order_relaxed);

    for (; tallest < height; tallest++)
        before[tallest] = NULL;
    for (int lane = 0; lane < height; lane++)
        atomic_init(&links[lane],
                    atomic_load_explicit(&skip_links(l, before[lane])[lane], memory_order_relaxed));
    for (int lane = 0; lane < height; lane++)
        atomic_store_explicit(&skip_links(l, before[lane])[lane], elem, memory_order_release);
    if (height > atomic_load_explicit(&l->height, memory_order_relaxed))
        atomic_store_explicit(&l->height, height, memory_order_relaxed);
}

/* Writer only; `before` as skip_find left it for elem itself. */
static inline void skip_remove(struct skiplist *l, void *elem, void **before)
{
    skip_link *links = skip_links(l, elem);

    for (int lane = atomic_load_explicit(&l->height, memory_order_relaxed) - 1; lane >= 0; lane--) {
        skip_link *link = &skip_links(l, before[lane])[lane];

        if (atomic_load_explicit(link, memory_order_relaxed) == elem)
            atomic_store_explicit(link, atomic_load_explicit(&links[lane], memory_order_acquire),
                                  memory_order_release);
    }
}

#endif
