/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUTHN_CLAIMS_H
#define SERVER_AUTHN_CLAIMS_H

/*
 * From the claims of an issuer's token to an identity, by what the configuration says of that
 * issuer.  The signature was good before.  Pure; any thread.
 *
 * An issuer is outside: names that begin with `system:` are ours to give, and a token that claims
 * one as user or group is refused.
 *
 * k8s: apiserver/plugin/pkg/authenticator/token/oidc/oidc.go; the wording is theirs
 */

#include "base/identity.h"
#include "json/json.h"
#include "server/authn_config.h"

enum {
    CLAIMS_LEEWAY_S = 300, /* go-oidc: for clocks that differ, of nbf and iat; not of exp */
    CLAIMS_GROUPS_MAX = 1024
};

/* UNAUTHORIZED says why, for who reviews a token. */
int authn_claims_map(struct arena *a, const struct authn_issuer *issuer, const struct json *claims,
                     int64_t now_s, struct identity *who, int64_t *expires, struct status *st)
    __attribute__((warn_unused_result));

/* Refuses names that only we give. */
int authn_names_check(const struct identity *who, struct status *st)
    __attribute__((warn_unused_result));

#endif
