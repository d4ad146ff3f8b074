/* SPDX-License-Identifier: Apache-2.0 */

/* A stored value that says it is sealed: it opens only if we have sealed it. */

#include <assert.h>

#include "apiserver/server/encryption.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "fuzz/fuzz.h"

#define CONFIG                                                                    \
    "{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1,\n"   \
    " resources: [{resources: [secrets], providers: [aesgcm: {keys: [{name: k,\n" \
    " secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}]}]}"

static const struct kind secrets = { .storage_plural = STR_INIT("secrets") };
static const struct store_key key = { .type = 7, .instance = 3, .name = STR_INIT("ns/name") };

/* Given as a record behind a header, and as the object that is sealed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct encryption *e = encryption_new();
    struct seal *s = encryption_seal(e);
    str value = { (const char *)data, size }, sealed;
    struct obj obj, was;
    struct status st;

    status_init(&st, a);
    assert(encryption_load(e, secret_of(STR(CONFIG)), &st) == 0);
    if (seal_view(s, a, &key, value, &obj, &st) < 0)
        assert(status_is(&st, REASON_INTERNAL));
    else
        assert(!obj_is_sealed(value));
    if (size >= OBJ_HEADER && obj_view(value, &was) && value.p[0] == 2) {
        sealed = seal_value(s, a, &secrets, &key, value);
        assert(obj_is_sealed(sealed) && seal_view(s, a, &key, sealed, &obj, &st) == 0);
        assert(str_eq(obj.text, was.text) && obj.flags == was.flags);
    }
    encryption_free(e);
    epoch_drain();
    return 0;
}
