/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_QUOTA_H
#define APISERVER_ADMISSION_QUOTA_H

/*
 * ResourceQuotas.  A row in the store, the ledger, holds the usage of all quotas of a namespace.
 * Every write that changes the usage updates the ledger in its own transaction, which fails if the
 * ledger has changed since the write was admitted: of two creates that compete for the last unit,
 * one is admitted again and refused.  To make that rare, such writes take turns
 * (apiserver/admission/quota_gate.h). The status of a quota follows the ledger
 * (apiserver/upkeep/upkeep.h).  Namespaces without quotas have no ledger and no cost.
 *
 * A deletecollection does not update the ledger, so that its deletions do not wait for each other;
 * usage is counted again afterwards, as for a new quota.  The ledger never shows less than is used.
 */

#include "object/meta/amounts.h"
#include "rest/rest.h"

/* Implements rest_admission.charge. */
int quota_charge(struct rest_request *req, const struct rest_change *change, struct store_op *op,
                 struct status *st) __attribute__((warn_unused_result));

/* ---- what an object uses (quota_use.c) ---- */

/* Returns whether the quota limits anything of this kind. */
bool quota_concerns(const struct json *quota, const struct kind *k);
/* Returns whether the quota limits only the number of objects of this kind. */
bool quota_only_counts(const struct json *quota, const struct kind *k);

/* Returns the usage of the object by the names that the quota limits; empty when it limits none. */
struct amounts quota_use(struct arena *a, const struct json *quota, const struct kind *k,
                         const struct json *obj);

/* Returns the usage of the object by all names that a quota could limit. */
struct amounts quota_use_all(struct arena *a, const struct kind *k, const struct json *obj);

/* Returns whether the object is in the scope; only Pods and PersistentVolumeClaims can be. */
bool quota_in_scope(const struct kind *k, const struct json *obj, str scope, str op,
                    const struct json *values);

/* Returns whether the quota limits the object's usage by that name. */
bool quota_covers(const struct json *quota, const struct kind *k, const struct json *obj, str name);

/* Returns the compute resources that the quota limits and containers of the pod omit; or empty. */
str quota_missing(struct arena *a, const struct json *quota, const struct json *pod);

/* ---- resources that need a quota (quota_limited.c) ---- */

/*
 * Refuses an object that uses one of the operator's limitedResources, or is in one of their scopes,
 * when no quota of the namespace covers it.  `limited` is that list
 * (apiserver/admission/admission_config.h), or NULL.
 */
int quota_check_limited(struct rest_request *req, const struct json *limited,
                        const struct json *quotas, const struct rest_change *change,
                        struct status *st) __attribute__((warn_unused_result));

/* ---- the ledger ---- */

struct store_key quota_ledger_key(uint32_t instance, str namespace_);

/* Returns the quota's usage, found by name and uid; NULL when it has not been counted yet. */
const struct json *quota_ledger_used(const struct json *ledger, const struct json *quota);

/* Sets the quota's usage. */
void quota_ledger_put(struct json_object *ledger, const struct json *quota,
                      const struct amounts *used);

/* Reads all quotas of the namespace, as an array.  Call it inside an epoch. */
int quota_list(struct rest *r, struct arena *a, const struct instance *i,
               const struct catalog *catalog, str namespace_, const struct json **out,
               struct status *st) __attribute__((warn_unused_result));

#endif
