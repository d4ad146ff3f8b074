/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_JWT_H
#define SERVER_JWT_H

/*
 * Signed tokens in their compact form (RFC 7515): header.claims.signature, each in base64url.
 *
 * The algorithm is the key's: what a token says of it must agree, so `none`, HS256 and the
 * confusion of one key type with another end before any cryptography.  Nothing of the claims is
 * looked at before the signature is good.
 */

#include "base/secret.h"
#include "server/keys.h"
#include "json/json.h"

enum { JWT_MAX = 16 << 10 }; /* bytes of a token; more is none */

struct jwt {
    str alg, kid; /* of the header */
    str signed_text;
    str claims; /* JSON, as it was sent */
    str signature;
};

/* The parts; false when it is no token, or one that asks for what we do not know (crit). */
bool jwt_parse(struct arena *a, secret token, struct jwt *out);

/* The signature is that of one of our keys. */
bool jwt_verify(const struct jwt *t, const struct keys *keys);

/* An object whose names are unique, or NULL. */
const struct json *jwt_claims(struct arena *a, const struct jwt *t);

int jwt_make(struct arena *a, const struct keys *keys, const struct json *claims, secret *out,
             struct status *st) __attribute__((warn_unused_result));

#endif
