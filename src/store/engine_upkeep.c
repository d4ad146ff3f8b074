/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "store/engine_internal.h"

enum {
    PIN_MS = 60000,
    PAST_FREE = 20000, /* so much history is kept for its full time however little is alive; at
                        * 2,000 a small fleet that writes much would soon answer 410 */
    DEAD_FREE = 2000,  /* and so many rows that are deleted: each takes three times a change */
    PAST_MS = 2000,    /* and this long all of it: a watch that is cut off comes back sooner */
    FORGET_MS = 10000, /* between two times that mapped pages are given back */
    FORGET_BYTES = 16 << 20,
    PORTION = 256,    /* events or rows forgotten between two commits: some 100 µs */
    TRIM_ROWS = 1024, /* after purging so many the allocator is asked to give pages back */
};

/* ---- pins and the floor ---- */

static void pins_expire_locked(struct engine *e)
{
    int64_t now = e->npins ? clock_now_ms(e->opt.clock) : 0;
    size_t n = 0;

    for (size_t i = 0; i < e->npins; i++)
        if (e->pins[i].count > 0 && e->pins[i].until_ms > now)
            e->pins[n++] = e->pins[i];
    e->npins = n;
}

static struct pin *pin_find_locked(struct engine *e, uint64_t rev)
{
    for (size_t i = 0; i < e->npins; i++)
        if (e->pins[i].rev == rev)
            return &e->pins[i];
    return NULL;
}

bool engine_pin(struct store *s, uint64_t rev)
{
    struct engine *e = engine_of(s);
    int64_t until = clock_now_ms(e->opt.clock) + PIN_MS;
    struct pin *p;
    bool ok;

    (void)pthread_mutex_lock(&e->pins_mu);
    ok = rev >= atomic_load(&e->floor) && rev <= atomic_load(&e->head);
    p = ok ? pin_find_locked(e, rev) : NULL;
    if (p) {
        p->count++;
        p->until_ms = until;
    } else if (ok) {
        if (e->npins == e->pins_cap) {
            e->pins_cap = e->pins_cap ? e->pins_cap * 2 : 16;
            e->pins = mem_realloc_n(e->pins, e->pins_cap, sizeof(*e->pins));
        }
        e->pins[e->npins++] = (struct pin){ rev, 1, until };
    }
    (void)pthread_mutex_unlock(&e->pins_mu);
    return ok;
}

void engine_unpin(struct store *s, uint64_t rev)
{
    struct engine *e = engine_of(s);
    struct pin *p;

    (void)pthread_mutex_lock(&e->pins_mu);
    p = pin_find_locked(e, rev);
    if (p && p->count > 0) /* else its time was over */
        p->count--;
    (void)pthread_mutex_unlock(&e->pins_mu);
}

void engine_raise_floor(struct engine *e, uint64_t rev)
{
    uint64_t floor;

    (void)pthread_mutex_lock(&e->pins_mu);
    pins_expire_locked(e);
    if (rev > atomic_load(&e->head))
        rev = atomic_load(&e->head);
    if (rev > atomic_load(&e->floor_goal))
        atomic_store(&e->floor_goal, rev);
    floor = atomic_load(&e->floor_goal);
    for (size_t i = 0; i < e->npins; i++)
        if (e->pins[i].rev < floor)
            floor = e->pins[i].rev;
    if (floor > atomic_load(&e->floor))
        atomic_store_explicit(&e->floor, floor, memory_order_release);
    (void)pthread_mutex_unlock(&e->pins_mu);
}

static void ages_note(struct ages *a, int64_t now, uint64_t rev, int64_t step)
{
    const struct age *last = a->n ? &a->at[a->n - 1] : NULL;

    if (a->n < ENGINE_AGES && (!last || (last->ms + step <= now && last->rev < rev)))
        a->at[a->n++] = (struct age){ now, rev };
}

/* The last revision noted at `until` or before, which is then forgotten; or 0. */
static uint64_t ages_take(struct ages *a, int64_t until)
{
    uint64_t rev = 0;
    unsigned old = 0;

    while (old < a->n && a->at[old].ms <= until)
        rev = a->at[old++].rev;
    a->n -= old;
    memmove(a->at, a->at + old, a->n * sizeof(*a->at));
    return rev;
}

static int64_t age_step(const struct engine *e)
{
    return e->opt.history_ms / (ENGINE_AGES / 2);
}

static uint64_t beyond(uint64_t n, uint64_t rows, uint64_t enough)
{
    enough = rows > enough ? rows : enough;
    return n > enough ? n - enough : 0;
}

/*
 * How many changes, and rows of dropped instances, there are more than rows that are alive; or how
 * many rows that are deleted.  A change forgotten is one less of either, or none.
 */
static uint64_t past_excess(struct engine *e)
{
    uint64_t rows = atomic_load(&e->rows);
    uint64_t past = beyond(atomic_load(&e->history.n) + e->dropped_rows, rows, PAST_FREE);
    uint64_t dead = beyond(e->dead_rows, rows, DEAD_FREE);

    return past > dead ? past : dead;
}

void engine_note_age(struct engine *e)
{
    int64_t now = clock_now_ms(e->opt.clock);
    uint64_t head = atomic_load(&e->head);

    if (head > atomic_load(&e->floor))
        ages_note(&e->ages, now, head, age_step(e));
    if (past_excess(e))
        ages_note(&e->past_ages, now, head, PAST_MS / (ENGINE_AGES / 2));
}

/*
 * What is kept of the past may not outweigh the present: where everything was deleted, memory comes
 * back after moments instead of minutes, at the price of a shorter history.
 */
static void floor_by_excess(struct engine *e)
{
    uint64_t excess = past_excess(e), n = atomic_load(&e->history.n), upto;
    uint64_t old = ages_take(&e->past_ages, clock_now_ms(e->opt.clock) - PAST_MS);

    if (old)
        e->past_old = old;
    if (!excess || !n || e->past_old <= atomic_load(&e->floor))
        return;
    upto = history_nth(&e->history, (excess < n ? excess : n) - 1)->rev;
    engine_raise_floor(e, upto < e->past_old ? upto : e->past_old);
}

/* What was the head long enough ago is the floor. */
static void floor_by_age(struct engine *e)
{
    uint64_t old = ages_take(&e->ages, clock_now_ms(e->opt.clock) - e->opt.history_ms);

    if (old)
        engine_raise_floor(e, old);
}

static void floor_by_number(struct engine *e)
{
    uint64_t n = atomic_load(&e->history.n);

    if (n > e->opt.history_events)
        engine_raise_floor(e, history_nth(&e->history, n - e->opt.history_events - 1)->rev);
}

int64_t engine_upkeep_in_ms(struct engine *e)
{
    int64_t ms = past_excess(e) ? PAST_MS / 4 : age_step(e);

    if (atomic_load(&e->history.n) == 0)
        return -1;
    return ms < 10 ? 10 : ms > 10000 ? 10000 : ms;
}

/* ---- forgetting ---- */

bool engine_prune(struct engine *e, size_t n)
{
    uint64_t floor = atomic_load(&e->floor);
    const struct event *ev;

    while ((ev = history_peek(&e->history)) && ev->rev <= floor) {
        if (n-- == 0)
            return true;
        engine_forget(e, ev);
        history_take(&e->history);
    }
    e->pruned = floor;
    return false;
}

void engine_purge_later(struct engine *e, uint32_t instance)
{
    if (e->npurge == e->purge_cap) {
        e->purge_cap = e->purge_cap ? e->purge_cap * 2 : 16;
        e->purge = mem_realloc_n(e->purge, e->purge_cap, sizeof(*e->purge));
    }
    e->purge[e->npurge++] = instance;
}

static void purge_list_free(struct engine *e)
{
    if (e->npurge > 0)
        return;
    free(e->purge);
    e->purge = NULL;
    e->purge_cap = 0;
}

/* Rows of one type of an instance; returns how many of n are left over. */
static size_t purge_type(struct engine *e, uint32_t type, uint32_t instance, size_t n)
{
    struct index_cursor c = { .index = &e->index };
    struct store_key key = { type, instance, STR_NONE };

    if (!idmap_get(&e->counts, engine_count_key(type, instance)))
        return n;
    index_seek(&c, &key);
    while (n > 0 && c.row && c.row->type == type && c.row->instance == instance) {
        struct index_row *row = c.row;

        index_next(&c);
        engine_purge_row(e, row);
        n--;
    }
    return n;
}

bool engine_purge(struct engine *e, size_t n)
{
    while (e->npurge > 0 && n > 0) {
        uint32_t instance = e->purge[e->npurge - 1];

        while (e->purge_type < e->ntypes) {
            n = purge_type(e, e->types[e->purge_type], instance, n);
            if (n == 0)
                break;
            e->purge_type++;
        }
        if (e->purge_type < e->ntypes)
            break;
        e->purge_type = 0;
        e->npurge--;
        n--; /* the looking counts, too */
        atomic_fetch_sub_explicit(&e->unpurged, 1, memory_order_release);
    }
    return e->npurge > 0;
}

/* What was read of the files counts as ours until it is given back; the system keeps it cached. */
static void forget_pages(struct engine *e)
{
    for (struct segment *s = e->log->oldest; s; s = s->newer)
        file_forget(e->opt.files, s->map, s->map_bytes);
}

/* The allocator keeps what is freed in the middle of its heap until it is asked. */
static void give_back(struct engine *e, bool busy)
{
    size_t waiting = epoch_reclaim();
    int64_t now = clock_now_ms(e->opt.clock);

    if (now >= e->forget_ms && atomic_load(&e->log->bytes) >= FORGET_BYTES) {
        e->forget_ms = now + FORGET_MS;
        forget_pages(e);
    }
    if (busy || waiting > 0 || e->removed_rows < TRIM_ROWS)
        return;
    e->removed_rows = 0;
    forget_pages(e);
    purge_list_free(e);
    idmap_trim(&e->counts);
    idmap_trim(&e->folders);
    rowmap_trim(&e->index.by_key);
    (void)epoch_reclaim();
    (void)malloc_trim(0);
}

bool engine_upkeep(struct engine *e)
{
    bool more;

    floor_by_age(e);
    floor_by_excess(e);
    floor_by_number(e);
    engine_note_age(e);
    if (atomic_load(&e->floor_goal) > atomic_load(&e->floor))
        engine_raise_floor(e, 0);
    more = engine_prune(e, PORTION);
    more |= engine_purge(e, PORTION);
    more |= engine_reclaim(e);
    give_back(e, more);
    return more;
}
