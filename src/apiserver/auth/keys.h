/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_KEYS_H
#define APISERVER_AUTH_KEYS_H

/*
 * The keys of service account tokens.  The first key that has a private half signs, and all keys
 * verify.  To rotate, put a new key in front and remove the old ones when their tokens have
 * expired.
 *
 * Any thread that is inside an epoch; a peeked key is valid until the thread leaves it.
 */

#include "http/sign.h"

enum { KEYS_MAX = 32 };

struct keys;

struct keys *keys_new(void); /* without any key */
void keys_free(struct keys *k);

/* Replaces all keys; the order is the rank.  INVALID, and nothing changes, when a text is no key,
 * no key can sign, or there are more than KEYS_MAX. */
int keys_load(struct keys *k, const secret *pems, size_t n, struct status *st)
    __attribute__((warn_unused_result));

/* Returns how often keys were loaded; a cached verification of an older generation is void. */
uint64_t keys_generation(const struct keys *k);

const struct sign_key *keys_peek_signer(const struct keys *k);
const struct sign_key *keys_peek(const struct keys *k, str id); /* NULL if no key has this id */

/* Writes the public keys as a JSON Web Key Set (RFC 7517). */
int keys_jwks(const struct keys *k, struct arena *a, str *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
