/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_AUTOSCALER_H
#define KINDS_FRAME_AUTOSCALER_H

/*
 * HorizontalPodAutoscalers are one store with two faces: autoscaling/v2, which is what is stored,
 * and v1, which knows one metric and keeps the others in annotations.
 * k8s: pkg/apis/autoscaling/v1/conversion.go
 */

#include "rest/kind.h"

/* What v1 says in the form of v2, not yet decoded by its table; and back. */
const struct json *autoscaler_to_v2(struct arena *a, const struct json *obj);
const struct json *autoscaler_to_v1(struct arena *a, const struct json *obj);

/* Of v2, and of whatever else has the same spec. */
const struct json *autoscaler_defaults(const struct kind_context *c, const struct json *obj);
void autoscaler_validate(const struct kind_context *c, const struct json *obj, struct status *st);

#endif
