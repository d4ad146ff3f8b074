/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

/* Rules in CEL when a CRD is written. */

#define CRD(schema)                                                                             \
    "{\"metadata\":{\"name\":\"widgets.g.example.com\"},\"spec\":{\"group\":\"g.example.com\"," \
    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},"          \
    "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"              \
    "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"f\":" schema "}}}}]}}"
#define F            "spec.validation.openAPIV3Schema.properties[f]"
#define RULES(rules) "\"x-kubernetes-validations\":[" rules "]"
#define INT(rules)   CRD("{\"type\":\"integer\"," RULES(rules) "}")
#define TRY                                                                                       \
    " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, " \
    "maps, and strings are declared)"

static const struct row {
    const char *text, *part; /* "": no fault */
} rows[] = {
    { INT("{\"rule\":\"self > 0\"}"), "" },
    { INT("{\"rule\":\"self >= oldSelf\"}"), "" },
    { INT("{\"rule\":\"self >\"}"), F ".x-kubernetes-validations[0].rule: Invalid value: " },
    { INT("{\"rule\":\"self.a\"}"),
      "compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection" },
    { INT("{\"rule\":\"self\"}"), "cel expression must evaluate to a bool" },
    { INT("{\"rule\":\"self > 'a'\"}"),
      "found no matching overload for '_>_' applied to '(int, string)'" },
    { INT("{\"rule\":\"self > 0\",\"messageExpression\":\"self\"}"),
      F ".x-kubernetes-validations[0].messageExpression: Invalid value: " },
    { INT("{\"rule\":\"self > 0\",\"messageExpression\":\"self\"}"),
      "messageExpression must evaluate to a string" },
    { INT("{\"rule\":\"self > 0\",\"optionalOldSelf\":true}"),
      F ".x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if "
        "oldSelf is not used in rule" },
    { INT("{\"rule\":\"self > 0\",\"fieldPath\":\".a\"}"),
      F ".x-kubernetes-validations[0].fieldPath: Invalid value: \".a\": must be a valid path" },
    { CRD("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\","
          "\"additionalProperties\":{\"type\":\"string\"}}}," RULES(
              "{\"rule\":\"has(self.a)\",\"fieldPath\":\".a['x.y']\"}") "}"),
      "" },
    { CRD("{\"type\":\"array\",\"items\":{\"type\":\"integer\"," RULES(
          "{\"rule\":\"self >= oldSelf\"}") "}}"),
      "oldSelf cannot be used on the uncorrelatable portion of the schema within " F },
    { CRD("{\"type\":\"array\",\"items\":{\"type\":\"string\"}," RULES(
          "{\"rule\":\"self.all(x, self.all(y, x == y))\"}") "}"),
      F ".x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by "
        "factor of more than 100x" TRY },
    { CRD("{\"type\":\"array\",\"items\":{\"type\":\"string\"}," RULES(
          "{\"rule\":\"self.all(x, self.all(y, x == y))\"}") "}"),
      "openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire "
      "OpenAPIv3 schema exceeds budget by factor of more than 100x" TRY },
    { CRD("{\"type\":\"array\",\"maxItems\":10,\"items\":{\"type\":\"string\",\"maxLength\":9}"
          "," RULES("{\"rule\":\"self.all(x, self.all(y, x == y))\"}") "}"),
      "" },
    /* A rule on items costs as often as there are items. */
    { CRD("{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":1000," RULES(
          "{\"rule\":\"self.contains('abc')\"}") "}}"),
      ".items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget" },
    /* Maps are alike before and after by their keys, atomic ones, too. */
    { CRD("{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\",\"additionalProperties\":{"
          "\"type\":\"integer\"," RULES("{\"rule\":\"self >= oldSelf\"}") "}}"),
      "" },
    { CRD("{\"type\":\"object\",\"additionalProperties\":true," RULES(
          "{\"rule\":\"self.a == 1\"}") "}"),
      "undefined field 'a'" },
    { CRD("{\"x-kubernetes-preserve-unknown-fields\":true," RULES("{\"rule\":\"true\"}") "}"),
      F ".x-kubernetes-validations: Internal error: internal error: failed to construct type "
        "information for x-kubernetes-validations rules: unable to convert structural schema to "
        "CEL declarations" },
    { INT("{\"rule\":\"oldSelf >\",\"optionalOldSelf\":true}"),
      "may not be set if oldSelf is not used in rule" },
    /* Rules are looked at where nothing else is wrong, there and below. */
    { CRD("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"," RULES(
          "{\"rule\":\"self.x\"}") "},\"b\":{\"type\":\"string\",\"uniqueItems\":true}}}"),
      "type 'int' does not support field selection" },
};

static const struct row none[] = {
    { CRD("{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\",\"uniqueItems\":"
          "true}}," RULES("{\"rule\":\"self.x\"}") "}"),
      "undefined field" },
    { CRD("{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"," RULES(
          "{\"rule\":\"true\",\"fieldPath\":\".a\"}") "}}," RULES("{\"rule\":\"self.x\"}") "}"),
      "undefined field" },
};

TEST(rules_must_compile_and_be_cheap)
{
    struct fixture f = fixture_new("apiextensions.k8s.io", "v1", "customresourcedefinitions");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct json *obj = f.kind->ops->prepare_create(&f.c, fixture_read(&f, rows[i].text));
        const char *got = fixture_faults(&f, obj, NULL);

        if (!CHECK(rows[i].part[0] ? strstr(got, rows[i].part) != NULL : got[0] == '\0'))
            printf("#  got: %s\n# want: %s\n", got, rows[i].part);
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        const struct json *obj = f.kind->ops->prepare_create(&f.c, fixture_read(&f, none[i].text));
        const char *got = fixture_faults(&f, obj, NULL);

        CHECK(got[0] && !strstr(got, none[i].part));
    }
    fixture_release(&f);
}
