/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "unit/json_help.h"
#include "json/order.h"
#include "json/scan.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

TEST(short_names_are_equal_in_every_byte)
{
    char x[24], y[24];

    for (size_t n = 0; n <= sizeof(x); n++) {
        memset(x, 'x', sizeof(x));
        memset(y, 'x', sizeof(y));
        CHECK(scan_equal((str){ x, n }, (str){ y, n }));
        if (n < sizeof(x))
            CHECK(!scan_equal((str){ x, n }, (str){ y, n + 1 }));
        for (size_t i = 0; i < n; i++) {
            y[i] = 'y';
            CHECK(!scan_equal((str){ x, n }, (str){ y, n }));
            y[i] = 'x';
        }
    }
    CHECK(scan_equal(STR_NONE, STR("")));
}

TEST(looking_at_nothing_gives_nothing)
{
    scoped_arena a = arena_new();
    const struct json *v = parse_z(a, "{\"s\":\"x\",\"n\":5,\"l\":[1],\"t\":true}");

    CHECK(json_get(NULL, STR("a")) == NULL);
    CHECK(json_get(v, STR("a")) == NULL);
    CHECK(json_get(json_get(v, STR("l")), STR("s")) == NULL);
    CHECK(json_at(v, 0) == NULL);
    CHECK(json_at(json_get(v, STR("l")), 1) == NULL);
    CHECK(json_at(NULL, 0) == NULL);
    CHECK(str_empty(json_str(json_get(v, STR("n")))));
    CHECK(json_int(json_get(v, STR("s")), -1) == -1);
    CHECK(json_int(json_get(v, STR("n")), -1) == 5);
    CHECK(!json_bool(json_get(v, STR("n"))) && json_bool(json_get(v, STR("t"))));
    CHECK(json_len(NULL) == 0 && json_len(json_get(v, STR("s"))) == 0 && json_len(v) == 4);
}

TEST(paths)
{
    scoped_arena a = arena_new();
    const struct json *v =
        parse_z(a, "{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"\":{\"\":1}}");

    CHECK(str_is(json_get_str(v, "metadata.labels.app"), "web"));
    CHECK(json_path(v, "metadata.nope.app") == NULL);
    CHECK(json_path(v, "metadata.labels.app.x") == NULL);
    CHECK(json_path(NULL, "a") == NULL);
    CHECK(json_int(json_path(v, "."), 0) == 1);
}

TEST(walking)
{
    scoped_arena a = arena_new();
    const struct json *v = parse_z(a, "{\"a\":[1,2,3],\"b\":{\"x\":4}}");
    int64_t sum = 0;

    json_for_each (it, json_get(v, STR("a")))
        sum += json_int(it, 100);
    json_for_each_member (m, json_get(v, STR("b")))
        sum += json_int(&m->value, 100);
    json_for_each (it, v)
        sum += 1000;
    json_for_each_member (m, (const struct json *)NULL)
        sum += 1000;
    CHECK(sum == 10);
}

TEST(equal)
{
    static const struct {
        const char *a, *b;
        bool want;
    } table[] = {
        { "null", "null", true },
        { "null", "false", false },
        { "true", "true", true },
        { "true", "false", false },
        { "1", "1.0", true },
        { "1.0", "1", true },
        { "1", "1.5", false },
        { "0.5", "0.5", true },
        { "0", "-0.0", true },
        { "1", "\"1\"", false },
        { "1", "true", false },
        { "9223372036854775807", "9223372036854775808", false },
        { "-9223372036854775808", "-9223372036854775808.0", true },
        { "9007199254740993", "9007199254740992.0", false },
        { "\"a\"", "\"\\u0061\"", true },
        { "\"a\"", "\"b\"", false },
        { "\"a\"", "\"ab\"", false },
        { "[]", "{}", false },
        { "[1,2]", "[1,2]", true },
        { "[1,2]", "[2,1]", false },
        { "[1,2]", "[1]", false },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
        { "{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false },
        { "{\"a\":1}", "{\"b\":1}", false },
        { "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
        { "{\"c\":0,\"a\":{\"x\":[1,{}]},\"b\":2}", "{\"c\":0,\"b\":2.0,\"a\":{\"x\":[1,{}]}}",
          true },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        const struct json *x = parse_z(a, table[i].a), *y = parse_z(a, table[i].b);

        REQUIRE(x && y);
        if (!CHECK(json_equal(x, y) == table[i].want) || !CHECK(json_equal(y, x) == table[i].want))
            printf("# %s and %s\n", table[i].a, table[i].b);
    }
    CHECK(json_equal(NULL, NULL));
    CHECK(!json_equal(NULL, &json_null));
}

/* In any order, and without a look at each pair. */
TEST(large_objects_compare_in_any_order)
{
    scoped_arena a = arena_new();
    struct json_object up = json_object_new(a), down = json_object_new(a);
    const struct json *x, *y;

    for (int i = 0; i < 200000; i++) {
        json_add(&up, str_printf(a, "name%d", i), json_of_int(i));
        json_add(&down, str_printf(a, "name%d", 199999 - i), json_of_int(199999 - i));
    }
    x = json_object_done(&up);
    y = json_object_done(&down);
    CHECK(json_equal(x, y));
    down.members[77].value.i++;
    CHECK(!json_equal(x, y));
}

TEST(names_of_types)
{
    scoped_arena a = arena_new();
    const struct json *v = parse_z(a, "[null,true,1,1.5,\"\",[],{}]");
    static const char *const want[] = { "null",     "a boolean", "a number", "a number",
                                        "a string", "an array",  "an object" };

    for (size_t i = 0; i < COUNT(want); i++)
        CHECK_STR(json_type_name(json_at(v, i)), want[i]);
}

TEST(floats_that_are_whole_become_ints)
{
    CHECK(json_of_float(3).type == JSON_INT && json_of_float(3).i == 3);
    CHECK(json_of_float(-0x1p63).type == JSON_INT && json_of_float(-0x1p63).i == INT64_MIN);
    CHECK(json_of_float(0x1p63).type == JSON_FLOAT);
    CHECK(json_of_float(3.5).type == JSON_FLOAT && json_of_float(3.5).f == 3.5);
}

TEST(building)
{
    scoped_arena a = arena_new();
    struct json_object o = json_object_new(a);
    struct json_array r = json_array_new(a);

    CHECK_STR(show(a, json_object_done(&o)), "{}");
    CHECK_STR(show(a, json_array_done(&r)), "[]");
    for (int i = 0; i < 30; i++)
        json_push(&r, json_of_int(i));
    json_add(&o, STR("l"), json_of_int(json_array_done(&r)->n));
    json_add(&o, STR("s"), json_of_str(STR("x")));
    json_put(&o, STR("s"), json_of_bool(true));
    json_put(&o, STR("t"), json_null);
    json_remove(&o, STR("l"));
    json_remove(&o, STR("nope"));
    CHECK_STR(show(a, json_object_done(&o)), "{\"s\":true,\"t\":null}");
    CHECK(json_int(json_at(json_array_done(&r), 29), 0) == 29);
}

TEST(building_from_another_leaves_it)
{
    scoped_arena a = arena_new();
    const struct json *v = parse_z(a, "{\"a\":1,\"b\":2}");
    struct json_object o = json_object_from(a, v);

    json_put(&o, STR("a"), json_of_int(9));
    json_remove(&o, STR("b"));
    for (int i = 0; i < 20; i++)
        json_add(&o, str_printf(a, "n%d", i), json_null);
    CHECK(json_len(json_object_done(&o)) == 21);
    CHECK_STR(show(a, v), "{\"a\":1,\"b\":2}");
    o = json_object_from(a, &json_true);
    CHECK_STR(show(a, json_object_done(&o)), "{}");
}

TEST(members_by_their_names)
{
    static const struct {
        const char *doc, *want;
    } table[] = {
        { "{\"b\":1,\"a\":{\"d\":1,\"c\":2},\"ab\":3}",
          "{\"a\":{\"d\":1,\"c\":2},\"ab\":3,\"b\":1}" },
        { "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}" },
        { "{}", "{}" },
        { "[2,1]", "[2,1]" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        const struct json *v = parse_z(a, table[i].doc);
        struct json sorted = json_by_name(a, v);

        CHECK_STR(show(a, &sorted), table[i].want);
        CHECK_STR(show(a, v), table[i].doc);
    }
    CHECK(json_by_name(a, NULL).type == JSON_NULL);
}

TEST(setting_at_a_path)
{
    static const struct {
        const char *doc, *path, *value, *want; /* value NULL: remove */
    } table[] = {
        { "{}", "a", "1", "{\"a\":1}" },
        { "{}", "a.b.c", "1", "{\"a\":{\"b\":{\"c\":1}}}" },
        { "{\"a\":1,\"b\":2}", "a", "3", "{\"a\":3,\"b\":2}" },
        { "{\"a\":{\"x\":1},\"b\":2}", "a.y", "3", "{\"a\":{\"x\":1,\"y\":3},\"b\":2}" },
        { "{\"a\":5}", "a.b", "1", "{\"a\":{\"b\":1}}" },
        { "{\"a\":[1]}", "a.b", "1", "{\"a\":{\"b\":1}}" },
        { "null", "a", "1", "{\"a\":1}" },
        { "{\"a\":1,\"b\":2}", "a", NULL, "{\"b\":2}" },
        { "{\"a\":{\"x\":1}}", "a.x", NULL, "{\"a\":{}}" },
        { "{\"a\":{\"x\":1}}", "a.y.z", NULL, "{\"a\":{\"x\":1}}" },
        { "{\"a\":5}", "a.y", NULL, "{\"a\":5}" },
        { "{}", "a", NULL, "{}" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        const struct json *v = parse_z(a, table[i].doc);
        const struct json *value = table[i].value ? parse_z(a, table[i].value) : NULL;

        CHECK_STR(show(a, json_set(a, v, table[i].path, value)), table[i].want);
        CHECK_STR(show(a, v), table[i].doc);
    }
    CHECK_STR(show(a, json_set(a, NULL, "a", &json_true)), "{\"a\":true}");
}

TEST(setting_shares_the_rest)
{
    scoped_arena a = arena_new();
    const struct json *v = parse_z(a, "{\"a\":{\"x\":1},\"b\":{\"y\":2}}");
    const struct json *w = json_set(a, v, "a.x", &json_null);

    CHECK(json_get(v, STR("b"))->members == json_get(w, STR("b"))->members);
}

TEST(a_dup_shares_nothing)
{
    static const char text[] = "{\"a\":[1,2.5,\"x\",[],{}],\"b\":{\"c\":\"\",\"d\":null}}";
    struct arena *first = arena_new();
    scoped_arena second = arena_new();
    const struct json *v = json_dup(second, parse_z(first, text));

    arena_free(first); /* a sanitizer sees what is still shared */
    CHECK_STR(show(second, v), text);
    CHECK(json_dup(second, NULL) == NULL);
}
