/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_REVIEW_H
#define APISERVER_AUTH_REVIEW_H

/*
 * Resources that answer a question about a user, or issue a credential, and are not stored:
 * tokens of service accounts, logins, TokenReviews, and reviews of access.
 */

#include "apiserver/call/call.h"

call_handler token_request; /* apiserver/auth/token_request.c */
call_handler token_review;  /* apiserver/auth/token_review.c */
call_handler login;         /* apiserver/auth/login.c */

/* apiserver/auth/review.c */
call_handler subject_access_review, local_subject_access_review, self_subject_access_review,
    self_subject_rules_review, self_subject_review;

#endif
