/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/peer.h"

struct tls {
    pthread_mutex_t mu;
    SSL_CTX *ctx; /* guarded by mu */
    X509_STORE *client_cas;
    STACK_OF(X509_NAME) * client_ca_names; /* sent to clients, so that they can choose */
};

/* ---- once a process ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static BIO_METHOD *bio_method;

static int bio_read(BIO *b, char *p, int n)
{
    const struct tls_memory *m = BIO_get_data(b);
    size_t got = n > 0 ? m->read(m->arg, p, (size_t)n) : 0;

    BIO_clear_retry_flags(b);
    if (got)
        return (int)got;
    BIO_set_retry_read(b);
    return -1;
}

static int bio_write(BIO *b, const char *p, int n)
{
    const struct tls_memory *m = BIO_get_data(b);

    BIO_clear_retry_flags(b);
    if (n > 0)
        m->write(m->arg, p, (size_t)n);
    return n;
}

static long bio_ctrl(BIO *b, int cmd, long larg, void *parg)
{
    (void)b;
    (void)larg;
    (void)parg;
    return cmd == BIO_CTRL_FLUSH;
}

/* No configuration file and no error texts: together they cost half a megabyte and milliseconds. */
static void init_once(void)
{
    if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_SSL_STRINGS |
                              OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
                          NULL))
        mem_exhausted();
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "shard");
    if (!bio_method)
        mem_exhausted();
    (void)BIO_meth_set_read(bio_method, bio_read);
    (void)BIO_meth_set_write(bio_method, bio_write);
    (void)BIO_meth_set_ctrl(bio_method, bio_ctrl);
}

BIO *tls_bio(const struct tls_memory *m)
{
    BIO *b;

    (void)pthread_once(&once, init_once);
    b = BIO_new(bio_method);
    if (!b)
        mem_exhausted();
    BIO_set_data(b, (void *)(uintptr_t)m); /* read only, but OpenSSL has no const here */
    BIO_set_init(b, 1);
    return b;
}

/* ---- certificates ---- */

static int no_password(char *p, int size, int writing, void *arg)
{
    (void)p;
    (void)size;
    (void)writing;
    (void)arg;
    return -1; /* never ask on the terminal */
}

/* Error codes stay on a queue of the thread and would be taken for those of the next call. */
static int tls_failed(struct status *st, const char *what)
{
    ERR_clear_error();
    return status_set(st, REASON_INTERNAL, "%s", what);
}

static BIO *pem_bio(str pem)
{
    BIO *b = BIO_new_mem_buf(pem.n ? pem.p : "", (int)pem.n);

    if (!b)
        mem_exhausted();
    return b;
}

/* Each certificate of the PEM text; NULL if one is broken or there is none. */
static STACK_OF(X509) * read_certs(str pem)
{
    STACK_OF(X509) *certs = sk_X509_new_null();
    BIO *b = pem_bio(pem);
    X509 *x;
    bool clean;

    if (!certs)
        mem_exhausted();
    while ((x = PEM_read_bio_X509(b, NULL, no_password, NULL)))
        if (!sk_X509_push(certs, x))
            mem_exhausted();
    clean = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    BIO_free(b);
    if (clean && sk_X509_num(certs) > 0)
        return certs;
    sk_X509_pop_free(certs, X509_free);
    return NULL;
}

static int use_certificate(SSL_CTX *ctx, str cert_pem, secret key_pem, struct status *st)
{
    STACK_OF(X509) *certs = read_certs(cert_pem);
    BIO *b = pem_bio(secret_reveal(key_pem));
    EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, no_password, NULL);
    X509 *leaf = NULL;
    int rc = 0;

    if (!certs)
        rc = tls_failed(st, "serving certificate: not a PEM certificate");
    else if (!key)
        rc = tls_failed(st, "serving key: not an unencrypted PEM private key");
    else
        leaf = sk_X509_shift(certs);
    if (leaf && SSL_CTX_use_cert_and_key(ctx, leaf, key, certs, 1) != 1)
        rc = tls_failed(st, "serving certificate: the key does not belong to it, or is too weak");
    X509_free(leaf);
    EVP_PKEY_free(key);
    BIO_free(b);
    sk_X509_pop_free(certs, X509_free);
    return rc;
}

static int load_client_cas(struct tls *t, str pem, struct status *st)
{
    STACK_OF(X509) * certs;

    if (str_empty(pem))
        return 0;
    certs = read_certs(pem);
    if (!certs)
        return tls_failed(st, "client CA: not a PEM certificate");
    t->client_cas = X509_STORE_new();
    t->client_ca_names = sk_X509_NAME_new_null();
    if (!t->client_cas || !t->client_ca_names)
        mem_exhausted();
    /* As in Go, and so in kube-apiserver: an intermediate that is listed is trusted by itself. */
    (void)X509_STORE_set_flags(t->client_cas, X509_V_FLAG_PARTIAL_CHAIN);
    for (int i = 0; i < sk_X509_num(certs); i++) {
        X509 *ca = sk_X509_value(certs, i);
        X509_NAME *name = X509_NAME_dup(X509_get_subject_name(ca));

        if (!name || !sk_X509_NAME_push(t->client_ca_names, name) ||
            !X509_STORE_add_cert(t->client_cas, ca))
            mem_exhausted();
    }
    sk_X509_pop_free(certs, X509_free);
    return 0;
}

/* ---- contexts ---- */

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                       const unsigned char *in, unsigned in_n, void *arg)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1"; /* in our order */
    unsigned char *chosen;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&chosen, out_n, ours, sizeof(ours) - 1, in, in_n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* The verdict is kept in the session (SSL_get_verify_result); the handshake goes on. */
static int note_verdict(int ok, X509_STORE_CTX *store)
{
    (void)ok;
    (void)store;
    return 1;
}

static void ask_for_client_certificates(SSL_CTX *ctx, const struct tls *t)
{
    STACK_OF(X509_NAME) *names =
        sk_X509_NAME_deep_copy(t->client_ca_names, X509_NAME_dup, X509_NAME_free);

    if (!names)
        mem_exhausted();
    SSL_CTX_set1_cert_store(ctx, t->client_cas);
    SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, note_verdict);
    SSL_CTX_set_verify_depth(ctx, 8);
    SSL_CTX_set_max_cert_list(ctx, 32 << 10);
}

static SSL_CTX *context_new(const struct tls *t, str cert_pem, secret key_pem, struct status *st)
{
    static char groups[] = "X25519:P-256:P-384"; /* not const for OpenSSL 3.0 */
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (!ctx)
        mem_exhausted();
    (void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    /* AES-128 first: it is as safe as we need and the fastest; ChaCha for who puts it first. */
    if (!SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                       "TLS_CHACHA20_POLY1305_SHA256") ||
        !SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") ||
        !SSL_CTX_set1_groups_list(ctx, groups))
        abort();
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Resumption by tickets alone: nothing is kept here for clients that have gone. */
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"kairship", 8);
    (void)SSL_CTX_set_timeout(ctx, 3600);
    (void)SSL_CTX_set_num_tickets(ctx, 1);
    SSL_CTX_set_alpn_select_cb(ctx, select_alpn, NULL);
    if (t->client_cas)
        ask_for_client_certificates(ctx, t);
    if (use_certificate(ctx, cert_pem, key_pem, st) == 0)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

struct tls *tls_new(str cert_pem, secret key_pem, str client_ca_pem, struct status *st)
{
    struct tls *t = mem_zalloc(sizeof(*t));

    (void)pthread_once(&once, init_once);
    (void)pthread_mutex_init(&t->mu, NULL);
    if (load_client_cas(t, client_ca_pem, st) == 0)
        t->ctx = context_new(t, cert_pem, key_pem, st);
    if (t->ctx)
        return t;
    tls_free(t);
    return NULL;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    X509_STORE_free(t->client_cas);
    sk_X509_NAME_pop_free(t->client_ca_names, X509_NAME_free);
    (void)pthread_mutex_destroy(&t->mu);
    free(t);
}

int tls_reload(struct tls *t, str cert_pem, secret key_pem, struct status *st)
{
    SSL_CTX *ctx = context_new(t, cert_pem, key_pem, st), *old;

    if (!ctx)
        return -1;
    (void)pthread_mutex_lock(&t->mu);
    old = t->ctx;
    t->ctx = ctx;
    (void)pthread_mutex_unlock(&t->mu);
    SSL_CTX_free(old); /* lives on in its sessions */
    return 0;
}

SSL *tls_session(struct tls *t, BIO *bio)
{
    SSL_CTX *ctx;
    SSL *ssl;

    (void)pthread_mutex_lock(&t->mu);
    ctx = t->ctx;
    (void)SSL_CTX_up_ref(ctx);
    (void)pthread_mutex_unlock(&t->mu);
    ssl = SSL_new(ctx);
    SSL_CTX_free(ctx);
    if (!ssl)
        mem_exhausted();
    (void)BIO_up_ref(bio);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    return ssl;
}

bool tls_is_h2(const SSL *ssl)
{
    const unsigned char *p;
    unsigned n;

    SSL_get0_alpn_selected(ssl, &p, &n);
    return n == 2 && memcmp(p, "h2", 2) == 0;
}

/* ---- the client's certificate ---- */

const struct http_peer *tls_peer(const SSL *ssl, struct arena *a, bool *rejected)
{
    X509 *x = SSL_get0_peer_certificate(ssl);
    struct http_peer *peer;

    *rejected = false;
    if (!x)
        return NULL;
    peer = arena_new_of(a, struct http_peer);
    /* A resumed session was verified when it was new: only the clock has moved since. */
    if (SSL_get_verify_result(ssl) == X509_V_OK && peer_read(a, x, peer) &&
        peer->not_after >= (int64_t)time(NULL))
        return peer;
    ERR_clear_error();
    *rejected = true;
    return NULL;
}
