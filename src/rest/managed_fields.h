/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_MANAGED_FIELDS_H
#define REST_MANAGED_FIELDS_H

/*
 * metadata.managedFields of an object on its way into the store: op->managed, packed.  An object's
 * tree never holds them; they are laid beside it, and come back when it is sent.
 */

#include "object/meta/fieldset.h"
#include "rest/write.h"

/* A client may say them, too: what a body or a patched object has of them. */
const struct json *managed_fields_sent(const struct json *obj);

/* Of such an object, before it is decoded: it is there, and empty, which takes all of them away. */
bool managed_fields_is_emptied(const struct json *raw);

/*
 * After a create or update by the request's manager.  `now` is what the client wants, decoded and
 * defaulted; `sent` its own list or NULL.  Adds causes where that is wrong.  0, or REST_WAIT.
 */
int managed_fields_write(struct rest_op *op, const struct json *now, const struct json *sent,
                         struct status *st) __attribute__((warn_unused_result));

/* What the request's endpoint does not let through, or NULL. */
const struct fieldset *managed_fields_ignored(const struct rest_request *req);

/* The live object (op->old, or NULL) with an applied configuration: 0, -1, or REST_WAIT. */
int managed_fields_apply(struct rest_op *op, const struct json *config, const struct json **out,
                         struct status *st) __attribute__((warn_unused_result));

/* Times apart, they are those of the current object. */
bool managed_fields_same(const struct rest_op *op);

/* A tree with op->managed in it, for answers and patches. */
const struct json *managed_fields_show(struct rest_op *op, const struct json *obj);

#endif
