/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "object/meta/schema.h"
#include "unit/meta_tables.h"

/* What a message becomes is decoded by the table, and then needs no second time. */
static void decode(struct arena *a, const struct schema *s, str raw)
{
    const struct json *v = NULL, *once = NULL, *twice = NULL;
    struct status st;

    status_init(&st, a);
    if (proto_decode(a, s, raw, &v, &st) < 0 || schema_decode(a, s, v, NULL, &once, &st) < 0) {
        assert(status_is(&st, REASON_BAD_REQUEST));
        return;
    }
    assert(schema_decode(a, s, once, NULL, &twice, &st) == 0);
    assert(json_equal(once, twice));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kinds[] = { "ConfigMap", "Event", "Pod", "Lease" };
    static struct schema_set *set;
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    struct proto_unknown u;
    struct status st;

    if (!set)
        set = meta_tables_load();
    status_init(&st, a);
    if (proto_unwrap(text, &u, &st) == 0)
        text = u.raw;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        str name = str_printf(a, "io.k8s.api.core.v1.%s", kinds[i]);

        decode(a, schema_set_find(set, name), text);
    }
    return 0;
}
