/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_JWT_H
#define APISERVER_AUTH_JWT_H

/*
 * Signed tokens in their compact form (RFC 7515): header.claims.signature, each in base64url.
 *
 * The key decides the algorithm, and the token's header must agree with it: `none`, HS256 and the
 * confusion of one key type with another are refused before any cryptography runs.  The claims are
 * not read before the signature is verified.
 */

#include "apiserver/auth/keys.h"
#include "base/secret.h"
#include "json/json.h"

enum { JWT_MAX = 16 << 10 }; /* bytes; a longer string is not parsed */

struct jwt {
    str alg, kid; /* from the header */
    str signed_text;
    str claims; /* JSON, as it was sent */
    str signature;
};

/* Splits a token.  Returns false when it is malformed, or its header has critical extensions
 * (crit), of which none is supported. */
bool jwt_parse(struct arena *a, secret token, struct jwt *out);

/* Returns whether one of the server's own keys made the signature. */
bool jwt_verify(const struct jwt *t, const struct keys *keys);

/* Parses the claims: an object without duplicate names, or NULL. */
const struct json *jwt_claims(struct arena *a, const struct jwt *t);

int jwt_make(struct arena *a, const struct keys *keys, const struct json *claims, secret *out,
             struct status *st) __attribute__((warn_unused_result));

#endif
