/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_RESOURCE_SELECTOR_H
#define FEDERATION_CONTROLLERS_PROPAGATION_RESOURCE_SELECTOR_H

/* Which objects a policy means: spec.resourceSelectors.  karmada: pkg/util/selector.go */

#include "json/json.h"

/* How exactly an object is meant. */
enum resource_precision {
    RESOURCE_NOT_MEANT,
    RESOURCE_BY_KIND, /* apiVersion and kind, and the namespace if one is said */
    RESOURCE_BY_LABELS,
    RESOURCE_BY_NAME,
};

/* The best of the selectors; NOT_MEANT when there are none. */
enum resource_precision resource_precision(struct arena *a, const struct json *selectors,
                                           const struct json *object);

#endif
