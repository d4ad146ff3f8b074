/* SPDX-License-Identifier: Apache-2.0 */
#include "store/rowmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/index.h"

struct rowmap_entry {
    atomic_uint_fast64_t hash;       /* 0: free, and no search goes on behind it */
    _Atomic(struct index_row *) row; /* NULL: removed */
};

struct rowmap_table {
    size_t mask;
    int shift; /* the upper bits of a hash are its place: a table is copied from front to end */
    struct rowmap_entry entries[];
};

enum { ENTRIES_MIN = 16 };

static struct rowmap_table *table_new(size_t rows)
{
    struct rowmap_table *t;
    size_t cap = ENTRIES_MIN;

    while (cap < rows * 3)
        cap *= 2;
    t = mem_zalloc(sizeof(*t) + cap * sizeof(struct rowmap_entry));
    t->mask = cap - 1;
    t->shift = 64 - __builtin_ctzll(cap);
    return t;
}

void rowmap_init(struct rowmap *m)
{
    *m = (struct rowmap){ .secret = rand_u64() | 1 };
    atomic_init(&m->table, table_new(0));
}

void rowmap_release(struct rowmap *m)
{
    free(atomic_load(&m->table));
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t r = (__uint128_t)a * b;

    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/* Eight bytes of the name, the last of them padded with zeros. */
static uint64_t name_word(str name, size_t from)
{
    uint64_t word = 0;

    if (name.n - from >= sizeof(word))
        memcpy(&word, name.p + from, sizeof(word));
    else
        memcpy(&word, name.p + from, name.n - from);
    return word;
}

static uint64_t key_hash(const struct rowmap *m, const struct store_key *key)
{
    uint64_t h = mix(((uint64_t)key->type << 32 | key->instance) ^ m->secret, 0x9e3779b97f4a7c15);

    for (size_t i = 0; i < key->name.n; i += 8)
        h = mix(h ^ name_word(key->name, i), m->secret);
    return mix(h ^ key->name.n, 0xd6e8feb86659fd93) | 1;
}

static bool row_is(const struct index_row *r, const struct store_key *key)
{
    return r->type == key->type && r->instance == key->instance && str_eq(row_name(r), key->name);
}

struct index_row *rowmap_find(const struct rowmap *m, const struct store_key *key)
{
    struct rowmap_table *t = atomic_load_explicit(&m->table, memory_order_acquire);
    uint64_t hash = key_hash(m, key), other;

    for (size_t i = hash >> t->shift;; i = (i + 1) & t->mask) {
        struct index_row *r;

        other = atomic_load_explicit(&t->entries[i].hash, memory_order_acquire);
        if (other == 0)
            return NULL;
        if (other != hash)
            continue;
        r = atomic_load_explicit(&t->entries[i].row, memory_order_acquire);
        if (r && row_is(r, key))
            return r;
    }
}

void rowmap_prefetch(const struct rowmap *m, const struct store_key *key)
{
    struct rowmap_table *t = atomic_load_explicit(&m->table, memory_order_acquire);

    __builtin_prefetch(&t->entries[key_hash(m, key) >> t->shift]);
}

/* The entry with this hash and row, or a free one. */
static struct rowmap_entry *entry_of(struct rowmap_table *t, uint64_t hash,
                                     const struct index_row *r)
{
    for (size_t i = hash >> t->shift;; i = (i + 1) & t->mask) {
        struct rowmap_entry *e = &t->entries[i];
        uint64_t other = atomic_load_explicit(&e->hash, memory_order_relaxed);

        if (other == 0 ||
            (other == hash && atomic_load_explicit(&e->row, memory_order_relaxed) == r))
            return e;
    }
}

static void entry_set(struct rowmap_entry *e, uint64_t hash, struct index_row *r)
{
    atomic_store_explicit(&e->row, r, memory_order_release);
    atomic_store_explicit(&e->hash, hash, memory_order_release);
}

/* A table anew, without the removed ones. */
static void rebuild(struct rowmap *m, size_t rows)
{
    struct rowmap_table *was = atomic_load(&m->table), *t = table_new(rows);

    for (size_t i = 0; i <= was->mask; i++) {
        struct index_row *r = atomic_load_explicit(&was->entries[i].row, memory_order_relaxed);
        uint64_t hash = atomic_load_explicit(&was->entries[i].hash, memory_order_relaxed);

        if (r)
            entry_set(entry_of(t, hash, NULL), hash, r);
    }
    m->used = m->live;
    atomic_store_explicit(&m->table, t, memory_order_release);
    epoch_retire(free, was);
}

void rowmap_add(struct rowmap *m, struct index_row *r)
{
    struct store_key key = row_key(r);
    uint64_t hash = key_hash(m, &key);
    struct rowmap_entry *e;

    if ((m->used + 1) * 3 > (atomic_load(&m->table)->mask + 1) * 2)
        rebuild(m, m->live + 1);
    e = entry_of(atomic_load(&m->table), hash, NULL); /* one that had this hash, if it can be */
    m->used += atomic_load_explicit(&e->hash, memory_order_relaxed) == 0;
    m->live++;
    entry_set(e, hash, r);
}

void rowmap_remove(struct rowmap *m, struct index_row *r)
{
    struct store_key key = row_key(r);
    struct rowmap_entry *e = entry_of(atomic_load(&m->table), key_hash(m, &key), r);

    m->live--;
    atomic_store_explicit(&e->row, NULL, memory_order_release);
}

void rowmap_reserve(struct rowmap *m, size_t rows)
{
    if (rows * 3 > (atomic_load(&m->table)->mask + 1) * 2)
        rebuild(m, rows);
}

void rowmap_trim(struct rowmap *m)
{
    if (m->live * 8 < atomic_load(&m->table)->mask)
        rebuild(m, m->live);
}
