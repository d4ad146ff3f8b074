/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_CONVERT_H
#define REST_CONVERT_H

/*
 * Versions of a CRD that only a webhook can convert into each other.  What a request needs is asked
 * for before it goes on: rows that were written in another version, what it is about to store, and
 * how others who own fields of it see it.  The answers stay with the request, by the row's name and
 * revision or by the object, and the step that needed them is done again.
 */

#include "rest/rows.h"

enum {
    CONVERT_BATCH = 500,       /* objects of one question, */
    CONVERT_BYTES = 8 << 20,   /* or about so many bytes of rows */
    CONVERT_TOTAL = 256 << 20, /* bytes of rows for one request */
    CONVERT_TRIES = 20,        /* of an object that is another each time */
    CONVERT_ROUNDS = 100,      /* of questions about owners of fields */
};

struct conversions;

/* The row was written in a version from which only a webhook leads to the request's. */
bool convert_concerns(struct rest_request *req, const struct row *row);

/* The object in the request's version, or NULL when it was not converted. */
const struct json *convert_find(const struct conversions *c, str name, uint64_t rev);

/*
 * Rows to ask about: add them, they are copied; then begin, and `then` is called when all are
 * there.  If one cannot be had, rest_fail (or, of a write, its end) is with the reason.
 */
int convert_add(struct rest_request *req, const struct row *row, struct status *st)
    __attribute__((warn_unused_result));
void convert_begin(struct rest_request *req, void (*then)(struct rest_request *req));
void convert_cancel(struct rest_request *req); /* `then` does not come any more */

/*
 * An object of the request's version in the stored one: 0, -1, or REST_WAIT and `then` is called
 * when it is there.
 */
int convert_to_stored(struct rest_request *req, const struct json *obj, const struct json **out,
                      void (*then)(struct rest_request *req), struct status *st)
    __attribute__((warn_unused_result));

/*
 * Converts an object to another version, in which it has owners of fields: 0, -1, or REST_WAIT: it
 * is noted.  convert_noted converts all that are noted, a version at a time, then calls `then`.
 */
int convert_between(struct rest_request *req, const struct kind *from, const struct kind *to,
                    const struct json *obj, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
void convert_noted(struct rest_request *req, void (*then)(struct rest_request *req));

/* Why the last question failed, if it was about what is read or stored; NULL: it did not. */
const struct status *convert_failure(const struct rest_request *req);

#endif
