/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OPENAPI_PATHS_H
#define SERVER_OPENAPI_PATHS_H

/* The paths of a group version in an OpenAPI document, with all operations of its kinds. */

#include "server/openapi_schemas.h"

/* Adds them to the object `paths`; what they refer to is taken in by `s`. */
void openapi_paths_add(struct openapi_schemas *s, struct json_object *paths, str group,
                       str version);

#endif
