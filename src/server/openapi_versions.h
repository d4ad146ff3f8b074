/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OPENAPI_VERSIONS_H
#define SERVER_OPENAPI_VERSIONS_H

/*
 * Types of meta.v1 that are kinds: of the core version, or of every group version that Kubernetes
 * knows, whether it is served or not, and of our own that are.
 */

#include "server/openapi_schemas.h"

/* Adds {"group","kind","version"} of the type with this OpenAPI name, if it is one of them. */
void openapi_meta_gvks(const struct openapi_schemas *s, str name, struct json_array *out);

#endif
