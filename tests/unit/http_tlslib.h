/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_TLSLIB_H
#define HTTP_TLSLIB_H

/*
 * For tests of the HTTP server over real sockets: certificates made on the spot, and a blocking
 * client on OpenSSL.  Include after the system headers.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"

/* ---- certificates ---- */

struct identity {
    X509 *cert;
    EVP_PKEY *key;
    char cert_pem[4096], key_pem[1024];
};

struct identity_options {
    const char *cn, *orgs[3], *san;
    const struct identity *ca; /* NULL: signs itself, and is a CA */
    long from_s, to_s;         /* seconds from now */
};

static inline void add_extension(X509 *x, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *e;

    X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
    e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    if (!e || !X509_add_ext(x, e, -1))
        abort();
    X509_EXTENSION_free(e);
}

static inline void to_pem(struct identity *id)
{
    BIO *b = BIO_new(BIO_s_mem());
    int n;

    if (!b || !PEM_write_bio_X509(b, id->cert))
        abort();
    n = BIO_read(b, id->cert_pem, sizeof(id->cert_pem) - 1);
    id->cert_pem[n] = '\0';
    if (!PEM_write_bio_PrivateKey(b, id->key, NULL, NULL, 0, NULL, NULL))
        abort();
    n = BIO_read(b, id->key_pem, sizeof(id->key_pem) - 1);
    id->key_pem[n] = '\0';
    BIO_free(b);
}

static inline struct identity *identity_new(const struct identity_options *o)
{
    static long serial = 1;
    struct identity *id = calloc(1, sizeof(*id));
    X509_NAME *name;

    if (!id)
        abort();
    id->key = EVP_EC_gen("P-256");
    id->cert = X509_new();
    if (!id->key || !id->cert || !X509_set_version(id->cert, 2) ||
        !ASN1_INTEGER_set(X509_get_serialNumber(id->cert), serial++) ||
        !X509_gmtime_adj(X509_getm_notBefore(id->cert), o->from_s) ||
        !X509_gmtime_adj(X509_getm_notAfter(id->cert), o->to_s ? o->to_s : 3600) ||
        !X509_set_pubkey(id->cert, id->key))
        abort();
    name = X509_get_subject_name(id->cert);
    (void)X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)o->cn, -1,
                                     -1, 0);
    for (int i = 0; i < 3 && o->orgs[i]; i++)
        (void)X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8,
                                         (const unsigned char *)o->orgs[i], -1, -1, 0);
    (void)X509_set_issuer_name(id->cert, o->ca ? X509_get_subject_name(o->ca->cert) : name);
    if (!o->ca)
        add_extension(id->cert, NID_basic_constraints, "critical,CA:TRUE");
    if (o->san)
        add_extension(id->cert, NID_subject_alt_name, o->san);
    if (!X509_sign(id->cert, o->ca ? o->ca->key : id->key, EVP_sha256()))
        abort();
    to_pem(id);
    return id;
}

static inline void identity_free(struct identity *id)
{
    if (!id)
        return;
    X509_free(id->cert);
    EVP_PKEY_free(id->key);
    free(id);
}

/* ---- a client ---- */

struct tls_client {
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
};

struct tls_client_options {
    const char *alpn; /* as on the wire: "\x02h2" */
    const struct identity *identity;
    SSL_SESSION *session;
    int max_version;
};

static inline int tcp_connect(const char *address)
{
    struct timeval patience = { .tv_sec = 10 };
    struct sockaddr_in sa = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    sa.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* False when the handshake failed. */
static inline bool tls_client_open(struct tls_client *c, const char *address,
                                   const struct tls_client_options *o)
{
    *c = (struct tls_client){ .ctx = SSL_CTX_new(TLS_client_method()), .fd = tcp_connect(address) };
    c->ssl = SSL_new(c->ctx);
    if (!c->ssl)
        abort();
    if (o->max_version) {
        SSL_set_security_level(c->ssl, 0);
        (void)SSL_set_min_proto_version(c->ssl, TLS1_VERSION);
        (void)SSL_set_max_proto_version(c->ssl, o->max_version);
    }
    if (o->alpn)
        (void)SSL_set_alpn_protos(c->ssl, (const unsigned char *)o->alpn,
                                  (unsigned)strlen(o->alpn));
    if (o->identity) {
        (void)SSL_use_certificate(c->ssl, o->identity->cert);
        (void)SSL_use_PrivateKey(c->ssl, o->identity->key);
    }
    if (o->session)
        (void)SSL_set_session(c->ssl, o->session);
    (void)SSL_set_fd(c->ssl, c->fd);
    return c->fd >= 0 && SSL_connect(c->ssl) == 1;
}

static inline void tls_client_close(struct tls_client *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    SSL_set_shutdown(c->ssl, SSL_SENT_SHUTDOWN); /* or its session may not be resumed */
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    ERR_clear_error();
    *c = (struct tls_client){ .fd = -1 };
}

static inline void tls_client_write(struct tls_client *c, const void *p, size_t n)
{
    size_t done;

    if (n && !SSL_write_ex(c->ssl, p, n, &done))
        ERR_clear_error();
}

/* Appends what comes next to b; false at the end. */
static inline bool tls_client_read(struct tls_client *c, struct buf *b)
{
    char part[16384];
    size_t n;

    if (!SSL_read_ex(c->ssl, part, sizeof(part), &n)) {
        ERR_clear_error();
        return false;
    }
    buf_append(b, part, n);
    return true;
}

#endif
