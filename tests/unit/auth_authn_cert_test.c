/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_cert.h"

#include "base/banned.h"
#include "tap.h"

#define ROOT   "11111111-1111-4111-8111-111111111111"
#define ONE    "22222222-2222-4222-8222-222222222222"
#define URI(u) AUTHN_CERT_URI u

enum { NOW = 1000000 };

static const struct instance root = { .id = INSTANCE_ROOT, .uid = STR_INIT(ROOT) };
static const struct instance one = { .id = 16, .name = STR_INIT("one"), .uid = STR_INIT(ONE) };
static const struct instance all = { .id = STORE_ALL, .name = STR_INIT("*") };
static const struct instance none = { .id = INSTANCE_TEMPLATE };

/* Who it is there, as text; "refused" if nobody. */
static const char *come(struct arena *a, const struct http_peer *p, const struct instance *i)
{
    struct identity who;
    str text;

    if (!authn_cert_map(a, p, i, STR(ROOT), NOW, &who))
        return "refused";
    text = who.user;
    for (size_t g = 0; g < who.ngroups; g++)
        text = str_printf(a, "%.*s %.*s", STR_ARG(text), STR_ARG(who.groups[g]));
    return str_z(a, text);
}

TEST(a_certificate_opens_one_door)
{
    static const struct {
        const char *uri;
        const char *org;
        const struct instance *to;
        bool opens;
    } rows[] = {
        /* without a URI: root's */
        { NULL, "devs", &root, true },
        { NULL, "devs", &one, false },
        { NULL, "devs", &all, false },
        { NULL, "devs", &none, false },
        { URI(ROOT), "devs", &root, true },
        { URI(ROOT), "devs", &one, false },
        /* the platform admin */
        { NULL, "system:masters", &root, true },
        { NULL, "system:masters", &one, true },
        { NULL, "system:masters", &all, true },
        { NULL, "system:masters", &none, true },
        { URI(ROOT), "system:masters", &one, true },
        { URI(ROOT), "system:masters", &all, true },
        /* of an instance, even its admin */
        { URI(ONE), "devs", &one, true },
        { URI(ONE), "devs", &root, false },
        { URI(ONE), "devs", &all, false },
        { URI(ONE), "devs", &none, false },
        { URI(ONE), "system:masters", &one, true },
        { URI(ONE), "system:masters", &root, false },
        { URI(ONE), "system:masters", &all, false },
        { URI(ONE), "system:masters", &none, false },
        /* URIs that say nothing to us, or too much */
        { URI(""), "system:masters", &root, false },
        { URI(""), "system:masters", &none, false },
        { URI(ONE "0"), "devs", &one, false },
        { URI(ONE) "/x", "devs", &one, false },
        { "URN:KAIRSHIP:INSTANCE:" ONE, "devs", &one, false },
        { "spiffe://example.com/x", "system:masters", &root, false },
        { "", "system:masters", &root, false },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str uri = str_of(rows[i].uri ? rows[i].uri : ""), org = str_of(rows[i].org);
        struct http_peer p = { .cn = STR("u"),
                               .orgs = &org,
                               .norgs = 1,
                               .uris = &uri,
                               .nuris = rows[i].uri ? 1 : 0,
                               .not_after = NOW + 1 };
        bool got = strcmp(come(a, &p, rows[i].to), "refused") != 0;

        if (!CHECK(got == rows[i].opens))
            printf("# row %zu\n", i);
    }
}

TEST(two_uris_open_nothing)
{
    const str uris[] = { STR_INIT(URI(ONE)), STR_INIT(URI(ONE)) };
    struct http_peer p = { .cn = STR("u"), .uris = uris, .nuris = 2, .not_after = NOW + 1 };
    scoped_arena a = arena_new();

    CHECK_STR(come(a, &p, &one), "refused");
    p.nuris = 1;
    CHECK_STR(come(a, &p, &one), "u system:authenticated");
}

TEST(only_a_certificate_in_force)
{
    static const struct {
        const char *cn;
        int64_t from, to;
        bool not_for_clients;
        const char *want;
    } rows[] = {
        { "u", NOW, NOW + 1, false, "u system:authenticated" },
        { "", NOW, NOW + 1, false, "refused" },
        { "u", NOW + 1, NOW + 2, false, "refused" },
        { "u", 0, NOW, false, "refused" },
        { "u", NOW, NOW + 1, true, "refused" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct http_peer p = { .cn = str_of(rows[i].cn),
                               .not_before = rows[i].from,
                               .not_after = rows[i].to,
                               .not_for_clients = rows[i].not_for_clients };

        CHECK_STR(come(a, &p, &root), rows[i].want);
    }
}

TEST(everything_that_the_certificate_says_of_its_holder)
{
    const str orgs[] = { STR_INIT("a"), STR_INIT("b") };
    struct http_peer p = { .cn = STR("u"),
                           .orgs = orgs,
                           .norgs = 2,
                           .uid = STR("42"),
                           .credential_id = STR("X509SHA256=00"),
                           .not_after = NOW + 1 };
    scoped_arena a = arena_new();
    struct identity who;

    CHECK_STR(come(a, &p, &root), "u a b system:authenticated");
    REQUIRE(authn_cert_map(a, &p, &root, STR(ROOT), NOW, &who));
    CHECK(str_is(who.uid, "42"));
    REQUIRE(who.nextra == 1 && who.extra[0].nvalues == 1);
    CHECK(str_is(who.extra[0].key, "authentication.kubernetes.io/credential-id"));
    CHECK(str_is(who.extra[0].values[0], "X509SHA256=00"));
    CHECK(str_is(authn_cert_uri(a, &(struct instance){ .uid = STR(ONE), .name = STR("one") }),
                 URI(ONE) "?=one"));
}
