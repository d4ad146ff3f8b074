/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"

/*
 * Linear probing; removal moves the followers back, so there are no tombstones and a map that
 * shrinks stays fast.  Both forms share this code: `id` is the hash of a string, or the number
 * itself with an empty string beside it.
 */
struct map_slot {
    uint64_t id;
    str key;
    void *value; /* NULL: free */
};

void map_release(struct map *m)
{
    free(m->slots);
    *m = (struct map){ 0 };
}

static size_t home(const struct map *m, uint64_t id)
{
    uint64_t h = (id ^ m->k0) * 0x9e3779b97f4a7c15;

    h = (h ^ (h >> 32)) * (m->k1 | 1);
    return (size_t)(h >> 32) & (m->cap - 1);
}

/* Where the key is, or the free slot where it would go. */
static struct map_slot *find(const struct map *m, uint64_t id, str key)
{
    size_t i = home(m, id);

    while (m->slots[i].value && (m->slots[i].id != id || !str_eq(m->slots[i].key, key)))
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

/* At most three quarters full: beyond that probes grow fast (8.5 at 0.75, 50 at 0.9, missing). */
static void grow(struct map *m)
{
    struct map was = *m;

    if (m->n < m->cap / 4 * 3)
        return;
    m->cap = was.cap ? was.cap * 2 : 8;
    m->slots = mem_zalloc(m->cap * sizeof(*m->slots));
    for (size_t i = 0; i < was.cap; i++)
        if (was.slots[i].value)
            *find(m, was.slots[i].id, was.slots[i].key) = was.slots[i];
    free(was.slots);
}

static void seed(struct map *m)
{
    if (m->cap)
        return;
    m->k0 = rand_u64();
    m->k1 = rand_u64();
}

static void *put(struct map *m, uint64_t id, str key, void *value)
{
    struct map_slot *s;
    void *was;

    assert(value);
    grow(m);
    s = find(m, id, key);
    was = s->value;
    *s = (struct map_slot){ id, key, value };
    m->n += !was;
    return was;
}

static void *take(struct map *m, uint64_t id, str key)
{
    size_t hole, i;
    void *was;

    if (m->n == 0)
        return NULL;
    hole = (size_t)(find(m, id, key) - m->slots);
    was = m->slots[hole].value;
    if (!was)
        return NULL;
    m->slots[hole].value = NULL;
    m->n--;
    for (i = (hole + 1) & (m->cap - 1); m->slots[i].value; i = (i + 1) & (m->cap - 1)) {
        size_t from = home(m, m->slots[i].id);

        /* It may move into the hole when its home is not behind the hole (cyclically). */
        if (((i - from) & (m->cap - 1)) < ((i - hole) & (m->cap - 1)))
            continue;
        m->slots[hole] = m->slots[i];
        m->slots[i].value = NULL;
        hole = i;
    }
    return was;
}

static const struct map_slot *each(const struct map *m, size_t *at)
{
    while (*at < m->cap) {
        const struct map_slot *s = &m->slots[(*at)++];

        if (s->value)
            return s;
    }
    return NULL;
}

static uint64_t hash(const struct map *m, str key)
{
    return str_hash(key, m->k0, m->k1);
}

void *map_get(const struct map *m, str key)
{
    return m->n ? find(m, hash(m, key), key)->value : NULL;
}

void *map_put(struct map *m, str key, void *value)
{
    seed(m);
    return put(m, hash(m, key), key, value);
}

void *map_remove(struct map *m, str key)
{
    return take(m, hash(m, key), key);
}

bool map_each(const struct map *m, size_t *at, str *key, void **value)
{
    const struct map_slot *s = each(m, at);

    if (!s)
        return false;
    *key = s->key;
    *value = s->value;
    return true;
}

void map64_release(struct map64 *m)
{
    map_release(&m->map);
}

void *map64_get(const struct map64 *m, uint64_t key)
{
    return m->map.n ? find(&m->map, key, STR_NONE)->value : NULL;
}

void *map64_put(struct map64 *m, uint64_t key, void *value)
{
    seed(&m->map);
    return put(&m->map, key, STR_NONE, value);
}

void *map64_remove(struct map64 *m, uint64_t key)
{
    return take(&m->map, key, STR_NONE);
}

bool map64_each(const struct map64 *m, size_t *at, uint64_t *key, void **value)
{
    const struct map_slot *s = each(&m->map, at);

    if (!s)
        return false;
    *key = s->id;
    *value = s->value;
    return true;
}
