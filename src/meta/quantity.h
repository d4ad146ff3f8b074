/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_QUANTITY_H
#define META_QUANTITY_H

/* resource.Quantity: exact decimal arithmetic with SI and binary suffixes. */

#include "base/arena.h"
#include "base/str.h"

/* value = unscaled × 10^-9; what does not fit in 128 bits is clipped as Kubernetes clips it. */
struct quantity {
    __int128 nanos;
    int format; /* decimal SI, binary SI or decimal exponent, kept for printing */
};

bool quantity_parse(str text, struct quantity *out); /* false: not a quantity */
str quantity_print(struct arena *a,
                   const struct quantity *q); /* canonical: 0.5 → 500m, 1024Mi → 1Gi */
int quantity_cmp(const struct quantity *a, const struct quantity *b);

#endif
