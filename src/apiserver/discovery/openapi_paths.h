/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_PATHS_H
#define APISERVER_DISCOVERY_OPENAPI_PATHS_H

/* The paths of a group version in an OpenAPI document, with all operations of its kinds. */

#include "apiserver/discovery/openapi_params.h"

/* Adds them to the object `paths`; what they refer to is taken in by the schemas of `p`. */
void openapi_paths_add(struct openapi_params *p, struct json_object *paths, str group, str version);

/* A path with nothing but a GET, about no kind: discovery, and what openapi_site.h has. */
struct openapi_get {
    str path, tag, id, text;
    const str *consumes, *produces;
    size_t nconsumes, nproduces;
    str schema; /* of the answer, by its OpenAPI name; empty: text */
};
void openapi_paths_add_get(struct openapi_schemas *s, struct json_object *paths,
                           const struct openapi_get *g);

/* The types that all of Kubernetes' own answers come in. */
enum { OPENAPI_PLAIN_TYPES = 3 };
extern const str openapi_plain_types[OPENAPI_PLAIN_TYPES];

/* "rbac.authorization.k8s.io" -> "RbacAuthorization", or "rbacAuthorization" */
str openapi_camel_case(struct arena *a, str group, bool first);

#endif
