/* SPDX-License-Identifier: Apache-2.0 */

/* A path, a newline, a document: neither may break the other. */

#include "object/meta/jsonpath.h"

#include "base/banned.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, n }, path;
    const struct jsonpath *p;
    const struct json *doc;
    struct status st;

    status_init(&st, a);
    if (!str_split(&text, '\n', &path) || jsonpath_parse(a, path, &p, &st) < 0)
        return 0;
    if (json_parse(a, text, NULL, &doc, &st) == 0)
        (void)jsonpath_first(p, doc);
    return 0;
}
