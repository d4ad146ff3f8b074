/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel.h"

#include "base/buf.h"
#include "tap.h"

static str compiled(struct arena *a, str text)
{
    struct cel_var vars[] = { { STR("x"), &cel_types[CEL_DYN] } };
    str why = STR_NONE;

    (void)cel_compile(a, text, vars, 1, &why);
    return why;
}

/* The first line, behind "ERROR: <input>:". */
static const char *fault(struct arena *a, str text)
{
    str rest = compiled(a, text), line = STR_NONE;

    (void)str_split(&rest, '\n', &line);
    return str_z(a, str_from(line, strlen("ERROR: <input>:")));
}

static const struct {
    const char *text, *want;
} rows[] = {
    { "self..n", "1:6: Syntax error: expected a name but found '.'" },
    { "a b c", "1:3: Syntax error: expected an operator or the end but found 'b'" },
    { " ==x 5", "1:2: Syntax error: expected an expression but found '=='" },
    { "(x", "1:3: Syntax error: expected ')' but found the end" },
    { "x.f(1 2)", "1:7: Syntax error: expected ',' or ')' but found '2'" },
    { "{1:if 2}", "1:4: reserved identifier: if" },
    { "a ? b c : d e", "1:7: Syntax error: expected ':' but found 'c'" },
    { "x.true", "1:3: Syntax error: expected a name but found 'true'" },
    { "x.?1", "1:4: Syntax error: expected a name but found '1'" },
    { "x.`a b`", "1:3: unsupported syntax: '`'" },
    { "`x`", "1:1: Syntax error: expected an expression but found '`x`'" },
    { "!-x", "1:2: Syntax error: expected an expression but found '-'" },
    { "-!x", "1:2: Syntax error: expected an expression but found '!'" },
    { "x.y{a:1", "1:4: undeclared reference to 'x.y' (in container '')" },
    { "f(,)", "1:3: Syntax error: expected an expression but found ','" },
    { "[1 2, 3 4]", "1:4: Syntax error: expected ',' or ']' but found '2'" },
    { "{1 2: 3 4}", "1:4: Syntax error: expected ':' but found '2'" },
    { "if + for", "1:1: reserved identifier: if" },
    { "x.all(if, 1)", "1:7: reserved identifier: if" },
    { "x.all(a || b || c, true)", "1:9: argument must be a simple name" },
    { "x.sortBy(1, 2)", "1:10: argument is not an identifier" },
    { "{}.sortBy(a, 2)", "1:1: sortBy can only be applied to a list, identifier, comprehension, "
                         "call or select expression" },
    { "x.optMap(1, 2)", "1:10: optMap() variable name must be a simple identifier" },
    { "x.transformMapEntry(a, a, 3)", "1:24: duplicate variable name: a" },
    { "x.all(__result__, true)", "1:7: iteration variable overwrites accumulator variable" },
    { "has(x[0])", "1:6: invalid argument to has() macro" },
    { "9223372036854775808", "1:1: invalid int literal" },
    { "-9223372036854775809", "1:2: invalid int literal" },
    { "18446744073709551616u", "1:1: invalid uint literal" },
    { "1e999", "1:1: invalid double literal" },
    { "b\"\\u0041\"", "1:3: Syntax error: invalid escape sequence" },
    { "'\\ud800'", "1:2: Syntax error: invalid escape sequence" },
    { "'\\q'", "1:2: Syntax error: invalid escape sequence" },
    { "'a", "1:1: Syntax error: the string is not closed" },
    { "\"\"\"", "1:1: Syntax error: the string is not closed" },
    { "rb'x'", "1:3: Syntax error: expected an operator or the end but found a string" },
    { "x 'a secret'", "1:3: Syntax error: expected an operator or the end but found a string" },
    { "0xg", "1:3: Syntax error: expected digits behind '0x'" },
    { "`a", "1:1: Syntax error: the name in backquotes is not valid" },
    { "1 = 2", "1:3: Syntax error: expected '==' but found '='" },
    { "a & b", "1:3: Syntax error: expected '&&' but found '&'" },
    { "@", "1:1: Syntax error: unexpected character '@'" },
    { "x == 'é' é", "1:10: Syntax error: unexpected character 'é'" },
    { "? a", "1:1: Syntax error: expected an expression but found '?'" },
    { "in in", "1:1: Syntax error: expected an expression but found 'in'" },
    { "1)", "1:2: Syntax error: expected an operator or the end but found ')'" },
    { "{1}", "1:3: Syntax error: expected ':' but found '}'" },
    { "{1:2", "1:5: Syntax error: expected ',' or '}' but found the end" },
    { "a.", "1:3: Syntax error: expected a name but found the end" },
    { "a.in", "1:3: Syntax error: expected a name but found 'in'" },
    { "&& true", "1:1: Syntax error: expected an expression but found '&&'" },
    { "1 +", "1:4: Syntax error: expected an expression but found the end" },
    { "a ? b", "1:6: Syntax error: expected ':' but found the end" },
    { "[1", "1:3: Syntax error: expected ',' or ']' but found the end" },
    { "f(1,)", "1:5: Syntax error: expected an expression but found ')'" },
    { "", "1:1: Syntax error: expected an expression but found the end" },
    { "  ", "1:3: Syntax error: expected an expression but found the end" },
    { "\"a\nb\"", "1:1: Syntax error: the string is not closed" },
    { "x.\x01", "1:3: Syntax error: unexpected control character" },
    { "- 9223372036854775809", "1:3: invalid int literal" },
    { "x y_very_long_name_which_goes_on_and_on_until_nobody_wants_to_read_it_any_more",
      "1:3: Syntax error: expected an operator or the end but found "
      "'y_very_long_name_which_goes_on_and_on_until_nobody_wants_to_read'" },
    { "0xffffffffffffffffffu", "1:1: invalid uint literal" },
};

TEST(the_first_fault_is_told)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(fault(a, str_of(rows[i].text)), rows[i].want);
    }
}

static str repeated(struct arena *a, const char *what, size_t times, const char *end)
{
    scoped_buf b = { .max = 1 << 20 };

    for (size_t i = 0; i < times; i++)
        buf_str_append(&b, str_of(what));
    buf_str_append(&b, str_of(end));
    return str_dup(a, buf_str(&b));
}

static bool ends_in(struct arena *a, str text, const char *end)
{
    str why = compiled(a, text), e = str_of(end);

    return why.n >= e.n && str_eq(str_from(why, why.n - e.n), e);
}

TEST(limits_are_cel_gos)
{
    static const char too_deep[] = "-1:0: expression recursion limit exceeded: 250";
    scoped_arena a = arena_new();

    CHECK_STR(fault(a, repeated(a, "(", 250, "1")), too_deep);
    CHECK_STR(fault(a, repeated(a, "x.a == ", 251, "1")), too_deep);
    CHECK_STR(fault(a, repeated(a, "1+", 50001, "1")),
              "-1:0: expression code point size exceeds limit: size: 100003, limit 100000");
    CHECK_STR(fault(a, STR("'\xff'")), "-1:0: expression is not valid UTF-8");
    /* Of those that the checker tells. */
    CHECK(ends_in(a, repeated(a, "no + ", 150, "1"), "\n50 more errors were truncated"));
    /* Ours: what is told of long lines with many faults has an end. */
    CHECK(compiled(a, repeated(a, "no || ", 2500, "true")).n <= (256 << 10) + 4 * 15004);
}

TEST(places_are_shown)
{
    scoped_arena a = arena_new();

    CHECK(str_is(compiled(a, STR("x ==\n\t'\xc3\xa9' )")),
                 "ERROR: <input>:2:6: Syntax error: expected an operator or the end but found ')'\n"
                 " |  '\xc3\xa9' )\n | ..\xef\xbc\x8e..^"));
    /* A line that is too long is not shown. */
    CHECK(str_is(compiled(a, repeated(a, " ", 17000, "1)")),
                 "ERROR: <input>:1:17002: Syntax error: expected an operator or the end but found "
                 "')'"));
}
