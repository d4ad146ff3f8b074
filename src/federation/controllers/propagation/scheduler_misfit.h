/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_MISFIT_H
#define FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_MISFIT_H

/*
 * Replicas that have found no room where they were placed: the member is full, has pods that wait
 * for a node, and the binding's copy there is not complete.  They do not run, so they may be placed
 * elsewhere; what runs stays.  Of Deployments alone, whose replicas are alike.  Pure.
 */

#include "federation/sched/sched.h"

/* Whether the copies are to be looked at again: some are not complete. */
bool scheduler_misfit_possible(const struct json *binding);

/*
 * The binding's spec.clusters as far as they run, so that the decision about it places the rest; d
 * is the decision about the binding as it is.  NULL: all that is not complete has room, or is not
 * known to have none.
 */
const struct json *scheduler_misfit_previous(struct arena *a, const struct json *binding,
                                             const struct sched_decision *d);

#endif
