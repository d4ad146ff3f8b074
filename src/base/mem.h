/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

/*
 * The heap for long-lived things.  These never return NULL: out of memory ends the process (ADR
 * 0004).  Free with free().
 */

#include <stddef.h>

__attribute__((noreturn)) void mem_exhausted(void);

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *p, size_t size) __attribute__((returns_nonnull));
void *mem_realloc_n(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
void *mem_dup(const void *p, size_t size) __attribute__((malloc, returns_nonnull));
char *mem_strdup(const char *z) __attribute__((malloc, returns_nonnull));

/*
 * Of constant data of the program: nobody will look at it soon, so its pages need not stay in
 * memory; they come back from the file when somebody does.
 */
void mem_cold(const void *p, size_t size);

/*
 * Starting is over: gives back what it has freed, and the pages of code and constants that it has
 * used.  Those that are still needed come back, one fault for sixteen.
 */
void mem_settle(void);

/* Overwrites a secret in a way the compiler keeps. */
void mem_wipe(void *p, size_t size);

#endif
