/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_BATCH_H
#define APISERVER_AUDIT_AUDIT_BATCH_H

/*
 * Decides when a batch of events is sent: when it is full, or its first event has waited long
 * enough; never faster than the throttle allows; and after a failure only after a pause, which
 * grows.
 *
 * Pure: the caller passes the time, in milliseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUDIT_PAUSE_MAX_MS = 60000 }; /* or pause_ms, if that is longer */

struct audit_batch_options {
    size_t max_size;     /* events in a batch */
    int64_t max_wait_ms; /* how long the first event waits for a batch to fill */
    int64_t qps, burst;  /* batches a second, and at once; qps 0: unlimited */
    int64_t pause_ms;    /* after the first failure; grows by half with each further failure */
};

struct audit_batch {
    struct audit_batch_options o;
    bool waits; /* an event has been waiting since since_ms */
    int64_t since_ms;
    int64_t thousandths, filled_ms; /* of a batch: how much the throttle allowed at filled_ms */
    int64_t pause_ms, not_before_ms;
};

void audit_batch_init(struct audit_batch *b, const struct audit_batch_options *o, int64_t now_ms);

/* Notes that an event waits; the first call since audit_batch_taken() starts the wait. */
void audit_batch_waits(struct audit_batch *b, int64_t now_ms);

/* Returns the milliseconds until a batch of the waiting events is due; 0: now, -1: none waits. */
int64_t audit_batch_due(struct audit_batch *b, int64_t now_ms, size_t waiting);

/* The caller reports: */
void audit_batch_taken(struct audit_batch *b);                  /* a batch has the waiting events */
void audit_batch_goes(struct audit_batch *b, int64_t now_ms);   /* it is sent, or sent again */
void audit_batch_failed(struct audit_batch *b, int64_t now_ms); /* sending failed */
void audit_batch_arrived(struct audit_batch *b);                /* sending succeeded */

#endif
