/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "unit/json_help.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

TEST(texts_that_are_json)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        { "null", "null" },
        { " true ", "true" },
        { "false\n", "false" },
        { "\"\"", "\"\"" },
        { "\"abc\"", "\"abc\"" },
        { "\"abcdefghijklmnopqrstuvwxyz\"", "\"abcdefghijklmnopqrstuvwxyz\"" },
        { "{}", "{}" },
        { "[]", "[]" },
        { "[ ]", "[]" },
        { "{ }", "{}" },
        { "[[],[[]],{}]", "[[],[[]],{}]" },
        { "[1,2 , 3]", "[1,2,3]" },
        { "{\"b\":1,\"a\":{\"c\":[null]}}", "{\"b\":1,\"a\":{\"c\":[null]}}" },
        { "\t{ \"a\" : \r\n 1 }", "{\"a\":1}" },
        { "{\"\":0}", "{\"\":0}" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++)
        CHECK_STR(show(a, parse_z(a, table[i].text)), table[i].want);
}

TEST(texts_that_are_not_json_say_why)
{
    static const struct {
        str text;
        const char *want;
    } table[] = {
        { STR_INIT(""), "unexpected end of JSON input" },
        { STR_INIT("  "), "unexpected end of JSON input" },
        { STR_INIT("{\"apiVersion\": \"v1\", \"kind\":"), "unexpected end of JSON input" },
        { STR_INIT("\"abc"), "unexpected end of JSON input" },
        { STR_INIT("\"abc\\"), "unexpected end of JSON input" },
        { STR_INIT("\"abc\\u12"), "unexpected end of JSON input" },
        { STR_INIT("[1"), "unexpected end of JSON input" },
        { STR_INIT("[1,"), "unexpected end of JSON input" },
        { STR_INIT("{\"a\""), "unexpected end of JSON input" },
        { STR_INIT("tru"), "unexpected end of JSON input" },
        { STR_INIT("-"), "unexpected end of JSON input" },
        { STR_INIT("1."), "unexpected end of JSON input" },
        { STR_INIT("1e+"), "unexpected end of JSON input" },
        { STR_INIT("xyz"), "invalid character 'x' looking for beginning of value (offset 0)" },
        { STR_INIT("nope"), "invalid character 'o' in literal null (expecting 'u') (offset 1)" },
        { STR_INIT("[1,]"), "invalid character ']' looking for beginning of value (offset 3)" },
        { STR_INIT("[1 2]"), "invalid character '2' after array element (offset 3)" },
        { STR_INIT("{a:1}"),
          "invalid character 'a' looking for beginning of object key string (offset 1)" },
        { STR_INIT("{\"a\":1,}"),
          "invalid character '}' looking for beginning of object key string (offset 7)" },
        { STR_INIT("{\"a\" 1}"), "invalid character '1' after object key (offset 5)" },
        { STR_INIT("{\"a\":1 \"b\":2}"),
          "invalid character '\"' after object key:value pair (offset 7)" },
        { STR_INIT("{}}"), "invalid character '}' after top-level value (offset 2)" },
        { STR_INIT("{} x"), "invalid character 'x' after top-level value (offset 3)" },
        { STR_INIT("01"), "invalid character '1' after top-level value (offset 1)" },
        { STR_INIT("+1"), "invalid character '+' looking for beginning of value (offset 0)" },
        { STR_INIT(".5"), "invalid character '.' looking for beginning of value (offset 0)" },
        { STR_INIT("-x"), "invalid character 'x' in numeric literal (offset 1)" },
        { STR_INIT("1.x"),
          "invalid character 'x' after decimal point in numeric literal (offset 2)" },
        { STR_INIT("1ex"), "invalid character 'x' in exponent of numeric literal (offset 2)" },
        { STR_INIT("NaN"), "invalid character 'N' looking for beginning of value (offset 0)" },
        { STR_INIT("'a'"), "invalid character '\\'' looking for beginning of value (offset 0)" },
        { STR_INIT("\"a\nb\""), "invalid character '\\x0a' in string literal (offset 2)" },
        { STR_INIT("\"a\0b\""), "invalid character '\\x00' in string literal (offset 2)" },
        { STR_INIT("{\0}"),
          "invalid character '\\x00' looking for beginning of object key string (offset 1)" },
        { STR_INIT("\"\\x\""), "invalid character 'x' in string escape code (offset 2)" },
        { STR_INIT("\"\\u12g4\""),
          "invalid character 'g' in \\u hexadecimal character escape (offset 5)" },
        { STR_INIT("\xef\xbb\xbf{}"),
          "invalid character '\\xef' looking for beginning of value (offset 0)" },
        { STR_INIT("[1e400]"), "number 1e400 is out of range of float64 (offset 1)" },
        { STR_INIT("-1e400"), "number -1e400 is out of range of float64 (offset 0)" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        const struct json *v = NULL;
        struct status st;

        status_init(&st, a);
        if (!CHECK(json_parse(a, table[i].text, NULL, &v, &st) == -1))
            printf("# accepted: %s\n", table[i].text.p);
        CHECK(v == NULL);
        CHECK(status_is(&st, REASON_BAD_REQUEST));
        CHECK_STR(str_z(a, st.message), table[i].want);
    }
}

TEST(integers_stay_exact)
{
    static const struct {
        const char *text;
        int64_t want;
    } table[] = {
        { "0", 0 },
        { "-0", 0 },
        { "42", 42 },
        { "-7", -7 },
        { "9007199254740993", 9007199254740993 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775808", INT64_MIN },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        const struct json *v = parse_z(a, table[i].text);

        REQUIRE(json_is(v, JSON_INT));
        CHECK(v->i == table[i].want);
    }
}

TEST(other_numbers_are_doubles)
{
    static const struct {
        const char *text;
        double want;
    } table[] = {
        { "1.0", 1 },
        { "1e3", 1000 },
        { "1E-2", 0.01 },
        { "-0.0", 0 },
        { "0.1", 0.1 },
        { "2.5e+3", 2500 },
        { "9223372036854775808", 9223372036854775808.0 },
        { "-9223372036854775809", -9223372036854775808.0 },
        { "123456789012345678901234567890", 123456789012345678901234567890.0 },
        { "1e-400", 0 },
        { "1.7976931348623157e308", 1.7976931348623157e308 },
        { "5e-324", 5e-324 },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        const struct json *v = parse_z(a, table[i].text);

        REQUIRE(json_is(v, JSON_FLOAT));
        CHECK(v->f == table[i].want);
    }
}

TEST(escapes_and_surrogates)
{
    static const struct {
        const char *text;
        str want;
    } table[] = {
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", STR_INIT("\"\\/\b\f\n\r\t") },
        { "\"\\u0041\\u00e9\\u20ac\"", STR_INIT("A\xc3\xa9\xe2\x82\xac") },
        { "\"\\uD83D\\ude00\"", STR_INIT("\xf0\x9f\x98\x80") },
        { "\"a\\u0000b\"", STR_INIT("a\0b") },
        { "\"caf\xc3\xa9 \xf0\x9f\x98\x80 plain\\n\"",
          STR_INIT("caf\xc3\xa9 \xf0\x9f\x98\x80 plain\n") },
        { "\"\\ud83d\"", STR_INIT("\xef\xbf\xbd") },
        { "\"\\ude00x\"", STR_INIT("\xef\xbf\xbdx") },
        { "\"\\ud83d\\u0041\"", STR_INIT("\xef\xbf\xbd"
                                         "A") },
        { "\"\\ud83d\\ud83d\\ude00\"", STR_INIT("\xef\xbf\xbd\xf0\x9f\x98\x80") },
        { "\"\\ud83d\\n\"", STR_INIT("\xef\xbf\xbd\n") },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++)
        if (!CHECK(str_eq(json_str(parse_z(a, table[i].text)), table[i].want)))
            printf("# %s\n", table[i].text);
}

TEST(bytes_that_are_not_utf8_become_u_fffd)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        { "\"\xff\"", "\xef\xbf\xbd" },
        { "\"a\x80z\"", "a\xef\xbf\xbdz" },
        { "\"\xc3\"", "\xef\xbf\xbd" },
        { "\"\xe2\x82\"", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\"\xed\xa0\x80\"", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "\"\xc0\xaf\"", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* overlong */
        { "\"\xf8\\n\xff\\\"\xff\\u00e9\"", "\xef\xbf\xbd\n\xef\xbf\xbd\"\xef\xbf\xbd\xc3\xa9" },
        { "\"0123456789abcdef\xfe 0123456789\xc3\xa9\"",
          "0123456789abcdef\xef\xbf\xbd 0123456789\xc3\xa9" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++)
        CHECK_STR(str_z(a, json_str(parse_z(a, table[i].text))), table[i].want);
    CHECK_STR(show(a, parse_z(a, "{\"\xff\":1}")), "{\"\xef\xbf\xbd\":1}");
    CHECK(parse_z(a, "\"\xff") == NULL);
    CHECK(parse_z(a, "\"\xff\\") == NULL);
}

TEST(a_string_may_end_anywhere)
{
    char text[64];
    scoped_arena a = arena_new();

    for (size_t n = 0; n < 40; n++) {
        str s;

        (void)snprintf(text, sizeof(text), "\"%.*s\"", (int)n,
                       "0123456789012345678901234567890123456789");
        s = json_str(parse_z(a, text));
        CHECK(s.n == n && memcmp(s.p, text + 1, n) == 0);
    }
}

TEST(the_value_outlives_the_text)
{
    scoped_arena a = arena_new();
    char text[] = "{\"key\":\"value\"}";
    const struct json *v = parse_z(a, text);

    memset(text, 'x', sizeof(text));
    CHECK_STR(show(a, v), "{\"key\":\"value\"}");
}

TEST(of_duplicates_the_last_wins_and_the_path_is_told)
{
    static const struct {
        const char *text, *value, *dups;
    } table[] = {
        { "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", "" },
        { "{\"a\":1,\"a\":2}", "{\"a\":2}", "a" },
        { "{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}", "a" },
        { "{\"a\":1,\"\\u0061\":2}", "{\"a\":2}", "a" },
        { "{\"data\":{\"x\":\"1\",\"x\":\"2\"},\"data\":{\"y\":\"3\"}}", "{\"data\":{\"y\":\"3\"}}",
          "data.x data" },
        { "{\"a\":1,\"a\":2,\"b\":{\"c\":1,\"c\":2}}", "{\"a\":2,\"b\":{\"c\":2}}", "a b.c" },
        { "{\"items\":[{},{},{\"a\":1,\"a\":2}]}", "{\"items\":[{},{},{\"a\":2}]}", "items[2].a" },
        { "[[0,{\"a\":1,\"a\":2}]]", "[[0,{\"a\":2}]]", "[0][1].a" },
        { "{\"d\":{\"x\":1,\"x\":2},\"d\":{\"x\":1,\"x\":2}}", "{\"d\":{\"x\":2}}", "d.x d" },
        { "{\"b\":1,\"a\":2,\"b\":3}", "{\"a\":2,\"b\":3}", "b" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        struct json_duplicates d;
        const struct json *v = NULL;
        struct status st;

        status_init(&st, a);
        CHECK(json_parse(a, str_of(table[i].text), &d, &v, &st) == 0);
        CHECK_STR(show(a, v), table[i].value);
        CHECK_STR(show_dups(a, &d), table[i].dups);
    }
}

/* {"k0":0,"k1":1,…} twice over, so that each name is a duplicate. */
static str many_members(struct arena *a, int n)
{
    struct buf b;
    str text;

    buf_init(&b, 64 << 20);
    for (int i = 0; i < 2 * n; i++)
        buf_printf(&b, "%c\"k%d\":%d", i ? ',' : '{', i % n, i);
    buf_byte(&b, '}');
    text = str_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

TEST(many_duplicates_are_found_fast_and_told_in_part)
{
    scoped_arena a = arena_new();
    struct json_duplicates d;
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    REQUIRE(json_parse(a, many_members(a, 100000), &d, &v, &st) == 0);
    CHECK(json_len(v) == 100000);
    CHECK(d.n == 64);
    CHECK(json_int(json_get(v, STR("k99999")), 0) == 199999);
    REQUIRE(json_parse(a, many_members(a, 20), &d, &v, &st) == 0);
    CHECK(json_len(v) == 20 && d.n == 20);
    CHECK(str_is(d.all[0].path, "k0") && str_is(d.all[19].path, "k19"));
}

TEST(nesting_is_limited)
{
    scoped_arena a = arena_new();
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    CHECK(parse_z(a, arena_printf(a, "%s%s", repeat(a, "[", JSON_DEPTH_MAX),
                                  repeat(a, "]", JSON_DEPTH_MAX))) != NULL);
    CHECK(parse_z(a, arena_printf(a, "%s1%s", repeat(a, "{\"a\":", JSON_DEPTH_MAX),
                                  repeat(a, "}", JSON_DEPTH_MAX))) != NULL);
    CHECK(json_parse(a, str_of(repeat(a, "[", JSON_DEPTH_MAX + 1)), NULL, &v, &st) == -1);
    CHECK_STR(str_z(a, st.message), "exceeded max depth (offset 512)");
    CHECK(parse_z(a, repeat(a, "{\"a\":", 100000)) == NULL);
    CHECK(parse_z(a, arena_printf(a, "[%s[]]", repeat(a, "[[]],", 10000))) != NULL);
}

TEST(large_containers_keep_all)
{
    scoped_arena a = arena_new();
    const struct json *v =
        parse_z(a, arena_printf(a, "[%s{\"z\":[%s9]}]", repeat(a, "[1,2],", 5000),
                                repeat(a, "{\"a\":\"b\"},", 5000)));

    REQUIRE(json_len(v) == 5001);
    CHECK(json_int(json_at(json_at(v, 4999), 1), 0) == 2);
    v = json_path(json_at(v, 5000), "z");
    REQUIRE(json_len(v) == 5001);
    CHECK_STR(show(a, json_at(v, 4999)), "{\"a\":\"b\"}");
    CHECK_STR(show(a, json_at(v, 5000)), "9");
}

/* Every prefix of a text with all features is refused, or a number; nothing is read behind it. */
TEST(cut_texts)
{
    static const char text[] =
        "{\"a\":[1,-2.5e3,true,false,null,\"\\u00e9\\ud83d\\ude00\xc3\xa9\"],"
        "\"b\":{\"c\":{}},\"long name here\":\"long value here\"}";
    scoped_arena a = arena_new();

    CHECK(parse_z(a, text) != NULL);
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        char *cut = mem_dup(text, n ? n : 1); /* exact, so that a sanitizer sees a byte too many */

        CHECK(parse(a, (str){ cut, n }) == NULL);
        free(cut);
    }
}
