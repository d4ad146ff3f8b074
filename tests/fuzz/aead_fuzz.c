/* SPDX-License-Identifier: Apache-2.0 */

/* Sealed bytes: what we did not seal does not open, and what we did opens as it was. */

#include "http/aead.h"

#include <assert.h>

#include "base/arena.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

static void check(struct arena *a, enum aead_form form, str in)
{
    struct status st;
    struct aead_key *k;
    char *sealed = arena_alloc(a, in.n + AEAD_OVERHEAD_MAX);
    char *out = arena_alloc(a, in.n + AEAD_OVERHEAD_MAX);
    size_t n, back;

    status_init(&st, a);
    k = aead_key_new(form, secret_of(STR("0123456789abcdef0123456789abcdef")), &st);
    assert(k);
    /* It would take 2^128 tries. */
    assert(!aead_open(k, STR("beside"), in, out, &back));
    n = aead_seal(k, STR("beside"), in, sealed);
    assert(aead_open(k, STR("beside"), (str){ sealed, n }, out, &back));
    assert(str_eq((str){ out, back }, in));
    if (in.n) {
        sealed[(unsigned char)in.p[0] % n] ^= 1;
        assert(!aead_open(k, STR("beside"), (str){ sealed, n }, out, &back));
    }
    aead_key_free(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();

    for (int form = 0; form < AEAD_FORMS; form++)
        check(a, form, (str){ (const char *)data, size });
    return 0;
}
