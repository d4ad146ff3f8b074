/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_faults.h"

#include "base/buf.h"
#include "tap.h"

/* Every answer here is one of cel-go in kube-apiserver 1.35. */

#define STARTS                                                                               \
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, " \
    "STRING, BYTES, IDENTIFIER}"

static str compiled(struct arena *a, str text)
{
    struct cel_var vars[] = { { STR("x"), &cel_types[CEL_DYN] } };
    str why = STR_NONE;

    (void)cel_compile(a, text, vars, 1, &why);
    return why;
}

/* Without the lines that show the place. */
static const char *faults(struct arena *a, str text)
{
    str rest = compiled(a, text), line, all = STR_NONE, start = STR("ERROR: <input>:");

    while (str_split(&rest, '\n', &line) || (line = rest).n) {
        if (str_starts(line, start))
            all = str_printf(a, "%.*s%s%.*s", STR_ARG(all), all.n ? "\n" : "",
                             STR_ARG(str_from(line, start.n)));
        if (line.p == rest.p)
            break;
    }
    return str_z(a, all);
}

static const struct {
    const char *text, *want;
} rows[] = {
    { "self..n", "1:6: Syntax error: no viable alternative at input '..'" },
    { "a b c", "1:3: Syntax error: mismatched input 'b' expecting <EOF>" },
    { " ==x 5", "1:2: Syntax error: extraneous input '==' expecting " STARTS "\n"
                "1:6: Syntax error: extraneous input '5' expecting <EOF>" },
    { "!=( ", "1:1: Syntax error: extraneous input '!=' expecting " STARTS "\n"
              "1:5: Syntax error: mismatched input '<EOF>' expecting " STARTS },
    { "x.all(, true)",
      "1:7: Syntax error: extraneous input ',' expecting {'[', '{', '(', ')', '.', '-', '!', "
      "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}" },
    { "(x", "1:3: Syntax error: missing ')' at '<EOF>'" },
    { "x.f(1 2)", "1:7: Syntax error: extraneous input '2' expecting ')'" },
    { "[1,,2]", "1:4: Syntax error: mismatched input ',' expecting ']'" },
    { "{1:2, if}", "1:9: Syntax error: mismatched input '}' expecting ':'" },
    { "{1:if 2}", "1:4: reserved identifier: if\n"
                  "1:7: Syntax error: extraneous input '2' expecting {'}', ','}" },
    { "a ? b c : d e", "1:7: Syntax error: extraneous input 'c' expecting ':'\n"
                       "1:13: Syntax error: extraneous input 'e' expecting <EOF>" },
    { "x.true", "1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER" },
    { "x.?1", "1:4: Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}\n"
              "1:4: unsupported ident kind" },
    { "x.`a b`", "1:3: unsupported syntax: '`'" },
    { "`x`", "1:1: Syntax error: mismatched input '`x`' expecting " STARTS },
    { "!-x", "1:3: Syntax error: no viable alternative at input '-x'" },
    { "-!x", "1:2: Syntax error: no viable alternative at input '-!'" },
    { "--)", "1:3: Syntax error: no viable alternative at input '-)'\n"
             "1:3: Syntax error: mismatched input ')' expecting " STARTS },
    { "-1.", "1:4: Syntax error: no viable alternative at input '.'" },
    { "-1.f(",
      "1:6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', "
      "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}" },
    { "(!", "1:3: Syntax error: extraneous input '<EOF>' expecting " STARTS },
    { "x.y.z{", "1:7: Syntax error: mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, "
                "ESC_IDENTIFIER}" },
    { "x{1:2}", "1:3: Syntax error: mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, "
                "ESC_IDENTIFIER}" },
    { "x{a:1, `b`:if}", "1:3: unsupported syntax: '`'" },
    { "x.y{a:1", "1:8: Syntax error: mismatched input '<EOF>' expecting {'}', ','}" },
    { "f(,)",
      "1:3: Syntax error: extraneous input ',' expecting {'[', '{', '(', ')', '.', '-', '!', "
      "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}" },
    { "f x)", "1:3: Syntax error: mismatched input 'x' expecting <EOF>" },
    { "[1 2, 3 4]", "1:4: Syntax error: extraneous input '2' expecting {']', ','}\n"
                    "1:7: Syntax error: mismatched input '3' expecting ']'" },
    { "{1 2: 3 4}", "1:4: Syntax error: extraneous input '2' expecting ':'\n"
                    "1:9: Syntax error: extraneous input '4' expecting {'}', ','}" },
    { "x[1 2][3 4]", "1:5: Syntax error: extraneous input '2' expecting ']'\n"
                     "1:10: Syntax error: extraneous input '4' expecting ']'" },
    { "a || b c && d e", "1:8: Syntax error: mismatched input 'c' expecting <EOF>" },
    { "if(x.all(1, 2))", "1:1: reserved identifier: if" },
    { "if + for", "1:1: reserved identifier: if\n"
                  "1:6: reserved identifier: for" },
    { "x.all(if, 1)", "1:7: reserved identifier: if\n"
                      "1:7: argument must be a simple name" },
    { "x.all(a || b || c, true)", "1:14: argument must be a simple name" },
    { "x.all(1 +, true)", "1:10: Syntax error: extraneous input ',' expecting " STARTS },
    { "x.sortBy(1, 2)", "1:10: argument is not an identifier" },
    { "{}.sortBy(a, 2)", "1:1: sortBy can only be applied to a list, identifier, comprehension, "
                         "call or select expression" },
    { "x.optMap(1, 2)", "1:10: optMap() variable name must be a simple identifier" },
    { "x.transformMapEntry(a, a, 3)", "1:24: duplicate variable name: a" },
    { "x.all(__result__, true)", "1:7: iteration variable overwrites accumulator variable" },
    { "has(x[0])", "1:6: invalid argument to has() macro" },
    { "9223372036854775808", "1:1: invalid int literal" },
    { "-9223372036854775809", "1:1: invalid int literal" },
    { "18446744073709551616u", "1:1: invalid uint literal" },
    { "1e999", "1:1: invalid double literal" },
    { "b\"\\u0041\"", "1:1: unable to unescape string" },
    { "'\\ud800'", "1:1: invalid unicode code point" },
    { "'\\q'", "1:1: Syntax error: token recognition error at: ''\\q'\n"
               "1:4: Syntax error: token recognition error at: '''\n"
               "1:5: Syntax error: mismatched input '<EOF>' expecting " STARTS },
    { "'a", "1:1: Syntax error: token recognition error at: ''a'\n"
            "1:3: Syntax error: mismatched input '<EOF>' expecting " STARTS },
    { "\"\"\"", "1:3: Syntax error: token recognition error at: '\"'" },
    { "\"\"\"a", "1:3: Syntax error: token recognition error at: '\"a'" },
    { "rb'x'", "1:3: Syntax error: extraneous input ''x'' expecting <EOF>" },
    { "0xg", "1:2: Syntax error: extraneous input 'xg' expecting <EOF>" },
    { "`a", "1:1: Syntax error: token recognition error at: '`a'\n"
            "1:3: Syntax error: mismatched input '<EOF>' expecting " STARTS },
    { "1 = 2", "1:3: Syntax error: token recognition error at: '= '\n"
               "1:5: Syntax error: extraneous input '2' expecting <EOF>" },
    { "a & b", "1:3: Syntax error: token recognition error at: '& '\n"
               "1:5: Syntax error: extraneous input 'b' expecting <EOF>" },
    { "@", "1:1: Syntax error: token recognition error at: '@'\n"
           "1:2: Syntax error: mismatched input '<EOF>' expecting " STARTS },
    { "x == 'é' é", "1:10: Syntax error: token recognition error at: 'é'" },
    { "a # b $ c", "1:3: Syntax error: token recognition error at: '#'\n"
                   "1:5: Syntax error: mismatched input 'b' expecting <EOF>\n"
                   "1:7: Syntax error: token recognition error at: '$'" },
    { "[)(]{)",
      "1:2: Syntax error: extraneous input ')' expecting {'[', ']', '{', '(', '.', ',', '-', '!', "
      "'?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n"
      "1:4: Syntax error: extraneous input ']' expecting " STARTS "\n"
      "1:6: Syntax error: mismatched input ')' expecting {'[', '{', '}', '(', '.', ',', '-', '!', "
      "'?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n"
      "1:7: Syntax error: mismatched input '<EOF>' expecting {']', ','}" },
    { "? a", "1:1: Syntax error: extraneous input '?' expecting " STARTS },
    { "in in", "1:1: Syntax error: mismatched input 'in' expecting " STARTS "\n"
               "1:4: Syntax error: mismatched input 'in' expecting " STARTS "\n"
               "1:6: Syntax error: mismatched input '<EOF>' expecting " STARTS },
};

TEST(every_fault_is_told_as_worded)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(faults(a, str_of(rows[i].text)), rows[i].want);
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
    scoped_arena a = arena_new();

    CHECK_STR(faults(a, repeated(a, "(", 250, "1")),
              "-1:0: expression recursion limit exceeded: 250");
    CHECK_STR(faults(a, repeated(a, "x.a == ", 251, "1")), "-1:0: max recursion depth exceeded");
    CHECK(ends_in(a, repeated(a, "@", 100, "1"), "^"));
    CHECK(ends_in(a, repeated(a, "@", 101, "1"), "\n1 more errors were truncated"));
    CHECK(ends_in(a, repeated(a, "for + ", 150, "1"), "\n50 more errors were truncated"));
    CHECK_STR(faults(a, repeated(a, "1 ", 259, "")),
              "-1:0: error recovery token lookahead limit exceeded: 256\n"
              "1:3: Syntax error: mismatched input '1' expecting <EOF>");
    CHECK(strstr(faults(a, repeated(a, "(x.1) + ", 33, "1")),
                 "Syntax error: error recovery attempt limit exceeded: 30"));
    /* Ours: what is told of long lines with many faults has an end. */
    CHECK(compiled(a, repeated(a, "for + ", 2500, "1")).n <= (256 << 10) + 4 * 15001);
    CHECK_STR(faults(a, repeated(a, "1+", 50001, "1")),
              "-1:0: expression code point size exceeds limit: size: 100003, limit 100000");
}

TEST(places_are_shown)
{
    scoped_arena a = arena_new();

    CHECK(str_is(compiled(a, STR("x ==\n\t'\xc3\xa9' )")),
                 "ERROR: <input>:2:6: Syntax error: extraneous input ')' expecting <EOF>\n"
                 " |  '\xc3\xa9' )\n | ..\xef\xbc\x8e..^"));
    /* A line that is too long is not shown. */
    CHECK(str_is(compiled(a, repeated(a, " ", 17000, "1)")),
                 "ERROR: <input>:1:17002: Syntax error: extraneous input ')' expecting <EOF>"));
    CHECK(str_starts(compiled(a, STR_NONE),
                     STR("ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>'")));
}
