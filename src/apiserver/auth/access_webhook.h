/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_ACCESS_WEBHOOK_H
#define APISERVER_AUTH_ACCESS_WEBHOOK_H

/*
 * Asks the operator's authorization webhook (apiserver/auth/verdicts.h) about requests that RBAC
 * does not allow.  By default it is asked about the root instance only, because the owner of
 * another instance decides what the names in it mean; the operator may have it asked about every
 * instance, and each question then names the instance.  Everything here runs on the loop.
 */

#include "apiserver/auth/authz.h"
#include "apiserver/auth/verdicts.h"
#include "apiserver/call/call.h"

struct access_webhook { /* in the call's arena */
    struct call *call;
    struct access access;
    struct identity who; /* a copy for access.who to point to, if the original may die earlier */
    /* Called once, on the loop, if access_webhook_ask() returned false. */
    void (*done)(struct access_webhook *w);

    bool allowed, failed; /* the answer; when failed is set, allowed is not */
    str reason;           /* the caller's, with the webhook's appended */

    struct verdict verdict; /* private from here on */
};

/* Returns whether the operator has a webhook that decides about this request. */
bool access_webhook_knows(const struct server *s, const struct access *x);

/* Returns true if the answer is already in *w; else done() follows.  `version`: the resource's. */
bool access_webhook_ask(struct access_webhook *w, str version);

/* Returns a client's error for a failed question; it does not reveal the webhook's address. */
const struct status *access_webhook_failure(struct access_webhook *w);

#endif
