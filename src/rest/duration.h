/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_DURATION_H
#define REST_DURATION_H

/*
 * How long ago, as tables say it: `5s`, `3m2s`, `179m`, `2h5m`, `4d3h`, `1y2d`.
 * k8s: apimachinery/pkg/util/duration HumanDuration
 */

#include "base/arena.h"
#include "base/str.h"

str duration_text(struct arena *a, int64_t seconds);

/* Since an RFC 3339 time of either form (whole seconds or six digits); `<unknown>` without one. */
str duration_since(struct arena *a, str time, int64_t now_s);

#endif
