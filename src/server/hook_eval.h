/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOK_EVAL_H
#define SERVER_HOOK_EVAL_H

/*
 * Running the expressions of admission on a write: the values of their variables, match conditions,
 * and the words in which the write is told to expressions and webhooks alike.
 */

#include "server/hooks.h"

struct server;

struct hook_eval {
    struct server *server;
    struct hook_write *write;
    const struct kind *as; /* in whose version objects are shown */
    struct cel_value vars[ADMISSION_VARS];
    struct cel_run run;
    struct cel_authorizer authorizer;
    struct cel_check resource;
    bool ready;
    bool waits; /* for the answer to a question about rights: no value is one then */
};

/* Objects are made when the first expression is run. */
void hook_eval_init(struct hook_eval *e, struct server *s, struct hook_write *w,
                    const struct kind *as);

/* One run, with a limit of its own and what is left of *budget. */
struct cel_value hook_eval_run(struct hook_eval *e, const struct hook_expression *x,
                               uint64_t *budget);

/* 1 when all hold, 0 when one does not, -1 when one cannot be said and none is false: *why. */
int hook_eval_conditions(struct hook_eval *e, const struct hook_expressions *conditions, str *why);

/* The object (or the old one) as expressions and webhooks see it; `null` where there is none. */
const struct json *hook_object(struct hook_write *w, const struct json *obj, const struct kind *as);

/* An AdmissionRequest without uid and objects. */
const struct json *hook_request(struct hook_write *w, const struct kind *as);

#endif
