/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_WHERE_H
#define SEARCH_WHERE_H

/*
 * A statement in the making, and its condition: what is asked for, and what of it the caller may
 * see (search/rights.h), owners included.  Shared by the files of search/select.h.
 */

#include "base/buf.h"
#include "search/rights.h"
#include "search/select.h"

enum { SELECT_SQL_MAX = 1 << 20 };

struct where {
    struct search_index_reader *reader;
    struct arena *arena;
    const struct query *q;
    const struct select_scope *scope;
    struct rights_cut cut;
    struct status *st;
    struct buf sql;
    struct search_index_value *values;
    size_t n, cap;
    bool and;    /* a condition stands already */
    bool none;   /* nothing can match */
    bool driven; /* rows are found by a tag or a part of the name */
};

/* Begins, with a cut of its own; the statement has no condition yet. */
void where_begin(struct where *m);

/* Everything that the query says, of the table "objects o". */
int where_objects(struct where *m, bool limited) __attribute__((warn_unused_result));
/* Types, clusters and namespaces only, of the table "counts". */
void where_counts(struct where *m);

/* " WHERE " or " AND " */
void where_cond(struct where *m);
void where_bind_int(struct where *m, int64_t v);
void where_bind_str(struct where *m, str v);

/* Runs a statement that helps to make m, and releases it. */
int where_run_part(struct where *m, struct where *part,
                   bool (*row)(void *arg, struct sqlite3_stmt *s), void *arg)
    __attribute__((warn_unused_result));
bool where_number(void *arg, struct sqlite3_stmt *s); /* arg: uint64_t */

#endif
