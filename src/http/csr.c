/* SPDX-License-Identifier: Apache-2.0 */
#include "http/csr.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "base/banned.h"
#include "http/pki_internal.h"

enum { NAMES_MAX = 256 }; /* alternative names of one request */

static int bad(struct status *st, const char *why)
{
    ERR_clear_error();
    return status_set(st, REASON_BAD_REQUEST, "%s", why);
}

/* ---- making ---- */

static bool fill_request(X509_REQ *req, EVP_PKEY *key, const struct csr_subject *who)
{
    X509_NAME *name = X509_REQ_get_subject_name(req);
    bool ok = X509_REQ_set_version(req, 0) == 1 && X509_REQ_set_pubkey(req, key) == 1;

    for (size_t i = 0; ok && i < who->norgs; i++)
        ok = pki_add_name(name, "O", who->orgs[i]);
    return ok && pki_add_name(name, "CN", who->cn) && X509_REQ_sign(req, key, EVP_sha256()) > 0;
}

int csr_make(struct arena *a, const struct csr_subject *who, str *pem, secret *key_pem,
             struct status *st)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509_REQ *req = X509_REQ_new();
    BIO *bio = BIO_new(BIO_s_mem());
    bool ok =
        key && req && bio && fill_request(req, key, who) && PEM_write_bio_X509_REQ(bio, req) == 1;

    if (ok) {
        *pem = pki_bio_text(a, bio);
        *key_pem = pki_key_text(a, key);
    }
    BIO_free_all(bio);
    X509_REQ_free(req);
    EVP_PKEY_free(key);
    return ok ? 0 : pki_failed(st, "make a certificate request");
}

/* ---- reading ---- */

static bool is_request(const char *type)
{
    return strcmp(type, "CERTIFICATE REQUEST") == 0;
}

/* k8s: pkg/apis/certificates/helpers.go ParseCSR: the first block, whatever is around it */
static X509_REQ *read_request(str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.n ? pem.p : "", (int)pem.n);
    unsigned char *der = NULL;
    char *type = NULL, *header = NULL;
    long n = 0;
    X509_REQ *req = NULL;

    if (bio && PEM_read_bio(bio, &type, &header, &der, &n) == 1 && is_request(type)) {
        const unsigned char *p = der;

        req = d2i_X509_REQ(NULL, &p, n);
        if (req && p != der + n) {
            X509_REQ_free(req);
            req = NULL;
        }
    }
    OPENSSL_free(type);
    OPENSSL_free(header);
    OPENSSL_free(der);
    BIO_free_all(bio);
    ERR_clear_error();
    return req;
}

static bool rsa_is_sane(const EVP_PKEY *key)
{
    BIGNUM *e = NULL;
    int bits = EVP_PKEY_get_bits(key);
    bool ok = bits >= 1024 && bits <= 8192 &&
              EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1 && BN_num_bits(e) <= 32;

    BN_free(e);
    return ok;
}

/* Named curves only: a curve of one's own costs what its author wants it to cost. */
static bool ec_is_sane(const EVP_PKEY *key)
{
    static const char *const curves[] = { "prime256v1", "secp384r1", "secp521r1" };
    char name[32] = "";
    size_t n = 0;

    if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof(name), &n) !=
        1)
        return false;
    for (size_t i = 0; i < sizeof(curves) / sizeof(*curves); i++)
        if (strcmp(name, curves[i]) == 0)
            return true;
    return false;
}

/* Kinds of keys that we use and that take no time to speak of. */
static bool key_is_sane(const EVP_PKEY *key)
{
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
        return rsa_is_sane(key);
    case EVP_PKEY_EC:
        return ec_is_sane(key);
    case EVP_PKEY_ED25519:
        return true;
    default:
        return false;
    }
}

static GENERAL_NAMES *names_of(X509_REQ *req, bool *broken)
{
    STACK_OF(X509_EXTENSION) *exts = X509_REQ_get_extensions(req);
    int critical = 0;
    GENERAL_NAMES *names =
        exts ? X509V3_get_d2i(exts, NID_subject_alt_name, &critical, NULL) : NULL;

    *broken = exts && !names && critical != -1;
    sk_X509_EXTENSION_pop_free(exts, X509_EXTENSION_free);
    ERR_clear_error();
    return names;
}

static bool count_names(X509_REQ *req, struct csr *out)
{
    bool broken;
    GENERAL_NAMES *names = names_of(req, &broken);
    int n = names ? sk_GENERAL_NAME_num(names) : 0;

    for (int i = 0; i < n; i++) {
        int type = sk_GENERAL_NAME_value(names, i)->type;

        out->ndns += type == GEN_DNS;
        out->nips += type == GEN_IPADD;
        out->nemails += type == GEN_EMAIL;
        out->nuris += type == GEN_URI;
    }
    GENERAL_NAMES_free(names);
    return !broken && n <= NAMES_MAX;
}

static bool read_subject(struct arena *a, X509_REQ *req, struct csr *out)
{
    const X509_NAME *name = X509_REQ_get_subject_name(req);
    int n = X509_NAME_entry_count(name);
    str *orgs = arena_array(a, str, (size_t)n);

    out->orgs = orgs;
    for (int i = 0; i < n; i++) {
        const X509_NAME_ENTRY *e = X509_NAME_get_entry(name, i);
        int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(e));
        str *to = nid == NID_commonName         ? &out->cn
                  : nid == NID_organizationName ? &orgs[out->norgs++]
                                                : NULL;

        if (to && !pki_text_of(a, X509_NAME_ENTRY_get_data(e), to))
            return false;
    }
    return true;
}

static int check_request(struct arena *a, X509_REQ *req, struct csr *out, struct status *st)
{
    EVP_PKEY *key = X509_REQ_get0_pubkey(req);
    struct csr csr = { 0 };

    if (!key || !key_is_sane(key))
        return bad(st, "x509: the key must be RSA with 1024 to 8192 bits, ECDSA on P-256, P-384 or "
                       "P-521, or Ed25519");
    if (X509_REQ_verify(req, key) != 1)
        return bad(st, "x509: the signature does not belong to the request");
    if (!read_subject(a, req, &csr))
        return bad(st, "x509: invalid text in the subject");
    if (!count_names(req, &csr))
        return bad(st, "x509: invalid subject alternative names");
    ERR_clear_error();
    *out = csr;
    return 0;
}

/* Go's PEM: a block begins at the beginning of a line, and has an end. */
static bool has_request(str pem)
{
    static const str begin = STR_INIT("-----BEGIN CERTIFICATE REQUEST-----");

    return (str_starts(pem, begin) ||
            str_contains(pem, STR("\n-----BEGIN CERTIFICATE REQUEST-----"))) &&
           str_contains(pem, STR("\n-----END CERTIFICATE REQUEST-----"));
}

int csr_read(struct arena *a, str pem, struct csr *out, struct status *st)
{
    X509_REQ *req;
    int rc;

    if (pem.n > CSR_MAX)
        return bad(st, "must be at most 65536 bytes");
    req = read_request(pem);
    if (!req)
        return bad(st, has_request(pem) ? "x509: malformed certificate request"
                                        : "PEM block type must be CERTIFICATE REQUEST");
    rc = check_request(a, req, out, st);
    X509_REQ_free(req);
    return rc;
}

/* ---- signing ---- */

/* k8s: pkg/controller/certificates/authority, client-go's certificate/csr keyUsageDict */
static const struct {
    const char *word;
    const char *key, *extended; /* OpenSSL's words */
} usage_words[] = {
    { "signing", "digitalSignature", NULL },
    { "digital signature", "digitalSignature", NULL },
    { "content commitment", "nonRepudiation", NULL },
    { "key encipherment", "keyEncipherment", NULL },
    { "key agreement", "keyAgreement", NULL },
    { "data encipherment", "dataEncipherment", NULL },
    { "client auth", NULL, "clientAuth" },
    { "server auth", NULL, "serverAuth" },
};

static str join(struct arena *a, str list, const char *word)
{
    if (!word || str_contains(list, str_of(word)))
        return list;
    return str_printf(a, "%.*s%s%s", STR_ARG(list), list.n ? "," : "", word);
}

static bool add_usages(struct arena *a, X509 *cert, X509 *ca, const struct csr_order *o)
{
    str key = STR_NONE, extended = STR_NONE;

    for (size_t i = 0; i < o->nusages; i++)
        for (size_t j = 0; j < sizeof(usage_words) / sizeof(*usage_words); j++)
            if (str_is(o->usages[i], usage_words[j].word)) {
                key = join(a, key, usage_words[j].key);
                extended = join(a, extended, usage_words[j].extended);
            }
    return (key.n == 0 ||
            pki_add_ext(cert, ca, NID_key_usage, arena_printf(a, "critical,%.*s", STR_ARG(key)))) &&
           extended.n > 0 && pki_add_ext(cert, ca, NID_ext_key_usage, str_z(a, extended));
}

static bool push_uri(GENERAL_NAMES *names, str uri)
{
    GENERAL_NAME *g = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();

    if (g && text && ASN1_STRING_set(text, uri.p, (int)uri.n) == 1) {
        GENERAL_NAME_set0_value(g, GEN_URI, text);
        if (sk_GENERAL_NAME_push(names, g) > 0)
            return true;
        text = NULL; /* is the name's now */
    }
    ASN1_IA5STRING_free(text);
    GENERAL_NAME_free(g);
    return false;
}

static bool is_copied(int type)
{
    return type == GEN_DNS || type == GEN_IPADD || type == GEN_EMAIL;
}

static bool add_alternative_names(X509 *cert, X509_REQ *req, str uri)
{
    bool broken, ok;
    GENERAL_NAMES *asked = names_of(req, &broken), *names = GENERAL_NAMES_new();
    int n = asked ? sk_GENERAL_NAME_num(asked) : 0;

    ok = names && !broken && push_uri(names, uri);
    for (int i = 0; ok && i < n; i++) {
        GENERAL_NAME *g = sk_GENERAL_NAME_value(asked, i);

        if (!is_copied(g->type))
            continue;
        g = GENERAL_NAME_dup(g);
        ok = g && sk_GENERAL_NAME_push(names, g) > 0;
    }
    ok = ok && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) == 1;
    GENERAL_NAMES_free(asked);
    GENERAL_NAMES_free(names);
    return ok;
}

static bool set_times(X509 *cert, X509 *ca, const struct csr_order *o)
{
    time_t until = (time_t)o->not_after;

    if (!ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)o->not_before))
        return false;
    if (X509_cmp_time(X509_get0_notAfter(ca), &until) < 0)
        return X509_set1_notAfter(cert, X509_get0_notAfter(ca)) == 1;
    return ASN1_TIME_set(X509_getm_notAfter(cert), until) != NULL;
}

static bool issue(struct arena *a, X509 *cert, X509_REQ *req, X509 *ca, const struct csr_order *o)
{
    return X509_set_version(cert, 2) == 1 && pki_set_serial(cert) && set_times(cert, ca, o) &&
           X509_set_pubkey(cert, X509_REQ_get0_pubkey(req)) == 1 &&
           X509_set_subject_name(cert, X509_REQ_get_subject_name(req)) == 1 &&
           X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 &&
           pki_add_ext(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_usages(a, cert, ca, o) &&
           pki_add_ext(cert, ca, NID_authority_key_identifier, "keyid") &&
           add_alternative_names(cert, req, o->uri);
}

int csr_sign(struct arena *a, const struct pki_pair *ca, const struct csr_order *o, str *cert_pem,
             struct status *st)
{
    struct csr facts;
    X509_REQ *req;
    X509 *ca_cert, *cert;
    EVP_PKEY *ca_key;
    bool ok;

    if (csr_read(a, o->pem, &facts, st) < 0)
        return -1;
    req = read_request(o->pem);
    ca_cert = pki_read_cert(ca->cert);
    ca_key = pki_read_key(ca->key_pem);
    cert = X509_new();
    ok = req && ca_cert && ca_key && cert && issue(a, cert, req, ca_cert, o) &&
         X509_sign(cert, ca_key, EVP_sha256()) > 0;
    if (ok)
        *cert_pem = pki_cert_text(a, cert);
    X509_free(cert);
    X509_free(ca_cert);
    EVP_PKEY_free(ca_key);
    X509_REQ_free(req);
    return ok ? 0 : pki_failed(st, "sign a certificate");
}

/* ---- what a signer gave ---- */

static int check_block(struct arena *a, const char *type, const char *header,
                       const unsigned char *der, long n, struct status *st)
{
    const unsigned char *p = der;
    X509 *cert;
    bool ok;

    if (strcmp(type, "CERTIFICATE") != 0)
        return bad(st,
                   arena_printf(a, "only CERTIFICATE PEM blocks are allowed, found \"%s\"", type));
    if (*header)
        return bad(st, "no PEM block headers are permitted");
    cert = d2i_X509(NULL, &p, n);
    ok = cert && p == der + n;
    X509_free(cert);
    return ok ? 0 : bad(st, "x509: malformed certificate");
}

/* k8s: pkg/apis/certificates/validation validateCertificate */
int csr_check_issued(struct arena *a, str pem, struct status *st)
{
    BIO *bio = pem.n <= CSR_MAX * 4 ? BIO_new_mem_buf(pem.n ? pem.p : "", (int)pem.n) : NULL;
    unsigned char *der;
    char *type, *header;
    long n = 0;
    int rc = 0, blocks = 0;

    if (!bio)
        return bad(st, "must be at most 262144 bytes");
    while (rc == 0 && PEM_read_bio(bio, &type, &header, &der, &n) == 1) {
        rc = check_block(a, type, header, der, n, st);
        blocks++;
        OPENSSL_free(type);
        OPENSSL_free(header);
        OPENSSL_free(der);
    }
    BIO_free_all(bio);
    ERR_clear_error();
    if (rc == 0 && blocks == 0)
        return bad(st, "must contain at least one CERTIFICATE PEM block");
    return rc;
}
