/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_EVENT_RATE_H
#define SERVER_EVENT_RATE_H

/*
 * How many events may be written in a second: to an instance, to a namespace of it, by one user
 * there, or by one source about one object; what the operator says, or else the first three, so
 * that an hour of them is fewer objects than an instance may have (cmd: --event-ttl,
 * --instance-max-objects).  Dry runs are free.
 *
 * Each has a bucket of tokens, which is one point in time: when it will be full again.  The table
 * of a limit has a fixed size and knows only who has written lately; where there is no room the
 * bucket that is nearest to being full is forgotten.
 *
 * k8s: plugin/pkg/admission/eventratelimit
 */

#include "base/buf.h"
#include "base/status.h"
#include "server/admission_config.h"

struct event_rate;

/* Those limits; none: the defaults. */
struct event_rate *event_rate_new(const struct event_limit *limits, size_t n);
void event_rate_free(struct event_rate *r);

/*
 * One more event, in either of its forms.  -1 when there were too many: *st says so (429).  Any
 * thread.
 */
int event_rate_take(struct event_rate *r, uint32_t instance, str namespace_, str user,
                    const struct json *event, int64_t now_ms, struct status *st)
    __attribute__((warn_unused_result));

/* kairship_event_rate_*: what the limits are, and how often they were reached. */
void event_rate_print(struct event_rate *r, struct buf *out);

#endif
