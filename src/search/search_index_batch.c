/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/metric.h"
#include "search/search_index_internal.h"

/* Changes on their way to the writer. */

void search_index_batch_free(struct search_index_batch *b)
{
    if (!b)
        return;
    arena_free(b->arena);
    free(b);
}

struct search_index_batch *search_index_batch_new(struct search_index *d)
{
    struct search_index_batch *b = mem_zalloc(sizeof(*b));

    b->search_index = d;
    b->arena = arena_new();
    b->last = &b->first;
    return b;
}

static struct search_index_op *add(struct search_index_batch *b, enum search_index_what what,
                                   int64_t type, str cluster)
{
    struct search_index_op *op = arena_new_of(b->arena, struct search_index_op);

    op->what = what;
    op->type = type;
    op->cluster = str_dup(b->arena, cluster);
    *b->last = op;
    b->last = &op->next;
    b->n++;
    return op;
}

void search_index_put(struct search_index_batch *b, int64_t type, str cluster,
                      const struct entry_kind *k, const struct json *object)
{
    struct entry e;
    struct search_index_op *op;

    if (!entry_make(b->arena, &b->search_index->hash, k, object, &e))
        return;
    op = add(b, DEPOT_PUT, type, cluster);
    op->entry = e;
    op->kind = (struct entry_kind){ str_dup(b->arena, k->group), str_dup(b->arena, k->resource) };
}

void search_index_delete(struct search_index_batch *b, int64_t type, str cluster, str namespace,
                         str name)
{
    struct search_index_op *op = add(b, DEPOT_DELETE, type, cluster);

    op->entry.namespace = str_dup(b->arena, namespace);
    op->entry.name = str_dup(b->arena, name);
}

void search_index_list_begin(struct search_index_batch *b, int64_t type, str cluster)
{
    (void)add(b, DEPOT_LIST_BEGIN, type, cluster);
}

void search_index_list_end(struct search_index_batch *b, int64_t type, str cluster)
{
    (void)add(b, DEPOT_LIST_END, type, cluster);
}

void search_index_at(struct search_index_batch *b, int64_t type, str cluster, str version)
{
    add(b, DEPOT_AT, type, cluster)->version = str_dup(b->arena, version);
}

void search_index_drop(struct search_index_batch *b, int64_t type, str cluster)
{
    (void)add(b, DEPOT_DROP, type, cluster);
}

void search_index_prepare(struct search_index_batch *b,
                          void (*fill)(struct search_index_batch *b, void *arg), void *arg,
                          size_t size)
{
    b->fill = fill;
    b->fill_arg = arg;
    b->size += size;
}

void search_index_batch_defer(struct search_index_batch *b, void (*release)(void *arg), void *arg)
{
    arena_defer(b->arena, release, arg);
}

/* A process has one index. */
METRIC(backlog, METRIC_GAUGE, "kairship_search_backlog_bytes",
       "Changes that wait to be written into the search index.")
static _Atomic int64_t oldest_ms;

static void read_lag(struct buf *out, const struct metric_spec *spec)
{
    int64_t since_ms = atomic_load(&oldest_ms);
    int64_t lag_ms = since_ms ? clock_now_ms(clock_real()) - since_ms : 0;

    metric_rows(out, spec, &lag_ms);
}
METRIC_DEFINE(lag, NULL, read_lag, .name = "kairship_search_lag_seconds",
              .help = "How long the oldest change waits to be written into the search index.",
              .type = METRIC_GAUGE, .per = 1000)

void search_index_submit(struct search_index_batch *b, void (*done)(void *arg), void *arg)
{
    struct search_index *d = b->search_index;
    bool news;

    b->done = done;
    b->arg = arg;
    b->size += arena_size(b->arena);
    b->submitted_ms = clock_now_ms(clock_real());
    (void)pthread_mutex_lock(&d->lock);
    b->generation = d->generation;
    news = !d->queue || done || d->backlog >= DEPOT_BYTES_AT_ONCE;
    *d->queue_last = b;
    d->queue_last = &b->next;
    if (!d->backlog)
        atomic_store(&oldest_ms, b->submitted_ms);
    d->backlog += b->size;
    metric_add(&backlog, (int64_t)b->size);
    d->awaited += done != NULL;
    if (news)
        (void)pthread_cond_signal(&d->wake);
    (void)pthread_mutex_unlock(&d->lock);
}

void search_index_written(const struct search_index_batch *b)
{
    struct search_index *d = b->search_index;
    const struct search_index_batch *next;

    (void)pthread_mutex_lock(&d->lock);
    d->backlog -= b->size;
    next = b->next ? b->next : d->queue;
    atomic_store(&oldest_ms, next ? next->submitted_ms : 0);
    (void)pthread_mutex_unlock(&d->lock);
    metric_add(&backlog, -(int64_t)b->size);
}

size_t search_index_backlog(struct search_index *d)
{
    size_t n;

    (void)pthread_mutex_lock(&d->lock);
    n = d->backlog;
    (void)pthread_mutex_unlock(&d->lock);
    return n;
}
