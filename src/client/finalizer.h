/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_FINALIZER_H
#define CLIENT_FINALIZER_H

/*
 * The mark by which a controller keeps an object from going before it has cleaned up after it.
 * Both write only when something is to be changed, and only the version of the object that they
 * were given: else CONFLICT.
 */

#include "client/client.h"

/* Of a virtual cluster: what search has of the instance is still there. */
#define FINALIZER_INDEX "kairship.io/index"

bool finalizer_has(const struct json *object, const char *finalizer);
bool is_deleting(const struct json *object); /* it has a deletionTimestamp */

/* The object with it: the same one if it has it. */
const struct json *finalizer_with(struct arena *a, const struct json *object,
                                  const char *finalizer);
/* A merge patch that adds it to this version of the object. */
const struct json *finalizer_patch(struct arena *a, const struct json *object,
                                   const char *finalizer);

/* Blocking.  *object becomes what it is now, in the arena. */
int finalizer_add(struct client *c, struct arena *a, const struct client_ref *ref,
                  const char *finalizer, const struct json **object, struct status *st)
    __attribute__((warn_unused_result));
/* An object that has gone has none.  *object is not read after. */
int finalizer_remove(struct client *c, struct arena *a, const struct client_ref *ref,
                     const char *finalizer, const struct json *object, struct status *st)
    __attribute__((warn_unused_result));

#endif
