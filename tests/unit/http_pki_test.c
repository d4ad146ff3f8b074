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

TEST(of_a_chain_the_last_key_counts)
{
    scoped_arena a = arena_new();
    struct pki_pair ca;
    struct status st;
    str out;

    status_init(&st, a);
    REQUIRE(pki_make_ca(a, STR("ca"), 1700000000, 10, &ca, &st) == 0);
    REQUIRE(pki_chain_key_hash(a, str_printf(a, "%.*s%s", STR_ARG(ca.cert), authority), &out,
                               &st) == 0);
    CHECK(str_is(out, hash));
    REQUIRE(pki_chain_key_hash(a, str_of(authority), &out, &st) == 0);
    CHECK(str_is(out, hash));
    CHECK(pki_chain_key_hash(a, STR(""), &out, &st) < 0 && status_is(&st, REASON_BAD_REQUEST));
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

/* A serving certificate for "a,b,c" by an authority, for ten days. */
static str cert_for(struct arena *a, const char *list, int64_t now_s)
{
    struct pki_request req = { .cn = STR("kairship"), .now_s = now_s, .days = 10 };
    struct pki_pair ca, out;
    struct status st;
    str hosts[8];

    status_init(&st, a);
    for (str rest = str_of(list), part; str_split(&rest, ',', &part);)
        hosts[req.nhosts++] = part;
    req.hosts = hosts;
    if (!CHECK(pki_make_ca(a, STR("ca"), now_s, 20, &ca, &st) == 0 &&
               pki_sign(a, &ca, &req, &out, &st) == 0))
        return STR_NONE;
    return out.cert;
}

static bool fits(str cert, const char *list, int64_t now_s)
{
    str hosts[8];
    size_t n = 0;

    for (str rest = str_of(list), part; str_split(&rest, ',', &part);)
        hosts[n++] = part;
    return pki_cert_fits(cert, hosts, n, now_s, 5 * 86400);
}

TEST(a_certificate_fits_the_hosts_that_it_names_and_no_other_set)
{
    scoped_arena a = arena_new();
    int64_t now = 1700000000;
    str cert = cert_for(a, "localhost,192.0.2.1,2001:db8::1", now);

    CHECK(fits(cert, "localhost,192.0.2.1,2001:db8::1", now));
    CHECK(fits(cert, "2001:db8::1,LOCALHOST,192.0.2.1", now));
    CHECK(!fits(cert, "localhost,192.0.2.1", now));
    CHECK(!fits(cert, "localhost,192.0.2.1,2001:db8::1,192.0.2.2", now));
    CHECK(!fits(cert, "localhost,192.0.2.1,2001:db8::1", now + 6 * 86400));
    CHECK(!fits(STR("x"), "localhost", now));
}

TEST(a_certificate_covers_the_hosts_that_a_client_takes_it_for)
{
    scoped_arena a = arena_new();
    str cert = cert_for(a, "*.example.com,192.0.2.1,2001:db8::1", 1700000000);

    CHECK(pki_cert_covers(cert, STR("kairship.example.com")));
    CHECK(pki_cert_covers(cert, STR("192.0.2.1")));
    CHECK(pki_cert_covers(cert, STR("2001:db8:0::1")));
    CHECK(!pki_cert_covers(cert, STR("example.com")));
    CHECK(!pki_cert_covers(cert, STR("192.0.2.2")));
    CHECK(!pki_cert_covers(STR("x"), STR("192.0.2.1")));
}
