/* SPDX-License-Identifier: Apache-2.0 */

/* Discovery documents: of the issuer that was asked and with an https URL, or refused. */

#include <assert.h>

#include "apiserver/auth/issuer_keys.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str uri = STR_NONE;
    struct status st;

    status_init(&st, a);
    if (issuer_discovery_read(a, (str){ (const char *)data, size }, STR("https://i"), &uri, &st) <
        0)
        assert(st.reason == REASON_INVALID && st.message.n && !uri.n);
    else
        assert(str_starts(uri, STR("https://")));
    return 0;
}
