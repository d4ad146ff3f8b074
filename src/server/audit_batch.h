/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_BATCH_H
#define SERVER_AUDIT_BATCH_H

/*
 * When a batch of events goes: when it is full or the first of them has waited long enough, not
 * more often than the throttle says, and after a failure not before a pause that grows.
 *
 * Pure: times are the caller's, in milliseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUDIT_PAUSE_MAX_MS = 60000 }; /* unless the first is longer */

struct audit_batch_options {
    size_t max_size;     /* events of one */
    int64_t max_wait_ms; /* of the first of them */
    int64_t qps, burst;  /* batches a second, and at once; qps 0: any number */
    int64_t pause_ms;    /* after the first failure; then half as long again each time */
};

struct audit_batch {
    struct audit_batch_options o;
    bool waits; /* something does, since: */
    int64_t since_ms;
    int64_t thousandths, filled_ms; /* of batches that may go at once, at that time */
    int64_t pause_ms, not_before_ms;
};

void audit_batch_init(struct audit_batch *b, const struct audit_batch_options *o, int64_t now_ms);

/* There is something to send; the first time counts. */
void audit_batch_waits(struct audit_batch *b, int64_t now_ms);

/* How long until a batch of so many goes: 0 is now, -1 never. */
int64_t audit_batch_due(struct audit_batch *b, int64_t now_ms, size_t waiting);

/* What waited is in a batch; it goes now, perhaps not for the first time; how that ended. */
void audit_batch_taken(struct audit_batch *b);
void audit_batch_goes(struct audit_batch *b, int64_t now_ms);
void audit_batch_failed(struct audit_batch *b, int64_t now_ms);
void audit_batch_arrived(struct audit_batch *b);

#endif
