/* SPDX-License-Identifier: Apache-2.0 */
#include "server/authn_external.h"

#include "base/banned.h"
#include "server/internal.h"
#include "server/people.h"

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

/* The instance's name and not whether it is there: who has no role in it is not told. */
static void let_in(struct authn_external *x)
{
    struct call *c = x->call;

    x->good = people_admits(c->server->people, c->info.instance, &x->who);
    if (!x->good)
        x->why = STR("the person has no role in this instance");
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
    return true;
}

static void keys_came(struct oidc_wait *w)
{
    struct authn_external *x = CONTAINER(w, struct authn_external, wait);

    (void)ask_issuers(x, NULL);
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
