/* SPDX-License-Identifier: Apache-2.0 */
#include "client/object_scan.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

static bool within(str part, str text)
{
    return part.n == 0 || (part.p >= text.p && part.p + part.n <= text.p + text.n);
}

/* The parser puts another character in the place of bytes that are none. */
static bool is_ascii(str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    return true;
}

/* What a object_scan says of a text that is an object is what the object says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    struct json_duplicates dups = { 0 };
    const struct json *object;
    struct object_scan g;
    struct status st;

    for (int with = 0; with < 2; with++) {
        if (!object_scan(text, with, &g))
            continue;
        assert(within(g.name, text) && within(g.namespace, text) && within(g.version, text) &&
               within(g.instance, text));
        status_init(&st, a);
        if (json_parse(a, text, &dups, &object, &st) < 0 || dups.n || !is_ascii(text))
            continue;
        assert(str_eq(json_get_str(object, "metadata.name"), g.name));
        assert(str_eq(json_get_str(object, "metadata.namespace"), g.namespace));
        assert(str_eq(json_get_str(object, "metadata.resourceVersion"), g.version));
    }
    return 0;
}
