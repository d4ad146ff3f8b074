/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_REVIEW_H
#define SERVER_REVIEW_H

/*
 * Resources that answer a question about a user, or issue a credential, and are not stored:
 * tokens of service accounts, logins, TokenReviews, and reviews of access.
 */

#include "server/call.h"

call_handler token_request; /* server/token_request.c */
call_handler token_review;  /* server/token_review.c */
call_handler login;         /* server/login.c */

/* server/review.c */
call_handler subject_access_review, local_subject_access_review, self_subject_access_review,
    self_subject_rules_review, self_subject_review;

#endif
