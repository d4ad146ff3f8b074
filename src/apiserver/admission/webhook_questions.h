/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_WEBHOOK_QUESTIONS_H
#define APISERVER_ADMISSION_WEBHOOK_QUESTIONS_H

/*
 * The questions that a write sends to webhooks: to admission webhooks, and to the operator's
 * authorization webhook (apiserver/auth/access_webhook.h).
 *
 * No thread blocks: when an answer is missing, the question is sent and the write is suspended
 * (REST_WAIT); when all answers have arrived the write runs again and finds them.  While a question
 * is in flight the request must stay alive, even if the client has gone.
 */

#include "apiserver/auth/authz.h"
#include "rest/rest.h"

enum { ASKED_MAX = 200 }; /* of one write; stops a write whose object changes on every run */

struct webhook_questions { /* rest_request.asked */
    struct rest_request *req;
    struct asked *hooks; /* apiserver/admission/admit_webhook.c */
    struct right_asked *rights;
    size_t n; /* of hooks and rights together */
    unsigned pending;
    void (*again)(struct rest_request *req); /* NULL: rest_write_again */
    bool settled;
};

struct webhook_questions *webhook_questions_of(struct rest_request *req);

/* Counts an answer that has arrived; the last one runs the write again. */
void webhook_questions_answered(struct webhook_questions *all);

/* Returns whether answers are pending. */
bool webhook_questions_waits(const struct rest_request *req);

/* Ends the part of policies and webhooks in this request: what it writes afterwards does not pass
 * them. */
void webhook_questions_settle(struct rest_request *req);
bool webhook_questions_is_settled(const struct rest_request *req);

/*
 * Questions are sent on a loop of the server.  Returns 0 when the write runs on one, else
 * REST_WAIT, and the write is done again on one.
 */
int webhook_questions_home(struct rest_request *req) __attribute__((warn_unused_result));

/* Returns -1 (TIMEOUT) when the answers came too late: the client has been told, so the write must
 * not happen any more. */
int webhook_questions_check_time(const struct rest_request *req, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Authorizes like access_allowed(), and asks the operator's webhook when RBAC does not allow.
 * Returns 1 (allowed), 0 (denied), -1 when the webhook fails, or REST_WAIT.  `version` is the
 * resource's.
 */
int webhook_questions_access(struct server *s, struct rest_request *req, const struct access *x,
                             str version, str *reason, struct status *st)
    __attribute__((warn_unused_result));

#endif
