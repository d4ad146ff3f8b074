/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_HOOK_EVAL_H
#define APISERVER_ADMISSION_HOOK_EVAL_H

/*
 * Evaluates the CEL expressions of admission for a write: it provides the values of their
 * variables, evaluates match conditions, and makes the objects and the AdmissionRequest that
 * expressions and webhooks see.
 */

#include "apiserver/admission/hooks.h"

struct server;

struct hook_eval {
    struct server *server;
    struct hook_write *write;
    const struct kind *as; /* the version in which objects are shown */
    struct cel_value vars[ADMISSION_VARS];
    struct cel_run run;
    struct cel_authorizer authorizer;
    struct cel_check resource;
    bool ready;
    bool waits; /* an authorization check is pending: the values are not final */
};

/* Does not convert objects yet: the first expression that runs does. */
void hook_eval_init(struct hook_eval *e, struct server *s, struct hook_write *w,
                    const struct kind *as);

/* Runs one expression, within its own cost limit and the rest of *budget. */
struct cel_value hook_eval_run(struct hook_eval *e, const struct hook_expression *x,
                               uint64_t *budget);

/* Returns 1 when all conditions are true, 0 when one is false, or -1 and *why when one fails and no
 * other is false. */
int hook_eval_conditions(struct hook_eval *e, const struct hook_expressions *conditions, str *why);

/* Returns obj, which is the new or the old object, as expressions and webhooks see it; JSON null
 * for a NULL obj. */
const struct json *hook_object(struct hook_write *w, const struct json *obj, const struct kind *as);

/* Returns the AdmissionRequest, without uid and objects. */
const struct json *hook_request(struct hook_write *w, const struct kind *as);

#endif
