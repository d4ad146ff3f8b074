/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_WEBHOOK_H
#define SERVER_AUDIT_WEBHOOK_H

/*
 * The audit sent to a server that the operator names: batches of events as audit.k8s.io/v1
 * EventLists, one after the other, by a loop and thread of their own; the server's loops only put
 * events into a bounded buffer.
 *
 * What does not arrive is kept and sent again, after a pause that grows, while there is room.  Only
 * a batch that the other side refuses AUDIT_WEBHOOK_TRIES times (a 4xx: it may never take it) is
 * given up.  An event may arrive twice; its auditID and stage tell.
 */

#include "client/kubeconfig.h"
#include "server/audit_batch.h"
#include "server/audit_queue.h"

enum {
    AUDIT_WEBHOOK_BYTES = 64 << 20, /* that wait at most, */
    AUDIT_WEBHOOK_BATCH = 10 << 20, /* … and of one batch, unless one event is larger */
    AUDIT_WEBHOOK_TRIES = 5,        /* k8s: the steps of its back-off */
    AUDIT_WEBHOOK_TIMEOUT_MS = 30000,
    AUDIT_WEBHOOK_STOP_MS = 5000, /* for what waits when the server stops */
};

struct audit_webhook_options {
    const struct kubeconfig *config; /* of a person; its server is the URL to post to */
    struct audit_batch_options batch;
    size_t buffer; /* events that wait at most */
};

struct audit_webhook;

struct audit_webhook *audit_webhook_new(const struct audit_webhook_options *o, struct status *st);
/* Sends what is there, if the other side takes it in time, and ends the thread; how many were lost.
 */
size_t audit_webhook_free(struct audit_webhook *w);

/* With a reference of its own.  False: the buffer is full.  Any thread. */
bool audit_webhook_put(struct audit_webhook *w, struct bytes *event);
bool audit_webhook_has_room(struct audit_webhook *w);

uint64_t audit_webhook_given_up(const struct audit_webhook *w); /* events */

#endif
