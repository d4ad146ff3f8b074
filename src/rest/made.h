/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_MADE_H
#define REST_MADE_H

/*
 * Objects of the root instance that the server makes by itself, of kinds that no request writes: no
 * admission, no owners of fields, no charge to a quota.  They are not sealed (rest/seal.h), since
 * nothing could write them anew when the key is changed; so they hold no secrets.
 */

#include "rest/rest.h"

/*
 * Stores them, new ones of names that nothing has, each in a transaction of its own (no revision
 * has two objects of a type) and all on their way at once; waits for the disk, so not on a loop.
 * Their uid and creationTimestamp are made here.  -1: the first `*made` of them are stored.
 */
int rest_make(struct rest *r, const struct kind *k, const struct json *const *objects, size_t n,
              size_t *made, struct status *st) __attribute__((warn_unused_result));

#endif
