/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ISSUER_KEYS_H
#define SERVER_ISSUER_KEYS_H

/*
 * The two documents by which an OpenID issuer tells its keys: the discovery document says where the
 * key set is, the key set (RFC 7517) has the keys.  Pure; server/oidc.h fetches them.
 *
 * A set is frozen once read.
 */

#include "server/jwt.h"

enum {
    ISSUER_DOCUMENT_MAX = 1 << 20, /* bytes of each document */
    ISSUER_KEYS_MAX = 32,          /* a token that names no key is tried with all of them */
};

/* Where the keys are, in the arena.  INVALID when the document is of another issuer, or is none. */
int issuer_discovery_read(struct arena *a, str text, str issuer, str *jwks_uri, struct status *st)
    __attribute__((warn_unused_result));

struct issuer_keys;

/* Keys of other uses and kinds are left out.  INVALID when it is no set, or none is left. */
struct issuer_keys *issuer_keys_read(str text, struct status *st);
void issuer_keys_free(void *keys); /* NULL is fine */
size_t issuer_keys_count(const struct issuer_keys *k);

enum issuer_verdict {
    ISSUER_GOOD,
    ISSUER_BAD,
    ISSUER_UNKNOWN, /* signed by none of these: there may be newer ones */
};
enum issuer_verdict issuer_keys_check(const struct issuer_keys *k, const struct jwt *t);

#endif
