/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/arena.h"
#include "http/verify.h"
#include "tap.h"

#define TEXT STR("header.claims")

static str number(struct arena *a, const EVP_PKEY *key, const char *name, int size)
{
    BIGNUM *n = NULL;
    unsigned char *p;

    if (EVP_PKEY_get_bn_param(key, name, &n) != 1)
        return STR_NONE;
    if (!size)
        size = BN_num_bytes(n);
    p = arena_alloc(a, (size_t)size);
    (void)BN_bn2binpad(n, p, size);
    BN_free(n);
    return (str){ (char *)p, (size_t)size };
}

/* As a token carries it. */
static str signed_by(struct arena *a, EVP_PKEY *key, const EVP_MD *hash, bool pss, int half)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *of = NULL;
    size_t n = (size_t)EVP_PKEY_get_size(key);
    unsigned char *out = arena_alloc(a, n), *raw = arena_alloc(a, 2 * (size_t)half + 1);
    const unsigned char *der = out;
    ECDSA_SIG *sig;

    (void)EVP_DigestSignInit(ctx, &of, hash, NULL, key);
    if (pss) {
        (void)EVP_PKEY_CTX_set_rsa_padding(of, RSA_PKCS1_PSS_PADDING);
        (void)EVP_PKEY_CTX_set_rsa_pss_saltlen(of, RSA_PSS_SALTLEN_DIGEST);
    }
    (void)EVP_DigestSign(ctx, out, &n, (const unsigned char *)TEXT.p, TEXT.n);
    EVP_MD_CTX_free(ctx);
    if (!half)
        return (str){ (char *)out, n };
    sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
    (void)BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, half);
    (void)BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + half, half);
    ECDSA_SIG_free(sig);
    return (str){ (char *)raw, 2 * (size_t)half };
}

/* Good under its own name, and under no other; not when a byte differs. */
static void good_as(struct arena *a, const struct verify_key *k, const char *name, str sig)
{
    static const char *const all[] = { "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
                                       "ES256", "ES384", "ES512", "HS256", "none",  "" };
    char *bad = str_z(a, sig);

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (!CHECK(verify_check(k, str_of(all[i]), TEXT, sig) == (strcmp(all[i], name) == 0)))
            printf("# signed as %s, checked as %s\n", name, all[i]);
    CHECK(!verify_check(k, str_of(name), STR("header.claimz"), sig));
    CHECK(!verify_check(k, str_of(name), TEXT, str_sub(sig, 0, sig.n - 1)));
    CHECK(!verify_check(k, str_of(name), TEXT, STR_NONE));
    bad[sig.n / 2] = (char)(bad[sig.n / 2] ^ 1);
    CHECK(!verify_check(k, str_of(name), TEXT, (str){ bad, sig.n }));
    memset(bad, 0, sig.n); /* r = s = 0 */
    CHECK(!verify_check(k, str_of(name), TEXT, (str){ bad, sig.n }));
}

TEST(rsa_in_six_ways)
{
    scoped_arena a = arena_new();
    EVP_PKEY *key = EVP_RSA_gen(2048);
    struct verify_key *k = verify_key_rsa(number(a, key, OSSL_PKEY_PARAM_RSA_N, 0),
                                          number(a, key, OSSL_PKEY_PARAM_RSA_E, 0));

    REQUIRE(k);
    good_as(a, k, "RS256", signed_by(a, key, EVP_sha256(), false, 0));
    good_as(a, k, "RS384", signed_by(a, key, EVP_sha384(), false, 0));
    good_as(a, k, "RS512", signed_by(a, key, EVP_sha512(), false, 0));
    good_as(a, k, "PS256", signed_by(a, key, EVP_sha256(), true, 0));
    good_as(a, k, "PS384", signed_by(a, key, EVP_sha384(), true, 0));
    good_as(a, k, "PS512", signed_by(a, key, EVP_sha512(), true, 0));
    verify_key_free(k);
    EVP_PKEY_free(key);
}

TEST(ecdsa_on_three_curves)
{
    static const struct {
        const char *curve, *alg;
        const EVP_MD *(*hash)(void);
        int half;
    } rows[] = { { "P-256", "ES256", EVP_sha256, 32 },
                 { "P-384", "ES384", EVP_sha384, 48 },
                 { "P-521", "ES512", EVP_sha512, 66 } };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        EVP_PKEY *key = EVP_EC_gen(rows[i].curve);
        str x = number(a, key, OSSL_PKEY_PARAM_EC_PUB_X, rows[i].half);
        str y = number(a, key, OSSL_PKEY_PARAM_EC_PUB_Y, rows[i].half);
        struct verify_key *k = verify_key_ec(str_of(rows[i].curve), x, y);

        REQUIRE(k);
        good_as(a, k, rows[i].alg, signed_by(a, key, rows[i].hash(), false, rows[i].half));
        CHECK(!verify_key_ec(str_of(rows[i].curve), x, x)); /* no point of the curve */
        CHECK(!verify_key_ec(str_of(rows[i].curve), x, str_from(y, 1)));
        CHECK(!verify_key_ec(STR("secp256k1"), x, y));
        verify_key_free(k);
        EVP_PKEY_free(key);
    }
}

TEST(numbers_that_are_no_key)
{
    scoped_arena a = arena_new();
    EVP_PKEY *weak = EVP_RSA_gen(1024), *key = EVP_RSA_gen(2048);
    str n = number(a, key, OSSL_PKEY_PARAM_RSA_N, 0), three = STR("\3");
    char *huge = arena_alloc(a, 1 << 14);

    memset(huge, 0xff, 1 << 14);
    CHECK(!verify_key_rsa(number(a, weak, OSSL_PKEY_PARAM_RSA_N, 0), three));
    CHECK(!verify_key_rsa((str){ huge, 1 << 14 }, three));
    CHECK(!verify_key_rsa(n, (str){ huge, 9 }));
    CHECK(!verify_key_rsa(n, STR("\1")));
    CHECK(!verify_key_rsa(n, STR("\4")));
    CHECK(!verify_key_rsa(n, STR_NONE));
    CHECK(!verify_key_rsa(STR_NONE, three));
    EVP_PKEY_free(weak);
    EVP_PKEY_free(key);
}

TEST(names_of_algorithms)
{
    CHECK(verify_alg(STR("RS256")) && verify_alg(STR("ES512")));
    CHECK(verify_alg(STR("RS256")) != verify_alg(STR("RS384")));
    CHECK(!verify_alg(STR("HS256")) && !verify_alg(STR("none")) && !verify_alg(STR("rs256")));
}
