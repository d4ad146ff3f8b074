/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_admission.h"
#include "tap.h"

/* What expressions are told of the types of an OpenAPI document. */

static const char document[] =
    "{\"components\":{\"schemas\":{"
    "\"A\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":[{\"group\":\"g\","
    "\"version\":\"v1\",\"kind\":\"Thing\"}],\"properties\":{"
    "\"n\":{\"type\":\"integer\"},\"d\":{\"type\":\"number\"},\"b\":{\"type\":\"boolean\"},"
    "\"t\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"y\":{\"type\":\"string\",\"format\":\"byte\"},"
    "\"u\":{\"type\":\"string\",\"format\":\"duration\"},"
    "\"i\":{\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"}]},"
    "\"q\":{\"$ref\":\"#/components/schemas/Q\"},"
    "\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"mq\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/components/schemas/Q\"}},"
    "\"l\":{\"type\":\"array\",\"items\":{\"allOf\":[{\"$ref\":\"#/components/schemas/B\"}],"
    "\"default\":{}}},"
    "\"a-b\":{\"type\":\"string\"},\"namespace\":{\"type\":\"string\"},"
    "\"e\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true}}},"
    "\"B\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"},"
    "\"again\":{\"$ref\":\"#/components/schemas/B\"}}},"
    "\"Q\":{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}}}}";

/* Expressions, and a part of what is wrong with them; "": nothing. */
static const struct {
    const char *text, *want;
} rows[] = {
    { "object.n == 1 && object.b && object.m.any == 'a'", "" },
    { "object.n == 's'", "'_==_' applied to '(int, string)'" },
    { "object.d == 's'", "'(double, string)'" },
    { "object.t == 's'", "'(timestamp, string)'" },
    { "object.y == 's'", "'(bytes, string)'" },
    { "object.u == 's'", "'(duration, string)'" },
    { "object.i == 's' || object.i == 1", "" },
    { "object.q == 's'", "1:7: undefined field 'q'" },
    { "object.mq == 1", "undefined field 'mq'" },
    { "object.m == 1", "'(map(string, string), int)'" },
    { "object.l == 1", "'(list(Thing0.l.@idx), int)'" },
    { "object.l[0].x == 1", "'(string, int)'" },
    { "object.l[0].again == 1", "'(Thing0.l.@idx.again, int)'" },
    { "object.l[0].again.x == '1'", "undefined field 'x'" },
    { "object.a__dash__b == 's' && object.namespace == object.__namespace__", "" },
    { "object.e.kind == 's' && object.e.metadata.name == 's'", "" },
    { "object.e.metadata.labels == 's'", "undefined field 'labels'" },
    { "object.kind == 's' && object.metadata.generateName == 's'", "" },
    { "object == oldObject && object != null", "" },
    { "object == object.e", "'(Thing0, Thing0.e)'" },
    { "request.kind == object", "'(kubernetes.GroupVersionKind, Thing0)'" },
    { "authorizer.requestResource.check('get').allowed()",
      "1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'" },
    { "params.x == 1", "undeclared reference to 'params'" },
};

TEST(objects_have_the_types_of_their_document)
{
    struct arena *a = arena_new();
    struct cel_admission scope = { .policy = true };
    const struct json *doc;
    struct status st;

    status_init(&st, a);
    CHECK(json_parse(a, str_of(document), NULL, &doc, &st) == 0);
    scope.object = cel_type_of_openapi(a, doc, STR("g"), STR("v1"), STR("Thing"));
    CHECK(scope.object);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str why = STR_NONE;
        bool good = cel_admission_check(a, str_of(rows[i].text), &scope, &why);

        CHECK(good == !*rows[i].want);
        if (good || !str_contains(why, str_of(rows[i].want)))
            CHECK_STR(str_z(a, why), rows[i].want);
    }
    arena_free(a);
}

/* Each of forty holds the next one twice: nobody waits for that. */
TEST(documents_that_unfold_without_end_give_no_type)
{
    struct arena *a = arena_new();
    str text = STR("{\"components\":{\"schemas\":{");
    const struct json *doc;
    struct status st;

    for (int i = 0; i < 40; i++)
        text = str_printf(a,
                          "%.*s\"S%d\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":"
                          "[{\"group\":\"g\",\"version\":\"v1\",\"kind\":\"K%d\"}],\"properties\":{"
                          "\"a\":{\"$ref\":\"#/components/schemas/S%d\"},"
                          "\"b\":{\"$ref\":\"#/components/schemas/S%d\"}}},",
                          STR_ARG(text), i, i, i + 1, i + 1);
    text = str_printf(a, "%.*s\"S40\":{\"type\":\"string\"}}}}", STR_ARG(text));
    status_init(&st, a);
    CHECK(json_parse(a, text, NULL, &doc, &st) == 0);
    CHECK(cel_type_of_openapi(a, doc, STR("g"), STR("v1"), STR("K39")));
    CHECK(!cel_type_of_openapi(a, doc, STR("g"), STR("v1"), STR("K0")));
    CHECK(!cel_type_of_openapi(a, doc, STR("g"), STR("v1"), STR("Other")));
    CHECK(!cel_type_of_openapi(a, NULL, STR("g"), STR("v1"), STR("K0")));
    arena_free(a);
}
