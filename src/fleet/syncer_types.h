/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_SYNCER_TYPES_H
#define FLEET_SYNCER_TYPES_H

/* Which types of labelled objects a syncer handles.  Everything is in the arena. */

#include "fleet/syncer.h"

struct syncer_types {
    struct syncer_type *types; /* sorted, each resource once */
    size_t n;
};

/*
 * What was negotiated: those APIResourceImports of the list whose location is the cluster, that are
 * Compatible and Available and in namespaces.  Pure.
 */
struct syncer_types syncer_types_of(struct arena *a, const struct json *imports, str cluster);

/* The same by asking for the list; blocks. */
int syncer_types_imported(struct client *c, struct arena *a, str instance, str cluster,
                          struct syncer_types *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * "deployments.apps,configmaps": each in the version that the source prefers; blocks.  A group that
 * it does not have (yet) is left out.
 */
int syncer_types_named(struct client *c, struct arena *a, str instance, str names,
                       struct syncer_types *out, struct status *st)
    __attribute__((warn_unused_result));

bool syncer_types_equal(const struct syncer_types *a, const struct syncer_types *b);

/* ["deployments.apps", …]: a Cluster's status.syncedResources. */
const struct json *syncer_types_json(struct arena *a, const struct syncer_types *t);

#endif
