/* SPDX-License-Identifier: Apache-2.0 */

/* Any bytes as a message: what can be decoded comes back from its encoding. */

#include <assert.h>

#include "unit/rpc_demo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    scoped_buf b = { .max = 64 << 20 };
    const struct json *first, *second;
    struct status st;

    status_init(&st, a);
    if (message_decode(a, demo_thing(), (str){ (const char *)data, size }, &first, &st) < 0)
        return 0;
    message_encode(&b, demo_thing(), first);
    if (message_decode(a, demo_thing(), buf_str(&b), &second, &st) < 0)
        assert(!"what we encode is decoded");
    assert(json_equal(first, second));
    return 0;
}
