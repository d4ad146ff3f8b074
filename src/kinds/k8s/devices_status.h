/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_DEVICES_STATUS_H
#define KINDS_K8S_DEVICES_STATUS_H

/* What a ResourceClaim was given, and who uses it.  k8s: pkg/apis/resource/validation
 * validateResourceClaimStatusUpdate */

#include "kinds/frame/site.h"
#include "rest/kind.h"

void devices_check_status(struct status *st, const struct json *obj, const struct json *old);

/* The name of a request, or of one of its ways behind a slash; `names` holds all of both. */
void devices_check_mention(struct status *st, const struct site *name, const struct map *names);
void devices_gather_names(struct arena *a, const struct json *spec, struct map *names);

#endif
