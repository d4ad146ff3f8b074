/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_INSTANCE_LIMITS_H
#define APISERVER_CALL_INSTANCE_LIMITS_H

/*
 * Limits of a single instance, which leave room for the others: objects, bytes, concurrent requests
 * and watches.  An Instance sets them in spec.limits; the server's defaults apply to fields that it
 * omits.  The root instance, requests over all instances and the program's own components are not
 * limited.
 *
 * Requests and watches are counted only for instances that have some; an idle one costs nothing.
 * Objects and bytes are those in the store: concurrent writes do not see each other, so the writes
 * in flight may exceed a limit.
 */

#include "rest/rest.h"

struct limits;

struct limits *limits_new(const struct instance_limits *defaults); /* 0: unlimited */
void limits_free(struct limits *l);

enum limits_what { LIMITS_IN_FLIGHT, LIMITS_WATCHES };

/*
 * Counts one more request or watch.  Returns false (429) when that would exceed the limit.  When
 * *counted is set, limits_leave() must follow.  Any thread.
 */
bool limits_enter(struct limits *l, const struct instance *i, const struct identity *who,
                  enum limits_what what, bool *counted, struct status *st);
void limits_leave(struct limits *l, uint32_t instance, enum limits_what what);

/* Returns 0, or -1 (403) when the write would make the instance exceed a limit. */
int limits_charge(const struct limits *l, struct store *s, const struct rest_request *req,
                  const struct rest_change *change, struct status *st)
    __attribute__((warn_unused_result));

#endif
