/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/words.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/banned.h"
#include "base/buf.h"

void words_add(struct words *w, str s)
{
    if (w->n == w->cap) {
        str *items = arena_array(w->arena, str, w->cap = w->cap ? 2 * w->cap : 8);

        if (w->n)
            memcpy(items, w->items, w->n * sizeof(*items));
        w->items = items;
    }
    w->items[w->n++] = s;
}

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

void words_sort(struct words *w)
{
    size_t kept = 0;

    if (w->n)
        qsort(w->items, w->n, sizeof(*w->items), by_bytes);
    for (size_t i = 0; i < w->n; i++)
        if (!kept || !str_eq(w->items[kept - 1], w->items[i]))
            w->items[kept++] = w->items[i];
    w->n = kept;
}

str words_join(const struct words *w, const char *between)
{
    scoped_buf text;

    buf_init(&text, SIZE_MAX / 4);
    for (size_t i = 0; i < w->n; i++) {
        if (i)
            buf_str_append(&text, str_of(between));
        buf_str_append(&text, w->items[i]);
    }
    return str_dup(w->arena, buf_str(&text));
}

str words_quoted(const struct words *w)
{
    str all = words_join(w, "\", \"");

    return w->n ? str_concat(w->arena, STR("\""), all, STR("\"")) : STR_NONE;
}
