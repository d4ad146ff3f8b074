/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RBAC_H
#define SERVER_RBAC_H

/*
 * Role-based access control of one instance: its Roles, ClusterRoles and bindings, read from the
 * store, turned into frozen structures and asked without locks.
 *
 * What is asked always knows all that was acknowledged before: a compiled set carries the revision
 * it was read at, and the store tells whether one of these rows has changed since
 * (store_touched()).  A set is made again from the one before: only rows that changed are read
 * again.
 *
 * Instances that have written no such row share one set, that of the template rows.  An instance
 * that has keeps its own rows only, over the shared ones, in a cache of bounded size.
 *
 * Any thread that is inside an epoch.  k8s: plugin/pkg/auth/authorizer/rbac
 */

#include "server/authz.h"
#include "store/store.h"

struct seal;

#define RBAC_GROUP "rbac.authorization.k8s.io"

struct rbac;

/* cache_bytes: how much the sets of single instances may take together.  Waits for the disk. */
struct rbac *rbac_new(struct store *s, struct seal *seal, size_t cache_bytes, struct status *st);
void rbac_free(struct rbac *r);

/*
 * False when an answer would take long, because the instance has a great many rows and they were
 * not read lately: then prepare it on a worker (which enters an epoch itself, and may wait for
 * another who prepares).
 */
bool rbac_is_ready(struct rbac *r, struct arena *a, uint32_t instance);
void rbac_prepare(struct rbac *r, uint32_t instance);

/*
 * True when a rule allows it; *reason says which binding gave it to whom, or, when none does, which
 * roles were bound and are not there.  In the arena.  When the store cannot be read nobody is
 * allowed anything.
 */
bool rbac_allowed(struct rbac *r, struct arena *a, const struct access *x, str *reason);

/* What an identity may do in a namespace (empty: at cluster scope only). */
struct rbac_rules {
    /* Arrays of {verbs, apiGroups, resources, resourceNames} and {verbs, nonResourceURLs}, as
     * SelfSubjectRulesReview shows them. */
    const struct json *resource_rules, *non_resource_rules;
    str error; /* empty, or which roles were bound and are not there */
};
int rbac_rules(struct rbac *r, struct arena *a, const struct identity *who,
               const struct instance *i, str namespace_, struct rbac_rules *out, struct status *st)
    __attribute__((warn_unused_result));

/* The rules of a Role, or of a ClusterRole (empty namespace), as an array; NOT_FOUND. */
int rbac_role_rules(struct rbac *r, struct arena *a, const struct instance *i, str namespace_,
                    str name, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * What of these rules (an array of PolicyRule trees) the identity does not hold in the namespace
 * itself: one line each, as Kubernetes writes a rule, `{APIGroups:[""], Resources:["pods"],
 * Verbs:["get"]}`; empty when it holds them all.
 */
int rbac_excess(struct rbac *r, struct arena *a, const struct identity *who,
                const struct instance *i, str namespace_, const struct json *rules, str *out,
                struct status *st) __attribute__((warn_unused_result));

#endif
