/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_UPGRADE_H
#define REST_UPGRADE_H

#include "rest/rest.h"

/*
 * Changes what older programs have stored: once in the life of a store, before anything is served.
 *
 * fix() gets each object of the kind in the root instance and returns it, what it is to be, or NULL
 * when it cannot tell.  The
 * store then keeps `name`, so that no later start does it again; a start that was killed does it
 * from the beginning.  Waits for the disk.
 */
typedef const struct json *rest_upgrade_fn(struct rest *r, struct arena *a, const struct json *obj,
                                           struct status *st);
int rest_upgrade(struct rest *r, const struct kind *k, str name, rest_upgrade_fn *fix,
                 struct status *st) __attribute__((warn_unused_result));

#endif
