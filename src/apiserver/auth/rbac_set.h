/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_RBAC_SET_H
#define APISERVER_AUTH_RBAC_SET_H

/*
 * All roles and bindings of one instance at one revision, linked and indexed by subject; frozen.
 * The set of an instance holds its own rows only, and is layered over the set of the template rows.
 */

#include "apiserver/auth/rbac_rule.h"

struct seal;

enum rbac_type { RBAC_CLUSTER_ROLES, RBAC_ROLES, RBAC_CLUSTER_BINDINGS, RBAC_BINDINGS, RBAC_TYPES };

struct rbac_run { /* in the order of keys */
    struct rbac_row **at;
    size_t n, cap;
};

struct rbac_link; /* a subject of a binding, in the index */

struct rbac_set {
    atomic_uint refs;
    uint32_t instance;
    uint64_t rev; /* at which it was read */
    size_t bytes;
    atomic_uint used;      /* private to the cache */
    struct rbac_set *base; /* NULL: this is the base itself */
    struct rbac_run runs[RBAC_TYPES];
    /* The role of each binding, cluster-wide bindings first; NULL when the role does not exist. */
    const struct rbac_role **role_of;
    /* The same for the base's bindings, where the instance changes the role; RBAC_GONE for bindings
     * of the base that the instance has replaced or deleted. */
    const struct rbac_role **base_role_of;
    struct rbac_link *links;
    uint32_t *buckets; /* 1 + the first link of those with this hash, a power of two */
    size_t nlinks, nbuckets;
};

extern const struct rbac_role rbac_gone;
#define RBAC_GONE (&rbac_gone)

/*
 * Compiles the current rows of the instance over the base (NULL: the result is the base).  Rows
 * that are unchanged in `before`, which may be NULL, are not read again.  NULL when the store
 * cannot be read.
 */
struct rbac_set *rbac_set_new(struct store *s, struct seal *seal, const uint32_t types[RBAC_TYPES],
                              uint32_t instance, struct rbac_set *base,
                              const struct rbac_set *before, struct status *st);
struct rbac_set *rbac_set_ref(struct rbac_set *set);
void rbac_set_unref(struct rbac_set *set);

/*
 * Calls fn for every binding that has the identity as a subject, until fn returns false: first the
 * cluster-wide bindings, then those of the namespace, if one is given.  A binding is visited once
 * for each matching subject.  role is NULL when the binding's role does not exist.
 */
typedef bool rbac_visit_fn(void *arg, const struct rbac_binding *b, const struct rbac_subject *s,
                           const struct rbac_role *role);
void rbac_set_visit(const struct rbac_set *set, const struct identity *who, str namespace_,
                    rbac_visit_fn *fn, void *arg);

/* The same for the bindings of all namespaces, cluster-wide ones first.  Looks at every binding. */
void rbac_set_visit_all(const struct rbac_set *set, const struct identity *who, rbac_visit_fn *fn,
                        void *arg);

/* Returns a Role, or a ClusterRole with an empty namespace; NULL when it does not exist. */
const struct rbac_role *rbac_set_role(const struct rbac_set *set, str namespace_, str name);

#endif
