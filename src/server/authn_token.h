/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUTHN_TOKEN_H
#define SERVER_AUTHN_TOKEN_H

/*
 * Whose bearer token this is, in an instance.
 *
 * A service account's token is signed by us (server/keys.h), is for the audiences it names, for a
 * time, and for one instance: it names the instance's issuer and uid, so it opens no other one, and
 * not a later one of the same name.  It holds as long as its account, and the object it may be
 * bound to, exist with the uids of that time.
 *
 * Signatures that were good are remembered by the hash of the token, a bounded number of them; the
 * rest is looked at on every request, so a deleted account is refused at once.
 *
 * Bootstrap tokens are Secrets of kube-system (server/authn_bootstrap.c).
 *
 * Any thread that is in an epoch.
 */

#include "base/clock.h"
#include "base/identity.h"
#include "json/json.h"
#include "rest/rest.h"
#include "server/keys.h"

struct authn_token;

struct authn_token_options {
    struct rest *rest;
    struct store *store;
    const struct catalog *catalog;
    const struct keys *keys;
    struct clock *clock;
    str issuer; /* of root; the others' have their path behind it */
};

struct authn_token *authn_token_new(const struct authn_token_options *o); /* copies */
void authn_token_free(struct authn_token *t);

/* Who issues the instance's tokens, and the audience of its API. */
str authn_token_issuer(const struct authn_token *t, struct arena *a, const struct instance *i);

struct authn_token_answer {
    struct identity who;  /* as long as the arena lives */
    const str *audiences; /* those asked for that the token is for */
    size_t naudiences;
};

/*
 * The token must be for one of these audiences; none given: for the instance's API.  UNAUTHORIZED
 * says why in words for who reviews a token, not for who sent it; other reasons are the store's.
 */
int authn_token_check(struct authn_token *t, struct arena *a, const struct instance *i,
                      secret token, const str *audiences, size_t naudiences,
                      struct authn_token_answer *out, struct status *st)
    __attribute__((warn_unused_result));

/* ---- claims, for who makes tokens (server/token_request.c) ---- */

#define AUTHN_TOKEN_PRIVATE  "kubernetes.io" /* k8s: serviceaccount/claims.go */
#define AUTHN_TOKEN_INSTANCE "kairship.io"   /* {"instance":UID} */

/* ---- server/authn_bootstrap.c ---- */

/* Is it of the form "abcdef.0123456789abcdef"? */
bool authn_bootstrap_is(secret token);
int authn_bootstrap_check(struct rest *r, struct arena *a, const struct instance *i,
                          const struct kind *secrets, secret token, int64_t now_s,
                          struct identity *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
