/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_FLOW_FLOW_SET_H
#define APISERVER_FLOW_FLOW_SET_H

/*
 * The FlowSchemas and PriorityLevelConfigurations of one instance, compiled: they tell which schema
 * matches a request, and which level and limits it has.  Frozen; pure functions.
 *
 * k8s: apiserver/pkg/util/flowcontrol: rule.go, apf_controller.go
 */

#include "apiserver/call/reqinfo.h"
#include "apiserver/flow/flow_gate.h"
#include "base/identity.h"
#include "base/uuid.h"
#include "json/json.h"

/* The default levels of every instance.  Metrics distinguish these; all others count as "other". */
#define FLOW_LEVELS(X)   \
    X("catch-all")       \
    X("exempt")          \
    X("global-default")  \
    X("leader-election") \
    X("node-high")       \
    X("system")          \
    X("workload-high")   \
    X("workload-low")    \
    X("other")
enum {
#define X(name) +1
    FLOW_NLEVELS = 0 FLOW_LEVELS(X)
#undef X
};

struct flow_level {
    str name;
    uint64_t id;     /* made from the name, for the gate */
    unsigned metric; /* index into FLOW_LEVELS */
    bool exempt;
    struct flow_limits limits;
};

struct flow_words {
    const str *at;
    size_t n;
};

struct flow_subject {
    enum { FLOW_NOBODY, FLOW_USER, FLOW_GROUP, FLOW_ACCOUNT } kind;
    str name, namespace_;
};

struct flow_resources {
    struct flow_words verbs, groups, resources, namespaces;
    bool cluster;
};

struct flow_paths {
    struct flow_words verbs, paths;
};

struct flow_rule {
    const struct flow_subject *subjects;
    size_t nsubjects;
    const struct flow_resources *resources;
    size_t nresources;
    const struct flow_paths *paths;
    size_t npaths;
};

struct flow_schema {
    str name;
    int64_t precedence;
    uint64_t hash; /* of its name; seeds the hashes of its flows */
    const struct flow_level *level;
    enum { FLOW_BY_NOTHING, FLOW_BY_USER, FLOW_BY_NAMESPACE } by;
    const struct flow_rule *rules;
    size_t nrules;
    size_t place; /* index of its uid in flow_set.uids; so is level_place */
    size_t level_place;
};

/* A FlowSchema or a PriorityLevelConfiguration. */
struct flow_row {
    str name;
    str uid; /* empty: a template row, whose uid is derived from the instance's */
    const struct json *tree;
};

struct flow_rows {
    struct flow_row *at;
    size_t n;
};

struct flow_set {
    uint32_t instance;
    uint64_t rev;
    struct arena *arena;
    const struct flow_schema *schemas; /* in the order in which they are matched */
    size_t nschemas;
    const str *uids; /* of the rows, schemas first; NULL: the set is the shared base */
};

/* Compiles a set, without schemas whose level does not exist.  It does not keep the rows. */
struct flow_set *flow_set_new(const struct flow_rows *schemas, const struct flow_rows *levels,
                              unsigned seats, str instance_uid);
/* Returns a set with the same schemas for another instance that has template rows only; `of` must
 * outlive it. */
struct flow_set *flow_set_share(const struct flow_set *of, const struct flow_rows *schemas,
                                const struct flow_rows *levels, str instance_uid);
void flow_set_free(struct flow_set *s);

/* Returns the first schema that matches, or the last one if none does. */
const struct flow_schema *flow_set_match(const struct flow_set *s, const struct reqinfo *info,
                                         const struct identity *who);

/* Returns the hash of the request's flow. */
uint64_t flow_schema_hash(const struct flow_schema *s, const struct reqinfo *info,
                          const struct identity *who);

#endif
