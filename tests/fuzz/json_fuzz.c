/* SPDX-License-Identifier: Apache-2.0 */

/* What parses prints, in all forms, to texts that parse to the same value. */

#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

static void check_form(struct arena *a, const struct json *v,
                       void (*print)(struct buf *, const struct json *))
{
    const struct json *again;
    struct json_duplicates dups;
    struct status st;
    struct buf b;

    status_init(&st, a);
    buf_init(&b, 64 << 20);
    print(&b, v);
    if (buf_overflown(&b) || !str_utf8_valid(buf_str(&b)) ||
        json_parse(a, buf_str(&b), &dups, &again, &st) < 0 || dups.n || !json_equal(v, again))
        abort();
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    const struct json *v;
    struct json_duplicates dups;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, (str){ (const char *)data, size }, &dups, &v, &st) < 0) {
        if (!status_is(&st, REASON_BAD_REQUEST) || !str_utf8_valid(st.message))
            abort();
        return 0;
    }
    check_form(a, v, json_print);
    check_form(a, v, json_print_canonical);
    check_form(a, v, json_print_pretty);
    if (!json_equal(v, json_dup(a, v)))
        abort();
    return 0;
}
