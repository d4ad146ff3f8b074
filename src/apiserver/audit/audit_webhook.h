/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_WEBHOOK_H
#define APISERVER_AUDIT_AUDIT_WEBHOOK_H

/*
 * Sends the audit to a webhook of the operator: batches of events as audit.k8s.io/v1 EventLists,
 * one after the other.  It has a loop and thread of its own; the server's loops only put events
 * into a bounded buffer.
 *
 * A batch that does not arrive is kept and sent again, after a pause that grows.  Only a batch that
 * the webhook refuses AUDIT_WEBHOOK_TRIES times with a 4xx is given up.  An event may arrive twice;
 * receivers can tell by its auditID and stage.
 */

#include "apiserver/audit/audit_batch.h"
#include "apiserver/audit/audit_queue.h"
#include "client/kubeconfig.h"

enum {
    AUDIT_WEBHOOK_BYTES = 64 << 20, /* limit of waiting events, */
    AUDIT_WEBHOOK_BATCH = 10 << 20, /* and of a batch, unless one event is larger */
    AUDIT_WEBHOOK_TRIES = 5,        /* k8s: the steps of its back-off */
    AUDIT_WEBHOOK_TIMEOUT_MS = 30000,
    AUDIT_WEBHOOK_STOP_MS = 5000, /* for sending waiting events when the server stops */
};

struct audit_webhook_options {
    const struct kubeconfig *config; /* the operator's; its server is the URL to post to */
    struct audit_batch_options batch;
    size_t buffer; /* limit of waiting events */
};

struct audit_webhook;

struct audit_webhook *audit_webhook_new(const struct audit_webhook_options *o, struct status *st);
/* Sends the waiting events, if the webhook accepts them in time, and ends the thread.  Returns how
 * many events were lost. */
size_t audit_webhook_free(struct audit_webhook *w);

/* Takes its own reference to the event.  Returns false when the buffer is full.  Any thread. */
bool audit_webhook_put(struct audit_webhook *w, struct bytes *event);
bool audit_webhook_has_room(struct audit_webhook *w);

uint64_t audit_webhook_given_up(const struct audit_webhook *w); /* events */

#endif
