/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_MESSAGE_SCALAR_H
#define RPC_MESSAGE_SCALAR_H

/* What the files of messages share: values that are no messages. */

#include "base/pbwire.h"
#include "rpc/message.h"

enum pb_wire scalar_wire(const struct rpc_field *f); /* of one value */

/* What an absent value means; of a message the empty one. */
struct json scalar_default(const struct rpc_field *f);
/* Is it left out?  Never, where a default that was sent is kept. */
bool scalar_is_default(const struct rpc_field *f, const struct json *v);

/*
 * The value as clients may write it, as the tree has it; *why says what was expected.  Strings are
 * not copied.
 */
bool scalar_read(struct arena *a, const struct rpc_field *f, const struct json *v, struct json *out,
                 const char **why);

/* The value as a service has made it: also a number where a string is meant, which Kubernetes'
 * objects have in places (ports, shares). */
bool scalar_given(struct arena *a, const struct rpc_field *f, const struct json *v,
                  struct json *out);

#endif
