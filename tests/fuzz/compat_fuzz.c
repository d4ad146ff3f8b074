/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/compat.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* An array of two schemas.  What they have in common is common: it fits both without narrowing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    const struct json *v, *lcd, *again;
    struct compat_report r;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, (str){ (const char *)data, size }, NULL, &v, &st) < 0)
        return 0;
    if (compat_schema(a, json_at(v, 0), json_at(v, 1), false, &r)) {
        assert(r.n == 0);
        lcd = compat_schema(a, json_at(v, 0), json_at(v, 1), true, &r);
        assert(lcd == json_at(v, 0) || (lcd && json_equal(lcd, json_at(v, 1))));
    }
    lcd = compat_schema(a, json_at(v, 0), json_at(v, 1), true, &r);
    if (lcd) {
        again = compat_schema(a, lcd, json_at(v, 1), false, &r);
        assert(again == lcd || r.steps > COMPAT_STEPS_MAX);
    }
    (void)compat_text(a, &r, 4096);
    return 0;
}
