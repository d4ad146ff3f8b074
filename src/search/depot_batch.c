/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/mem.h"
#include "search/depot_parts.h"

/* Changes on their way to the writer. */

void depot_batch_free(struct depot_batch *b)
{
    if (!b)
        return;
    arena_free(b->arena);
    free(b);
}

struct depot_batch *depot_batch_new(struct depot *d)
{
    struct depot_batch *b = mem_zalloc(sizeof(*b));

    b->depot = d;
    b->arena = arena_new();
    b->last = &b->first;
    return b;
}

static struct depot_op *add(struct depot_batch *b, enum depot_what what, int64_t type, str cluster)
{
    struct depot_op *op = arena_new_of(b->arena, struct depot_op);

    op->what = what;
    op->type = type;
    op->cluster = str_dup(b->arena, cluster);
    *b->last = op;
    b->last = &op->next;
    b->n++;
    return op;
}

void depot_put(struct depot_batch *b, int64_t type, str cluster, const struct entry_kind *k,
               const struct json *object)
{
    struct entry e;
    struct depot_op *op;

    if (!entry_make(b->arena, &b->depot->hash, k, object, &e))
        return;
    op = add(b, DEPOT_PUT, type, cluster);
    op->entry = e;
    op->kind = (struct entry_kind){ str_dup(b->arena, k->group), str_dup(b->arena, k->resource) };
}

void depot_delete(struct depot_batch *b, int64_t type, str cluster, str namespace, str name)
{
    struct depot_op *op = add(b, DEPOT_DELETE, type, cluster);

    op->entry.namespace = str_dup(b->arena, namespace);
    op->entry.name = str_dup(b->arena, name);
}

void depot_list_begin(struct depot_batch *b, int64_t type, str cluster)
{
    (void)add(b, DEPOT_LIST_BEGIN, type, cluster);
}

void depot_list_end(struct depot_batch *b, int64_t type, str cluster)
{
    (void)add(b, DEPOT_LIST_END, type, cluster);
}

void depot_at(struct depot_batch *b, int64_t type, str cluster, str version)
{
    add(b, DEPOT_AT, type, cluster)->version = str_dup(b->arena, version);
}

void depot_drop(struct depot_batch *b, int64_t type, str cluster)
{
    (void)add(b, DEPOT_DROP, type, cluster);
}

void depot_prepare(struct depot_batch *b, void (*fill)(struct depot_batch *b, void *arg), void *arg,
                   size_t size)
{
    b->fill = fill;
    b->fill_arg = arg;
    b->size += size;
}

void depot_batch_defer(struct depot_batch *b, void (*release)(void *arg), void *arg)
{
    arena_defer(b->arena, release, arg);
}

void depot_submit(struct depot_batch *b, void (*done)(void *arg), void *arg)
{
    struct depot *d = b->depot;
    bool news;

    b->done = done;
    b->arg = arg;
    b->size += arena_size(b->arena);
    (void)pthread_mutex_lock(&d->lock);
    b->generation = d->generation;
    news = !d->queue || done || d->backlog >= DEPOT_BYTES_AT_ONCE;
    *d->queue_last = b;
    d->queue_last = &b->next;
    d->backlog += b->size;
    d->awaited += done != NULL;
    if (news)
        (void)pthread_cond_signal(&d->wake);
    (void)pthread_mutex_unlock(&d->lock);
}

size_t depot_backlog(struct depot *d)
{
    size_t n;

    (void)pthread_mutex_lock(&d->lock);
    n = d->backlog;
    (void)pthread_mutex_unlock(&d->lock);
    return n;
}
