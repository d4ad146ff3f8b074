/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PLATFORM_GHIPPO_WEBHOOK_H
#define FEDERATION_CONTROLLERS_PLATFORM_GHIPPO_WEBHOOK_H

/* What the ghippo-webhook controller remembers: its arg, zeroed at first. */

#include "base/map.h"

struct ghippo_webhook {
    struct map seen; /* by workspace; only the loop touches it */
};

void ghippo_webhook_release(struct ghippo_webhook *w); /* after the controller has stopped */

#endif
