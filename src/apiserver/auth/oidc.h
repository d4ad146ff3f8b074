/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_OIDC_H
#define APISERVER_AUTH_OIDC_H

/*
 * Authenticates the tokens of the OpenID issuers that the operator has configured
 * (apiserver/auth/authn_config.h).
 *
 * An issuer's keys are fetched when its first token arrives, and kept.  A token with an unknown key
 * id has the keys fetched again, at most every ten seconds, and after failures with exponential
 * back-off; a bounded number of requests with such tokens waits meanwhile, and other requests go
 * on.  Keys that are ten minutes old are refreshed in the background, so that a withdrawn key stops
 * being accepted; while the issuer does not answer, the old keys stay valid.
 *
 * The identity of a verified token is cached (apiserver/auth/answer_cache.h) for ten seconds, but
 * not beyond the token's expiry, nor beyond a change of the keys or the configuration.
 *
 * Any thread that is inside an epoch.
 */

#include "apiserver/outbound/callout.h"
#include "base/clock.h"
#include "base/identity.h"
#include "base/secret.h"
#include "loop/loop.h"
#include "json/json.h"

enum {
    OIDC_GAP_MS = 10 * 1000,      /* between two fetches of an issuer's keys */
    OIDC_REFRESH_MS = 600 * 1000, /* the age at which keys are refreshed */
    OIDC_BACKOFF_MS = 1000,       /* after a failure; doubles */
    OIDC_BACKOFF_MAX_MS = 60 * 1000,
    OIDC_FETCH_MS = 5000,         /* for each of the two documents */
    OIDC_WAITING_MAX = 1000,      /* requests that wait for one issuer; more are refused */
    OIDC_REMEMBER_MS = 10 * 1000, /* k8s: tokenSuccessCacheTTL */
};

struct oidc;

struct oidc_options {
    struct clock *clock;
    str own_issuer; /* the server's own, whose tokens are not checked here */
    unsigned algs;  /* accepted algorithms, as bits (http/verify.h); 0: all */
    /* Starts a callout on the current loop. */
    void (*get)(void *arg, struct callout *c);
    void *arg;
};

struct oidc *oidc_new(const struct oidc_options *o); /* copies *o; starts without issuers */
void oidc_free(struct oidc *o);

/*
 * Replaces the configuration.  An issuer that is in both keeps its keys.  When the new one is
 * invalid the old one stays.  Any thread.
 */
int oidc_load(struct oidc *o, str text, struct status *st) __attribute__((warn_unused_result));

/* Returns whether anonymous callers may request this path. */
bool oidc_open(const struct oidc *o, str path);

/* A request that waits for keys.  It must live until ready() is called: once, on the loop. */
struct oidc_wait {
    void (*ready)(struct oidc_wait *w);
    struct loop *loop;

    struct loop_msg msg; /* private from here on */
    struct oidc_wait *next;
};

enum oidc_answer {
    OIDC_YES,
    OIDC_NO,    /* *st has the reason, for a TokenReview */
    OIDC_OTHER, /* the token is not of a configured issuer */
    OIDC_LATER, /* ready() will be called; then ask again */
};

/* Checks a token; *who lives in the arena.  With a NULL wait the answer is never OIDC_LATER. */
enum oidc_answer oidc_check(struct oidc *o, struct arena *a, secret token, struct oidc_wait *wait,
                            struct identity *who, struct status *st);

#endif
