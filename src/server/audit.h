/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

/*
 * Who did what: of each request that the policy names an audit.k8s.io/v1 Event, made on the call's
 * loop when a stage is reached and handed over as frozen bytes; what writes or sends them is a
 * thread elsewhere.  A call that nothing is wanted of has no `audit` and costs one look at the
 * policy.
 *
 * When there is no room for an event it is dropped and counted; where the log or the webhook
 * is `blocking`, a request of which something is wanted is refused (503) before it does anything,
 * so that nothing happens unseen.
 *
 * Made before the server and freed after it.
 */

#include "server/audit_file.h"
#include "server/audit_policy.h"
#include "server/audit_webhook.h"

struct audit;
struct call;

struct audit_options {
    str policy;                    /* YAML; empty: audit_policy_default */
    struct audit_file_options log; /* path NULL: none */
    bool blocking;
    struct audit_webhook_options webhook; /* config NULL: none */
    bool webhook_blocking;
};

struct audit *audit_new(const struct audit_options *o, struct status *st);
void audit_free(struct audit *a); /* after what waits was written, and sent in time */

struct metrics_audit;
void audit_stats(const struct audit *a, struct metrics_audit *out);

/* ---- for the chain, on the call's loop ---- */

/* A step of it, when it is known who asks; false: answered. */
bool audit_begin(struct call *c);
/* In place of it when the credential is no good, before that is answered. */
void audit_begin_refused(struct call *c);

/* Of a call that has `audit`: */
void audit_decided(struct call *c, bool allowed, str reason);
void audit_failed(struct call *c, const struct status *why);        /* what is answered, */
void audit_body(struct call *c, const str *pieces, size_t npieces); /* … and its bytes */
void audit_answered(struct call *c, int code);
void audit_ended(struct call *c); /* an answer that was open */

#endif
