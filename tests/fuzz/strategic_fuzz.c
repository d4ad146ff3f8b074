/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "object/meta/schema.h"
#include "unit/meta_tables.h"

/* Two JSON documents, one a line: the second is merged into the first, and the result decoded. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct schema_set *set;
    scoped_arena a = arena_new();
    str rest = { (const char *)data, size }, line;
    const struct json *doc = NULL, *patch = NULL, *out = NULL, *decoded = NULL;
    const struct schema *s;
    struct status st;

    if (!set)
        set = meta_tables_load();
    s = schema_set_find(set, STR("io.k8s.api.core.v1.Pod"));
    status_init(&st, a);
    if (!str_split(&rest, '\n', &line) || json_parse(a, line, NULL, &doc, &st) < 0 ||
        json_parse(a, rest, NULL, &patch, &st) < 0)
        return 0;
    if (schema_decode(a, s, doc, NULL, &doc, &st) < 0)
        return 0;
    if (strategic_merge(a, s, doc, patch, &out, &st) < 0) {
        assert(status_is(&st, REASON_BAD_REQUEST) || status_is(&st, REASON_INVALID));
        return 0;
    }
    (void)json_text(a, out);
    if (schema_decode(a, s, out, NULL, &decoded, &st) == 0)
        (void)json_text(a, decoded);
    return 0;
}
