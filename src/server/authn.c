/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who is calling.  A client certificate, else a bearer token, else nobody; each is good for one
 * instance (DESIGN: a credential opens one door), and a credential that is no good is refused even
 * where none is needed.
 */

#include "base/banned.h"
#include "base/encode.h"
#include "base/log.h"
#include "server/audit.h"
#include "server/authn_cert.h"
#include "server/authn_token.h"
#include "server/internal.h"

/* k8s: authentication/request/websocket */
#define WEBSOCKET_TOKEN "base64url.bearer.authorization.k8s.io."

static const str unauthenticated[] = { STR_INIT("system:unauthenticated") };

static bool refuse(struct call *c)
{
    struct status *st = call_status(c);

    audit_begin_refused(c);
    (void)status_set(st, REASON_UNAUTHORIZED, "Unauthorized");
    call_fail(c, st);
    return false;
}

/* Browsers cannot set the header, so they name the token among the protocols. */
static bool websocket_token(struct call *c, str *out)
{
    str list = call_header(c, "sec-websocket-protocol"), part, prefix = STR(WEBSOCKET_TOKEN);

    if (!str_eq_nocase(call_header(c, "upgrade"), STR("websocket")))
        return false;
    for (str rest = list; rest.n && str_split(&rest, ',', &part);) {
        part = str_trim(part);
        if (str_starts(part, prefix))
            return base64_decode(c->arena, BASE64_URL, str_from(part, prefix.n), out);
    }
    return false;
}

/* k8s: authentication/request/bearertoken: the word in any case, blanks, the token */
static bool bearer_token(struct call *c, str *out)
{
    str header = call_header(c, "authorization"), word;

    if (header.n == 0)
        return websocket_token(c, out);
    if (!str_split(&header, ' ', &word) || !str_eq_nocase(word, STR("bearer")))
        return false;
    *out = str_trim(header);
    return out->n > 0;
}

static bool by_token(struct call *c)
{
    struct authn_token_answer answer;
    struct status *st;
    str token;

    if (!bearer_token(c, &token))
        return false;
    st = call_status(c);
    if (authn_token_check(c->server->tokens, c->arena, &c->rest.instance, secret_of(token), NULL, 0,
                          &answer, st) < 0) {
        log_debug("token refused", log_str("why", st->message), log_str("audit_id", c->audit_id));
        return false;
    }
    c->who = answer.who;
    return true;
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

static bool has_credential(const struct call *c)
{
    return c->peer || c->peer_rejected || call_header(c, "authorization").n ||
           str_contains(call_header(c, "sec-websocket-protocol"), STR(WEBSOCKET_TOKEN));
}

bool authenticate(struct call *c)
{
    if (c->who.user.n) /* a part of our own program, named by itself */
        return true;
    if (by_certificate(c) || by_token(c))
        return true;
    if (has_credential(c))
        return refuse(c);
    c->who = (struct identity){ .user = STR("system:anonymous"),
                                .groups = unauthenticated,
                                .ngroups = 1 };
    return true;
}
