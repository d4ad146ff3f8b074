/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_HOOKS_H
#define APISERVER_ADMISSION_HOOKS_H

/*
 * The admission policies of an instance with their bindings, and its admission webhooks, compiled.
 * Each instance has one set, in a bounded cache.  It is compiled on the first use, and again after
 * one of these objects has changed: a set has the revision at which it was read, and the store
 * tells whether such a row was touched since (as in apiserver/auth/rbac.h).  So a write that
 * follows an acknowledged change is already subject to it.  For an instance without such objects a
 * lookup costs a few loads.
 */

#include "apiserver/admission/hook_match.h"
#include "apiserver/admission/hook_review.h"
#include "apiserver/outbound/service_resolver.h"
#include "object/cel/cel_admission.h"

struct seal;

struct hooks;

struct hook_expression {
    str name, text; /* name of a condition or variable, or key of an audit annotation */
    const struct cel_program *program; /* NULL: it does not compile, as `error` says */
    str error;
};

struct hook_expressions {
    struct hook_expression *at;
    size_t n;
};

struct validation {
    struct hook_expression rule, message; /* message.text empty: no messageExpression */
    str said;                             /* its fixed message; may be empty */
    enum reason reason;
};

struct policy {
    str name;
    bool ignores_failure;
    str param_version, param_kind; /* empty: no paramKind */
    struct hook_match match;
    struct hook_expressions conditions, variables, notes;
    struct validation *validations;
    size_t nvalidations;
};

struct policy_binding {
    str name;
    const struct policy *policy;
    struct hook_match match;
    bool deny, warn, audit;
    str actions; /* validationActions as JSON, as they were written */
    bool has_ref, has_name, none_is_fine;
    str param_name, param_namespace;
    struct selector param_selector;
};

struct webhook {
    str configuration, name;
    uint64_t rev; /* of the configuration */
    size_t place; /* index in the configuration */
    bool ignores_failure, again;
    enum review_version version; /* the first of its admissionReviewVersions that we support */
    int64_t timeout_ms;
    str url, ca_pem;
    struct service_ref service; /* name empty: the webhook has a URL; `instance` is not set */
    struct hook_match match;
    struct hook_expressions conditions;
};

struct webhooks {
    struct webhook *at;
    size_t n;
};

struct hook_set {
    uint32_t instance;
    uint64_t rev;
    struct arena *arena; /* NULL: the instance has no hooks */
    struct policy *policies;
    size_t npolicies;
    struct policy_binding *bindings;
    size_t nbindings;
    struct webhooks mutating, validating;
};

struct hooks *hooks_new(struct store *s, struct seal *seal, struct status *st);
void hooks_free(struct hooks *h);

/* Returns the set of the instance, valid in this epoch; NULL (INTERNAL) when it cannot be read. */
const struct hook_set *hooks_of(struct hooks *h, uint32_t instance, struct status *st);

static inline bool hook_set_is_empty(const struct hook_set *s)
{
    return !s->arena;
}

#endif
