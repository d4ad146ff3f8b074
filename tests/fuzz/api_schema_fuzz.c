/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/api_schema.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* A member's OpenAPI document: whatever it is, the schema is one of objects, or there is none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    const struct json *document, *schema = NULL;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, (str){ (const char *)data, size }, NULL, &document, &st) < 0)
        return 0;
    if (api_schema(a, document, STR("g"), STR("v1"), STR("T"), &schema, &st) < 0) {
        assert(!schema && st.message.n);
        return 0;
    }
    assert(str_is(json_get_str(schema, "type"), "object"));
    return 0;
}
