/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_QUANTITY_H
#define OBJECT_META_QUANTITY_H

/* resource.Quantity: exact decimal arithmetic with SI and binary suffixes. */

#include "base/arena.h"
#include "base/str.h"

enum quantity_format { QUANTITY_DECIMAL_SI, QUANTITY_BINARY_SI, QUANTITY_DECIMAL_EXPONENT };

/* value = unscaled × 10^-9; what does not fit in 128 bits is clipped as Kubernetes clips it. */
struct quantity {
    __int128 nanos;
    enum quantity_format format; /* of the suffix it was read with, kept for printing */
};

bool quantity_parse(str text, struct quantity *out); /* false: not a quantity */
str quantity_print(struct arena *a,
                   const struct quantity *q); /* canonical: 0.5 → 500m, 1024Mi → 1Gi */
/*
 * The text as Kubernetes prints it after reading it: canonical, but what its fast path takes for
 * canonical stays as it came ("1.500", "05").  False: not a quantity.
 */
bool quantity_canonical(struct arena *a, str text, str *out);
int quantity_cmp(const struct quantity *a, const struct quantity *b);

#endif
