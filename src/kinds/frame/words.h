/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_WORDS_H
#define KINDS_FRAME_WORDS_H

/* A growing list of words in an arena, for sentences about them; borrowed, not copied. */

#include "base/str.h"

struct arena;

struct words {
    struct arena *arena;
    str *items;
    size_t n, cap;
};

void words_add(struct words *w, str s);
void words_sort(struct words *w); /* in order, each once */
str words_join(const struct words *w, const char *between);
str words_quoted(const struct words *w); /* `"a", "b"`; empty if there are none */

static inline const char *plural(size_t n, const char *one, const char *more)
{
    return n == 1 ? one : more;
}

#endif
