/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pki.h"

#include "base/banned.h"
#include "tap.h"

/*
 * By openssl ecparam -name prime256v1 -genkey, openssl req -x509, and the hash by
 * openssl x509 -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256
 */
static const char authority[] = "-----BEGIN CERTIFICATE-----\n"
                                "MIIBfjCCASWgAwIBAgIUQyzxohzjrQnD0GlOzM1E7imIRH8wCgYIKoZIzj0EAwIw\n"
                                "FDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTExOTIzMDAxN1oYDzIxMjYxMDI2\n"
                                "MjMwMDE3WjAUMRIwEAYDVQQDDAlhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO\n"
                                "PQMBBwNCAARYs5USVKfVXevwYqzL2n+gNeO5s7FdgSUwSNTqVPs4dEqawW4Qih5D\n"
                                "C578pxEVa+/NRf1ClwWrPBxdOpspn3Hro1MwUTAdBgNVHQ4EFgQUHx/BW0bYTX//\n"
                                "9DVgj6Rj9M0CfTAwHwYDVR0jBBgwFoAUHx/BW0bYTX//9DVgj6Rj9M0CfTAwDwYD\n"
                                "VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBBEv+gJVypP/nO0hwpgVOM\n"
                                "Az5SLrc2WF3abLASebGYxwIgFOmkL1oaI9tSQy7DjpzamVioY1rmJWPXhOWUstB7\n"
                                "Rys=\n"
                                "-----END CERTIFICATE-----\n";
static const char hash[] =
    "sha256:1dc55d65425e3cc21f8da6309ce2e8e99742e70be101f25e38b0c85a629d0d35";

static const char *hash_of(struct arena *a, str pem)
{
    struct status st;
    str out;

    status_init(&st, a);
    return pki_public_key_hash(a, pem, &out, &st) < 0 ? str_z(a, st.message) : str_z(a, out);
}

TEST(the_hash_of_a_key_is_that_of_kubeadm)
{
    scoped_arena a = arena_new();

    CHECK_STR(hash_of(a, str_of(authority)), hash);
    CHECK_STR(hash_of(a, str_printf(a, "# root\n%s-----BEGIN", authority)), hash);
    CHECK_STR(hash_of(a, STR("")), "this is not a certificate in PEM form");
    CHECK_STR(hash_of(a, str_sub(str_of(authority), 0, 200)),
              "this is not a certificate in PEM form");
}

TEST(another_key_has_another_hash_though_the_name_is_the_same)
{
    scoped_arena a = arena_new();
    struct pki_pair one, other;
    struct status st;

    status_init(&st, a);
    REQUIRE(pki_make_ca(a, STR("ca"), 1700000000, 10, &one, &st) == 0);
    REQUIRE(pki_make_ca(a, STR("ca"), 1700000000, 10, &other, &st) == 0);
    CHECK(strcmp(hash_of(a, one.cert), hash_of(a, other.cert)) != 0);
}
