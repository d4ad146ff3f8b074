/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_POD_RESIZE_H
#define KINDS_K8S_POD_RESIZE_H

#include "base/status.h"
#include "json/json.h"

/* The old pod with what a resize may change; what was sent if containers come, go or move. */
const struct json *pod_resized(struct arena *a, const struct json *obj, const struct json *old);

/* What of that is refused. */
void pod_check_resize(struct status *st, const struct json *obj, const struct json *old);

#endif
