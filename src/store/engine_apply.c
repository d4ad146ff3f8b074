/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "store/engine_internal.h"

static struct segment *segment_of(struct engine *e, const struct version *v)
{
    return segment_at(e->log, v->segment);
}

static const uint64_t *hashes_of(struct engine *e, const struct version *v)
{
    return record_hashes(version_record(e, v));
}

static bool has_hash(struct engine *e, const struct version *v, uint64_t hash)
{
    const uint64_t *hashes = v->nhashes ? hashes_of(e, v) : NULL;

    for (size_t i = 0; i < v->nhashes; i++)
        if (hashes[i] == hash)
            return true;
    return false;
}

static void live_add(struct engine *e, struct segment *s, size_t bytes)
{
    s->live += bytes;
    atomic_fetch_add_explicit(&e->live_bytes, bytes, memory_order_relaxed);
}

static void live_sub(struct engine *e, struct segment *s, size_t bytes)
{
    assert(s->live >= bytes);
    s->live -= bytes;
    atomic_fetch_sub_explicit(&e->live_bytes, bytes, memory_order_relaxed);
}

static void free_later(struct engine *e, struct version *v)
{
    if (e->index.load)
        slab_free(v); /* nobody reads yet */
    else
        epoch_retire(slab_free, v);
}

static void type_seen(struct engine *e, uint32_t type)
{
    for (size_t i = 0; i < e->ntypes; i++)
        if (e->types[i] == type)
            return;
    if (e->ntypes == e->types_cap) {
        e->types_cap = e->types_cap ? e->types_cap * 2 : 64;
        e->types = mem_realloc_n(e->types, e->types_cap, sizeof(*e->types));
    }
    e->types[e->ntypes++] = type;
}

/*
 * The key of the count of rows whose name begins with the same part up to the first '/', or 0.  Of
 * random keys, so that two parts with the same are not to be met.
 */
uint64_t engine_folder(const struct engine *e, uint32_t type, uint32_t instance, str name)
{
    ptrdiff_t slash = str_find(name, '/', 0);
    uint64_t ids = engine_count_key(type, instance);

    if (slash < 0)
        return 0;
    return str_hash(str_sub(name, 0, (size_t)slash + 1), e->folder_keys[0] ^ ids,
                    e->folder_keys[1]) |
           1;
}

static void idmap_add(struct idmap *m, uint64_t key, uint64_t n)
{
    idmap_set(m, key, idmap_get(m, key) + n);
}

/* n more rows (it may be negative) in the folder of this one, all of them seen or none. */
static void count_add(struct engine *e, const struct index_row *row, uint64_t folder, uint64_t n)
{
    idmap_add(&e->counts, engine_count_key(row->type, row->instance), n);
    if (folder)
        idmap_add(&e->folders, folder, n);
    if (idpages_get(&e->drops, row->instance)) {
        e->dropped_rows += n; /* found again in the log: to be purged, not seen */
        return;
    }
    if (idmap_get(&e->counts, engine_count_key(row->type, STORE_ALL)) == 0)
        type_seen(e, row->type);
    idmap_add(&e->counts, engine_count_key(row->type, STORE_ALL), n);
    atomic_fetch_add_explicit(&e->rows, n, memory_order_relaxed);
}

static void idpages_add(struct idpages *m, uint32_t instance, uint64_t n)
{
    if (n)
        idpages_set(m, instance, idpages_get(m, instance) + n);
}

/* What a live instance holds becomes so much more (it may be negative). */
static void usage_add(struct engine *e, uint32_t instance, uint64_t rows, uint64_t bytes)
{
    if (idpages_get(&e->drops, instance))
        return;
    idpages_add(&e->used_rows, instance, rows);
    idpages_add(&e->used_bytes, instance, bytes);
}

/* The row is about to have the version v on top (NULL: none). */
static void usage_change(struct engine *e, const struct index_row *row, const struct version *v)
{
    const struct version *was = atomic_load_explicit(&row->newest, memory_order_relaxed);

    if (!e->index.load) /* else all are counted at the end */
        usage_add(e, row->instance, (uint64_t)(v != NULL) - (uint64_t)(was && !was->deleted),
                  version_size(row, v) - version_size(row, was));
}

static void count_one(struct engine *e, const struct index_row *row, int n)
{
    if (!e->index.load) /* else all are counted at the end */
        count_add(e, row, engine_folder(e, row->type, row->instance, row_name(row)), (uint64_t)n);
}

static str folder_name(const struct index_row *row)
{
    str name = row_name(row);

    return str_sub(name, 0, (size_t)(str_find(name, '/', 0) + 1));
}

void engine_count_in_order(struct engine *e, struct count_run *run, const struct index_row *row)
{
    bool same = run->row && row && run->row->type == row->type &&
                run->row->instance == row->instance && str_starts(row_name(row), run->folder) &&
                (run->folder.n > 0 || folder_name(row).n == 0);

    if (run->row && !same) {
        count_add(e, run->row, engine_folder(e, run->row->type, run->row->instance, run->folder),
                  run->n);
        usage_add(e, run->row->instance, run->n, run->bytes);
        run->n = run->bytes = 0;
    }
    if (row && !same) {
        run->row = row;
        run->folder = folder_name(row);
    }
    if (row) {
        const struct version *v = atomic_load_explicit(&row->newest, memory_order_relaxed);

        run->n += !v->deleted;
        run->bytes += version_size(row, v);
    }
}

static struct version *version_new(struct engine *e, uint64_t rev, uint64_t created,
                                   const struct record_place *at)
{
    struct version *v = slab_alloc(&e->index.slab, sizeof(*v));

    v->rev = rev;
    v->created = created;
    v->segment = at->segment->slot;
    v->offset = at->offset;
    v->value_bytes = at->value_bytes;
    v->nhashes = at->nhashes;
    v->deleted = false;
    atomic_init(&v->older, NULL);
    atomic_fetch_add_explicit(&e->versions, 1, memory_order_relaxed);
    return v;
}

/* Puts v on top; what was there is now one of the past. */
static void version_push(struct engine *e, struct index_row *row, struct version *v)
{
    struct version *was = atomic_load_explicit(&row->newest, memory_order_relaxed);

    if (was && !was->deleted) {
        live_sub(e, segment_of(e, was), version_bytes(row, was));
        segment_of(e, was)->stale++;
    }
    atomic_store_explicit(&v->older, was, memory_order_relaxed);
    atomic_store_explicit(&row->newest, v, memory_order_release);
    history_add(&e->history, (struct event){ .rev = v->rev, .row = row, .version = v });
}

/* With all others of the batch. */
static void post_later(struct engine *e, struct index_row *row, uint64_t hash)
{
    struct batch *b = &e->batch;

    if (b->nposts == b->posts_cap) {
        b->posts_cap = b->posts_cap ? b->posts_cap * 2 : 256;
        b->posts = mem_realloc_n(b->posts, b->posts_cap, sizeof(*b->posts));
    }
    b->posts[b->nposts++] = (struct index_post){ hash, row };
}

void engine_apply_put(struct engine *e, struct index_row *row, uint64_t rev, uint64_t created,
                      const struct record_place *at)
{
    struct version *was = atomic_load_explicit(&row->newest, memory_order_relaxed);
    struct version *v = version_new(e, rev, created, at);

    if (e->index.load)
        index_load_hashes(&e->index, row, at->hashes, v->nhashes);
    for (size_t i = 0; !e->index.load && i < v->nhashes; i++)
        if (!was || !has_hash(e, was, at->hashes[i]))
            post_later(e, row, at->hashes[i]);
    if (!was || was->deleted)
        count_one(e, row, 1);
    if (was && was->deleted)
        e->dead_rows--;
    usage_change(e, row, v);
    live_add(e, at->segment, version_bytes(row, v));
    version_push(e, row, v);
}

void engine_apply_delete(struct engine *e, struct index_row *row, uint64_t rev, uint64_t created,
                         const struct record_place *at)
{
    struct version *v = version_new(e, rev, created, at);

    v->deleted = true;
    e->dead_rows++;
    at->segment->stale++;
    count_one(e, row, -1);
    usage_change(e, row, NULL);
    version_push(e, row, v);
}

static void totals_without(struct engine *e, uint32_t instance)
{
    for (size_t i = 0; i < e->ntypes; i++) {
        uint64_t all = engine_count_key(e->types[i], STORE_ALL);
        uint64_t n = idmap_get(&e->counts, engine_count_key(e->types[i], instance));

        if (n == 0)
            continue;
        idmap_set(&e->counts, all, idmap_get(&e->counts, all) - n);
        atomic_fetch_sub_explicit(&e->rows, n, memory_order_relaxed);
        e->dropped_rows += n;
    }
}

void engine_apply_drop(struct engine *e, uint32_t instance, uint64_t rev, struct segment *segment,
                       bool copy)
{
    idpages_set(&e->drop_at, instance, segment->number);
    if (idpages_get(&e->drops, instance))
        return; /* a copy of what is known */
    totals_without(e, instance);
    atomic_fetch_add(&e->unpurged, 1);
    idpages_set(&e->drops, instance, rev);
    idpages_set(&e->used_rows, instance, 0);
    idpages_set(&e->used_bytes, instance, 0);
    if (copy)
        engine_purge_later(e, instance);
    else
        history_add(&e->history, (struct event){ .rev = rev, .instance = instance });
}

void engine_apply_copy(struct engine *e, struct index_row *row, const struct record_place *at)
{
    struct version *was = atomic_load_explicit(&row->newest, memory_order_relaxed);
    struct version *v = version_new(e, was->rev, was->created, at);

    /* It lies below the floor: history does not point to it, and nothing older hangs on it. */
    assert(was->rev <= e->pruned && !atomic_load(&was->older) && !was->deleted);
    live_sub(e, segment_of(e, was), version_bytes(row, was));
    live_add(e, at->segment, version_bytes(row, v));
    atomic_store_explicit(&row->newest, v, memory_order_release);
    atomic_fetch_sub_explicit(&e->versions, 1, memory_order_relaxed);
    free_later(e, was);
}

void engine_apply_found(struct engine *e, struct index_row *row, uint64_t rev, uint64_t created,
                        const struct record_place *at)
{
    struct version *v = version_new(e, rev, created, at);

    index_load_hashes(&e->index, row, at->hashes, v->nhashes);
    count_one(e, row, 1);
    live_add(e, at->segment, version_bytes(row, v));
    atomic_store_explicit(&row->newest, v, memory_order_release);
}

/* Takes the hashes of v, which no longer hangs on the row, out of the index. */
static void unpost(struct engine *e, struct index_row *row, const struct version *v)
{
    const uint64_t *hashes = v->nhashes && !e->index.load ? hashes_of(e, v) : NULL;

    for (size_t i = 0; hashes && i < v->nhashes; i++) {
        const struct version *kept = atomic_load_explicit(&row->newest, memory_order_relaxed);

        while (kept && !has_hash(e, kept, hashes[i]))
            kept = atomic_load_explicit(&kept->older, memory_order_relaxed);
        if (!kept)
            index_unpost(&e->index, row, hashes[i]);
    }
}

static void version_forget(struct engine *e, struct index_row *row, struct version *v)
{
    segment_of(e, v)->stale--;
    unpost(e, row, v);
    atomic_fetch_sub_explicit(&e->versions, 1, memory_order_relaxed);
    free_later(e, v);
}

void engine_forget(struct engine *e, const struct event *ev)
{
    struct index_row *row = ev->row;
    struct version *v = ev->version, *older;

    if (!row) {
        engine_purge_later(e, ev->instance);
        return;
    }
    older = atomic_load_explicit(&v->older, memory_order_relaxed);
    atomic_store_explicit(&v->older, NULL, memory_order_release);
    while (older) {
        struct version *next = atomic_load_explicit(&older->older, memory_order_relaxed);

        version_forget(e, row, older);
        older = next;
    }
    /* A row that was made again keeps this deletion until that event is forgotten, too: it hangs
     * below versions that may be many. */
    if (!v->deleted || atomic_load_explicit(&row->newest, memory_order_relaxed) != v)
        return;
    segment_of(e, v)->stale--;
    atomic_fetch_sub_explicit(&e->versions, 1, memory_order_relaxed);
    e->removed_rows++;
    e->dead_rows--;
    index_remove(&e->index, row);
}

/* It was not seen any more: only what is kept for its instance is to be put right. */
static void count_purged(struct engine *e, const struct index_row *row)
{
    uint64_t folder = engine_folder(e, row->type, row->instance, row_name(row));

    idmap_add(&e->counts, engine_count_key(row->type, row->instance), UINT64_MAX);
    if (folder)
        idmap_add(&e->folders, folder, UINT64_MAX);
}

void engine_purge_row(struct engine *e, struct index_row *row)
{
    struct version *v = atomic_load_explicit(&row->newest, memory_order_relaxed);
    const uint64_t *hashes = hashes_of(e, v);

    assert(!v->deleted && !atomic_load(&v->older));
    for (size_t i = 0; i < v->nhashes; i++)
        index_unpost(&e->index, row, hashes[i]);
    live_sub(e, segment_of(e, v), version_bytes(row, v));
    atomic_fetch_sub_explicit(&e->versions, 1, memory_order_relaxed);
    e->removed_rows++;
    e->dropped_rows--;
    count_purged(e, row);
    index_remove(&e->index, row);
}
