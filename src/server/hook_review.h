/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOK_REVIEW_H
#define SERVER_HOOK_REVIEW_H

/* AdmissionReview of admission.k8s.io: what a webhook is asked, and what it may answer. */

#include "json/json.h"

enum {
    REVIEW_PATCH_MAX = 3 << 20, /* bytes of a patch, decoded */
    REVIEW_WARNINGS_MAX = 16,
    REVIEW_WARNING_MAX = 4097, /* bytes of one: more than all may have, who are then cut short */
    REVIEW_NOTES_MAX = 64,
    REVIEW_RETRY_MAX_S = 3600,
};

enum review_version { REVIEW_UNKNOWN, REVIEW_V1, REVIEW_V1BETA1 };

struct review_answer {
    bool allowed;
    const struct json *status; /* of a refusal, may be NULL */
    const struct json *patch;  /* an array, or NULL */
    const struct json *warnings, *notes;
};

/* request is an AdmissionRequest without uid and objects; object and old may be null. */
str review_question(struct arena *a, enum review_version version, str uid,
                    const struct json *request, const struct json *object, const struct json *old);

/*
 * INTERNAL with the reason when it is not an answer to that question.  One of v1beta1 need not say
 * what it is, nor which question it is about.
 */
int review_answer_read(struct arena *a, str text, enum review_version version, str uid,
                       bool mutating, struct review_answer *out, struct status *st)
    __attribute__((warn_unused_result));

/* -1 in the words of Kubernetes' client when an answer with this code is none. */
int review_http_failure(int code, struct status *st) __attribute__((warn_unused_result));

/* What the client is told of a refusal; -1. */
int review_refuse(struct status *st, str webhook, const struct json *status);

#endif
