/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_FORM_H
#define REST_FORM_H

/*
 * How rows become answers: the object itself, its metadata only, or a row of a table; alone, in a
 * list, or in a watch event.  Objects whose stored version is the asked one are never parsed.
 */

#include "rest/rows.h"

struct form {
    struct rest *rest;
    const struct kind *kind;
    enum rest_form form;
    enum table_include include;
    int64_t now_s;
    bool redacted;                       /* objects show what may be seen without Secrets */
    bool wildcard;                       /* objects say which instance they are of, */
    const struct conversions *converted; /* rows in the asked version, if they were not */
    uint64_t at; /* by its name at this revision (0: now), since it may be gone */
};

struct form form_of(const struct rest_request *req);

/* One object that stands alone. */
void form_object(const struct form *f, struct buf *b, const struct row *row);
/* The same as pieces that point to the row where they can. */
size_t form_pieces(const struct form *f, struct arena *a, const struct row *row,
                   str pieces[OBJ_PIECES]);
/* One item of a list's array. */
void form_item(const struct form *f, struct buf *b, const struct row *row);
/* Where a table shows it (row_rank of its kind). */
int64_t form_rank(const struct form *f, const struct row *row);

/*
 * Around the items.  What is known before the items are (an unpaged list's metadata) goes first;
 * a page learns only at its end whether there is more.
 */
struct form_list {
    uint64_t rev;
    str continue_token;
    uint64_t remaining;
};
void form_list_begin(const struct form *f, struct buf *b,
                     const struct form_list *meta); /* meta may be NULL */
void form_list_end(const struct form *f, struct buf *b,
                   const struct form_list *meta); /* NULL if begin had it */

/* Watch events: `{"type":"ADDED","object":…}` and a newline.  columns: the first one of a table. */
void form_event(const struct form *f, struct buf *b, const char *type, const struct row *row,
                bool columns);
/* The same of a tree in the request's version; rev is what the table says, and the tree, too. */
void form_event_tree(const struct form *f, struct buf *b, const char *type, const struct json *tree,
                     uint64_t rev, bool columns);
void form_bookmark(const struct form *f, struct buf *b, uint64_t rev, bool initial_end,
                   bool columns);

/* A tree of the stored version or of the request's as bytes that stand alone; for answers to
 * writes that were not stored. */
str form_tree(const struct form *f, struct arena *a, const struct json *tree);

#endif
