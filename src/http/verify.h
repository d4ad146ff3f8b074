/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_VERIFY_H
#define HTTP_VERIFY_H

/*
 * Public keys that others publish as numbers, and the signatures of tokens by them (RFC 7518):
 *
 *     RS256 RS384 RS512 PS256 PS384 PS512    RSA of 2048 to 8192 bits
 *     ES256 ES384 ES512                      ECDSA, P-256, P-384 and P-521, one each
 *
 * What a token says of its algorithm must be one of its key's type: there is no `none` and no
 * symmetric one.  Our own keys, which sign, are http/sign.h.
 *
 * Keys are frozen and may be used by many threads at once.
 */

#include "base/str.h"

struct verify_key;

/* From numbers, big-endian.  NULL when they are no key, or a weak or an unbounded one. */
struct verify_key *verify_key_rsa(str n, str e);
struct verify_key *verify_key_ec(str curve, str x, str y); /* "P-256", "P-384", "P-521" */
void verify_key_free(struct verify_key *k);

/* A bit for each algorithm above; 0: there is none of that name. */
unsigned verify_alg(str name);
bool verify_check(const struct verify_key *k, str alg, str bytes, str signature);

#endif
