/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel.h"

#include <stdlib.h>

#include "object/cel/cel_internal.h"
#include "tap.h"

/* Expressions and what they give: printed as format() prints with %s; "!…" is an error of the run,
 * "?…" one of compiling (a part of it). */

struct row {
    const char *text, *want;
};

/* `x` is dyn: {"i":5,"s":"abc","d":1.5,"l":[1,2,3],"m":{"a":1,"b":2},"n":null,"b":true} */
static const char data[] = "{\"i\":5,\"s\":\"abc\",\"d\":1.5,\"l\":[1,2,3],\"m\":{\"a\":1,\"b\":2},"
                           "\"n\":null,\"b\":true,\"e\":[],\"z\":0,\"ss\":[\"b\",\"a\"]}";

static str show(struct cel_run *r, const struct cel_value *v)
{
    struct cel_value args[2] = { cel_str(STR("%s")) };
    struct cel_value out;

    if (v->kind == CEL_ERROR)
        return str_printf(r->arena, "!%.*s", STR_ARG(v->s));
    if (v->kind == CEL_OPTIONAL)
        return v->values ? str_printf(r->arena, "optional(%.*s)", STR_ARG(show(r, v->values)))
                         : STR("none");
    args[1] = cel_list(v, 1);
    out = cel_find(STR("format"))->fn(r, args);
    return out.kind == CEL_STRING ? out.s : str_of(cel_kind_name(v->kind));
}

static const char *result(struct arena *a, const char *text)
{
    struct cel_var vars[] = { { STR("x"), &cel_types[CEL_DYN] } };
    struct cel_run run = { .arena = a, .limit = 1000000 };
    const struct cel_program *p;
    const struct json *v = &json_null;
    struct cel_value x, out;
    struct status st;
    str why = STR_NONE;

    status_init(&st, a);
    CHECK(json_parse(a, str_of(data), NULL, &v, &st) == 0);
    p = cel_compile(a, str_of(text), vars, 1, &why);
    if (!p)
        return arena_printf(a, "?%.*s", STR_ARG(why));
    x = cel_of_json(&run, v, NULL);
    out = cel_eval(p, &x, &run);
    return str_z(a, show(&run, &out));
}

static void run_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_arena a = arena_new();
        const char *got = result(a, rows[i].text), *want = rows[i].want;
        bool fine = want[0] == '?' ? got[0] == '?' && strstr(got, want + 1) : !strcmp(got, want);

        if (!CHECK(fine))
            printf("# %s\n#  got: %s\n# want: %s\n", rows[i].text, got, want);
    }
}

#define ROWS(name, ...)                                   \
    TEST(name)                                            \
    {                                                     \
        static const struct row rows[] = { __VA_ARGS__ }; \
        run_rows(rows, sizeof(rows) / sizeof(*rows));     \
    }

ROWS(literals, { "1", "1" }, { "-1", "-1" }, { "0x1F", "31" }, { "-0x1f", "-31" }, { "1u", "1" },
     { "9223372036854775807", "9223372036854775807" },
     { "-9223372036854775808", "-9223372036854775808" },
     { "9223372036854775808", "?invalid int literal" },
     { "18446744073709551615u", "18446744073709551615" }, { "18446744073709551616u", "?invalid" },
     { "1.5", "1.5" }, { ".5", "0.5" }, { "1e3", "1000" }, { "1.5e-3", "0.0015" },
     { "true", "true" }, { "null", "null" }, { "'a'", "a" }, { "\"a\"", "a" },
     { "'''a'b'''", "a'b" }, { "\"\"\"a\nb\"\"\"", "a\nb" }, { "r'a\\n'", "a\\n" },
     { "'a\\n\\t\\x41\\101\\u00e9\\U0001F600'", "a\n\tAA\xc3\xa9\xf0\x9f\x98\x80" },
     { "'\\q'", "?invalid escape sequence" }, { "'a", "?the string is not closed" },
     { "'\\ud800'", "?invalid escape sequence" }, { "rb'a'", "?Syntax" }, { "0X1", "?Syntax" },
     { "[,]", "[]" }, { "{,}", "{}" }, { "has(has(x.i))", "true" }, { ".x.i", "5" },
     { "b'abc'", "abc" }, { "b'\\xff' == b'\\377'", "true" }, { "size(b'\\xff')", "1" },
     { "[1, 2, 3]", "[1, 2, 3]" }, { "[]", "[]" }, { "[1, 2,]", "[1, 2]" },
     { "{'a': 1, 'b': 2}", "{a: 1, b: 2}" }, { "{}", "{}" }, { "{'a': 1,}", "{a: 1}" },
     { "[1, 'a']", "?expected type 'int' but found 'string'" },
     { "[1, dyn('a')]", "?expected type 'int' but found 'dyn'" },
     { "{'a': 1, 'b': 'c'}", "?expected type" }, { "{1.5: 1}", "!unsupported key type" },
     { "{'a': 1, 'a': 2}.a", "2" }, { "// comment\n1", "1" }, { "1 // comment", "1" })

/* As cel-go words them. */
ROWS(misused_words, { "for", "?reserved identifier: for" }, { "x.for == 1", "!no such key: for" },
     { "a.B{}", "?undeclared reference to 'a.B' (in container '')" },
     { "[1].map(1, 1)", "?argument is not an identifier" },
     { "has(x)", "?invalid argument to has() macro" })

/* All of them, by their places; what is wrong fits everywhere. */
ROWS(
    all_faults,
    { "a + b(c)", "?ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n"
                  " | a + b(c)\n"
                  " | ^\n"
                  "ERROR: <input>:1:6: undeclared reference to 'b' (in container '')\n"
                  " | a + b(c)\n"
                  " | .....^\n"
                  "ERROR: <input>:1:7: undeclared reference to 'c' (in container '')\n"
                  " | a + b(c)\n"
                  " | ......^" },
    { "'\xc3\xa9' + 1 == 2",
      "?ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n"
      " | '\xc3\xa9' + 1 == 2\n"
      " | .\xef\xbc\x8e..^" },
    { "quantity('1').add(1.5).nope()",
      "?found no matching overload for 'add' applied to 'kubernetes.Quantity.(double)'" },
    { "1 && 'a'", "?expected type 'bool' but found 'string'" },
    { "['a'].filter(i, i)",
      "?found no matching overload for '_?_:_' applied to '(string, list(string), list(string))'" },
    { "['a'].exists_one(i, i)",
      "?found no matching overload for '_?_:_' applied to '(string, int, int)'" },
    { "['a'].sortBy(i, [i])", "?found no matching overload for '@sortByAssociatedKeys' applied to "
                              "'list(string).(list(list(string)))'" },
    { "[1][?'a']", "?found no matching overload for '_[?_]' applied to '(list(int), string)'" },
    { "timestamp(0) * 2", "?found no matching overload for '_*_' applied to '(timestamp, int)'" },
    { "has('a'.b)", "?<input>:1:4: type 'string' does not support field selection" })

/* A constant format is looked at before it runs. */
ROWS(
    formats_are_checked, { "'%s %d'.format(['a'])", "?<input>:1:15: index 1 out of range" },
    { "'%s'.format(['a', 'b'])",
      "?too many arguments supplied to string.format (expected 1, got 2)" },
    { "'%z'.format(['a'])",
      "?could not parse formatting clause: unrecognized formatting clause \"z\"" },
    { "'%'.format(['a'])", "?unexpected end of string" },
    { "'%.f'.format([1.0])", "?strconv.Atoi: parsing \"\": invalid syntax" },
    { "'%.2f'.format([1])",
      "?<input>:1:16: error during formatting: fixed-point clause can only be used on doubles, was "
      "given int" },
    { "'%s'.format([[ip('::1')]])", "?was given net.IP" }, { "'%d%%'.format([x.i])", "5%" })

ROWS(zones_by_name, { "timestamp('2024-07-01T12:00:00Z').getHours('Europe/Berlin')", "14" },
     { "timestamp('2024-01-01T12:00:00Z').getHours('Europe/Berlin')", "13" },
     { "timestamp('2024-01-01T12:00:00Z').getHours('Nowhere')", "!unknown time zone Nowhere" })

ROWS(misused_names, { "nope", "?undeclared reference to 'nope' (in container '')" },
     { "nope()", "?undeclared reference to 'nope'" },
     { "Foo{a: 1}", "?undeclared reference to 'Foo'" },
     { "[1].all(1, true)", "?argument must be a simple name" },
     { "[1].all(a, a, true)", "?duplicate variable name: a" })

/* As cel-go has it: two signs are none, and a number has its own. */
ROWS(signs, { "--1", "1" }, { "---1", "-1" }, { "!!true", "true" }, { "!!!true", "false" },
     { "1 - -1", "2" }, { "!-x.i", "?expected an expression but found '-'" },
     { "-!x.b", "?expected an expression but found '!'" }, { "-9223372036854775808 < 0", "true" },
     { "- 9223372036854775808 < 0", "true" }, { "-x.i", "-5" }, { "--x.i", "5" },
     { "-1.5", "-1.5" }, { "[1, 2][-1 + 2]", "2" })

ROWS(arithmetic, { "1 + 2 * 3", "7" }, { "(1 + 2) * 3", "9" }, { "7 / 2", "3" }, { "-7 / 2", "-3" },
     { "7 % 3", "1" }, { "-7 % 3", "-1" }, { "1 - 2 - 3", "-4" }, { "8 / 2 / 2", "2" },
     { "1 / 0", "!division by zero" }, { "1 % 0", "!modulus by zero" },
     { "1u / 0u", "!division by zero" }, { "1u - 2u", "!unsigned integer overflow" },
     { "9223372036854775807 + 1", "!integer overflow" },
     { "-9223372036854775808 - 1", "!integer overflow" },
     { "-9223372036854775808 / -1", "!integer overflow" },
     { "-9223372036854775808 % -1", "!integer overflow" },
     { "-(-9223372036854775808)", "!integer overflow" },
     { "4611686018427387904 * 2", "!integer overflow" }, { "1.5 + 2.25", "3.75" },
     { "1.0 / 0.0", "+Inf" }, { "-1.0 / 0.0", "-Inf" }, { "0.0 / 0.0", "NaN" },
     { "1 + 1.0", "?no matching overload for '_+_' applied to '(int, double)'" },
     { "1 + 1u", "?no matching overload" }, { "1.0 % 2.0", "?no matching overload" },
     { "'a' + 'b'", "ab" }, { "b'a' + b'b'", "ab" }, { "[1] + [2, 3]", "[1, 2, 3]" },
     { "[] + [1]", "[1]" },
     { "'a' + 1", "?no matching overload for '_+_' applied to '(string, int)'" }, { "-x.i", "-5" },
     { "!x.b", "false" }, { "!!true", "true" }, { "- -1", "1" }, { "x.i + 1", "6" },
     { "x.i + 'a'", "!no such overload" }, { "x.s + 'd'", "abcd" }, { "x.d * 2.0", "3" })

ROWS(relations, { "1 < 2", "true" }, { "2 <= 2", "true" }, { "1 > 2", "false" },
     { "1 >= 2", "false" }, { "1 == 1", "true" }, { "1 != 1", "false" }, { "1 < 1.5", "true" },
     { "2.5 > 2", "true" }, { "1u < 2", "true" }, { "-1 < 1u", "true" }, { "1.5 >= 1u", "true" },
     { "'a' < 'b'", "true" }, { "'b' <= 'a'", "false" }, { "b'a' < b'b'", "true" },
     { "false < true", "true" }, { "1 == 1.0", "?no matching overload for '_==_'" },
     { "dyn(1) == 1.0", "true" }, { "dyn(1) == 1u", "true" }, { "dyn(1) == 'a'", "false" },
     { "dyn(9223372036854775807) == 9223372036854775807.0", "false" },
     { "0.0 / 0.0 == 0.0 / 0.0", "false" }, { "0.0 / 0.0 < 1.0", "false" },
     { "0.0 / 0.0 > 1.0", "false" }, { "0.0 / 0.0 >= 1.0", "false" },
     { "[1, 2] == [1, 2]", "true" }, { "[1, 2] == [2, 1]", "false" }, { "[1] == [1, 2]", "false" },
     { "{'a': 1} == {'a': 1}", "true" }, { "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true" },
     { "{'a': 1} == {'a': 2}", "false" }, { "null == null", "true" }, { "x.n == null", "true" },
     { "x.i == null", "false" }, { "'a' == null", "?no matching overload" },
     { "1 < 'a'", "?no matching overload for '_<_' applied to '(int, string)'" },
     { "[1] < [2]", "?no matching overload" }, { "x.i > 'x'", "!no such overload" },
     { "1 in [1, 2]", "true" }, { "3 in [1, 2]", "false" }, { "'a' in {'a': 1}", "true" },
     { "'c' in {'a': 1}", "false" }, { "'a' in x.m", "true" }, { "2 in x.l", "true" },
     { "'a' in ['b']", "false" }, { "1 in ['b']", "?no matching overload for '@in'" },
     { "type(1) == int", "true" }, { "type('a') == string", "true" },
     { "type(1) == uint", "false" }, { "type(x.i) == int", "true" }, { "type([]) == list", "true" },
     { "type({}) == map", "true" }, { "type(null) == null_type", "true" },
     { "type(type(1)) == type", "true" },
     { "type(duration('1s')) == google.protobuf.Duration", "true" })

ROWS(logic, { "true && false", "false" }, { "true || false", "true" },
     { "true && true && false", "false" }, { "false || false || true", "true" },
     { "1 / 0 > 0 || true", "true" }, { "true || 1 / 0 > 0", "true" },
     { "1 / 0 > 0 && false", "false" }, { "false && 1 / 0 > 0", "false" },
     { "1 / 0 > 0 && true", "!division by zero" }, { "1 / 0 > 0 || false", "!division by zero" },
     { "x.i && true", "!no such overload" }, { "x.i || true", "true" },
     { "1 && true", "?expected type 'bool' but found 'int'" }, { "true ? 1 : 2", "1" },
     { "false ? 1 : 2", "2" }, { "true ? 1 : 1 / 0", "1" }, { "false ? 1 : true ? 2 : 3", "2" },
     { "true ? 1 : 'a'", "?no matching overload for '_?_:_'" },
     { "1 ? 2 : 3", "?no matching overload for '_?_:_'" }, { "x.i ? 1 : 2", "!no such overload" },
     { "!1", "?no matching overload for '!_'" })

ROWS(fields, { "x.i", "5" }, { "x['i']", "5" }, { "x.nope", "!no such key: nope" },
     { "x['nope']", "!no such key: nope" }, { "x.m.a", "1" }, { "x.m['b']", "2" },
     { "x.l[0]", "1" }, { "x.l[3]", "!index out of bounds: 3" },
     { "x.l[-1]", "!index out of bounds: -1" }, { "x.l[1u]", "2" }, { "x.l[1.0]", "2" },
     { "x.l['a']", "!no such overload" }, { "has(x.i)", "true" }, { "has(x.nope)", "false" },
     { "has(x.m.a)", "true" }, { "has(x.nope.a)", "!no such key: nope" },
     { "has({'a': 1}.a)", "true" }, { "has({'a': 1}.b)", "false" }, { "[1, 2][1]", "2" },
     { "{'a': 1}['a']", "1" }, { "{1: 'a'}[1]", "a" }, { "{true: 'a'}[true]", "a" },
     { "{'a': 1}[1]", "?no matching overload for '_[_]'" },
     { "[1]['a']", "?no matching overload for '_[_]'" },
     { "1 .a", "?does not support field selection" }, { "{'a': {'b': 3}}.a.b", "3" },
     { "x.s.a", "!no such overload" }, { "x.`i`", "?unsupported syntax: '`'" })

ROWS(macros, { "[1, 2, 3].all(i, i > 0)", "true" }, { "[1, 2, 3].all(i, i > 1)", "false" },
     { "[].all(i, false)", "true" }, { "[1, 2].exists(i, i == 2)", "true" },
     { "[].exists(i, true)", "false" }, { "[1, 2, 2].exists_one(i, i == 2)", "false" },
     { "[1, 2].exists_one(i, i == 2)", "true" }, { "[1, 2].existsOne(i, i == 2)", "true" },
     { "[1, 2, 3].filter(i, i % 2 == 1)", "[1, 3]" }, { "[1, 2].map(i, i * 2)", "[2, 4]" },
     { "[1, 2, 3].map(i, i > 1, i * 2)", "[4, 6]" }, { "{'a': 1, 'b': 2}.map(k, k)", "[a, b]" },
     { "{'a': 1}.all(k, k == 'a')", "true" }, { "x.m.all(k, x.m[k] > 0)", "true" },
     { "x.l.map(i, i + 1)", "[2, 3, 4]" }, { "{'a': 1, 'b': 2}.filter(k, k > 'a')", "[b]" },
     { "[1, 0].all(i, 1 / i > 0)", "!division by zero" }, { "[0, 1].exists(i, 1 / i > 0)", "true" },
     { "[0, 2].all(i, 1 / i > 0)", "false" }, { "[0].exists(i, 1 / i > 0)", "!division by zero" },
     { "[1, 0].exists_one(i, 1 / i > 0)", "!division by zero" },
     { "[[1], [2, 3]].map(l, l.map(i, i * 10))", "[[10], [20, 30]]" },
     { "[1, 2].all(i, [3, 4].all(j, j > i))", "true" }, { "[1].map(i, [2].map(i, i))", "[[2]]" },
     { "[1, 2].all(i, v, i < v)", "true" }, { "{'a': 1}.all(k, v, k == 'a' && v == 1)", "true" },
     { "{'a': 1}.exists(k, v, v == 1)", "true" }, { "[5, 5].existsOne(i, v, i == 1)", "true" },
     { "[1, 2].transformList(i, v, i + v)", "[1, 3]" },
     { "[1, 2].transformList(i, v, i > 0, v)", "[2]" },
     { "{'a': 1}.transformMap(k, v, v + 1)", "{a: 2}" },
     { "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", "{b: 2}" },
     { "['a', 'b'].transformMap(i, v, v)", "{0: a, 1: b}" },
     { "{'a': 'b'}.transformMapEntry(k, v, {v: k})", "{b: a}" },
     { "[1, 1].transformMapEntry(i, v, {v: i})", "!Failed with repeated key" },
     { "1 .all(i, true)", "?cannot be range of a comprehension" },
     { "[1].all(i, i)", "?expected type 'bool' but found 'int'" },
     { "x.i.all(i, true)", "!no such overload" },
     { "[1].all(i, j > 0)", "?undeclared reference to 'j'" },
     { "[1].all(i, true) && i > 0", "?undeclared reference to 'i'" })

ROWS(optionals, { "x.?i", "optional(5)" }, { "x.?nope", "none" }, { "x.?nope.a", "none" },
     { "x.?m.a", "optional(1)" }, { "x.?i.orValue(0)", "5" }, { "x.?nope.orValue(0)", "0" },
     { "x.?i.hasValue()", "true" }, { "x.?nope.hasValue()", "false" },
     { "x.?nope.value()", "!optional.none() dereference" }, { "x.?i.value()", "5" },
     { "x.l[?0]", "optional(1)" }, { "x.l[?9]", "none" }, { "x.m[?'a'].orValue(7)", "1" },
     { "optional.of(1)", "optional(1)" }, { "optional.none()", "none" },
     { "optional.none().orValue(3)", "3" }, { "optional.of(1).or(optional.of(2))", "optional(1)" },
     { "optional.none().or(optional.of(2))", "optional(2)" },
     { "optional.ofNonZeroValue(0)", "none" }, { "optional.ofNonZeroValue('a')", "optional(a)" },
     { "[?x.?i, ?x.?nope]", "[5]" }, { "{?'a': x.?i, ?'b': x.?nope}", "{a: 5}" },
     { "optional.of(2).optMap(v, v * 2)", "optional(4)" }, { "x.?nope.optMap(v, v * 2)", "none" },
     { "optional.of(2).optFlatMap(v, optional.none())", "none" },
     { "optional.of(1) == optional.of(1)", "true" },
     { "optional.none() == optional.of(1)", "false" })

ROWS(conversions, { "int('42')", "42" }, { "int(1.9)", "1" }, { "int(-1.9)", "-1" },
     { "int(3u)", "3" }, { "int('x')", "!strconv.ParseInt: parsing \"x\": invalid syntax" },
     { "int(1e30)", "!integer overflow" }, { "int(18446744073709551615u)", "!integer overflow" },
     { "int(timestamp('1970-01-01T00:01:00Z'))", "60" }, { "uint(5)", "5" },
     { "uint(-1)", "!unsigned integer overflow" }, { "uint('7')", "7" }, { "double(3)", "3" },
     { "double('1.5')", "1.5" }, { "double('1e3')", "1000" },
     { "double('x')", "!strconv.ParseFloat: parsing \"x\": invalid syntax" },
     { "double('1.2.3')", "!strconv.ParseFloat: parsing \"1.2.3\": invalid syntax" },
     { "double('NaN')", "NaN" }, { "string(1)", "1" }, { "string(1.5)", "1.5" },
     { "string(true)", "true" }, { "string(b'abc')", "abc" },
     { "string(b'\\xff')", "!invalid UTF-8 in bytes, cannot convert to string" },
     { "string(1u)", "1" }, { "string(duration('90s'))", "90s" },
     { "string([1])", "?no matching overload" }, { "bytes('abc') == b'abc'", "true" },
     { "bool('true')", "true" }, { "bool('False')", "false" },
     { "bool('x')", "!strconv.ParseBool: parsing \"x\": invalid syntax" }, { "dyn(1) + 1", "2" },
     { "string(x.i) == '5'", "true" },
     { "int(x.s)", "!strconv.ParseInt: parsing \"abc\": invalid syntax" })

ROWS(strings, { "size('h\xc3\xa9')", "2" }, { "'abc'.size()", "3" },
     { "'abc'.contains('bc')", "true" }, { "'abc'.startsWith('ab')", "true" },
     { "'abc'.endsWith('bc')", "true" }, { "'abc'.contains('')", "true" },
     { "'abc'.matches('^a.c$')", "true" }, { "'abc'.matches('b')", "true" },
     { "matches('abc', 'x')", "false" }, { "'abc'.matches('(')", "?invalid matches argument" },
     { "'abc'.matches(x.s)", "true" }, { "'abc'.charAt(1)", "b" }, { "'abc'.charAt(3)", "" },
     { "'abc'.charAt(4)", "!index out of range: 4" }, { "'h\xc3\xa9llo'.charAt(1)", "\xc3\xa9" },
     { "'hello'.indexOf('l')", "2" }, { "'hello'.indexOf('l', 3)", "3" },
     { "'hello'.indexOf('x')", "-1" }, { "'hello'.indexOf('')", "0" },
     { "'hello'.indexOf('l', 9)", "!index out of range: 9" }, { "'hello'.lastIndexOf('l')", "3" },
     { "'hello'.lastIndexOf('l', 2)", "2" }, { "'hello'.lastIndexOf('')", "5" },
     { "'ABC'.lowerAscii()", "abc" }, { "'abc'.upperAscii()", "ABC" },
     { "'abab'.replace('a', 'x')", "xbxb" }, { "'abab'.replace('a', 'x', 1)", "xbab" },
     { "'ab'.replace('', '-')", "-a-b-" }, { "'abab'.replace('a', 'x', 0)", "abab" },
     { "'a,b,c'.split(',')", "[a, b, c]" }, { "'a,b,c'.split(',', 2)", "[a, b,c]" },
     { "'abc'.split('')", "[a, b, c]" }, { "'a,b'.split(',', 0)", "[]" }, { "''.split(',')", "[]" },
     { "'hello'.substring(1)", "ello" }, { "'hello'.substring(1, 3)", "el" },
     { "'hello'.substring(3, 1)", "!invalid substring range. start: 3, end: 1" },
     { "'  a b '.trim()", "a b" }, { "'\xc2\xa0x'.trim()", "x" }, { "['a', 'b'].join()", "ab" },
     { "['a', 'b'].join(', ')", "a, b" }, { "x.ss.join('-')", "b-a" },
     { "x.l.join('-')", "!no such overload" }, { "strings.quote('a\"b\\n')", "\"a\\\"b\\n\"" },
     { "'abc 123'.find('[0-9]+')", "123" }, { "'abc'.find('[0-9]')", "" },
     { "'1 22 333'.findAll('[0-9]+')", "[1, 22, 333]" },
     { "'1 22 333'.findAll('[0-9]+', 2)", "[1, 22]" }, { "'aXbX'.find('a.*?X')", "aX" },
     { "'%s is %d'.format(['a', 5])", "a is 5" }, { "'%s is %d'.format([dyn('a'), 5])", "a is 5" },
     { "'%.2f'.format([1.005])", "1.00" },
     { "'%x %X %b %o'.format([255, 255, 5, 8])", "ff FF 101 10" },
     { "'%e'.format([1500.0])", "1.500000e+03" }, { "'%%'.format([])", "%" },
     { "'%s'.format([])", "?index 0 out of range" },
     { "'%d'.format(['a'])", "?decimal clause can only be used on integers, was given string" },
     { "'%s'.format([[1, 2]])", "[1, 2]" }, { "1.5.contains('a')", "?" })

ROWS(lists, { "size([1, 2])", "2" }, { "[1, 2].size()", "2" }, { "size({'a': 1})", "1" },
     { "[1, 2, 3].isSorted()", "true" }, { "[2, 1].isSorted()", "false" },
     { "[1, 2, 3].sum()", "6" }, { "[1.5, 2.5].sum()", "4" },
     { "[duration('1s'), duration('2s')].sum() == duration('3s')", "true" },
     { "[3, 1, 2].min()", "1" }, { "[3, 1, 2].max()", "3" }, { "['b', 'a'].min()", "a" },
     { "[].min()", "!min called on empty list" }, { "[1, 2, 1].indexOf(1)", "0" },
     { "[1, 2, 1].lastIndexOf(1)", "2" }, { "[1].indexOf(9)", "-1" },
     { "[1, 1, 2].distinct()", "[1, 2]" }, { "[[1], [2, 3]].flatten()", "[1, 2, 3]" },
     { "[1, 2, 3].reverse()", "[3, 2, 1]" }, { "[1, 2, 3].slice(1, 3)", "[2, 3]" },
     { "[1].slice(0, 2)", "!cannot slice(0, 2), list is length 1" },
     { "[3, 1, 2].sort()", "[1, 2, 3]" }, { "lists.range(3)", "[0, 1, 2]" },
     { "lists.range(-1)", "!lists.range: -1 is out of range" },
     { "['aa', 'b'].sortBy(s, s.size())", "[b, aa]" }, { "[1, 2].first()", "optional(1)" },
     { "[1, 2].last()", "optional(2)" }, { "[].first()", "none" }, { "x.l.sum()", "6" },
     { "x.ss.min()", "a" }, { "sets.contains([1, 2], [1])", "true" },
     { "sets.contains([1], [1, 2])", "false" }, { "sets.equivalent([1, 2], [2, 1, 1])", "true" },
     { "sets.intersects([1], [2])", "false" }, { "sets.intersects([1, 2], [2])", "true" })

ROWS(times, { "duration('1h') == duration('60m')", "true" }, { "duration('1.5s')", "1.5s" },
     { "duration('x')", "?invalid duration argument" },
     { "duration(x.s)", "!time: invalid duration \"abc\"" },
     { "duration('1h').getMinutes()", "60" }, { "duration('90m').getHours()", "1" },
     { "duration('1.5s').getMilliseconds()", "500" }, { "duration('-1s') < duration('0')", "true" },
     { "timestamp('2024-02-29T12:34:56Z')", "2024-02-29T12:34:56Z" },
     { "timestamp('2024-02-29T12:34:56.123Z').getMilliseconds()", "123" },
     { "timestamp('2023-02-29T12:34:56Z')", "?invalid timestamp argument" },
     { "timestamp('2024-01-01T01:00:00+01:00')", "2024-01-01T00:00:00Z" },
     { "timestamp('2024-01-01T00:00:00Z') + duration('24h')", "2024-01-02T00:00:00Z" },
     { "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z')", "86400s" },
     { "timestamp('2024-01-02T00:00:00Z') - duration('1s')", "2024-01-01T23:59:59Z" },
     { "timestamp('9999-12-31T23:59:59Z') + duration('1s')", "!timestamp overflow" },
     { "timestamp('2024-02-29T00:00:00Z').getFullYear()", "2024" },
     { "timestamp('2024-02-29T00:00:00Z').getMonth()", "1" },
     { "timestamp('2024-02-29T00:00:00Z').getDate()", "29" },
     { "timestamp('2024-02-29T00:00:00Z').getDayOfMonth()", "28" },
     { "timestamp('2024-02-29T00:00:00Z').getDayOfWeek()", "4" },
     { "timestamp('2024-02-29T00:00:00Z').getDayOfYear()", "59" },
     { "timestamp('2024-02-29T23:30:00Z').getHours('+01:00')", "0" },
     { "timestamp('2024-02-29T23:30:00Z').getHours('Mars/One')", "!unknown time zone Mars/One" },
     { "timestamp(0)", "1970-01-01T00:00:00Z" },
     { "timestamp('0001-01-01T00:00:00Z').getFullYear()", "1" })

ROWS(network, { "url('https://a.b:80/p?x=1&x=2').getHost()", "a.b:80" },
     { "url('https://a.b:80/p').getHostname()", "a.b" },
     { "url('https://a.b:80/p').getPort()", "80" },
     { "url('https://a.b/p%20q').getEscapedPath()", "/p%20q" },
     { "url('https://[::1]:80/').getHostname()", "::1" },
     { "url('https://a/?x=1&x=2&y=%20').getQuery()", "{x: [1, 2], y: [ ]}" },
     { "url('https://a').getScheme()", "https" }, { "isURL('https://a')", "true" },
     { "isURL('../a')", "false" }, { "isURL('/a')", "true" }, { "ip('1.2.3.4').family()", "4" },
     { "ip('::1').family()", "6" }, { "ip('::1').isLoopback()", "true" },
     { "isIP('1.2.3')", "false" }, { "isIP('01.2.3.4')", "false" },
     { "isIP('::ffff:1.2.3.4')", "false" }, { "ip('1.2.3.4') == ip('1.2.3.4')", "true" },
     { "string(ip('2001:DB8::1'))", "2001:db8::1" }, { "ip.isCanonical('2001:DB8::1')", "false" },
     { "ip.isCanonical('2001:db8::1')", "true" }, { "ip('10.0.0.1').isGlobalUnicast()", "true" },
     { "ip('0.0.0.0').isUnspecified()", "true" },
     { "ip('169.254.1.1').isLinkLocalUnicast()", "true" },
     { "ip('224.0.0.1').isLinkLocalMulticast()", "true" },
     { "cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true" },
     { "cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", "false" },
     { "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true" },
     { "cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", "false" },
     { "string(cidr('10.1.2.3/8').masked())", "10.0.0.0/8" },
     { "string(cidr('10.1.2.3/12').masked())", "10.0.0.0/12" },
     { "cidr('10.0.0.0/8').prefixLength()", "8" }, { "isCIDR('10.0.0.0/33')", "false" },
     { "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", "true" },
     { "cidr('::/0').containsIP('1.2.3.4')", "false" })

ROWS(things, { "quantity('1Ki').asInteger()", "1024" }, { "quantity('0.5').isInteger()", "false" },
     { "quantity('500m').asApproximateFloat()", "0.5" },
     { "quantity('1.5').asInteger()", "!cannot convert value to integer" },
     { "isQuantity('1G')", "true" }, { "isQuantity('x')", "false" },
     { "quantity('1') == quantity('1000m')", "true" },
     { "quantity('1').isLessThan(quantity('2'))", "true" },
     { "quantity('2').isGreaterThan(quantity('1'))", "true" },
     { "quantity('1').compareTo(quantity('2'))", "-1" }, { "sign(quantity('-1'))", "-1" },
     { "quantity('1').add(quantity('2')).asInteger()", "3" },
     { "quantity('5').sub(2).asInteger()", "3" }, { "semver('1.2.3').major()", "1" },
     { "semver('1.2.3').minor()", "2" }, { "semver('1.2.3').patch()", "3" },
     { "semver('1.2.3').isLessThan(semver('1.10.0'))", "true" },
     { "semver('1.0.0-a.1').compareTo(semver('1.0.0'))", "-1" },
     { "semver('1.0.0-2').isLessThan(semver('1.0.0-10'))", "true" }, { "isSemver('1.2')", "false" },
     { "isSemver('v1.2', true)", "true" }, { "isSemver('01.2.3')", "false" },
     { "semver('x')", "!semver parse error during conversion from string: \"x\"" },
     { "format.dns1123Label().validate('a-b')", "none" },
     { "format.dns1123Label().validate('A').hasValue()", "true" },
     { "format.named('dns1123Label').value().validate('x')", "none" },
     { "format.named('nope')", "none" }, { "!format.uuid().validate('x').hasValue()", "false" },
     { "format.date().validate('2024-01-01')", "none" },
     { "format.labelValue().validate('a_b')", "none" })

/* Deep, long and wide expressions end in an answer, whatever it is. */
TEST(nesting_is_limited)
{
    static const struct {
        const char *open, *close;
    } forms[] = { { "(", ")" },      { "[", "]" },     { "[0].map(i, ", ")" }, { "1+", "" },
                  { "true?1:", "" }, { "{'a':", "}" }, { "1+(", ")" },         { "string(", ")" } };
    const size_t times = 3000;

    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        scoped_arena a = arena_new();
        scoped_buf b;
        const char *got;

        buf_init(&b, 1 << 20);
        for (size_t k = 0; k < times; k++)
            buf_str_append(&b, str_of(forms[i].open));
        buf_lit(&b, "1");
        for (size_t k = 0; k < times; k++)
            buf_str_append(&b, str_of(forms[i].close));
        got = result(a, str_z(a, buf_str(&b)));
        CHECK(got[0] == '?' && strstr(got, "recursion"));
    }
}

static const char *repeated(struct arena *a, const char *first, const char *again, size_t times,
                            const char *last)
{
    scoped_buf b = { .max = 1 << 20 };

    buf_str_append(&b, str_of(first));
    for (size_t i = 0; i < times; i++)
        buf_str_append(&b, str_of(again));
    buf_str_append(&b, str_of(last));
    return str_z(a, buf_str(&b));
}

/* None of these may take time or memory that doubles with each level. */
TEST(deep_types_are_told_in_time)
{
    scoped_arena a = arena_new();
    const char *doubled = repeated(a, "[1]", ".map(a, {a: a})", 100, "");

    CHECK(strstr(result(a, repeated(a, "x", ".a", 240, "{}")), "undeclared reference to 'x.a.a"));
    CHECK(strstr(result(a, arena_printf(a, "[1, %s]", doubled)), "expected type 'int'"));
    CHECK(strstr(result(a, arena_printf(a, "1 + %s", doubled)), "no matching overload"));
    CHECK(result(a, arena_printf(a, "%s == %s", doubled, doubled))[0] == '!');
}

TEST(long_chains_are_not_deep)
{
    scoped_arena a = arena_new();
    scoped_buf b;

    buf_init(&b, 1 << 20);
    for (size_t k = 0; k < 2000; k++)
        buf_str_append(&b, STR("x.i == 5 && "));
    buf_lit(&b, "x.b");
    CHECK_STR(result(a, str_z(a, buf_str(&b))), "true");
}

static uint64_t cost_of(struct arena *a, const char *text, bool *over)
{
    struct cel_var vars[] = { { STR("x"), &cel_types[CEL_DYN] } };
    struct cel_run run = { .arena = a, .limit = 100000 };
    const struct json *v = &json_null;
    struct cel_value x, out;
    struct status st;
    str why = STR_NONE;
    const struct cel_program *p = cel_compile(a, str_of(text), vars, 1, &why);

    status_init(&st, a);
    if (!CHECK(p && json_parse(a, str_of(data), NULL, &v, &st) == 0))
        return 0;
    x = cel_of_json(&run, v, NULL);
    out = cel_eval(p, &x, &run);
    *over = cel_over_limit(&run);
    CHECK(!*over || (out.kind == CEL_ERROR &&
                     str_is(out.s, "operation cancelled: actual cost limit exceeded")));
    return run.cost;
}

/* What the cel-go of Kubernetes 1.35 says of the same. */
TEST(costs_are_those_of_cel_go)
{
    static const struct {
        const char *text;
        uint64_t cost;
    } rows[] = {
        { "x", 1 },
        { "x.m.a", 3 },
        { "x.l[x.z]", 4 },
        { "x.l[x.z + 1]", 6 },
        { "x.i == 5", 3 },
        { "x.s == ''", 2 },
        { "x.s + 'def'", 3 },
        { "'abc' + 'def'", 1 },
        { "x.b ? x.i : x.z", 3 },
        { "(x.b ? x.m : x.n).a", 4 },
        { "has(x.m.a)", 2 },
        { "x.?nope.orValue(1)", 1 },
        { "x.?m.?a.orValue(1)", 3 },
        { "[x.i, x.z][0]", 16 },
        { "{'a': x.i}.a", 34 },
        { "{'a': 1}.a", 2 },
        { "[1, 2]", 0 },
        { "x.i in [1, 2]", 2 },
        { "x.i in x.l", 5 },
        { "int('5')", 0 },
        { "int(x.d)", 3 },
        { "dyn(x).i", 4 },
        { "'abcdefghijklmnop'.contains('klmnopqrstuv')", 4 },
        { "'abcdefghijklmnop'.startsWith('a')", 2 },
        { "'abcdefghijklmnop'.matches('a.*p$')", 4 },
        { "matches('abcdefghijklmnop', 'a.*p$')", 1 },
        { "'éééééééééé'.lowerAscii()", 1 },
        { "'abcdefghijklmnop'.split('c')", 4 },
        { "['abcdefgh', 'abcdefgh'].join('')", 4 },
        { "'abcdefghijklmnop'.indexOf('c')", 1 },
        { "x.l.sum()", 5 },
        { "x.l.distinct()", 31 },
        { "['a', 'b'].sort()", 19 },
        { "[3, 1].sort()", 19 },
        { "[[1], [2]].flatten()", 13 },
        { "lists.range(7)", 18 },
        { "sets.equivalent(x.l, x.l)", 23 },
        { "x.l.all(i, i > 0)", 18 },
        { "x.l.all(i, i > 1)", 10 },
        { "x.l.exists(i, i == 2)", 18 },
        { "x.l.exists_one(i, i == 2)", 12 },
        { "x.l.filter(i, i > 1)", 35 },
        { "x.l.map(i, i * 2)", 45 },
        { "x.l.map(i, 1)", 9 },
        { "x.l.map(i, i > 1, i)", 35 },
        { "x.l.transformMap(i, v, v)", 15 },
        { "x.ss.transformMapEntry(i, v, {v: i})", 71 },
        { "x.l.sortBy(i, -i)", 48 },
        { "[2, 1].sortBy(i, -i)", 50 },
        { "optional.of(x.i).optMap(v, v + 1)", 11 },
        { "optional.none().optMap(v, v)", 3 },
        { "ip('192.168.0.1') == ip('::1')", 4 },
        { "ip('::1') != ip('::1')", 4 },
        { "cidr('10.0.0.0/8').containsIP('10.1.1.1')", 3 },
        { "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", 6 },
        { "quantity('100Mi').isGreaterThan(quantity('1'))", 3 },
        { "format.dns1123Label().validate('abc')", 9 },
        { "format.named('uri').value().validate('abc')", 278 },
        { "x.nope == 1 || true", 3 },
        { "x.l[7] == 1 || true", 4 },
    };
    bool over;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();
        uint64_t cost = cost_of(a, rows[i].text, &over);

        if (!CHECK(cost == rows[i].cost))
            printf("# %s costs %llu\n", rows[i].text, (unsigned long long)cost);
    }
}

TEST(runs_have_costs)
{
    scoped_arena a = arena_new();
    bool over;

    CHECK(cost_of(a, "true", &over) == 0 && !over);
    (void)cost_of(a, "lists.range(1000).all(i, lists.range(1000).all(j, i + j >= 0))", &over);
    CHECK(over);
    /* A limit that was passed cannot be hidden by an operator that absorbs errors. */
    (void)cost_of(a, "lists.range(1000).all(i, lists.range(1000).all(j, i + j >= 0)) || true",
                  &over);
    CHECK(over);
    (void)cost_of(a, "lists.range(1000).exists(i, lists.range(100).filter(j, 1 / 0 > 0) == [])",
                  &over);
    (void)cost_of(a, "lists.range(90000).map(i, [i, i, i, i]).size() > 0", &over);
    CHECK(over);
}

TEST(names_are_escaped)
{
    static const struct {
        const char *name, *escaped;
    } rows[] = { { "a", "a" },
                 { "a-b", "a__dash__b" },
                 { "a.b/c", "a__dot__b__slash__c" },
                 { "a__b", "a__underscores__b" },
                 { "namespace", "__namespace__" },
                 { "in", "__in__" } };
    scoped_arena a = arena_new();
    str out;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        REQUIRE(cel_escape(a, str_of(rows[i].name), &out));
        CHECK_STR(str_z(a, out), rows[i].escaped);
        REQUIRE(cel_unescape(a, str_of(rows[i].escaped), &out));
        CHECK_STR(str_z(a, out), rows[i].name);
    }
    CHECK(!cel_escape(a, STR("1a"), &out));
    CHECK(!cel_escape(a, STR("a b"), &out));
    CHECK(!cel_unescape(a, STR("a__nope__b"), &out));
}

TEST(errors_show_the_place)
{
    scoped_arena a = arena_new();

    CHECK_STR(result(a, "1 +\n  nope"),
              "?ERROR: <input>:2:3: undeclared reference to 'nope' (in container '')\n"
              " |   nope\n"
              " | ..^");
    /* A call is where its parenthesis is. */
    CHECK_STR(result(a, "nope(1)"),
              "?ERROR: <input>:1:5: undeclared reference to 'nope' (in container '')\n"
              " | nope(1)\n"
              " | ....^");
    CHECK_STR(result(a, "'a'.contains(1)"),
              "?ERROR: <input>:1:13: found no matching overload for 'contains' applied to "
              "'string.(int)'\n"
              " | 'a'.contains(1)\n"
              " | ............^");
}
