/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/selector.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* A selector that parses can be asked; all its keys and values are ones a label may have. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    struct selector s;
    struct status st;

    status_init(&st, a);
    if (selector_parse_labels(a, text, &s, &st) == 0) {
        struct json_object o = json_object_new(a);
        struct json labels;

        for (size_t i = 0; i < s.nterms; i++)
            json_put(&o, s.terms[i].key,
                     json_of_str(s.terms[i].nvalues ? s.terms[i].values[0] : STR("")));
        labels = json_object_value(&o);
        (void)selector_matches(&s, &labels);
        (void)selector_matches(&s, NULL);
    } else
        assert(status_is(&st, REASON_BAD_REQUEST));
    status_reset(&st);
    if (selector_parse_fields(a, text, &s, &st) == 0)
        for (size_t i = 0; i < s.nterms; i++)
            assert(s.terms[i].nvalues == 1);
    return 0;
}
