/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_SYNCER_LEAVE_H
#define FLEET_SYNCER_LEAVE_H

/*
 * Takes away what the feed of labels (fleet/syncer.h) has put into a member: the namespaces whose
 * locator names the instance and its installation, with all that is in them.  After its syncer has
 * ended, or it would put them back.  Blocks; any thread but the client's loop.
 */

#include "fleet/owner.h"

/* How many are still there, being deleted; -1 with *st. */
int syncer_leave(struct client *member, struct arena *a, const struct ownership *who, str logical,
                 struct status *st) __attribute__((warn_unused_result));

#endif
