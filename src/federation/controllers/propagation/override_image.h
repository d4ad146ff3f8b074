/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_OVERRIDE_IMAGE_H
#define FEDERATION_CONTROLLERS_PROPAGATION_OVERRIDE_IMAGE_H

/* For the files of override. */

#include "federation/controllers/propagation/override.h"

/* An image's name as an imageOverrider changes it. */
int override_image_change(struct arena *a, str image, const struct json *overrider, str *out,
                          struct status *st) __attribute__((warn_unused_result));

#endif
