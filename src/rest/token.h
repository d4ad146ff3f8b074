/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_TOKEN_H
#define REST_TOKEN_H

/* The continue token of a paged list: where to go on, at which revision, how much is left. */

#include "base/arena.h"
#include "base/status.h"

struct token {
    uint64_t rev;      /* 0: at whatever revision is the head then */
    uint32_t instance; /* of the last row given */
    str after;         /* its name */
    uint64_t left;     /* rows behind it, if counted; else 0 */
};

str token_print(struct arena *a, const struct token *t);
int token_parse(struct arena *a, str text, struct token *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
