/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_AUTHN_EXTERNAL_H
#define APISERVER_AUTH_AUTHN_EXTERNAL_H

/*
 * Authenticates tokens that this server did not issue: by a configured OpenID issuer
 * (apiserver/auth/oidc.h), or by the operator's authentication webhook (apiserver/auth/verdicts.h).
 * The user is a user of the platform, like one who logs in: they may use the root instance, and
 * another instance if Global Management gives them a role there.  Elsewhere the token is refused
 * like an invalid one, whether that instance exists or not.
 */

#include "apiserver/auth/oidc.h"
#include "apiserver/auth/verdicts.h"
#include "apiserver/call/call.h"

struct authn_external {
    struct call *call;
    secret token;
    /* Called once, on the loop, if authn_external_check() returned false. */
    void (*done)(struct authn_external *x);

    bool good; /* the answer: the token is valid */
    struct identity who;
    str why; /* why the token is refused, for a TokenReview; may be empty */

    struct oidc_wait wait; /* private from here on */
    struct verdict verdict;
};

/* Returns true if the answer is already in *x; else done() follows.  The answer lives in the call's
 * arena, and *x must, too. */
bool authn_external_check(struct authn_external *x);

#endif
