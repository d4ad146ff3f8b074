/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "object/meta/managers.h"

/* The laws of sets hold for any two. */
static void check_laws(struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    struct fieldset all = fieldset_union(a, x, y), common = fieldset_intersection(a, x, y);
    struct fieldset only = fieldset_difference(a, x, y), again = fieldset_union(a, &only, &common);
    struct fieldset none = fieldset_difference(a, x, x), less = fieldset_without(a, x, y);

    assert(fieldset_equal(&again, x));
    assert(fieldset_empty(&none));
    again = fieldset_intersection(a, &all, x);
    assert(fieldset_equal(&again, x));
    again = fieldset_intersection(a, &less, &only);
    assert(fieldset_equal(&again, &less));
}

static void check_print(struct arena *a, const struct fieldset *x)
{
    scoped_buf b = { .max = 16 << 20 };
    const struct json *v;
    struct fieldset again;
    struct status st;

    status_init(&st, a);
    fieldset_print(&b, x);
    assert(!buf_overflown(&b));
    assert(json_parse(a, buf_str(&b), NULL, &v, &st) == 0);
    assert(fieldset_parse(a, v, &again, &st) == 0);
    assert(fieldset_equal(&again, x));
}

static void check_pack(struct arena *a, const struct fieldset *x)
{
    struct manager m = { .name = STR("m"), .api_version = STR("v1"), .time_s = 0, .fields = *x };
    struct managers list = { &m, 1 }, again;

    assert(managers_unpack(a, managers_pack(a, &list), &again));
    assert(managers_equal(a, &list, &again));
}

/* Two FieldsV1, one a line; and the same bytes as if they were packed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str rest = { (const char *)data, size }, line;
    const struct json *v, *w;
    struct managers packed;
    struct fieldset x, y;
    struct status st;
    scoped_buf b = { .max = 16 << 20 };

    status_init(&st, a);
    (void)managers_unpack(a, rest, &packed);
    for (size_t i = 0; i < packed.n; i++)
        (void)manager_fields(a, &packed.list[i]);
    managers_print(&b, rest);
    if (!str_split(&rest, '\n', &line) || json_parse(a, line, NULL, &v, &st) < 0 ||
        fieldset_parse(a, v, &x, &st) < 0)
        return 0;
    check_print(a, &x);
    check_pack(a, &x);
    if (json_parse(a, rest, NULL, &w, &st) < 0 || fieldset_parse(a, w, &y, &st) < 0)
        return 0;
    check_laws(a, &x, &y);
    return 0;
}
