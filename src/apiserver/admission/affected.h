/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_AFFECTED_H
#define APISERVER_ADMISSION_AFFECTED_H

/*
 * What a deletion is about, for people: objects of any kinds.  The first ones are named and all are
 * counted, those that are found by a hash up to a limit, so that it stays a short look at the
 * store.
 */

#include "rest/rows.h"

struct affected {
    struct rest *rest;
    struct arena *arena;
    /* What a row stands for, {"kind","metadata"} or an object reference; NULL: for itself. */
    const struct json *(*about)(const struct json *tree);
    bool kinds;     /* kinds are named, too: "Deployment default/web" */
    str text;       /* "default/web, default/db" */
    uint64_t n;     /* objects, */
    bool more;      /* or more of them */
    uint64_t named; /* in the text */
};

/* Adds the rows of a range. */
int affected_add(struct affected *n, struct rows_range *range, struct status *st)
    __attribute__((warn_unused_result));

/* "3 workloads (Deployment default/web, Job default/a and 1 more)" */
str affected_text(const struct affected *n, const char *one, const char *many);

#endif
