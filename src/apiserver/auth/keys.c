/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/keys.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "json/json.h"

struct ring { /* frozen */
    size_t n, signer;
    struct sign_key *keys[KEYS_MAX];
};

struct keys {
    _Atomic(struct ring *) ring;
    atomic_uint_least64_t generation;
};

static void ring_free(void *arg)
{
    struct ring *r = arg;

    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        sign_key_free(r->keys[i]);
    free(r);
}

struct keys *keys_new(void)
{
    struct keys *k = mem_zalloc(sizeof(*k));

    atomic_store(&k->ring, mem_zalloc(sizeof(struct ring)));
    return k;
}

void keys_free(struct keys *k)
{
    if (!k)
        return;
    ring_free(atomic_load(&k->ring));
    free(k);
}

static int fill(struct ring *r, const secret *pems, size_t n, struct status *st)
{
    bool signs = false;

    if (n > KEYS_MAX)
        return status_set(st, REASON_INVALID, "more than %d keys for tokens", KEYS_MAX);
    for (; r->n < n; r->n++) {
        r->keys[r->n] = sign_key_new(pems[r->n], st);
        if (!r->keys[r->n])
            return -1;
        if (!signs && sign_key_signs(r->keys[r->n])) {
            signs = true;
            r->signer = r->n;
        }
    }
    return signs ? 0 : status_set(st, REASON_INVALID, "none of the keys for tokens is private");
}

int keys_load(struct keys *k, const secret *pems, size_t n, struct status *st)
{
    struct ring *r = mem_zalloc(sizeof(*r));

    if (fill(r, pems, n, st) < 0) {
        ring_free(r);
        return -1;
    }
    epoch_retire(ring_free, atomic_exchange(&k->ring, r));
    atomic_fetch_add(&k->generation, 1);
    return 0;
}

uint64_t keys_generation(const struct keys *k)
{
    return atomic_load_explicit(&k->generation, memory_order_acquire);
}

const struct sign_key *keys_peek_signer(const struct keys *k)
{
    const struct ring *r = atomic_load(&k->ring);

    return r->n ? r->keys[r->signer] : NULL;
}

const struct sign_key *keys_peek(const struct keys *k, str id)
{
    const struct ring *r = atomic_load(&k->ring);

    for (size_t i = 0; i < r->n; i++)
        if (str_eq(sign_key_id(r->keys[i]), id))
            return r->keys[i];
    return NULL;
}

static void add_number(struct json_object *o, str name, str bytes)
{
    json_add(o, name, json_of_str(base64_encode(o->arena, BASE64_URL, bytes)));
}

/* k8s: serviceaccount/openidmetadata.go, in the order of go-jose's struct */
static int jwk(struct arena *a, const struct sign_key *key, struct json *out, struct status *st)
{
    struct json_object o = json_object_new(a);
    struct sign_numbers n;

    if (sign_key_numbers(key, a, &n, st) < 0)
        return -1;
    json_add(&o, STR("use"), json_of_str(STR("sig")));
    json_add(&o, STR("kty"), json_of_str(n.ec ? STR("EC") : STR("RSA")));
    json_add(&o, STR("kid"), json_of_str(sign_key_id(key)));
    if (n.ec)
        json_add(&o, STR("crv"), json_of_str(STR("P-256")));
    json_add(&o, STR("alg"), json_of_str(str_of(sign_key_alg(key))));
    add_number(&o, n.ec ? STR("x") : STR("n"), n.ec ? n.x : n.n);
    add_number(&o, n.ec ? STR("y") : STR("e"), n.ec ? n.y : n.e);
    *out = json_object_value(&o);
    return 0;
}

int keys_jwks(const struct keys *k, struct arena *a, str *out, struct status *st)
{
    const struct ring *r = atomic_load(&k->ring);
    struct json_object o = json_object_new(a);
    struct json_array all = json_array_new(a);

    for (size_t i = 0; i < r->n; i++) {
        struct json one;

        if (jwk(a, r->keys[i], &one, st) < 0)
            return -1;
        json_push(&all, one);
    }
    json_add(&o, STR("keys"), json_array_value(&all));
    *out = json_text(a, json_object_done(&o));
    return 0;
}
