/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/selector.h"

#include "tap.h"
#include "unit/parse.h"

/* The objects of recorded scenarios selectors/equality, sets and numeric. */
static const struct {
    char name;
    const char *labels;
} objects[] = {
    { 'a', "{\"app\":\"x\",\"tier\":\"front\",\"s\":\"r\"}" },
    { 'b', "{\"app\":\"x\",\"tier\":\"back\",\"s\":\"r\"}" },
    { 'c', "{\"app\":\"y\",\"s\":\"r\"}" },
    { 'd', "{\"s\":\"r\"}" },
    { '1', "{\"n\":\"1\"}" },
    { '5', "{\"n\":\"5\"}" },
    { 'X', "{\"n\":\"10\"}" },
    { 'N', "{\"n\":\"ten\",\"in\":\"notin\"}" },
};

TEST(label_selectors_match)
{
    static const struct {
        const char *selector, *names;
    } cases[] = {
        { "", "abcd15XN" },
        { "  ", "abcd15XN" },
        { "app=x", "ab" },
        { "app==x", "ab" },
        { "app!=x,s=r", "cd" },
        { "app=x,tier=back", "b" },
        { "app=x,tier!=back", "a" },
        { "app=nope", "" },
        { "app in (x, y)", "abc" },
        { "app notin (x),s", "cd" },
        { "app,tier", "ab" },
        { "!app,s=r", "d" },
        { " ! app , s = r ", "d" },
        { "tier in (front,back),app", "ab" },
        { "app in (x),!tier", "" },
        { "app=", "" },
        { "app in ()", "" },
        { "app notin (),s=r", "abcd" },
        { "n>4", "5X" },
        { "n<10", "15" },
        { "n>1,n<10", "5" },
        { "n > 0", "15X" },
        { "in in (notin)", "N" },
        { "in=notin", "N" },
        { "in", "N" },
        { "app in (x,,x,y,)", "abc" },
        { "app\tin\n(\rx)", "ab" },
        { "app=x,", NULL },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct selector s;
        struct status st;
        char names[16] = "";
        size_t n = 0;

        status_init(&st, a);
        if (!cases[i].names) {
            CHECK(selector_parse_labels(a, str_of(cases[i].selector), &s, &st) < 0);
            continue;
        }
        if (!CHECK(selector_parse_labels(a, str_of(cases[i].selector), &s, &st) == 0)) {
            printf("# %s: %.*s\n", cases[i].selector, STR_ARG(st.message));
            continue;
        }
        for (size_t j = 0; j < sizeof(objects) / sizeof(*objects); j++)
            if (selector_matches(&s, parse(a, objects[j].labels)))
                names[n++] = objects[j].name;
        CHECK_STR(names, cases[i].names);
    }
}

TEST(an_object_without_labels)
{
    static const struct {
        const char *selector;
        bool matches;
    } cases[] = { { "", true },     { "a", false },          { "!a", true },  { "a=b", false },
                  { "a!=b", true }, { "a notin (b)", true }, { "a>1", false } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct selector s;
        struct status st;

        status_init(&st, a);
        CHECK(selector_parse_labels(a, str_of(cases[i].selector), &s, &st) == 0);
        CHECK(selector_matches(&s, NULL) == cases[i].matches);
    }
}

#define REQUIREMENT "unable to parse requirement: "
#define KEY                                                                                   \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and " \
    "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex " \
    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE                                                                                \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' " \
    "or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "    \
    "'my_value',  or '12345', regex used for validation is "                                 \
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

TEST(label_selectors_that_make_no_sense)
{
    static const struct {
        const char *selector, *error;
    } cases[] = {
        { "a=(", REQUIREMENT "found '(', expected: identifier" },
        { "x in y", REQUIREMENT "found 'y' expected: '('" },
        { "a=b=c", "found '=', expected: ',' or 'end of string'" },
        { "=a", "found '=', expected: !, identifier, or 'end of string'" },
        { "a,", "found '', expected: identifier after ','" },
        { ",a", "found ',', expected: !, identifier, or 'end of string'" },
        { "a in (x", REQUIREMENT "found '', expected: ',' or ')'" },
        { "a in (x y)", REQUIREMENT "found 'y', expected: ',' or ')'" },
        { "a in (x,=)", REQUIREMENT "found '=', expected: ',', or identifier" },
        { "a in (=)", REQUIREMENT "found '=', expected: ',', ')' or identifier" },
        { "bad key=v", REQUIREMENT "found 'key', expected: in, notin, =, ==, !=, gt, lt" },
        { "k=bad value!", "found 'value', expected: ',' or 'end of string'" },
        { "n > x", REQUIREMENT "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the "
                               "value must be an integer" },
        { "k=v~", REQUIREMENT "values[0][k]: Invalid value: \"v~\": " VALUE },
        { "k in (a,b~)", REQUIREMENT "values[1][k]: Invalid value: \"b~\": " VALUE },
        { "k~", REQUIREMENT "<nil>: Invalid value: \"k~\": " KEY },
        { "!", REQUIREMENT "found '', expected: identifier" },
        { "!a=b", "found '=', expected: ',' or 'end of string'" },
        { "n > -1", REQUIREMENT "values[0][n]: Invalid value: \"-1\": " VALUE },
        { "a!b", REQUIREMENT "found '!', expected: in, notin, =, ==, !=, gt, lt" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct selector s;
        struct status st;

        status_init(&st, a);
        CHECK(selector_parse_labels(a, str_of(cases[i].selector), &s, &st) < 0);
        CHECK(status_is(&st, REASON_BAD_REQUEST));
        CHECK_STR(st.message.p, cases[i].error);
    }
}

TEST(field_selectors)
{
    static const struct {
        const char *selector;
        size_t n;
        const char *key;
        enum selector_op op;
        const char *value; /* of the last term */
    } cases[] = {
        { "", 0, "", SELECTOR_IN, "" },
        { "metadata.name=b", 1, "metadata.name", SELECTOR_IN, "b" },
        { "metadata.name==b", 1, "metadata.name", SELECTOR_IN, "b" },
        { "metadata.name!=kube-root-ca.crt,metadata.name!=a", 2, "metadata.name", SELECTOR_NOT_IN,
          "a" },
        { "a=b,", 1, "a", SELECTOR_IN, "b" },
        { ",,a=", 1, "a", SELECTOR_IN, "" },
        { "a=x\\,y\\=z\\\\", 1, "a", SELECTOR_IN, "x,y=z\\" },
        { "a=b c", 1, "a", SELECTOR_IN, "b c" },
        { "a!b=c", 1, "a!b", SELECTOR_IN, "c" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct selector s;
        struct status st;

        status_init(&st, a);
        if (!CHECK(selector_parse_fields(a, str_of(cases[i].selector), &s, &st) == 0) ||
            !CHECK(s.nterms == cases[i].n) || s.nterms == 0)
            continue;
        CHECK(s.terms[s.nterms - 1].op == cases[i].op && s.terms[s.nterms - 1].nvalues == 1);
        CHECK_STR(str_z(a, s.terms[s.nterms - 1].key), cases[i].key);
        CHECK_STR(str_z(a, s.terms[s.nterms - 1].values[0]), cases[i].value);
    }
}

TEST(field_selectors_that_make_no_sense)
{
    static const struct {
        const char *selector, *error;
    } cases[] = {
        { "nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'" },
        { "a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'" },
        { "a=b=c", "invalid field selector: unescaped character in value: 61" },
        { "a=\\x", "invalid field selector: invalid escape sequence: \\x" },
        { "a=x\\", "invalid field selector: invalid escape sequence: \\" },
        { "a!", "invalid selector: 'a!'; can't understand 'a!'" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct selector s;
        struct status st;

        status_init(&st, a);
        CHECK(selector_parse_fields(a, str_of(cases[i].selector), &s, &st) < 0);
        CHECK(status_is(&st, REASON_BAD_REQUEST));
        CHECK_STR(st.message.p, cases[i].error);
    }
}

static const char *matches(const char *selector, const char *labels)
{
    static char error[256];
    scoped_arena a = arena_new();
    const struct json *tree = NULL, *set = NULL;
    struct selector s;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, str_of(selector), NULL, &tree, &st) < 0 ||
        json_parse(a, str_of(labels), NULL, &set, &st) < 0)
        return "not JSON";
    if (selector_of_tree(a, tree, &s, &st) < 0) {
        (void)snprintf(error, sizeof(error), "%.*s", STR_ARG(st.message));
        return error;
    }
    return selector_matches(&s, set) ? "yes" : "no";
}

TEST(label_selectors_as_objects)
{
    static const struct {
        const char *selector, *labels, *want;
    } cases[] = {
        { "{}", "{\"a\":\"b\"}", "yes" },
        { "{\"matchLabels\":{\"a\":\"b\"}}", "{\"a\":\"b\",\"c\":\"d\"}", "yes" },
        { "{\"matchLabels\":{\"a\":\"b\",\"c\":\"e\"}}", "{\"a\":\"b\",\"c\":\"d\"}", "no" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"z\",\"b\"]}]}",
          "{\"a\":\"b\"}", "yes" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"z\",\"b\"]}]"
          "}",
          "{\"a\":\"b\"}", "no" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"b\"]}]}",
          "{}", "yes" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}", "{\"a\":\"b\"}",
          "yes" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"DoesNotExist\"}]}", "{\"a\":\"b\"}",
          "no" },
        { "{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[{\"key\":\"c\",\"operator\":"
          "\"Exists\"}]}",
          "{\"a\":\"b\"}", "no" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Near\"}]}", "{}",
          "\"Near\" is not a valid label selector operator" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}", "{}",
          "for 'in', 'notin' operators, values set can't be empty" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"x\"]}]}",
          "{}", "values set must be empty for exists and does not exist" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(matches(cases[i].selector, cases[i].labels), cases[i].want);
}
