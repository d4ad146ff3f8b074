/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi.h"

#include "apiserver/discovery/openapi_proto.h"
#include "apiserver/discovery/openapi_schemas.h"
#include "apiserver/discovery/openapi_v3.h"
#include "base/banned.h"
#include "base/pbwire.h"
#include "kinds/kinds.h"
#include "object/crdschema/structural.h"
#include "object/meta/schema_table.h"
#include "tap.h"

/* A group of our own that has every form a field can have. */
static const char table[] = "table io.example.v1\n"
                            "kind Widget | A thing to test with.\n"
                            "  spec   2 WidgetSpec always | What is wanted.\n"
                            "  status 3 *WidgetStatus | What is.\n"
                            "type WidgetSpec\n"
                            "  name     1 string always required | Its name.\n"
                            "  size     2 *int32 default=3 | How large.\n"
                            "  mode     3 string enum=Fast,Slow | How.\n"
                            "  parts    4 []Part merge=id list=map(id,side) | What it has.\n"
                            "  tags     5 []string merge list=set | Words.\n"
                            "  limits   6 map[quantity] | Bounds.\n"
                            "  port     7 intorstring | Where.\n"
                            "  since    8 *time | When.\n"
                            "  blob     9 bytes | Bytes.\n"
                            "  extra   10 *any | Whatever.\n"
                            "  ratio   11 double | How much.\n"
                            "  how     12 Part always retain | Keeps one.\n"
                            "  scopes  13 []string enum=A,B list=atomic | Which.\n"
                            "  raw     14 *Raw | As it comes.\n"
                            "  mold    15 *Mold | Its form.\n"
                            "  weight  16 int32 shown | How heavy.\n"
                            "  pace    17 string fill=\"slow\" shown | How fast.\n"
                            "  words   18 map[string] enum=A,B granular | Words by key.\n"
                            "free Raw object | Anything.\n"
                            "type Mold union=type(iron) | A form.\n"
                            "  type    2 string required | Which.\n"
                            "  iron    1 *Part required | Of iron.\n"
                            "type Part atomic | One part.\n"
                            "  id      1 string required | Its id.\n"
                            "  deep    2 map[[]bool] | Lists by key.\n"
                            "type WidgetStatus\n"
                            "  at 1 microtime always | When.\n";

static const char meta_table[] = "table io.k8s.apimachinery.pkg.apis.meta.v1\n"
                                 "type ObjectMeta | Metadata.\n"
                                 "  name 1 string | Name.\n"
                                 "type ListMeta | Metadata of lists.\n"
                                 "  continue 1 string | Token.\n"
                                 "root Status | Outcome.\n"
                                 "  code 1 int32 | HTTP code.\n"
                                 "root DeleteOptions | How to delete.\n"
                                 "  dryRun 1 []string list=atomic | All.\n";

static const struct subresource subs[] = {
    { .name = STR_INIT("scale"),
      .verbs = VERBS_STATUS,
      .group = STR_INIT("autoscaling"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("Scale") },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind widget = {
    .group = STR_INIT("x.example.io"),
    .version = STR_INIT("v1"),
    .kind = STR_INIT("Widget"),
    .plural = STR_INIT("widgets"),
    .singular = STR_INIT("widget"),
    .list_kind = STR_INIT("WidgetList"),
    .namespaced = true,
    .verbs = VERBS_ALL,
    .subresources = subs,
    .nsubresources = 2,
    .api_version = STR_INIT("x.example.io/v1"),
};
static const struct kind *const widgets[] = { &widget };

struct fixture {
    struct arena *arena;
    struct schema_set *set;
    struct catalog catalog;
};

static bool setup(struct fixture *f)
{
    struct status st;
    const char *use = "use meta io.k8s.apimachinery.pkg.apis.meta.v1\n";
    str own;

    f->arena = arena_new();
    f->set = schema_set_new();
    status_init(&st, f->arena);
    /* `use` stands behind the first line. */
    own = str_printf(f->arena, "%.*s\n%s%s", 19, table, use, table + 20);
    if (schema_set_add(f->set, str_of(meta_table), &st) < 0 ||
        schema_set_add(f->set, own, &st) < 0 || schema_set_link(f->set, &st) < 0) {
        printf("# %.*s\n", STR_ARG(st.message));
        return false;
    }
    widget.schema = schema_set_find(f->set, STR("io.example.v1.Widget"));
    f->catalog = (struct catalog){ .kinds = widgets, .nkinds = 1, .schemas = f->set, .etag = 7 };
    return widget.schema;
}

static void teardown(struct fixture *f)
{
    schema_set_free(f->set);
    arena_free(f->arena);
}

static const char *text(struct arena *a, const struct json *v)
{
    return v ? str_z(a, json_text(a, v)) : "null";
}

/* Members by names that hold dots and slashes; ends with NULL. */
static const struct json *at(const struct json *v, const char *const *names)
{
    while (v && *names)
        v = json_get(v, str_of(*names++));
    return v;
}
#define AT(v, ...) at((v), (const char *const[]){ __VA_ARGS__, NULL })

TEST(fields_in_v2)
{
    static const struct {
        const char *field, *want;
    } rows[] = {
        { "name", "{\"description\":\"Its name.\",\"type\":\"string\"}" },
        { "size", "{\"description\":\"How large.\",\"type\":\"integer\",\"format\":\"int32\"}" },
        { "raw",
          "{\"description\":\"As it comes.\",\"$ref\":\"#/definitions/io.example.v1.Raw\"}" },
        { "words",
          "{\"description\":\"Words by key.\",\"type\":\"object\",\"additionalProperties\":"
          "{\"type\":\"string\",\"enum\":[\"A\",\"B\"]},"
          "\"x-kubernetes-map-type\":\"granular\"}" },
        { "mode", "{\"description\":\"How.\",\"type\":\"string\",\"enum\":[\"Fast\",\"Slow\"]}" },
        { "parts", "{\"description\":\"What it has.\",\"type\":\"array\",\"items\":{\"$ref\":"
                   "\"#/definitions/io.example.v1.Part\"},"
                   "\"x-kubernetes-list-map-keys\":[\"id\",\"side\"],"
                   "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-patch-merge-key\":\"id\","
                   "\"x-kubernetes-patch-strategy\":\"merge\"}" },
        { "tags", "{\"description\":\"Words.\",\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                  "\"x-kubernetes-list-type\":\"set\",\"x-kubernetes-patch-strategy\":\"merge\"}" },
        { "limits", "{\"description\":\"Bounds.\",\"type\":\"object\",\"additionalProperties\":"
                    "{\"$ref\":\"#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity\"}}" },
        { "port", "{\"description\":\"Where.\",\"$ref\":"
                  "\"#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString\"}" },
        { "blob", "{\"description\":\"Bytes.\",\"type\":\"string\",\"format\":\"byte\"}" },
        { "extra",
          "{\"description\":\"Whatever.\",\"x-kubernetes-preserve-unknown-fields\":true}" },
        { "ratio", "{\"description\":\"How much.\",\"type\":\"number\",\"format\":\"double\"}" },
        { "how", "{\"description\":\"Keeps one.\",\"$ref\":\"#/definitions/io.example.v1.Part\","
                 "\"x-kubernetes-patch-strategy\":\"retainKeys\"}" },
        { "scopes", "{\"description\":\"Which.\",\"type\":\"array\",\"items\":{\"type\":\"string\","
                    "\"enum\":[\"A\",\"B\"]},\"x-kubernetes-list-type\":\"atomic\"}" },
    };
    struct fixture f;
    const struct json *props;

    REQUIRE(setup(&f));
    props = AT(openapi_v2(f.arena, &f.catalog), "definitions", "io.example.v1.WidgetSpec",
               "properties");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(text(f.arena, AT(props, rows[i].field)), rows[i].want);
    teardown(&f);
}

TEST(definitions_in_v2)
{
    struct fixture f;
    const struct json *v, *defs, *gvks;

    REQUIRE(setup(&f));
    v = openapi_v2(f.arena, &f.catalog);
    defs = AT(v, "definitions");
    CHECK_STR(str_z(f.arena, json_get_str(v, "swagger")), "2.0");
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.WidgetSpec", "required")), "[\"name\"]");
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.Widget", "x-kubernetes-group-version-kind")),
              "[{\"group\":\"x.example.io\",\"kind\":\"Widget\",\"version\":\"v1\"}]");
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.Part")),
              "{\"description\":\"One part.\",\"type\":\"object\",\"properties\":{\"deep\":"
              "{\"description\":\"Lists by key.\",\"type\":\"object\",\"additionalProperties\":"
              "{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}},\"id\":{\"description\":"
              "\"Its id.\",\"type\":\"string\"}},\"required\":[\"id\"],"
              "\"x-kubernetes-map-type\":\"atomic\"}");
    CHECK_STR(text(f.arena, AT(defs, "io.k8s.apimachinery.pkg.api.resource.Quantity")),
              "{\"type\":\"string\"}");
    CHECK_STR(text(f.arena, AT(defs, "io.k8s.apimachinery.pkg.util.intstr.IntOrString")),
              "{\"type\":\"string\",\"format\":\"int-or-string\"}");
    CHECK_STR(text(f.arena, AT(defs, "io.k8s.apimachinery.pkg.apis.meta.v1.Time")),
              "{\"type\":\"string\",\"format\":\"date-time\"}");
    /* A list that no table has, and types that are nowhere. */
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.WidgetList", "required")), "[\"items\"]");
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.WidgetList", "properties", "items", "items")),
              "{\"$ref\":\"#/definitions/io.example.v1.Widget\"}");
    CHECK_STR(
        text(f.arena, AT(defs, "io.example.v1.WidgetList", "x-kubernetes-group-version-kind")),
        "[{\"group\":\"x.example.io\",\"kind\":\"WidgetList\",\"version\":\"v1\"}]");
    CHECK_STR(
        text(f.arena, AT(defs, "io.k8s.api.autoscaling.v1.Scale")),
        "{\"type\":\"object\",\"x-kubernetes-group-version-kind\":[{\"group\":\"autoscaling\","
        "\"kind\":\"Scale\",\"version\":\"v1\"}]}");
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.Raw")),
              "{\"description\":\"Anything.\",\"type\":\"object\"}");
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.Mold", "x-kubernetes-unions")),
              "[{\"discriminator\":\"type\",\"fields-to-discriminateBy\":{\"iron\":\"Iron\"}}]");
    CHECK_STR(text(f.arena, AT(defs, "io.example.v1.Mold", "required")), "[\"iron\",\"type\"]");
    gvks = AT(defs, OPENAPI_META "DeleteOptions", "x-kubernetes-group-version-kind");
    CHECK(json_len(gvks) == 63); /* 62 that Kubernetes knows, and ours */
    CHECK_STR(text(f.arena, json_at(gvks, 0)),
              "{\"group\":\"\",\"kind\":\"DeleteOptions\",\"version\":\"v1\"}");
    CHECK_STR(text(f.arena, json_at(gvks, 62)),
              "{\"group\":\"x.example.io\",\"kind\":\"DeleteOptions\",\"version\":\"v1\"}");
    teardown(&f);
}

TEST(schemas_in_v3)
{
    static const struct {
        const char *field, *want;
    } rows[] = {
        { "name", "{\"description\":\"Its name.\",\"type\":\"string\",\"default\":\"\"}" },
        { "port", "{\"description\":\"Where.\",\"allOf\":[{\"$ref\":"
                  "\"#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString\"}]}" },
        { "limits", "{\"description\":\"Bounds.\",\"type\":\"object\",\"additionalProperties\":"
                    "{\"$ref\":"
                    "\"#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity\"}}" },
        { "parts", "{\"description\":\"What it has.\",\"type\":\"array\",\"items\":{\"allOf\":["
                   "{\"$ref\":\"#/components/schemas/io.example.v1.Part\"}],\"default\":{}},"
                   "\"x-kubernetes-list-map-keys\":[\"id\",\"side\"],"
                   "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-patch-merge-key\":\"id\","
                   "\"x-kubernetes-patch-strategy\":\"merge\"}" },
        { "size", "{\"description\":\"How large.\",\"type\":\"integer\",\"format\":\"int32\","
                  "\"default\":3}" },
        { "weight", "{\"description\":\"How heavy.\",\"type\":\"integer\",\"format\":\"int32\","
                    "\"default\":0}" },
        { "pace", "{\"description\":\"How fast.\",\"type\":\"string\",\"default\":\"slow\"}" },
        { "raw", "{\"description\":\"As it comes.\",\"allOf\":[{\"$ref\":"
                 "\"#/components/schemas/io.example.v1.Raw\"}]}" },
        { "extra", "{\"description\":\"Whatever.\",\"type\":\"object\","
                   "\"x-kubernetes-preserve-unknown-fields\":true}" },
    };
    struct fixture f;
    const struct json *v, *schemas;

    REQUIRE(setup(&f));
    v = openapi_v3(f.arena, &f.catalog, STR("x.example.io"), STR("v1"));
    REQUIRE(v);
    schemas = AT(v, "components", "schemas");
    CHECK_STR(str_z(f.arena, json_get_str(v, "openapi")), "3.0.0");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(
            text(f.arena, AT(schemas, "io.example.v1.WidgetSpec", "properties", rows[i].field)),
            rows[i].want);
    CHECK_STR(text(f.arena, AT(schemas, "io.example.v1.Widget", "properties", "metadata", "allOf")),
              "[{\"$ref\":"
              "\"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta\"}]");
    CHECK_STR(text(f.arena, AT(schemas, "io.k8s.apimachinery.pkg.api.resource.Quantity")),
              "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}");
    CHECK(!openapi_v3(f.arena, &f.catalog, STR("x.example.io"), STR("v2")));
    teardown(&f);
}

/* ---- paths ---- */

static bool has_param(const struct json *op, const char *name, const char *in)
{
    json_for_each (p, json_get(op, STR("parameters"))) {
        if (str_is(json_get_str(p, "name"), name) && str_is(json_get_str(p, "in"), in))
            return true;
    }
    return false;
}

#define OBJECT "/apis/x.example.io/v1/namespaces/{namespace}/widgets/{name}"

TEST(paths_in_v3)
{
    struct fixture f;
    const struct json *paths, *patch, *list;

    REQUIRE(setup(&f));
    paths = AT(openapi_v3(f.arena, &f.catalog, STR("x.example.io"), STR("v1")), "paths");
    CHECK(json_len(paths) == 9);
    patch = AT(paths, OBJECT, "patch");
    /* kubectl looks for these before it sends them */
    CHECK(has_param(patch, "fieldValidation", "query") && has_param(patch, "dryRun", "query"));
    CHECK(has_param(patch, "force", "query") && has_param(patch, "fieldManager", "query"));
    CHECK(has_param(AT(paths, OBJECT), "name", "path"));
    CHECK(has_param(AT(paths, OBJECT), "namespace", "path"));
    CHECK_STR(text(f.arena, AT(patch, "x-kubernetes-group-version-kind")),
              "{\"group\":\"x.example.io\",\"kind\":\"Widget\",\"version\":\"v1\"}");
    CHECK_STR(str_z(f.arena, json_str(AT(patch, "x-kubernetes-action"))), "patch");
    CHECK_STR(str_z(f.arena, json_str(AT(patch, "operationId"))),
              "patchXExampleIoV1NamespacedWidget");
    CHECK(json_len(AT(patch, "requestBody", "content")) == 4);

    list = AT(paths, "/apis/x.example.io/v1/widgets", "get");
    CHECK_STR(str_z(f.arena, json_str(AT(list, "operationId"))),
              "listXExampleIoV1WidgetForAllNamespaces");
    /* What all operations of a path have stands with the path. */
    CHECK(!AT(list, "parameters"));
    list = AT(paths, "/apis/x.example.io/v1/widgets");
    CHECK(has_param(list, "labelSelector", "query") && !has_param(list, "dryRun", "query"));
    CHECK(has_param(list, "pretty", "query") && !has_param(list, "namespace", "path"));
    CHECK(!AT(paths, "/apis/x.example.io/v1/widgets", "post"));
    CHECK_STR(
        str_z(f.arena, json_str(AT(paths, "/apis/x.example.io/v1/namespaces/{namespace}/widgets",
                                   "delete", "operationId"))),
        "deleteXExampleIoV1CollectionNamespacedWidget");
    CHECK_STR(text(f.arena, AT(paths, OBJECT "/scale", "put", "x-kubernetes-group-version-kind")),
              "{\"group\":\"autoscaling\",\"kind\":\"Scale\",\"version\":\"v1\"}");
    CHECK_STR(text(f.arena, AT(paths, OBJECT "/status", "get", "x-kubernetes-group-version-kind")),
              "{\"group\":\"x.example.io\",\"kind\":\"Widget\",\"version\":\"v1\"}");
    CHECK(!AT(paths, OBJECT "/status", "delete"));
    list = AT(paths, "/apis/x.example.io/v1/watch/widgets", "get");
    CHECK_STR(str_z(f.arena, json_str(AT(list, "operationId"))),
              "watchXExampleIoV1WidgetListForAllNamespaces");
    CHECK_STR(str_z(f.arena, json_str(AT(list, "x-kubernetes-action"))), "watchlist");
    CHECK(json_len(AT(list, "responses", "200", "content")) == 5);
    list = AT(paths, "/apis/x.example.io/v1/watch/namespaces/{namespace}/widgets/{name}", "get");
    CHECK_STR(str_z(f.arena, json_str(AT(list, "operationId"))),
              "watchXExampleIoV1NamespacedWidget");
    teardown(&f);
}

TEST(what_is_beside_kinds)
{
    struct fixture f;
    const struct json *v;

    REQUIRE(setup(&f));
    v = openapi_v3_site(f.arena, &f.catalog, STR("apis/x.example.io"));
    CHECK_STR(str_z(f.arena, json_str(AT(v, "paths", "/apis/x.example.io/", "get", "operationId"))),
              "getXExampleIoAPIGroup");
    v = openapi_v3_site(f.arena, &f.catalog, STR("openid/v1/jwks"));
    CHECK_STR(
        text(f.arena, AT(v, "paths", "/openid/v1/jwks/", "get", "responses", "200", "content")),
        "{\"application/jwk-set+json\":{\"schema\":{\"type\":\"string\"}}}");
    CHECK(!AT(v, "components", "schemas") && AT(v, "components", "securitySchemes"));
    CHECK(!openapi_v3_site(f.arena, &f.catalog, STR("apis/y.example.io")));
    CHECK(!openapi_v3_site(f.arena, &f.catalog, STR("")));
    v = openapi_v2(f.arena, &f.catalog);
    CHECK_STR(text(f.arena, AT(v, "paths", "/version/", "get", "produces")),
              "[\"application/json\"]");
    CHECK_STR(text(f.arena, AT(v, "security")), "[{\"BearerToken\":[]}]");
    teardown(&f);
}

TEST(paths_in_v2)
{
    struct fixture f;
    const struct json *v, *patch, *body;
    str ref;

    REQUIRE(setup(&f));
    v = openapi_v2(f.arena, &f.catalog);
    patch = AT(v, "paths", OBJECT, "patch");
    CHECK(has_param(patch, "dryRun", "query") && has_param(patch, "fieldValidation", "query"));
    /* Most others are at the top, once. */
    ref = json_get_str(json_at(json_get(patch, STR("parameters")), 0), "$ref");
    REQUIRE(str_starts(ref, STR("#/parameters/body-")));
    body = json_get(json_get(v, STR("parameters")), str_from(ref, strlen("#/parameters/")));
    CHECK_STR(text(f.arena, body),
              "{\"name\":\"body\",\"in\":\"body\",\"required\":true,\"schema\":{\"$ref\":"
              "\"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch\"}}");
    CHECK(!has_param(patch, "force", "query"));
    CHECK(has_param(AT(v, "paths", OBJECT, "put"), "body", "body")); /* of the kind itself */
    CHECK_STR(text(f.arena, AT(patch, "consumes")),
              "[\"application/json-patch+json\",\"application/merge-patch+json\","
              "\"application/strategic-merge-patch+json\",\"application/apply-patch+yaml\"]");
    teardown(&f);
}

TEST(the_root_names_documents_with_the_prefix)
{
    struct fixture f;
    char hash[OPENAPI_HASH_LEN + 1], other[OPENAPI_HASH_LEN + 1];
    struct catalog changed;
    const struct json *root;

    REQUIRE(setup(&f));
    openapi_v3_hash(hash, &f.catalog, STR("apis/x.example.io/v1"));
    CHECK(strspn(hash, "0123456789ABCDEF") == OPENAPI_HASH_LEN);
    root = openapi_v3_root(f.arena, &f.catalog, STR("/clusters/t1"));
    CHECK_STR(text(f.arena, AT(root, "paths", "apis/x.example.io/v1")),
              arena_printf(f.arena,
                           "{\"serverRelativeURL\":"
                           "\"/clusters/t1/openapi/v3/apis/x.example.io/v1?hash=%s\"}",
                           hash));
    CHECK(AT(root, "paths", "version") && AT(root, "paths", "apis/x.example.io"));
    CHECK(json_len(AT(root, "paths")) == 7);
    changed = f.catalog;
    changed.etag++;
    openapi_v3_hash(other, &changed, STR("apis/x.example.io/v1"));
    CHECK(strcmp(hash, other) != 0);
    openapi_v3_hash(other, &f.catalog, STR("apis/x.example.io/v2"));
    CHECK(strcmp(hash, other) != 0);
    teardown(&f);
}

/* ---- the protobuf form ---- */

/* Follows field numbers into a message, the first of each; 0 ends. */
static str follow(str message, const uint32_t *numbers)
{
    while (*numbers) {
        struct pb_reader r = pb_reader(message);
        struct pb_field field;
        bool found = false;

        while (!found && pb_next(&r, &field))
            found = field.number == *numbers && field.wire == PB_BYTES;
        if (!found)
            return STR("(none)");
        message = field.bytes;
        numbers++;
    }
    return message;
}
#define FOLLOW(m, ...) follow((m), (const uint32_t[]){ __VA_ARGS__, 0 })

/* The value of the entry of that name in a repeated { 1 name, 2 value }. */
static str entry(str message, uint32_t number, const char *name)
{
    struct pb_reader r = pb_reader(message);
    struct pb_field field;

    while (pb_next(&r, &field)) {
        if (field.number == number && str_is(FOLLOW(field.bytes, 1), name))
            return FOLLOW(field.bytes, 2);
    }
    return STR("(none)");
}

static bool proto_has_query(str operation, const char *name)
{
    struct pb_reader r = pb_reader(operation);
    struct pb_field field;

    while (pb_next(&r, &field)) {
        /* parameters, parameter, nonBodyParameter, queryParameterSubSchema, name */
        if (field.number == 8 && str_is(FOLLOW(field.bytes, 1, 2, 3, 4), name))
            return true;
    }
    return false;
}

TEST(what_old_kubectls_read_in_protobuf)
{
    struct fixture f;
    scoped_buf b;
    str doc, spec, parts, patch;

    REQUIRE(setup(&f));
    buf_init(&b, 1 << 20);
    openapi_proto_print(&b, openapi_v2(f.arena, &f.catalog));
    REQUIRE(!buf_overflown(&b));
    doc = buf_str(&b);
    CHECK_STR(str_z(f.arena, FOLLOW(doc, 1)), "2.0");
    spec = entry(FOLLOW(doc, 9), 1, "io.example.v1.WidgetSpec");
    CHECK_STR(str_z(f.arena, FOLLOW(spec, 22, 1)), "object");
    CHECK_STR(str_z(f.arena, FOLLOW(spec, 19)), "name");
    parts = entry(FOLLOW(spec, 25), 1, "parts");
    CHECK_STR(str_z(f.arena, FOLLOW(parts, 22, 1)), "array");
    CHECK_STR(str_z(f.arena, FOLLOW(parts, 23, 1, 1)), "#/definitions/io.example.v1.Part");
    CHECK_STR(str_z(f.arena, FOLLOW(entry(parts, 31, "x-kubernetes-patch-merge-key"), 2)),
              "\"id\"");
    CHECK_STR(str_z(f.arena, FOLLOW(entry(FOLLOW(spec, 25), 1, "mode"), 20, 2)), "\"Fast\"");
    CHECK_STR(str_z(f.arena, FOLLOW(entry(FOLLOW(spec, 25), 1, "limits"), 21, 1, 1)),
              "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity");
    CHECK_STR(str_z(f.arena, FOLLOW(entry(entry(FOLLOW(doc, 9), 1, "io.example.v1.Widget"), 31,
                                          "x-kubernetes-group-version-kind"),
                                    2)),
              "[{\"group\":\"x.example.io\",\"kind\":\"Widget\",\"version\":\"v1\"}]");
    patch = FOLLOW(entry(FOLLOW(doc, 8), 2, OBJECT), 8);
    CHECK(proto_has_query(patch, "dryRun") && proto_has_query(patch, "fieldValidation"));
    CHECK(!proto_has_query(patch, "watch"));
    CHECK_STR(str_z(f.arena, FOLLOW(entry(patch, 13, "x-kubernetes-action"), 2)), "\"patch\"");
    CHECK_STR(str_z(f.arena, FOLLOW(entry(FOLLOW(patch, 9), 1, "200"), 1, 2, 1, 1)),
              "#/definitions/io.example.v1.Widget");
    teardown(&f);
}

/* ---- custom resources ---- */

static const char custom_schema[] =
    "{\"type\":\"object\",\"description\":\"A "
    "gear.\",\"properties\":{\"spec\":{\"type\":\"object\","
    "\"properties\":{\"size\":{\"type\":\"integer\",\"minimum\":1,\"default\":3},"
    "\"color\":{\"type\":\"string\",\"nullable\":true,\"maxLength\":9,\"example\":\"red\"},"
    "\"inner\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
    "\"properties\":{\"x\":{\"type\":\"string\"}}},"
    "\"num\":{\"type\":\"number\",\"not\":{\"enum\":[5]},\"multipleOf\":0.5}}}}}";

static const struct field_label gear_fields[] = { { .label = STR_INIT("spec.color") } };
static struct kind gear = {
    .group = STR_INIT("y.example.io"),
    .version = STR_INIT("v1"),
    .kind = STR_INIT("Gear"),
    .plural = STR_INIT("gears"),
    .singular = STR_INIT("gear"),
    .list_kind = STR_INIT("GearList"),
    .verbs = VERBS_ALL,
    .api_version = STR_INIT("y.example.io/v1"),
    .field_labels = gear_fields,
    .nfield_labels = 1,
    .schema_id = 7,
};
static const struct kind *const gears[] = { &gear };

static bool setup_custom(struct fixture *f)
{
    const struct json *given;
    const struct schema *compiled;
    struct schema *named;
    struct status st;

    if (!setup(f))
        return false;
    status_init(&st, f->arena);
    if (json_parse(f->arena, str_of(custom_schema), NULL, &given, &st) < 0 ||
        structural_compile(f->arena, schema_set_find(f->set, STR(OPENAPI_META "ObjectMeta")), given,
                           false, &compiled, &st) < 0)
        return false;
    named = arena_new_of(f->arena, struct schema);
    *named = *compiled;
    named->name = STR("io.example.y.v1.Gear");
    gear.schema = named;
    f->catalog.kinds = gears;
    return true;
}

#define GEARS "/apis/y.example.io/v1/gears"
#define GEAR  "io.example.y.v1.Gear"

TEST(custom_resources_in_v3)
{
    struct fixture f;
    const struct json *v, *paths, *spec;

    REQUIRE(setup_custom(&f));
    v = openapi_v3(f.arena, &f.catalog, STR("y.example.io"), STR("v1"));
    paths = AT(v, "paths");
    CHECK(json_len(paths) == 2); /* neither below watch nor of discovery */
    CHECK(json_len(AT(paths, GEARS "/{name}", "patch", "requestBody", "content")) == 3);
    CHECK(!AT(paths, GEARS "/{name}", "patch", "responses", "201"));
    CHECK(has_param(AT(paths, GEARS "/{name}", "get"), "resourceVersion", "query"));
    CHECK(!AT(paths, GEARS, "delete", "requestBody"));
    CHECK(!AT(v, "components", "securitySchemes"));
    v = AT(v, "components", "schemas");
    CHECK_STR(text(f.arena, AT(v, GEAR, "x-kubernetes-selectable-fields")),
              "[{\"fieldPath\":\"spec.color\"}]");
    CHECK(AT(v, GEAR "List", "x-kubernetes-selectable-fields")); /* there, too */
    CHECK_STR(text(f.arena, AT(v, GEAR "List", "properties", "items", "items")),
              "{\"$ref\":\"#/components/schemas/" GEAR "\"}");
    spec = AT(v, GEAR, "properties", "spec", "properties");
    CHECK_STR(text(f.arena, AT(spec, "color")),
              "{\"type\":\"string\",\"nullable\":true,\"maxLength\":9}");
    CHECK(AT(spec, "inner", "properties", "metadata") && AT(spec, "inner", "properties", "x"));
    CHECK_STR(text(f.arena, AT(spec, "inner", "required")), "[\"kind\",\"apiVersion\"]");
    teardown(&f);
}

TEST(custom_resources_in_v2)
{
    struct fixture f;
    const struct json *v, *spec;
    scoped_buf b;
    str proto;

    REQUIRE(setup_custom(&f));
    v = openapi_v2(f.arena, &f.catalog);
    spec = AT(v, "definitions", GEAR, "properties", "spec", "properties");
    CHECK_STR(text(f.arena, AT(spec, "size")), "{\"type\":\"integer\",\"minimum\":1}");
    CHECK_STR(text(f.arena, AT(spec, "color")), "{\"maxLength\":9}");
    CHECK_STR(text(f.arena, AT(spec, "num")), "{\"type\":\"number\",\"multipleOf\":0.5}");
    CHECK_STR(text(f.arena, AT(v, "paths", GEARS, "get", "produces")),
              "[\"application/json\",\"application/yaml\"]");
    buf_init(&b, 1 << 20);
    openapi_proto_print(&b, v);
    proto = entry(FOLLOW(buf_str(&b), 9), 1, GEAR);
    proto = entry(FOLLOW(entry(FOLLOW(proto, 25), 1, "spec"), 25), 1, "num");
    CHECK_STR(str_z(f.arena, FOLLOW(proto, 22, 1)), "number");
    /* parameters: one by name, with a body in it */
    CHECK(str_starts(FOLLOW(buf_str(&b), 10, 1, 1), STR("allowWatchBookmarks-")));
    CHECK_STR(str_z(f.arena, FOLLOW(buf_str(&b), 13, 1, 2, 2, 1)), "apiKey");
    teardown(&f);
}

/* ---- the built-in kinds ---- */

static uint32_t next_id(void *arg, str group, str plural)
{
    (void)group;
    (void)plural;
    return ++*(uint32_t *)arg;
}

/* How many references of v lead nowhere; those to parameters are another's. */
static size_t dangling(const struct json *v, const struct json *defs, str where)
{
    size_t n = 0;

    json_for_each (item, v)
        n += dangling(item, defs, where);
    json_for_each_member (m, v) {
        str ref = json_str(&m->value);

        if (str_eq(m->name, STR("$ref")) && json_is(&m->value, JSON_STRING) &&
            !str_starts(ref, STR("#/parameters/")) &&
            (!str_starts(ref, where) || !json_get(defs, str_from(ref, where.n))))
            n++;
        n += dangling(&m->value, defs, where);
    }
    return n;
}

TEST(built_in_kinds_leave_nothing_dangling)
{
    scoped_arena a = arena_new();
    struct status st;
    uint32_t ids = 0;
    const struct catalog *c;
    const struct json *v;
    scoped_buf b;

    status_init(&st, a);
    REQUIRE(kinds_init(next_id, &ids, &st) == 0);
    c = kinds_catalog_root();
    v = openapi_v2(a, c);
    CHECK(dangling(v, AT(v, "definitions"), STR("#/definitions/")) == 0);
    buf_init(&b, 16 << 20);
    openapi_proto_print(&b, v); /* asserts that every member has a number */
    CHECK(!buf_overflown(&b) && b.n > 10000);
    for (size_t i = 0; i < c->nkinds; i++) {
        v = openapi_v3(a, c, c->kinds[i]->group, c->kinds[i]->version);
        REQUIRE(v);
        CHECK(dangling(v, AT(v, "components", "schemas"), STR("#/components/schemas/")) == 0);
        CHECK(AT(v, "components", "schemas", str_z(a, c->kinds[i]->schema->name)));
    }
    kinds_free();
}
