/* SPDX-License-Identifier: Apache-2.0 */
#include "json/reader.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "json/members.h"

void reader_init(struct reader *r, struct arena *a, struct json_duplicates *dups, struct status *st)
{
    r->arena = a;
    r->st = st;
    r->text = STR_NONE;
    r->trail = NULL;
    r->depth = 0;
    r->pending = r->first;
    r->n = 0;
    r->cap = sizeof(r->first);
    r->dups = dups;
    r->dups_seen = 0;
    if (dups)
        *dups = (struct json_duplicates){ .n = 0 };
}

void reader_release(struct reader *r)
{
    if (r->pending != r->first)
        free(r->pending);
}

void *reader_grow(struct reader *r, size_t size)
{
    size_t cap = r->cap * 2 > r->n + size ? r->cap * 2 : r->n + size;
    char *p = r->pending == r->first ? NULL : r->pending;

    p = mem_realloc(p, cap);
    if (r->pending == r->first)
        memcpy(p, r->first, r->n);
    r->pending = p;
    r->cap = cap;
    return p + r->n;
}

bool reader_enter(struct reader *r, struct trail *level)
{
    if (++r->depth > JSON_DEPTH_MAX)
        return false;
    *level = (struct trail){ .up = r->trail, .from = r->n };
    r->trail = level;
    return true;
}

/* The pending children of the innermost container, moved to the arena. */
static const void *take(struct reader *r, const struct trail *level, size_t bytes)
{
    void *p = bytes ? arena_alloc_raw(r->arena, bytes) : NULL;

    if (bytes)
        memcpy(p, r->pending + level->from, bytes);
    r->n = level->from;
    r->trail = level->up;
    r->depth--;
    return p;
}

struct json reader_leave_array(struct reader *r, struct trail *level)
{
    size_t bytes = r->n - level->from;

    return (struct json){ .type = JSON_ARRAY,
                          .n = (uint32_t)(bytes / sizeof(struct json)),
                          .items = take(r, level, bytes) };
}

static str path_of(struct arena *a, const struct trail *level, str name)
{
    struct buf b;
    const struct trail *levels[JSON_DEPTH_MAX];
    size_t n = 0;
    str path;

    buf_init(&b, SIZE_MAX / 4);
    for (const struct trail *t = level->up; t; t = t->up)
        levels[n++] = t;
    while (n-- > 0) {
        if (levels[n]->name.p)
            buf_str_append(&b, levels[n]->name);
        else
            buf_printf(&b, "[%zu]", levels[n]->index);
        if (n == 0 || levels[n - 1]->name.p)
            buf_byte(&b, '.');
    }
    buf_str_append(&b, name);
    path = str_dup(a, buf_str(&b));
    buf_release(&b);
    return path;
}

/* Paths are kept in the order in which their second names stand in the text; names that are not
 * slices of the text come last, as they come. */
static void report(void *arg, str name)
{
    struct reader *r = arg;
    struct json_duplicates *d = r->dups;
    size_t offset = (uintptr_t)name.p - (uintptr_t)r->text.p; /* in the text, or beyond it */
    size_t at;
    str path;

    if (!d || d->n == READER_DUPLICATES_MAX || r->dups_seen == READER_DUPLICATES_LOOKED_AT)
        return;
    r->dups_seen++;
    if (offset > r->text.n)
        offset = r->text.n;
    path = path_of(r->arena, r->trail, name);
    for (size_t i = 0; i < d->n; i++)
        if (str_eq(d->paths[i], path))
            return;
    if (!d->paths)
        d->paths = arena_array(r->arena, str, READER_DUPLICATES_MAX);
    for (at = d->n++; at > 0 && r->dup_at[at - 1] > offset; at--) {
        d->paths[at] = d->paths[at - 1];
        r->dup_at[at] = r->dup_at[at - 1];
    }
    d->paths[at] = path;
    r->dup_at[at] = offset;
}

struct json reader_leave_object(struct reader *r, struct trail *level)
{
    struct json_member *m = (struct json_member *)(void *)(r->pending + level->from);
    size_t n = (r->n - level->from) / sizeof(*m);

    n = members_unique(m, n, report, r);
    return (struct json){ .type = JSON_OBJECT,
                          .n = (uint32_t)n,
                          .members = take(r, level, n * sizeof(*m)) };
}
