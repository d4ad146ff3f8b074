/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "object/meta/managers.h"
#include "object/meta/typed.h"
#include "unit/meta_tables.h"

static struct managers copy(struct arena *a, const struct managers *m)
{
    struct managers out = { arena_array(a, struct manager, m->n + 1), m->n };

    if (m->n)
        memcpy(out.list, m->list, m->n * sizeof(*m->list));
    return out;
}

/* What was applied is there, and applying it again changes nothing. */
static void check_again(const struct managers_write *w, const struct json *live,
                        const struct json *config, const struct managers *m)
{
    struct managers again = copy(w->arena, m), was = copy(w->arena, m);
    const struct json *out;
    struct status st;

    status_init(&st, w->arena);
    assert(managers_apply(w, live, config, false, &again, &out, &st) == 0);
    assert(json_equal(out, live));
    assert(managers_equal(w->arena, &again, &was));
}

/* What is known of an outline changes nothing. */
static void check_outline(struct managers_write w, const struct json *live,
                          const struct json *config, bool force, const struct managers *m,
                          const struct managers *without)
{
    struct managers was = copy(w.arena, without);
    const struct json *out;
    struct status st;

    status_init(&st, w.arena);
    for (int i = 0; i < 3; i++) {
        struct managers with = copy(w.arena, m);

        w.outline = outline_of(w.arena, w.schema, 1, OUTLINE_APPLIED, w.ignored, config);
        assert(managers_apply(&w, live, config, force, &with, &out, &st) == 0);
        assert(managers_equal(w.arena, &with, &was));
    }
}

/*
 * Lines: a live object, then configurations, applied by two managers in turn, the last one by
 * force.  Each must leave an object that can be decoded.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct schema_set *set;
    scoped_arena a = arena_new();
    str rest = { (const char *)data, size }, line;
    const struct json *live = NULL, *config, *out;
    struct managers m = { 0 };
    struct managers_write w = { .arena = a, .api_version = STR("v1"), .now_s = 1 };
    struct status st;

    if (!set)
        set = meta_tables_load();
    w.schema = schema_set_find(set, STR("io.k8s.api.core.v1.Pod"));
    status_init(&st, a);
    if (!str_split(&rest, '\n', &line) || json_parse(a, line, NULL, &live, &st) < 0 ||
        live->type != JSON_OBJECT || schema_decode(a, w.schema, live, NULL, &live, &st) < 0)
        return 0;
    w.manager = STR("creator");
    assert(managers_update(&w, NULL, live, &m, &st) == 0);
    for (int i = 0; i < 8 && str_split(&rest, '\n', &line); i++) {
        struct managers next = copy(a, &m);

        w.manager = i % 2 ? STR("b") : STR("kubectl");
        if (json_parse(a, line, NULL, &config, &st) < 0 || config->type != JSON_OBJECT ||
            typed_check(a, w.schema, config).n)
            return 0;
        if (managers_apply(&w, live, config, !rest.p, &next, &out, &st) < 0) {
            assert(status_is(&st, REASON_CONFLICT));
            status_reset(&st);
            continue;
        }
        check_outline(w, live, config, !rest.p, &m, &next);
        check_again(&w, out, config, &next);
        if (schema_decode(a, w.schema, out, NULL, &live, &st) < 0)
            return 0;
        m = next;
    }
    return 0;
}
