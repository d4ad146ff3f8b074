/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_REPLY_H
#define CLIENT_REPLY_H

/* Answers of a Kubernetes API: trees, and errors as struct status.  Pure. */

#include "json/json.h"

/*
 * A whole answer.  2xx: the tree in *out (JSON null when the body is empty).  Anything else: -1
 * with what the server's Status says, or, where the body is none, what the code means.
 */
int client_reply(struct arena *a, int http, str body, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* From a Status object (kind: Status), e.g. of a watch's ERROR event; always -1. */
int client_reply_status(const struct json *object, struct status *st);

#endif
