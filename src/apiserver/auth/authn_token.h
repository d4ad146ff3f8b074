/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_AUTHN_TOKEN_H
#define APISERVER_AUTH_AUTHN_TOKEN_H

/*
 * Authenticates the bearer tokens that this server issues, in one instance.
 *
 * A service account token is signed with the server's keys (apiserver/auth/keys.h).  It is valid
 * for the audiences it names, until it expires, and in one instance: it carries the instance's
 * issuer and uid, so it is valid neither in another instance nor in a later one of the same name.
 * The service account, and the object that the token may be bound to, must still exist with the
 * uids that the token carries.  So must the session, the user and the password of a person's token
 * (apiserver/auth/session.h).
 *
 * Verified signatures are cached by the hash of the token, a bounded number of them; all other
 * checks run on every request, so a token of a deleted account is refused at once.
 *
 * Bootstrap tokens are Secrets in kube-system (apiserver/auth/authn_bootstrap.c).
 *
 * Any thread that is inside an epoch.
 */

#include "apiserver/auth/keys.h"
#include "base/clock.h"
#include "base/identity.h"
#include "rest/rest.h"
#include "json/json.h"

struct authn_token;

struct authn_token_options {
    struct rest *rest;
    struct store *store;
    const struct catalog *catalog;
    const struct keys *keys;
    struct clock *clock;
    str issuer; /* of the root instance; the path of another instance is appended to it */
};

struct authn_token *authn_token_new(const struct authn_token_options *o); /* copies */
void authn_token_free(struct authn_token *t);

/* Returns the issuer of the instance's tokens, which is also the audience of its API. */
str authn_token_issuer(const struct authn_token *t, struct arena *a, const struct instance *i);

struct authn_token_answer {
    struct identity who;  /* lives in the arena */
    const str *audiences; /* the requested ones that the token is for */
    size_t naudiences;
    struct token_entry
        *entry;       /* of a signed token, for authn_token_again(); lives as long as the arena */
    str session;      /* the Session of a person's token, in the arena */
    bool was_session; /* it is, or was, a person's token for this instance */
};

/*
 * Returns 0 and the identity.  The token must be for one of these audiences; without any, for the
 * instance's API.  The message of UNAUTHORIZED is for a TokenReview, not for the caller who sent
 * the token; other errors are the store's.
 */
int authn_token_check(struct authn_token *t, struct arena *a, const struct instance *i,
                      secret token, const str *audiences, size_t naudiences,
                      struct authn_token_answer *out, struct status *st)
    __attribute__((warn_unused_result));

/* Checks a token again that was valid when the request came, in the instance that it is from: for
 * watches and upgraded connections. */
int authn_token_again(struct authn_token *t, struct arena *a, const struct instance *i,
                      struct token_entry *e, struct status *st) __attribute__((warn_unused_result));

/* Whether nothing was written since that could end it before it expires; and when something was
 * that could end any token of the instance (store_touched()).  A few loads. */
bool authn_token_untouched(const struct authn_token *t, const struct token_entry *e,
                           uint64_t since);
uint64_t authn_token_touched(const struct authn_token *t, uint32_t instance);
bool authn_bootstrap_untouched(const struct authn_token *t, uint32_t instance, uint64_t since);
int64_t authn_token_expires_s(const struct token_entry *e);
uint32_t authn_token_home(const struct token_entry *e); /* the id of the instance it is from */

/* ---- claims, for the code that issues tokens (apiserver/auth/token_request.c) ---- */

#define AUTHN_TOKEN_PRIVATE "kubernetes.io" /* k8s: serviceaccount/claims.go */
/* {"instance":UID}; of a person also user, session and password (apiserver/auth/login.c) */
#define AUTHN_TOKEN_INSTANCE "kairship.io"
/* … of its user: session_times_disabled(), which must stay as it was */
#define AUTHN_TOKEN_TIMES_DISABLED "timesDisabled"

/* ---- apiserver/auth/authn_bootstrap.c ---- */

/* Returns whether the token has the form "abcdef.0123456789abcdef". */
bool authn_bootstrap_is(secret token);
int authn_bootstrap_check(struct rest *r, struct arena *a, const struct instance *i,
                          const struct kind *secrets, secret token, int64_t now_s,
                          struct identity *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
