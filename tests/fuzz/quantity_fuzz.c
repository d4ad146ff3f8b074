/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/quantity.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* What is printed is read back with the same value and printed the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size }, printed, kept;
    struct quantity q, again;

    if (!quantity_parse(text, &q)) {
        assert(!quantity_canonical(a, text, &kept));
        return 0;
    }
    printed = quantity_print(a, &q);
    assert(quantity_parse(printed, &again));
    assert(quantity_cmp(&q, &again) == 0);
    assert(str_eq(quantity_print(a, &again), printed));
    assert(quantity_canonical(a, text, &kept) && quantity_parse(kept, &again));
    assert(quantity_cmp(&q, &again) == 0);
    return 0;
}
