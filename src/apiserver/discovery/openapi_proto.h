/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_PROTO_H
#define APISERVER_DISCOVERY_OPENAPI_PROTO_H

/*
 * A swagger 2.0 document as the message openapi.v2.Document of gnostic, which kubectl before 1.27
 * and client-go's OpenAPISchema() ask for.  Knows the members that openapi_v2() makes, no others.
 */

#include "base/buf.h"
#include "json/json.h"

void openapi_proto_print(struct buf *b, const struct json *v2);

#endif
