/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_API_SCHEMA_H
#define FLEET_API_SCHEMA_H

/*
 * A member's OpenAPI document (v2 or v3) as structural schemas: how a type that is native there
 * becomes a CRD here.  Pure; the document may be anything at all, since a member is not trusted.
 *
 * References are put in place, types that JSON cannot tell (quantities, times, int-or-string …)
 * get their known form, lists say how they merge, and of defaults only those remain that mean
 * something.  Descriptions are kept down to the fields of spec and status; the rest would be
 * many times the size of all else.
 *
 * kcp: pkg/crdpuller, with invalid results put right
 */

#include "json/json.h"

enum {
    API_SCHEMA_DEPTH_MAX = 64,
    API_SCHEMA_NODES_MAX = 20000, /* a Deployment has about 1,300 */
};

/*
 * The schema of that kind: shares parts with the document.  NOT_FOUND: the document does not have
 * it.  INVALID: it refers to itself, to nothing, or is too large.
 */
int api_schema(struct arena *a, const struct json *document, str group, str version, str kind,
               const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* What takes any object: for types whose schema says nothing that can be used. */
const struct json *api_schema_open(struct arena *a);

#endif
