/* SPDX-License-Identifier: Apache-2.0 */
#include "store/slab.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/banned.h"
#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define POOLED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOLED 0
#endif
#endif
#ifndef POOLED
#define POOLED 1
#endif

enum {
    BLOCK_BYTES = 32 << 10, /* aligned to this, so that a cell finds its block */
    REGION_BYTES = 1 << 20,
};

struct cell {
    struct cell *next;
};

struct slab_block {
    struct slab *owner;
    struct slab_block *next, *prev; /* in the list of its class; unless it is full */
    struct cell *free;
    uint32_t cell_bytes;
    uint32_t live;
    uint32_t fresh; /* offset from which on cells were never used */
};

void slab_init(struct slab *s)
{
    *s = (struct slab){ .nregions = 0 };
    (void)pthread_mutex_init(&s->mu, NULL);
}

void slab_release(struct slab *s)
{
    for (size_t i = 0; i < s->nregions; i++)
        (void)munmap(s->regions[i], REGION_BYTES);
    free(s->regions);
    free(s->empty);
    (void)pthread_mutex_destroy(&s->mu);
}

/* Maps twice as much, to find an aligned part in it, and gives the rest back. */
static char *region_map(void)
{
    size_t twice = (size_t)REGION_BYTES * 2;
    char *p = mmap(NULL, twice, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (p == MAP_FAILED)
        mem_exhausted();
    before = -(uintptr_t)p & (BLOCK_BYTES - 1);
    if (before)
        (void)munmap(p, before);
    (void)munmap(p + before + REGION_BYTES, REGION_BYTES - before);
    return p + before;
}

static void list_push(void ***list, size_t *n, size_t *cap, void *p)
{
    if (*n == *cap) {
        *cap = *cap ? *cap * 2 : 16;
        *list = mem_realloc_n(*list, *cap, sizeof(void *));
    }
    (*list)[(*n)++] = p;
}

static void *block_find_locked(struct slab *s)
{
    void *block;

    if (s->nempty > 0)
        return s->empty[--s->nempty];
    if (s->fresh == s->fresh_end) {
        s->fresh = region_map();
        s->fresh_end = s->fresh + REGION_BYTES;
        list_push(&s->regions, &s->nregions, &s->regions_cap, s->fresh);
    }
    block = s->fresh;
    s->fresh += BLOCK_BYTES;
    return block;
}

static void partial_add_locked(struct slab *s, struct slab_block *b)
{
    struct slab_block **head = &s->partial[b->cell_bytes / 8];

    b->prev = NULL;
    b->next = *head;
    if (b->next)
        b->next->prev = b;
    *head = b;
}

static void partial_remove_locked(struct slab *s, struct slab_block *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        s->partial[b->cell_bytes / 8] = b->next;
    if (b->next)
        b->next->prev = b->prev;
}

static struct slab_block *block_take_locked(struct slab *s, uint32_t cell_bytes)
{
    struct slab_block *b = block_find_locked(s);

    *b = (struct slab_block){ .owner = s, .cell_bytes = cell_bytes };
    b->fresh = (sizeof(*b) + 7) & ~7u;
    partial_add_locked(s, b);
    return b;
}

static bool block_full(const struct slab_block *b)
{
    return !b->free && b->fresh + b->cell_bytes > BLOCK_BYTES;
}

void *slab_alloc(struct slab *s, size_t size)
{
    uint32_t bytes = (uint32_t)((size + 7) & ~(size_t)7);
    struct slab_block *b;
    void *p;

    if (!POOLED)
        return mem_alloc(size);
    assert(size > 0 && size <= SLAB_CELL_MAX);
    (void)pthread_mutex_lock(&s->mu);
    b = s->partial[bytes / 8];
    if (!b)
        b = block_take_locked(s, bytes);
    if (b->free) {
        p = b->free;
        b->free = b->free->next;
    } else {
        p = (char *)b + b->fresh;
        b->fresh += bytes;
    }
    b->live++;
    if (block_full(b))
        partial_remove_locked(s, b);
    (void)pthread_mutex_unlock(&s->mu);
    return p;
}

static void block_give_locked(struct slab *s, struct slab_block *b)
{
    partial_remove_locked(s, b);
    (void)madvise(b, BLOCK_BYTES, MADV_DONTNEED);
    list_push(&s->empty, &s->nempty, &s->empty_cap, b);
}

void slab_free(void *p)
{
    struct slab_block *b = (struct slab_block *)((uintptr_t)p & ~(uintptr_t)(BLOCK_BYTES - 1));
    struct cell *c = p;
    struct slab *s;

    if (!POOLED) {
        free(p);
        return;
    }
    s = b->owner;
    (void)pthread_mutex_lock(&s->mu);
    if (block_full(b))
        partial_add_locked(s, b);
    c->next = b->free;
    b->free = c;
    if (--b->live == 0)
        block_give_locked(s, b);
    (void)pthread_mutex_unlock(&s->mu);
}
