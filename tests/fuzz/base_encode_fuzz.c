/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/arena.h"
#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "fuzz/fuzz.h"

/* What decodes strictly must encode back to the same text: there is one text for each value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str in = { (const char *)data, size }, out;
    char text[TIME_TEXT_SIZE];
    int64_t t, again;

    for (int form = BASE64_STD; form <= BASE64_GO; form++)
        if (base64_decode(a, (enum base64)form, in, &out) && form != BASE64_GO)
            assert(str_eq(base64_encode(a, (enum base64)form, out), in));
    if (percent_decode(a, PERCENT_QUERY, in, &out)) {
        str back;

        assert(percent_decode(a, PERCENT_QUERY, percent_encode(a, out), &back));
        assert(str_eq(back, out));
    }
    if (size % 2 == 0)
        (void)hex_decode(in, arena_alloc(a, size / 2 + 1));
    if (time_parse_seconds(in, &t) && time_format_seconds(text, t) != 0)
        assert(time_parse_seconds(str_of(text), &again) && again == t);
    if (time_parse_micro(in, &t) && time_format_micro(text, t) != 0)
        assert(time_parse_micro(str_of(text), &again) && again == t);
    return 0;
}
