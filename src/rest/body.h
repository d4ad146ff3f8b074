/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_BODY_H
#define REST_BODY_H

/* Request bodies as trees: JSON, YAML and Kubernetes protobuf; strict, warning or silent. */

#include "rest/rest_internal.h"

/*
 * The object in the body, decoded by the kind's schema.  Wrong kind or version, wrong types and, in
 * strict mode, unknown and duplicate fields are BAD_REQUEST; else these become warnings.
 */
int body_object(struct rest_request *req, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* The options in a DELETE's body, if there is one, set in req->delete. */
int body_delete_options(struct rest_request *req, struct status *st)
    __attribute__((warn_unused_result));

/* What field validation makes of faults in a decoded object: an error text, warnings, or nothing.
 */
str body_faults(struct rest_request *req, const struct json_duplicates *dups,
                const struct schema_faults *faults);

/* Adds a Warning header to the answer. */
void body_warn(struct rest_request *req, str text);

/* k8s: rest.EnsureObjectNamespaceMatchesRequestNamespace, and the name in the URL. */
int body_check_identity(const struct rest_request *req, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));

#endif
