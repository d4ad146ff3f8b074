/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/names.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* The text as a name of every rule, and as JSON metadata. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    const struct json *meta = NULL;
    str faults[NAME_FAULTS];
    struct status st;

    status_init(&st, a);
    for (int rule = NAME_SUBDOMAIN; rule <= NAME_PATH; rule++)
        assert(name_faults((enum name_rule)rule, text, faults) <= NAME_FAULTS);
    /* What is a label of either kind is a subdomain, a label value and a label key, too. */
    if (name_is_valid(NAME_LABEL_1035, text))
        assert(name_is_valid(NAME_LABEL, text));
    if (name_is_valid(NAME_LABEL, text))
        assert(name_is_valid(NAME_SUBDOMAIN, text) && label_value_is_valid(text) &&
               qualified_name_is_valid(text));
    assert(qualified_name_faults(text, faults) <= NAME_FAULTS);
    if (json_parse(a, text, NULL, &meta, &st) < 0)
        return 0;
    status_reset(&st);
    objmeta_validate(&st, meta, true, NAME_SUBDOMAIN);
    objmeta_validate_update(&st, meta, json_get(meta, STR("old")));
    assert((status_invalid(&st, STR(""), STR("Kind"), STR("name")) < 0) == (st.ncauses > 0));
    return 0;
}
