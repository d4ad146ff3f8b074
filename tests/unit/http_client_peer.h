/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CLIENT_PEER_H
#define HTTP_CLIENT_PEER_H

/* What the tests of the HTTP client talk to: a scripted HTTP/1.1 server and one of nghttp2, with or
 * without TLS, each on a thread. */

#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

/* ---- certificates ---- */

struct pki {
    EVP_PKEY *key;
    X509 *cert;
    char *pem, *key_pem;
};

static char *bio_text(BIO *b)
{
    char *p, *z;
    long n = BIO_get_mem_data(b, &p);

    z = mem_zalloc((size_t)n + 1);
    memcpy(z, p, (size_t)n);
    BIO_free(b);
    return z;
}

/* Self-signed, for "127.0.0.1" and "localhost". */
__attribute__((unused)) static struct pki pki_new(void)
{
    struct pki p = { .key = EVP_EC_gen("P-256"), .cert = X509_new() };
    X509_EXTENSION *san;
    BIO *b;

    (void)X509_set_version(p.cert, 2);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(p.cert), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(p.cert), -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(p.cert), 3600);
    (void)X509_set_pubkey(p.cert, p.key);
    (void)X509_NAME_add_entry_by_txt(X509_get_subject_name(p.cert), "CN", MBSTRING_ASC,
                                     (const unsigned char *)"test", -1, -1, 0);
    (void)X509_set_issuer_name(p.cert, X509_get_subject_name(p.cert));
    san = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    (void)X509_add_ext(p.cert, san, -1);
    X509_EXTENSION_free(san);
    (void)X509_sign(p.cert, p.key, EVP_sha256());
    b = BIO_new(BIO_s_mem());
    (void)PEM_write_bio_X509(b, p.cert);
    p.pem = bio_text(b);
    b = BIO_new(BIO_s_mem());
    (void)PEM_write_bio_PrivateKey(b, p.key, NULL, NULL, 0, NULL, NULL);
    p.key_pem = bio_text(b);
    return p;
}

static void pki_free(struct pki *p)
{
    EVP_PKEY_free(p->key);
    X509_free(p->cert);
    free(p->pem);
    free(p->key_pem);
}

/* ---- servers: a thread that accepts, one connection after the other ---- */

struct server;
struct peer {
    struct server *s;
    int fd, serial; /* serial: first connection is 0 */
    SSL *ssl;
    struct h2_stream *streams;
};

struct server {
    int fd;
    char port[8];
    pthread_t thread;
    SSL_CTX *tls;
    const char *alpn; /* "\2h2" … */
    void (*serve)(struct peer *p);
    const char *const *script; /* of the HTTP/1.1 server: one reply per request */
    struct buf seen;           /* what came; read after server_stop */
    int connections;
};

static ssize_t peer_read(struct peer *p, void *to, size_t n)
{
    return p->ssl ? SSL_read(p->ssl, to, (int)n) : recv(p->fd, to, n, 0);
}

static bool peer_write(struct peer *p, const void *from, size_t n)
{
    if (p->ssl)
        return n == 0 || SSL_write(p->ssl, from, (int)n) == (int)n;
    for (ssize_t r; n; from = (const char *)from + r, n -= (size_t)r)
        if ((r = send(p->fd, from, n, MSG_NOSIGNAL)) <= 0)
            return false;
    return true;
}

static int choose(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in,
                  unsigned in_n, void *arg)
{
    struct server *s = arg;
    unsigned char *picked;

    (void)ssl;
    if (SSL_select_next_proto(&picked, n, (const unsigned char *)s->alpn, (unsigned)strlen(s->alpn),
                              in, in_n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = picked;
    return SSL_TLSEXT_ERR_OK;
}

static void *serve_all(void *arg)
{
    struct server *s = arg;

    for (;;) {
        struct peer p = { .s = s, .fd = accept(s->fd, NULL, NULL), .serial = s->connections };

        if (p.fd < 0)
            return NULL;
        s->connections++;
        if (s->tls) {
            p.ssl = SSL_new(s->tls);
            (void)SSL_set_fd(p.ssl, p.fd);
        }
        if (!p.ssl || SSL_accept(p.ssl) == 1)
            s->serve(&p);
        SSL_free(p.ssl);
        (void)shutdown(p.fd, SHUT_RDWR);
        (void)close(p.fd);
    }
}

static void server_start(struct server *s, const struct pki *tls)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof(a);

    buf_init(&s->seen, 1 << 20);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->fd, 16) < 0 ||
        getsockname(s->fd, (struct sockaddr *)&a, &n) < 0)
        abort();
    (void)snprintf(s->port, sizeof(s->port), "%d", ntohs(a.sin_port));
    if (tls) {
        s->tls = SSL_CTX_new(TLS_server_method());
        (void)SSL_CTX_use_certificate(s->tls, tls->cert);
        (void)SSL_CTX_use_PrivateKey(s->tls, tls->key);
        if (s->alpn)
            SSL_CTX_set_alpn_select_cb(s->tls, choose, s);
    }
    if (pthread_create(&s->thread, NULL, serve_all, s) != 0)
        abort();
}

static void server_stop(struct server *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->fd);
    SSL_CTX_free(s->tls);
}

/* Answers the n-th request of all with the n-th text of the script; "!" closes instead, and a
 * leading "x" closes after the answer. */
__attribute__((unused)) static void serve_script(struct peer *p)
{
    char in[4096];
    size_t n = 0;

    for (;;) {
        ssize_t r = peer_read(p, in + n, sizeof(in) - 1 - n);
        const char *reply, *end, *len;
        size_t body;

        if (r <= 0)
            return;
        n += (size_t)r;
        in[n] = '\0';
        end = strstr(in, "\r\n\r\n");
        len = strstr(in, "content-length: ");
        body = end && len && len < end ? strtoul(len + 16, NULL, 10) : 0;
        if (!end || (size_t)(in + n - end - 4) < body)
            continue;
        buf_append(&p->s->seen, in, n);
        n = 0;
        reply = *p->s->script++;
        if (!reply || *reply == '!')
            return;
        for (const char *at = reply + (*reply == 'x'); *at; at++)
            if (!peer_write(p, at, 1)) /* byte by byte: any cut must do */
                return;
        if (*reply == 'x')
            return;
    }
}

/* ---- an HTTP/2 server ---- */

struct h2_stream {
    struct h2_stream *next;
    char path[64];
    size_t left; /* bytes of the body to send */
    struct buf body;
};

static ssize_t h2_body(nghttp2_session *ng, int32_t id, uint8_t *to, size_t n, uint32_t *flags,
                       nghttp2_data_source *src, void *arg)
{
    struct h2_stream *x = nghttp2_session_get_stream_user_data(ng, id);
    static const nghttp2_nv trailer = { (uint8_t *)(uintptr_t) "grpc-status",
                                        (uint8_t *)(uintptr_t) "0", 11, 1, 0 };

    (void)src;
    (void)arg;
    n = n < x->left ? n : x->left;
    if (x->body.n)
        memcpy(to, x->body.p + x->body.n - x->left, n);
    else
        memset(to, 'z', n);
    x->left -= n;
    if (x->left)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (strcmp(x->path, "/trailers") == 0) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        (void)nghttp2_submit_trailer(ng, id, &trailer, 1);
    }
    return (ssize_t)n;
}

static void h2_answer(nghttp2_session *ng, struct peer *p, int32_t id, struct h2_stream *x)
{
    static const nghttp2_nv ok = { (uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "200",
                                   7, 3, 0 };
    nghttp2_data_provider data = { .read_callback = h2_body };

    if (strcmp(x->path, "/hang") == 0)
        return;
    if (strcmp(x->path, "/reset") == 0) {
        (void)nghttp2_submit_rst_stream(ng, 0, id, NGHTTP2_INTERNAL_ERROR);
        return;
    }
    if (strcmp(x->path, "/refuse") == 0 && p->serial == 0 && id == 1) {
        (void)nghttp2_submit_rst_stream(ng, 0, id, NGHTTP2_REFUSED_STREAM);
        return;
    }
    if (strcmp(x->path, "/goaway") == 0 && p->serial == 0) { /* as if it had not been seen */
        (void)nghttp2_submit_goaway(ng, 0, id - 2 < 0 ? 0 : id - 2, NGHTTP2_NO_ERROR, NULL, 0);
        return;
    }
    if (strncmp(x->path, "/big", 4) == 0)
        x->left = 5 << 20;
    else if (x->body.n)
        x->left = x->body.n;
    else
        x->left = 5;
    (void)nghttp2_submit_response(ng, id, &ok, 1, &data);
}

static int h2_on_begin(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct h2_stream *x = mem_zalloc(sizeof(*x));
    struct peer *p = arg;

    buf_init(&x->body, 8 << 20);
    x->next = p->streams;
    p->streams = x;
    return nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, x);
}

static int h2_on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name, size_t nn,
                        const uint8_t *value, size_t vn, uint8_t flags, void *arg)
{
    struct h2_stream *x = nghttp2_session_get_stream_user_data(ng, f->hd.stream_id);

    (void)arg;
    (void)flags;
    if (nn == 5 && memcmp(name, ":path", 5) == 0)
        (void)snprintf(x->path, sizeof(x->path), "%.*s", (int)vn, (const char *)value);
    return 0;
}

static int h2_on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                      void *arg)
{
    struct h2_stream *x = nghttp2_session_get_stream_user_data(ng, id);

    (void)flags;
    (void)arg;
    buf_append(&x->body, p, n);
    return 0;
}

static int h2_on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
    struct h2_stream *x = nghttp2_session_get_stream_user_data(ng, f->hd.stream_id);

    if (x && (f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA) &&
        f->hd.flags & NGHTTP2_FLAG_END_STREAM)
        h2_answer(ng, arg, f->hd.stream_id, x);
    return 0;
}

static int h2_on_close(nghttp2_session *ng, int32_t id, uint32_t error, void *arg)
{
    struct h2_stream *x = nghttp2_session_get_stream_user_data(ng, id);
    struct peer *p = arg;

    if (!x)
        return 0;
    buf_printf(&p->s->seen, "%s %u\n", x->path, error);
    return 0;
}

static bool h2_send(struct peer *p, nghttp2_session *ng)
{
    const uint8_t *out;
    ssize_t n;

    while ((n = nghttp2_session_mem_send(ng, &out)) > 0)
        if (!peer_write(p, out, (size_t)n))
            return false;
    return true;
}

__attribute__((unused)) static void serve_h2(struct peer *p)
{
    static const nghttp2_settings_entry max = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 50 };
    nghttp2_session_callbacks *cb;
    nghttp2_session *ng;
    uint8_t in[16384];
    ssize_t n;

    (void)nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, h2_on_begin);
    nghttp2_session_callbacks_set_on_header_callback(cb, h2_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, h2_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, h2_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, h2_on_close);
    (void)nghttp2_session_server_new(&ng, cb, p);
    nghttp2_session_callbacks_del(cb);
    (void)nghttp2_submit_settings(ng, 0, &max, 1);
    while (h2_send(p, ng) && (n = peer_read(p, in, sizeof(in))) > 0)
        if (nghttp2_session_mem_recv(ng, in, (size_t)n) < 0)
            break;
    nghttp2_session_del(ng);
    for (struct h2_stream *x; (x = p->streams);) {
        p->streams = x->next;
        buf_release(&x->body);
        free(x);
    }
}

#endif
