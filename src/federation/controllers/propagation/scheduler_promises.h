/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_PROMISES_H
#define FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_PROMISES_H

/*
 * Room in members that was given out and does not show in what they tell yet: a decision takes
 * effect there after seconds, and members are looked at every few seconds.  Without it all that is
 * decided meanwhile would be given the same room.
 *
 * A promise is kept until the member has so many pods more than before, first come first served, or
 * until its time is over.  It only helps to decide well: after a restart there are none.  Bounded;
 * any thread.
 */

#include "federation/sched/sched.h"

struct scheduler_promises;

struct scheduler_promises *scheduler_promises_new(void);
void scheduler_promises_free(struct scheduler_promises *p);

/* Whose promise it is: a binding of an instance. */
struct scheduler_promiser {
    str instance, key;
};

/*
 * What is promised in the instance now, for a request, by name of cluster; in the arena.  The
 * number says which promises these are.
 */
uint64_t scheduler_promises_get(struct scheduler_promises *p, struct arena *a, str instance,
                                int64_t now_ms, struct sched_request *r);

/*
 * Promises what the decision gives beyond what there was, and takes back what it gives no more.
 * False, and nothing is promised, if room counts in it and others have been promised some since
 * `known`: then it has to be decided again.
 */
bool scheduler_promises_make(struct scheduler_promises *p, const struct scheduler_promiser *who,
                             uint64_t known, const struct sched_request *r,
                             const struct sched_decision *d, int64_t now_ms);

/* All of the binding's: it has gone, or its decision was not written. */
void scheduler_promises_drop(struct scheduler_promises *p, const struct scheduler_promiser *who);

/* The Cluster as it is now: it has so many pods. */
void scheduler_promises_seen(struct scheduler_promises *p, str instance,
                             const struct json *cluster);

#endif
