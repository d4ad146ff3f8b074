/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_RBAC_RULE_H
#define APISERVER_AUTH_RBAC_RULE_H

/*
 * Roles and bindings, compiled: each is one frozen block of memory with a reference count, and its
 * strings are hashed in advance.  Sets share the block of a row that did not change.
 */

#include <stdatomic.h>

#include "apiserver/auth/authz.h"
#include "json/json.h"

struct rbac_name {
    uint64_t hash;
    str s;
};

struct rbac_names {
    const struct rbac_name *at;
    size_t n;
    uint64_t mask; /* has a bit for each hash, so that most absent names are found absent at once */
    bool all;      /* one of them is "*" */
};

struct rbac_rule { /* k8s: PolicyRule */
    struct rbac_names verbs, groups, resources, names, urls;
};

/* The common head of roles and bindings.  Reference counted; any thread. */
struct rbac_row {
    atomic_uint refs;
    bool hidden; /* no object: the instance has deleted the template's row of this name */
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
    str who;         /* the group or user name, also of a service account; empty: matches no one */
    str kind, shown; /* as messages show them */
};

struct rbac_binding {
    struct rbac_row row; /* first */
    bool to_cluster_role;
    str role;
    const struct rbac_subject *subjects;
    size_t nsubjects;
};

uint64_t rbac_hash(str s);

/* Compile an object; a NULL obj makes a hidden row. */
struct rbac_row *rbac_role_new(str key, bool namespaced, uint64_t rev, const struct json *obj);
struct rbac_row *rbac_binding_new(str key, bool namespaced, uint64_t rev, const struct json *obj);
struct rbac_row *rbac_row_ref(struct rbac_row *r);
void rbac_row_unref(struct rbac_row *r);

/* A request for access, hashed once for all rules. */
struct rbac_query {
    bool is_resource;
    struct rbac_name verb, group, resource; /* "pods", "pods/log" */
    struct rbac_name any;                   /* "*" with the subresource, or empty */
    str name, path;
};
struct rbac_query rbac_query_of(struct arena *a, const struct access *x);
bool rbac_role_allows(const struct rbac_role *role, const struct rbac_query *q);

/* Returns whether a nonResourceURL of a rule, which may end in "*", matches the path. */
bool rbac_url_matches(str pattern, str path);

/* Returns a rule as a PolicyRule tree, without empty members. */
struct json rbac_rule_json(struct arena *a, const struct rbac_rule *r);

#endif
