/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_SCAN_H
#define MEMORY_SCAN_H

/*
 * Whether bytes are anywhere in the memory of this process, that which was freed included: it is
 * read by the kernel, so that the sanitizers do not mind.  What is looked for is given disguised
 * (every byte XOR 0x55), for the one who looks must not be found.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SCAN_PART = 1 << 20 };
#define SCAN_REGION_MAX (1ul << 30) /* a sanitizer's shadow is larger, and holds no text */

/* AddressSanitizer would overwrite what is freed, and hide from us who did not. */
const char *__asan_default_options(void); /* NOLINT: its name */
const char *__asan_default_options(void)
{
    return "max_free_fill_size=0";
}

static inline void scan_disguise(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(from[i] ^ 0x55);
}

static inline size_t scan_count(const char *p, size_t size, const char *disguised, size_t n)
{
    size_t found = 0;

    for (const char *at = p, *end = p + size; size >= n && at + n <= end; at++) {
        size_t i = 0;

        at = memchr(at, disguised[0] ^ 0x55, (size_t)(end - at) - n + 1);
        if (!at)
            break;
        while (i < n && (char)(at[i] ^ 0x55) == disguised[i])
            i++;
        found += i == n;
    }
    return found;
}

/* How often.  The parts overlap, so that one on their border is seen, once or twice. */
static inline size_t scan_memory(const char *disguised, size_t n)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    char *part = mmap(NULL, SCAN_PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long from, to;
    char mode[5], line[512];
    size_t found = 0;

    while (maps && mem >= 0 && part != MAP_FAILED && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || mode[1] != 'w' ||
            to - from > SCAN_REGION_MAX ||
            (from <= (unsigned long)part && (unsigned long)part < to))
            continue;
        for (unsigned long at = from; at < to; at += SCAN_PART - n) {
            size_t want = to - at < SCAN_PART ? to - at : SCAN_PART;
            ssize_t got = pread(mem, part, want, (off_t)at);

            found += got > 0 ? scan_count(part, (size_t)got, disguised, n) : 0;
            if (want < SCAN_PART)
                break;
        }
    }
    if (part != MAP_FAILED)
        (void)munmap(part, SCAN_PART);
    if (mem >= 0)
        (void)close(mem);
    if (maps)
        (void)fclose(maps);
    return found;
}

#endif
