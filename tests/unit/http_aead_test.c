/* SPDX-License-Identifier: Apache-2.0 */
#include "http/aead.h"

#include "base/arena.h"
#include "base/encode.h"
#include "tap.h"

static struct arena *a;
static struct status st;

static void begin(void)
{
    arena_free(a);
    a = arena_new();
    status_init(&st, a);
}

static struct aead_key *key(enum aead_form form, char fill, size_t n)
{
    char *p = arena_alloc(a, n + 1);

    memset(p, fill, n);
    return aead_key_new(form, secret_of((str){ p, n }), &st);
}

static str seal(const struct aead_key *k, str beside, str plain)
{
    char *out = arena_alloc(a, plain.n + AEAD_OVERHEAD_MAX);

    return (str){ out, aead_seal(k, beside, plain, out) };
}

static bool opens(const struct aead_key *k, str beside, str sealed, str *plain)
{
    char *out = arena_alloc(a, sealed.n + 1);

    *plain = (str){ out, 0 };
    return aead_open(k, beside, sealed, out, &plain->n);
}

static void known(char fill, const char *beside, const char *nonce, const char *plain,
                  const char *want)
{
    struct aead_key *k;
    char out[128], hex[256];
    size_t n;

    begin();
    k = key(AEAD_AESGCM, fill, 32);
    REQUIRE(k);
    n = aead_seal_with(k, nonce, str_of(beside), str_of(plain), out);
    CHECK(n == strlen(plain) + 24 + 16 && memcmp(out, nonce, 24) == 0);
    hex_encode(hex, out + 24, n - 24);
    hex[(n - 24) * 2] = '\0';
    CHECK_STR(hex, want);
    aead_key_free(k);
}

/* The vectors of c2sp.org/XAES-256-GCM; the keys differ in whether CMAC's subkey is reduced. */
TEST(aesgcm_is_xaes_256_gcm)
{
    known(1, "", "ABCDEFGHIJKLMNOPQRSTUVWX", "XAES-256-GCM",
          "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271");
    known(3, "c2sp.org/XAES-256-GCM", "ABCDEFGHIJKLMNOPQRSTUVWX", "XAES-256-GCM",
          "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d");
}

TEST(what_is_sealed_opens_again_whatever_its_size)
{
    static const size_t sizes[] = { 0, 1, 15, 16, 17, 4096, 100001 }, keys[] = { 16, 24, 32 };

    for (int form = 0; form < AEAD_FORMS; form++)
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++) {
                struct aead_key *k;
                str plain, sealed, back;

                begin();
                k = key(form, 'k', keys[i]);
                REQUIRE(k);
                plain = (str){ memset(arena_alloc(a, sizes[j] + 1), 'p', sizes[j]), sizes[j] };
                sealed = seal(k, STR("beside"), plain);
                CHECK(sealed.n > plain.n && sealed.n <= plain.n + AEAD_OVERHEAD_MAX);
                CHECK(opens(k, STR("beside"), sealed, &back) && str_eq(back, plain));
                CHECK(!opens(k, STR("besides"), sealed, &back));
                CHECK(!opens(k, STR(""), sealed, &back));
                aead_key_free(k);
            }
}

TEST(no_bit_may_change_and_no_byte_be_missing)
{
    for (int form = 0; form < AEAD_FORMS; form++) {
        struct aead_key *k;
        str sealed, back;
        char *p;

        begin();
        k = key(form, 'k', 32);
        sealed = seal(k, STR("beside"), STR("some words that are secret"));
        p = (char *)(uintptr_t)str_dup(a, sealed).p;
        for (size_t bit = 0; bit < sealed.n * 8; bit++) {
            p[bit / 8] = (char)(p[bit / 8] ^ 1 << bit % 8);
            CHECK(!opens(k, STR("beside"), (str){ p, sealed.n }, &back));
            p[bit / 8] = (char)(p[bit / 8] ^ 1 << bit % 8);
        }
        for (size_t n = 0; n < sealed.n; n++)
            CHECK(!opens(k, STR("beside"), str_sub(sealed, 0, n), &back));
        CHECK(opens(k, STR("beside"), (str){ p, sealed.n }, &back));
        aead_key_free(k);
    }
}

TEST(another_key_does_not_open_it)
{
    struct aead_key *one, *two, *cbc;
    str sealed, back;

    begin();
    one = key(AEAD_AESGCM, 'a', 32);
    two = key(AEAD_AESGCM, 'b', 32);
    cbc = key(AEAD_AESCBC, 'a', 32);
    sealed = seal(one, STR(""), STR("words"));
    CHECK(!opens(two, STR(""), sealed, &back));
    CHECK(!opens(cbc, STR(""), sealed, &back));
    CHECK(!str_eq(aead_key_check(one), aead_key_check(two)));
    CHECK(!str_eq(aead_key_check(one), aead_key_check(cbc)));
    CHECK(!str_eq(sealed, seal(one, STR(""), STR("words"))));
    aead_key_free(one);
    aead_key_free(two);
    aead_key_free(cbc);
}

TEST(keys_have_three_lengths)
{
    for (size_t n = 0; n <= 33; n++) {
        struct aead_key *k;

        begin();
        k = key(AEAD_AESGCM, 'k', n);
        CHECK((k != NULL) == (n == 16 || n == 24 || n == 32));
        CHECK(k || status_is(&st, REASON_INVALID));
        aead_key_free(k);
    }
    arena_free(a);
    a = NULL;
}
