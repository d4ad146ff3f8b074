/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_DEFAULTS_H
#define KINDS_DEFAULTS_H

/*
 * What every instance has by default: four namespaces, in each of them the service account
 * `default` and the CA certificate by which programs know the server, whom programs with ports may
 * let in, the roles and bindings of default_roles.txt, and the priorities, flow control and API
 * services of the system.
 */

#include "kinds/installation.h"

/* An array of objects for rest_write_templates, in the arena.  No CA's ConfigMaps without a CA. */
int defaults_make(struct arena *a, str ca_pem, const struct installation *here,
                  const struct json **out, struct status *st) __attribute__((warn_unused_result));

/*
 * Adds the roles and bindings of a text as in default_roles.txt to the array; INTERNAL with the
 * number of the line that cannot be read.
 */
int default_roles_read(str text, struct json_array *out, struct status *st)
    __attribute__((warn_unused_result));

/* Adds what is in kinds/default_objects.c. */
int system_defaults(struct json_array *out, struct status *st) __attribute__((warn_unused_result));

/*
 * How groups and versions of an instance's own are ordered among those of aggregated API servers:
 * as its API services say, and as Kubernetes has it for those of CRDs.
 */
struct api_priority {
    int group, version;
};
struct api_priority defaults_priority(str group, str version); /* version may be empty */

#endif
