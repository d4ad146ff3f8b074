/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ADMIT_WEBHOOK_H
#define SERVER_ADMIT_WEBHOOK_H

/*
 * Admission webhooks: mutating ones one after the other, validating ones all at once.
 *
 * Nobody waits: where an answer is missing its question is sent and the write put aside
 * (REST_WAIT); when the answers are there the write is done again, and finds them.  An answer holds
 * for the very question it was given to: if the object has changed meanwhile, it is asked anew.
 *
 * k8s: apiserver/pkg/admission/plugin/webhook
 */

#include "server/hooks.h"

struct server;

/* 0, -1, or REST_WAIT; *obj may be another then, not yet defaulted. */
int webhooks_mutate(struct server *s, const struct hook_set *set, struct rest_request *req,
                    const struct json **obj, const struct json *old, struct status *st)
    __attribute__((warn_unused_result));

int webhooks_validate(struct server *s, const struct hook_set *set, struct hook_write *w,
                      struct status *st) __attribute__((warn_unused_result));

#endif
