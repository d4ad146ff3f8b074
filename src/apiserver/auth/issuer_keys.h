/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_ISSUER_KEYS_H
#define APISERVER_AUTH_ISSUER_KEYS_H

/*
 * The two documents in which an OpenID issuer publishes its keys: the discovery document has the
 * URL of the key set, and the key set (RFC 7517) has the keys.  Pure; apiserver/auth/oidc.h fetches
 * them.
 *
 * A key set is frozen once read.
 */

#include "apiserver/auth/jwt.h"

enum {
    ISSUER_DOCUMENT_MAX = 1 << 20, /* bytes of each document */
    ISSUER_KEYS_MAX = 32,          /* a token without a key id is tried with all of them */
};

/* Reads the URL of the key set, into the arena.  INVALID when the text is no discovery document, is
 * another issuer's, or the URL is not https. */
int issuer_discovery_read(struct arena *a, str text, str issuer, str *jwks_uri, struct status *st)
    __attribute__((warn_unused_result));

struct issuer_keys;

/* Reads a key set without the keys that cannot verify tokens.  INVALID when the text is no key set,
 * or no key is left. */
struct issuer_keys *issuer_keys_read(str text, struct status *st);
void issuer_keys_free(void *keys); /* NULL is fine */
size_t issuer_keys_count(const struct issuer_keys *k);

enum issuer_verdict {
    ISSUER_GOOD,
    ISSUER_BAD,
    ISSUER_UNKNOWN, /* no key has its key id, or it has none and no key verifies it: refetch */
};
enum issuer_verdict issuer_keys_check(const struct issuer_keys *k, const struct jwt *t);

#endif
