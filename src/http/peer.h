/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_PEER_H
#define HTTP_PEER_H

/*
 * What a certificate says of who holds it.  Pure reading: whether our CA vouches for it is the
 * handshake's business (http/tls.h), what it opens is the server's (apiserver/auth/authn_cert.h).
 */

#include "http/server.h"

struct x509_st; /* OpenSSL's X509 */

/*
 * False for a certificate that others might read differently: names that are no text or hold a NUL,
 * extensions that are broken or stand there twice.
 */
bool peer_read(struct arena *a, struct x509_st *x, struct http_peer *out);
bool peer_of_der(struct arena *a, str der, struct http_peer *out); /* the same, from its bytes */

#endif
