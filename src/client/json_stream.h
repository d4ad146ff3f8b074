/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_JSON_STREAM_H
#define CLIENT_JSON_STREAM_H

/*
 * Cuts a stream of JSON values (a watch) into values, however the bytes arrive.  Between values
 * there may be blanks and newlines, inside of them too.  It finds ends, not errors: whoever gets a
 * value parses it.  Holds at most one unfinished value.
 */

#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"

struct json_stream {
    struct buf part; /* the value that has begun */
    unsigned depth;  /* of brackets and braces */
    bool in_string, escaped, begun;
};

void json_stream_init(struct json_stream *s, size_t value_max);
void json_stream_release(struct json_stream *s);

/*
 * The next whole value out of *bytes and what came before, moving *bytes behind it: 1 and *value,
 * valid until the next call and as long as the bytes; 0 when all bytes are used up; -1 with
 * TOO_LARGE, or BAD_REQUEST when what comes is not an object or array.
 *
 *     while ((rc = json_stream_next(&s, &bytes, &value, st)) > 0)
 */
int json_stream_next(struct json_stream *s, str *bytes, str *value, struct status *st)
    __attribute__((warn_unused_result));

/* Whether the stream may end here: no value has begun. */
bool json_stream_at_end(const struct json_stream *s);

#endif
