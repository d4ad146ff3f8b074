/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_NAMES_H
#define SEARCH_NAMES_H

/*
 * What the index knows of names beside their order.
 *
 *   trigrams   of each name, for looking for a part of it
 *   steps      of a type: how many rows have a name from here up to the next step's.  With them an
 *              offset in the order of names is reached without walking over all before it
 */

#include "search/search_index_internal.h"

/* `"abc" AND "bcd"`: all trigrams of a part. */
str names_trigrams(struct arena *a, str part);

/*
 * Where the rows of a type from an offset on are in the order of names: below (desc) or from that
 * name on; what is left of the offset counts from there.  False in *found: there are none.
 */
struct names_place {
    str name; /* empty: no bound */
    bool found;
};
int names_skip(struct search_index_reader *r, struct arena *a, int64_t type, bool desc,
               uint64_t *offset, struct names_place *out, struct status *st)
    __attribute__((warn_unused_result));

/* ---- the writer's: steps are in memory and in the file ---- */

/* A row of that name has come (1) or gone (-1); false: the file cannot be read. */
bool names_count(struct search_index_writer *w, int64_t type, str name, int delta);
bool names_flush(struct search_index_writer *w);  /* before a commit */
void names_forget(struct search_index_writer *w); /* the transaction failed, or it is the end */

#endif
