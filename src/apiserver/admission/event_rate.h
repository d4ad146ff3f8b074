/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_EVENT_RATE_H
#define APISERVER_ADMISSION_EVENT_RATE_H

/*
 * Limits how many Events may be written in a second: to an instance, to a namespace, by a user, or
 * by one source about one object.  The operator configures the limits.  The defaults are the first
 * three, set so that the Events of an hour are fewer objects than an instance may have (cmd:
 * --event-ttl, --instance-max-objects).  Dry runs do not count.
 *
 * Each key has a token bucket, stored as the time when it will be full again.  The table of a limit
 * has a fixed size and holds the keys that wrote recently; when there is no room, the bucket that
 * is nearest to full is dropped.
 *
 * k8s: plugin/pkg/admission/eventratelimit
 */

#include "apiserver/admission/admission_config.h"
#include "base/buf.h"
#include "base/status.h"

struct event_rate;

/* With n of 0 the defaults apply. */
struct event_rate *event_rate_new(const struct event_limit *limits, size_t n);
void event_rate_free(struct event_rate *r);

/*
 * Counts an Event of core/v1 or events.k8s.io.  Returns 0, or -1 (429) when a limit is exceeded.
 * Any thread.
 */
int event_rate_take(struct event_rate *r, uint32_t instance, str namespace_, str user,
                    const struct json *event, int64_t now_ms, struct status *st)
    __attribute__((warn_unused_result));

/* Writes the metrics kairship_event_rate_*: the limits, and how often each refused an Event. */
void event_rate_print(struct event_rate *r, struct buf *out);

#endif
