/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_VERDICT_REVIEW_H
#define APISERVER_AUTH_VERDICT_REVIEW_H

/* Writes TokenReviews and SubjectAccessReviews for webhooks, and reads their answers. */

#include "apiserver/auth/authz.h"
#include "apiserver/auth/verdicts.h"

str token_review_question(struct arena *a, secret token, str audience);
/*
 * A yes has the user, always with the group system:authenticated.  An answer with a reserved user
 * or group name (system:…), or for another audience, is a no.
 */
verdict_read token_review_read;

str access_review_question(struct arena *a, const struct access *x, str version);
verdict_read access_review_read; /* a yes or no, with its reason */

#endif
