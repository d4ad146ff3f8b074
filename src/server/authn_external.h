/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUTHN_EXTERNAL_H
#define SERVER_AUTHN_EXTERNAL_H

/*
 * Whose token is it, when it is none of ours: of an issuer that the operator has named
 * (server/oidc.h), or one that the operator's webhook knows (server/verdicts.h).  Whoever it is, is
 * a person of the platform, as who logs in is: at home in the root instance, and let into another
 * one if Global Management gives them a role there.  Where they are not let in the token is refused
 * as if it were no good, whether that instance exists or not.
 */

#include "server/call.h"
#include "server/oidc.h"
#include "server/verdicts.h"

struct authn_external {
    struct call *call;
    secret token;
    /* On the loop, once, if authn_external_check said false. */
    void (*done)(struct authn_external *x);

    bool good; /* the answer: */
    struct identity who;
    str why; /* not, for who reviews a token; may be empty */

    struct oidc_wait wait; /* from here on ours */
    struct verdict verdict;
};

/* True: the answer is there.  It lives in the call's arena, and so must x. */
bool authn_external_check(struct authn_external *x);

#endif
