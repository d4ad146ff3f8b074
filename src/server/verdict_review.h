/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_VERDICT_REVIEW_H
#define SERVER_VERDICT_REVIEW_H

/* TokenReview and SubjectAccessReview, as they are sent to webhooks and read from them. */

#include "server/authz.h"
#include "server/verdicts.h"

str token_review_question(struct arena *a, secret token, str audience);
/*
 * A yes has who it is.  A name of the system is a no: it is ours to give.  With
 * system:authenticated, whether it was said or not.
 */
verdict_read token_review_read;

str access_review_question(struct arena *a, const struct access *x, str version);
verdict_read access_review_read; /* a yes or no, with its reason */

#endif
