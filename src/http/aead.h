/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_AEAD_H
#define HTTP_AEAD_H

/*
 * Sealing bytes: nobody without the key can read them, change them, or pass them off beside other
 * bytes than they were sealed beside.
 *
 *  AESGCM  XAES-256-GCM (C2SP): AES-256-GCM under a key of its own for each record, made of the
 *          first half of a random 192-bit nonce, so that a key may seal as many as it likes.
 *  AESCBC  AES-256-CBC with a random IV, then HMAC-SHA-256 over everything.
 *
 * A key has 16, 24 or 32 bytes.  What AESGCM uses is the key itself if it has 32, what all others
 * use is made of it by HMAC-SHA-256.  Keys are frozen and may be used by many threads at once; they
 * are wiped when they are freed.
 */

#include "base/secret.h"
#include "base/status.h"

enum aead_form { AEAD_AESGCM, AEAD_AESCBC };
enum { AEAD_FORMS = AEAD_AESCBC + 1 };

enum {
    AEAD_NONCE_MAX = 24,
    AEAD_OVERHEAD_MAX = 64, /* what sealing adds at most */
    AEAD_CHECK = 8,         /* bytes that tell a key from others */
};

struct aead_key;

/* INVALID when it has another number of bytes. */
struct aead_key *aead_key_new(enum aead_form form, secret bytes, struct status *st);
void aead_key_free(struct aead_key *k);

/* The same for the same key; says nothing about it. */
str aead_key_check(const struct aead_key *k);

/* Writes at most plain.n + AEAD_OVERHEAD_MAX bytes; returns how many. */
size_t aead_seal(const struct aead_key *k, str beside, str plain, char *out);
/* Writes at most sealed.n bytes, *n; false, and nothing of use written, when it is not so. */
bool aead_open(const struct aead_key *k, str beside, str sealed, char *out, size_t *n);

/* The same with a nonce that is given: for known answers only. */
size_t aead_seal_with(const struct aead_key *k, const char nonce[AEAD_NONCE_MAX], str beside,
                      str plain, char *out);

#endif
