/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_FLEET_H
#define FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_FLEET_H

/*
 * The clusters of instances as the scheduler sees them, parsed once.
 *
 * Only instances that had something to schedule lately are held, a bounded number of them.  A
 * change of a Cluster makes its part stale, and the next who asks reads that part again; what was
 * handed out does not change.  Of all other clusters only a fingerprint is known, to tell a change
 * that counts from a heartbeat.  Any thread.
 */

#include "client/informer.h"
#include "federation/sched/sched.h"

struct scheduler_fleets;

struct scheduler_fleets *scheduler_fleets_new(void);
void scheduler_fleets_free(struct scheduler_fleets *f);

/*
 * This Cluster (NULL: it is gone) is as it is now.  True when decisions may differ for it: labels,
 * taints, provider, region, zones, APIs, its beginning or end.
 */
bool scheduler_fleets_note(struct scheduler_fleets *f, const struct informer_key *k,
                           const struct json *cluster);

struct scheduler_snapshot {
    const struct sched_cluster *const *clusters; /* sorted by name */
    size_t n;
};

/* The clusters of an instance; they live as long as the arena.  Blocks when something is stale. */
int scheduler_fleets_get(struct scheduler_fleets *f, struct client *client, struct arena *a,
                         str instance, struct scheduler_snapshot *out, struct status *st)
    __attribute__((warn_unused_result));

/* The cluster of that name, or NULL. */
const struct sched_cluster *scheduler_snapshot_find(const struct scheduler_snapshot *s, str name);

#endif
