/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

/*
 * Hash maps to pointers: struct map by str, struct map64 by uint64_t.
 *
 * A zeroed one is an empty one.  The map copies neither keys nor values: the bytes of a key live
 * where the value lives, as long as the entry does.  Hashing is keyed at random, so names from
 * outside cannot be chosen to collide.  Values are never NULL: NULL means "not there".  One thread,
 * or a lock of the owner's.  Not for ordered data, and not for what readers use without a lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t n, cap; /* cap is 0 or a power of two */
    uint64_t k0, k1;
};

void map_release(struct map *m); /* the values are the caller's; the map may be used again */

static inline size_t map_size(const struct map *m)
{
    return m->n;
}

void *map_get(const struct map *m, str key);
/* Put and remove return the value that was there, or NULL.  Put replaces the key, too. */
void *map_put(struct map *m, str key, void *value);
void *map_remove(struct map *m, str key);

/*
 * All entries in no particular order; the map must not change meanwhile.
 *
 *     size_t at = 0;
 *     while (map_each(&m, &at, &key, &value))
 */
bool map_each(const struct map *m, size_t *at, str *key, void **value);

struct map64 {
    struct map map;
};

void map64_release(struct map64 *m);

static inline size_t map64_size(const struct map64 *m)
{
    return m->map.n;
}

void *map64_get(const struct map64 *m, uint64_t key);
void *map64_put(struct map64 *m, uint64_t key, void *value);
void *map64_remove(struct map64 *m, uint64_t key);
bool map64_each(const struct map64 *m, size_t *at, uint64_t *key, void **value);

#endif
