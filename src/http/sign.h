/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_SIGN_H
#define HTTP_SIGN_H

/*
 * Signatures as tokens carry them (RFC 7518): ECDSA P-256 with SHA-256 (ES256) or RSA with SHA-256
 * (RS256, 2048 bits and more).  A key fixes its algorithm; there is no other choice.
 *
 * Keys are frozen and may be used by many threads at once.
 */

#include "base/arena.h"
#include "base/secret.h"
#include "base/status.h"

struct sign_key;

/* A private or public key, PEM.  INVALID when it is neither, too weak, or of another algorithm. */
struct sign_key *sign_key_new(secret pem, struct status *st);
void sign_key_free(struct sign_key *k);

/* A new private P-256 key as PEM in the arena; wiped when the arena goes. */
int sign_key_make(struct arena *a, secret *pem, struct status *st)
    __attribute__((warn_unused_result));

const char *sign_key_alg(const struct sign_key *k); /* "ES256" or "RS256" */
bool sign_key_signs(const struct sign_key *k);      /* it has its private half */

/* Names the key: base64url of the SHA-256 of the public half.  Lives with the key. */
str sign_key_id(const struct sign_key *k);

/* The numbers of the public half, big-endian; x and y of an EC key, n and e of an RSA key. */
struct sign_numbers {
    bool ec;
    str x, y, n, e;
};
int sign_key_numbers(const struct sign_key *k, struct arena *a, struct sign_numbers *out,
                     struct status *st) __attribute__((warn_unused_result));

/* Made by a key that has its private half. */
int sign_make(const struct sign_key *k, struct arena *a, str bytes, str *signature,
              struct status *st) __attribute__((warn_unused_result));
bool sign_check(const struct sign_key *k, str bytes, str signature);

enum { SHA256_SIZE = 32 };
void sign_sha256(str bytes, unsigned char out[SHA256_SIZE]);
enum { SHA224_SIZE = 28 };
void sign_sha224(str bytes, unsigned char out[SHA224_SIZE]); /* for names that others made so */

#endif
