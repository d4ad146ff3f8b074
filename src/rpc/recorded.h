/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_RECORDED_H
#define RPC_RECORDED_H

/* What the audit records of a call, by the option kairship.io.api.recorded of its RPC
 * (api/recorded.proto).  Pure; strings are those of the tables and of the request. */

#include "rpc/handler.h"

/* As far as the RPC alone tells. */
void recorded_of_method(const struct rpc_method *m, struct mount_deed *out);

/* And of this request, but for a name that stands in an object inside of a string. */
void recorded_of_request(const struct rpc_method *m, const struct json *request,
                         struct mount_deed *out);

/* That name, or empty.  It parses the string: not on a loop. */
str recorded_inner_name(struct arena *a, const struct rpc_method *m, const struct json *request);

#endif
