/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_IDMAP_H
#define STORE_IDMAP_H

/*
 * Numbers by numbers: one writer, readers on any thread without locks, in an epoch section.
 * A value of 0 is as good as none, and goes for good when the table grows.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_table;

struct idmap {
    _Atomic(struct idmap_table *) table;
    size_t used; /* the writer's */
};

void idmap_init(struct idmap *m);
void idmap_release(struct idmap *m);

uint64_t idmap_get(const struct idmap *m, uint64_t key);

/* Writer only. */
void idmap_set(struct idmap *m, uint64_t key, uint64_t value);
void idmap_trim(struct idmap *m); /* gives memory back, if most of it is unused */

struct idmap_pair {
    uint64_t key, value;
};
/* All that is not 0, as an array to be freed. */
struct idmap_pair *idmap_list(const struct idmap *m, size_t *n);

/* The same one by one; the writer's.  Begin with *at = 0. */
bool idmap_each(const struct idmap *m, size_t *at, uint64_t *key, uint64_t *value);

/*
 * The same for keys that lie close together, of which none is taken away again: 8 bytes each, where
 * a table needs up to 64.
 */
struct idpages {
    struct idmap pages;
};

void idpages_init(struct idpages *m);
void idpages_release(struct idpages *m);
uint64_t idpages_get(const struct idpages *m, uint64_t key);
void idpages_set(struct idpages *m, uint64_t key, uint64_t value); /* writer only */
struct idmap_pair *idpages_list(const struct idpages *m, size_t *n);

#endif
