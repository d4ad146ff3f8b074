/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_INSTANCE_LIMITS_H
#define SERVER_INSTANCE_LIMITS_H

/*
 * What one instance may use, so that others have their share: objects, bytes, requests at once,
 * watches.  An Instance says it in spec.limits; what it does not say is the server's default.  The
 * root instance, requests over all instances and the parts of our own program are not limited.
 *
 * Requests and watches are counted for instances that have some right now; an idle one costs
 * nothing.  Objects and bytes are what the store says it holds: writes that run at the same moment
 * do not see each other, so a limit may be passed by as much as is in flight.
 */

#include "rest/rest.h"

struct limits;

struct limits *limits_new(const struct instance_limits *defaults); /* 0: none */
void limits_free(struct limits *l);

enum limits_what { LIMITS_IN_FLIGHT, LIMITS_WATCHES };

/*
 * Counts one more.  False when that would be too many: *st says so (429).  *counted is set when
 * limits_leave must follow.  Any thread.
 */
bool limits_enter(struct limits *l, const struct instance *i, const struct identity *who,
                  enum limits_what what, bool *counted, struct status *st);
void limits_leave(struct limits *l, uint32_t instance, enum limits_what what);

/* 0, or -1 when the instance may not grow so (403). */
int limits_charge(const struct limits *l, struct store *s, const struct rest_request *req,
                  const struct rest_change *change, struct status *st)
    __attribute__((warn_unused_result));

#endif
