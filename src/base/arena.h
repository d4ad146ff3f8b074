/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

/*
 * An arena is memory that dies all at once: one per request, per reconcile, per test.
 *
 * Nothing in it is freed alone.  An arena belongs to one thread at a time.  There is no failure to
 * handle: running out of memory ends the process, and the limits at the edges (http/limits.h) keep
 * a client from causing that.
 */

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
/* For little that stays long, such as a watch's request: begins small. */
struct arena *arena_new_lasting(void);
void arena_free(struct arena *a); /* NULL is fine */

/* Aligned for any type; zeroed, or (raw) not. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_alloc_raw(struct arena *a, size_t size);

#define arena_new_of(a, type)   ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc_n((a), (n), sizeof(type)))
void *arena_alloc_n(struct arena *a, size_t n, size_t size); /* zeroed; overflow aborts */

char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Calls fn(arg) when the arena goes, last deferred first: how a request holds a reference. */
void arena_defer(struct arena *a, void (*fn)(void *), void *arg);

/* Holds keys or passwords: all of it is overwritten when it goes. */
void arena_wipe(struct arena *a);

/* Bytes taken from the system so far: what a per-request cap looks at. */
size_t arena_size(const struct arena *a);

/* scoped_arena a = arena_new(); */
#define scoped_arena __attribute__((cleanup(arena_freep))) struct arena *
static inline void arena_freep(struct arena **a)
{
    arena_free(*a);
}

#endif
