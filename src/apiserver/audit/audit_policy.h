/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_POLICY_H
#define APISERVER_AUDIT_AUDIT_POLICY_H

/*
 * A compiled audit.k8s.io/v1 Policy: it decides what the audit records of a request.
 *
 * The first rule that matches decides; if no rule matches, nothing is recorded.  A policy is
 * frozen, and any thread may use it.  A decision allocates nothing and tests only the rules that
 * can match the verb, so that requests which are not audited cost almost nothing.
 */

#include "apiserver/call/reqinfo.h"
#include "base/arena.h"
#include "base/identity.h"
#include "base/status.h"
#include "json/json.h"

enum audit_level { AUDIT_NONE, AUDIT_METADATA, AUDIT_REQUEST, AUDIT_REQUEST_RESPONSE };
enum audit_stage { AUDIT_RECEIVED, AUDIT_STARTED, AUDIT_COMPLETE, AUDIT_PANIC };

const char *audit_level_name(enum audit_level level); /* "Metadata" */
const char *audit_stage_name(enum audit_stage stage); /* "ResponseComplete" */

struct audit_decision {
    enum audit_level level;
    unsigned omitted; /* omitted stages, as bits */
    bool omit_managed_fields;
};

enum { AUDIT_POLICY_MAX = 1 << 20, AUDIT_RULES_MAX = 1000 }; /* bytes and rules of one policy */

struct audit_policy;

/*
 * Compiles a policy from YAML or JSON.  Fails with INVALID, which lists every invalid field, or
 * BAD_REQUEST when the text is not such a document.  An unknown field is invalid, because a rule
 * with a misspelled field would match more than its author meant.
 */
struct audit_policy *audit_policy_new(str text, struct status *st);
void audit_policy_free(struct audit_policy *p);

/* The policy that is used when the operator gives none. */
extern const char audit_policy_default[];

/* Returns what is recorded of the request.  `who` is NULL when authentication failed. */
struct audit_decision audit_policy_decide(const struct audit_policy *p, const struct identity *who,
                                          const struct reqinfo *info);

#endif
