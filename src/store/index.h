/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_INDEX_H
#define STORE_INDEX_H

/*
 * The engine's memory of what is where: rows by key and in key order, each with its versions
 * (newest first), which point into segments; and for each index hash the rows that have it, in the
 * order (hash, key).  Everything in it can be made again from the segments.
 *
 * One writer; readers on any thread, in an epoch section, without locks.  A row without versions is
 * being made and is to be passed over.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/rowmap.h"
#include "store/skiplist.h"
#include "store/slab.h"
#include "store/store.h"

struct index;

struct version {
    _Atomic(struct version *) older;
    uint64_t rev, created;
    uint32_t segment; /* slot in the log's table */
    uint32_t offset;  /* of the record in it */
    uint32_t value_bytes;
    uint16_t nhashes;
    bool deleted;
};

struct posting;

struct index_row {
    uint32_t type, instance;
    uint32_t pending;    /* the writer's: 1 + place of its last operation in the batch, or 0 */
    uint16_t name_bytes; /* the name comes behind the links */
    uint8_t height, nposted;
    _Atomic(struct version *) newest;
    struct index_row *prev; /* the writer's: before it in the order, or NULL */
    struct posting *posted; /* the writer's: a few of its postings, where to look for others */
    skip_link links[];
};

static inline str row_name(const struct index_row *r)
{
    return (str){ (const char *)r + sizeof(*r) + r->height * sizeof(skip_link), r->name_bytes };
}

static inline struct store_key row_key(const struct index_row *r)
{
    return (struct store_key){ r->type, r->instance, row_name(r) };
}

void row_free(void *row); /* with its versions */

struct posting {
    uint64_t hash;
    struct index_row *row;
    struct posting *also; /* the writer's: next of row->posted */
    skip_link links[];
};

struct index_load;

struct index {
    struct rowmap by_key;
    struct skiplist rows, postings;
    struct slab slab; /* rows, versions and postings */
    struct index_load *load;
};

void index_init(struct index *ix);
void index_release(struct index *ix); /* with all rows and versions; no reader may be left */

/* ---- reading ---- */

struct index_row *index_find(const struct index *ix, const struct store_key *key);
void index_prefetch(const struct index *ix, const struct store_key *key); /* to be found soon */

/* A way through the rows of one hash, or (hash 0) through all; at NULL it has ended. */
struct index_cursor {
    const struct index *index;
    uint64_t hash;
    struct posting *posting;
    struct index_row *row;
};
void index_seek(struct index_cursor *c, const struct store_key *key); /* the first not before key */
void index_next(struct index_cursor *c);

/* The newest version at revision rev, or NULL; a deleted one is given, too. */
static inline struct version *row_version(const struct index_row *r, uint64_t rev)
{
    struct version *v = atomic_load_explicit(&r->newest, memory_order_acquire);

    while (v && v->rev > rev)
        v = atomic_load_explicit(&v->older, memory_order_acquire);
    return v;
}

/* ---- writing ---- */

/* The row of this key, made if there is none; it is found from now on, and has no place in the
 * order until it is linked. */
struct index_row *index_add(struct index *ix, const struct store_key *key);
void index_link(struct index *ix, struct index_row *const *rows, size_t n); /* that are new */
/* Unlinks the row; it and its versions are freed when nobody sees them. */
void index_remove(struct index *ix, struct index_row *r);

struct index_post {
    uint64_t hash;
    struct index_row *row;
};
void index_post(struct index *ix, const struct index_post *posts, size_t n); /* fine if there */
void index_unpost(struct index *ix, struct index_row *r, uint64_t hash);

/*
 * Bulk loading, while nobody reads: between begin and end index_find, _add and _remove work as
 * ever, but rows are not linked and hashes are not posted; the end brings both about at once.
 * Hashes of a version are said with index_load_hashes before it is added to its row; for rows with
 * several the end asks again, by `hashes`.
 */
typedef const uint64_t *index_hashes_fn(void *arg, const struct version *v);
void index_load_begin(struct index *ix, size_t rows); /* about so many are to come */
void index_load_hashes(struct index *ix, struct index_row *r, const uint64_t *hashes, size_t n);
/* `each` is called for every row in order. */
typedef void index_row_fn(void *arg, const struct index_row *r);
void index_load_end(struct index *ix, index_hashes_fn *hashes, index_row_fn *each, void *arg);

/* index_load.c's part of the functions above */
void index_load_add(struct index *ix, struct index_row *r);
void index_load_remove(struct index *ix, struct index_row *r);
void index_load_release(struct index *ix); /* with its rows */

#endif
