/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_PODSPEC_PARTS_H
#define KINDS_PODSPEC_PARTS_H

/* What the files podspec*.c tell each other; podspec.h is for all others. */

#include "kinds/podspec.h"

/* lifecycle, livenessProbe, readinessProbe, startupProbe of a container. */
void podspec_check_probes(struct status *st, const struct site *container, const struct json *spec);

/* securityContext of a container, or of the pod itself. */
void podspec_check_security(struct status *st, const struct site *container,
                            const struct json *spec);
void podspec_check_pod_security(struct status *st, const struct site *spec);

#endif
