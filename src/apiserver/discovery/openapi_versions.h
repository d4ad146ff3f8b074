/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_VERSIONS_H
#define APISERVER_DISCOVERY_OPENAPI_VERSIONS_H

/*
 * Types of meta.v1 that are kinds: of the core version, or of every group version that Kubernetes
 * knows, whether it is served or not, and of our own that are.
 */

#include "apiserver/discovery/openapi_schemas.h"

/* Adds {"group","kind","version"} of the type with this OpenAPI name, if it is one of them. */
void openapi_meta_gvks(const struct openapi_schemas *s, str name, struct json_array *out);

#endif
