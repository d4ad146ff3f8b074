/* SPDX-License-Identifier: Apache-2.0 */

/* Any JSON as a message: what is taken is the same after protobuf, and after our own JSON. */

#include <assert.h>

#include "unit/rpc_demo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    scoped_buf b = { .max = 64 << 20 };
    const struct json *v, *tree, *back;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, (str){ (const char *)data, size }, NULL, &v, &st) < 0 ||
        message_read(a, demo_thing(), v, &tree, &st) < 0)
        return 0;
    message_print(&b, demo_thing(), tree);
    if (json_parse(a, buf_str(&b), NULL, &v, &st) < 0 ||
        message_read(a, demo_thing(), v, &back, &st) < 0)
        assert(!"what we print is read");
    assert(json_equal(tree, back));
    buf_clear(&b);
    message_encode(&b, demo_thing(), tree);
    if (message_decode(a, demo_thing(), buf_str(&b), &back, &st) < 0)
        assert(!"what we encode is decoded");
    return 0;
}
