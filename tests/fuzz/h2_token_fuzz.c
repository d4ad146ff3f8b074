/* SPDX-License-Identifier: Apache-2.0 */

/* Header blocks of one connection, each with its length in front: unpacked as without h2_token.h.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "unit/http_h2_tokenlib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_buf out = { .max = 1 << 20 };
    struct sides s;
    bool good = true;

    sides_init(&s);
    while (good && size >= 2) {
        size_t n = (size_t)data[0] << 8 | data[1];

        n = n < size - 2 ? n : size - 2;
        good = sides_feed(&s, (str){ (const char *)data + 2, n }, &out);
        data += 2 + n;
        size -= 2 + n;
    }
    sides_release(&s);
    return 0;
}
