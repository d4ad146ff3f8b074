/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ROWMAP_H
#define STORE_ROWMAP_H

/*
 * Rows by their keys, without order: one writer, readers on any thread without locks, in an epoch
 * section.  A row is one or two cache misses away, in the ordered list it is twenty and more.  It
 * takes 24 to 48 bytes a row.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct index_row;
struct rowmap_table;
struct store_key;

struct rowmap {
    _Atomic(struct rowmap_table *) table;
    uint64_t secret; /* so that nobody can choose names whose places are the same */
    size_t used;     /* the writer's: entries that are taken */
    size_t live;     /* and those of them that have a row */
};

void rowmap_init(struct rowmap *m);
void rowmap_release(struct rowmap *m); /* without its rows */

struct index_row *rowmap_find(const struct rowmap *m, const struct store_key *key); /* or NULL */
void rowmap_prefetch(const struct rowmap *m, const struct store_key *key); /* to be found soon */

/* Writer only. */
void rowmap_add(struct rowmap *m, struct index_row *r);    /* whose key is not there */
void rowmap_remove(struct rowmap *m, struct index_row *r); /* which is there */
void rowmap_reserve(struct rowmap *m, size_t rows);        /* so many are to come */
void rowmap_trim(struct rowmap *m); /* gives memory back, if most of it is unused */

#endif
