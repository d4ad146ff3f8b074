/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Authentication of a call: by client certificate, else by bearer token, which this server or an
 * external issuer has issued; without a credential the caller is anonymous.  Each credential is
 * valid in one instance (DESIGN: a credential opens one door), but those of persons also where
 * Global Management gives them a role.  An invalid credential is refused even on paths where
 * anonymous requests are allowed.
 */

#include "apiserver/audit/audit.h"
#include "apiserver/auth/authn_cert.h"
#include "apiserver/auth/authn_elsewhere.h"
#include "apiserver/auth/authn_external.h"
#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/people.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/log.h"

/* k8s: authentication/request/websocket */
#define WEBSOCKET_TOKEN "base64url.bearer.authorization.k8s.io."

static const str unauthenticated[] = { STR_INIT("system:unauthenticated") };

/* Browsers cannot set the header, so they name the token among the protocols. */
static bool websocket_token(struct call *c, secret *out)
{
    str list = call_header(c, "sec-websocket-protocol"), part, plain, prefix = STR(WEBSOCKET_TOKEN);

    if (!str_eq_nocase(call_header(c, "upgrade"), STR("websocket")))
        return false;
    for (str rest = list; rest.n && str_split(&rest, ',', &part);) {
        part = str_trim(part);
        if (!str_starts(part, prefix))
            continue;
        if (!base64_decode(c->arena, BASE64_URL, str_from(part, prefix.n), &plain))
            return false;
        *out = secret_of(plain);
        return true;
    }
    return false;
}

/* k8s: authentication/request/bearertoken: the word in any case, blanks, the token */
static bool bearer_token(struct call *c, secret *out)
{
    str header = call_header(c, "authorization"), word;

    if (header.n == 0)
        return websocket_token(c, out);
    if (!str_split(&header, ' ', &word) || !str_eq_nocase(word, STR("bearer")))
        return false;
    *out = secret_of(str_trim(header));
    return !secret_empty(*out);
}

static bool refuse(struct call *c)
{
    struct status *st = call_status(c);
    secret token = SECRET_NONE;

    audit_begin_refused(c);
    if (c->was_session) {
        (void)status_set(st, REASON_UNAUTHORIZED,
                         "Unauthorized: this session has ended, log in again");
    } else if (c->stale) {
        (void)status_set(st, REASON_UNAVAILABLE,
                         "users have changed and cannot be read at this moment, try again");
    } else {
        (void)bearer_token(c, &token);
        authn_elsewhere(c, token, st);
    }
    call_fail(c, st);
    return false;
}

static void note_refusal(const struct call *c, str why)
{
    log_debug("token refused", log_str("why", why), log_str("audit_id", c->audit_id));
}

static bool take(struct call *c, const struct authn_external *x)
{
    c->standing.external = x->good;
    if (x->good)
        c->who = x->who;
    else
        note_refusal(c, x->why);
    return x->good;
}

static void external_known(struct authn_external *x)
{
    if (take(x->call, x))
        call_continue(x->call);
    else
        (void)refuse(x->call);
}

enum by_token { TOKEN_GOOD, TOKEN_BAD, TOKEN_LATER };

/*
 * The token of a login, in an instance in which its user has a role, as those whom an issuer
 * vouches for (apiserver/auth/authn_external.h).  Whether the instance exists is not asked: those
 * who have no role in it must not learn that.
 */
static bool by_login_elsewhere(struct call *c, secret token)
{
    const struct instance root = { .id = INSTANCE_ROOT, .uid = c->server->root_uid };
    struct authn_token_answer answer;
    struct status *st = call_status(c);

    if (c->rest.instance.id == INSTANCE_ROOT || c->rest.instance.id == STORE_ALL)
        return false;
    if (authn_token_check(c->server->tokens, c->arena, &root, token, NULL, 0, &answer, st) < 0) {
        c->was_session = answer.was_session;
        return false;
    }
    if (!answer.session.n || c->stale ||
        !people_admits(c->server->people, c->info.instance, &answer.who))
        return false;
    c->who = answer.who;
    c->standing.token = answer.entry;
    c->standing.external = true;
    return true;
}

static enum by_token by_token(struct call *c)
{
    struct authn_token_answer answer;
    struct authn_external *x;
    struct status *st;
    secret token;

    if (!bearer_token(c, &token))
        return TOKEN_BAD;
    st = call_status(c);
    if (authn_token_check(c->server->tokens, c->arena, &c->rest.instance, token, NULL, 0, &answer,
                          st) == 0) {
        c->who = answer.who;
        c->session = answer.session;
        c->standing.token = answer.entry;
        c->standing.bootstrap = !answer.entry;
        return TOKEN_GOOD;
    }
    c->was_session = answer.was_session;
    if (by_login_elsewhere(c, token))
        return TOKEN_GOOD;
    note_refusal(c, st->message);
    x = arena_new_of(c->arena, struct authn_external);
    *x = (struct authn_external){ .call = c, .token = token, .done = external_known };
    if (!authn_external_check(x))
        return TOKEN_LATER;
    return take(c, x) ? TOKEN_GOOD : TOKEN_BAD;
}

static bool by_certificate(struct call *c)
{
    int64_t now_s = clock_wall_s(c->server->clock);

    if (!c->peer ||
        !authn_cert_map(c->arena, c->peer, &c->rest.instance, c->server->root_uid, now_s, &c->who))
        return false;
    metrics_client_certificate(c->server->metrics, c->peer->not_after - now_s);
    return true;
}

bool authn_has_credential(const struct call *c)
{
    return c->who.user.n || c->peer || c->peer_rejected || call_header(c, "authorization").n ||
           str_contains(call_header(c, "sec-websocket-protocol"), STR(WEBSOCKET_TOKEN));
}

bool authenticate(struct call *c)
{
    enum by_token token;

    if (c->who.user.n) /* a part of our own program, named by itself */
        return true;
    if (by_certificate(c))
        return true;
    token = by_token(c);
    if (token != TOKEN_BAD)
        return token == TOKEN_GOOD;
    if (authn_has_credential(c) || !oidc_open(c->server->oidc, c->info.path))
        return refuse(c);
    c->who = (struct identity){ .user = STR("system:anonymous"),
                                .groups = unauthenticated,
                                .ngroups = 1 };
    return true;
}
