/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_HOOK_REVIEW_H
#define APISERVER_ADMISSION_HOOK_REVIEW_H

/* Writes AdmissionReviews (admission.k8s.io) for webhooks, and reads their answers. */

#include "json/json.h"

enum {
    REVIEW_PATCH_MAX = 3 << 20, /* bytes of a patch, decoded */
    REVIEW_WARNINGS_MAX = 16,
    REVIEW_WARNING_MAX = 4097, /* bytes of a warning: above the limit of all, which truncates it */
    REVIEW_NOTES_MAX = 64,
    REVIEW_RETRY_MAX_S = 3600,
};

enum review_version { REVIEW_UNKNOWN, REVIEW_V1, REVIEW_V1BETA1 };

struct review_answer {
    bool allowed;
    const struct json *status; /* of a denial; may be NULL */
    const struct json *patch;  /* an array, or NULL */
    const struct json *warnings, *notes;
};

/* Writes the review.  request is an AdmissionRequest without uid and objects; object and old may be
 * JSON null. */
str review_question(struct arena *a, enum review_version version, str uid,
                    const struct json *request, const struct json *object, const struct json *old);

/*
 * Reads an answer, or fails with INTERNAL when it does not answer that question.  A v1beta1 answer
 * may omit its apiVersion, kind and uid.
 */
int review_answer_read(struct arena *a, str text, enum review_version version, str uid,
                       bool mutating, struct review_answer *out, struct status *st)
    __attribute__((warn_unused_result));

/* Returns -1, in the words of Kubernetes' client, when this status code is an error (from 400). */
int review_http_failure(int code, struct status *st) __attribute__((warn_unused_result));

/* Fills *st with the client's error for a denial, and returns -1. */
int review_refuse(struct status *st, str webhook, const struct json *status);

#endif
