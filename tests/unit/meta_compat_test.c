/* SPDX-License-Identifier: Apache-2.0 */

/* Compares schemas: the cases of tests/cases/schemacompat-cases.json, which kcp answered, and ours.
 */

#include "object/meta/compat.h"

#include "base/banned.h"
#include "facts.h"
#include "tap.h"

static const struct json *parse(struct arena *a, str text)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    CHECK(json_parse(a, text, NULL, &v, &st) == 0);
    return v;
}

/* The answer is what `want` says. */
static void run_case(const struct json *c)
{
    scoped_arena a = arena_new();
    const struct json *want = json_get(c, STR("want"));
    const struct json *lcd = json_get(want, STR("lcd"));
    bool narrow = json_bool(json_get(c, STR("narrow")));
    struct compat_report r;
    const struct json *got =
        compat_schema(a, json_get(c, STR("existing")), json_get(c, STR("new")), narrow, &r);
    bool good = lcd ? got && json_equal(got, lcd) : !got;

    good &= !got || json_bool(json_get(want, STR("warning"))) == r.warning;
    if (!CHECK(good))
        printf("# %.*s: got %.*s (%.*s) warning %d\n", STR_ARG(json_get_str(c, "id")),
               STR_ARG(got ? json_text(a, got) : STR("nothing")), STR_ARG(compat_text(a, &r, 1000)),
               r.warning);
}

static size_t run_cases(const struct json *cases)
{
    json_for_each (c, cases)
        run_case(c);
    return json_len(cases);
}

/* existing, new, narrow → what both have, or NULL */
static const struct {
    const char *was, *other;
    bool narrow;
    const char *want;
} own[] = {
    { "{\"type\":\"integer\"}", "{\"type\":\"number\"}", false, "{\"type\":\"integer\"}" },
    { "{\"type\":\"number\"}", "{\"type\":\"integer\"}", false, NULL },
    { "{\"type\":\"integer\",\"format\":\"int32\"}", "{\"type\":\"integer\",\"format\":\"int64\"}",
      false, "{\"type\":\"integer\",\"format\":\"int32\"}" },
    { "{\"type\":\"integer\",\"format\":\"int64\"}", "{\"type\":\"integer\",\"format\":\"int32\"}",
      true, "{\"type\":\"integer\",\"format\":\"int32\"}" },
    { "{\"type\":\"number\",\"maximum\":5}",
      "{\"type\":\"number\",\"maximum\":5,\"exclusiveMaximum\":true}", false, NULL },
    { "{\"type\":\"number\",\"maximum\":5}",
      "{\"type\":\"number\",\"maximum\":5,\"exclusiveMaximum\":true}", true,
      "{\"type\":\"number\",\"maximum\":5,\"exclusiveMaximum\":true}" },
    /* a required property that the other side does not know can never be kept */
    { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
      "\"string\"}},\"required\":[\"b\"]}",
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}", true, NULL },
    /* one that has a default is always there */
    { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"x\"}}}",
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"x\"}},"
      "\"required\":[\"a\"]}",
      false,
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"x\"}}}" },
    /* one that may hold anything takes anything */
    { "{\"type\":\"string\"}", "{\"x-kubernetes-preserve-unknown-fields\":true}", false,
      "{\"type\":\"string\"}" },
    { "{\"x-kubernetes-preserve-unknown-fields\":true}", "{\"type\":\"string\"}", false, NULL },
    { "{\"x-kubernetes-preserve-unknown-fields\":true}", "{\"type\":\"string\"}", true,
      "{\"type\":\"string\"}" },
    { "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}",
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}", true,
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}" },
    { "{\"type\":\"array\"}", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", false,
      "{\"type\":\"array\"}" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "{\"type\":\"array\"}", true, NULL },
    { "[]", "{}", true, NULL },
    { "{\"type\":7}", "{\"type\":7}", false, NULL },
};

TEST(own_cases)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        scoped_arena a = arena_new();
        struct compat_report r;
        const struct json *got = compat_schema(a, parse(a, str_of(own[i].was)),
                                               parse(a, str_of(own[i].other)), own[i].narrow, &r);

        if (!CHECK(own[i].want ? got && json_equal(got, parse(a, str_of(own[i].want))) : !got))
            printf("# %zu: %.*s (%.*s)\n", i, STR_ARG(got ? json_text(a, got) : STR("nothing")),
                   STR_ARG(compat_text(a, &r, 1000)));
    }
}

TEST(findings_say_where_and_are_in_order)
{
    scoped_arena a = arena_new();
    struct compat_report r;
    const struct json *was = parse(
        a, STR("{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"},\"a\":{\"type\":"
               "\"array\",\"items\":{\"type\":\"integer\"}}}}"));
    const struct json *other = parse(
        a, STR("{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"integer\"},\"a\":{\"type\":"
               "\"array\",\"items\":{\"type\":\"boolean\"}}}}"));

    REQUIRE(!compat_schema(a, was, other, true, &r));
    REQUIRE(r.n == 2);
    CHECK_STR(str_z(a, r.findings[0].at), "properties[a].Items");
    CHECK_STR(str_z(a, compat_text(a, &r, 1000)),
              "properties[a].Items: the type changed from \"integer\" to \"boolean\"; "
              "properties[b]: the type changed from \"string\" to \"integer\"");
    CHECK(compat_text(a, &r, 20).n < 30);
}

/* Typed maps against properties in turn: the pairs grow as a product, the work does not. */
TEST(work_is_bounded)
{
    scoped_arena a = arena_new();
    struct compat_report r;
    str was = STR("{\"type\":\"string\"}"), other = was;

    for (int depth = 0; depth < 5; depth++) {
        str *wide = depth % 2 ? &was : &other, *map = depth % 2 ? &other : &was;
        str all = STR_NONE;

        for (int i = 0; i < 12; i++)
            all =
                str_printf(a, "%.*s%s\"p%d\":%.*s", STR_ARG(all), i ? "," : "", i, STR_ARG(*wide));
        *wide = str_printf(a, "{\"type\":\"object\",\"properties\":{%.*s}}", STR_ARG(all));
        *map = str_printf(a, "{\"type\":\"object\",\"additionalProperties\":%.*s}", STR_ARG(*map));
    }
    CHECK(!compat_schema(a, parse(a, was), parse(a, other), true, &r));
    CHECK(r.steps <= COMPAT_STEPS_MAX + 1);
    CHECK_STR(str_z(a, r.findings[0].message), "the schemas are too large to be compared");
}

TEST(kcp_cases)
{
    scoped_arena a = arena_new();

    CHECK(run_cases(json_get(facts_read(a, "cases/schemacompat-cases.json"), STR("cases"))) >= 90);
}
