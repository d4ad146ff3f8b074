/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RBAC_SET_H
#define SERVER_RBAC_SET_H

/*
 * All roles and bindings of one instance at one revision, linked and indexed by subject; frozen.
 * The set of an instance holds its own rows only, and lies over the set of the template rows.
 */

#include "server/rbac_rule.h"

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
    uint64_t rev; /* it was read at */
    size_t bytes;
    atomic_uint used;      /* the cache's */
    struct rbac_set *base; /* NULL: is the base itself */
    struct rbac_run runs[RBAC_TYPES];
    /* Of each binding, cluster-wide ones first: its role, or NULL when there is none. */
    const struct rbac_role **role_of;
    /* The same for the base's bindings, where that is different; the bindings that do not count are
     * given as RBAC_GONE. */
    const struct rbac_role **base_role_of;
    struct rbac_link *links;
    uint32_t *buckets; /* 1 + the first link of those with this hash, a power of two */
    size_t nlinks, nbuckets;
};

extern const struct rbac_role rbac_gone;
#define RBAC_GONE (&rbac_gone)

/*
 * The rows of the instance at the head, over the base (NULL: this is to be the base).  Rows that
 * `before` (may be NULL) has, too, are not read again.  NULL when the store cannot be read.
 */
struct rbac_set *rbac_set_new(struct store *s, struct seal *seal, const uint32_t types[RBAC_TYPES],
                              uint32_t instance, struct rbac_set *base,
                              const struct rbac_set *before, struct status *st);
struct rbac_set *rbac_set_ref(struct rbac_set *set);
void rbac_set_unref(struct rbac_set *set);

/*
 * Every binding that concerns the identity: cluster-wide ones, then those of the namespace if there
 * is one, until fn says false.  A binding comes once for each subject that applies.  role is NULL
 * when it is not there.
 */
typedef bool rbac_visit_fn(void *arg, const struct rbac_binding *b, const struct rbac_subject *s,
                           const struct rbac_role *role);
void rbac_set_visit(const struct rbac_set *set, const struct identity *who, str namespace_,
                    rbac_visit_fn *fn, void *arg);

/* The role, hidden ones left out; NULL when there is none.  An empty namespace: a ClusterRole. */
const struct rbac_role *rbac_set_role(const struct rbac_set *set, str namespace_, str name);

#endif
