/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_external.h"

#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/jwt.h"
#include "apiserver/auth/people.h"
#include "apiserver/auth/verdict_review.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

/* Accepts the user if they have a role in the instance.  It does not look whether the instance
 * exists, because callers without a role in it must not learn that. */
static void let_in(struct authn_external *x)
{
    struct call *c = x->call;

    x->good = !c->stale && people_admits(c->server->people, c->info.instance, &x->who);
    if (!x->good)
        x->why = STR("the person has no role in this instance");
}

static void take_verdict(struct authn_external *x)
{
    const struct answer_cache_answer *answer = x->verdict.answer;

    if (answer && answer->yes) {
        x->who = answer->who;
        let_in(x);
    } else {
        x->why = answer ? answer->reason : x->verdict.why.message;
    }
}

static void verdict_came(struct verdict *q)
{
    struct authn_external *x = CONTAINER(q, struct authn_external, verdict);

    take_verdict(x);
    x->done(x);
}

/* What is good in another instance, or was good here, is not shown to others. */
static bool is_ours(const struct authn_external *x)
{
    struct jwt jwt;

    return authn_bootstrap_is(x->token) ||
           (jwt_parse(x->call->arena, x->token, &jwt) && jwt_verify(&jwt, x->call->server->keys));
}

/* True: known.  The question does not say in which instance they asked. */
static bool ask_webhook(struct authn_external *x)
{
    struct verdicts *v = x->call->server->token_verdicts;
    struct arena *a = x->call->arena;

    if (!v || secret_reveal(x->token).n > JWT_MAX || is_ours(x))
        return true;
    x->verdict = (struct verdict){ .arena = a, .done = verdict_came };
    x->verdict.body = token_review_question(a, x->token, verdicts_audience(v));
    if (!verdicts_ask(v, &x->verdict))
        return false;
    take_verdict(x);
    return true;
}

/* True: known. */
static bool ask_issuers(struct authn_external *x, struct oidc_wait *wait)
{
    struct status *st = call_status(x->call);
    enum oidc_answer answer =
        oidc_check(x->call->server->oidc, x->call->arena, x->token, wait, &x->who, st);

    if (answer == OIDC_LATER)
        return false;
    if (answer == OIDC_YES)
        let_in(x);
    else if (answer == OIDC_NO)
        x->why = st->message;
    else
        return ask_webhook(x);
    return true;
}

static void keys_came(struct oidc_wait *w)
{
    struct authn_external *x = CONTAINER(w, struct authn_external, wait);

    if (ask_issuers(x, NULL))
        x->done(x);
}

bool authn_external_check(struct authn_external *x)
{
    x->good = false;
    x->why = STR_NONE;
    if (x->call->rest.instance.id == STORE_ALL) /* a token is for one instance, not for all */
        return true;
    x->wait = (struct oidc_wait){ .ready = keys_came, .loop = x->call->loop };
    return ask_issuers(x, &x->wait);
}
