/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <time.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/slice.h"
#include "search/search_index_internal.h"

/* The writer's thread: batches become transactions. */

enum {
    BATCHES_AT_ONCE = 64, /* and as many more as are small */
    GATHER_MS = 20,       /* from one transaction to the next, unless somebody waits for it, … */
    GATHER_TIMES = 4,     /* … and so many times as long as the last one took, … */
    GATHER_MAX_MS = 500,  /* … up to this */
    AGAIN_S = 1,
    CACHE_KEPT = 6 << 20
};

/* A while, or until it is time to end: then false. */
static bool pause_writing(struct search_index *d)
{
    struct timespec until;
    bool go_on;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += AGAIN_S;
    (void)pthread_mutex_lock(&d->lock);
    while (!d->stopping && pthread_cond_timedwait(&d->wake, &d->lock, &until) != ETIMEDOUT)
        ;
    go_on = !d->stopping;
    (void)pthread_mutex_unlock(&d->lock);
    return go_on;
}

/* The file is damaged: an empty one, and who collects begins again. */
static void make_anew(struct search_index *d)
{
    void (*told)(void *arg);
    struct status st;
    scoped_arena a = arena_new();
    bool made;

    log_error("the search index is damaged: it is made anew", log_z("file", d->path));
    do {
        search_index_writer_close_file(d);
        status_init(&st, a);
        made = search_index_make_anew(d, &st) == 0 && search_index_writer_open(d, &st) == 0;
        if (!made)
            log_error("the search index cannot be made", log_status(&st));
    } while (!made && pause_writing(d));
    if (!made)
        return; /* it is the end */
    search_index_writer_unsaved(d);
    (void)pthread_mutex_lock(&d->lock);
    told = d->on_loss;
    (void)pthread_mutex_unlock(&d->lock);
    if (told)
        told(d->loss_arg);
    else
        search_index_resume(d);
}

static void fill_all(struct search_index_batch *first)
{
    for (struct search_index_batch *b = first; b; b = b->next) {
        if (b->fill)
            b->fill(b, b->fill_arg);
        b->fill = NULL;
    }
}

/* Nothing is left out: what waits meanwhile makes the watches pause. */
static void write_all(struct search_index *d, struct search_index_batch *first)
{
    for (;;) {
        bool damaged, lost;

        (void)pthread_mutex_lock(&d->lock);
        damaged = d->damaged;
        lost = d->lost || first->generation != d->generation;
        (void)pthread_mutex_unlock(&d->lock);
        if (damaged) {
            make_anew(d);
            continue;
        }
        if (lost)
            return;
        fill_all(first);
        if (search_index_writer_transact(d, first) || !pause_writing(d))
            return;
    }
}

/* The pages of many changes are not needed for the few that follow. */
static void shrink(struct search_index *d)
{
    int used = 0, most = 0;

    if (sqlite3_db_status(d->writer.db, SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0) == SQLITE_OK &&
        used > CACHE_KEPT)
        (void)sqlite3_db_release_memory(d->writer.db);
}

/* A transaction writes each page that it touches, so many small ones cost more than a few. */
static void gather_locked(struct search_index *d)
{
    struct timespec until = d->taken;
    int64_t ms = d->took_ms * GATHER_TIMES;

    ms = ms < GATHER_MS ? GATHER_MS : ms > GATHER_MAX_MS ? GATHER_MAX_MS : ms;
    until.tv_nsec += (long)ms * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    while (!d->stopping && !d->awaited && d->backlog < DEPOT_BYTES_AT_ONCE &&
           pthread_cond_timedwait(&d->wake, &d->lock, &until) != ETIMEDOUT)
        ;
    (void)clock_gettime(CLOCK_REALTIME, &d->taken);
}

/* What waits, up to a limit; NULL when it is time to end. */
static struct search_index_batch *take(struct search_index *d)
{
    struct search_index_batch *first, **last;
    size_t n = 0, bytes = 0;

    (void)pthread_mutex_lock(&d->lock);
    if (!d->queue && !d->stopping) {
        (void)pthread_mutex_unlock(&d->lock);
        shrink(d);
        (void)pthread_mutex_lock(&d->lock);
    }
    while (!d->queue && !d->stopping)
        (void)pthread_cond_wait(&d->wake, &d->lock);
    gather_locked(d);
    first = d->queue;
    for (last = &first; *last && (*last)->generation == first->generation &&
                        (n < BATCHES_AT_ONCE || bytes < DEPOT_BYTES_AT_ONCE);
         n++) {
        bytes += (*last)->size;
        d->awaited -= (*last)->done != NULL;
        last = &(*last)->next;
    }
    d->queue = *last;
    *last = NULL;
    if (!d->queue)
        d->queue_last = &d->queue;
    (void)pthread_mutex_unlock(&d->lock);
    return first;
}

void *search_index_writer_run(void *search_index)
{
    struct search_index *d = search_index;
    struct search_index_batch *b;

    slice_background();
    (void)pthread_mutex_lock(&d->lock);
    d->running = true;
    (void)pthread_cond_broadcast(&d->wake);
    (void)pthread_mutex_unlock(&d->lock);
    (void)sqlite3_exec(d->writer.db, "DELETE FROM pairs WHERE id NOT IN (SELECT pair FROM tags)",
                       NULL, NULL, NULL);
    while ((b = take(d))) {
        int64_t began = clock_now_ms(clock_real());

        write_all(d, b);
        d->took_ms = clock_now_ms(clock_real()) - began;
        while (b) {
            struct search_index_batch *next = b->next;

            search_index_written(b);
            if (b->done)
                b->done(b->arg);
            search_index_batch_free(b);
            b = next;
        }
    }
    return NULL;
}
