/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_PKI_INTERNAL_H
#define HTTP_PKI_INTERNAL_H

/* What the files about keys and certificates share: OpenSSL's values as texts and back.  True is
 * success. */

#include <openssl/x509v3.h>

#include "http/pki.h"

int pki_failed(struct status *st, const char *what); /* INTERNAL, with what OpenSSL says */
str pki_bio_text(struct arena *a, BIO *bio);
secret pki_key_text(struct arena *a, EVP_PKEY *key);
str pki_cert_text(struct arena *a, X509 *cert);
X509 *pki_read_cert(str pem); /* NULL if it is none */
EVP_PKEY *pki_read_key(secret pem);
int pki_no_passphrase(char *buf, int size, int rw, void *arg); /* keys under one are not read */
bool pki_add_name(X509_NAME *name, const char *field, str value);
bool pki_add_ext(X509 *cert, X509 *issuer, int nid, const char *value);
bool pki_set_serial(X509 *cert);
size_t pki_hosts_of(struct arena *a, const X509 *cert, const str **out); /* that it is for */
bool pki_times(const X509 *cert, int64_t *not_before, int64_t *not_after);
str pki_key_hash(struct arena *a, const X509 *cert); /* as pki_public_key_hash */

/* False for strings that would be read differently by others: a NUL, invalid text. */
bool pki_text_of(struct arena *a, const ASN1_STRING *s, str *out);

#endif
