/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_H
#define APISERVER_DISCOVERY_OPENAPI_H

/*
 * /openapi/v2: one swagger 2.0 document of all that an instance serves, as JSON or in the protobuf
 * form of it, the only one that kubectl before 1.27 asks for.  Pure functions of the catalog.
 */

#include "rest/kind.h"

#define OPENAPI_V2_PROTOBUF     "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define OPENAPI_V2_PROTOBUF_OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

/* A tree in the arena that shares strings with the catalog. */
const struct json *openapi_v2(struct arena *a, const struct catalog *c);

/* The schemes of authentication, by name; v3 has them, too. */
struct json openapi_security(struct arena *a);

#endif
