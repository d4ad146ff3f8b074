/* SPDX-License-Identifier: Apache-2.0 */
#include "http/presented.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/client_conn.h"
#include "http/dial.h"
#include "http/pki_internal.h"

enum { WAIT_S = 10, NAMES_MAX = 8 };

/* ---- the handshake ---- */

/* Verification is switched off for this handshake alone: what it brings is looked at below. */
static int shake_hands(SSL *ssl, const struct presented_order *o, int fd, struct status *st)
{
    if (SSL_set_fd(ssl, fd) == 1 && SSL_connect(ssl) == 1)
        return 0;
    ERR_clear_error();
    return status_set(st, REASON_UNAVAILABLE, "%.*s port %.*s does not speak TLS", STR_ARG(o->host),
                      STR_ARG(o->port));
}

static STACK_OF(X509) * fetch(struct arena *a, const struct presented_order *o, struct status *st)
{
    struct http_client_options as = { .insecure = true };
    SSL_CTX *ctx = client_tls_new(&as, st);
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;
    STACK_OF(X509) *chain = NULL;
    int fd;

    if (!ssl)
        mem_exhausted();
    client_tls_name(ssl, str_z(a, o->server_name.n ? o->server_name : o->host));
    fd = dial(a, o->host, o->port, WAIT_S, st);
    if (fd >= 0 && shake_hands(ssl, o, fd, st) == 0)
        chain = X509_chain_up_ref(SSL_get_peer_cert_chain(ssl));
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    if (fd >= 0)
        (void)close(fd);
    return chain;
}

/* ---- what is to be thought of it ---- */

static X509 *find_key(struct arena *a, STACK_OF(X509) * chain, str key_hash)
{
    for (int i = 0; i < sk_X509_num(chain); i++)
        if (str_eq_nocase(pki_key_hash(a, sk_X509_value(chain, i)), key_hash))
            return sk_X509_value(chain, i);
    return NULL;
}

/* It is shown to a person, and a stranger wrote it. */
static bool is_harmless(str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:*-_",
                    name.p[i]))
            return false;
    return name.n > 0;
}

static str names_of(struct arena *a, const X509 *leaf)
{
    const str *hosts;
    size_t n = pki_hosts_of(a, leaf, &hosts), shown = 0;
    str all = STR_NONE;

    for (size_t i = 0; i < n && shown < NAMES_MAX; i++)
        if (is_harmless(hosts[i]))
            all = str_printf(a, "%.*s%s%.*s", STR_ARG(all), shown++ ? ", " : "", STR_ARG(hosts[i]));
    return all;
}

static enum presented_verdict verdict_of(int error)
{
    static const struct {
        int error;
        enum presented_verdict verdict;
    } table[] = {
        { X509_V_OK, PRESENTED_GOOD },
        { X509_V_ERR_CERT_HAS_EXPIRED, PRESENTED_EXPIRED },
        { X509_V_ERR_CERT_NOT_YET_VALID, PRESENTED_EARLY },
        { X509_V_ERR_HOSTNAME_MISMATCH, PRESENTED_OTHER_NAME },
        { X509_V_ERR_IP_ADDRESS_MISMATCH, PRESENTED_OTHER_NAME },
        { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, PRESENTED_UNKNOWN },
        { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, PRESENTED_UNKNOWN },
        { X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, PRESENTED_UNKNOWN },
        { X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, PRESENTED_UNKNOWN },
        { X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, PRESENTED_UNKNOWN },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (table[i].error == error)
            return table[i].verdict;
    return PRESENTED_BAD;
}

/* The store of a client that trusts these; with a key's hash that one certificate alone. */
static SSL_CTX *trusting(const struct presented_order *o, str authority, struct status *st)
{
    struct http_client_options as = { .ca_pem = authority.n ? authority : o->ca_pem };

    return client_tls_new(&as, st);
}

static int verify(struct arena *a, const struct presented_order *o, STACK_OF(X509) * chain,
                  struct presented *out, struct status *st)
{
    SSL_CTX *ctx = trusting(o, out->authority, st);
    X509_STORE_CTX *v = X509_STORE_CTX_new();
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;
    int error;

    if (!v || (ctx && !ssl))
        mem_exhausted();
    if (!ctx) {
        X509_STORE_CTX_free(v);
        return -1;
    }
    client_tls_name(ssl, str_z(a, o->server_name.n ? o->server_name : o->host));
    if (!X509_STORE_CTX_init(v, SSL_CTX_get_cert_store(ctx), sk_X509_value(chain, 0), chain) ||
        !X509_STORE_CTX_set_default(v, "ssl_server") ||
        !X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(v), SSL_get0_param(ssl)))
        mem_exhausted();
    (void)X509_verify_cert(v);
    error = X509_STORE_CTX_get_error(v);
    out->verdict = verdict_of(error);
    out->why = str_of(X509_verify_cert_error_string(error));
    X509_STORE_CTX_free(v);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    ERR_clear_error();
    return 0;
}

static int judge(struct arena *a, const struct presented_order *o, STACK_OF(X509) * chain,
                 struct presented *out, struct status *st)
{
    X509 *leaf = sk_X509_value(chain, 0), *known = NULL;

    out->top_hash = pki_key_hash(a, sk_X509_value(chain, sk_X509_num(chain) - 1));
    out->names = names_of(a, leaf);
    (void)pki_times(leaf, &out->not_before, &out->not_after);
    if (o->key_hash.n) {
        known = find_key(a, chain, o->key_hash);
        out->verdict = PRESENTED_OTHER_KEY;
        if (!known)
            return 0;
        out->authority = pki_cert_text(a, known);
    }
    return verify(a, o, chain, out, st);
}

int presented_look(struct arena *a, const struct presented_order *o, struct presented *out,
                   struct status *st)
{
    STACK_OF(X509) *chain = fetch(a, o, st);
    struct presented p = { 0 };
    int rc;

    if (!chain)
        return -1;
    rc = judge(a, o, chain, &p, st);
    sk_X509_pop_free(chain, X509_free);
    if (rc == 0)
        *out = p;
    return rc;
}
