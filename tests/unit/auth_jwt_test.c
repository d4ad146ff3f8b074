/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/jwt.h"
#include "base/encode.h"
#include "base/epoch.h"
#include "tap.h"

/* Tokens as they should be, and as those who should not get in make them. */

struct rig {
    struct arena *arena;
    struct status st;
    struct keys *keys;
    secret pems[2];
    struct sign_key *first, *second; /* the same keys, to sign by hand */
};

static void rig_init(struct rig *r)
{
    *r = (struct rig){ .arena = arena_new() };
    status_init(&r->st, r->arena);
    r->keys = keys_new();
    CHECK(sign_key_make(r->arena, &r->pems[0], &r->st) == 0);
    CHECK(sign_key_make(r->arena, &r->pems[1], &r->st) == 0);
    CHECK(keys_load(r->keys, r->pems, 2, &r->st) == 0);
    r->first = sign_key_new(r->pems[0], &r->st);
    r->second = sign_key_new(r->pems[1], &r->st);
    epoch_enter();
}

static void rig_free(struct rig *r)
{
    epoch_exit();
    sign_key_free(r->first);
    sign_key_free(r->second);
    keys_free(r->keys);
    epoch_drain();
    arena_free(r->arena);
}

static str encoded(struct rig *r, str text)
{
    return base64_encode(r->arena, BASE64_URL, text);
}

/* Signed by the key, or with no signature at all. */
static str forge(struct rig *r, str header, str claims, const struct sign_key *key)
{
    str h = encoded(r, header), c = encoded(r, claims), sig = STR_NONE;
    str text = str_printf(r->arena, "%.*s.%.*s", STR_ARG(h), STR_ARG(c));

    if (key)
        CHECK(sign_make(key, r->arena, text, &sig, &r->st) == 0);
    sig = encoded(r, sig);
    return str_printf(r->arena, "%.*s.%.*s", STR_ARG(text), STR_ARG(sig));
}

static str header_of(struct rig *r, const char *alg, const struct sign_key *key)
{
    return str_printf(r->arena, "{\"alg\":\"%s\",\"kid\":\"%.*s\"}", alg,
                      STR_ARG(sign_key_id(key)));
}

static bool good(struct rig *r, str token)
{
    struct jwt t;

    return jwt_parse(r->arena, secret_of(token), &t) && jwt_verify(&t, r->keys) &&
           jwt_claims(r->arena, &t);
}

static str genuine(struct rig *r)
{
    struct json_object o = json_object_new(r->arena);
    secret out;

    json_add(&o, STR("sub"), json_of_str(STR("me")));
    CHECK(jwt_make(r->arena, r->keys, json_object_done(&o), &out, &r->st) == 0);
    return secret_reveal(out);
}

TEST(what_we_sign_we_accept)
{
    struct rig r;
    struct jwt t;
    str token;

    rig_init(&r);
    token = genuine(&r);
    REQUIRE(jwt_parse(r.arena, secret_of(token), &t));
    CHECK(str_is(t.alg, "ES256"));
    CHECK(str_eq(t.kid, sign_key_id(r.first))); /* the first key signs */
    CHECK(jwt_verify(&t, r.keys));
    CHECK(str_is(json_get_str(jwt_claims(r.arena, &t), "sub"), "me"));
    /* and what the other key of the ring has signed */
    CHECK(good(&r, forge(&r, header_of(&r, "ES256", r.second), STR("{}"), r.second)));
    rig_free(&r);
}

TEST(the_algorithm_is_the_keys)
{
    static const char *const algs[] = { "none",  "None",  "NONE",  "HS256",  "RS256",
                                        "PS256", "ES384", "es256", "ES256 ", "" };
    struct rig r;

    rig_init(&r);
    for (size_t i = 0; i < sizeof(algs) / sizeof(*algs); i++) {
        CHECK(!good(&r, forge(&r, header_of(&r, algs[i], r.first), STR("{}"), r.first)));
        CHECK(!good(&r, forge(&r, header_of(&r, algs[i], r.first), STR("{}"), NULL)));
    }
    CHECK(!good(&r, forge(&r, STR("{\"alg\":\"none\"}"), STR("{}"), NULL)));
    CHECK(!good(&r, forge(&r, header_of(&r, "ES256", r.first), STR("{}"), NULL)));
    rig_free(&r);
}

TEST(keys_cannot_be_swapped)
{
    struct rig r;
    struct sign_key *foreign;
    secret pem;

    rig_init(&r);
    REQUIRE(sign_key_make(r.arena, &pem, &r.st) == 0);
    foreign = sign_key_new(pem, &r.st);
    REQUIRE(foreign);
    CHECK(!good(&r, forge(&r, header_of(&r, "ES256", r.first), STR("{}"), r.second)));
    CHECK(!good(&r, forge(&r, header_of(&r, "ES256", r.first), STR("{}"), foreign)));
    CHECK(!good(&r, forge(&r, header_of(&r, "ES256", foreign), STR("{}"), foreign)));
    CHECK(!good(&r, forge(&r, STR("{\"alg\":\"ES256\"}"), STR("{}"), r.first))); /* no kid */
    /* A key that the token brings along is not looked at. */
    CHECK(!good(&r,
                forge(&r, STR("{\"alg\":\"ES256\",\"jwk\":{\"kty\":\"EC\"},\"jku\":\"https://x\"}"),
                      STR("{}"), foreign)));
    sign_key_free(foreign);
    rig_free(&r);
}

TEST(headers_say_one_thing)
{
    struct rig r;
    str id;

    rig_init(&r);
    id = sign_key_id(r.first);
    CHECK(
        !good(&r, forge(&r,
                        str_printf(r.arena, "{\"alg\":\"none\",\"alg\":\"ES256\",\"kid\":\"%.*s\"}",
                                   STR_ARG(id)),
                        STR("{}"), r.first)));
    CHECK(
        !good(&r, forge(&r,
                        str_printf(r.arena, "{\"alg\":\"ES256\",\"kid\":\"%.*s\",\"crit\":[\"x\"]}",
                                   STR_ARG(id)),
                        STR("{}"), r.first)));
    CHECK(!good(&r, forge(&r, STR("[]"), STR("{}"), r.first)));
    CHECK(!good(&r, forge(&r, STR(""), STR("{}"), r.first)));
    rig_free(&r);
}

TEST(claims_are_one_object)
{
    static const char *const rows[] = { "",
                                        "[]",
                                        "null",
                                        "\"x\"",
                                        "{} {}",
                                        "{\"a\":1,\"a\":2}",
                                        "{\"a\":{\"b\":1,\"b\":1}}",
                                        "{\"a\":\"\xff\"}" };
    struct rig r;

    rig_init(&r);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!CHECK(!good(&r, forge(&r, header_of(&r, "ES256", r.first), str_of(rows[i]), r.first))))
            printf("# %s\n", rows[i]);
    CHECK(good(&r, forge(&r, header_of(&r, "ES256", r.first), STR("{}"), r.first)));
    rig_free(&r);
}

TEST(a_token_has_one_form)
{
    struct rig r;
    str token, last;
    char *bent;
    size_t dot;

    rig_init(&r);
    token = genuine(&r);
    CHECK(good(&r, token));
    CHECK(!good(&r, str_printf(r.arena, "%.*s.", STR_ARG(token))));
    CHECK(!good(&r, str_printf(r.arena, "%.*s=", STR_ARG(token))));
    CHECK(!good(&r, str_printf(r.arena, "%.*s==", STR_ARG(token))));
    CHECK(!good(&r, str_printf(r.arena, "%.*sA", STR_ARG(token))));
    CHECK(!good(&r, str_printf(r.arena, "%.*s\n", STR_ARG(token))));
    CHECK(!good(&r, str_printf(r.arena, " %.*s", STR_ARG(token))));
    CHECK(!good(&r, str_sub(token, 0, token.n - 1)));
    CHECK(!good(&r, STR_NONE));
    CHECK(!good(&r, STR(".")));
    CHECK(!good(&r, STR("..")));
    CHECK(!good(&r, STR("...")));
    /* 64 bytes leave four bits of the last digit unused: no other digit may stand for it. */
    bent = str_z(r.arena, token);
    last = STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    for (size_t i = 0; i < last.n; i++) {
        bent[token.n - 1] = last.p[i];
        CHECK(good(&r, (str){ bent, token.n }) == (bent[token.n - 1] == token.p[token.n - 1]));
    }
    /* Every byte of it counts. */
    bent = str_z(r.arena, token);
    dot = (size_t)str_find(token, '.', 0);
    for (size_t i = 0; i < token.n; i += 3) {
        char was = bent[i];

        bent[i] = i == dot ? 'A' : was == 'A' ? 'B' : 'A';
        CHECK(!good(&r, (str){ bent, token.n }));
        bent[i] = was;
    }
    rig_free(&r);
}

TEST(a_token_has_a_limit)
{
    struct rig r;
    char *deep;
    str big;

    rig_init(&r);
    deep = arena_alloc(r.arena, JWT_MAX);
    memset(deep, '[', 2000);
    CHECK(!good(&r, forge(&r, header_of(&r, "ES256", r.first), (str){ deep, 2000 }, r.first)));
    memset(deep, ' ', JWT_MAX);
    deep[0] = '{';
    deep[JWT_MAX - 1] = '}';
    big = forge(&r, header_of(&r, "ES256", r.first), (str){ deep, JWT_MAX }, r.first);
    CHECK(big.n > JWT_MAX);
    CHECK(!good(&r, big));
    rig_free(&r);
}

TEST(keys_come_and_go)
{
    struct rig r;
    uint64_t before;
    str old, now;

    rig_init(&r);
    old = genuine(&r);
    before = keys_generation(r.keys);
    CHECK(keys_load(r.keys, &r.pems[1], 1, &r.st) == 0);
    CHECK(keys_generation(r.keys) > before);
    CHECK(!good(&r, old)); /* its key is gone */
    now = genuine(&r);
    CHECK(good(&r, now));
    CHECK(keys_load(r.keys, r.pems, 2, &r.st) == 0); /* the first signs, both verify */
    CHECK(good(&r, old));
    CHECK(good(&r, now));
    /* What cannot be used changes nothing. */
    r.pems[0] = secret_of(STR("rubbish"));
    CHECK(keys_load(r.keys, r.pems, 2, &r.st) < 0);
    CHECK(keys_load(r.keys, NULL, 0, &r.st) < 0);
    CHECK(good(&r, old));
    rig_free(&r);
}

TEST(the_public_halves_are_told)
{
    struct rig r;
    const struct json *v;
    str text;

    rig_init(&r);
    REQUIRE(keys_jwks(r.keys, r.arena, &text, &r.st) == 0);
    REQUIRE(json_parse(r.arena, text, NULL, &v, &r.st) == 0);
    CHECK(json_len(json_get(v, STR("keys"))) == 2);
    v = json_at(json_get(v, STR("keys")), 1);
    CHECK(str_eq(json_get_str(v, "kid"), sign_key_id(r.second)));
    CHECK(str_is(json_get_str(v, "alg"), "ES256"));
    CHECK(json_get_str(v, "x").n == 43 && json_get_str(v, "y").n == 43);
    CHECK(!json_get(v, STR("d"))); /* and nothing else */
    rig_free(&r);
}
