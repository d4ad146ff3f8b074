/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crdschema/structural.h"

#include <stdlib.h>

#include "object/meta/typed.h"
#include "tap.h"
#include "unit/meta_tables.h"
#include "unit/parse.h"

/* The texts are those of recorded answers: crd-schema, custom-resources, field-validation. */

#define SPEC(props)                                                                             \
    "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{" props \
    "}}}}"

struct world {
    struct arena *arena;
    struct schema_set *set;
    const struct schema *schema;
};

static struct world world_of(const char *openapi)
{
    struct world w = { .arena = arena_new(), .set = meta_tables_load() };
    struct status st;

    status_init(&st, w.arena);
    CHECK(structural_compile(
              w.arena,
              schema_set_find(w.set, STR("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")),
              parse(w.arena, openapi), false, &w.schema, &st) == 0);
    return w;
}

static void world_end(struct world *w)
{
    schema_set_free(w->set);
    arena_free(w->arena);
}

static const char *text_of(struct arena *a, const struct json *v)
{
    scoped_buf b;

    buf_init(&b, 1 << 20);
    json_print_canonical(&b, v);
    return str_z(a, buf_str(&b));
}

/* The object after decoding, then `; ` and each fault. */
static const char *decoded(struct world *w, const char *obj)
{
    struct schema_faults faults = { 0 };
    const struct json *out;
    struct status st;
    str text;

    status_init(&st, w->arena);
    if (schema_decode(w->arena, w->schema, parse(w->arena, obj), &faults, &out, &st) < 0)
        return str_z(w->arena, st.message);
    text = str_of(text_of(w->arena, out));
    for (size_t i = 0; i < faults.n; i++)
        text = str_printf(w->arena, "%.*s; %.*s", STR_ARG(text), STR_ARG(faults.texts[i]));
    return str_z(w->arena, text);
}

/* `field: message; …` */
static const char *faults_of(struct world *w, const char *obj, const char *old)
{
    struct status st;
    str text = STR("");

    status_init(&st, w->arena);
    structural_validate(w->schema, parse(w->arena, obj), old ? parse(w->arena, old) : NULL, &st);
    for (const struct cause *c = st.causes; c; c = c->next)
        text = str_printf(w->arena, "%.*s%s%.*s: %.*s", STR_ARG(text), text.n ? "; " : "",
                          STR_ARG(c->field), STR_ARG(c->message));
    return str_z(w->arena, text);
}

TEST(unknown_fields_are_pruned_and_told)
{
    struct world w = world_of(
        SPEC("\"known\":{\"type\":\"string\"},"
             "\"open\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"
             "\"half\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"object\"}},"
             "\"x-kubernetes-preserve-unknown-fields\":true},"
             "\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\","
             "\"properties\":{\"v\":{\"type\":\"integer\"}}}},"
             "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"n\":{"
             "\"type\":\"string\"}}}},"
             "\"emb\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
             "\"x-kubernetes-preserve-unknown-fields\":true}"));

    CHECK_STR(decoded(&w, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"known\":\"x\",\"open\":{"
                          "\"any\":{\"thing\":1}}}}"),
              "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"known\":\"x\",\"open\":{\"any\":{"
              "\"thing\":1}}}}");
    CHECK_STR(
        decoded(&w,
                "{\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\",\"nope\":1},\"spec\":{"
                "\"unknown\":1,\"half\":{\"k\":{\"x\":1},\"u\":{\"v\":2}},\"map\":{\"a\":{\"v\":1,"
                "\"w\":2}},\"list\":[{\"n\":\"1\",\"m\":\"2\"}],\"emb\":{\"apiVersion\":\"v1\","
                "\"kind\":\"X\",\"metadata\":{\"name\":\"e\",\"bogus\":1},\"data\":{\"k\":\"v\"}}"
                "},\"extra\":true,\"status\":{\"x\":1}}"),
        "{\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"emb\":{\"apiVersion\":"
        "\"v1\",\"data\":{\"k\":\"v\"},\"kind\":\"X\",\"metadata\":{\"name\":\"e\"}},\"half\":{"
        "\"k\":{},\"u\":{\"v\":2}},\"list\":[{\"n\":\"1\"}],\"map\":{\"a\":{\"v\":1}}}}"
        "; unknown field \"metadata.nope\""
        "; unknown field \"extra\"; unknown field \"spec.half.k.x\""
        "; unknown field \"spec.list[0].m\"; unknown field \"spec.map.a.w\""
        "; unknown field \"spec.unknown\"; unknown field \"status\""
        "; unknown field \"spec.emb.metadata.bogus\"");
    world_end(&w);
}

TEST(defaults_and_nulls)
{
    struct world w = world_of(SPEC(
        "\"replicas\":{\"type\":\"integer\",\"default\":1},"
        "\"nested\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":"
        "\"x\"}}},"
        "\"auto\":{\"type\":\"object\",\"default\":{},\"properties\":{\"deep\":{\"type\":"
        "\"integer\",\"default\":7}}},"
        "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"n\":{"
        "\"type\":\"string\"},\"w\":{\"type\":\"integer\",\"default\":5}}}},"
        "\"nul\":{\"type\":\"string\",\"nullable\":true,\"default\":\"d\"},"
        "\"nonnull\":{\"type\":\"string\",\"default\":\"d\"},\"plain\":{\"type\":\"string\"},"
        "\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\":"
        "{\"w\":{\"type\":\"boolean\",\"default\":true}}}}"));
    const struct json *out;
    struct status st;

    CHECK_STR(decoded(&w, "{\"spec\":{\"nested\":{},\"list\":[{\"n\":\"1\"},{\"w\":6}],\"nul\":"
                          "null,\"nonnull\":null,\"plain\":null,\"map\":{\"k\":{}}}}"),
              "{\"spec\":{\"auto\":{\"deep\":7},\"list\":[{\"n\":\"1\",\"w\":5},{\"w\":6}],\"map\":"
              "{\"k\":{\"w\":true}},\"nested\":{\"a\":\"x\"},\"nonnull\":\"d\",\"nul\":null,"
              "\"replicas\":1}}");
    CHECK_STR(decoded(&w, "{\"spec\":{}}"),
              "{\"spec\":{\"auto\":{\"deep\":7},\"nonnull\":\"d\",\"nul\":\"d\",\"replicas\":1}}");
    CHECK_STR(decoded(&w, "{\"metadata\":{\"name\":\"c\"}}"), "{\"metadata\":{\"name\":\"c\"}}");
    /* What was merged has nulls that validation shall see. */
    status_init(&st, w.arena);
    REQUIRE(structural_decode(w.arena, w.schema,
                              parse(w.arena, "{\"spec\":{\"auto\":{},\"nonnull\":null,\"nul\":null,"
                                             "\"plain\":null}}"),
                              STRUCTURAL_APPLIED, NULL, &out, &st) == 0);
    CHECK_STR(text_of(w.arena, out),
              "{\"spec\":{\"auto\":{\"deep\":7},\"nonnull\":\"d\",\"nul\":null,\"plain\":null,"
              "\"replicas\":1}}");
    world_end(&w);
}

TEST(metadata_is_typed)
{
    struct world w =
        world_of(SPEC("\"t\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
                      "\"x-kubernetes-preserve-unknown-fields\":true}"));
    const struct json *out;
    struct status st;

    CHECK_STR(decoded(&w, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":1}}}"),
              "labels.a: must be a string, not a number");
    CHECK_STR(decoded(&w, "{\"spec\":{\"t\":{\"kind\":1}}}"),
              "spec.t.kind: Invalid value: 1: must be a string");
    /* From the store nothing fails. */
    status_init(&st, w.arena);
    REQUIRE(
        structural_decode(w.arena, w.schema,
                          parse(w.arena, "{\"metadata\":{\"name\":\"a\",\"labels\":1},\"spec\":{"
                                         "\"t\":{\"kind\":1}}}"),
                          STRUCTURAL_STORED, NULL, &out, &st) == 0);
    CHECK_STR(text_of(w.arena, out), "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"t\":{}}}");
    world_end(&w);
}

TEST(what_is_as_it_should_be_is_shared)
{
    struct world w = world_of(SPEC("\"a\":{\"type\":\"string\",\"default\":\"x\"}"));
    const struct json *in = parse(w.arena, "{\"spec\":{\"a\":\"y\"},\"kind\":\"W\"}"), *out;
    struct status st;

    status_init(&st, w.arena);
    REQUIRE(schema_decode(w.arena, w.schema, in, NULL, &out, &st) == 0);
    CHECK(out == in);
    world_end(&w);
}

struct row {
    const char *spec, *faults;
};

static void check_rows(const char *openapi, const struct row *rows, size_t n)
{
    struct world w = world_of(openapi);

    for (size_t i = 0; i < n; i++)
        CHECK_STR(faults_of(&w, arena_printf(w.arena, "{\"spec\":%s}", rows[i].spec), NULL),
                  rows[i].faults);
    world_end(&w);
}
#define ROWS(openapi, rows) check_rows(openapi, rows, sizeof(rows) / sizeof(*(rows)))

TEST(types)
{
    static const struct row rows[] = {
        { "{\"s\":1}", "spec.s: Invalid value: \"integer\": spec.s in body must be of type string: "
                       "\"integer\"" },
        { "{\"i\":\"x\"}", "spec.i: Invalid value: \"string\": spec.i in body must be of type "
                           "integer: \"string\"" },
        { "{\"i\":1.5}", "spec.i: Invalid value: \"number\": spec.i in body must be of type "
                         "integer: \"number\"" },
        { "{\"i\":2.0,\"n\":1}", "" },
        { "{\"b\":\"x\"}", "spec.b: Invalid value: \"string\": spec.b in body must be of type "
                           "boolean: \"string\"" },
        { "{\"a\":{}}", "spec.a: Invalid value: \"object\": spec.a in body must be of type array: "
                        "\"object\"" },
        { "{\"a\":[1]}", "spec.a[0]: Invalid value: \"integer\": spec.a[0] in body must be of type "
                         "string: \"integer\"" },
        { "{\"p\":true}", "spec.p: Invalid value: \"boolean\": spec.p in body must be of type "
                          "integer,string: \"boolean\"" },
        { "{\"p\":1}", "" },
        { "{\"p\":\"50%\"}", "" },
        /* a format is the type; strings and arrays fit it */
        { "{\"u\":true}",
          "spec.u: Invalid value: \"\": spec.u in body must be of type uuid: \"\"" },
        { "{\"u\":[1]}", "" },
        { "{\"u\":7}",
          "spec.u: Invalid value: \"int64\": spec.u in body must be of type uuid: \"int64\"" },
        { "{\"z\":true}", "spec.z: Invalid value: \"boolean\": spec.z in body must be of type "
                          "integer: \"boolean\"" },
    };

    ROWS(
        SPEC("\"s\":{\"type\":\"string\"},\"i\":{\"type\":\"integer\"},\"n\":{\"type\":\"number\"},"
             "\"b\":{\"type\":\"boolean\"},\"a\":{\"type\":\"array\",\"items\":{\"type\":"
             "\"string\"}},\"p\":{\"x-kubernetes-int-or-string\":true},\"u\":{\"type\":"
             "\"string\",\"format\":\"uuid\"},\"z\":{\"type\":\"integer\",\"format\":\"int64\"}"),
        rows);
}

TEST(limits)
{
    static const struct row rows[] = {
        { "{\"len\":\"x\"}",
          "spec.len: Invalid value: \"x\": spec.len in body should be at least 2 chars long" },
        { "{\"len\":\"xxxxx\"}", "spec.len: Too long: may not be more than 4 bytes" },
        { "{\"len\":\"\\u00f3\\u00f3\\u00f3\\u00f3\"}", "" },
        { "{\"pat\":\"A1\"}",
          "spec.pat: Invalid value: \"A1\": spec.pat in body should match '^[a-z]+$'" },
        { "{\"en\":\"c\"}", "spec.en: Unsupported value: \"c\": supported values: \"a\", \"b\"" },
        { "{\"en\":null}", "spec.en: Unsupported value: null: supported values: \"a\", \"b\"" },
        { "{\"l\":[]}", "spec.l: Invalid value: 0: spec.l in body should have at least 1 items" },
        { "{\"l\":[\"1\",\"2\",\"3\"]}", "spec.l: Too many: 3: must have at most 2 items" },
        { "{\"m\":{}}",
          "spec.m: Invalid value: 0: spec.m in body should have at least 1 properties" },
        { "{\"m\":{\"a\":1}}", "spec.m.a: Invalid value: \"integer\": spec.m.a in body must be of "
                               "type string: \"integer\"" },
        { "{\"n\":0}",
          "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1" },
        { "{\"n\":10}", "spec.n: Invalid value: 10: spec.n in body should be less than 10" },
        { "{\"k\":7}", "spec.k: Invalid value: 7: spec.k in body should be a multiple of 5" },
        { "{\"d\":\"x\"}", "spec.d: Invalid value: \"x\": spec.d in body must be of type date: "
                           "\"x\"" },
        { "{\"r\":{}}", "spec.r.x: Required value; spec.r.y: Required value" },
        { "{\"i\":2147483647}", "" },
        /* k8s: a format of integers is not looked at */
        { "{\"i\":2147483648}", "" },
        { "{\"u\":-1}", "" },
    };

    ROWS(SPEC("\"i\":{\"type\":\"integer\",\"format\":\"int32\"},"
              "\"u\":{\"type\":\"integer\",\"format\":\"uint32\"},"
              "\"len\":{\"type\":\"string\",\"minLength\":2,\"maxLength\":4},"
              "\"pat\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"},"
              "\"en\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"],\"nullable\":true},"
              "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,"
              "\"maxItems\":2},"
              "\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
              "\"minProperties\":1},"
              "\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10,\"exclusiveMaximum\":true},"
              "\"k\":{\"type\":\"integer\",\"multipleOf\":5},"
              "\"d\":{\"type\":\"string\",\"format\":\"date\"},"
              "\"r\":{\"type\":\"object\",\"required\":[\"x\",\"y\"],\"properties\":{\"x\":{"
              "\"type\":\"string\"},\"y\":{\"type\":\"string\"}}}"),
         rows);
}

TEST(combinators)
{
    static const struct row rows[] = {
        { "{\"one\":7}",
          "<nil>: Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). "
          "Found none valid; spec.one: Invalid value: 7: spec.one in body should be greater than "
          "or equal to 10" },
        { "{\"any\":{}}",
          "<nil>: Invalid value: \"\": \"spec.any\" must validate at least one schema (anyOf); "
          "spec.any.a: Required value" },
        { "{\"not\":\"bad\"}",
          "<nil>: Invalid value: \"\": \"spec.not\" must not validate the schema (not)" },
        { "{\"all\":9}",
          "spec.all: Invalid value: 9: spec.all in body should be less than or equal to 4; "
          "<nil>: Invalid value: \"\": \"spec.all\" must validate all the schemas (allOf)" },
        { "{\"one\":11,\"any\":{\"b\":\"1\"},\"not\":\"ok\",\"all\":3}", "" },
    };

    ROWS(SPEC("\"one\":{\"type\":\"integer\",\"oneOf\":[{\"minimum\":10},{\"maximum\":5}]},"
              "\"any\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{"
              "\"type\":\"string\"}},\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]},"
              "\"not\":{\"type\":\"string\",\"not\":{\"enum\":[\"bad\"]}},"
              "\"all\":{\"type\":\"integer\",\"allOf\":[{\"minimum\":2},{\"maximum\":4}]}"),
         rows);
}

TEST(sets_map_lists_and_embedded_resources)
{
    static const struct row rows[] = {
        { "{\"set\":[\"a\",\"a\",\"a\"]}", "spec.set[1]: Duplicate value: \"a\"" },
        { "{\"map\":[{\"k\":\"a\"},{\"k\":\"a\"}]}",
          "spec.map[1]: Duplicate value: {\"k\":\"a\"}" },
        { "{\"set\":[\"a\",\"b\"],\"map\":[{\"k\":\"a\"},{\"k\":\"b\"}]}", "" },
        { "{\"in\":{\"x\":[[1,1]]}}", "spec.in[x][0][1]: Duplicate value: 1" },
        { "{\"objects\":[{\"a\":\"1\",\"b\":\"2\"},{\"b\":\"2\",\"a\":\"1\"}]}",
          "spec.objects[1]: Duplicate value: {\"a\":\"1\",\"b\":\"2\"}" },
        { "{\"t\":{\"kind\":\"X\",\"metadata\":{\"name\":\"n\"}}}",
          "spec.t.apiVersion: Required value" },
        { "{\"t\":{\"apiVersion\":\"v1\",\"kind\":\"X\"}}", "" },
    };
    struct world w;

    ROWS(
        SPEC("\"set\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
             "\"string\"}},"
             "\"map\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
             "\"x-kubernetes-list-map-keys\":[\"k\"],\"items\":{\"type\":\"object\",\"properties\":"
             "{\"k\":{\"type\":\"string\"}},\"required\":[\"k\"]}},"
             "\"in\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"array\",\"items\":{"
             "\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"integer\""
             "}}}},"
             "\"objects\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{"
             "\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\",\"properties\":{\"a\":{"
             "\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}},"
             "\"t\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
             "\"x-kubernetes-preserve-unknown-fields\":true}"),
        rows);
    w = world_of(SPEC("\"t\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true}"));
    CHECK(strstr(faults_of(&w,
                           "{\"spec\":{\"t\":{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{"
                           "\"labels\":{\"a\":\"b c\"}}}}}",
                           NULL),
                 "spec.t.metadata.labels: Invalid value: \"b c\": "));
    world_end(&w);
}

/* k8s: CRDValidationRatcheting */
TEST(what_was_wrong_before_may_stay)
{
    struct world w = world_of(SPEC(
        "\"s\":{\"type\":\"string\",\"maxLength\":1},\"t\":{\"type\":\"string\",\"maxLength\":1},"
        "\"set\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
        "\"string\"}},"
        "\"map\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
        "\"x-kubernetes-list-map-keys\":[\"k\"],\"items\":{\"type\":\"object\",\"properties\":{"
        "\"k\":{\"type\":\"string\"},\"v\":{\"type\":\"string\",\"maxLength\":1}}}}"));

    CHECK_STR(faults_of(&w, "{\"spec\":{\"s\":\"long\",\"t\":\"a\"}}",
                        "{\"spec\":{\"s\":\"long\",\"t\":\"b\"}}"),
              "");
    CHECK_STR(faults_of(&w, "{\"spec\":{\"s\":\"long\",\"t\":\"long\"}}",
                        "{\"spec\":{\"s\":\"long\",\"t\":\"b\"}}"),
              "spec.t: Too long: may not be more than 1 byte");
    CHECK_STR(faults_of(&w,
                        "{\"spec\":{\"map\":[{\"k\":\"new\",\"v\":\"\"},{\"k\":\"a\",\"v\":"
                        "\"long\"}]}}",
                        "{\"spec\":{\"map\":[{\"k\":\"a\",\"v\":\"long\"}]}}"),
              "");
    CHECK_STR(faults_of(&w, "{\"spec\":{\"set\":[\"a\",\"a\"],\"t\":\"x\"}}",
                        "{\"spec\":{\"set\":[\"a\",\"a\"]}}"),
              "");
    CHECK_STR(faults_of(&w, "{\"spec\":{\"set\":[\"a\",\"a\"]}}", "{\"spec\":{\"set\":[\"a\"]}}"),
              "spec.set[1]: Duplicate value: \"a\"");
    world_end(&w);
}

TEST(metadata_may_be_restricted)
{
    struct world w =
        world_of("{\"type\":\"object\",\"properties\":{\"metadata\":{\"type\":"
                 "\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":"
                 "\"^ok-\"}}}}}");

    CHECK_STR(faults_of(&w, "{\"metadata\":{\"name\":\"bad\"}}", NULL),
              "metadata.name: Invalid value: \"bad\": metadata.name in body should match '^ok-'");
    CHECK_STR(decoded(&w, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\"}}}"),
              "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"x\"}}");
    world_end(&w);
}

/* What server-side apply and OpenAPI walk. */
TEST(list_types_stand_where_native_ones_do)
{
    struct world w = world_of(
        SPEC("\"map\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
             "\"x-kubernetes-list-map-keys\":[\"k\",\"p\"],\"items\":{\"type\":\"object\"}},"
             "\"in\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"array\",\"items\":{"
             "\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\"}},"
             "\"atom\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\"}"));
    const struct schema *spec = schema_field(w.schema, STR("spec"))->type;
    const struct schema_field *map = schema_field(spec, STR("map"));
    const struct schema_field *in = schema_field(spec, STR("in"));
    const struct schema_field *meta = schema_field(w.schema, STR("metadata"));

    CHECK(map->type->type == SCHEMA_LIST && map->list_type == SCHEMA_LIST_MAP);
    CHECK(map->nlist_keys == 2 && str_is(map->list_keys[1], "p"));
    CHECK(map->type->items->type == SCHEMA_OBJECT);
    CHECK(in->type->type == SCHEMA_MAP && in->type->items->list_type == SCHEMA_LIST_SET);
    CHECK(schema_field(spec, STR("atom"))->map_atomic);
    CHECK(schema_field(meta->type, STR("finalizers"))->list_type == SCHEMA_LIST_SET);
    CHECK(schema_field(w.schema, STR("kind"))->type->type == SCHEMA_STRING);
    world_end(&w);
}

TEST(objects_may_have_any_number_of_fields)
{
    scoped_arena a = arena_new();
    scoped_buf b;
    struct world w;

    buf_init(&b, 1 << 20);
    buf_lit(&b, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 3000; i++)
        buf_printf(&b, "%s\"f%d\":{\"type\":\"integer\",\"default\":%d}", i ? "," : "", i, i);
    buf_lit(&b, "}}");
    w = world_of(str_z(a, buf_str(&b)));
    CHECK(w.schema->nfields == 3003);
    CHECK(strstr(decoded(&w, "{\"f2999\":5}"), "\"f2998\":2998,\"f2999\":5"));
    CHECK_STR(faults_of(&w, "{\"f1500\":\"x\"}", NULL),
              "f1500: Invalid value: \"string\": f1500 in body must be of type integer: "
              "\"string\"");
    world_end(&w);
}

TEST(what_is_too_deep_or_no_pattern_is_refused)
{
    static const struct schema nothing = { .type = SCHEMA_OBJECT };
    scoped_arena a = arena_new();
    const struct schema *s;
    struct status st;
    str deep = STR("{}");

    for (int i = 0; i < STRUCTURAL_DEPTH_MAX; i++)
        deep = str_printf(a, "{\"items\":%.*s}", STR_ARG(deep));
    status_init(&st, a);
    CHECK(structural_compile(a, &nothing, parse(a, "{\"properties\":{\"x\":{\"pattern\":\"(\"}}}"),
                             false, &s, &st) < 0);
    CHECK_STR(str_z(a, st.message), "error parsing regexp: missing closing ): `(`");
    status_reset(&st);
    CHECK(structural_compile(a, &nothing, parse(a, deep.p), false, &s, &st) < 0);
    CHECK_STR(str_z(a, st.message), "the schema is too large or too deep");
}

/* k8s: kube-openapi/pkg/schemaconv */
TEST(what_may_be_applied)
{
    static const struct row rows[] = {
        { "{\"open\":{\"in\":{\"unknown\":1}}}", "" },
        { "{\"none\":{\"unknown\":1}}", "" },
        { "{\"shut\":{\"unknown\":1}}", ".spec.shut.unknown: field not declared in schema" },
        { "{\"p\":{}}", "" },
        { "{\"p\":[1]}", "" },
        { "{\"u\":true}", "" },
        { "{\"u\":[1]}", ".spec.u: expected any scalar, got an array" },
    };
    struct world w = world_of(
        SPEC("\"open\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
             "\"properties\":{\"in\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":"
             "\"string\"}}}}},\"none\":{\"type\":\"object\"},\"shut\":{\"type\":\"object\","
             "\"properties\":{\"k\":{\"type\":\"string\"}}},\"p\":{\"x-kubernetes-int-or-string\":"
             "true},\"u\":{\"type\":\"string\",\"format\":\"uuid\"}"));

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *config = arena_printf(w.arena, "{\"spec\":%s}", rows[i].spec);

        CHECK_STR(str_z(w.arena, typed_check(w.arena, w.schema, parse(w.arena, config))),
                  rows[i].faults);
    }
    world_end(&w);
}

/* k8s: what is stored has the defaults of its own version; another one only leaves things out */
TEST(what_is_read_in_another_version_gets_no_defaults)
{
    struct world w = world_of(SPEC("\"a\":{\"type\":\"string\",\"default\":\"x\"},"
                                   "\"b\":{\"type\":\"string\"},"
                                   "\"c\":{\"type\":\"object\",\"default\":{}},"
                                   "\"l\":{\"type\":\"array\",\"items\":{\"type\":"
                                   "\"integer\",\"default\":7}}"));
    const struct json *out;
    struct status st;

    status_init(&st, w.arena);
    CHECK(structural_decode(w.arena, w.schema,
                            parse(w.arena, "{\"spec\":{\"a\":null,\"b\":null,\"l\":[null],"
                                           "\"other\":1}}"),
                            STRUCTURAL_CONVERTED, NULL, &out, &st) == 0);
    CHECK_STR(text_of(w.arena, out), "{\"spec\":{\"a\":null,\"l\":[null]}}");
    world_end(&w);
}

TEST(bounds_of_integers_are_integers)
{
    static const struct row rows[] = {
        { "{\"n\":1}", "" },
        { "{\"n\":0}",
          "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1" },
        { "{\"n\":1.2}",
          "spec.n: Invalid value: 1.2: spec.n in body should be greater than or equal to 1.8" },
        { "{\"n\":4}",
          "spec.n: Invalid value: 4: spec.n in body should be less than or equal to 3" },
        { "{\"m\":1.5}", "" },
        { "{\"m\":2}",
          "spec.m: Invalid value: 0: factor MultipleOf declared for spec.m must be positive: 0" },
        { "{\"e\":4.5}", "" },
        { "{\"e\":5.5}", "spec.e: Unsupported value: 5.5: supported values: \"1\", \"4\"" },
        { "{\"z\":0}",
          "spec.z: Invalid value: 0: factor MultipleOf declared for spec.z must be positive: 0" },
    };

    ROWS(SPEC("\"n\":{\"type\":\"number\",\"minimum\":1.8,\"maximum\":3.6},"
              "\"m\":{\"type\":\"number\",\"multipleOf\":0.5},"
              "\"e\":{\"type\":\"number\",\"enum\":[1,4]},"
              "\"z\":{\"type\":\"integer\",\"multipleOf\":0}"),
         rows);
}
