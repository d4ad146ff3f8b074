/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_elsewhere.h"

#include "apiserver/auth/authn_cert.h"
#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/jwt.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

/* What a credential says of its own instance, before it is checked there; "" is root. */
static bool named_by_certificate(struct call *c, str *name)
{
    *name = c->peer ? authn_cert_instance(c->peer) : STR_NONE;
    return c->peer && (name->n || c->peer->nuris == 0);
}

static bool named_by_token(struct call *c, secret token, str *name)
{
    static const struct instance root = { .id = INSTANCE_ROOT };
    str base = authn_token_issuer(c->server->tokens, c->arena, &root), issuer;
    const struct json *claims;
    struct jwt jwt;

    if (!jwt_parse(c->arena, token, &jwt) || !jwt_verify(&jwt, c->server->keys))
        return false;
    claims = jwt_claims(c->arena, &jwt);
    issuer = json_get_str(claims, "iss");
    if (!str_starts(issuer, base))
        return false;
    *name = str_from(issuer, base.n);
    if (str_starts(*name, STR("/clusters/")))
        *name = str_from(*name, sizeof("/clusters/") - 1);
    return true;
}

/* *also: what it opens besides; the same for every instance that it does not open. */
static bool opens(struct call *c, str name, secret token, bool by_token, const char **also)
{
    struct authn_token_answer answer;
    struct instance i;
    struct identity who;
    struct status st;

    status_init(&st, c->arena);
    if (instance_find(rest_instances(c->server->rest), c->arena, name, &i, &st) < 0)
        return false;
    if (by_token) {
        if (authn_token_check(c->server->tokens, c->arena, &i, token, NULL, 0, &answer, &st) < 0)
            return false;
        if (answer.session.n)
            *also = ", and the instances in which its user has a role";
        return true;
    }
    return authn_cert_map(c->arena, c->peer, &i, c->server->root_uid,
                          clock_wall_s(c->server->clock), &who);
}

static str address_of(struct call *c, str name)
{
    str host = call_header(c, "host");

    if (!host.n)
        host = call_header(c, ":authority");
    return str_printf(c->arena, "https://%.*s%s%.*s", STR_ARG(host), name.n ? "/clusters/" : "",
                      STR_ARG(name));
}

void authn_elsewhere(struct call *c, secret token, struct status *st)
{
    static const char *const kinds[] = { "client certificate", "token" };

    for (int i = 0; i < 2 && !c->port.n; i++) {
        bool named, by_token = i == 1;
        const char *also = "";
        str name;

        named = by_token ? named_by_token(c, token, &name) : named_by_certificate(c, &name);
        if (!named || str_eq(name, c->info.instance) || !opens(c, name, token, by_token, &also))
            continue;
        (void)status_set(st, REASON_UNAUTHORIZED,
                         "Unauthorized: this %s opens the %s%.*s%s, whose address is %.*s%s",
                         kinds[i], name.n ? "instance " : "root instance", STR_ARG(name),
                         *also ? "" : " only", STR_ARG(address_of(c, name)), also);
        return;
    }
    (void)status_set(st, REASON_UNAUTHORIZED, "Unauthorized");
}
