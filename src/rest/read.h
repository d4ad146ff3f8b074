/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_READ_H
#define REST_READ_H

/* Reading at least as new as a client asks for. */

#include "rest/rest_internal.h"
#include "rest/rows.h"

/* The resourceVersion option as a number, 0 when there is none; BAD_REQUEST when it is none. */
int read_revision(const struct rest_request *req, uint64_t *out, struct status *st)
    __attribute__((warn_unused_result));

/* Calls `then` once the head has reached rev, or answers 504 after a while. */
void read_after(struct rest_request *req, uint64_t rev, void (*then)(struct rest_request *req));

/* Where the continue option says to go on; EXPIRED, with a token that goes on at the head. */
int read_token(struct rest_request *req, struct rows_range *range, uint64_t *left,
               struct status *st) __attribute__((warn_unused_result));

/* The rules on resourceVersion, -Match, continue and sendInitialEvents: one 422 for all faults. */
int list_options_check(const struct list_options *o, struct status *st)
    __attribute__((warn_unused_result));

#endif
