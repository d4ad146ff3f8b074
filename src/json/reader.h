/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_READER_H
#define JSON_READER_H

/*
 * What the readers of JSON and of YAML share: collecting the children of containers whose size is
 * not known yet, nesting, and the report on names that stood twice.
 *
 *     struct trail level;
 *     if (reader_enter(r, &level) < 0) …          too deep
 *     level.name = name;  reader_add_member(r, name, value);
 *     level.index = i;    reader_add_item(r, value);
 *     *out = reader_leave_object(r, &level);
 */

#include "json/json.h"

enum {
    READER_DUPLICATES_MAX = 64,
    READER_DUPLICATES_LOOKED_AT = 1024, /* and no more, though most of them were the same path */
    READER_FIRST = 2048,                /* bytes of children before the heap is needed */
};

/* One open container and where in it the reader stands: its name if it is set, else its index. */
struct trail {
    const struct trail *up;
    str name;
    size_t index;
    size_t from; /* where its children begin among the pending */
};

struct reader {
    struct arena *arena;
    struct status *st;
    str text; /* names of JSON that are slices of it tell where they stand; may be empty */
    const struct trail *trail;
    unsigned depth;

    /* Children of all open containers, innermost last. */
    char *pending;
    size_t n, cap;
    _Alignas(16) char first[READER_FIRST];

    struct json_duplicates *dups; /* may be NULL */
    size_t dups_seen;
    size_t (*where)(const struct reader *r, str name); /* a name stands */
};

void reader_init(struct reader *r, struct arena *a, struct json_duplicates *dups,
                 struct status *st);
void reader_release(struct reader *r);

/* False when the nesting is too deep. */
bool reader_enter(struct reader *r, struct trail *level);
struct json reader_leave_array(struct reader *r, struct trail *level);
struct json reader_leave_object(struct reader *r, struct trail *level);

void *reader_grow(struct reader *r, size_t size);

static inline void *reader_room(struct reader *r, size_t size)
{
    void *p = r->pending + r->n;

    if (__builtin_expect(r->cap - r->n < size, 0))
        p = reader_grow(r, size);
    r->n += size;
    return p;
}

static inline void reader_add_item(struct reader *r, struct json v)
{
    *(struct json *)reader_room(r, sizeof(v)) = v;
}

static inline void reader_add_member(struct reader *r, str name, struct json v)
{
    *(struct json_member *)reader_room(r, sizeof(struct json_member)) =
        (struct json_member){ name, v };
}

#endif
