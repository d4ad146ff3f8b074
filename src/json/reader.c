/* SPDX-License-Identifier: Apache-2.0 */
#include "json/reader.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "json/members.h"

/* Names that are not slices of the text come last, as they come. */
static size_t address(const struct reader *r, str name)
{
    size_t at = (uintptr_t)name.p - (uintptr_t)r->text.p; /* in the text, or beyond it */

    return (uintptr_t)r->text.p + (at > r->text.n ? r->text.n : at);
}

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
    r->where = address;
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

/* They are kept in the order in which their second names stand in the text. */
static void report(void *arg, str name)
{
    struct reader *r = arg;
    struct json_duplicates *d = r->dups;
    struct json_duplicate new;
    size_t i;

    if (!d || d->n == READER_DUPLICATES_MAX || r->dups_seen == READER_DUPLICATES_LOOKED_AT)
        return;
    r->dups_seen++;
    new = (struct json_duplicate){ path_of(r->arena, r->trail, name), name, r->where(r, name) };
    for (i = 0; i < d->n; i++)
        if (str_eq(d->all[i].path, new.path))
            return;
    if (!d->all)
        d->all = arena_array(r->arena, struct json_duplicate, READER_DUPLICATES_MAX);
    for (i = d->n++; i > 0 && d->all[i - 1].at > new.at; i--)
        d->all[i] = d->all[i - 1];
    d->all[i] = new;
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
