/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_DEVICES_CHECK_H
#define KINDS_DEVICES_CHECK_H

/* What stands in claims, classes and slices alike: names, versions and expressions of devices.
 * k8s: pkg/apis/resource/validation */

#include "kinds/site.h"

/* An expression over `device`, which says yes or no. */
void devices_check_expression(struct status *st, const struct site *expression);
/* `name` or `domain/name`, at this place; with `full` the domain must be there. */
void devices_check_qualified(struct status *st, const struct site *at, str name, bool full);
/* One of the values of an attribute is a version, as semver.org says. */
void devices_check_version(struct status *st, const struct site *version);

#endif
