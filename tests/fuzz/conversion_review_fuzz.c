/* SPDX-License-Identifier: Apache-2.0 */

/* What a conversion webhook may answer: whatever it says, identities stay. */

#include <assert.h>

#include "apiserver/outbound/convert.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scoped_arena a = arena_new();
    const struct json *sent, *out = NULL;
    struct status st;
    int rc;

    status_init(&st, a);
    rc = json_parse(a,
                    STR("[{\"apiVersion\":\"g/v1\",\"kind\":\"W\",\"metadata\":{\"name\":\"x\","
                        "\"uid\":\"1\",\"generation\":3},\"spec\":{\"a\":1}}]"),
                    NULL, &sent, &st);
    assert(rc == 0);
    if (conversion_read(a, (str){ (const char *)data, n }, STR("u"), sent, STR("g/v2"), &out, &st) <
        0) {
        assert(st.reason == REASON_INTERNAL && st.message.n);
        return 0;
    }
    assert(json_len(out) == 1);
    assert(str_is(json_get_str(json_at(out, 0), "apiVersion"), "g/v2"));
    assert(str_is(json_get_str(json_at(out, 0), "metadata.uid"), "1"));
    assert(json_int(json_path(json_at(out, 0), "metadata.generation"), 0) == 3);
    return 0;
}
