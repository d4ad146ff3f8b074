/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/pbwire.h"
#include "object/meta/schema.h"
#include "tap.h"
#include "unit/meta_tables.h"

/* The message as JSON, or the error. */
static const char *decode(struct arena *a, const char *kind, str raw)
{
    struct schema_set *set = meta_tables_load();
    str name = str_printf(a, "io.k8s.api.core.v1.%s", kind);
    const struct json *out = NULL;
    struct status st;
    const char *result;

    status_init(&st, a);
    if (proto_decode(a, schema_set_find(set, name), raw, &out, &st) == 0)
        result = str_z(a, json_text(a, out));
    else
        result = CHECK(status_is(&st, REASON_BAD_REQUEST)) ? str_z(a, st.message) : "wrong reason";
    schema_set_free(set);
    return result;
}

/* The same with zero values treated by the table. */
static const char *decode_both(struct arena *a, const char *kind, str raw)
{
    struct schema_set *set = meta_tables_load();
    const struct schema *s = schema_set_find(set, str_printf(a, "io.k8s.api.core.v1.%s", kind));
    const struct json *out = NULL;
    struct status st;
    const char *result;

    status_init(&st, a);
    if (proto_decode(a, s, raw, &out, &st) < 0 || schema_decode(a, s, out, NULL, &out, &st) < 0)
        result = str_z(a, st.message);
    else
        result = str_z(a, json_text(a, out));
    schema_set_free(set);
    return result;
}

/* Metadata the way client-go writes it: every field that is no pointer, even when empty. */
static void put_metadata(struct buf *b, const char *name)
{
    size_t meta = pb_begin(b, 1);

    pb_put_bytes(b, 1, str_of(name));
    for (uint32_t i = 2; i <= 6; i++)
        pb_put_bytes(b, i, STR(""));
    pb_put_uint(b, 7, 0);
    pb_put_bytes(b, 8, STR(""));
    pb_end(b, meta);
}

static void put_entry(struct buf *b, uint32_t number, const char *key, const char *value)
{
    size_t mark = pb_begin(b, number);

    pb_put_bytes(b, 1, str_of(key));
    pb_put_bytes(b, 2, str_of(value));
    pb_end(b, mark);
}

static void put_time(struct buf *b, uint32_t number, int64_t seconds, uint64_t nanos)
{
    size_t mark = pb_begin(b, number);

    pb_put_uint(b, 1, (uint64_t)seconds);
    pb_put_uint(b, 2, nanos);
    pb_end(b, mark);
}

TEST(a_config_map_as_client_go_sends_it)
{
    scoped_arena a = arena_new();
    struct buf b;

    buf_init(&b, 1 << 16);
    put_metadata(&b, "a");
    put_entry(&b, 2, "k", "2");
    put_entry(&b, 2, "l", "");
    put_entry(&b, 3, "b", "\x01\x02\xff");
    pb_put_uint(&b, 4, 0);
    pb_put_bytes(&b, 99, STR("of a later version"));
    CHECK_STR(decode_both(a, "ConfigMap", buf_str(&b)),
              "{\"binaryData\":{\"b\":\"AQL/\"},\"data\":{\"k\":\"2\",\"l\":\"\"},"
              "\"immutable\":false,\"metadata\":{\"name\":\"a\"}}");
    buf_release(&b);
}

/* Recorded: protobuf/lease */
TEST(zeros_that_json_would_not_have_can_be_left_out)
{
    struct schema_set *set = meta_tables_load();
    const struct schema *s = schema_set_find(set, STR("io.k8s.api.core.v1.ConfigMap"));
    struct arena *a = arena_new();
    scoped_buf b = { .max = 1 << 16 };
    const struct json *out = &json_null;
    struct status st;

    status_init(&st, a);
    put_metadata(&b, "x");
    put_entry(&b, 2, "empty", ""); /* a value of its own */
    CHECK(proto_decode(a, s, buf_str(&b), &out, &st) == 0);
    out = schema_drop_zeros(a, s, out);
    CHECK_STR(str_z(a, json_text(a, json_get(out, STR("data")))), "{\"empty\":\"\"}");
    CHECK(!json_path(out, "metadata.namespace") && !json_path(out, "metadata.uid"));
    CHECK(str_is(json_get_str(out, "metadata.name"), "x"));
    arena_free(a);
    schema_set_free(set);
}

TEST(a_lease_as_leader_election_sends_it)
{
    scoped_arena a = arena_new();
    struct buf b;
    size_t spec;

    buf_init(&b, 1 << 16);
    put_metadata(&b, "l");
    spec = pb_begin(&b, 2);
    pb_put_bytes(&b, 1, STR("me"));
    pb_put_uint(&b, 2, 15);
    put_time(&b, 3, 1577934245, 123456000);
    put_time(&b, 4, 1577934247, 0);
    pb_put_uint(&b, 5, 0);
    pb_end(&b, spec);
    CHECK_STR(decode_both(a, "Lease", buf_str(&b)),
              "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"acquireTime\":"
              "\"2020-01-02T03:04:05.123456Z\",\"holderIdentity\":\"me\","
              "\"leaseDurationSeconds\":15,\"leaseTransitions\":0,\"renewTime\":"
              "\"2020-01-02T03:04:07.000000Z\"}}");
    buf_release(&b);
}

static void put_pod_spec(struct buf *b)
{
    size_t item, inner, source;

    item = pb_begin(b, 1); /* a volume: its source is a message of its own */
    pb_put_bytes(b, 1, STR("v"));
    inner = pb_begin(b, 2);
    source = pb_begin(b, 1);
    pb_put_bytes(b, 1, STR("/tmp"));
    pb_end(b, source);
    pb_end(b, inner);
    pb_end(b, item);
    item = pb_begin(b, 32); /* overhead */
    pb_put_bytes(b, 1, STR("cpu"));
    inner = pb_begin(b, 2);
    pb_put_bytes(b, 1, STR("0.5"));
    pb_end(b, inner);
    pb_end(b, item);
    item = pb_begin(b, 40); /* extra: a map of messages that are lists */
    pb_put_bytes(b, 1, STR("scopes"));
    inner = pb_begin(b, 2);
    pb_put_bytes(b, 1, STR("x"));
    pb_put_bytes(b, 1, STR("y"));
    pb_end(b, inner);
    pb_end(b, item);
    pb_put_double(b, 41, 2.5);
    item = pb_begin(b, 43);
    inner = pb_begin(b, 2);
    source = pb_begin(b, 1);
    pb_put_uint(b, 1, 1);
    pb_put_uint(b, 2, 0);
    pb_put_bytes(b, 3, STR("25%"));
    pb_end(b, source);
    pb_end(b, inner);
    pb_end(b, item);
    pb_put_uint(b, 44, 1);
    pb_put_bytes(b, 44, STR("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")); /* packed: 2, -1 */
}

TEST(all_types_of_fields)
{
    scoped_arena a = arena_new();
    struct buf b;
    size_t spec;

    buf_init(&b, 1 << 16);
    spec = pb_begin(&b, 2);
    put_pod_spec(&b);
    pb_end(&b, spec);
    CHECK_STR(decode(a, "Pod", buf_str(&b)),
              "{\"spec\":{\"extra\":{\"scopes\":[\"x\",\"y\"]},\"numbers\":[1,2,-1],\"overhead\":"
              "{\"cpu\":\"0.5\"},\"ratio\":2.5,\"strategy\":{\"rollingUpdate\":{\"maxSurge\":"
              "\"25%\"}},\"volumes\":[{\"hostPath\":{\"path\":\"/tmp\"},\"name\":\"v\"}]}}");
    buf_release(&b);
}

TEST(free_json_is_parsed)
{
    scoped_arena a = arena_new();
    struct buf b;
    size_t meta, entry, fields;

    buf_init(&b, 1 << 16);
    meta = pb_begin(&b, 1);
    entry = pb_begin(&b, 17);
    pb_put_bytes(&b, 1, STR("kubectl"));
    fields = pb_begin(&b, 7);
    pb_put_bytes(&b, 1, STR("{\"f:data\": {}}"));
    pb_end(&b, fields);
    pb_end(&b, entry);
    pb_end(&b, meta);
    CHECK_STR(decode(a, "ConfigMap", buf_str(&b)),
              "{\"metadata\":{\"managedFields\":[{\"fieldsV1\":{\"f:data\":{}},\"manager\":"
              "\"kubectl\"}]}}");
    buf_release(&b);
}

TEST(the_last_of_equal_keys_and_fields_counts)
{
    scoped_arena a = arena_new();
    struct buf b;

    buf_init(&b, 1 << 20);
    put_entry(&b, 2, "a", "1");
    put_entry(&b, 2, "b", "2");
    put_entry(&b, 2, "a", "3");
    pb_put_uint(&b, 4, 0);
    pb_put_uint(&b, 4, 1);
    CHECK_STR(decode(a, "ConfigMap", buf_str(&b)),
              "{\"data\":{\"b\":\"2\",\"a\":\"3\"},\"immutable\":true}");
    buf_clear(&b);
    for (int i = 0; i < 1000; i++)
        put_entry(&b, 2, arena_printf(a, "%d", i % 3), arena_printf(a, "%d", i));
    CHECK_STR(decode(a, "ConfigMap", buf_str(&b)),
              "{\"data\":{\"1\":\"997\",\"2\":\"998\",\"0\":\"999\"}}");
    buf_release(&b);
}

TEST(zero_times_and_empty_messages)
{
    scoped_arena a = arena_new();
    struct buf b;

    buf_init(&b, 1 << 16);
    put_metadata(&b, "e");
    pb_put_bytes(&b, 2, STR(""));
    pb_put_bytes(&b, 6, STR(""));
    put_time(&b, 10, 0, 0);
    CHECK_STR(decode_both(a, "Event", buf_str(&b)),
              "{\"eventTime\":\"1970-01-01T00:00:00.000000Z\",\"involvedObject\":{},"
              "\"metadata\":{\"name\":\"e\"},\"firstTimestamp\":null,\"reportingComponent\":\"\","
              "\"source\":{}}");
    CHECK_STR(decode(a, "Event", STR("")), "{}");
    buf_release(&b);
}

TEST(what_is_wrong_is_a_bad_request)
{
    static const struct {
        const char *kind;
        str raw;
        const char *error;
    } cases[] = {
        { "ConfigMap", STR_INIT("\x0a\x05"), "proto: unexpected EOF" },
        { "ConfigMap", STR_INIT("\x0a\x02\x0a\x05"), "proto: unexpected EOF" },
        { "ConfigMap", STR_INIT("\x08\x01"), "proto: wrong wireType = 0 for field metadata" },
        { "ConfigMap", STR_INIT("\x22\x00"), "proto: wrong wireType = 2 for field immutable" },
        { "ConfigMap", STR_INIT("\x0a\x03\x0a\x01\xff"), "proto: invalid UTF-8 in a string" },
        { "ConfigMap", STR_INIT("\x12\x03\x0a\x01\xff"), "proto: invalid UTF-8 in a string" },
        { "ConfigMap", STR_INIT("\x12\x02\x08\x01"), "proto: wrong wireType = 0 for field data" },
        { "ConfigMap", STR_INIT("\x10\x01"), "proto: wrong wireType = 0 for field data" },
        { "ConfigMap", STR_INIT("\x0a\x04\x42\x02\x08\x80"), "proto: unexpected EOF" },
        { "ConfigMap", STR_INIT("\x0a\x0a\x42\x08\x08\xff\xff\xff\xff\xff\xff\x7f"),
          "proto: a time outside of the years 0 to 9999" },
        { "Pod", STR_INIT("\x12\x05\xc9\x02\0\0\0"), "proto: unexpected EOF" },
        { "Pod", STR_INIT("\x12\x0a\xc9\x02\0\0\0\0\0\0\xf8\x7f"),
          "proto: a number that JSON does not have" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(decode(a, cases[i].kind, cases[i].raw), cases[i].error);
    }
}

TEST(messages_nest_only_so_deep)
{
    static const char table[] = "table t\ntype A\n  a 1 *A\n";
    scoped_arena a = arena_new();
    struct schema_set *set = schema_set_new();
    const struct json *out = NULL;
    str raw = STR("\x0a\x00");
    struct status st;
    struct buf b;

    status_init(&st, a);
    REQUIRE(schema_set_add(set, str_of(table), &st) == 0 && schema_set_link(set, &st) == 0);
    buf_init(&b, 1 << 16);
    for (int i = 0; i < 150; i++) {
        buf_clear(&b);
        pb_put_bytes(&b, 1, raw);
        raw = str_dup(a, buf_str(&b));
        if (i == 90)
            CHECK(proto_decode(a, schema_set_find(set, STR("t.A")), raw, &out, &st) == 0);
    }
    CHECK(proto_decode(a, schema_set_find(set, STR("t.A")), raw, &out, &st) < 0);
    CHECK_STR(st.message.p, "proto: messages nest too deep");
    buf_release(&b);
    schema_set_free(set);
}

TEST(the_envelope)
{
    scoped_arena a = arena_new();
    struct proto_unknown u;
    struct status st;
    struct buf b;
    size_t type;

    status_init(&st, a);
    buf_init(&b, 1 << 16);
    buf_append(&b, "k8s", 4);
    type = pb_begin(&b, 1);
    pb_put_bytes(&b, 1, STR("v1"));
    pb_put_bytes(&b, 2, STR("Namespace"));
    pb_end(&b, type);
    pb_put_bytes(&b, 2, STR("raw bytes"));
    pb_put_bytes(&b, 3, STR(""));
    pb_put_bytes(&b, 4, STR(""));
    CHECK(proto_unwrap(buf_str(&b), &u, &st) == 0);
    CHECK(str_is(u.api_version, "v1") && str_is(u.kind, "Namespace") && str_is(u.raw, "raw bytes"));

    CHECK(proto_unwrap(str_sub(buf_str(&b), 0, 12), &u, &st) < 0);
    CHECK(status_is(&st, REASON_BAD_REQUEST));
    CHECK_STR(st.message.p, "proto: unexpected EOF");
    CHECK(proto_unwrap(STR("k8s"), &u, &st) < 0);
    CHECK_STR(st.message.p, "provided data does not appear to be a protobuf message, expected "
                            "prefix [107 56 115 0]");
    CHECK(proto_unwrap(STR("{\"kind\":1}"), &u, &st) < 0);
    CHECK(proto_unwrap((str){ "k8s", 4 }, &u, &st) == 0 && u.raw.n == 0);
    buf_release(&b);
}
