/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RBAC_RULE_H
#define SERVER_RBAC_RULE_H

/*
 * Roles and bindings in the form in which they are asked: one block of memory each, frozen and
 * shared by counting, strings hashed ahead.  A row that did not change is the same block in every
 * set it is part of.
 */

#include <stdatomic.h>

#include "server/authz.h"
#include "json/json.h"

struct rbac_name {
    uint64_t hash;
    str s;
};

struct rbac_names {
    const struct rbac_name *at;
    size_t n;
    uint64_t mask; /* a bit for each hash: most that is not there is refused by it */
    bool all;      /* holds "*" */
};

struct rbac_rule { /* k8s: PolicyRule */
    struct rbac_names verbs, groups, resources, names, urls;
};

/* What roles and bindings have in common.  Reference counted; any thread. */
struct rbac_row {
    atomic_uint refs;
    bool hidden; /* no object: the template's row of this name does not count */
    size_t bytes;
    uint64_t rev;
    str key; /* "name" or "namespace/name" */
    str namespace_, name;
};

struct rbac_role {
    struct rbac_row row; /* first */
    const struct rbac_rule *rules;
    size_t nrules;
};

struct rbac_subject {
    uint64_t hash;
    bool group;
    str who;         /* the group, or the user: that of a service account, too; empty: nobody */
    str kind, shown; /* for people */
};

struct rbac_binding {
    struct rbac_row row; /* first */
    bool to_cluster_role;
    str role;
    const struct rbac_subject *subjects;
    size_t nsubjects;
};

uint64_t rbac_hash(str s);

/* From the object's tree; a NULL tree is a hidden row. */
struct rbac_row *rbac_role_new(str key, bool namespaced, uint64_t rev, const struct json *obj);
struct rbac_row *rbac_binding_new(str key, bool namespaced, uint64_t rev, const struct json *obj);
struct rbac_row *rbac_row_ref(struct rbac_row *r);
void rbac_row_unref(struct rbac_row *r);

/* What is asked, hashed once for all rules. */
struct rbac_query {
    bool is_resource;
    struct rbac_name verb, group, resource; /* "pods", "pods/log" */
    struct rbac_name any;                   /* "*" with the subresource, or empty */
    str name, path;
};
struct rbac_query rbac_query_of(struct arena *a, const struct access *x);
bool rbac_role_allows(const struct rbac_role *role, const struct rbac_query *q);

/* k8s: a path in a rule may end in "*" */
bool rbac_url_matches(str pattern, str path);

/* A rule as a tree of PolicyRule's shape, without the members that are empty. */
struct json rbac_rule_json(struct arena *a, const struct rbac_rule *r);

#endif
