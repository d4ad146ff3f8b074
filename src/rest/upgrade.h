/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_UPGRADE_H
#define REST_UPGRADE_H

#include "rest/rest.h"

/*
 * Changes what older programs have stored: once in the life of a store, before anything is served.
 *
 * fix() gets each object of the kind in the root instance and returns it, or what it is to be.  The
 * store then keeps `name`, so that no later start does it again; a start that was killed does it
 * from the beginning.  Waits for the disk.
 */
int rest_upgrade(struct rest *r, const struct kind *k, str name,
                 const struct json *(*fix)(struct arena *a, const struct json *obj),
                 struct status *st) __attribute__((warn_unused_result));

#endif
