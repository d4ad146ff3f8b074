/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

/*
 * The server's side of TLS: certificates, ALPN, who the client is.
 *
 * Client certificates are asked for, not required; one that does not verify is no reason to refuse
 * the connection, but tls_peer tells.
 */

#include <openssl/ssl.h>

#include "http/server.h"

struct tls;

struct tls *tls_new(str cert_pem, secret key_pem, str client_ca_pem, struct status *st);
void tls_free(struct tls *t);

/* Sessions from now on use these.  Any thread. */
int tls_reload(struct tls *t, str cert_pem, secret key_pem, struct status *st);

/* A server session on the BIO.  Any thread. */
SSL *tls_session(struct tls *t, BIO *bio);

/* From a finished handshake: the client, or NULL; *rejected if there was a certificate. */
const struct http_peer *tls_peer(const SSL *ssl, struct arena *a, bool *rejected);
bool tls_is_h2(const SSL *ssl);

/* A BIO that reads from and writes to memory by these functions. */
struct tls_memory {
    size_t (*read)(void *arg, char *p, size_t n); /* 0: nothing there now */
    void (*write)(void *arg, const char *p, size_t n);
    void *arg;
};
BIO *tls_bio(const struct tls_memory *m); /* m must outlive it */

#endif
