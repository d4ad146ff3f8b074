/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pki.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <time.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/encode.h"
#include "base/mem.h"
#include "http/address.h"
#include "http/pki_internal.h"
#include "http/sign.h"

enum { SERIAL_BYTES = 16, DAY_S = 86400 };

int pki_failed(struct status *st, const char *what)
{
    char why[256] = "unknown";
    unsigned long e = ERR_get_error();

    if (e)
        ERR_error_string_n(e, why, sizeof(why));
    ERR_clear_error();
    return status_set(st, REASON_INTERNAL, "cannot %s: %s", what, why);
}

str pki_bio_text(struct arena *a, BIO *bio)
{
    char *p = NULL;
    long n = BIO_get_mem_data(bio, &p);

    return str_dup(a, (str){ p, n > 0 ? (size_t)n : 0 });
}

/* The BIO wipes what it held, and so will the arena. */
secret pki_key_text(struct arena *a, EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    secret text = SECRET_NONE;

    arena_wipe(a);
    if (bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1)
        text = secret_of(pki_bio_text(a, bio));
    BIO_free_all(bio);
    return text;
}

str pki_cert_text(struct arena *a, X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    str text = STR_NONE;

    if (bio && PEM_write_bio_X509(bio, cert) == 1)
        text = pki_bio_text(a, bio);
    BIO_free_all(bio);
    return text;
}

bool pki_text_of(struct arena *a, const ASN1_STRING *s, str *out)
{
    unsigned char *utf8;
    int n = ASN1_STRING_to_UTF8(&utf8, s);
    bool ok;

    if (n < 0)
        return false;
    *out = str_dup(a, (str){ (const char *)utf8, (size_t)n });
    ok = !memchr(utf8, '\0', (size_t)n) && str_utf8_valid(*out);
    OPENSSL_free(utf8);
    return ok;
}

bool pki_add_name(X509_NAME *name, const char *field, str value)
{
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const unsigned char *)value.p,
                                      (int)value.n, -1, 0) == 1;
}

bool pki_add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;
    bool ok;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ok = ext && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok;
}

bool pki_set_serial(X509 *cert)
{
    unsigned char bytes[SERIAL_BYTES];
    BIGNUM *n;
    bool ok;

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] &= 0x7f;
    n = BN_bin2bn(bytes, sizeof(bytes), NULL);
    ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
    BN_free(n);
    return ok;
}

static const char *san_text(struct arena *a, const struct pki_request *req)
{
    str all = STR_NONE;

    for (size_t i = 0; i < req->nhosts; i++) {
        str h = req->hosts[i];

        all = str_printf(a, "%.*s%s%s:%.*s", STR_ARG(all), all.n ? "," : "",
                         address_is_ip(h) ? "IP" : "DNS", STR_ARG(h));
    }
    return str_z(a, all);
}

/* Everything that does not depend on who signs. */
static bool fill(X509 *cert, EVP_PKEY *key, const struct pki_request *req)
{
    X509_NAME *name = X509_get_subject_name(cert);
    time_t now = (time_t)req->now_s;
    bool ok = X509_set_version(cert, 2) == 1 && pki_set_serial(cert) &&
              X509_set_pubkey(cert, key) == 1 && pki_add_name(name, "CN", req->cn);

    for (size_t i = 0; ok && i < req->norgs; i++)
        ok = pki_add_name(name, "O", req->orgs[i]);
    return ok && X509_time_adj_ex(X509_getm_notBefore(cert), 0, -PKI_BACKDATE_S, &now) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), (int)req->days, 0, &now);
}

static bool add_ca_exts(X509 *cert)
{
    return pki_add_ext(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           pki_add_ext(cert, cert, NID_key_usage,
                       "critical,keyCertSign,cRLSign,digitalSignature") &&
           pki_add_ext(cert, cert, NID_subject_key_identifier, "hash");
}

static bool add_leaf_exts(struct arena *a, X509 *cert, X509 *ca, const struct pki_request *req)
{
    const char *usage = req->nhosts ? "serverAuth" : "clientAuth";

    return pki_add_ext(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           pki_add_ext(cert, ca, NID_key_usage, "critical,digitalSignature") &&
           pki_add_ext(cert, ca, NID_ext_key_usage, usage) &&
           pki_add_ext(cert, ca, NID_authority_key_identifier, "keyid") &&
           (req->nhosts == 0 || pki_add_ext(cert, ca, NID_subject_alt_name, san_text(a, req)));
}

void pki_init(void)
{
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
                             NULL))
        mem_exhausted();
}

int pki_make_ca(struct arena *a, str cn, int64_t now_s, int64_t days, struct pki_pair *out,
                struct status *st)
{
    struct pki_request req = { .cn = cn, .now_s = now_s, .days = days };
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bool ok = key && cert && fill(cert, key, &req) &&
              X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 && add_ca_exts(cert) &&
              X509_sign(cert, key, EVP_sha256()) > 0;

    if (ok)
        *out = (struct pki_pair){ .cert = pki_cert_text(a, cert), .key_pem = pki_key_text(a, key) };
    X509_free(cert);
    EVP_PKEY_free(key);
    return ok ? 0 : pki_failed(st, "make a certificate authority");
}

X509 *pki_read_cert(str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

    BIO_free_all(bio);
    return cert;
}

int pki_no_passphrase(char *buf, int size, int rw, void *arg)
{
    (void)buf;
    (void)size;
    (void)rw;
    (void)arg;
    return -1;
}

EVP_PKEY *pki_read_key(secret pem)
{
    BIO *bio = BIO_new_mem_buf(secret_reveal(pem).p, (int)secret_reveal(pem).n);
    static char none[] = ""; /* else it asks for a password on the terminal */
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, none) : NULL;

    BIO_free_all(bio);
    return key;
}

int pki_sign(struct arena *a, const struct pki_pair *ca, const struct pki_request *req,
             struct pki_pair *out, struct status *st)
{
    X509 *ca_cert = pki_read_cert(ca->cert), *cert = X509_new();
    EVP_PKEY *ca_key = pki_read_key(ca->key_pem), *key = EVP_EC_gen("P-256");
    bool ok = ca_cert && ca_key && cert && key && fill(cert, key, req) &&
              X509_set_issuer_name(cert, X509_get_subject_name(ca_cert)) == 1 &&
              add_leaf_exts(a, cert, ca_cert, req) && X509_sign(cert, ca_key, EVP_sha256()) > 0;

    if (ok)
        *out = (struct pki_pair){ .cert = pki_cert_text(a, cert), .key_pem = pki_key_text(a, key) };
    X509_free(ca_cert);
    X509_free(cert);
    EVP_PKEY_free(ca_key);
    EVP_PKEY_free(key);
    return ok ? 0 : pki_failed(st, "sign a certificate");
}

static bool host_of_name(struct arena *a, const GENERAL_NAME *name, str *out)
{
    char text[INET6_ADDRSTRLEN];
    const ASN1_OCTET_STRING *ip = name->d.iPAddress;

    if (name->type == GEN_DNS)
        return pki_text_of(a, name->d.dNSName, out);
    if (name->type != GEN_IPADD || (ip->length != 4 && ip->length != 16) ||
        !inet_ntop(ip->length == 4 ? AF_INET : AF_INET6, ip->data, text, sizeof(text)))
        return false;
    *out = str_dup(a, str_of(text));
    return true;
}

size_t pki_hosts_of(struct arena *a, const X509 *cert, const str **out)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    int count = names ? sk_GENERAL_NAME_num(names) : 0;
    str *hosts = arena_array(a, str, (size_t)count);
    size_t n = 0;

    for (int i = 0; i < count; i++)
        n += host_of_name(a, sk_GENERAL_NAME_value(names, i), &hosts[n]);
    GENERAL_NAMES_free(names);
    *out = hosts;
    return n;
}

static bool all_among(const str *some, size_t nsome, const str *all, size_t nall)
{
    for (size_t i = 0; i < nsome; i++) {
        size_t k = 0;

        while (k < nall && !str_eq_nocase(some[i], all[k]))
            k++;
        if (k == nall)
            return false;
    }
    return true;
}

bool pki_cert_fits(str cert_pem, const str *hosts, size_t nhosts, int64_t now_s, int64_t spare_s)
{
    scoped_arena a = arena_new();
    X509 *cert = pki_read_cert(cert_pem);
    time_t until = (time_t)(now_s + spare_s);
    bool ok = cert && X509_cmp_time(X509_get0_notAfter(cert), &until) > 0;
    const str *has;

    if (ok) {
        size_t n = pki_hosts_of(a, cert, &has);

        ok = all_among(has, n, hosts, nhosts) && all_among(hosts, nhosts, has, n);
    }
    X509_free(cert);
    ERR_clear_error();
    return ok;
}

bool pki_cert_covers(str cert_pem, str host)
{
    scoped_arena a = arena_new();
    X509 *cert = pki_read_cert(cert_pem);
    bool ok = cert && (address_is_ip(host) ? X509_check_ip_asc(cert, str_z(a, host), 0) == 1
                                           : X509_check_host(cert, host.p, host.n, 0, NULL) == 1);

    X509_free(cert);
    ERR_clear_error();
    return ok;
}

bool pki_times(const X509 *cert, int64_t *not_before, int64_t *not_after)
{
    struct tm from, to;

    if (!ASN1_TIME_to_tm(X509_get0_notBefore(cert), &from) ||
        !ASN1_TIME_to_tm(X509_get0_notAfter(cert), &to))
        return false;
    *not_before = (int64_t)timegm(&from);
    *not_after = (int64_t)timegm(&to);
    return true;
}

bool pki_cert_times(str cert_pem, int64_t *not_before, int64_t *not_after)
{
    X509 *cert = pki_read_cert(cert_pem);
    bool ok = cert && pki_times(cert, not_before, not_after);

    X509_free(cert);
    ERR_clear_error();
    return ok;
}

str pki_key_hash(struct arena *a, const X509 *cert)
{
    unsigned char *der = NULL, hash[SHA256_SIZE];
    int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);
    char hex[2 * sizeof(hash)];

    if (n < 0)
        mem_exhausted(); /* what was read can be written */
    sign_sha256((str){ (const char *)der, (size_t)n }, hash);
    OPENSSL_free(der);
    hex_encode(hex, hash, sizeof(hash));
    return str_printf(a, PKI_KEY_HASH "%.*s", (int)sizeof(hex), hex);
}

static int key_hash(struct arena *a, X509 *cert, str *out, struct status *st)
{
    ERR_clear_error(); /* the end of a text is an error to OpenSSL */
    if (!cert)
        return status_set(st, REASON_BAD_REQUEST, "this is not a certificate in PEM form");
    *out = pki_key_hash(a, cert);
    X509_free(cert);
    return 0;
}

int pki_public_key_hash(struct arena *a, str cert_pem, str *out, struct status *st)
{
    return key_hash(a, pki_read_cert(cert_pem), out, st);
}

int pki_chain_key_hash(struct arena *a, str chain_pem, str *out, struct status *st)
{
    BIO *bio = BIO_new_mem_buf(chain_pem.p, (int)chain_pem.n);
    X509 *last = NULL;

    for (X509 *x; bio && (x = PEM_read_bio_X509(bio, NULL, pki_no_passphrase, NULL)); last = x)
        X509_free(last);
    BIO_free_all(bio);
    return key_hash(a, last, out, st);
}
