/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_SCALE_H
#define REST_SCALE_H

/*
 * The subresource "scale": whatever says how many it wants to be (struct scale of rest/kind.h) seen
 * as an autoscaling/v1 Scale.  It is read and written through the parent's row; what the parent's
 * kind checks on an update is checked here, too.
 */

#include "rest/rest_internal.h"

/* get, update, patch and apply. */
void serve_scale(struct rest_request *req);

#endif
