/* SPDX-License-Identifier: Apache-2.0 */

/* The first byte says how the rest is cut: the values found must not depend on it. */

#include <stdlib.h>

#include "base/arena.h"
#include "base/banned.h"
#include "client/json_stream.h"
#include "fuzz/fuzz.h"

static int split(struct arena *a, str text, size_t step, struct buf *out)
{
    struct json_stream s;
    struct status st;
    str value;
    int rc = 0;

    status_init(&st, a);
    json_stream_init(&s, 256);
    while (text.n && rc == 0) {
        str bytes = str_sub(text, 0, step);

        text = str_from(text, step);
        while ((rc = json_stream_next(&s, &bytes, &value, &st)) > 0) {
            buf_str_append(out, value);
            buf_byte(out, '|');
        }
    }
    json_stream_release(&s);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    scoped_buf whole, cut;
    str text;

    buf_init(&whole, 1 << 24);
    buf_init(&cut, 1 << 24);
    if (!size)
        return 0;
    text = (str){ (const char *)data + 1, size - 1 };
    if (split(a, text, SIZE_MAX, &whole) != split(a, text, 1 + data[0] % 64, &cut) ||
        !str_eq(buf_str(&whole), buf_str(&cut)))
        abort();
    return 0;
}
