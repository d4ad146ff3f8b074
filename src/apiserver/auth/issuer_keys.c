/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/issuer_keys.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "http/verify.h"

struct issuer_key {
    str id, alg; /* empty: not said */
    struct verify_key *key;
};

struct issuer_keys {
    struct arena *arena; /* of the names */
    size_t n;
    struct issuer_key keys[ISSUER_KEYS_MAX];
};

static const struct json *read_object(struct arena *a, str text, const char *what,
                                      struct status *st)
{
    const struct json *v = NULL;

    if (text.n > ISSUER_DOCUMENT_MAX)
        (void)status_set(st, REASON_INVALID, "the %s is larger than %d bytes", what,
                         ISSUER_DOCUMENT_MAX);
    else if (json_parse(a, text, NULL, &v, st) < 0 || v->type != JSON_OBJECT)
        (void)status_set(st, REASON_INVALID, "the %s is no JSON object", what);
    else
        return v;
    return NULL;
}

int issuer_discovery_read(struct arena *a, str text, str issuer, str *jwks_uri, struct status *st)
{
    const struct json *v = read_object(a, text, "discovery document", st);
    str said, uri;

    if (!v)
        return -1;
    said = json_get_str(v, "issuer");
    uri = json_get_str(v, "jwks_uri");
    /* OpenID Connect Discovery 4.3: exactly the same text */
    if (!str_eq(said, issuer))
        return status_set(st, REASON_INVALID, "the discovery document is of the issuer \"%.*s\"",
                          STR_ARG(said));
    if (!str_starts(uri, STR("https://")))
        return status_set(st, REASON_INVALID, "jwks_uri of the discovery document is no https URL");
    *jwks_uri = uri;
    return 0;
}

/* ---- the set ---- */

static bool number(struct arena *a, const struct json *v, const char *name, str *out)
{
    return base64_decode(a, BASE64_URL, json_get_str(v, name), out);
}

static struct verify_key *read_key(struct arena *a, const struct json *v)
{
    str kty = json_get_str(v, "kty"), one, two;

    if (str_is(kty, "RSA") && number(a, v, "n", &one) && number(a, v, "e", &two))
        return verify_key_rsa(one, two);
    if (str_is(kty, "EC") && number(a, v, "x", &one) && number(a, v, "y", &two))
        return verify_key_ec(json_get_str(v, "crv"), one, two);
    return NULL;
}

/* Keycloak publishes keys for encryption beside those for signatures. */
static bool may_sign(const struct json *v)
{
    str use = json_get_str(v, "use");

    return use.n == 0 || str_is(use, "sig");
}

static int fill(struct issuer_keys *k, struct arena *a, const struct json *set, struct status *st)
{
    const struct json *list = json_get(set, STR("keys"));

    if (!json_is(list, JSON_ARRAY))
        return status_set(st, REASON_INVALID, "the key set has no list of keys");
    if (json_len(list) > ISSUER_KEYS_MAX)
        return status_set(st, REASON_INVALID, "the key set has more than %d keys", ISSUER_KEYS_MAX);
    json_for_each (v, list) {
        struct verify_key *key = may_sign(v) ? read_key(a, v) : NULL;

        if (key)
            k->keys[k->n++] = (struct issuer_key){ .id = str_dup(k->arena, json_get_str(v, "kid")),
                                                   .alg = str_dup(k->arena, json_get_str(v, "alg")),
                                                   .key = key };
    }
    return k->n ? 0 : status_set(st, REASON_INVALID, "the key set has no key that is known here");
}

struct issuer_keys *issuer_keys_read(str text, struct status *st)
{
    scoped_arena a = arena_new();
    const struct json *set = read_object(a, text, "key set", st);
    struct issuer_keys *k;

    if (!set)
        return NULL;
    k = mem_zalloc(sizeof(*k));
    k->arena = arena_new();
    if (fill(k, a, set, st) == 0)
        return k;
    issuer_keys_free(k);
    return NULL;
}

void issuer_keys_free(void *keys)
{
    struct issuer_keys *k = keys;

    if (!k)
        return;
    for (size_t i = 0; i < k->n; i++)
        verify_key_free(k->keys[i].key);
    arena_free(k->arena);
    free(k);
}

size_t issuer_keys_count(const struct issuer_keys *k)
{
    return k->n;
}

/* A token without kid may be of any of them, as go-oidc has it. */
enum issuer_verdict issuer_keys_check(const struct issuer_keys *k, const struct jwt *t)
{
    bool known = false;

    for (size_t i = 0; i < k->n; i++) {
        const struct issuer_key *key = &k->keys[i];

        if (t->kid.n && !str_eq(t->kid, key->id))
            continue;
        known = true;
        if ((!key->alg.n || str_eq(key->alg, t->alg)) &&
            verify_check(key->key, t->alg, t->signed_text, t->signature))
            return ISSUER_GOOD;
    }
    return known && t->kid.n ? ISSUER_BAD : ISSUER_UNKNOWN;
}
