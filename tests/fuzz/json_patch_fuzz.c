/* SPDX-License-Identifier: Apache-2.0 */

/* A document, a NUL, a patch, which is applied as a JSON patch and as a merge patch. */

#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

/* A result is whole: it prints to what parses to it again, so it is not too deep either. */
static void check(struct arena *a, const struct json *v)
{
    const struct json *again;
    struct json_duplicates dups;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, json_text(a, v), &dups, &again, &st) < 0 || dups.n || !json_equal(v, again))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str rest = { (const char *)data, size }, text;
    const struct json *doc, *patch, *before, *out;
    struct status st;

    status_init(&st, a);
    if (!str_split(&rest, '\0', &text) || json_parse(a, text, NULL, &doc, &st) < 0 ||
        json_parse(a, rest, NULL, &patch, &st) < 0)
        return 0;
    before = json_dup(a, doc);
    if (json_patch(a, doc, patch, &out, &st) == 0)
        check(a, out);
    else if (!str_utf8_valid(st.message))
        abort();
    check(a, json_merge_patch(a, doc, patch));
    if (!json_equal(doc, before))
        abort();
    return 0;
}
