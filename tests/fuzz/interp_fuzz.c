/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interp/interp.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* Two trees: {"a": object, "b": object or items}.  Whatever they are, they are taken. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    const struct json *v, *one, *two, *now;
    struct interp_moment m = { .wanted = 3, .now_s = 1767225600 };
    struct interp_replicas r;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, (str){ (const char *)data, size }, NULL, &v, &st) < 0)
        return 0;
    one = json_get(v, STR("a"));
    two = json_get(v, STR("b"));
    if (!one || !two)
        return 0;
    if (interp_replicas(a, one, &r)) {
        struct interp_replicas again;

        assert(interp_replicas(a, interp_revise(a, one, 1), &again));
    }
    assert(json_is(interp_dependencies(a, one), JSON_ARRAY));
    if (json_is(one, JSON_OBJECT)) {
        now = interp_prune(a, one);
        assert(json_equal(interp_prune(a, now), now));
        (void)interp_retain(a, one, two);
    }
    (void)interp_reflect(a, one);
    (void)interp_health_name(interp_health(one));
    now = interp_aggregate(a, one, two, &m);
    if (now && json_is(one, JSON_OBJECT)) /* once it is written there is no more to write */
        assert(!interp_aggregate(a, json_set(a, one, "status", now), two, &m));
    return 0;
}
