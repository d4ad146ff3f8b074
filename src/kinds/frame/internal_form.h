/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_INTERNAL_FORM_H
#define KINDS_FRAME_INTERNAL_FORM_H

/*
 * A value as Kubernetes shows it in `Invalid value: {…}`: there it prints its internal types, which
 * have names as Go has them and no omitempty; those of metav1 are as in JSON.
 */

#include "rest/kind.h"

/* The value at this dotted path of an object of the kind; NULL is its zero.  `*` is an item of a
 * list, and a part of a type whose fields stand beside others is meant by its name. */
const struct json *internal_form(struct arena *a, const struct kind *k, const char *path,
                                 const struct json *v);

/* The same of a small object, whose fields are told (up to NULL): "*name" is a pointer, others are
 * strings. */
const struct json *internal_members(struct arena *a, const struct json *v,
                                    const char *const *fields);

/* k8s: ValidateImmutableField, with the value in that form. */
void internal_immutable(struct status *st, const struct kind *k, const char *path,
                        const struct json *obj, const struct json *old);

#endif
