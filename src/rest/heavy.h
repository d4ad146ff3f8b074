/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_HEAVY_H
#define REST_HEAVY_H

/*
 * What would hold a loop because the object is large: reading a body, and a kind's own rules.  A
 * worker does it, in an arena of its own, since the request's is in use when the write takes too
 * long and is answered; then the request goes on from its beginning, and finds the result.  When no
 * worker is free it is done at once.
 */

#include "rest/write.h"

enum { HEAVY_BYTES = 128 << 10 }; /* about a millisecond */

/* True: a worker reads the body; rest_serve comes again. */
bool heavy_read(struct rest_request *req);
/* True: it has been read; *rc is what the reader said, with *out or *st. */
bool heavy_was_read(struct rest_request *req, const struct json **out, struct status *st, int *rc);

/*
 * The rules of the kind for a create, or for an update of op->old; causes are added to st.
 * REST_WAIT: a worker looks; write_run comes again.
 */
int heavy_check(struct rest_op *op, const struct kind_context *c, const struct json *obj,
                struct status *st) __attribute__((warn_unused_result));

#endif
