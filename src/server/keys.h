/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_KEYS_H
#define SERVER_KEYS_H

/*
 * The keys of service account tokens.  The first one that can signs, all of them verify: a new key
 * is put in front, the old ones stay until their tokens have expired, then they go.
 *
 * Any thread that is in an epoch; what is peeked lives as long as the section.
 */

#include "http/sign.h"

enum { KEYS_MAX = 32 };

struct keys;

struct keys *keys_new(void); /* none yet */
void keys_free(struct keys *k);

/* These in place of all; the order is the rank.  INVALID, and nothing changed, when one of them is
 * no key, none can sign, or there are more than KEYS_MAX. */
int keys_load(struct keys *k, const secret *pems, size_t n, struct status *st)
    __attribute__((warn_unused_result));

/* How often keys were loaded: what was verified before may have lost its key. */
uint64_t keys_generation(const struct keys *k);

const struct sign_key *keys_peek_signer(const struct keys *k);
const struct sign_key *keys_peek(const struct keys *k, str id); /* NULL if there is none */

/* The public halves as a JSON Web Key Set (RFC 7517). */
int keys_jwks(const struct keys *k, struct arena *a, str *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
