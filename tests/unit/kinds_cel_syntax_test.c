/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/cel_syntax.h"

#include "base/arena.h"
#include "tap.h"

static bool good(const char *text)
{
    const char *why;
    size_t at;

    return cel_syntax_check(str_of(text), &at, &why);
}

TEST(expressions)
{
    CHECK(good("1 + 2 * -3 - --4"));
    CHECK(good("object.spec.replicas <= 5 && !has(object.metadata.labels)"));
    CHECK(good("a ? b : c ? d : e"));
    CHECK(good("[1, 2, 3,].all(x, x in {'a': 1, \"b\": 2.5e-3})"));
    CHECK(good("request.userInfo.groups.exists(g, g == 'x') || m['k'] != null"));
    CHECK(good("r'\\d' + b\"\\x41\" + '''it's\n''' // a comment"));
    CHECK(good("0x1F + 10u > .5 // end"));
    CHECK(good("Type{field: 1}.field == .name"));
    CHECK(good("object.?spec[?0].orValue(1)"));
    CHECK(good("a.`b-c`"));
    CHECK(good("inside in index"));
}

TEST(no_expressions)
{
    CHECK(!good(""));
    CHECK(!good("1 +"));
    CHECK(!good("(1"));
    CHECK(!good("1)"));
    CHECK(!good("a b"));
    CHECK(!good("a ? b"));
    CHECK(!good("'open"));
    CHECK(!good("\"new\nline\""));
    CHECK(!good("[1,,2]"));
    CHECK(!good("{1}"));
    CHECK(!good("a."));
    CHECK(!good("for"));
    CHECK(!good("1x"));
    CHECK(!good("0x"));
    CHECK(!good("1e"));
    CHECK(!good("a = b"));
    CHECK(!good("a & b"));
}

TEST(the_place_and_the_reason_are_said)
{
    const char *why;
    size_t at;

    CHECK(!cel_syntax_check(STR("1 +"), &at, &why));
    CHECK(at == 3);
    CHECK_STR(why, "unexpected end");
    CHECK(!cel_syntax_check(STR("f(1"), &at, &why));
    CHECK_STR(why, "a bracket is not closed");
}

TEST(depth_has_a_limit)
{
    char text[2 * CEL_SYNTAX_DEPTH + 2];

    memset(text, '(', CEL_SYNTAX_DEPTH);
    text[CEL_SYNTAX_DEPTH] = '1';
    memset(text + CEL_SYNTAX_DEPTH + 1, ')', CEL_SYNTAX_DEPTH);
    text[2 * CEL_SYNTAX_DEPTH + 1] = 0;
    CHECK(!good(text));
    text[2 * CEL_SYNTAX_DEPTH - 1] = 0;
    CHECK(good(text + 2));
}
