/* SPDX-License-Identifier: Apache-2.0 */

/* Key sets of issuers: refused with a reason, or of keys that have not signed what they have not.
 */

#include <assert.h>

#include "apiserver/auth/issuer_keys.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const algs[] = { "RS256", "PS512", "ES256", "ES384", "ES512", "none", "" };
    static const size_t sizes[] = { 64, 96, 132, 256, 512, 0 };
    static const char zeros[512];
    scoped_arena a = arena_new();
    struct issuer_keys *k;
    struct status st;

    status_init(&st, a);
    k = issuer_keys_read((str){ (const char *)data, size }, &st);
    if (!k) {
        assert(st.reason == REASON_INVALID && st.message.n);
        return 0;
    }
    assert(issuer_keys_count(k) > 0 && issuer_keys_count(k) <= ISSUER_KEYS_MAX);
    for (size_t i = 0; i < sizeof(algs) / sizeof(*algs); i++)
        for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++) {
            struct jwt t = { .alg = str_of(algs[i]),
                             .signed_text = STR("a.b"),
                             .signature = { zeros, sizes[j] } };

            assert(issuer_keys_check(k, &t) == ISSUER_UNKNOWN);
        }
    issuer_keys_free(k);
    return 0;
}
