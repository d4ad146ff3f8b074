/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOKS_H
#define SERVER_HOOKS_H

/*
 * Whom an instance lets have a say in its writes: its admission policies with their bindings, and
 * its webhooks, compiled.  One set an instance, made when it is first asked for and again after one
 * of these objects has changed; in a bounded cache.  A set knows the revision it was read at and
 * the store says whether such a row was touched since (as server/rbac.h), so the write after an
 * acknowledged change is already judged by it.  Where there is nothing, asking costs a few loads.
 */

#include "meta/cel_admission.h"
#include "server/hook_match.h"
#include "server/hook_review.h"
#include "server/service.h"

struct seal;

struct hooks;

struct hook_expression {
    str name, text;                    /* name of a condition or variable, key of a note */
    const struct cel_program *program; /* NULL: `error` says why */
    str error;
};

struct hook_expressions {
    struct hook_expression *at;
    size_t n;
};

struct validation {
    struct hook_expression rule, message; /* message.text empty: there is no expression for it */
    str said;                             /* its message, may be empty */
    enum reason reason;
};

struct policy {
    str name;
    bool ignores_failure;
    str param_version, param_kind; /* empty: none */
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
    str actions; /* all of them as they were written, in JSON */
    bool has_ref, has_name, none_is_fine;
    str param_name, param_namespace;
    struct selector param_selector;
};

struct webhook {
    str configuration, name;
    uint64_t rev; /* of the configuration */
    size_t place; /* in it */
    bool ignores_failure, again;
    enum review_version version; /* the first of its own that we know */
    int64_t timeout_ms;
    str url, ca_pem;
    struct service_ref service; /* name empty: the URL is not that of one; without an instance */
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
    struct arena *arena; /* NULL: there is nothing */
    struct policy *policies;
    size_t npolicies;
    struct policy_binding *bindings;
    size_t nbindings;
    struct webhooks mutating, validating;
};

struct hooks *hooks_new(struct store *s, struct seal *seal, struct status *st);
void hooks_free(struct hooks *h);

/* Valid in this epoch; NULL (INTERNAL) when it cannot be read. */
const struct hook_set *hooks_of(struct hooks *h, uint32_t instance, struct status *st);

static inline bool hook_set_is_empty(const struct hook_set *s)
{
    return !s->arena;
}

#endif
