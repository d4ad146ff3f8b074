/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tokens: whatever comes, none is good that was not signed by our key; and what is signed reads
 * back as it was.
 */

#include <assert.h>

#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/jwt.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/epoch.h"
#include "fuzz/fuzz.h"

static struct keys *ring(void)
{
    static struct keys *keys;
    scoped_arena a = arena_new();
    struct status st;
    secret pem;

    if (keys)
        return keys;
    status_init(&st, a);
    keys = keys_new();
    assert(sign_key_make(a, &pem, &st) == 0 && keys_load(keys, &pem, 1, &st) == 0);
    return keys;
}

static void must_be_bad(struct arena *a, str token)
{
    struct jwt t;

    (void)authn_bootstrap_is(secret_of(token));
    if (!jwt_parse(a, secret_of(token), &t))
        return;
    assert(token.n <= JWT_MAX);
    assert(!jwt_verify(&t, ring()));
    (void)jwt_claims(a, &t);
}

/* The header of a real one, with claims that nobody signed: the parser of claims is reached. */
static str with_header(struct arena *a, str claims)
{
    const struct sign_key *key = keys_peek_signer(ring());
    str h = str_printf(a, "{\"alg\":\"ES256\",\"kid\":\"%.*s\"}", STR_ARG(sign_key_id(key)));
    char zero[64] = "";

    h = base64_encode(a, BASE64_URL, h);
    claims = base64_encode(a, BASE64_URL, claims);
    zero[63] = 1;
    return str_printf(a, "%.*s.%.*s.%.*s", STR_ARG(h), STR_ARG(claims),
                      STR_ARG(base64_encode(a, BASE64_URL, (str){ zero, sizeof(zero) })));
}

static void round_trip(struct arena *a, str in)
{
    struct json_object o = json_object_new(a);
    struct status st;
    struct jwt t;
    secret token;

    if (!str_utf8_valid(in) || in.n > JWT_MAX / 8)
        return;
    status_init(&st, a);
    json_add(&o, STR("x"), json_of_str(in));
    assert(jwt_make(a, ring(), json_object_done(&o), &token, &st) == 0);
    assert(jwt_parse(a, token, &t) && jwt_verify(&t, ring()));
    assert(str_eq(json_get_str(jwt_claims(a, &t), "x"), in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str in = { (const char *)data, size };

    epoch_enter();
    must_be_bad(a, in);
    must_be_bad(a, with_header(a, in));
    if (size && data[0] % 16 == 0) /* signing takes long */
        round_trip(a, in);
    epoch_exit();
    return 0;
}
