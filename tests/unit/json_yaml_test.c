/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "unit/json_help.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The text as JSON, or the message of the error. */
static const char *convert_str(struct arena *a, str text)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    if (json_parse_yaml(a, text, NULL, &v, &st) == 0)
        return show(a, v);
    CHECK(v == NULL);
    CHECK(status_is(&st, REASON_BAD_REQUEST));
    return str_z(a, st.message);
}

static const char *convert(struct arena *a, const char *text)
{
    return convert_str(a, str_of(text));
}

struct row {
    const char *text, *want;
};

static void check_rows(const struct row *rows, size_t n)
{
    scoped_arena a = arena_new();

    for (size_t i = 0; i < n; i++) {
        const char *got = convert(a, rows[i].text);

        if (!CHECK(strcmp(got, rows[i].want) == 0))
            printf("# %s\n#  got: %s\n# want: %s\n", rows[i].text, got, rows[i].want);
    }
}

TEST(words)
{
    static const struct row rows[] = {
        { "[y, Y, yes, Yes, YES, true, True, TRUE, on, On, ON]",
          "[true,true,true,true,true,true,true,true,true,true,true]" },
        { "[n, N, no, No, NO, false, False, FALSE, off, Off, OFF]",
          "[false,false,false,false,false,false,false,false,false,false,false]" },
        { "[~, null, Null, NULL, ]", "[null,null,null,null]" },
        { "a:\nb:", "{\"a\":null,\"b\":null}" },
        { "[yEs, nULL, oN, tRUE, nil, none]",
          "[\"yEs\",\"nULL\",\"oN\",\"tRUE\",\"nil\",\"none\"]" },
        { "['yes', \"no\", '~', '', '1', \"0x1\"]", "[\"yes\",\"no\",\"~\",\"\",\"1\",\"0x1\"]" },
        { "a: |\n  yes\nb: >\n  12\n", "{\"a\":\"yes\\n\",\"b\":\"12\\n\"}" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(integers)
{
    static const struct row rows[] = {
        { "[0, 7, -7, +7, 1_000, -1_0]", "[0,7,-7,7,1000,-10]" },
        { "[0x1F, 0X1f, -0x10, 0x_ff]", "[31,31,-16,255]" },
        { "[017, 0o17, 0O17, -017, 0_7, 00]", "[15,15,15,-15,7,0]" },
        { "[0b101, -0b11, 0B1, +0b10]", "[5,-3,1,2]" },
        { "[9223372036854775807, -9223372036854775808]",
          "[9223372036854775807,-9223372036854775808]" },
        { "[18446744073709551615, 0xffffffffffffffff]",
          "[18446744073709552000,18446744073709552000]" },
        { "[08, 09, 019]", "[8,9,19]" }, /* not octal, so floats */
        { "[0x, 0b, 0b2, 0xg, 1_a, _1, -, +, 1-2, 0o8]",
          "[\"0x\",\"0b\",\"0b2\",\"0xg\",\"1_a\",\"_1\",\"-\",\"+\",\"1-2\",\"0o8\"]" },
        { "[1:30, 12:30:45]", "[\"1:30\",\"12:30:45\"]" }, /* no base 60 */
    };

    check_rows(rows, COUNT(rows));
}

TEST(floats)
{
    static const struct row rows[] = {
        { "[1.5, -1.5, +1.5, .5, -.5, 5., 1e3, 1.5e-3, 1E+2, 1_0.5]",
          "[1.5,-1.5,1.5,0.5,-0.5,5,1000,0.0015,100,10.5]" },
        { "[1.0, 2e2]", "[1,200]" },
        { "[1e400, 1.2.3, 1e, 1e+, ., ..., .e5, -., 0x1.8p3, 1.5f, ._5]",
          "[\"1e400\",\"1.2.3\",\"1e\",\"1e+\",\".\",\"...\",\".e5\",\"-.\",\"0x1.8p3\",\"1.5f\","
          "\"._5\"]" },
        { "a: .inf", "error converting YAML to JSON: yaml: line 1: infinities and not-a-number "
                     "have no form in JSON" },
        { "- -.Inf", "error converting YAML to JSON: yaml: line 1: infinities and not-a-number "
                     "have no form in JSON" },
        { "- 1\n- .NaN", "error converting YAML to JSON: yaml: line 2: infinities and "
                         "not-a-number have no form in JSON" },
        { "[.iNF, inf, nan]", "[\".iNF\",\"inf\",\"nan\"]" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(timestamps_and_other_strings)
{
    static const struct row rows[] = {
        { "[2001-12-14, 2001-12-14T21:59:43Z, 2001-12-14 21:59:43.10]",
          "[\"2001-12-14\",\"2001-12-14T21:59:43Z\",\"2001-12-14 21:59:43.10\"]" },
        { "a: b c\n", "{\"a\":\"b c\"}" },
        { "a: \"x\\n\\u00e9\\x41\"", "{\"a\":\"x\\n\xc3\xa9"
                                     "A\"}" },
        { "a: 'it''s'", "{\"a\":\"it's\"}" },
        { "a: |-\n  l1\n  l2\n", "{\"a\":\"l1\\nl2\"}" },
        { "a: >\n  l1\n  l2\n", "{\"a\":\"l1 l2\\n\"}" },
        { "a: caf\xc3\xa9", "{\"a\":\"caf\xc3\xa9\"}" },
        { "100m", "\"100m\"" },
        { "=", "\"=\"" },
        { "<<", "\"<<\"" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(tags)
{
    static const struct row rows[] = {
        { "[!!str 1, !!str yes, !!str ~, !!str ]", "[\"1\",\"yes\",\"~\",\"\"]" },
        { "[!!int 3, !!int '3', !!int \"0x10\"]", "[3,3,16]" },
        { "[!!float 3, !!float '1.5', !!bool 'yes', !!null '']", "[3,1.5,true,null]" },
        { "!!timestamp 2001-12-14", "\"2001-12-14\"" },
        { "!!binary aGVsbG8=", "\"hello\"" },
        { "!!binary |\n  aGVs\n  bG8=\n", "\"hello\"" },
        { "!!binary /w==", "\"\xef\xbf\xbd\"" },
        { "!!binary YcOpev/DqQ==", "\"a\xc3\xa9z\xef\xbf\xbd\xc3\xa9\"" },
        { "[!mine 5, !mine yes]", "[\"5\",\"yes\"]" },
        { "!!map {a: !!seq [1]}", "{\"a\":[1]}" },
        { "!!int foo",
          "error converting YAML to JSON: yaml: line 1: cannot decode the value as a !!int" },
        { "!!int 1.5",
          "error converting YAML to JSON: yaml: line 1: cannot decode the value as a !!int" },
        { "!!bool 3",
          "error converting YAML to JSON: yaml: line 1: cannot decode the value as a !!bool" },
        { "!!float x",
          "error converting YAML to JSON: yaml: line 1: cannot decode the value as a !!float" },
        { "!!null x",
          "error converting YAML to JSON: yaml: line 1: cannot decode the value as a !!null" },
        { "!!binary '*'", "error converting YAML to JSON: yaml: line 1: !!binary value contains "
                          "invalid base64 data" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(keys_become_strings)
{
    static const struct row rows[] = {
        { "1: a\n0x10: b\n-5: c\n", "{\"1\":\"a\",\"16\":\"b\",\"-5\":\"c\"}" },
        { "yes: a\noff: b\n", "{\"true\":\"a\",\"false\":\"b\"}" },
        { "1.5: a\n1e6: b\n1e-5: c\n.inf: d\n-.inf: e\n.nan: f\n0.1: g\n100000.0: h\n",
          "{\"1.5\":\"a\",\"1e+06\":\"b\",\"1e-05\":\"c\",\".inf\":\"d\",\"-.inf\":\"e\","
          "\".nan\":\"f\",\"0.1\":\"g\",\"100000\":\"h\"}" },
        { "'1': a\n\"yes\": b\n", "{\"1\":\"a\",\"yes\":\"b\"}" },
        { "? a\n: b\n", "{\"a\":\"b\"}" },
        { "2001-12-14: x", "{\"2001-12-14\":\"x\"}" },
        { "'': x", "{\"\":\"x\"}" },
        { "~: x", "error converting YAML to JSON: yaml: line 1: unsupported map key of type null" },
        { "? [a]\n: b\n", "error converting YAML to JSON: yaml: line 1: invalid map key" },
        { "{{a: 1}: b}", "error converting YAML to JSON: yaml: line 1: invalid map key" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(structure)
{
    static const struct row rows[] = {
        { "", "null" },
        { "# only a comment\n", "null" },
        { "---\n", "null" },
        { "a:\n  b:\n  - 1\n  - c: 2\n    d: 3\n", "{\"a\":{\"b\":[1,{\"c\":2,\"d\":3}]}}" },
        { "{a: [1, 2], b: {c: d}}", "{\"a\":[1,2],\"b\":{\"c\":\"d\"}}" },
        { "%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}" },
        { "a: 1\n---\nb: 2\n", "{\"a\":1}" },
        { "a: 1\n---\n}{ this is not looked at\n", "{\"a\":1}" },
        { "\xef\xbb\xbf"
          "a: 1",
          "{\"a\":1}" },
        { "{\"a\": 1.0, \"b\": \"\\u00e9\\/\"}\n", "{\"a\":1,\"b\":\"\xc3\xa9/\"}" },
        { "{\"a\": 1}\n---\n{\"b\": 2}", "{\"a\":1}" },
        { " [1, yes, {a: b}]", "[1,true,{\"a\":\"b\"}]" },
        { "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: '1'\nbogus: 1\n",
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},"
          "\"data\":{\"x\":\"1\"},\"bogus\":1}" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(texts_that_are_not_yaml_say_why)
{
    static const struct row rows[] = {
        { "a: b: c", "error converting YAML to JSON: yaml: line 1: mapping values are not allowed "
                     "in this context" },
        { "a: 1\n\tb: 2", "error converting YAML to JSON: yaml: line 2: found a tab character "
                          "that violates indentation" },
        { "{broken\n", "error converting YAML to JSON: yaml: line 2: did not find expected ',' or "
                       "'}'" },
        { "a: \"x", "error converting YAML to JSON: yaml: line 1: found unexpected end of stream" },
        { "x: 1\na: \xff",
          "error converting YAML to JSON: yaml: line 1: invalid leading UTF-8 octet" },
        { "a: *nope",
          "error converting YAML to JSON: yaml: line 1: unknown anchor 'nope' referenced" },
        { "a: &x [1, *x]",
          "error converting YAML to JSON: yaml: line 1: anchor 'x' value contains itself" },
        { "a: &x 1\nb: &x [*x]",
          "error converting YAML to JSON: yaml: line 2: anchor 'x' value contains itself" },
        { "<<: 1", "error converting YAML to JSON: yaml: line 1: map merge requires map or "
                   "sequence of maps as the value" },
        { "<<: [1]", "error converting YAML to JSON: yaml: line 1: map merge requires map or "
                     "sequence of maps as the value" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(aliases_and_merges)
{
    static const struct row rows[] = {
        { "a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n",
          "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1]},\"c\":[{\"k\":[1]},{\"k\":[1]}]}" },
        { "a: &x 1\nb: *x\nc: &x 2\nk: *x\n", "{\"a\":1,\"b\":1,\"c\":2,\"k\":2}" },
        { "&k a: 1\n*k : 2\n", "{\"a\":2}" },
        { "a: &f 1.0\n*f : b\n", "{\"a\":1,\"1\":\"b\"}" },
        { "base: &b {x: 1, z: 2}\nk:\n  <<: *b\n  z: 3\n",
          "{\"base\":{\"x\":1,\"z\":2},\"k\":{\"x\":1,\"z\":3}}" },
        /* go-yaml v2 merges in place: a merge that comes last wins */
        { "base: &b {x: 1, z: 2}\nk:\n  z: 3\n  <<: *b\n",
          "{\"base\":{\"x\":1,\"z\":2},\"k\":{\"x\":1,\"z\":2}}" },
        { "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc:\n  <<: [*a, *b]\n",
          "{\"a\":{\"x\":1},\"b\":{\"x\":2,\"z\":3},\"c\":{\"z\":3,\"x\":1}}" },
        { "<<: {a: 1}\nb: 2\n", "{\"a\":1,\"b\":2}" },
        { "'<<': {a: 1}\n", "{\"<<\":{\"a\":1}}" },
        { "!!merge '<<': {a: 1}\n", "{\"a\":1}" },
    };

    check_rows(rows, COUNT(rows));
}

TEST(duplicates)
{
    static const struct {
        const char *text, *value, *dups;
    } table[] = {
        { "apiVersion: v1\ndata:\n  x: '1'\n  x: '2'\n",
          "{\"apiVersion\":\"v1\",\"data\":{\"x\":\"2\"}}", "data.x" },
        { "a:\n- b: 1\n- b: 1\n  b: 2\n", "{\"a\":[{\"b\":1},{\"b\":2}]}", "a[1].b" },
        { "1: a\n'1': b\n", "{\"1\":\"b\"}", "1" },
        { "{\"a\":1,\"a\":2}", "{\"a\":2}", "a" },
        { "{\"a\":1,\"a\":yes}", "{\"a\":true}", "a" },
        { "a: 1\nb: 2\n", "{\"a\":1,\"b\":2}", "" },
        { "'': {x: 1, x: 2}", "{\"\":{\"x\":2}}", ".x" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        struct json_duplicates d;
        const struct json *v = NULL;
        struct status st;

        status_init(&st, a);
        REQUIRE(json_parse_yaml(a, str_of(table[i].text), &d, &v, &st) == 0);
        CHECK_STR(show(a, v), table[i].value);
        CHECK_STR(show_dups(a, &d), table[i].dups);
    }
}

static const char aliasing[] = "document contains excessive aliasing";

TEST(bombs_do_not_go_off)
{
    scoped_arena a = arena_new();
    const char *laughs = "a0: &a0 [lol]\n", *merges = "a0: &a0 {k: v}\n";

    for (int i = 1; i < 40; i++) {
        laughs =
            arena_printf(a, "%sa%d: &a%d [*a%d,*a%d,*a%d]\n", laughs, i, i, i - 1, i - 1, i - 1);
        merges = arena_printf(a, "%sa%d: &a%d {<<: [*a%d,*a%d], x%d: *a%d}\n", merges, i, i, i - 1,
                              i - 1, i, i - 1);
    }
    CHECK(strstr(convert(a, laughs), aliasing) != NULL);
    CHECK(strstr(convert(a, merges), aliasing) != NULL);
    /* one large string many times */
    CHECK(strstr(convert(a, arena_printf(a, "- &a %s\n- [%s]\n", repeat(a, "x", 10000),
                                         repeat(a, "*a ,", 2000))),
                 aliasing) != NULL);
    /* ordinary use of aliases passes */
    CHECK(strstr(convert(a, arena_printf(a, "- &a {name: web, image: img}\n- [%s]\n",
                                         repeat(a, "*a ,", 500))),
                 aliasing) == NULL);
}

TEST(nesting_is_limited)
{
    scoped_arena a = arena_new();
    const char *deep = arena_printf(a, "%s%s", repeat(a, "[", 300), repeat(a, "]", 300));

    CHECK(strstr(convert(a, repeat(a, "[", 100000)), "yaml") != NULL);
    CHECK(strstr(convert(a, repeat(a, "- ", 10000)), "exceeded max depth") != NULL);
    CHECK(strstr(convert(a, repeat(a, "? ", 10000)), "exceeded max depth") != NULL);
    CHECK(strstr(convert(a, repeat(a, "{a: ", 100000)), "exceeded max depth") != NULL);
    /* an alias brings its depth along, also through a second anchor */
    CHECK(strstr(convert(a, arena_printf(a, "a: &a %s\nb: %s*a %s\n", deep, repeat(a, "[", 300),
                                         repeat(a, "]", 300))),
                 "exceeded max depth") != NULL);
    CHECK(strstr(convert(a, arena_printf(a, "a: &a %s\nb: &b [*a , x]\nc: %s*b %s\n", deep,
                                         repeat(a, "[", 212), repeat(a, "]", 212))),
                 "exceeded max depth") != NULL);
    CHECK(strstr(convert(a, arena_printf(a, "a: &a %s\nb: %s*a %s\n", deep, repeat(a, "[", 200),
                                         repeat(a, "]", 200))),
                 "exceeded max depth") == NULL);
}

TEST(directives_are_limited)
{
    scoped_arena a = arena_new();
    struct buf b;

    buf_init(&b, 16 << 20);
    for (int i = 0; i < 100000; i++)
        buf_printf(&b, "%%TAG !t%d! t%d\n", i, i);
    buf_lit(&b, "---\nx: 1\n");
    CHECK_STR(convert_str(a, buf_str(&b)), "YAML text with too many %TAG directives");
    buf_release(&b);
    CHECK_STR(convert(a, "%TAG !t! tag:yaml.org,2002:\n---\nx: !t!str 1\n"), "{\"x\":\"1\"}");
}

TEST(many_anchors_are_found_fast)
{
    scoped_arena a = arena_new();
    struct buf b;
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    buf_init(&b, 16 << 20);
    for (int i = 0; i < 30000; i++)
        buf_printf(&b, "- &n%d %d\n- *n%d\n", i, i, i / 2);
    REQUIRE(json_parse_yaml(a, buf_str(&b), NULL, &v, &st) == 0);
    CHECK(json_int(json_at(v, 59999), 0) == 14999);
    buf_release(&b);
}

/* No prefix of a text with all features makes trouble; nothing is read behind it. */
TEST(cut_texts)
{
    static const char text[] =
        "%YAML 1.1\n---\na: &x [1, -2.5e3, yes, ~, \"\\u00e9\"]\n"
        "b: {<<: {c: *x }, ? d : !!int '5'}\n'e': |\n  text\n? f\n: >-\n  g\n";
    scoped_arena a = arena_new();

    for (size_t n = 0; n < sizeof(text); n++) {
        char *cut = mem_dup(text, n ? n : 1);

        CHECK(convert_str(a, (str){ cut, n < sizeof(text) - 1 ? n : n - 1 }) != NULL);
        free(cut);
    }
    CHECK_STR(convert(a, text), "{\"a\":[1,-2500,true,null,\"\xc3\xa9\"],"
                                "\"b\":{\"c\":[1,-2500,true,null,\"\xc3\xa9\"],\"d\":5},"
                                "\"e\":\"text\\n\",\"f\":\"g\"}");
}

TEST(yaml_is_written_as_kubernetes_tools_do)
{
    static const struct {
        const char *json, *yaml;
    } cases[] = {
        { "{\"list\":[\"zz\",\"b\"],\"k\":7,\"b\":1,\"a\":2}",
          "a: 2\nb: 1\nk: 7\nlist:\n- zz\n- b\n" },
        { "{\"a\":\"true\",\"b\":\"1\",\"c\":\"\",\"d\":null,\"e\":1.5,\"f\":false}",
          "a: \"true\"\nb: \"1\"\nc: \"\"\nd: null\ne: 1.5\nf: false\n" },
        { "{\"a\":\"x: y\",\"b\":\"- z\",\"c\":\"2001-01-01\",\"d\":\"0.0.0.0\"}",
          "a: 'x: y'\nb: '- z'\nc: \"2001-01-01\"\nd: 0.0.0.0\n" },
        { "{\"a\":\"one\\ntwo\\n\",\"b\":{},\"c\":[]}", "a: |\n  one\n  two\nb: {}\nc: []\n" },
        { "[{\"a\":[1]}]", "- a:\n  - 1\n" },
        { "{\"a\":\"1:30\",\"b\":\"1-2-3\",\"c\":\"1_000\",\"d\":\"=\",\"e\":\"~\",\"f\":\"1e3\"}",
          "a: \"1:30\"\nb: 1-2-3\nc: \"1_000\"\nd: =\ne: \"~\"\nf: \"1e3\"\n" },
        { "{\"k9\":1,\"k10\":1,\"k09\":1,\"ka\":1,\"k-\":1,\".\":1,\"f:a\":1,\"B\":1,\"k\":1}",
          ".: 1\nB: 1\nf:a: 1\nk: 1\nk-: 1\nk9: 1\nk09: 1\nk10: 1\nka: 1\n" },
        { "{\"message\":\"only the following media types are accepted: "
          "application/json;stream=watch, "
          "application/vnd.kubernetes.protobuf\"}",
          "message: 'only the following media types are accepted: application/json;stream=watch,\n"
          "  application/vnd.kubernetes.protobuf'\n" },
        { "\"x\"", "x\n" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        const struct json *v, *back;
        struct status st;
        scoped_buf b;

        buf_init(&b, 1 << 16);
        status_init(&st, a);
        REQUIRE(json_parse(a, str_of(cases[i].json), NULL, &v, &st) == 0);
        json_print_yaml(&b, v);
        CHECK_STR(str_z(a, buf_str(&b)), cases[i].yaml);
        REQUIRE(json_parse_yaml(a, buf_str(&b), NULL, &back, &st) == 0);
        CHECK(json_equal(v, back));
    }
}
