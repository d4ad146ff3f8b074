/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_LIFECYCLE_H
#define REST_LIFECYCLE_H

/*
 * What goes with an Instance object in the same transaction: the rows by which the instance is
 * found, and its end.  For all other kinds nothing.
 */

#include "rest/write.h"

/* Fills operations (at most 3) and returns how many, or -1. */
int lifecycle_ops(struct rest_op *op, struct store_op *ops, struct status *st);

#endif
