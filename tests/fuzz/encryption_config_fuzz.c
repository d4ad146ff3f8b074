/* SPDX-License-Identifier: Apache-2.0 */

/* EncryptionConfigurations: refused as INVALID, or such that what they seal opens again. */

#include <assert.h>

#include "apiserver/server/encryption_config.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

static void check_key(const struct encryption_key *k)
{
    char sealed[16 + AEAD_OVERHEAD_MAX], out[sizeof(sealed)];
    size_t n = aead_seal(k->key, k->name, STR("some words"), sealed), back;

    assert(k->name.n > 0 && k->name.n <= ENCRYPTION_NAME_MAX);
    assert(aead_open(k->key, k->name, (str){ sealed, n }, out, &back));
    assert(str_is((str){ out, back }, "some words"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct encryption_config *c;
    struct status st;

    status_init(&st, a);
    c = encryption_config_read(secret_of((str){ (const char *)data, size }), &st);
    if (!c) {
        assert(status_is(&st, REASON_INVALID));
        return 0;
    }
    assert(c->nrules > 0 && c->nkeys <= ENCRYPTION_KEYS_MAX);
    for (size_t i = 0; i < c->nkeys; i++)
        check_key(&c->keys[i]);
    (void)encryption_config_writer(c, STR_NONE, STR("secrets"));
    encryption_config_free(c);
    return 0;
}
