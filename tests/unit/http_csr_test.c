/* SPDX-License-Identifier: Apache-2.0 */
#include "http/csr.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/banned.h"
#include "http/peer.h"
#include "memory_scan.h"
#include "tap.h"

enum { NOW = 1577934245, DAY = 86400 };

#define URI "urn:kairship:instance:1"

static const str orgs[] = { STR_INIT("devs"), STR_INIT("ops") };
static const str client_usages[] = { STR_INIT("digital signature"), STR_INIT("client auth") };
static const struct csr_subject alice = { .cn = STR_INIT("alice"), .orgs = orgs, .norgs = 2 };

/* A request with these alternative names, by OpenSSL itself. */
static str request_with(struct arena *a, EVP_PKEY *key, const char *names, const char *signed_by)
{
    X509_REQ *req = X509_REQ_new();
    BIO *bio = BIO_new(BIO_s_mem());
    EVP_PKEY *other = signed_by ? EVP_EC_gen("P-256") : NULL;
    STACK_OF(X509_EXTENSION) *exts = sk_X509_EXTENSION_new_null();
    char *p;
    long n;
    str pem;

    if (names)
        (void)sk_X509_EXTENSION_push(exts,
                                     X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names));
    (void)X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(req), "CN", MBSTRING_UTF8,
                                     (const unsigned char *)"u", 1, -1, 0);
    (void)X509_REQ_set_pubkey(req, key);
    (void)X509_REQ_add_extensions(req, exts);
    (void)X509_REQ_sign(req, other ? other : key, EVP_sha256());
    (void)PEM_write_bio_X509_REQ(bio, req);
    n = BIO_get_mem_data(bio, &p);
    pem = str_dup(a, (str){ p, (size_t)n });
    sk_X509_EXTENSION_pop_free(exts, X509_EXTENSION_free);
    BIO_free_all(bio);
    EVP_PKEY_free(other);
    X509_REQ_free(req);
    return pem;
}

static const char *fault(struct arena *a, str pem)
{
    struct status st;
    struct csr csr;

    status_init(&st, a);
    return csr_read(a, pem, &csr, &st) < 0 ? str_z(a, st.message) : "";
}

static X509 *cert_of(str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    BIO_free_all(bio);
    return x;
}

static struct pki_pair make_ca(struct arena *a, int64_t days)
{
    struct pki_pair ca = { 0 };
    struct status st;

    status_init(&st, a);
    CHECK(pki_make_ca(a, STR("ca"), NOW, days, &ca, &st) == 0);
    return ca;
}

TEST(a_request_says_what_was_put_in)
{
    scoped_arena a = arena_new();
    struct status st;
    struct csr csr;
    secret key;
    str pem;

    status_init(&st, a);
    REQUIRE(csr_make(a, &alice, &pem, &key, &st) == 0);
    CHECK(str_starts(secret_reveal(key), STR("-----BEGIN PRIVATE KEY-----")));
    REQUIRE(csr_read(a, pem, &csr, &st) == 0);
    CHECK(str_is(csr.cn, "alice") && csr.norgs == 2 && str_is(csr.orgs[1], "ops"));
    CHECK(csr.ndns + csr.nips + csr.nemails + csr.nuris == 0);
}

TEST(alternative_names_are_counted)
{
    scoped_arena a = arena_new();
    EVP_PKEY *key = EVP_EC_gen("P-256");
    struct status st;
    struct csr csr;

    status_init(&st, a);
    REQUIRE(csr_read(a, request_with(a, key, "DNS:a,DNS:b,IP:10.0.0.1,email:x@y.z,URI:urn:x", NULL),
                     &csr, &st) == 0);
    CHECK(csr.ndns == 2 && csr.nips == 1 && csr.nemails == 1 && csr.nuris == 1);
    EVP_PKEY_free(key);
}

TEST(what_is_no_request)
{
    scoped_arena a = arena_new();
    EVP_PKEY *p256 = EVP_EC_gen("P-256"), *odd = EVP_EC_gen("secp256k1");
    EVP_PKEY *weak = EVP_RSA_gen(512);
    struct pki_pair ca = make_ca(a, 1);

    CHECK_STR(fault(a, STR_NONE), "PEM block type must be CERTIFICATE REQUEST");
    CHECK_STR(fault(a, STR("hello")), "PEM block type must be CERTIFICATE REQUEST");
    CHECK_STR(fault(a, ca.cert), "PEM block type must be CERTIFICATE REQUEST");
    CHECK_STR(fault(a, STR("-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n"
                           "-----END CERTIFICATE REQUEST-----\n")),
              "x509: malformed certificate request");
    CHECK_STR(fault(a, STR("-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n")),
              "PEM block type must be CERTIFICATE REQUEST");
    CHECK_STR(fault(a, STR("x-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n"
                           "-----END CERTIFICATE REQUEST-----\n")),
              "PEM block type must be CERTIFICATE REQUEST");
    CHECK_STR(fault(a, request_with(a, p256, NULL, "another")),
              "x509: the signature does not belong to the request");
    CHECK(str_starts(str_of(fault(a, request_with(a, odd, NULL, NULL))),
                     STR("x509: the key must be")));
    CHECK(str_starts(str_of(fault(a, request_with(a, weak, NULL, NULL))),
                     STR("x509: the key must be")));
    EVP_PKEY_free(p256);
    EVP_PKEY_free(odd);
    EVP_PKEY_free(weak);
}

TEST(other_keys_are_fine)
{
    scoped_arena a = arena_new();
    EVP_PKEY *keys[] = { EVP_RSA_gen(2048), EVP_EC_gen("P-384"), EVP_EC_gen("P-521") };

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        CHECK_STR(fault(a, request_with(a, keys[i], NULL, NULL)), "");
        EVP_PKEY_free(keys[i]);
    }
}

TEST(a_certificate_is_for_whom_it_was_ordered)
{
    scoped_arena a = arena_new();
    struct pki_pair ca = make_ca(a, 10);
    struct csr_order o = { .usages = client_usages,
                           .nusages = 2,
                           .uri = STR(URI),
                           .not_before = NOW - 300,
                           .not_after = NOW + 3600 };
    struct http_peer peer;
    struct status st;
    X509 *x, *ca_x = cert_of(ca.cert);
    EVP_PKEY *ca_key;
    secret key;
    str pem;

    status_init(&st, a);
    REQUIRE(csr_make(a, &alice, &o.pem, &key, &st) == 0);
    REQUIRE(csr_sign(a, &ca, &o, &pem, &st) == 0);
    x = cert_of(pem);
    REQUIRE(x && peer_read(a, x, &peer));
    CHECK(str_is(peer.cn, "alice") && peer.norgs == 2 && str_is(peer.orgs[0], "devs"));
    CHECK(peer.nuris == 1 && str_is(peer.uris[0], URI));
    CHECK(peer.not_before == NOW - 300 && peer.not_after == NOW + 3600);
    CHECK(!peer.not_for_clients && peer.credential_id.n == 11 + 64);
    ca_key = X509_get_pubkey(ca_x);
    CHECK(X509_verify(x, ca_key) == 1);
    CHECK(X509_get_key_usage(x) == KU_DIGITAL_SIGNATURE);
    CHECK(X509_check_ca(x) == 0);
    EVP_PKEY_free(ca_key);
    X509_free(ca_x);
    X509_free(x);
}

TEST(the_uris_of_a_request_are_not_copied)
{
    static const str server_usages[] = { STR_INIT("server auth") };
    scoped_arena a = arena_new();
    struct pki_pair ca = make_ca(a, 10);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    struct csr_order o = { .pem = request_with(a, key, "URI:" URI "0,DNS:n1,URI:urn:y", NULL),
                           .usages = server_usages,
                           .nusages = 1,
                           .uri = STR(URI),
                           .not_before = NOW,
                           .not_after = NOW + 3600 };
    struct http_peer peer;
    struct status st;
    X509 *x;
    str pem;

    status_init(&st, a);
    REQUIRE(csr_sign(a, &ca, &o, &pem, &st) == 0);
    x = cert_of(pem);
    REQUIRE(x && peer_read(a, x, &peer));
    CHECK(peer.nuris == 1 && str_is(peer.uris[0], URI));
    CHECK(X509_check_host(x, "n1", 2, 0, NULL) == 1);
    CHECK(peer.not_for_clients);
    X509_free(x);
    EVP_PKEY_free(key);
}

TEST(no_certificate_outlives_its_authority)
{
    scoped_arena a = arena_new();
    struct pki_pair ca = make_ca(a, 1);
    struct csr_order o = { .usages = client_usages,
                           .nusages = 2,
                           .uri = STR(URI),
                           .not_before = NOW,
                           .not_after = NOW + 9 * DAY };
    int64_t from, to;
    struct status st;
    secret key;
    str pem;

    status_init(&st, a);
    REQUIRE(csr_make(a, &alice, &o.pem, &key, &st) == 0);
    REQUIRE(csr_sign(a, &ca, &o, &pem, &st) == 0);
    REQUIRE(pki_cert_times(pem, &from, &to));
    CHECK(from == NOW && to == NOW + DAY);
    CHECK(!pki_cert_times(STR("x"), &from, &to));
}

TEST(a_certificate_without_a_purpose_is_not_signed)
{
    scoped_arena a = arena_new();
    struct pki_pair ca = make_ca(a, 1);
    struct csr_order o = { .usages = client_usages, .nusages = 1, .uri = STR(URI) };
    struct status st;
    secret key;
    str pem;

    status_init(&st, a);
    REQUIRE(csr_make(a, &alice, &o.pem, &key, &st) == 0);
    CHECK(csr_sign(a, &ca, &o, &pem, &st) < 0);
}

static const char *issued_fault(struct arena *a, str pem)
{
    struct status st;

    status_init(&st, a);
    return csr_check_issued(a, pem, &st) < 0 ? str_z(a, st.message) : "";
}

TEST(what_a_signer_may_give)
{
    scoped_arena a = arena_new();
    struct pki_pair ca = make_ca(a, 1);

    CHECK_STR(issued_fault(a, ca.cert), "");
    CHECK_STR(issued_fault(a, str_printf(a, "%.*s\n%.*s", STR_ARG(ca.cert), STR_ARG(ca.cert))), "");
    CHECK_STR(issued_fault(a, STR("x")), "must contain at least one CERTIFICATE PEM block");
    CHECK_STR(issued_fault(a, secret_reveal(ca.key_pem)),
              "only CERTIFICATE PEM blocks are allowed, found \"PRIVATE KEY\"");
    CHECK_STR(issued_fault(a, STR("-----BEGIN CERTIFICATE-----\nMAA=\n"
                                  "-----END CERTIFICATE-----\n")),
              "x509: malformed certificate");
}

TEST(requests_have_limits)
{
    static const char *const curves[] = { "secp256k1", "P-224" };
    scoped_arena a = arena_new();
    EVP_PKEY *good = EVP_EC_gen("P-256"), *key = EVP_RSA_gen(768);
    str names = STR("DNS:a0"), pem;
    char *large = arena_alloc(a, CSR_MAX + 1);

    CHECK(strstr(fault(a, request_with(a, key, NULL, NULL)), "the key must be RSA with 1024"));
    EVP_PKEY_free(key);
    for (size_t i = 0; i < 2; i++) {
        key = EVP_EC_gen(curves[i]);
        CHECK(strstr(fault(a, request_with(a, key, NULL, NULL)), "the key must be RSA with 1024"));
        EVP_PKEY_free(key);
    }
    for (int i = 1; i < 256; i++)
        names = str_printf(a, "%.*s,DNS:a%d", STR_ARG(names), i);
    CHECK_STR(fault(a, request_with(a, good, str_z(a, names), NULL)), "");
    names = str_printf(a, "%.*s,DNS:one-more", STR_ARG(names));
    CHECK_STR(fault(a, request_with(a, good, str_z(a, names), NULL)),
              "x509: invalid subject alternative names");
    pem = request_with(a, good, NULL, NULL);
    memset(large, '\n', CSR_MAX + 1);
    memcpy(large, pem.p, pem.n);
    CHECK_STR(fault(a, (str){ large, CSR_MAX }), "");
    CHECK_STR(fault(a, (str){ large, CSR_MAX + 1 }), "must be at most 65536 bytes");
    EVP_PKEY_free(good);
}

/* Of its text, which is what we hold; what OpenSSL has decoded is for it to wipe. */
TEST(the_text_of_a_key_is_nowhere_when_it_has_gone)
{
    enum { N = 40 };
    struct arena *a = arena_new();
    struct pki_pair ca = make_ca(a, 10), leaf;
    struct pki_request who = { .cn = STR("x"), .now_s = NOW, .days = 1 };
    char piece[N];
    struct status st;
    str text;

    status_init(&st, a);
    CHECK(pki_sign(a, &ca, &who, &leaf, &st) == 0);
    text = secret_reveal(ca.key_pem);
    REQUIRE(text.n > 100);
    scan_disguise(piece, text.p + 40, N);
    CHECK(scan_memory(piece, N) > 0);
    arena_free(a);
    CHECK(scan_memory(piece, N) == 0);
}
