/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_ROWS_H
#define REST_ROWS_H

/*
 * The rows of an instance as its users see them: its own over the template rows that all instances
 * share.  A row of its own hides the template's of the same name, even a hidden one; a template row
 * appears with a uid, a creation time and a revision of the instance's.  Over all instances (id
 * STORE_ALL) untouched template rows are left out.
 */

#include "object/meta/obj.h"
#include "rest/rest_internal.h"

struct row {
    uint32_t instance;
    str name;            /* "ns/name", or the name of a cluster-scoped object */
    uint64_t rev;        /* what resourceVersion says */
    uint64_t stored_rev; /* of the instance's own row, 0 where it is still the template's */
    struct obj obj;
    str sealed;       /* as it lies in the store (rest/seal.h); empty: as it is */
    str uid, created; /* for obj_frame, of a template row */
};

/* The key of an object of this kind. */
str row_name(struct arena *a, const struct kind *k, str namespace_, str name);
void row_split(const struct kind *k, str row, str *namespace_, str *name);

/*
 * 1 with the row, 0 when there is none (stored_rev is set even then, for the expectation of a
 * write: not 0 when a hidden row is there), -1 as store_get.  Lives as long as the arena.
 */
int rows_get(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
             str name, uint64_t rev, struct row *out, struct status *st)
    __attribute__((warn_unused_result));

/* It was written by the schema that the kind has now: its text is what the kind serves. */
static inline bool row_is_current(const struct kind *k, const struct row *row)
{
    return k->schema_id == 0 || row->obj.schema == k->schema_id;
}

/*
 * The object as a tree of the kind's version, whatever it was stored as.  `instance` is the value
 * of its annotation, or empty.  The row must live as long as the tree.
 */
int row_tree(struct arena *a, const struct kind *k, const struct row *row, str instance,
             const struct json **out, struct status *st) __attribute__((warn_unused_result));

struct rows_range {
    const struct instance *instance;
    const struct kind *kind;
    str prefix;
    uint32_t after_instance; /* go on behind this row; empty name: from the beginning */
    str after;
    uint64_t rev; /* 0: the head, written back */
    uint64_t hash;
    bool about; /* rows_count: as in a store_range */
};

/* As store_scan; what fn is given is valid during the call. */
typedef bool rows_fn(void *arg, const struct row *row);
int rows_scan(struct rest *r, struct rows_range *range, rows_fn *fn, void *arg, struct status *st)
    __attribute__((warn_unused_result));

bool rows_have_templates(struct rest *r, uint32_t type); /* cheap to ask */

/* The template row under this name, as it was at rev, shown as the instance's.  1, 0 or -1. */
int rows_template(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                  str name, uint64_t rev, struct row *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * About how many rows the range has from its beginning: exact when nothing is written meanwhile, 0
 * when it would take looking at more than `max` to know.
 */
int rows_count(struct rest *r, const struct rows_range *range, uint64_t max, uint64_t *out,
               struct status *st) __attribute__((warn_unused_result));

#endif
