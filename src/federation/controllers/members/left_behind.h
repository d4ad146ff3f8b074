/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_LEFT_BEHIND_H
#define FEDERATION_CONTROLLERS_MEMBERS_LEFT_BEHIND_H

/*
 * What a member that could not be reached still runs when its Cluster was removed.
 *
 * It is listed in status.leftBehind of the member's entry in the registry
 * (clusters.fleet.kairship.io of the root instance), which stays for it, and told by an event of
 * the Cluster.  When that member joins the instance again, what is on the list
 * and nobody wants there any more is deleted: only objects that still carry the permanent id of the
 * very Work that had made them. Namespaces and CustomResourceDefinitions stay, since what others
 * have put into them would go, too.
 */

#include "federation/controllers/members/clusters.h"

/* Of a Cluster that is being deleted: what it leaves behind is written down, its Works may go. */
bool left_behind_is_noted(const struct json *cluster);

/*
 * Writes down what the Works of the Cluster have put into the member, and marks the Cluster with
 * it; nothing when that was done.
 */
int left_behind_note(const struct clusters *c, struct client *client, struct arena *a,
                     const struct informer_key *k, const struct json *cluster, struct status *st)
    __attribute__((warn_unused_result));

#endif
