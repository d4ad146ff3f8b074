/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_ADMISSION_H
#define APISERVER_ADMISSION_ADMISSION_H

/*
 * Built-in admission: rules that need more than the object itself, such as the user who writes it
 * or other objects.  A plugin is a row of the table in admission.c.  Plugins run in the order of
 * the table on every write, also on those of the built-in controllers.  They run on the request's
 * loop and never block.
 */

#include "rest/rest.h"

struct server;

struct admission {
    struct server *server;
    struct rest_request *req; /* who, instance, kind, subresource, name, arena … */
    const struct json *old;   /* NULL on create */
};

struct admission_plugin {
    const char *name;
    bool optional;                /* the operator may disable it */
    bool asked;                   /* it is disabled unless the operator enables it */
    const char *group, *resource; /* "*": any */
    unsigned verbs; /* VERB_CREATE | VERB_UPDATE (patches and applies too) | VERB_DELETE */
    /* Runs before the kind's own defaults and validation: may change *obj, or refuse with -1. */
    int (*mutate)(const struct admission *a, const struct json **obj, struct status *st);
    /* Runs after them, on the object that would be stored; obj is NULL on delete.  REST_WAIT:
     * apiserver/admission/webhook_questions.h. */
    int (*validate)(const struct admission *a, const struct json *obj, struct status *st);
};

extern const struct admission_plugin admit_csr_request, admit_csr_approval, admit_csr_signing;
extern const struct admission_plugin admit_rbac, admit_apply;
extern const struct admission_plugin admit_service_account, admit_tolerations, admit_priority;
extern const struct admission_plugin admit_runtime_class;
extern const struct admission_plugin admit_priority_class, admit_storage_class;
extern const struct admission_plugin admit_node_taint, admit_service, admit_limit_range;
extern const struct admission_plugin admit_workspace, admit_in_use, admit_pod_security;
extern const struct admission_plugin admit_external_ips, admit_event_rate;
extern const struct admission_plugin admit_kubeconfig, admit_protection, admit_customization;
extern const struct admission_plugin admit_instance, admit_uids, admit_distributed;
extern const struct admission_plugin admit_attach, admit_registration, admit_member;
extern const struct admission_plugin admit_pedia_name, admit_registered_name;

/*
 * Writes the bits of the disabled plugins to *out.  `on` and `off` are comma-separated names of
 * plugins to enable and to disable.  BAD_REQUEST when a plugin does not exist, may not be disabled,
 * or is in both lists.
 */
int admission_choose(str on, str off, uint32_t *out, struct status *st)
    __attribute__((warn_unused_result));

bool admission_is_on(const struct server *s, const struct admission_plugin *p);

/* The callbacks of rest (rest/rest.h). */
int admission_mutate(struct rest_request *req, const struct json **obj, const struct json *old,
                     struct status *st) __attribute__((warn_unused_result));
int admission_mutate_far(struct rest_request *req, const struct json **obj, const struct json *old,
                         struct status *st) __attribute__((warn_unused_result));
int admission_validate(struct rest_request *req, const struct json *obj, const struct json *old,
                       struct status *st) __attribute__((warn_unused_result));

/* Runs the instance's policies and webhooks only, for objects that are not stored. */
int admission_validate_far(struct rest_request *req, const struct json *obj, const struct json *old,
                           struct status *st) __attribute__((warn_unused_result));

int admission_charge(struct rest_request *req, const struct rest_change *change,
                     struct store_op ops[REST_CHARGES], struct status *st)
    __attribute__((warn_unused_result));

/*
 * Makes an operation that serializes writes that allocate from the same stock: of two concurrent
 * writes one commits, and the other is done again.
 */
int admission_claim(struct rest_request *req, str stock, struct store_op *op, struct status *st)
    __attribute__((warn_unused_result));

/* Claims for a Workspace that gets a new resource binding; see admit_iam.c. */
int workspace_claims(struct rest_request *req, const struct rest_change *change,
                     struct store_op *op, struct status *st) __attribute__((warn_unused_result));

/* Claims for a Service that gets addresses or node ports; see admit_service.c. */
int service_claims(struct rest_request *req, const struct rest_change *change,
                   struct store_op ops[2], struct status *st) __attribute__((warn_unused_result));

void admission_charged(struct rest_request *req);

#endif
