/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "unit/json_help.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The patched text, or the reason of the refusal. */
static const char *patched(struct arena *a, const char *doc, const char *patch)
{
    const struct json *d = parse_z(a, doc), *p = parse_z(a, patch), *out = NULL;
    struct status st;

    status_init(&st, a);
    if (!d || !p)
        return "(not JSON)";
    if (json_patch(a, d, p, &out, &st) < 0)
        return out ? "(output touched)" : status_reason(&st);
    CHECK_STR(show(a, d), json_text(a, parse_z(a, doc)).p);
    CHECK_STR(show(a, p), json_text(a, parse_z(a, patch)).p);
    return show(a, out);
}

struct row {
    const char *doc, *patch, *want;
};

static void check_rows(const struct row *rows, size_t n)
{
    scoped_arena a = arena_new();

    for (size_t i = 0; i < n; i++) {
        const char *got = patched(a, rows[i].doc, rows[i].patch);

        if (!CHECK(strcmp(got, rows[i].want) == 0))
            printf("# %s\n# %s\n#  got: %s\n# want: %s\n", rows[i].doc, rows[i].patch, got,
                   rows[i].want);
    }
}

#define ADD(path, value)     "{\"op\":\"add\",\"path\":\"" path "\",\"value\":" value "}"
#define REPLACE(path, value) "{\"op\":\"replace\",\"path\":\"" path "\",\"value\":" value "}"
#define REMOVE(path)         "{\"op\":\"remove\",\"path\":\"" path "\"}"
#define MOVE(from, path)     "{\"op\":\"move\",\"from\":\"" from "\",\"path\":\"" path "\"}"
#define COPY(from, path)     "{\"op\":\"copy\",\"from\":\"" from "\",\"path\":\"" path "\"}"
#define MATCH(path, value)   "{\"op\":\"test\",\"path\":\"" path "\",\"value\":" value "}"

TEST(add)
{
    static const struct row rows[] = {
        { "{\"a\":1}", "[" ADD("/b", "2") "]", "{\"a\":1,\"b\":2}" },
        { "{\"a\":1}", "[" ADD("/a", "2") "]", "{\"a\":2}" },
        { "{\"a\":[1,3]}", "[" ADD("/a/1", "2") "]", "{\"a\":[1,2,3]}" },
        { "{\"a\":[1]}", "[" ADD("/a/0", "0") "]", "{\"a\":[0,1]}" },
        { "{\"a\":[1]}", "[" ADD("/a/1", "2") "]", "{\"a\":[1,2]}" },
        { "{\"a\":[1]}", "[" ADD("/a/-", "{\"x\":[2]}") "]", "{\"a\":[1,{\"x\":[2]}]}" },
        { "{\"a\":[]}", "[" ADD("/a/-", "1") "," ADD("/a/-", "2") "]", "{\"a\":[1,2]}" },
        { "[1]", "[" ADD("/-", "2") "]", "[1,2]" },
        { "{}", "[" ADD("/", "1") "]", "{\"\":1}" },
        { "{\"\":{}}", "[" ADD("//x", "1") "]", "{\"\":{\"x\":1}}" },
        { "{}", "[" ADD("/a", "{}") "," ADD("/a/b", "{}") "," ADD("/a/b/c", "[]") "]",
          "{\"a\":{\"b\":{\"c\":[]}}}" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "{\"a\":null}" },
        { "{\"a\":[1]}", "[" ADD("/a/2", "2") "]", "Invalid" },
        { "{\"a\":[1]}", "[" ADD("/a/x", "2") "]", "Invalid" },
        { "{\"a\":[1]}", "[" ADD("/a/1.0", "2") "]", "Invalid" },
        { "{}", "[" ADD("/a/b", "2") "]", "Invalid" },
        { "{\"a\":null}", "[" ADD("/a/b", "2") "]", "Invalid" },
        { "{\"a\":\"s\"}", "[" ADD("/a/b", "2") "]", "Invalid" },
        { "{}", "[" ADD("", "{}") "]", "Invalid" },
        { "{}", "[" ADD("a", "1") "]", "Invalid" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(replace_and_remove)
{
    static const struct row rows[] = {
        { "{\"a\":1,\"b\":2}", "[" REPLACE("/a", "[3]") "]", "{\"a\":[3],\"b\":2}" },
        { "{\"a\":[1,2,3]}", "[" REPLACE("/a/1", "9") "]", "{\"a\":[1,9,3]}" },
        { "{}", "[" REPLACE("/a", "1") "]", "{\"a\":1}" },
        { "{\"a\":1}", "[" REPLACE("", "{\"b\":2}") "," ADD("/c", "3") "]", "{\"b\":2,\"c\":3}" },
        { "{\"a\":1}", "[" REPLACE("", "[]") "]", "[]" },
        { "{\"a\":1}", "[" REPLACE("", "5") "]", "Invalid" },
        { "{\"a\":[1]}", "[" REPLACE("/a/1", "9") "]", "Invalid" },
        { "{\"a\":[1]}", "[" REPLACE("/a/-", "9") "]", "Invalid" },
        { "{}", "[" REPLACE("/a/b", "9") "]", "Invalid" },
        { "{\"a\":1,\"b\":2,\"c\":3}", "[" REMOVE("/b") "]", "{\"a\":1,\"c\":3}" },
        { "{\"a\":[1,2,3]}", "[" REMOVE("/a/0") "," REMOVE("/a/1") "]", "{\"a\":[2]}" },
        { "{\"a\":{\"b\":{\"c\":1}}}", "[" REMOVE("/a/b/c") "]", "{\"a\":{\"b\":{}}}" },
        { "{\"a\":1}", "[" REMOVE("/b") "]", "Invalid" },
        { "{\"k\":\"v\"}", "[" REMOVE("/nope/x") "]", "Invalid" },
        { "{\"a\":[1]}", "[" REMOVE("/a/1") "]", "Invalid" },
        { "{\"a\":[1]}", "[" REMOVE("/a/-") "]", "Invalid" },
        { "{\"a\":[1]}", "[" REMOVE("") "]", "Invalid" },
        { "{\"a\":1}", "[" REMOVE("/a") "," REMOVE("/a") "]", "Invalid" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(move_and_copy)
{
    static const struct row rows[] = {
        { "{\"x\":\"9\",\"z\":\"3\"}", "[" COPY("/x", "/c") "," MOVE("/z", "/m") "]",
          "{\"x\":\"9\",\"c\":\"9\",\"m\":\"3\"}" },
        { "{\"a\":[1,2,3]}", "[" MOVE("/a/0", "/a/2") "]", "{\"a\":[2,3,1]}" },
        { "{\"a\":[1,2,3]}", "[" MOVE("/a/2", "/a/-") "]", "{\"a\":[1,2,3]}" },
        { "{\"a\":{\"b\":1},\"c\":{}}", "[" MOVE("/a/b", "/c/d") "]",
          "{\"a\":{},\"c\":{\"d\":1}}" },
        { "{\"a\":1}", "[" MOVE("/a", "/a") "]", "{\"a\":1}" },
        { "{\"a\":{\"b\":1}}", "[" MOVE("/a", "/a/b") "]", "Invalid" },
        { "{\"a\":{\"b\":1}}", "[" COPY("/a", "/a/b") "]", "{\"a\":{\"b\":{\"b\":1}}}" },
        { "{\"a\":{\"b\":[1]}}",
          "[" COPY("/a", "/c") "," ADD("/c/b/-", "2") "," ADD("/a/b/0", "0") "]",
          "{\"a\":{\"b\":[0,1]},\"c\":{\"b\":[1,2]}}" },
        { "{\"a\":{\"b\":[1]}}",
          "[" ADD("/a/b/-", "2") "," COPY("/a", "/c") "," ADD("/c/b/-",
                                                              "3") "," REMOVE("/a/b/0") "]",
          "{\"a\":{\"b\":[2]},\"c\":{\"b\":[1,2,3]}}" },
        { "{\"a\":{\"b\":[1]}}",
          "[" ADD("/a/b/-", "2") "," MOVE("/a", "/c") "," ADD("/c/b/-", "3") "]",
          "{\"c\":{\"b\":[1,2,3]}}" },
        { "{\"a\":1}", "[" COPY("/nope", "/b") "]", "{\"a\":1,\"b\":null}" },
        { "{\"a\":[1]}", "[" COPY("/a/1", "/b") "]", "Invalid" },
        { "{\"a\":1}", "[" COPY("/x/y", "/b") "]", "Invalid" },
        { "{\"a\":1}", "[" COPY("", "/b") "]", "Invalid" },
        { "{\"a\":1}", "[" MOVE("/nope", "/b") "]", "Invalid" },
        { "{\"a\":1}", "[" MOVE("", "/b") "]", "Invalid" },
        { "{\"a\":1}", "[" MOVE("/a", "/b/c") "]", "Invalid" },
        { "{\"a\":1}", "[{\"op\":\"move\",\"path\":\"/b\"}]", "Invalid" },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"path\":\"/b\",\"from\":5}]", "Invalid" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(test)
{
    static const struct row rows[] = {
        { "{\"a\":1}", "[" MATCH("/a", "1") "," ADD("/b", "2") "]", "{\"a\":1,\"b\":2}" },
        { "{\"a\":1}", "[" MATCH("/a", "1.0") "]", "{\"a\":1}" },
        { "{\"a\":{\"x\":1,\"y\":[2]}}", "[" MATCH("/a", "{\"y\":[2],\"x\":1}") "]",
          "{\"a\":{\"x\":1,\"y\":[2]}}" },
        { "{\"a\":[1,2]}", "[" MATCH("/a/1", "2") "]", "{\"a\":[1,2]}" },
        { "{\"a\":1}", "[" MATCH("", "{\"a\":1}") "]", "{\"a\":1}" },
        { "{\"a\":1}", "[" MATCH("/b", "null") "]", "{\"a\":1}" },
        { "{\"a\":null}", "[" MATCH("/a", "null") "]", "{\"a\":null}" },
        { "{\"a\":1}", "[" MATCH("/b", "2") "]", "Invalid" },
        { "{\"a\":1}", "[" MATCH("/a", "\"1\"") "]", "Invalid" },
        { "{\"a\":1}", "[" MATCH("/a", "null") "]", "Invalid" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\"}]", "Invalid" },
        { "{\"a\":[1]}", "[" MATCH("/a/1", "null") "]", "Invalid" },
        { "{\"a\":1}", "[" MATCH("/x/y", "null") "]", "Invalid" },
        { "{\"a\":1}", "[" MATCH("", "{\"a\":2}") "]", "Invalid" },
        { "{\"a\":1}", "[" ADD("/b", "2") "," MATCH("/a", "3") "]", "Invalid" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(pointers)
{
    static const struct row rows[] = {
        { "{\"example.com/k\":1}", "[" REPLACE("/example.com~1k", "2") "]",
          "{\"example.com/k\":2}" },
        { "{\"~\":1,\"~1\":2,\"~2\":3}",
          "[" REMOVE("/~0") "," REMOVE("/~01") "," REPLACE("/~2", "4") "]", "{\"~2\":4}" },
        { "{\"~\":1}", "[" REMOVE("/~") "]", "{}" },
        { "{\"0\":{\"-\":1}}", "[" REMOVE("/0/-") "]", "{\"0\":{}}" },
        { "{\"a b\":1,\"\xc3\xa9\":2}", "[" REMOVE("/a b") "," REMOVE("/\xc3\xa9") "]", "{}" },
        /* evanphx/json-patch: any way to write an index, negative ones from the end */
        { "[1,2,3]", "[" REMOVE("/-1") "]", "[1,2]" },
        { "[1,2,3]", "[" REPLACE("/-3", "9") "]", "[9,2,3]" },
        { "[1,2,3]", "[" ADD("/-1", "4") "]", "[1,2,3,4]" },
        { "[1,2,3]", "[" REMOVE("/01") "]", "[1,3]" },
        { "[1,2,3]", "[" REMOVE("/-4") "]", "Invalid" },
        { "[1,2,3]", "[" REMOVE("/99999999999999999999") "]", "Invalid" },
        { "[1,2,3]", "[" REMOVE("/-99999999999999999999") "]", "Invalid" },
        { "[1,2,3]", "[" REMOVE("/") "]", "Invalid" },
        { "[1,2,3]", "[" REMOVE("/+") "]", "Invalid" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(what_is_no_patch)
{
    static const struct row rows[] = {
        { "{\"a\":1}", "[]", "{\"a\":1}" },
        { "{}", "{\"op\":\"add\"}", "BadRequest" },
        { "{}", "null", "BadRequest" },
        { "{}", "\"x\"", "BadRequest" },
        { "{}", "[1]", "BadRequest" },
        { "{}", "[[]]", "BadRequest" },
        { "{}", "[null]", "Invalid" },
        { "{}", "[{}]", "Invalid" },
        { "{}", "[{\"op\":5,\"path\":\"/a\"}]", "Invalid" },
        { "{}", "[{\"op\":\"explode\",\"path\":\"/a\"}]", "Invalid" },
        { "{}", "[{\"op\":\"ADD\",\"path\":\"/a\",\"value\":1}]", "Invalid" },
        { "{}", "[{\"op\":\"add\",\"value\":1}]", "Invalid" },
        { "{}", "[{\"op\":\"add\",\"path\":7,\"value\":1}]", "Invalid" },
        { "5", "[" ADD("/a", "1") "]", "Invalid" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(a_refusal_says_which_operation)
{
    scoped_arena a = arena_new();
    const struct json *out = NULL;
    struct status st;

    status_init(&st, a);
    REQUIRE(json_patch(a, parse_z(a, "{}"), parse_z(a, "[" REMOVE("/nope/x") "]"), &out, &st) < 0);
    CHECK(st.empty_details);
    CHECK_STR(str_z(a, st.message),
              "the server rejected our request due to an error in our request: "
              "remove operation at \"/nope/x\": the path does not exist");
}

static const char *many(struct arena *a, const char *op, size_t n)
{
    const char *all = repeat(a, arena_printf(a, "%s,", op), n - 1);

    return arena_printf(a, "[%s%s]", all, op);
}

TEST(ten_thousand_operations_and_no_more)
{
    scoped_arena a = arena_new();
    const struct json *out = NULL;
    struct status st;

    status_init(&st, a);
    CHECK_STR(patched(a, "{\"a\":1}", many(a, MATCH("/a", "1"), 10000)), "{\"a\":1}");
    CHECK(json_patch(a, &json_empty_object, parse_z(a, many(a, MATCH("/a", "1"), 10001)), &out,
                     &st) < 0);
    CHECK(status_is(&st, REASON_TOO_LARGE));
    CHECK_STR(str_z(a, st.message), "Request entity too large: The allowed maximum operations in a "
                                    "JSON patch is 10000, got 10001");
}

/* 10,000 changes of a container of 100,000 children must not make 10,000 copies of it. */
TEST(many_operations_on_a_large_container_take_little_memory)
{
    scoped_arena a = arena_new();
    const char *doc = arena_printf(a, "{\"l\":[%s0],\"o\":{\"x\":0}}", repeat(a, "0,", 3000));
    const struct json *v = parse_z(a, doc), *p, *out = NULL;
    size_t before;
    struct status st;

    status_init(&st, a);
    p = parse_z(a, many(a, ADD("/l/-", "1") "," REPLACE("/o/x", "2") "," ADD("/l/5", "{}"), 3000));
    before = arena_size(a);
    REQUIRE(json_patch(a, v, p, &out, &st) == 0);
    CHECK(json_len(json_get(out, STR("l"))) == 9001);
    CHECK(arena_size(a) - before < 4 << 20);
}

TEST(copies_are_bounded)
{
    scoped_arena a = arena_new();
    /* each doubles the document */
    const char *bomb = many(a, COPY("/a", "/a/-"), 40);
    size_t before = arena_size(a);

    CHECK_STR(patched(a, "{\"a\":[\"0123456789\"]}", bomb), "Invalid");
    CHECK(arena_size(a) - before < 64 << 20);
}

TEST(work_is_bounded)
{
    scoped_arena a = arena_new();
    const char *doc = arena_printf(a, "[%s0]", repeat(a, "0,", 200000));

    CHECK_STR(patched(a, doc, many(a, ADD("/0", "1"), 9000)), "RequestEntityTooLarge");
    CHECK_STR(patched(a, arena_printf(a, "{\"a\":%s,\"b\":0}", doc),
                      many(a, MOVE("/a", "/b") "," MOVE("/b", "/a"), 4000)),
              "RequestEntityTooLarge");
}

TEST(depth_is_bounded)
{
    scoped_arena a = arena_new();
    const char *deep = arena_printf(a, "%s%s", repeat(a, "[", 300), repeat(a, "]", 300));
    const char *doc = arena_printf(a, "{\"a\":%s,\"b\":%s,\"c\":[0]}", deep, deep);
    const char *inside = repeat(a, "/0", 250);

    CHECK_STR(
        patched(a, doc,
                arena_printf(a, "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b%s\"}]", inside)),
        "Invalid");
    CHECK_STR(
        patched(a, doc,
                arena_printf(a, "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b%s\"}]", inside)),
        "Invalid");
    CHECK_STR(
        patched(a, doc,
                arena_printf(a, "[{\"op\":\"add\",\"value\":%s,\"path\":\"/b%s\"}]", deep, inside)),
        "Invalid");
    CHECK_STR(patched(a, doc,
                      arena_printf(a, "[{\"op\":\"replace\",\"value\":%s,\"path\":\"/b%s\"}]", deep,
                                   inside)),
              "Invalid");
    CHECK(strlen(patched(a, doc, "[" COPY("/a", "/c/0") "]")) > 1500);
}

TEST(merge)
{
    static const struct row rows[] = {
        { "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
        { "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"x\":null}", "{\"a\":\"b\"}" },
        { "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
        { "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
        { "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
        { "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
        { "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
        { "{\"a\":\"foo\"}", "null", "null" },
        { "{\"a\":\"foo\"}", "\"bar\"", "\"bar\"" },
        { "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
        { "{\"a\":null}", "{\"a\":{\"x\":null,\"y\":1}}", "{\"a\":{\"y\":1}}" },
        { "{\"spec\":{\"a\":1,\"b\":[1,2],\"c\":{\"d\":true},\"f\":1.5}}",
          "{\"spec\":{\"a\":null,\"b\":[3],\"c\":{\"e\":\"x\"},\"n\":{\"x\":null,\"y\":1}}}",
          "{\"spec\":{\"b\":[3],\"c\":{\"d\":true,\"e\":\"x\"},\"f\":1.5,\"n\":{\"y\":1}}}" },
        { "{}", "{\"a\":[{\"x\":null,\"y\":1},null]}", "{\"a\":[{\"y\":1},null]}" },
        { "{\"a\":1}", "{}", "{\"a\":1}" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct json *doc = parse_z(a, rows[i].doc), *patch = parse_z(a, rows[i].patch);

        CHECK_STR(show(a, json_merge_patch(a, doc, patch)), rows[i].want);
        CHECK_STR(show(a, doc), rows[i].doc);
        CHECK_STR(show(a, patch), rows[i].patch);
    }
    CHECK_STR(show(a, json_merge_patch(a, NULL, parse_z(a, "{\"a\":null}"))), "{}");
}

TEST(a_large_merge_looks_at_no_pairs)
{
    scoped_arena a = arena_new();
    struct json_object doc = json_object_new(a), patch = json_object_new(a);
    const struct json *v;

    for (int i = 0; i < 100000; i++) {
        json_add(&doc, str_printf(a, "d%d", i), json_of_int(i));
        json_add(&patch, str_printf(a, "d%d", 150000 - i), i % 2 ? json_null : json_of_int(-1));
    }
    v = json_merge_patch(a, json_object_done(&doc), json_object_done(&patch));
    CHECK(json_len(v) == 50001 + 24999 + 25001);
    CHECK(json_int(json_get(v, STR("d50001")), 0) == 0);
    CHECK(json_int(json_get(v, STR("d60000")), 0) == -1);
    CHECK(json_int(json_get(v, STR("d40001")), 0) == 40001);
}
