/* SPDX-License-Identifier: Apache-2.0 */

/* TLS of the HTTP client: contexts from PEM text, and a BIO that saves system calls. */

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/banned.h"
#include "http/address.h"
#include "http/client_conn.h"
#include "http/pki_internal.h"

/* One read takes several records of 16 KiB when they are there. */
enum { READ_AHEAD = 68 << 10 };

/* ---- the BIO: no SIGPIPE, and no read that can only say EAGAIN ---- */

static int bio_read(BIO *b, char *p, size_t n, size_t *got)
{
    struct client_conn *conn = BIO_get_data(b);
    ssize_t r;

    BIO_clear_retry_flags(b);
    if (conn->short_read) {
        BIO_set_retry_read(b);
        return 0;
    }
    do
        r = recv(conn->fd.fd, p, n, 0);
    while (r < 0 && errno == EINTR);
    if (r < 0) {
        if (errno == EAGAIN)
            BIO_set_retry_read(b);
        return 0;
    }
    conn->short_read = r > 0 && (size_t)r < n && !conn->hup;
    *got = (size_t)r;
    return r > 0;
}

static int bio_write(BIO *b, const char *p, size_t n, size_t *put)
{
    struct client_conn *conn = BIO_get_data(b);
    ssize_t r;

    BIO_clear_retry_flags(b);
    do
        r = send(conn->fd.fd, p, n, MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    if (r < 0) {
        if (errno == EAGAIN)
            BIO_set_retry_write(b);
        return 0;
    }
    *put = (size_t)r;
    return 1;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
    (void)b;
    (void)num;
    (void)ptr;
    return cmd == BIO_CTRL_FLUSH || cmd == BIO_CTRL_DUP;
}

static BIO_METHOD *bio_method;

__attribute__((destructor)) static void bio_method_free(void)
{
    BIO_meth_free(bio_method);
}

static void bio_method_new(void)
{
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "http client");
    if (!bio_method)
        abort();
    (void)BIO_meth_set_read_ex(bio_method, bio_read);
    (void)BIO_meth_set_write_ex(bio_method, bio_write);
    (void)BIO_meth_set_ctrl(bio_method, bio_ctrl);
}

/* ---- contexts ---- */

int client_tls_status(struct status *st, SSL *ssl, const char *what)
{
    unsigned long e = ERR_peek_last_error();
    long verify = ssl ? SSL_get_verify_result(ssl) : X509_V_OK;
    char text[160] = "the connection was closed";

    if (verify != X509_V_OK)
        return status_set(st, REASON_UNAVAILABLE, "%s: the server's certificate: %s", what,
                          X509_verify_cert_error_string(verify));
    if (e)
        ERR_error_string_n(e, text, sizeof(text));
    ERR_clear_error();
    return status_set(st, REASON_UNAVAILABLE, "%s: %s", what, text);
}

static int bad_pem(struct status *st, const char *what)
{
    (void)client_tls_status(st, NULL, what);
    st->reason = REASON_BAD_REQUEST;
    return -1;
}

static int add_ca(SSL_CTX *ctx, str pem, struct status *st)
{
    BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    unsigned n = 0;

    for (X509 *x; b && (x = PEM_read_bio_X509_AUX(b, NULL, NULL, NULL)); X509_free(x))
        n += (unsigned)X509_STORE_add_cert(store, x);
    BIO_free(b);
    if (n == 0)
        return bad_pem(st, "the CA holds no certificate in PEM form");
    /* As in Go: a certificate that is listed is trusted by itself, whoever signed it. */
    (void)X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    ERR_clear_error(); /* the end of the text is an error to OpenSSL */
    return 0;
}

static int use_key(SSL_CTX *ctx, secret key_pem, struct status *st)
{
    str pem = secret_reveal(key_pem);
    BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *key = b ? PEM_read_bio_PrivateKey(b, NULL, pki_no_passphrase, NULL) : NULL;
    int ok = key ? SSL_CTX_use_PrivateKey(ctx, key) : 0;

    EVP_PKEY_free(key);
    BIO_free(b);
    return ok == 1 ? 0 : bad_pem(st, "the client key");
}

static int use_certificate(SSL_CTX *ctx, str pem, secret key_pem, struct status *st)
{
    BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
    int ok = x ? SSL_CTX_use_certificate(ctx, x) : 0;

    X509_free(x);
    while (ok == 1 && (x = PEM_read_bio_X509(b, NULL, NULL, NULL)))
        ok = (int)SSL_CTX_add0_chain_cert(ctx, x);
    BIO_free(b);
    if (ok != 1)
        return bad_pem(st, "the client certificate");
    ERR_clear_error();
    if (use_key(ctx, key_pem, st) < 0)
        return -1;
    if (SSL_CTX_check_private_key(ctx) != 1)
        return bad_pem(st, "the client key does not belong to the client certificate");
    return 0;
}

static int set_trust(SSL_CTX *ctx, const struct http_client_options *o, struct status *st)
{
    if (o->insecure) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
        return 0;
    }
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (!str_empty(o->ca_pem))
        return add_ca(ctx, o->ca_pem, st);
    (void)SSL_CTX_set_default_verify_paths(ctx);
    return 0;
}

static const unsigned char http1_only[] = "\x08http/1.1";

static void set_alpn(SSL_CTX *ctx, bool http1)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";

    (void)SSL_CTX_set_alpn_protos(ctx, http1 ? http1_only : both,
                                  http1 ? sizeof(http1_only) - 1 : sizeof(both) - 1);
}

SSL_CTX *client_tls_new(const struct http_client_options *o, struct status *st)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    if (!ctx)
        abort();
    (void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    (void)SSL_CTX_set_mode(ctx,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_default_read_buffer_len(ctx, READ_AHEAD);
    set_alpn(ctx, o->http1);
    if (set_trust(ctx, o, st) < 0 ||
        (!str_empty(o->cert_pem) && use_certificate(ctx, o->cert_pem, o->key_pem, st) < 0)) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    return ctx;
}

/* ---- sessions ---- */

void client_tls_name(SSL *ssl, const char *name)
{
    if (address_is_ip(str_of(name))) {
        (void)X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
        return;
    }
    (void)SSL_set1_host(ssl, name);
    /* The macro's cast drops const; it copies the name. */
    (void)SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   (void *)(uintptr_t)name);
}

SSL *client_tls_session(struct http_client *c, struct client_conn *conn)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    SSL *ssl = SSL_new(c->tls);
    BIO *b;

    (void)pthread_once(&once, bio_method_new);
    b = BIO_new(bio_method);
    if (!ssl || !b)
        abort();
    BIO_set_data(b, conn);
    BIO_set_init(b, 1);
    SSL_set_bio(ssl, b, b);
    SSL_set_connect_state(ssl);
    if (conn->own)
        (void)SSL_set_alpn_protos(ssl, http1_only, sizeof(http1_only) - 1);
    client_tls_name(ssl, c->o.server_name.p); /* ends in NUL: str_dup */
    return ssl;
}
