/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOK_MATCH_H
#define SERVER_HOOK_MATCH_H

/*
 * Which writes a webhook or a policy is about: rules of groups, versions, resources and operations,
 * and selectors of namespaces and objects.
 *
 * k8s: apiserver/pkg/admission/plugin/{webhook/predicates,policy/matching}
 */

#include "meta/selector.h"
#include "rest/rest.h"

enum hook_operation { HOOK_CREATE = 1, HOOK_UPDATE = 2, HOOK_DELETE = 4, HOOK_CONNECT = 8 };

/* A write as admission sees it. */
struct hook_write {
    struct rest_request *req;
    const struct json *obj; /* NULL on delete */
    const struct json *old; /* NULL on create */
    enum hook_operation operation;
    str name;
    bool unborn;                   /* it is created, and has got neither uid nor time yet */
    const struct json *namespace_; /* the object, once it was looked for; or NULL */
    bool namespace_known;
};

struct hook_write hook_write_of(struct rest_request *req, const struct json *obj,
                                const struct json *old);
const char *hook_operation_name(enum hook_operation o);

/* The Namespace that the write is in, or the one that is written; NULL where there is none. */
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
    bool all; /* no rules were given: a binding leaves them to its policy */
    bool exact;
    struct selector namespaces, objects;
};

/* Of a webhook (`rules`), or of matchConstraints and matchResources (`resourceRules`). */
void hook_match_read(struct arena *a, const struct json *tree, const char *rules,
                     struct hook_match *out);

/*
 * 1 when it is about this write; *as is then the kind in whose version it wants to see the object:
 * the request's, or one that means the same.  0, or -1 when the namespace cannot be read.
 */
int hook_matches(const struct hook_match *m, struct hook_write *w, const struct kind **as,
                 struct status *st) __attribute__((warn_unused_result));

/* Configurations of admission are nobody's business: they must always be repairable. */
bool hook_exempt(const struct rest_request *req);
/* A question about tokens or rights: webhooks are told of it, policies are not. */
bool hook_is_review(const struct rest_request *req);

#endif
