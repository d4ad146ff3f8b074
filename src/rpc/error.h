/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_ERROR_H
#define RPC_ERROR_H

/*
 * Failures as google.rpc.Status, in both forms.  The causes of a status are details of the type
 * google.rpc.BadRequest.
 */

#include "base/buf.h"
#include "base/status.h"

/* The HTTP code that grpc-gateway gives for the status' gRPC code. */
int error_http(const struct status *st);

/* {"code":5,"message":"…","details":[]} */
void error_print(struct buf *b, const struct status *st);

/* As protobuf. */
void error_encode(struct buf *b, const struct status *st);

/* The message as grpc-message has it: printable ASCII, the rest escaped. */
str error_message(struct arena *a, const struct status *st);

#endif
