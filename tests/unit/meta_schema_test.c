/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/schema.h"

#include <stdlib.h>

#include "tap.h"
#include "unit/meta_tables.h"

/* Decodes JSON as the kind; the result or the error as text. */
static const char *decode(struct arena *a, const char *kind, const char *text,
                          struct schema_faults *faults)
{
    struct schema_set *set = meta_tables_load();
    str name = str_printf(a, "io.k8s.api.core.v1.%s", kind);
    const struct json *in = NULL, *out = NULL;
    struct status st;
    const char *result;

    status_init(&st, a);
    if (!CHECK(json_parse(a, str_of(text), NULL, &in, &st) == 0))
        result = str_z(a, st.message);
    else if (schema_decode(a, schema_set_find(set, name), in, faults, &out, &st) < 0)
        result = CHECK(status_is(&st, REASON_BAD_REQUEST)) ? str_z(a, st.message) : "wrong reason";
    else
        result = str_z(a, json_text(a, out)); /* the set goes: absent values are its own */
    schema_set_free(set);
    return result;
}

TEST(a_walk_finds_what_a_look_finds)
{
    struct schema_set *set = meta_tables_load();
    const struct schema *s = schema_set_find(set, STR("io.k8s.api.core.v1.PodSpec"));
    struct schema_walk up = schema_walk(s), any = schema_walk(s);

    for (size_t i = 0; i < s->nfields; i++) {
        const struct schema_field *other = &s->fields[i * 7 % s->nfields];

        CHECK(schema_field(s, s->fields[i].name) == &s->fields[i]);
        CHECK(schema_walk_field(&up, s->fields[i].name) == &s->fields[i]);
        CHECK(schema_walk_field(&any, other->name) == other);
        CHECK(schema_walk_field(&any, STR("nope")) == NULL);
        CHECK(schema_walk_field(&any, STR_NONE) == NULL);
    }
    schema_set_free(set);
}

TEST(documents_become_what_a_typed_server_holds)
{
    static const struct {
        const char *kind, *in, *out;
    } cases[] = {
        { "ConfigMap", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}",
          "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}" },
        /* recorded: configmaps/null-and-missing */
        { "ConfigMap",
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"labels\":"
          "null,\"annotations\":{},\"finalizers\":[]},\"data\":null}",
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}" },
        { "ConfigMap", "{}", "{\"metadata\":{}}" },
        { "ConfigMap", "{\"metadata\":null}", "{\"metadata\":{}}" },
        { "ConfigMap", "{\"metadata\":{},\"immutable\":false}",
          "{\"metadata\":{},\"immutable\":false}" },
        { "ConfigMap", "{\"metadata\":{\"generation\":0,\"uid\":\"\"},\"immutable\":null}",
          "{\"metadata\":{}}" },
        { "ConfigMap", "{\"metadata\":{},\"data\":{\"a\":null,\"b\":\"\"}}",
          "{\"metadata\":{},\"data\":{\"a\":\"\",\"b\":\"\"}}" },
        { "ConfigMap", "{\"metadata\":{},\"binaryData\":{\"b\":\"AAEC/w==\",\"c\":\"A\\nA==\"}}",
          "{\"metadata\":{},\"binaryData\":{\"b\":\"AAEC/w==\",\"c\":\"AA==\"}}" },
        { "ConfigMap", "{\"metadata\":{},\"nope\":1,\"data\":{\"a\":\"1\"}}",
          "{\"metadata\":{},\"data\":{\"a\":\"1\"}}" },
        /* times */
        { "ConfigMap", "{\"metadata\":{\"creationTimestamp\":null}}", "{\"metadata\":{}}" },
        { "ConfigMap", "{\"metadata\":{\"creationTimestamp\":\"2020-01-01T02:00:00.5+02:00\"}}",
          "{\"metadata\":{\"creationTimestamp\":\"2020-01-01T00:00:00Z\"}}" },
        { "ConfigMap", "{\"metadata\":{\"creationTimestamp\":\"0001-01-01T00:00:00Z\"}}",
          "{\"metadata\":{}}" },
        /* recorded: leases/micro-time */
        { "Lease",
          "{\"metadata\":{},\"spec\":{\"renewTime\":\"2020-01-02T05:04:05.000001+02:00\"}}",
          "{\"metadata\":{},\"spec\":{\"renewTime\":\"2020-01-02T03:04:05.000001Z\"}}" },
        { "Lease", "{\"spec\":{\"leaseTransitions\":0,\"holderIdentity\":\"\"}}",
          "{\"spec\":{\"leaseTransitions\":0,\"holderIdentity\":\"\"},\"metadata\":{}}" },
        /* what is always there */
        { "Event", "{\"metadata\":{},\"involvedObject\":{},\"count\":0,\"source\":null}",
          "{\"metadata\":{},\"involvedObject\":{},\"eventTime\":null,\"firstTimestamp\":null,"
          "\"reportingComponent\":\"\",\"source\":{}}" },
        { "Event",
          "{\"metadata\":{},\"involvedObject\":{},\"source\":{\"host\":\"\"},\"eventTime\":null,"
          "\"firstTimestamp\":\"0001-01-01T00:00:00Z\",\"reportingComponent\":\"\"}",
          "{\"metadata\":{},\"involvedObject\":{},\"source\":{},\"firstTimestamp\":null,"
          "\"reportingComponent\":\"\",\"eventTime\":null}" },
        /* defaults, in lists and in objects that are not there */
        { "Pod", "{\"metadata\":{}}",
          "{\"metadata\":{},\"spec\":{\"gracePeriod\":30,\"restartPolicy\":\"Always\",\"rules\":"
          "null,"
          "\"strategy\":{}}}" },
        { "Pod",
          "{\"metadata\":{},\"spec\":{\"gracePeriod\":0,\"restartPolicy\":\"\",\"rules\":[],"
          "\"strategy\":{},\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":80}]},"
          "null]}}",
          "{\"metadata\":{},\"spec\":{\"gracePeriod\":0,\"strategy\":{},\"containers\":[{\"name\":"
          "\"a\",\"ports\":[{\"containerPort\":80,\"protocol\":\"TCP\"}]},{\"name\":\"\"}],"
          "\"restartPolicy\":\"Always\",\"rules\":null}}" },
        /* numbers, quantities, embedded fields, lists in maps */
        { "Lease", "{\"metadata\":{},\"spec\":{\"leaseDurationSeconds\":15.0}}",
          "{\"metadata\":{},\"spec\":{\"leaseDurationSeconds\":15}}" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(decode(a, cases[i].kind, cases[i].in, NULL), cases[i].out);
    }
}

TEST(of_nothing_is_what_is_always_written)
{
    static const struct {
        const char *kind, *out;
    } cases[] = {
        { "ConfigMap", "{\"metadata\":{}}" },
        { "Pod", "{\"metadata\":{},\"spec\":{\"rules\":null,\"strategy\":{}}}" },
    };
    scoped_arena a = arena_new();
    struct schema_set *set = meta_tables_load();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        str name = str_printf(a, "io.k8s.api.core.v1.%s", cases[i].kind);

        CHECK_STR(str_z(a, json_text(a, schema_zero(a, schema_set_find(set, name)))), cases[i].out);
    }
    schema_set_free(set);
}

TEST(values_below_a_pod_are_decoded)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "\"overhead\":{\"cpu\":\"0.5\",\"memory\":\"1024Mi\",\"n\":2,\"f\":0.25,\"z\":null}",
          "\"overhead\":{\"cpu\":\"500m\",\"memory\":\"1Gi\",\"n\":\"2\",\"f\":\"250m\",\"z\":"
          "\"0\"}" },
        { "\"overhead\":{\"a\":\"0.1m\",\"b\":\"-0.1m\",\"c\":\"1001u\",\"d\":\"1.5\"}",
          "\"overhead\":{\"a\":\"1m\",\"b\":\"-1m\",\"c\":\"2m\",\"d\":\"1500m\"}" },
        { "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{\"medium\":\"\"},\"hostPath\":null}]",
          "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]" },
        { "\"extra\":{\"a\":[\"x\",null],\"b\":null}",
          "\"extra\":{\"a\":[\"x\",\"\"],\"b\":null}" },
        { "\"ratio\":1.5", "\"ratio\":1.5" },
        { "\"numbers\":[1,null,3]", "\"numbers\":[1,0,3]" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *frame =
            "{\"metadata\":{},\"spec\":{\"gracePeriod\":30,\"restartPolicy\":\"Always\","
            "\"rules\":[\"r\"],\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"25%%\"}},"
            "%s}}";
        scoped_arena a = arena_new();

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        CHECK_STR(decode(a, "Pod", arena_printf(a, frame, cases[i].in), NULL),
                  arena_printf(a, frame, cases[i].out));
#pragma GCC diagnostic pop
    }
}

TEST(a_document_that_needs_no_change_is_given_back_itself)
{
    scoped_arena a = arena_new();
    struct schema_set *set = meta_tables_load();
    const struct json *in = NULL, *out = NULL;
    struct status st;

    status_init(&st, a);
    CHECK(json_parse(a,
                     STR("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":"
                         "\"b\"},\"creationTimestamp\":\"2020-01-01T00:00:00Z\",\"generation\":3},"
                         "\"data\":{\"k\":\"v\"},\"binaryData\":{\"b\":\"AAEC/w==\"},"
                         "\"immutable\":true}"),
                     NULL, &in, &st) == 0);
    CHECK(schema_decode(a, schema_set_find(set, STR("io.k8s.api.core.v1.ConfigMap")), in, NULL,
                        &out, &st) == 0);
    CHECK(out == in);
    schema_set_free(set);
}

TEST(wrong_types_are_told_as_go_tells_them)
{
    static const struct {
        const char *kind, *in, *error;
    } cases[] = {
        { "ConfigMap", "[]", "must be an object, not an array" },
        { "ConfigMap", "\"x\"", "must be an object, not a string" },
        { "ConfigMap", "{\"data\":\"x\"}", "data: must be an object, not a string" },
        { "ConfigMap", "{\"data\":{\"a\":1}}", "data.a: must be a string, not a number" },
        { "ConfigMap", "{\"metadata\":{\"labels\":[]}}",
          "metadata.labels: must be an object, not an array" },
        { "ConfigMap", "{\"metadata\":[]}", "metadata: must be an object, not an array" },
        { "ConfigMap", "{\"immutable\":\"yes\"}", "immutable: must be a boolean, not a string" },
        { "ConfigMap", "{\"binaryData\":{\"b\":\"not base64!\"}}",
          "illegal base64 data in binaryData.b" },
        { "ConfigMap", "{\"binaryData\":{\"b\":[1]}}",
          "binaryData.b: must be a string in base64, not an array" },
        { "Pod", "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"ports\":\"x\"}]}}",
          "spec.containers[1].ports: must be an array, not a string" },
        { "Lease", "{\"spec\":{\"leaseDurationSeconds\":\"x\"}}",
          "spec.leaseDurationSeconds: must be an integer of 32 bits, not a string" },
        { "Lease", "{\"spec\":{\"leaseDurationSeconds\":3000000000}}",
          "spec.leaseDurationSeconds: must be an integer of 32 bits, not 3000000000" },
        { "Lease", "{\"spec\":{\"leaseDurationSeconds\":1.5}}",
          "spec.leaseDurationSeconds: must be an integer of 32 bits, not 1.5" },
        { "Lease", "{\"spec\":{\"renewTime\":\"yesterday\"}}",
          "spec.renewTime: must be a time as in RFC 3339 with microseconds, not \"yesterday\"" },
        { "Lease", "{\"spec\":{\"renewTime\":\"2020-01-02T03:04:05Z\"}}",
          "spec.renewTime: must be a time as in RFC 3339 with microseconds, not "
          "\"2020-01-02T03:04:05Z\"" },
        { "ConfigMap", "{\"metadata\":{\"creationTimestamp\":5}}",
          "metadata.creationTimestamp: must be a time as in RFC 3339, not a number" },
        { "Pod", "{\"spec\":{\"overhead\":{\"cpu\":\"lots\"}}}",
          "quantities must match the regular expression "
          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" },
        { "Pod", "{\"spec\":{\"overhead\":{\"cpu\":true}}}",
          "spec.overhead.cpu: must be a quantity, not a boolean" },
        { "Pod", "{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":false}}}}",
          "spec.strategy.rollingUpdate.maxSurge: must be an integer of 32 bits or a string, not a "
          "boolean" },
        { "Pod", "{\"spec\":{\"ratio\":\"1\"}}", "spec.ratio: must be a number, not a string" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(decode(a, cases[i].kind, cases[i].in, NULL), cases[i].error);
    }
}

/* Recorded: field-validation/update-and-patch, nested, case-sensitivity */
TEST(unknown_fields_are_told_in_document_order_with_their_path)
{
    static const struct {
        const char *kind, *in, *faults[3];
    } cases[] = {
        { "ConfigMap",
          "{\"metadata\":{\"name\":\"a\",\"nope\":true},\"data\":{\"k\":\"v\"},\"bogus\":1}",
          { "unknown field \"metadata.nope\"", "unknown field \"bogus\"" } },
        { "ConfigMap", "{\"Data\":{\"k\":\"v\"}}", { "unknown field \"Data\"" } },
        { "Pod",
          "{\"spec\":{\"containers\":[{\"name\":\"a\",\"imagee\":\"x\",\"env\":[{\"name\":\"A\","
          "\"worth\":\"1\"}]}]}}",
          { "unknown field \"spec.containers[0].imagee\"",
            "unknown field \"spec.containers[0].env[0].worth\"" } },
        { "ConfigMap", "{\"a\\\"b\":null}", { "unknown field \"a\\\"b\"" } },
        { "ConfigMap",
          "{\"metadata\":{\"managedFields\":[{\"fieldsV1\":{\"any\":{\"thing\":1}}}]}}",
          { NULL } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct schema_faults faults = { 0 };
        size_t n = 0;

        (void)decode(a, cases[i].kind, cases[i].in, &faults);
        for (; cases[i].faults[n]; n++)
            CHECK_STR(n < faults.n ? faults.texts[n].p : NULL, cases[i].faults[n]);
        CHECK(faults.n == n);
    }
}

TEST(only_so_many_faults_are_kept)
{
    scoped_arena a = arena_new();
    struct schema_faults faults = { 0 };
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_lit(&b, "{\"x\":0");
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, ",\"x%d\":0", i);
    buf_lit(&b, "}");
    buf_byte(&b, '\0');
    CHECK_STR(decode(a, "ConfigMap", b.p, &faults), "{\"metadata\":{}}");
    CHECK(faults.n == 64);
    CHECK_STR(faults.texts[63].p, "unknown field \"x62\"");
    buf_release(&b);
}
