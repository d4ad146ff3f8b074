/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_REFUSE_H
#define REST_REFUSE_H

/*
 * Bodies that cannot be read.
 *
 * k8s: apiserver/pkg/endpoints/handlers/rest.go, transformDecodeError; people see these texts in
 * kubectl, and some clients look for parts of them.
 */

#include "rest/rest_internal.h"

/* No JSON, YAML or protobuf; *st says why.  kind is the one that was expected. */
int refuse_unread(struct rest_request *req, str kind, struct status *st)
    __attribute__((warn_unused_result));

/* The fields are not those of the type; *st says which. */
int refuse_fields(const struct rest_body_type *type, struct status *st)
    __attribute__((warn_unused_result));

/*
 * What was sent is an object that says this kind and version.  Types with rules, which are those of
 * CustomResourceDefinitions, must say both; others may leave them out.
 */
int refuse_others(struct rest_request *req, const struct rest_body_type *type,
                  const struct json *sent, struct status *st) __attribute__((warn_unused_result));

/*
 * The same of a patched object.  A strategic patch changes a typed object, in which the two words
 * have no place.  *why is what is wrong with the patch, where that is all that is told.
 */
int refuse_patched(struct rest_request *req, const struct kind *shape, const struct json *raw,
                   str *why, struct status *st) __attribute__((warn_unused_result));

/* The same of DeleteOptions. */
int refuse_options(const struct rest_request *req, struct status *st)
    __attribute__((warn_unused_result));
int refuse_other_options(const struct json *sent, struct status *st)
    __attribute__((warn_unused_result));

/* Why an object is none: nothing here is called so. */
str refuse_unknown(struct arena *a, str version, str kind);

#endif
