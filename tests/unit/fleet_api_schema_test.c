/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/api_schema.h"

#include "base/banned.h"
#include "tap.h"
#include "unit/parse.h"

/* The schema of kind T in group g, version v1, of a document with these models. */
static str schema(struct arena *a, const char *models, bool v2)
{
    const struct json *doc, *out;
    struct status st;
    scoped_buf b;

    buf_init(&b, 1 << 20);
    status_init(&st, a);
    doc = parse(a, v2 ? arena_printf(a, "{\"definitions\":{%s}}", models)
                      : arena_printf(a, "{\"components\":{\"schemas\":{%s}}}", models));

    if (api_schema(a, doc, STR("g"), STR("v1"), STR("T"), &out, &st) < 0)
        return str_printf(a, "%s: %.*s", status_reason(&st), STR_ARG(st.message));
    json_print_sorted(&b, out);
    return str_dup(a, buf_str(&b));
}

#define GVK                                                                              \
    "\"x-kubernetes-group-version-kind\":[{\"group\":\"g\",\"version\":\"v1\",\"kind\":" \
    "\"T\"}]"

TEST(references_and_known_types)
{
    scoped_arena a = arena_new();
    const char *models =
        "\"x.T\":{\"type\":\"object\"," GVK ",\"properties\":{"
        "\"metadata\":{\"allOf\":[{\"$ref\":\"#/components/schemas/"
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta\"}],\"default\":{}},"
        "\"spec\":{\"allOf\":[{\"$ref\":\"#/components/schemas/x.Spec\"}],\"default\":{}}}},"
        "\"x.Spec\":{\"type\":\"object\",\"required\":[\"q\"],\"properties\":{"
        "\"q\":{\"$ref\":\"#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity\"},"
        "\"at\":{\"$ref\":\"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time\"},"
        "\"name\":{\"type\":\"string\",\"default\":\"\"},"
        "\"mode\":{\"type\":\"string\",\"default\":\"On\",\"enum\":[\"On\",\"Off\"]},"
        "\"any\":{}}}";

    CHECK_STR(str_z(a, schema(a, models, false)),
              "{\"properties\":{\"metadata\":{\"type\":\"object\"},\"spec\":{\"properties\":{"
              "\"any\":{\"x-kubernetes-preserve-unknown-fields\":true},"
              "\"at\":{\"format\":\"date-time\",\"type\":\"string\"},"
              "\"mode\":{\"default\":\"On\",\"enum\":[\"On\",\"Off\"],\"type\":\"string\"},"
              "\"name\":{\"type\":\"string\"},"
              "\"q\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],"
              "\"x-kubernetes-int-or-string\":true}},\"required\":[\"q\"],\"type\":\"object\"}},"
              "\"type\":\"object\"}");
}

TEST(lists_merge)
{
    scoped_arena a = arena_new();
    const char *models =
        "\"x.T\":{\"type\":\"object\"," GVK ",\"properties\":{"
        "\"ports\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
        "\"x-kubernetes-list-map-keys\":[\"containerPort\",\"protocol\"],"
        "\"items\":{\"$ref\":\"#/definitions/io.k8s.api.core.v1.ContainerPort\"}},"
        "\"old\":{\"type\":\"array\",\"x-kubernetes-patch-strategy\":\"merge\","
        "\"x-kubernetes-patch-merge-key\":\"n\",\"items\":{\"type\":\"object\",\"properties\":{"
        "\"n\":{\"type\":\"string\"}}}},"
        "\"words\":{\"type\":\"array\",\"x-kubernetes-patch-strategy\":\"merge\","
        "\"items\":{\"type\":\"string\"}}}},"
        "\"io.k8s.api.core.v1.ContainerPort\":{\"type\":\"object\",\"required\":[\"containerPort\"]"
        ",\"properties\":{\"containerPort\":{\"type\":\"integer\"},\"protocol\":{\"type\":"
        "\"string\"}}}";
    str got = schema(a, models, true);

    CHECK(str_contains(got, STR("\"protocol\":{\"default\":\"TCP\",\"type\":\"string\"}")));
    CHECK(str_contains(got, STR("\"required\":[\"containerPort\"]")));
    CHECK(str_contains(got, STR("\"x-kubernetes-list-map-keys\":[\"n\"],\"x-kubernetes-list-"
                                "type\":\"map\"")));
    CHECK(str_contains(got, STR("\"required\":[\"n\"]")));
    CHECK(str_contains(got, STR("\"x-kubernetes-list-type\":\"set\"")));
    if (tap_failed)
        printf("# %.*s\n", STR_ARG(got));
}

TEST(bad_documents)
{
    static const struct {
        const char *models, *want;
    } rows[] = {
        { "", "NotFound: the OpenAPI document does not have T" },
        { "\"x.T\":{" GVK ",\"properties\":{\"t\":{\"$ref\":\"#/definitions/x.T\"}}}",
          "Invalid: schema of T: the model is recursive: x.T" },
        { "\"x.T\":{" GVK ",\"properties\":{\"t\":{\"$ref\":\"#/definitions/no\"}}}",
          "Invalid: schema of T: the document has no such model: no" },
        { "\"x.T\":{" GVK ",\"properties\":{\"t\":7}}",
          "Invalid: schema of T: a schema is no object: " },
        { "\"x.T\":{" GVK ",\"properties\":{\"t\":{\"type\":\"array\"}}}",
          "Invalid: schema of T: an array without items: " },
        { "\"x.T\":{" GVK ",\"type\":\"string\"}", "Invalid: not a schema of objects: T" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(str_z(a, schema(a, rows[i].models, true)), rows[i].want);
    }
}

/* Each model names the next ten times: few bytes, and as many nodes as one likes. */
TEST(models_that_explode)
{
    scoped_arena a = arena_new();
    str models = str_printf(a, "\"x.T\":{" GVK ",\"properties\":{\"a\":{\"$ref\":\"#/m0\"}}}");

    for (int i = 0; i < 30; i++) {
        str all = STR_NONE;

        for (int j = 0; j < 10; j++)
            all = str_printf(a, "%.*s%s\"p%d\":{\"$ref\":\"#/m%d\"}", STR_ARG(all), j ? "," : "", j,
                             i + 1);
        models =
            str_printf(a, "%.*s,\"m%d\":{\"properties\":{%.*s}}", STR_ARG(models), i, STR_ARG(all));
    }
    models = str_printf(a, "%.*s,\"m30\":{\"type\":\"string\"}", STR_ARG(models));
    CHECK_STR(str_z(a, schema(a, str_z(a, models), true)),
              "Invalid: schema of T: the schema is too large: ");
}
