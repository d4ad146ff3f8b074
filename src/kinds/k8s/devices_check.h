/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_DEVICES_CHECK_H
#define KINDS_K8S_DEVICES_CHECK_H

/* What stands in claims, classes and slices alike: names, versions and expressions of devices.
 * k8s: pkg/apis/resource/validation */

#include "kinds/frame/site.h"

/* Of a list that is too long nothing else is said: it is none then.  k8s: validateSlice */
void devices_check_count(struct status *st, struct site *list, int most);
/* The name of a driver, and of a pool: names of domains with slashes between them. */
void devices_check_driver(struct status *st, const struct site *driver);
void devices_check_pool(struct status *st, const struct site *pool);
/* What a driver is told of a device, in its own words. */
void devices_check_opaque(struct status *st, const struct site *config);
/* An expression over `device`, which says yes or no. */
void devices_check_expression(struct status *st, const struct site *expression);
/* `name` or `domain/name`, at this place; with `full` the domain must be there. */
void devices_check_qualified(struct status *st, const struct site *at, str name, bool full);
/* One of the values of an attribute is a version, as semver.org says. */
void devices_check_version(struct status *st, const struct site *version);

#endif
