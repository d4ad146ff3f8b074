/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>

#include "http/sign.h"
#include "tap.h"

static struct arena *a;
static struct status st;

static void begin(void)
{
    a = arena_new();
    status_init(&st, a);
}

static struct sign_key *made(void)
{
    secret pem;

    return sign_key_make(a, &pem, &st) < 0 ? NULL : sign_key_new(pem, &st);
}

static secret pem_of(EVP_PKEY *key, bool private_half)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *p = NULL;
    long n;
    str text;

    if (private_half)
        (void)PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    else
        (void)PEM_write_bio_PUBKEY(bio, key);
    n = BIO_get_mem_data(bio, &p);
    text = str_dup(a, (str){ p, (size_t)n });
    BIO_free_all(bio);
    EVP_PKEY_free(key);
    return secret_of(text);
}

static void signs_and_checks(struct sign_key *k)
{
    str text = STR("header.claims"), sig;
    char *bad;

    REQUIRE(k && sign_key_signs(k));
    REQUIRE(sign_make(k, a, text, &sig, &st) == 0);
    CHECK(sign_check(k, text, sig));
    CHECK(!sign_check(k, STR("header.claimz"), sig));
    CHECK(!sign_check(k, text, str_sub(sig, 0, sig.n - 1)));
    CHECK(!sign_check(k, text, STR_NONE));
    bad = str_z(a, sig);
    for (size_t i = 0; i < sig.n; i += 7) {
        bad[i] = (char)(bad[i] ^ 1);
        CHECK(!sign_check(k, text, (str){ bad, sig.n }));
        bad[i] = (char)(bad[i] ^ 1);
    }
    memset(bad, 0, sig.n); /* r = s = 0, the classic */
    CHECK(!sign_check(k, text, (str){ bad, sig.n }));
}

TEST(a_new_key_is_p256)
{
    struct sign_key *k, *other;
    struct sign_numbers n;
    str sig;

    begin();
    k = made();
    other = made();
    signs_and_checks(k);
    REQUIRE(k && other);
    CHECK_STR(sign_key_alg(k), "ES256");
    CHECK(sign_key_id(k).n == 43);
    CHECK(!str_eq(sign_key_id(k), sign_key_id(other)));
    CHECK(sign_make(k, a, STR("x"), &sig, &st) == 0 && sig.n == 64);
    CHECK(!sign_check(other, STR("x"), sig));
    CHECK(sign_key_numbers(k, a, &n, &st) == 0 && n.ec && n.x.n == 32 && n.y.n == 32);
    sign_key_free(k);
    sign_key_free(other);
    arena_free(a);
}

TEST(rsa_keys_are_read)
{
    struct sign_key *k;
    struct sign_numbers n;

    begin();
    k = sign_key_new(pem_of(EVP_RSA_gen(2048), true), &st);
    signs_and_checks(k);
    REQUIRE(k);
    CHECK_STR(sign_key_alg(k), "RS256");
    CHECK(sign_key_numbers(k, a, &n, &st) == 0 && !n.ec && n.n.n == 256 && n.e.n == 3);
    sign_key_free(k);
    arena_free(a);
}

TEST(a_public_half_only_checks)
{
    EVP_PKEY *key;
    struct sign_key *private_half, *public_half;
    str sig;

    begin();
    key = EVP_EC_gen("P-256");
    (void)EVP_PKEY_up_ref(key);
    private_half = sign_key_new(pem_of(key, true), &st);
    public_half = sign_key_new(pem_of(key, false), &st);
    REQUIRE(private_half && public_half);
    CHECK(!sign_key_signs(public_half));
    CHECK(str_eq(sign_key_id(private_half), sign_key_id(public_half)));
    CHECK(sign_make(private_half, a, STR("x"), &sig, &st) == 0);
    CHECK(sign_check(public_half, STR("x"), sig));
    sign_key_free(private_half);
    sign_key_free(public_half);
    arena_free(a);
}

TEST(weak_and_other_keys_are_refused)
{
    begin();
    CHECK(!sign_key_new(pem_of(EVP_RSA_gen(1024), true), &st));
    CHECK(!sign_key_new(pem_of(EVP_EC_gen("P-384"), true), &st));
    CHECK(!sign_key_new(pem_of(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), true), &st));
    CHECK(!sign_key_new(secret_of(STR("rubbish")), &st));
    CHECK(!sign_key_new(secret_of(STR_NONE), &st));
    CHECK(status_is(&st, REASON_INVALID));
    arena_free(a);
}

TEST(sha256_is_that_of_the_standard)
{
    static const unsigned char abc[] = { 0xba, 0x78, 0x16, 0xbf };
    unsigned char out[SHA256_SIZE];

    sign_sha256(STR("abc"), out);
    CHECK(memcmp(out, abc, sizeof(abc)) == 0);
}
