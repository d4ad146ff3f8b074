/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_RBAC_H
#define APISERVER_AUTH_RBAC_H

/*
 * Role-based access control of one instance: its Roles, ClusterRoles and bindings, read from the
 * store, compiled into frozen structures and evaluated without locks.
 *
 * A decision takes every change into account that was acknowledged before the question: a compiled
 * set carries the revision at which it was read, and the store tells whether one of these rows has
 * changed since (store_touched()).  A new set is built from the previous one; only the rows that
 * changed are read again.
 *
 * Instances that have written no such row share one set, compiled from the template rows.  The set
 * of another instance holds that instance's own rows only, layered over the shared set, and is kept
 * in a cache of bounded size.
 *
 * Any thread that is inside an epoch.  k8s: plugin/pkg/auth/authorizer/rbac
 */

#include "apiserver/auth/authz.h"
#include "base/listable.h"
#include "store/store.h"

struct seal;

#define RBAC_GROUP "rbac.authorization.k8s.io"

struct rbac;

/* cache_bytes limits the memory of the sets that belong to one instance.  Waits for the disk. */
struct rbac *rbac_new(struct store *s, struct seal *seal, size_t cache_bytes, struct status *st);
void rbac_free(struct rbac *r);

/*
 * rbac_is_ready() returns false when a decision would take long, because the instance has very many
 * rows that must be read first.  Then call rbac_prepare() on a worker: it enters an epoch itself,
 * and may wait for another thread that prepares the same instance.
 */
bool rbac_is_ready(struct rbac *r, struct arena *a, uint32_t instance);
void rbac_prepare(struct rbac *r, uint32_t instance);

/* When what decisions in the instance depend on was touched last (store_touched()); a few loads. */
uint64_t rbac_touched(struct rbac *r, uint32_t instance);

/*
 * Returns whether a rule allows access.  *reason, in the arena, names the binding and its subject,
 * or, when access is denied, the roles that are bound but do not exist.  When the store cannot be
 * read access is denied.
 */
bool rbac_allowed(struct rbac *r, struct arena *a, const struct access *x, str *reason);

/* The rules that apply to an identity in a namespace (empty: at cluster scope only). */
struct rbac_rules {
    /* Arrays of {verbs, apiGroups, resources, resourceNames} and {verbs, nonResourceURLs}, as
     * SelfSubjectRulesReview shows them. */
    const struct json *resource_rules, *non_resource_rules;
    str error; /* names the roles that are bound but do not exist; or empty */
};
int rbac_rules(struct rbac *r, struct arena *a, const struct identity *who,
               const struct instance *i, str namespace_, struct rbac_rules *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * What the identity may `list`, in each namespace and at cluster scope; the strings live in the
 * arena.  Rules with resourceNames give nothing.  Of more than RBAC_LISTABLE_MAX pairs of a group
 * and a resource the rest is left out.
 */
enum { RBAC_LISTABLE_MAX = 4096 };
int rbac_listable(struct rbac *r, struct arena *a, const struct identity *who,
                  const struct instance *i, struct listable *out, struct status *st)
    __attribute__((warn_unused_result));

/* Reads the rules of a Role, or of a ClusterRole (empty namespace), as an array.  NOT_FOUND when
 * there is no such role. */
int rbac_role_rules(struct rbac *r, struct arena *a, const struct instance *i, str namespace_,
                    str name, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Writes the rules (an array of PolicyRule trees) that the identity does not hold in the namespace
 * itself, one line each as Kubernetes writes a rule: `{APIGroups:[""], Resources:["pods"],
 * Verbs:["get"]}`.  *out is empty when it holds them all.
 */
int rbac_excess(struct rbac *r, struct arena *a, const struct identity *who,
                const struct instance *i, str namespace_, const struct json *rules, str *out,
                struct status *st) __attribute__((warn_unused_result));

#endif
