/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_INDEX_H
#define REST_INDEX_H

/*
 * Index rows: which 64-bit hashes an object is found by (its labels, its owners' uids, the fields
 * its kind declares), and which of them answers a selector.  The hashes are stored, so the function
 * never changes.  A hit is a candidate: check the object itself.
 */

#include "object/meta/selector.h"
#include "rest/kind.h"

/* In the arena.  The tree is of the stored version. */
size_t index_hashes(struct arena *a, const struct kind *k, const struct json *tree,
                    const uint64_t **out);

/* The hash that narrows the search most cheaply, or 0 when every row must be looked at. */
uint64_t index_pick(const struct kind *k, const struct selector *labels,
                    const struct selector *fields);

uint64_t index_owner(str uid);
/* Of all that have an owner, or wait for garbage collection before they go. */
uint64_t index_owned(void);

/* What a field selector compares with. */
str index_field(struct arena *a, const struct field_label *f, const struct json *tree);
/* The same of one with several. */
const struct json *index_values(struct arena *a, const struct field_label *f,
                                const struct json *tree);

#endif
