/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_CUSTOM_H
#define APISERVER_DISCOVERY_OPENAPI_CUSTOM_H

/*
 * A CRD's schema in an OpenAPI document: as it was given, with the members that every object has.
 * Version 2 cannot say all of it: what it has no words for is left out, so that clients that check
 * by it refuse nothing that the server would take.
 * k8s: apiextensions-apiserver/pkg/controller/openapi
 */

#include "apiserver/discovery/openapi_schemas.h"

void openapi_custom_fill(struct openapi_schemas *s, struct json_object *o, const struct schema *t);

#endif
