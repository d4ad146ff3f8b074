/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/schema_table.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

static void look(void *arg, const struct schema *t)
{
    for (size_t i = 0; i < t->nfields; i++)
        assert(schema_field(t, t->fields[i].name) == &t->fields[i]);
    (void)arg;
}

/* Tables are ours, but they are also the way in which CRDs may come one day. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct schema_set *s = schema_set_new();
    struct status st;

    status_init(&st, a);
    if (schema_set_add(s, (str){ (const char *)data, size }, &st) == 0 &&
        schema_set_link(s, &st) == 0)
        schema_set_each(s, look, NULL);
    else
        assert(st.message.n > 0);
    schema_set_free(s);
    return 0;
}
