/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interp/scripts.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

static const struct json *customization(struct arena *a, str script)
{
    static const char *const fields[] = {
        "retention",         "replicaResource",      "replicaRevision",         "statusReflection",
        "statusAggregation", "healthInterpretation", "dependencyInterpretation"
    };
    const struct json *v = &json_empty_object, *text = json_box(a, json_of_str(script));

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        v = json_set(a, v, arena_printf(a, "spec.customizations.%s.luaScript", fields[i]), text);
    return v;
}

/* One script for everything.  Whatever it does, the answer is a tree or a fault. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char object_text[] =
        "{\"apiVersion\":\"a/v1\",\"kind\":\"B\",\"metadata\":{\"name\":\"x\",\"labels\":{}},"
        "\"spec\":{\"n\":3,\"list\":[],\"deep\":[{\"a\":[1,2.5,null,\"s\"]}]},"
        "\"status\":{\"done\":true}}";
    scoped_arena a = arena_new();
    const struct json *object = NULL, *out, *c;
    struct interp_moment m = { 0 };
    struct interp_replicas r;
    struct scripts *s;
    struct status st;

    status_init(&st, a);
    assert(json_parse(a, str_of(object_text), NULL, &object, &st) == 0);
    c = customization(a, (str){ (const char *)data, size });
    if (scripts_check(a, c, NULL, &st) < 0)
        return 0;
    s = scripts_new(&c, 1);
    if (scripts_replicas(s, a, object, &r, &st) > 0)
        assert(!r.requirements || json_is(r.requirements, JSON_OBJECT));
    if (scripts_revise(s, a, object, 2, &out, &st) == 0)
        assert(json_is(out, JSON_OBJECT));
    if (scripts_dependencies(s, a, object, &out, &st) == 0)
        assert(json_is(out, JSON_ARRAY));
    if (scripts_retain(s, a, object, object, &out, &st) == 0)
        assert(json_is(out, JSON_OBJECT) && json_equal(json_dup(a, out), out));
    if (scripts_aggregate(s, a, object, &json_empty_array, &m, &out, &st) == 0)
        assert(!out || !json_equal(out, json_get(object, STR("status"))));
    if (scripts_reflect(s, a, object, &out, &st) == 0)
        assert(!out || json_is(out, JSON_OBJECT));
    (void)scripts_health(s, a, object);
    scripts_unref(s);
    return 0;
}
