/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

/* Fields and words are those of recorded answers: crd, crd-versions. */

#define SCHEMA "spec.validation.openAPIV3Schema"
#define CRD(spec)                                                                               \
    "{\"metadata\":{\"name\":\"widgets.g.example.com\"},\"spec\":{\"group\":\"g.example.com\"," \
    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"}," spec "}}"
#define VERSION(schema)                                                            \
    "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{" \
    "\"openAPIV3Schema\":" schema "}}]"
#define FIELD(f)                                                                              \
    CRD(VERSION(                                                                              \
        "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{" \
        "\"f\":" f "}}}}"))
#define F SCHEMA ".properties[spec].properties[f]"

static struct fixture crds(void)
{
    return fixture_new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
}

static const struct json *created(struct fixture *f, const char *text)
{
    return f->kind->ops->prepare_create(&f->c, fixture_read(f, text));
}

static const char *create_faults(struct fixture *f, const char *text)
{
    return fixture_faults(f, created(f, text), NULL);
}

TEST(what_is_not_said_is_filled_in)
{
    struct fixture f = crds();

    CHECK_STR(
        fixture_print(&f, created(&f, CRD(VERSION("{\"type\":\"object\"}")))),
        "{\"metadata\":{\"name\":\"widgets.g.example.com\"},\"spec\":{\"conversion\":{"
        "\"strategy\":\"None\"},\"group\":\"g.example.com\",\"names\":{\"kind\":\"Widget\","
        "\"listKind\":\"WidgetList\",\"plural\":\"widgets\",\"singular\":\"widget\"},\"scope\":"
        "\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":{"
        "\"type\":\"object\"}},\"served\":true,\"storage\":true}]},\"status\":{"
        "\"acceptedNames\":{\"kind\":\"\",\"plural\":\"\"},\"conditions\":null,"
        "\"storedVersions\":[\"v1\"]}}");
    fixture_release(&f);
}

struct row {
    const char *text, *faults;
};

static void check_rows(const struct row *rows, size_t n)
{
    struct fixture f = crds();

    for (size_t i = 0; i < n; i++)
        CHECK_STR(create_faults(&f, rows[i].text), rows[i].faults);
    fixture_release(&f);
}

TEST(names_versions_and_scope)
{
    static const struct row rows[] = {
        { CRD(VERSION("{\"type\":\"object\"}")), "" },
        { "{\"metadata\":{\"name\":\"wrong.g.example.com\"},\"spec\":{\"group\":\"g.example.com\","
          "\"scope\":\"Cluster\",\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"}," VERSION(
              "{\"type\":\"object\"}") "}}",
          "metadata.name: Invalid value: \"wrong.g.example.com\": must be "
          "spec.names.plural+\".\"+spec.group" },
        { CRD(VERSION("{\"type\":\"object\"}") ",\"preserveUnknownFields\":true"),
          "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
          "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead" },
        { CRD("\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true}]"),
          "spec.versions[0].schema.openAPIV3Schema: Required value" },
        { CRD("\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
              "\"openAPIV3Schema\":{\"type\":\"object\"}}},{\"name\":\"v1\",\"served\":false,"
              "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]"),
          "spec.versions: Invalid value: must contain unique version names; "
          "spec.versions: Invalid value: must have exactly one version marked as storage "
          "version; status.storedVersions: Invalid value: [\"v1\"]: must have the storage version "
          "v1" },
        { "{\"metadata\":{\"name\":\"a.kpanda.io\"},\"spec\":{\"group\":\"kpanda.io\",\"scope\":"
          "\"Cluster\",\"names\":{\"plural\":\"a\",\"kind\":\"A\"}," VERSION(
              "{\"type\":\"object\"}") "}}",
          "spec.group: Invalid value: \"kpanda.io\": is reserved for the management API of this "
          "server" },
        { "{\"metadata\":{\"name\":\"as.x.k8s.io\"},\"spec\":{\"group\":\"x.k8s.io\",\"scope\":"
          "\"Cluster\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"}," VERSION(
              "{\"type\":\"object\"}") "}}",
          "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must "
          "have approval annotation \"api-approved.kubernetes.io\", see "
          "https://github.com/kubernetes/enhancements/pull/1111" },
        { "{\"metadata\":{\"name\":\"as.x.k8s.io\",\"annotations\":{\"api-approved.kubernetes.io\":"
          "\"https://github.com/x/y/pull/1\"}},\"spec\":{\"group\":\"x.k8s.io\",\"scope\":"
          "\"Cluster\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"}," VERSION(
              "{\"type\":\"object\"}") "}}",
          "" },
        { "{\"metadata\":{\"name\":\"pods.core\"},\"spec\":{\"group\":\"\",\"scope\":"
          "\"Namespaced\","
          "\"names\":{\"plural\":\"pods\",\"kind\":\"Pod\"}," VERSION("{\"type\":\"object\"}") "}}",
          "" },
    };

    check_rows(rows, sizeof(rows) / sizeof(*rows));
}

TEST(faults_of_several_fields)
{
    struct fixture f = crds();
    const char *text = create_faults(
        &f, "{\"metadata\":{\"name\":\"Ws.noDots\"},\"spec\":{\"group\":\"noDots\",\"scope\":"
            "\"Galactic\",\"names\":{\"plural\":\"Ws\",\"kind\":\"bad kind\"},\"versions\":[]}}");

    CHECK(strstr(text, "spec.group: Invalid value: \"noDots\": a lowercase RFC 1123 subdomain"));
    CHECK(strstr(text,
                 "spec.scope: Unsupported value: \"Galactic\": supported values: \"Cluster\", "
                 "\"Namespaced\""));
    CHECK(strstr(text, "spec.versions: Invalid value: must have exactly one version marked as "
                       "storage version"));
    CHECK(strstr(text, "spec.names.plural: Invalid value: \"Ws\": a DNS-1035 label"));
    CHECK(strstr(text, "spec.names.kind: Invalid value: \"bad kind\": may have mixed case, but "
                       "should otherwise match: a DNS-1035 label"));

    text = create_faults(&f, "{\"metadata\":{\"name\":\"ws.a.b\"},\"spec\":{\"group\":\"a.b\","
                             "\"scope\":\"Cluster\",\"names\":{\"plural\":\"ws\",\"kind\":\"W\"},"
                             "\"versions\":[{\"name\":\"V1\",\"served\":true,\"storage\":true,"
                             "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}");
    CHECK(strstr(text, "spec.versions[0].name: Invalid value: \"V1\": a DNS-1035 label"));
    CHECK(strstr(text, "spec.version: Invalid value: \"V1\": a DNS-1035 label"));
    fixture_release(&f);
}

TEST(schemas_are_structural)
{
    static const struct row rows[] = {
        { CRD(VERSION("{\"properties\":{\"spec\":{\"type\":\"object\"}}}")),
          SCHEMA ".type: Required value: must not be empty at the root" },
        { FIELD("{}"), F ".type: Required value: must not be empty for specified object fields" },
        { CRD(VERSION(
              "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"anyOf\":["
              "{\"properties\":{\"x\":{\"type\":\"string\"}}}]}}}")),
          SCHEMA ".properties[spec].anyOf[0].properties[x].type: Forbidden: must be empty to be "
                 "structural" },
        { CRD(VERSION("{\"type\":\"string\"}")),
          SCHEMA ".type: Invalid value: \"string\": must be object at the root" },
        { FIELD("{\"type\":\"array\"}"), F ".items: Required value: must be specified" },
        { FIELD("{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}"),
          F ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
            "complexity becomes quadratic" },
        { FIELD("{\"type\":\"string\",\"pattern\":\"(\"}"),
          F ".pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error "
            "parsing regexp: missing closing ): `(`" },
        { FIELD("{\"type\":\"nonsense\"}"),
          F ".type: Unsupported value: \"nonsense\": supported values: \"array\", \"boolean\", "
            "\"integer\", \"number\", \"object\", \"string\"" },
        { FIELD("{\"$ref\":\"#/x\"}"), F ".$ref: Forbidden: $ref is not supported" },
        { FIELD("{\"type\":\"string\",\"$schema\":\"x\"}"),
          SCHEMA ": Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported" },
        /* of what no structural schema can be made is not said that it is none */
        { FIELD("{\"x-kubernetes-preserve-unknown-fields\":false,\"not\":{\"type\":\"x\"}}"),
          F ".not.type: Unsupported value: \"x\": supported values: \"array\", \"boolean\", "
            "\"integer\", \"number\", \"object\", \"string\"; " F
            ".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or "
            "undefined" },
        { FIELD("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},"
                "\"additionalProperties\":{\"type\":\"string\"}}"),
          F ".additionalProperties: Forbidden: additionalProperties and properties are mutual "
            "exclusive" },
        { FIELD("{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":"
                "\"map\"}"),
          F ".x-kubernetes-list-map-keys: Required value: must not be empty if "
            "x-kubernetes-list-type is map; " F
            ".items.type: Invalid value: \"string\": must be object if parent array's "
            "x-kubernetes-list-type is map" },
        { FIELD(
              "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":"
              "\"string\"}}},\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":["
              "\"k\"]}"),
          F ".items.properties[k].default: Required value: this property is in "
            "x-kubernetes-list-map-keys, so it must have a default or be a required property" },
        { FIELD("{\"x-kubernetes-int-or-string\":true,\"anyOf\":[{\"type\":\"integer\"},{\"type\":"
                "\"string\"}]}"),
          "" },
        { FIELD("{\"type\":\"string\",\"x-kubernetes-preserve-unknown-fields\":true}"), "" },
        { FIELD("{\"type\":\"object\",\"nullable\":true,\"default\":null}"), "" },
        { CRD(VERSION("{\"type\":\"object\",\"properties\":{\"metadata\":{\"type\":\"object\","
                      "\"properties\":{\"labels\":{\"type\":\"object\"}}}}}")),
          SCHEMA ".properties[metadata]: Forbidden: must not specify anything other than name and "
                 "generateName, but metadata is implicitly specified" },
        { CRD(VERSION("{\"type\":\"object\",\"properties\":{\"metadata\":{\"type\":\"object\","
                      "\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":\"^ok\"}}}}}")),
          "" },
    };

    check_rows(rows, sizeof(rows) / sizeof(*rows));
}

TEST(defaults_must_be_valid_and_pruned)
{
    static const struct row rows[] = {
        { FIELD("{\"type\":\"string\",\"default\":5}"),
          F ".default: Invalid value: \"integer\":  in body must be of type string: \"integer\"" },
        { FIELD("{\"type\":\"string\",\"enum\":[\"a\"],\"default\":\"b\"}"),
          F ".default: Unsupported value: \"b\": supported values: \"a\"" },
        { FIELD("{\"type\":\"object\",\"default\":{\"x\":1},\"properties\":{\"y\":{\"type\":"
                "\"string\"}}}"),
          F ".default: Invalid value: {\"x\":1}: must not have unknown fields" },
        { FIELD(
              "{\"type\":\"object\",\"default\":{\"x\":1,\"a\":2},\"properties\":{\"y\":{\"type\":"
              "\"string\"}}}"),
          F ".default: Invalid value: {\"a\":2,\"x\":1}: must not have unknown fields" },
        { FIELD("{\"type\":\"object\",\"default\":{\"y\":1},\"properties\":{\"y\":{\"type\":"
                "\"string\"}}}"),
          F ".default.y: Invalid value: \"integer\": y in body must be of type string: "
            "\"integer\"" },
        { FIELD("{\"type\":\"object\",\"default\":{\"y\":1},\"additionalProperties\":{\"type\":"
                "\"string\"}}"),
          F ".default.y: Invalid value: \"integer\": .y in body must be of type string: "
            "\"integer\"" },
        { FIELD("{\"type\":\"integer\",\"format\":\"int64\",\"default\":true}"),
          F ".default: Invalid value: \"\":  in body must be of type int64: \"\"" },
        { FIELD("{\"x-kubernetes-int-or-string\":true,\"default\":true}"), "" },
        { FIELD("{\"type\":\"integer\",\"default\":3,\"x-kubernetes-validations\":[{\"rule\":"
                "\"self % 2 == 0\"}]}"),
          F ".default: Invalid value: 3: failed rule: self % 2 == 0" },
        { FIELD("{\"type\":\"integer\",\"default\":3,\"x-kubernetes-validations\":[{\"rule\":"
                "\"self > oldSelf\"}]}"),
          F ".default: Invalid value: 3: failed rule: self > oldSelf" },
        /* rules are not compiled where defaults are wrong */
        { FIELD("{\"type\":\"integer\",\"default\":\"x\",\"x-kubernetes-validations\":[{\"rule\":"
                "\"self.\"}]}"),
          F ".default: Invalid value: \"string\":  in body must be of type integer: \"string\"" },
        { FIELD(
              "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
              "\"integer\",\"default\":3}}},\"default\":[{}]}"),
          "" },
    };

    check_rows(rows, sizeof(rows) / sizeof(*rows));
}

TEST(parts_of_a_version)
{
#define WITH(part)                                                                                \
    CRD("\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"            \
        "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\"," \
        "\"properties\":{\"color\":{\"type\":\"string\"},\"o\":{\"type\":\"object\"}}}}}}," part  \
        "}]")
    static const struct row rows[] = {
        { WITH("\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.replicas\","
               "\"statusReplicasPath\":\".status.replicas\"}}"),
          "" },
        { WITH("\"subresources\":{\"scale\":{\"specReplicasPath\":\".x\",\"statusReplicasPath\":"
               "\"\"}}"),
          "spec.subresources.scale.specReplicasPath: Invalid value: \".x\": should be "
          "a "
          "json path under .spec; spec.subresources.scale.statusReplicasPath: Required "
          "value" },
        { WITH("\"additionalPrinterColumns\":[{\"name\":\"C\",\"type\":\"thing\",\"jsonPath\":"
               "\"spec\"}]"),
          "spec.additionalPrinterColumns[0].type: Invalid value: \"thing\": must be "
          "one "
          "of boolean,date,integer,number,string; "
          "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"spec\": must be "
          "a simple json path starting with ." },
        { WITH("\"selectableFields\":[{\"jsonPath\":\".spec.color\"}]"), "" },
        { WITH("\"selectableFields\":[{\"jsonPath\":\".spec.color\"},{\"jsonPath\":\".spec.color\"}"
               "]"),
          "spec.selectableFields[1].jsonPath: Duplicate value: \".spec.color\"" },
        { WITH("\"selectableFields\":[{\"jsonPath\":\"spec.o\"},{\"jsonPath\":\".\"},"
               "{\"jsonPath\":\".spec[0]\"},{\"jsonPath\":\".spec.x.y\"}]"),
          "spec.selectableFields[0].jsonPath: Invalid value: \"spec.o\": is an invalid path: "
          "expected [ or . but got: spec; "
          "spec.selectableFields[1].jsonPath: Invalid value: \".\": is an invalid path: unexpected "
          "end of JSON path; "
          "spec.selectableFields[2].jsonPath: Invalid value: \".spec[0]\": is an invalid path: "
          "array notation is not allowed; "
          "spec.selectableFields[3].jsonPath: Invalid value: \".spec.x.y\": is an invalid path: "
          "does not refer to a valid field" },
        { WITH("\"selectableFields\":[{\"jsonPath\":\".spec.o\"},{\"jsonPath\":\".metadata.name\"}"
               "]"),
          "spec.selectableFields[0].jsonPath: Invalid value: \".spec.o\": must point "
          "to "
          "a field of type string, boolean or integer. Enum string fields and strings with formats "
          "are allowed.; spec.selectableFields[1].jsonPath: Invalid value: "
          "\".metadata.name\": is an invalid path: does not refer to a valid field" },
        { WITH("\"deprecationWarning\":\"old\""),
          "spec.versions[0].deprecationWarning: Invalid value: \"old\": can only be set for "
          "deprecated versions" },
    };

    check_rows(rows, sizeof(rows) / sizeof(*rows));
#undef WITH
}

/* k8s: what all versions have alike is the CRD's in the internal form, the rest theirs */
TEST(selectable_fields_stand_beside_their_schema)
{
#define V(name, storage, type, more)                                                   \
    "{\"name\":\"" name "\",\"served\":true,\"storage\":" storage ",\"schema\":{"      \
    "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"" type \
    "\"}}}}" more "}"
#define BY_A ",\"selectableFields\":[{\"jsonPath\":\".a\"}]"
    static const struct row rows[] = {
        { CRD("\"versions\":[" V("v1", "true", "string", BY_A) "," V("v2", "false", "string",
                                                                     "") "]"),
          "spec.versions[0].selectableFields: Invalid value: \"\": may only be set when "
          "`version.schema.openAPIV3Schema` is not included" },
        { CRD("\"versions\":[" V("v1", "true", "string", BY_A) "," V("v2", "false", "integer",
                                                                     BY_A) "]"),
          "spec.selectableFields: Invalid value: \"\": may only be set when validations.schema is "
          "included" },
        { CRD("\"versions\":[" V("v1", "true", "string", BY_A) "," V("v2", "false", "integer",
                                                                     "") "]"),
          "" },
    };

    check_rows(rows, sizeof(rows) / sizeof(*rows));
#undef V
#undef BY_A
}

TEST(little_is_said_beside_a_status)
{
    struct fixture f = crds();
    const char *text =
        create_faults(&f, CRD("\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                              "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{"
                              "\"type\":\"object\",\"minProperties\":1}}}]"));

    CHECK(strstr(text, SCHEMA ": Invalid value: only [Description Type "));
    fixture_release(&f);
}

TEST(conversions)
{
#define WITH(conversion) CRD(VERSION("{\"type\":\"object\"}") ",\"conversion\":" conversion)
    static const struct row rows[] = {
        { WITH("{\"strategy\":\"Magic\"}"),
          "spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", "
          "\"Webhook\"" },
        { WITH("{\"strategy\":\"Webhook\"}"),
          "spec.conversion.webhookClientConfig: Required value: required when strategy is set to "
          "Webhook; spec.conversion.conversionReviewVersions: Required value" },
        { WITH("{\"strategy\":\"Webhook\",\"webhook\":{\"conversionReviewVersions\":[\"v1\"],"
               "\"clientConfig\":{\"url\":\"http://x.example.com\"}}}"),
          "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only "
          "allowed URL scheme; desired format: https://host[/path]" },
        { WITH("{\"strategy\":\"Webhook\",\"webhook\":{\"conversionReviewVersions\":[\"v1\"],"
               "\"clientConfig\":{\"service\":{\"name\":\"s\",\"namespace\":\"n\"}}}}"),
          "" },
        { WITH("{\"strategy\":\"None\",\"webhook\":{\"conversionReviewVersions\":[\"v1\"],"
               "\"clientConfig\":{\"url\":\"https://x\"}}}"),
          "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not "
          "set to Webhook; spec.conversion.conversionReviewVersions: Forbidden: should not "
          "be set when strategy is not set to Webhook" },
    };

    check_rows(rows, sizeof(rows) / sizeof(*rows));
#undef WITH
}

static const struct json *with(struct fixture *f, const struct json *obj, const char *path,
                               const char *value)
{
    const struct json *v = &json_null;

    CHECK(json_parse(f->c.arena, str_of(value), NULL, &v, &f->st) == 0);
    return json_set(f->c.arena, obj, path, v);
}

TEST(what_may_not_change)
{
    struct fixture f = crds();
    const struct json *old = created(&f, CRD(VERSION("{\"type\":\"object\"}")));
    const struct json *up =
        with(&f, old, "status.conditions", "[{\"type\":\"Established\",\"status\":\"True\"}]");

    CHECK_STR(fixture_faults(&f, with(&f, old, "spec.scope", "\"Cluster\""), old), "");
    CHECK_STR(fixture_faults(&f, with(&f, up, "spec.scope", "\"Cluster\""), up),
              "spec.scope: Invalid value: \"Cluster\": field is immutable");
    CHECK_STR(fixture_faults(&f, with(&f, up, "spec.names.kind", "\"Other\""), up),
              "spec.names.kind: Invalid value: \"Other\": field is immutable");
    CHECK_STR(fixture_faults(&f, with(&f, old, "spec.group", "\"other.example.com\""), old),
              "spec.group: Invalid value: \"other.example.com\": field is immutable");
    fixture_release(&f);
}

TEST(stored_versions_are_kept)
{
    struct fixture f = crds();
    const struct json *old = created(&f, CRD(VERSION("{\"type\":\"object\"}"))), *obj;
    const char *versions = "[{\"name\":\"v1\",\"served\":true,\"storage\":false,\"schema\":{"
                           "\"openAPIV3Schema\":{\"type\":\"object\"}}},{\"name\":\"v2\","
                           "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
                           "\"type\":\"object\"}}}]";

    obj = f.kind->ops->prepare_update(&f.c, with(&f, old, "spec.versions", versions), old);
    CHECK_STR(fixture_print(&f, json_path(obj, "status.storedVersions")), "[\"v1\",\"v2\"]");
    CHECK_STR(fixture_faults(&f, obj, old), "");
    obj = f.kind->ops->prepare_update(
        &f.c,
        with(&f, obj, "spec.versions",
             "[{\"name\":\"v2\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
             "\"type\":\"object\"}}}]"),
        obj);
    CHECK(strstr(fixture_faults(&f, obj, old),
                 "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 "
                 "was previously a storage version"));
    fixture_release(&f);
}

TEST(status_is_written_alone)
{
    struct fixture f = crds();
    const struct json *old = created(&f, CRD(VERSION("{\"type\":\"object\"}"))), *obj;

    f.c.subresource = STR("status");
    obj = with(&f, with(&f, old, "spec.scope", "\"Cluster\""), "status.storedVersions", "[\"v9\"]");
    obj = f.kind->ops->prepare_update(&f.c, obj, old);
    CHECK_STR(fixture_print(&f, json_path(obj, "spec.scope")), "\"Namespaced\"");
    CHECK_STR(fixture_print(&f, json_path(obj, "status.storedVersions")), "[\"v9\"]");
    fixture_release(&f);
}

TEST(deleting_waits_for_its_objects)
{
    struct fixture f = crds();
    const struct json *obj = created(&f, CRD(VERSION("{\"type\":\"object\"}")));

    obj = f.kind->ops->begin_delete(&f.c, obj);
    REQUIRE(obj);
    CHECK_STR(fixture_print(&f, json_path(obj, "metadata.finalizers")),
              "[\"customresourcecleanup.apiextensions.k8s.io\"]");
    CHECK_STR(fixture_print(&f, json_path(obj, "metadata.deletionTimestamp")),
              "\"2020-01-02T03:04:05Z\"");
    CHECK_STR(
        fixture_print(&f, json_get(json_at(json_path(obj, "status.conditions"), 0), STR("reason"))),
        "\"InstanceDeletionPending\"");
    CHECK(f.kind->ops->begin_delete(&f.c, obj) == obj);
    CHECK(!f.kind->ops->begin_delete(&f.c, with(&f, obj, "metadata.finalizers", "[]")));
    fixture_release(&f);
}

TEST(unknown_formats_are_warned_of_once)
{
    struct fixture f = crds();
    const struct json *obj = created(&f, FIELD("{\"type\":\"string\",\"format\":\"zipcode\"}"));
    struct schema_faults w = { 0 };

    f.kind->ops->warn(&f.c, obj, NULL, &w);
    REQUIRE(w.n == 1);
    CHECK_STR(str_z(f.c.arena, w.texts[0]), "unrecognized format \"zipcode\"");
    w.n = 0;
    f.kind->ops->warn(&f.c, obj, obj, &w);
    f.kind->ops->warn(&f.c, created(&f, FIELD("{\"type\":\"string\",\"format\":\"date-time\"}")),
                      NULL, &w);
    f.kind->ops->warn(&f.c, created(&f, FIELD("{\"type\":\"integer\",\"format\":\"zipcode\"}")),
                      NULL, &w);
    CHECK(w.n == 0);
    fixture_release(&f);
}

/* What is a schema and what is not, also below items and additionalProperties. */
TEST(schemas_are_decoded_by_type)
{
    struct fixture f = crds();

    CHECK(
        strstr(fixture_print(
                   &f, fixture_read(&f, FIELD("{\"type\":\"array\",\"items\":{\"type\":\"object\","
                                              "\"nope\":1,\"additionalProperties\":true},"
                                              "\"enum\":[null,1,\"a\",{\"x\":[]}]}"))),
               "\"f\":{\"enum\":[null,1,\"a\",{\"x\":[]}],\"items\":{\"additionalProperties\":"
               "true,\"type\":\"object\"},\"type\":\"array\"}"));
    fixture_release(&f);
}

TEST(cells)
{
    struct fixture f = crds();

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"a.b\",\"creationTimestamp\":"
                                "\"2020-01-01T00:00:00Z\"}}"),
              "[\"a.b\",\"2020-01-01T00:00:00Z\"]");
    fixture_release(&f);
}

/* A field of a message: number, length, bytes; all of them are short. */
static str field(struct arena *a, unsigned number, str bytes)
{
    char *p = arena_alloc(a, bytes.n + 4);
    unsigned tag = number << 3 | 2;
    size_t n = 0;

    if (tag >= 0x80)
        p[n++] = (char)(tag & 0x7f) | (char)0x80;
    p[n++] = (char)(tag >= 0x80 ? tag >> 7 : tag);
    p[n++] = (char)bytes.n;
    memcpy(p + n, bytes.p, bytes.n);
    return (str){ p, n + bytes.n };
}

static str joined(struct arena *a, str x, str y)
{
    char *p = arena_alloc(a, x.n + y.n);

    memcpy(p, x.p, x.n);
    memcpy(p + x.n, y.p, y.n);
    return (str){ p, x.n + y.n };
}

TEST(schemas_in_protobuf)
{
    struct fixture f = crds();
    struct arena *a = f.c.arena;
    str type = field(a, 5, STR("string")), schema;
    const struct json *out;

    schema = field(a, 24, field(a, 1, type));                                /* items */
    schema = joined(a, schema, field(a, 30, STR("\x08\x01")));               /* additional */
    schema = joined(a, schema, field(a, 33, field(a, 2, type)));             /* additional */
    schema = joined(a, schema, field(a, 20, field(a, 1, STR("{\"x\":1}")))); /* enum */
    schema = joined(a, schema,
                    field(a, 29,
                          joined(a, field(a, 1, STR("p")), /* properties */
                                 field(a, 2, type))));
    schema = joined(a, schema,
                    field(a, 32,
                          joined(a, field(a, 1, STR("d")),
                                 field(a, 2, field(a, 2, STR("e")))))); /* dependencies */
    schema = field(a, 2, field(a, 7, field(a, 4, field(a, 1, schema))));
    REQUIRE(proto_decode(a, f.kind->schema, schema, &out, &f.st) == 0);
    CHECK_STR(
        fixture_print(
            &f, json_path(json_at(json_path(out, "spec.versions"), 0), "schema.openAPIV3Schema")),
        "{\"additionalItems\":{\"type\":\"string\"},\"additionalProperties\":true,"
        "\"dependencies\":{\"d\":[\"e\"]},\"enum\":[{\"x\":1}],\"items\":{\"type\":\"string\"}"
        ",\"properties\":{\"p\":{\"type\":\"string\"}}}");
    fixture_release(&f);
}
