/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OIDC_H
#define SERVER_OIDC_H

/*
 * Tokens of OpenID issuers that the operator has named (server/authn_config.h).
 *
 * An issuer's keys are fetched when a token of it first comes, and held.  A token that names a key
 * we do not have makes us look for new ones, not more often than every ten seconds, and after
 * failures less and less often; meanwhile such requests wait, a bounded number of them, and others
 * do not notice.  Keys that were held for ten minutes are fetched again beside the requests that
 * use them, so that a key that was withdrawn ends; while the issuer does not answer they stay.
 *
 * What a good token says is remembered for ten seconds (server/remembered.h), at most until it
 * expires, and only as long as neither keys nor configuration change.
 *
 * Any thread that is in an epoch.
 */

#include "base/clock.h"
#include "base/identity.h"
#include "json/json.h"
#include "base/secret.h"
#include "loop/loop.h"
#include "server/callout.h"

enum {
    OIDC_GAP_MS = 10 * 1000,      /* between two looks for an issuer's keys */
    OIDC_REFRESH_MS = 600 * 1000, /* keys are looked at again after this */
    OIDC_BACKOFF_MS = 1000,       /* after a failure; doubles */
    OIDC_BACKOFF_MAX_MS = 60 * 1000,
    OIDC_FETCH_MS = 5000,         /* for each of the two documents */
    OIDC_WAITING_MAX = 1000,      /* requests that wait for one issuer; more are refused */
    OIDC_REMEMBER_MS = 10 * 1000, /* k8s: tokenSuccessCacheTTL */
};

struct oidc;

struct oidc_options {
    struct clock *clock;
    str own_issuer; /* ours, whose tokens are none of these */
    unsigned algs;  /* that are taken (http/verify.h); 0: all */
    /* Starts a callout on the current loop. */
    void (*get)(void *arg, struct callout *c);
    void *arg;
};

struct oidc *oidc_new(const struct oidc_options *o); /* with no issuer; copies */
void oidc_free(struct oidc *o);

/*
 * This configuration in place of the last.  An issuer that is in both keeps its keys.  The old one
 * stays when this one is wrong.  Any thread.
 */
int oidc_load(struct oidc *o, str text, struct status *st) __attribute__((warn_unused_result));

/* Whether nobody may ask for this path. */
bool oidc_open(const struct oidc *o, str path);

/* Who waits for keys; kept until `ready`, which comes once, on the loop. */
struct oidc_wait {
    void (*ready)(struct oidc_wait *w);
    struct loop *loop;

    struct loop_msg msg; /* from here on ours */
    struct oidc_wait *next;
};

enum oidc_answer {
    OIDC_YES,
    OIDC_NO,    /* *st says why, for who reviews a token */
    OIDC_OTHER, /* it is no token of these issuers */
    OIDC_LATER, /* `ready` comes; then ask again */
};

/* wait NULL: no more waiting.  *who lives as long as the arena. */
enum oidc_answer oidc_check(struct oidc *o, struct arena *a, secret token, struct oidc_wait *wait,
                            struct identity *who, struct status *st);

#endif
