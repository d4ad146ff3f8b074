/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_H
#define APISERVER_AUDIT_AUDIT_H

/*
 * The audit: for each request that the policy selects, an audit.k8s.io/v1 Event is made on the
 * call's loop when a stage is reached, and passed as frozen bytes to a thread that writes or sends
 * it.  A call that the policy does not select has no `audit`, and costs one look at the policy.
 *
 * Of what people do, some is also recorded in the store, whatever the policy.
 *
 * An event for which there is no room is dropped and counted.  If the log or the webhook is
 * `blocking`, a request that would be audited is refused instead (503) before it takes effect, so
 * that nothing happens without a record.
 *
 * The audit is made before the server and freed after it.
 */

#include "apiserver/audit/audit_file.h"
#include "apiserver/audit/audit_policy.h"
#include "apiserver/audit/audit_webhook.h"

struct audit;
struct call;

struct audit_options {
    str policy;                    /* YAML; empty: audit_policy_default */
    struct audit_file_options log; /* path NULL: no log */
    bool blocking;
    struct audit_webhook_options webhook; /* config NULL: no webhook */
    bool webhook_blocking;
};

struct audit *audit_new(const struct audit_options *o, struct status *st);
/* Writes the queued events, and sends them within a time limit, before it frees. */
void audit_free(struct audit *a);

/*
 * What people do is recorded in the store from now on (apiserver/audit/audit_records.h), until it
 * is closed, which stores what waits.  Before the loops run, and after.
 */
struct rest;
struct kind;
int audit_open_records(struct audit *a, struct rest *r, const struct kind *k, struct status *st)
    __attribute__((warn_unused_result));
void audit_close_records(struct audit *a);

struct metrics_audit;
void audit_stats(const struct audit *a, struct metrics_audit *out);

/* The note of a login (rest_note) that says who logs in, if there is such a user. */
#define AUDIT_LOGIN "kairship.io/login"

/* ---- for the chain, on the call's loop ---- */

/* A step of the chain, after authentication.  Returns false when the call is answered. */
bool audit_begin(struct call *c);
/* Replaces audit_begin() when authentication fails; call it before the call is answered. */
void audit_begin_refused(struct call *c);

/* For calls that have `audit`: */
void audit_told(struct call *c);                              /* c->deed says more than before */
void audit_decided(struct call *c, bool allowed, str reason); /* by authorization */
void audit_failed(struct call *c, const struct status *why);  /* the error of the answer */
void audit_body(struct call *c, const str *pieces, size_t npieces); /* the bytes of the answer */
void audit_answered(struct call *c, int code);
void audit_ended(struct call *c); /* a streaming answer has ended */

#endif
