/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/jwt.h"

#include "base/banned.h"
#include "base/encode.h"

/* An object in which no name stands twice: two readers must not see two different things. */
static const struct json *parse_object(struct arena *a, str text)
{
    struct json_duplicates dups = { 0 };
    const struct json *v;
    struct status st;

    status_init(&st, a);
    if (!str_utf8_valid(text) || json_parse(a, text, &dups, &v, &st) < 0 || dups.n ||
        v->type != JSON_OBJECT)
        return NULL;
    return v;
}

bool jwt_parse(struct arena *a, secret token, struct jwt *out)
{
    str text = secret_reveal(token), header;
    ptrdiff_t dot = text.n <= JWT_MAX ? str_find(text, '.', 0) : -1;
    ptrdiff_t last = dot < 0 ? -1 : str_find(text, '.', (size_t)dot + 1);
    const struct json *h;
    struct jwt t;

    if (last < 0 || str_find(text, '.', (size_t)last + 1) >= 0)
        return false;
    t.signed_text = str_sub(text, 0, (size_t)last);
    if (!base64_decode(a, BASE64_URL, str_sub(text, 0, (size_t)dot), &header) ||
        !base64_decode(a, BASE64_URL, str_from(t.signed_text, (size_t)dot + 1), &t.claims) ||
        !base64_decode(a, BASE64_URL, str_from(text, (size_t)last + 1), &t.signature))
        return false;
    h = parse_object(a, header);
    if (!h || json_get(h, STR("crit")))
        return false;
    t.alg = json_get_str(h, "alg");
    t.kid = json_get_str(h, "kid");
    *out = t;
    return true;
}

bool jwt_verify(const struct jwt *t, const struct keys *keys)
{
    const struct sign_key *key = keys_peek(keys, t->kid);

    return key && str_is(t->alg, sign_key_alg(key)) &&
           sign_check(key, t->signed_text, t->signature);
}

const struct json *jwt_claims(struct arena *a, const struct jwt *t)
{
    return parse_object(a, t->claims);
}

int jwt_make(struct arena *a, const struct keys *keys, const struct json *claims, secret *out,
             struct status *st)
{
    const struct sign_key *key = keys_peek_signer(keys);
    str header, body, text, signature;

    if (!key)
        return status_set(st, REASON_INTERNAL, "there is no key to sign tokens with");
    header = str_printf(a, "{\"alg\":\"%s\",\"kid\":\"%.*s\"}", sign_key_alg(key),
                        STR_ARG(sign_key_id(key)));
    header = base64_encode(a, BASE64_URL, header);
    body = base64_encode(a, BASE64_URL, json_text(a, claims));
    text = str_printf(a, "%.*s.%.*s", STR_ARG(header), STR_ARG(body));
    if (sign_make(key, a, text, &signature, st) < 0)
        return -1;
    signature = base64_encode(a, BASE64_URL, signature);
    *out = secret_of(str_printf(a, "%.*s.%.*s", STR_ARG(text), STR_ARG(signature)));
    return 0;
}
