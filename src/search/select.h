/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_SELECT_H
#define SEARCH_SELECT_H

/*
 * A query (search/query.h) as SQL: which rows, in which order, how many.
 *
 * What may be seen is part of the condition, so that counts and pages do not tell of more.
 * The order is total: behind what is asked for come cluster, namespace and name.
 */

#include "search/query.h"
#include "search/search.h"
#include "search/search_index.h"

struct select_scope {
    const struct search_index_type *types; /* of which rows may be */
    size_t ntypes;
    const struct search_rights *rights; /* never NULL */
    const struct entry_hash *hash;
    /* All types of the cluster in which owners are looked for. */
    const struct search_index_type *owner_types;
    size_t nowner_types;
};

struct select_row {
    int64_t id, type;
    str cluster, namespace, name;
    int64_t uid;
    uint32_t meta;
    str text;
};

/* Calls row for each, in order; it may keep nothing of it, and returns false to stop. */
int select_rows(struct search_index_reader *r, struct arena *a, const struct query *q,
                const struct select_scope *scope,
                bool (*row)(void *arg, const struct select_row *row), void *arg, struct status *st)
    __attribute__((warn_unused_result));

/* How many there are without limit and offset. */
int select_count(struct search_index_reader *r, struct arena *a, const struct query *q,
                 const struct select_scope *scope, uint64_t *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
