/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_FRAME_TENANCY_H
#define FEDERATION_CONTROLLERS_FRAME_TENANCY_H

/* What the controllers of instances share: tenancy.kairship.io/v1alpha1, in the root instance. */

#include "base/map.h"
#include "client/client.h"

#define INSTANCE_REF                                                               \
    {                                                                              \
        .group = STR_INIT("tenancy.kairship.io"), .version = STR_INIT("v1alpha1"), \
        .resource = STR_INIT("instances")                                          \
    }

/* Of Container Management, in the root instance: members, and an instance's virtual cluster. */
#define REGISTRY_REF                                                             \
    {                                                                            \
        .group = STR_INIT("fleet.kairship.io"), .version = STR_INIT("v1alpha1"), \
        .resource = STR_INIT("clusters")                                         \
    }

/* Of an instance: it has members to be detached. */
#define FINALIZER_MEMBERS "kairship.io/members"

/* Works that take the roles of Global Management into the members: this, and the ClusterRole. */
#define PEOPLE_WORK "kairship-people-"

static inline struct client_ref instance_ref(str name)
{
    struct client_ref ref = INSTANCE_REF;

    ref.name = name;
    return ref;
}

/* The instance if it is about to go, else NULL; root, the empty name, never is. */
const struct json *instance_ending(struct client *client, struct arena *a, str name);

/*
 * Whether nothing of it may be written to members: spec.suspended, as long as the instance is not
 * on its way out, which ends with what its release said.  root, the empty name, never is.
 */
int instance_suspended(struct client *client, struct arena *a, str name, bool *out,
                       struct status *st) __attribute__((warn_unused_result));

/* The condition of a Cluster, Karmada's or kcp's, by which a syncer that runs elsewhere hears it.
 */
#define CLUSTER_SUSPENDED "Suspended"
const struct json *cluster_suspended_set(struct arena *a, const struct json *conditions,
                                         bool suspended, int64_t now_s);

/* The suspended instances that a controller has heard of; zeroed at first.  One loop's. */
struct suspensions {
    struct map names;
};
/* This Instance (NULL: gone) is as it is now; true when it is about its suspension. */
bool suspensions_note(struct suspensions *s, str name, const struct json *instance);
void suspensions_release(struct suspensions *s);

/* "k-demo": the name of its virtual cluster; one that begins so already has it itself. */
static inline str virtual_cluster_name(struct arena *a, str instance)
{
    return str_starts(instance, STR("k-")) ? instance : str_printf(a, "k-%.*s", STR_ARG(instance));
}

#endif
