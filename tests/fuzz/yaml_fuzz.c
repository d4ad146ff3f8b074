/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What YAML gives is a value that prints to JSON and reads back; JSON is the same in both.  Printed
 * as YAML it reads back, too.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    const struct json *v, *again;
    struct json_duplicates dups;
    struct status st;
    scoped_buf b;

    buf_init(&b, (size_t)64 << 20);
    status_init(&st, a);
    if (json_parse_yaml(a, text, &dups, &v, &st) < 0) {
        if (!status_is(&st, REASON_BAD_REQUEST) || !str_utf8_valid(st.message))
            abort();
        return 0;
    }
    if (json_parse(a, json_text(a, v), &dups, &again, &st) < 0 || dups.n || !json_equal(v, again))
        abort();
    json_print_yaml(&b, v);
    if (json_parse_yaml(a, buf_str(&b), NULL, &again, &st) < 0 || !json_equal(v, again))
        abort();
    return 0;
}
