/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_ADMIT_WEBHOOK_H
#define APISERVER_ADMISSION_ADMIT_WEBHOOK_H

/*
 * Admission webhooks: mutating webhooks are called one after the other, validating ones at the same
 * time.
 *
 * No thread blocks: when an answer is missing, the question is sent and the write is suspended
 * (REST_WAIT); when all answers have arrived the write runs again and finds them.  An answer is
 * used only for exactly the question that was sent: if the object has changed, the webhook is asked
 * again.
 *
 * k8s: apiserver/pkg/admission/plugin/webhook
 */

#include "apiserver/admission/hooks.h"

struct server;

/* Returns 0, -1 or REST_WAIT.  It may replace *obj by a patched one that is not defaulted yet. */
int webhooks_mutate(struct server *s, const struct hook_set *set, struct rest_request *req,
                    const struct json **obj, const struct json *old, struct status *st)
    __attribute__((warn_unused_result));

int webhooks_validate(struct server *s, const struct hook_set *set, struct hook_write *w,
                      struct status *st) __attribute__((warn_unused_result));

#endif
