/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_HOOK_MATCH_H
#define APISERVER_ADMISSION_HOOK_MATCH_H

/*
 * Matches writes with the rules of a webhook or policy (groups, versions, resources, operations)
 * and its selectors of namespaces and objects.
 *
 * k8s: apiserver/pkg/admission/plugin/{webhook/predicates,policy/matching}
 */

#include "object/meta/selector.h"
#include "rest/rest.h"

enum hook_operation { HOOK_CREATE = 1, HOOK_UPDATE = 2, HOOK_DELETE = 4, HOOK_CONNECT = 8 };

/* A write as admission sees it. */
struct hook_write {
    struct rest_request *req;
    const struct json *obj; /* NULL on delete */
    const struct json *old; /* NULL on create */
    enum hook_operation operation;
    str name;
    bool unborn;                   /* a create before uid and creationTimestamp are set */
    const struct json *namespace_; /* the Namespace object, when namespace_known; or NULL */
    bool namespace_known;
};

struct hook_write hook_write_of(struct rest_request *req, const struct json *obj,
                                const struct json *old);
const char *hook_operation_name(enum hook_operation o);

/* Reads the Namespace of the object, or the Namespace that is written; NULL for other objects of
 * cluster scope. */
int hook_namespace(struct hook_write *w, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

struct hook_words {
    const str *at;
    size_t n;
};

struct hook_rule {
    struct hook_words groups, versions, resources, names;
    unsigned operations;
    bool any_scope, namespaced;
};

struct hook_match {
    const struct hook_rule *rules, *excluded;
    size_t nrules, nexcluded;
    bool all; /* there are no rules, as in a binding that leaves them to its policy */
    bool exact;
    struct selector namespaces, objects;
};

/* Compiles a webhook (with the name "rules"), or matchConstraints or matchResources (with
 * "resourceRules"). */
void hook_match_read(struct arena *a, const struct json *tree, const char *rules,
                     struct hook_match *out);

/*
 * Returns 1 when the write matches, 0 when it does not, or -1 when the namespace cannot be read.
 * *as is the kind in whose version the hook wants to see the object: that of the request, or an
 * equivalent one.
 */
int hook_matches(const struct hook_match *m, struct hook_write *w, const struct kind **as,
                 struct status *st) __attribute__((warn_unused_result));

/* Returns whether the request is exempt: admission configuration, so that a broken one can be
 * repaired, and logins. */
bool hook_exempt(const struct rest_request *req);
/* Returns whether the request is a TokenReview or an access review: webhooks see these, policies do
 * not. */
bool hook_is_review(const struct rest_request *req);

#endif
