/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_SESSION_H
#define APISERVER_AUTH_SESSION_H

/*
 * Sessions: each login is an object (sessions.iam.kairship.io of the root instance), and the token
 * that it gives is good as long as this object is there (apiserver/auth/authn_token.h).  Deleting
 * it is logging out.
 *
 * A session holds as long as its User exists with the same uid and is not disabled, and as long as
 * the password is the one that was used.  Disabling ends it for good: enabled again, the User logs
 * in again.  What is over is deleted some minutes later
 * (apiserver/upkeep/session_expiry.c); the token is refused before, at once.
 */

#include "apiserver/call/internal.h"

enum { SESSIONS_MAX = 100 }; /* of one person: a login beyond ends the oldest */

/* Where the password of a user is kept, in kube-system of the root instance. */
str session_secret_name(struct arena *a, str user);

/* Tells passwords apart, and nothing else about them: each has its own salt. */
str session_fingerprint(struct arena *a, const struct json *kept);

/* How often the User was disabled; a session that began at another count is over. */
int64_t session_times_disabled(const struct json *user);

/*
 * Begins a session, on the call's loop; lives in the call's arena.  `made` is called on the loop
 * with the object, which is durable then, or with the reason why there is none.
 */
struct session_order {
    struct call *call;
    str user, uid, fingerprint;
    int64_t now_s, expires_s, times_disabled;
    void (*made)(struct session_order *o, const struct json *session, const struct status *why);

    struct rest_request req; /* ours, as all below */
    struct store_txn txn;
    struct store_op *oldest;
    size_t too_many;
};
void session_make(struct session_order *o);

/* Whether the object is of a login that no longer holds.  -1 when that cannot be told.  In an
 * epoch. */
int session_is_over(struct server *s, struct arena *a, const struct json *session, int64_t now_s,
                    struct status *st) __attribute__((warn_unused_result));

#endif
