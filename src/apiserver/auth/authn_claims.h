/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_AUTHN_CLAIMS_H
#define APISERVER_AUTH_AUTHN_CLAIMS_H

/*
 * Maps the claims of an issuer's token to an identity, as the configuration of that issuer says.
 * The caller has verified the signature.  Pure; any thread.
 *
 * An external issuer may not assign names that begin with `system:`: a token that claims one as
 * user or group is refused.
 *
 * k8s: apiserver/plugin/pkg/authenticator/token/oidc/oidc.go; the wording is theirs
 */

#include "apiserver/auth/authn_config.h"
#include "base/identity.h"
#include "json/json.h"

enum {
    CLAIMS_LEEWAY_S = 300, /* go-oidc: tolerated clock skew for nbf and iat; exp has none */
    CLAIMS_GROUPS_MAX = 1024
};

/* Returns 0 and the identity, or -1: UNAUTHORIZED with a reason that only a TokenReview shows. */
int authn_claims_map(struct arena *a, const struct authn_issuer *issuer, const struct json *claims,
                     int64_t now_s, struct identity *who, int64_t *expires, struct status *st)
    __attribute__((warn_unused_result));

/* Returns -1 when the user or a group has a reserved name (system:…). */
int authn_names_check(const struct identity *who, struct status *st)
    __attribute__((warn_unused_result));

#endif
