/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/banned.h"

void mem_exhausted(void)
{
    (void)fputs("kairship: out of memory\n", stderr);
    abort();
}

static void *must(void *p)
{
    if (!p)
        mem_exhausted();
    return p;
}

void *mem_alloc(size_t size)
{
    return must(malloc(size ? size : 1));
}

void *mem_zalloc(size_t size)
{
    return must(calloc(1, size ? size : 1));
}

void *mem_realloc(void *p, size_t size)
{
    return must(realloc(p, size ? size : 1));
}

void *mem_realloc_n(void *p, size_t n, size_t size)
{
    if (__builtin_mul_overflow(n, size, &size))
        mem_exhausted();
    return mem_realloc(p, size);
}

void *mem_dup(const void *p, size_t size)
{
    void *copy = mem_alloc(size);

    if (size)
        memcpy(copy, p, size);
    return copy;
}

char *mem_strdup(const char *z)
{
    return mem_dup(z, strlen(z) + 1);
}

/* Only whole pages: what else is on the first and last one may be in use. */
void mem_cold(const void *p, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)p + page - 1) / page * page;
    uintptr_t to = ((uintptr_t)p + size) / page * page;

    if (from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

/* Parts that can be written have been: relocations.  The others are the file's. */
static int cool_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        if (h->p_type == PT_LOAD && !(h->p_flags & PF_W))
            mem_cold((const void *)(info->dlpi_addr + h->p_vaddr), h->p_memsz); /* NOLINT */
    }
    return 0;
}

void mem_settle(void)
{
    (void)malloc_trim(0);
    (void)dl_iterate_phdr(cool_object, NULL);
}

void mem_wipe(void *p, size_t size)
{
    explicit_bzero(p, size);
}
