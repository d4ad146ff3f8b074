/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_QUOTA_H
#define SERVER_QUOTA_H

/*
 * ResourceQuotas.  What is used of the quotas of a namespace is a row of its own, its ledger, which
 * every write that uses more or less carries in its transaction, expecting it as it was when the
 * write was admitted: so of two creates for the last unit one is done again, and refused.
 * To keep that rare such writes take turns (server/quota_gate.h).  A quota's status follows
 * (server/upkeep.h).  Namespaces without quotas have no ledger and no cost.
 *
 * A collection's deletion leaves the ledger alone, lest all its members wait for each other; the
 * ledger is counted anew behind it, as for a new quota.  It never shows less than is used.
 */

#include "meta/amounts.h"
#include "rest/rest.h"

/* See rest_admission.charge. */
int quota_charge(struct rest_request *req, const struct rest_change *change, struct store_op *op,
                 struct status *st) __attribute__((warn_unused_result));

/* ---- what an object uses (quota_use.c) ---- */

/* The quota says something about objects of this kind. */
bool quota_concerns(const struct json *quota, const struct kind *k);
/* It wants to know only how many there are of this kind. */
bool quota_only_counts(const struct json *quota, const struct kind *k);

/* What the object takes, by the names that the quota limits; nothing if it is not concerned. */
struct amounts quota_use(struct arena *a, const struct json *quota, const struct kind *k,
                         const struct json *obj);

/* By all names that a quota could limit. */
struct amounts quota_use_all(struct arena *a, const struct kind *k, const struct json *obj);

/* It is in that scope; only pods and claims are in any. */
bool quota_in_scope(const struct kind *k, const struct json *obj, str scope, str op,
                    const struct json *values);

/* What the object uses by that name is limited by the quota. */
bool quota_covers(const struct json *quota, const struct kind *k, const struct json *obj, str name);

/* Compute resources that the quota limits and containers of the pod do not name; or empty. */
str quota_missing(struct arena *a, const struct json *quota, const struct json *pod);

/* ---- what some quota must cover (quota_limited.c) ---- */

/*
 * The operator's limitedResources (server/admission_config.h), or NULL.  An object that uses one
 * of them, or is in one of their scopes, is refused where no quota of the namespace says how much.
 */
int quota_check_limited(struct rest_request *req, const struct json *limited,
                        const struct json *quotas, const struct rest_change *change,
                        struct status *st) __attribute__((warn_unused_result));

/* ---- the ledger ---- */

struct store_key quota_ledger_key(uint32_t instance, str namespace_);

/* What it says of a quota, by name and uid; NULL: nothing yet. */
const struct json *quota_ledger_used(const struct json *ledger, const struct json *quota);

/* With that. */
void quota_ledger_put(struct json_object *ledger, const struct json *quota,
                      const struct amounts *used);

/* All quotas of the namespace, as an array; inside an epoch. */
int quota_list(struct rest *r, struct arena *a, const struct instance *i,
               const struct catalog *catalog, str namespace_, const struct json **out,
               struct status *st) __attribute__((warn_unused_result));

#endif
