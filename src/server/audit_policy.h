/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_POLICY_H
#define SERVER_AUDIT_POLICY_H

/*
 * What of a request is written down: an audit.k8s.io/v1 Policy, compiled.
 *
 * The first rule that matches decides; without one nothing is written.  A policy is made once and
 * never changes, any thread may ask it.  Asking allocates nothing, and looks only at rules that the
 * verb leaves, so a read of which nothing is wanted costs next to nothing.
 */

#include "base/arena.h"
#include "base/identity.h"
#include "json/json.h"
#include "base/status.h"
#include "server/reqinfo.h"

enum audit_level { AUDIT_NONE, AUDIT_METADATA, AUDIT_REQUEST, AUDIT_REQUEST_RESPONSE };
enum audit_stage { AUDIT_RECEIVED, AUDIT_STARTED, AUDIT_COMPLETE, AUDIT_PANIC };

const char *audit_level_name(enum audit_level level); /* "Metadata" */
const char *audit_stage_name(enum audit_stage stage); /* "ResponseComplete" */

struct audit_decision {
    enum audit_level level;
    unsigned omitted; /* stages, as bits */
    bool omit_managed_fields;
};

enum { AUDIT_POLICY_MAX = 1 << 20, AUDIT_RULES_MAX = 1000 }; /* bytes and rules of one */

struct audit_policy;

/*
 * From YAML or JSON.  INVALID with all wrong fields, or BAD_REQUEST when it is no document; fields
 * that do not exist are wrong, too: a rule with a typing error would match more than was meant.
 */
struct audit_policy *audit_policy_new(str text, struct status *st);
void audit_policy_free(struct audit_policy *p);

/* The one that counts when nobody names another. */
extern const char audit_policy_default[];

/* `who` is NULL when nobody could be authenticated. */
struct audit_decision audit_policy_decide(const struct audit_policy *p, const struct identity *who,
                                          const struct reqinfo *info);

#endif
