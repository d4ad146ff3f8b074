/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/jsonpath.h"

#include "base/banned.h"
#include "tap.h"

static const char DOC[] =
    "{\"spec\":{\"replicas\":3,\"a.b\":\"dot\",\"list\":[\"x\",\"y\",\"z\"],\"map\":{\"k\":7},"
    "\"on\":true},\"status\":{\"conditions\":[{\"type\":\"Synced\",\"status\":\"False\",\"n\":1},"
    "{\"type\":\"Ready\",\"status\":\"True\",\"n\":2}]}}";

/* The first match as JSON, "-" for none, "!" for a path that cannot be read. */
static str find(struct arena *a, const char *path)
{
    const struct json *doc;
    const struct json *found;
    const struct jsonpath *p;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, str_of(DOC), NULL, &doc, &st) < 0 ||
        jsonpath_parse(a, str_of(path), &p, &st) < 0)
        return STR("!");
    found = jsonpath_first(p, doc);
    return found ? json_text(a, found) : STR("-");
}

static const struct {
    const char *path, *want;
} cases[] = {
    { ".spec.replicas", "3" },
    { "{.spec.replicas}", "3" },
    { "$.spec.on", "true" },
    { ".spec['a.b']", "\"dot\"" },
    { ".spec.a\\.b", "\"dot\"" },
    { ".spec[\"replicas\"]", "3" },
    { ".spec.list[0]", "\"x\"" },
    { ".spec.list[-1]", "\"z\"" },
    { ".spec.list[5]", "-" },
    { ".spec.list[-9]", "-" },
    { ".spec.list[*]", "\"x\"" },
    { ".spec.list[1:]", "\"y\"" },
    { ".spec.list[2:2]", "-" },
    { ".spec.map.*", "7" },
    { ".spec.map[*]", "7" },
    { ".status.conditions[?(@.type==\"Ready\")].status", "\"True\"" },
    { ".status.conditions[?(@.type=='Ready')].status", "\"True\"" },
    { ".status.conditions[?(@.type != \"Synced\")].n", "2" },
    { ".status.conditions[?(@.n>1)].type", "\"Ready\"" },
    { ".status.conditions[?(@.n <= 1)].type", "\"Synced\"" },
    { ".status.conditions[?(@.n==\"1\")].type", "-" },
    { ".status.conditions[?(@.nope)].type", "-" },
    { ".status.conditions[?(@.n)].type", "\"Synced\"" },
    { ".spec.none", "-" },
    { ".spec.replicas.deeper", "-" },
    { ".spec.replicas[0]", "-" },
    { "spec", "!" },
    { ".spec.", "!" },
    { ".spec..x", "!" },
    { ".spec[", "!" },
    { ".spec['a", "!" },
    { ".spec[99999999999]", "!" },
    { ".c[?(type==1)]", "!" },
    { ".c[?(@.a=1)]", "!" },
    { ".c[?(@.a==nope)]", "!" },
    { ".c[?(@.a[?(@.b[?(@.c[?(@.d[?(@.e)])])])])]", "!" },
    { "{.spec", "!" },
};

TEST(finds_the_first_match)
{
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        str got = find(a, cases[i].path);

        CHECK(str_is(got, cases[i].want));
        if (!str_is(got, cases[i].want))
            printf("# %s: %.*s, not %s\n", cases[i].path, STR_ARG(got), cases[i].want);
    }
}

TEST(only_plain_names_can_be_written_to)
{
    scoped_arena a = arena_new();
    const struct jsonpath *p;
    struct status st;

    status_init(&st, a);
    REQUIRE(jsonpath_parse(a, STR(".spec.replicas"), &p, &st) == 0);
    CHECK(str_is(jsonpath_dotted(p), "spec.replicas"));
    REQUIRE(jsonpath_parse(a, STR(".spec.list[0]"), &p, &st) == 0);
    CHECK(jsonpath_dotted(p).n == 0);
    REQUIRE(jsonpath_parse(a, STR(".spec['a.b']"), &p, &st) == 0);
    CHECK(jsonpath_dotted(p).n == 0);
}
