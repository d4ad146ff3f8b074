/* SPDX-License-Identifier: Apache-2.0 */

/* What is read has lines of the text in their order, and every error names one. */

#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "json/yaml_text.h"

static void walk(const struct yaml_text *v, unsigned depth)
{
    size_t line = v->line;

    if (depth > YAML_TEXT_DEPTH_MAX || (v->items && v->type < YAML_TEXT_LIST) ||
        strlen(v->text.p ? v->text.p : "") != v->text.n)
        abort();
    yaml_text_each (item, v) {
        if (item->line < line || (v->type == YAML_TEXT_MAPPING) != (item->name.n > 0))
            abort();
        line = item->line;
        walk(item, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    const struct yaml_text *v = NULL;
    struct status st;

    status_init(&st, a);
    if (yaml_text_parse(a, (str){ (const char *)data, size }, &v, &st) == 0)
        walk(v, 0);
    else if (v || !status_is(&st, REASON_BAD_REQUEST) || !str_starts(st.message, STR("line ")))
        abort();
    return 0;
}
