/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/mem.h"

/* Under AddressSanitizer every allocation gets a chunk of its own, so that it sees overruns. */
#if defined(__SANITIZE_ADDRESS__)
#define CHUNK_EACH true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHUNK_EACH true
#endif
#endif
#ifndef CHUNK_EACH
#define CHUNK_EACH false
#endif
#define CHUNK_MIN     ((size_t)8192 - 64) /* with both headers still within two pages */
#define CHUNK_SAME    ((size_t)64 << 10)  /* up to here chunks are of the first size */
#define CHUNK_MAX     ((size_t)256 << 10)
#define CHUNK_LASTING ((size_t)512 - 64)

struct chunk {
    struct chunk *next;
    size_t size, used;
    alignas(max_align_t) char mem[];
};

struct defer {
    struct defer *next;
    void (*fn)(void *);
    void *arg;
};

struct arena {
    struct chunk *chunks;
    struct defer *defers;
    size_t total;
    size_t least;    /* size of a chunk */
    unsigned growth; /* a new chunk is one part in so many of what there is */
    bool wipe;
};

/*
 * Chunks of the first size are kept, a few a thread, because arenas come and go with every request:
 * malloc and free of them were a tenth of a GET.
 */
enum { SPARES_MAX = 64 }; /* a write has up to six of them while it waits for the disk */

struct spares {
    struct chunk *list;
    unsigned n;
};
static _Thread_local struct spares spares;
static pthread_key_t spares_key;
static pthread_once_t spares_once = PTHREAD_ONCE_INIT;

static void spares_free(void *arg)
{
    struct spares *s = arg;

    for (struct chunk *c = s->list, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *s = (struct spares){ 0 };
}

static void spares_make_key(void)
{
    (void)pthread_key_create(&spares_key, spares_free);
}

static struct chunk *chunk_new(size_t n)
{
    struct chunk *c = spares.list;

    if (c && n == CHUNK_MIN) {
        spares.list = c->next;
        spares.n--;
    } else {
        c = mem_alloc(sizeof(*c) + n);
    }
    c->size = n;
    c->used = 0;
    return c;
}

static void chunk_free(struct chunk *c)
{
    if (CHUNK_MIN == 0 || c->size != CHUNK_MIN || spares.n == SPARES_MAX) {
        free(c);
        return;
    }
    if (!spares.list) { /* so that they go with the thread */
        (void)pthread_once(&spares_once, spares_make_key);
        (void)pthread_setspecific(spares_key, &spares);
    }
    c->next = spares.list;
    spares.list = c;
    spares.n++;
}

static struct arena *new_arena(size_t least, unsigned growth)
{
    struct arena *a = mem_zalloc(sizeof(*a));

    a->least = least;
    a->growth = growth;
    return a;
}

struct arena *arena_new(void)
{
    return new_arena(CHUNK_MIN, 1);
}

/* What doubles is empty by half: there are hundreds of watches. */
struct arena *arena_new_lasting(void)
{
    return new_arena(CHUNK_LASTING, 4);
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    for (struct defer *d = a->defers; d; d = d->next)
        d->fn(d->arg);
    for (struct chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        if (a->wipe)
            mem_wipe(c->mem, c->used);
        chunk_free(c);
    }
    free(a);
}

/* Chunks double, so that a large tree costs few mallocs and a small one little memory. */
static struct chunk *chunk_add(struct arena *a, size_t size)
{
    size_t n = a->total / a->growth < CHUNK_MAX ? a->total / a->growth : CHUNK_MAX;
    struct chunk *c;

    if (n < a->least || (a->least == CHUNK_MIN && a->total < CHUNK_SAME))
        n = a->least;
    if (n < size || CHUNK_EACH)
        n = size;
    c = chunk_new(n);
    c->next = a->chunks;
    a->chunks = c;
    a->total += sizeof(*c) + n;
    return c;
}

static size_t aligned(size_t size)
{
    return (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
}

/* Rare, and kept out of arena_alloc_raw. */
static __attribute__((noinline)) void *alloc_in_new(struct arena *a, size_t size)
{
    struct chunk *c;

    if (size > SIZE_MAX / 2)
        mem_exhausted();
    c = chunk_add(a, aligned(size));
    c->used = aligned(size);
    return c->mem;
}

void *arena_alloc_raw(struct arena *a, size_t size)
{
    struct chunk *c = a->chunks;
    size_t used, room;

    if (!c)
        return alloc_in_new(a, size);
    used = c->used;
    room = c->size - used;
    if (size > room || aligned(size) > room)
        return alloc_in_new(a, size);
    c->used = used + aligned(size);
    return c->mem + used;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return memset(arena_alloc_raw(a, size), 0, size);
}

void *arena_alloc_n(struct arena *a, size_t n, size_t size)
{
    if (__builtin_mul_overflow(n, size, &size))
        mem_exhausted();
    return arena_alloc(a, size);
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    char *z;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        n = 0;
    z = arena_alloc_raw(a, (size_t)n + 1);
    z[0] = '\0';
    (void)vsnprintf(z, (size_t)n + 1, fmt, ap);
    return z;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *z;

    va_start(ap, fmt);
    z = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return z;
}

void arena_defer(struct arena *a, void (*fn)(void *), void *arg)
{
    struct defer *d = arena_alloc(a, sizeof(*d));

    d->fn = fn;
    d->arg = arg;
    d->next = a->defers;
    a->defers = d;
}

void arena_wipe(struct arena *a)
{
    a->wipe = true;
}

size_t arena_size(const struct arena *a)
{
    return a->total;
}
