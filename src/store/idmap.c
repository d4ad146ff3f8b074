/* SPDX-License-Identifier: Apache-2.0 */
#include "store/idmap.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"

struct idmap_entry {
    atomic_uint_fast64_t key; /* plus 1; 0: free */
    atomic_uint_fast64_t value;
};

struct idmap_table {
    size_t mask;
    struct idmap_entry entries[];
};

static struct idmap_table *table_new(size_t cap)
{
    struct idmap_table *t = mem_zalloc(sizeof(*t) + cap * sizeof(struct idmap_entry));

    t->mask = cap - 1;
    return t;
}

void idmap_init(struct idmap *m)
{
    atomic_init(&m->table, table_new(16));
    m->used = 0;
}

void idmap_release(struct idmap *m)
{
    free(atomic_load(&m->table));
}

/* Ids count up from 0, so they are spread first. */
static struct idmap_entry *entry_of(struct idmap_table *t, uint64_t key)
{
    size_t i = (size_t)((key + 1) * 0x9e3779b97f4a7c15 >> 20) & t->mask;

    for (;; i = (i + 1) & t->mask) {
        uint64_t k = atomic_load_explicit(&t->entries[i].key, memory_order_acquire);

        if (k == 0 || k == key + 1)
            return &t->entries[i];
    }
}

uint64_t idmap_get(const struct idmap *m, uint64_t key)
{
    struct idmap_table *t = atomic_load_explicit(&m->table, memory_order_acquire);
    struct idmap_entry *e = entry_of(t, key);

    if (atomic_load_explicit(&e->key, memory_order_acquire) == 0)
        return 0;
    return atomic_load_explicit(&e->value, memory_order_acquire);
}

static void entry_put(struct idmap_entry *e, uint64_t key, uint64_t value)
{
    atomic_store_explicit(&e->value, value, memory_order_release);
    atomic_store_explicit(&e->key, key + 1, memory_order_release);
}

/* A table anew, as large as it has to be. */
static void idmap_rebuild(struct idmap *m)
{
    struct idmap_table *t = atomic_load(&m->table), *bigger;
    size_t at = 0, n = 0, cap = 16;
    uint64_t key, value;

    while (idmap_each(m, &at, &key, &value))
        n++;
    while (cap < n * 4)
        cap *= 2;
    bigger = table_new(cap);
    at = 0;
    while (idmap_each(m, &at, &key, &value))
        entry_put(entry_of(bigger, key), key, value);
    m->used = n;
    atomic_store_explicit(&m->table, bigger, memory_order_release);
    epoch_retire(free, t);
}

void idmap_set(struct idmap *m, uint64_t key, uint64_t value)
{
    struct idmap_table *t = atomic_load(&m->table);
    struct idmap_entry *e = entry_of(t, key);

    if (atomic_load(&e->key) == 0) {
        if (value == 0)
            return;
        if ((m->used + 1) * 2 > t->mask + 1) {
            idmap_rebuild(m);
            e = entry_of(atomic_load(&m->table), key);
        }
        m->used++;
    }
    entry_put(e, key, value);
}

void idmap_trim(struct idmap *m)
{
    size_t at = 0, n = 0;
    uint64_t key, value;

    while (idmap_each(m, &at, &key, &value))
        n++;
    if (n * 16 < atomic_load(&m->table)->mask)
        idmap_rebuild(m);
}

static bool table_each(const struct idmap_table *t, size_t *at, uint64_t *key, uint64_t *value)
{
    for (; *at <= t->mask; ++*at) {
        const struct idmap_entry *e = &t->entries[*at];

        *key = atomic_load_explicit(&e->key, memory_order_acquire);
        *value = atomic_load_explicit(&e->value, memory_order_relaxed);
        if (*key == 0 || *value == 0)
            continue;
        --*key;
        ++*at;
        return true;
    }
    return false;
}

bool idmap_each(const struct idmap *m, size_t *at, uint64_t *key, uint64_t *value)
{
    return table_each(atomic_load_explicit(&m->table, memory_order_acquire), at, key, value);
}

struct idmap_pair *idmap_list(const struct idmap *m, size_t *n)
{
    struct idmap_table *t = atomic_load_explicit(&m->table, memory_order_acquire);
    struct idmap_pair *list = mem_alloc((t->mask + 2) * sizeof(*list));
    size_t at = 0;

    for (*n = 0; table_each(t, &at, &list[*n].key, &list[*n].value); ++*n)
        ;
    return list;
}

/* ---- pages ---- */

enum { PAGE_BITS = 8, PAGE_IDS = 1 << PAGE_BITS };

struct page {
    atomic_uint_fast64_t values[PAGE_IDS];
};

static struct page *page_of(const struct idpages *m, uint64_t key)
{
    return (struct page *)(uintptr_t)idmap_get(&m->pages, key >> PAGE_BITS);
}

void idpages_init(struct idpages *m)
{
    idmap_init(&m->pages);
}

void idpages_release(struct idpages *m)
{
    uint64_t key, page;
    size_t at = 0;

    while (idmap_each(&m->pages, &at, &key, &page))
        free((struct page *)(uintptr_t)page);
    idmap_release(&m->pages);
}

uint64_t idpages_get(const struct idpages *m, uint64_t key)
{
    struct page *p = page_of(m, key);

    return p ? atomic_load_explicit(&p->values[key % PAGE_IDS], memory_order_acquire) : 0;
}

void idpages_set(struct idpages *m, uint64_t key, uint64_t value)
{
    struct page *p = page_of(m, key);

    if (!p) {
        p = mem_zalloc(sizeof(*p));
        idmap_set(&m->pages, key >> PAGE_BITS, (uintptr_t)p);
    }
    atomic_store_explicit(&p->values[key % PAGE_IDS], value, memory_order_release);
}

struct idmap_pair *idpages_list(const struct idpages *m, size_t *n)
{
    size_t npages;
    struct idmap_pair *pages = idmap_list(&m->pages, &npages), *list;

    list = mem_alloc((npages * PAGE_IDS + 1) * sizeof(*list));
    *n = 0;
    for (size_t i = 0; i < npages * PAGE_IDS; i++) {
        uint64_t key = pages[i >> PAGE_BITS].key << PAGE_BITS | i % PAGE_IDS;
        uint64_t value = idpages_get(m, key);

        if (value)
            list[(*n)++] = (struct idmap_pair){ key, value };
    }
    free(pages);
    return list;
}
