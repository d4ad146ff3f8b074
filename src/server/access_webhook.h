/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ACCESS_WEBHOOK_H
#define SERVER_ACCESS_WEBHOOK_H

/*
 * Who may do what roles do not give, by the word of the operator's webhook (server/verdicts.h).  It
 * is asked about the root instance only, for what names mean in another is for its owner to say;
 * or about all, if the operator wants it so, and is told in which.  All on the loop.
 */

#include "server/authz.h"
#include "server/call.h"
#include "server/verdicts.h"

struct access_webhook { /* in the call's arena */
    struct call *call;
    struct access access;
    struct identity who; /* for the access to point to, if its own does not live as long */
    /* On the loop, once, if access_webhook_ask said false. */
    void (*done)(struct access_webhook *w);

    bool allowed, failed; /* the answer: failed is not allowed */
    str reason;           /* as it was, and what the webhook says */

    struct verdict verdict; /* from here on ours */
};

/* Whether there is somebody to ask. */
bool access_webhook_knows(const struct server *s, const struct access *x);

/* True: the answer is there.  The version is that of the resource. */
bool access_webhook_ask(struct access_webhook *w, str version);

/* Of one that failed; it does not say where the webhook is. */
const struct status *access_webhook_failure(struct access_webhook *w);

#endif
