/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_FIELDSET_H
#define OBJECT_META_FIELDSET_H

/*
 * Sets of paths into an object: which fields somebody owns.  On the wire they are FieldsV1:
 *
 *     {"f:data":{".":{},"f:x":{}}}      data itself, and data.x
 *
 * A set is a tree of path elements, sorted, and immutable; results share what they can with what
 * they were made of.  Elements are names of members, keys of list items that are maps by keys, the
 * values of lists that are sets, or indices.
 */

#include "json/json.h"

enum path_kind { PATH_NAME, PATH_KEY, PATH_VALUE, PATH_INDEX }; /* in the order of the wire */

struct fieldset_node;

struct fieldset { /* zeroed: the empty set */
    const struct fieldset_node *nodes;
    uint32_t n;
};

struct fieldset_node {
    str text; /* the name as it is; of others canonical JSON: {"name":"x"}, "x", 3 */
    enum path_kind kind;
    bool member;           /* the path that ends here is in the set */
    struct fieldset below; /* never empty when member is false */
};

static inline bool fieldset_empty(const struct fieldset *s)
{
    return s->n == 0;
}

/* The element of that kind and text, or NULL. */
const struct fieldset_node *fieldset_find(const struct fieldset *s, enum path_kind kind, str text);

bool fieldset_equal(const struct fieldset *a, const struct fieldset *b);
struct fieldset fieldset_union(struct arena *a, const struct fieldset *x, const struct fieldset *y);
struct fieldset fieldset_intersection(struct arena *a, const struct fieldset *x,
                                      const struct fieldset *y);
struct fieldset fieldset_difference(struct arena *a, const struct fieldset *x,
                                    const struct fieldset *y);
/* Takes away what is below a path of y, too. */
struct fieldset fieldset_without(struct arena *a, const struct fieldset *x,
                                 const struct fieldset *y);

/* ---- making ---- */

struct fieldset_builder {
    struct arena *arena;
    struct fieldset_node *nodes;
    uint32_t n, cap;
};

/* Room for n elements, where it is known that there will be so many. */
void fieldset_reserve(struct fieldset_builder *b, uint32_t n);
/* The next element, for the caller to fill in; it stays there until the set is done or grows. */
static inline struct fieldset_node *fieldset_next(struct fieldset_builder *b)
{
    if (b->n == b->cap)
        fieldset_reserve(b, b->cap ? 2 * b->cap : 4);
    return &b->nodes[b->n++];
}
/* Elements must differ; a node with nothing in it is left out. */
void fieldset_push(struct fieldset_builder *b, const struct fieldset_node *node);
struct fieldset fieldset_done(struct fieldset_builder *b);

/* ---- on the wire ---- */

/* INVALID for what is not FieldsV1.  Texts are made canonical. */
int fieldset_parse(struct arena *a, const struct json *v, struct fieldset *out, struct status *st)
    __attribute__((warn_unused_result));
void fieldset_print(struct buf *b, const struct fieldset *s);
/* `"f:name":`, as it stands before what is below. */
void fieldset_print_key(struct buf *b, enum path_kind kind, str text);

/* Calls fn with each path, as messages write it: .spec.containers[name="a"].args */
void fieldset_each(struct arena *a, const struct fieldset *s, void (*fn)(void *arg, str path),
                   void *arg);

/* One element as messages write it: `.name`, `[name="a"]`, `[="x"]`, `[3]`. */
str fieldset_element_text(struct arena *a, enum path_kind kind, str text);

#endif
