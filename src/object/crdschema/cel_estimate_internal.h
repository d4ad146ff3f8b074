/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CRDSCHEMA_CEL_ESTIMATE_INTERNAL_H
#define OBJECT_CRDSCHEMA_CEL_ESTIMATE_INTERNAL_H

/* What the two files of cel_estimate() share. */

#include "object/cel/cel_internal.h"

struct cel_span {
    uint64_t min, max;
};

/*
 * What is known of the value of a node.  Its place is where the schema has it, which tells its
 * size; one that is made has none.  k8s calls a place a path, and one that leads nowhere is a path,
 * too.
 */
struct cel_guess {
    struct cel_span cost;
    bool sized, entered;
    struct cel_span size;     /* if sized */
    struct cel_span key, val; /* if entered: sizes of what a list or map holds */
    bool of_map;              /* which of the two it is, if entered */
    bool placed;
    const struct cel_type *place; /* if placed; NULL: nowhere */
};

static inline struct cel_span cel_span_of(uint64_t n)
{
    return (struct cel_span){ n, n };
}
struct cel_span cel_span_add(struct cel_span a, struct cel_span b);
struct cel_span cel_span_mul(struct cel_span a, struct cel_span b);
struct cel_span cel_span_times(struct cel_span a, double factor); /* rounded up */
struct cel_span cel_span_union(struct cel_span a, struct cel_span b);

/* What is not known may be of any size. */
struct cel_span cel_size_of(const struct cel_guess *g);
/* The size of the items of a list, by its place. */
struct cel_span cel_items_size(const struct cel_type *root, const struct cel_guess *list);

/*
 * What a call costs, its arguments included; cel_estimate_calls.c.  args are those of the node,
 * what stands before the dot first.
 */
struct cel_guess cel_guess_call(struct arena *a, const struct cel_type *root,
                                const struct cel_node *n, const struct cel_guess *args);
/* `list.sortBy(x, key)`, with what the keys are. */
struct cel_guess cel_guess_sort(const struct cel_type *item, const struct cel_guess *keys);

#endif
