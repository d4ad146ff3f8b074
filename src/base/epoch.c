/* SPDX-License-Identifier: Apache-2.0 */
#include "base/epoch.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/mem.h"

/*
 * One counter for all.  Who enters a section notes the counter; what is retired is tagged with it;
 * each attempt to reclaim moves it on.  A thing may go when its tag is lower than the note of every
 * open section: those sections began after the thing was unlinked and cannot have met it.
 */
static atomic_uint_fast64_t counter = 1;

struct epoch_reader { /* one a thread; found by everyone, reused after the thread's end */
    struct epoch_reader *next;
    atomic_uint_fast64_t note; /* 0: outside of a section */
    atomic_bool taken;
    unsigned depth; /* the thread's own */
};
static _Atomic(struct epoch_reader *) readers;
static _Thread_local struct epoch_reader *mine;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

struct retired {
    void (*fn)(void *arg);
    void *arg;
    uint64_t tag;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
/* A ring, oldest first; tags do not fall.  Guarded by mu. */
static struct retired *ring;
static size_t ring_cap, ring_first, ring_n;
static size_t running; /* taken out, their functions not yet through */

static void reader_leave(void *arg)
{
    struct epoch_reader *r = arg;

    assert(r->depth == 0);
    atomic_store(&r->taken, false);
}

static void exit_key_make(void)
{
    (void)pthread_key_create(&exit_key, reader_leave);
}

static struct epoch_reader *reader_join(void)
{
    struct epoch_reader *r;

    (void)pthread_once(&exit_once, exit_key_make);
    for (r = atomic_load(&readers); r; r = r->next) {
        bool free_one = false;

        if (atomic_compare_exchange_strong(&r->taken, &free_one, true))
            break;
    }
    if (!r) {
        r = mem_zalloc(sizeof(*r));
        atomic_init(&r->taken, true);
        r->next = atomic_load(&readers);
        while (!atomic_compare_exchange_weak(&readers, &r->next, r))
            ;
    }
    (void)pthread_setspecific(exit_key, r);
    mine = r;
    return r;
}

void epoch_enter(void)
{
    struct epoch_reader *r = mine ? mine : reader_join();

    if (r->depth++ > 0)
        return;
    /* An exchange, because the note must be seen before anything in the section is read. */
    (void)atomic_exchange(&r->note, atomic_load(&counter));
}

void epoch_exit(void)
{
    struct epoch_reader *r = mine;

    assert(r && r->depth > 0);
    if (--r->depth == 0)
        atomic_store_explicit(&r->note, 0, memory_order_release);
}

static void ring_grow_locked(void)
{
    size_t cap = ring_cap ? ring_cap * 2 : 256;
    struct retired *bigger = mem_alloc(cap * sizeof(*bigger));

    for (size_t i = 0; i < ring_n; i++)
        bigger[i] = ring[(ring_first + i) % ring_cap];
    free(ring);
    ring = bigger;
    ring_cap = cap;
    ring_first = 0;
}

void epoch_retire(void (*fn)(void *arg), void *arg)
{
    (void)pthread_mutex_lock(&mu);
    if (ring_n == ring_cap)
        ring_grow_locked();
    ring[(ring_first + ring_n++) % ring_cap] = (struct retired){ fn, arg, atomic_load(&counter) };
    (void)pthread_mutex_unlock(&mu);
}

/* The lowest note of an open section. */
static uint64_t lowest_note(void)
{
    uint64_t lowest = UINT64_MAX;

    for (struct epoch_reader *r = atomic_load(&readers); r; r = r->next) {
        uint64_t note = atomic_load(&r->note);

        if (note && note < lowest)
            lowest = note;
    }
    return lowest;
}

static void ring_shrink_locked(void)
{
    if (ring_n > 0 || ring_cap <= 1024)
        return;
    free(ring);
    ring = NULL;
    ring_cap = ring_first = 0;
}

size_t epoch_reclaim(void)
{
    struct retired some[256];
    uint64_t lowest;
    size_t n, waiting;

    atomic_fetch_add(&counter, 1);
    lowest = lowest_note();
    do {
        (void)pthread_mutex_lock(&mu);
        for (n = 0; n < 256 && ring_n > 0 && ring[ring_first].tag < lowest; n++, ring_n--) {
            some[n] = ring[ring_first];
            ring_first = (ring_first + 1) % ring_cap;
        }
        running += n;
        (void)pthread_mutex_unlock(&mu);

        for (size_t i = 0; i < n; i++)
            some[i].fn(some[i].arg);

        (void)pthread_mutex_lock(&mu);
        running -= n;
        waiting = ring_n + running;
        ring_shrink_locked();
        (void)pthread_mutex_unlock(&mu);
    } while (n > 0);
    return waiting;
}

void epoch_drain(void)
{
    assert(!mine || mine->depth == 0);
    while (epoch_reclaim() > 0) {
        struct timespec ms = { 0, 1000000 };

        (void)nanosleep(&ms, NULL);
    }
}
