/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/table.h"
#include "tap.h"
#include "unit/parse.h"

static const struct column columns[] = {
    { STR_INIT("Name"), STR_INIT("string"), STR_INIT("name"), STR_INIT("Its \"name\"."),
      .priority = 0 },
    { STR_INIT("Size"), STR_INIT("integer"), STR_INIT(""), STR_INIT(""), .priority = 1 },
};

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    (void)a;
    json_push(out, json_of_str(json_get_str(obj, "metadata.name")));
    json_push(out, json_of_int(now_s));
}

static const struct kind_ops ops = { .cells = cells };
static const struct kind things = {
    .columns = columns,
    .ncolumns = 2,
    .ops = &ops,
    .type_prefix = STR_INIT("{\"kind\":\"Thing\",\"apiVersion\":\"example.com/v1\","),
};
static const struct kind bare = { .ops = &(const struct kind_ops){ 0 } };

static const char *row(struct arena *a, const struct kind *k, enum table_include include)
{
    const struct json *obj = parse(a, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\","
                                      "\"metadata\":{\"name\":\"a\",\"creationTimestamp\":"
                                      "\"2020-01-02T03:04:05Z\"},\"spec\":{\"b\":[1]}}");
    scoped_buf b;

    buf_init(&b, 4096);
    table_row(&b, a, k, obj, include, 7);
    return str_z(a, buf_str(&b));
}

TEST(columns_are_those_of_the_kind)
{
    scoped_arena a = arena_new();
    scoped_buf b;

    buf_init(&b, 4096);
    table_columns(&b, &things);
    CHECK_STR(str_z(a, buf_str(&b)),
              "[{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\",\"description\":"
              "\"Its \\\"name\\\".\",\"priority\":0},{\"name\":\"Size\",\"type\":\"integer\","
              "\"format\":\"\",\"description\":\"\",\"priority\":1}]");
}

TEST(a_kind_without_columns_has_name_and_creation)
{
    scoped_arena a = arena_new();
    const struct json *v;
    scoped_buf b;

    buf_init(&b, 4096);
    table_columns(&b, &bare);
    v = parse(a, str_z(a, buf_str(&b)));
    REQUIRE(json_len(v) == 2);
    CHECK(str_is(json_get_str(json_at(v, 0), "format"), "name"));
    CHECK(str_is(json_get_str(json_at(v, 1), "name"), "Created At"));
    CHECK(str_is(json_get_str(json_at(v, 1), "type"), "date"));
    CHECK_STR(row(a, &bare, TABLE_NONE),
              "{\"cells\":[\"a\",\"2020-01-02T03:04:05Z\"],\"object\":null}");
}

TEST(a_row_carries_what_is_asked_for)
{
    scoped_arena a = arena_new();

    CHECK_STR(row(a, &things, TABLE_METADATA),
              "{\"cells\":[\"a\",7],\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
              "\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"a\",\"creationTimestamp\":"
              "\"2020-01-02T03:04:05Z\"}}}");
    CHECK_STR(row(a, &things, TABLE_NONE), "{\"cells\":[\"a\",7],\"object\":null}");
    CHECK_STR(row(a, &things, TABLE_OBJECT),
              "{\"cells\":[\"a\",7],\"object\":{\"kind\":\"Thing\",\"apiVersion\":"
              "\"example.com/v1\",\"metadata\":{\"name\":\"a\",\"creationTimestamp\":"
              "\"2020-01-02T03:04:05Z\"},\"spec\":{\"b\":[1]}}}");
}

TEST(include_object_is_one_of_three_words)
{
    scoped_arena a = arena_new();
    enum table_include include = TABLE_NONE;
    struct status st;

    status_init(&st, a);
    CHECK(table_include_parse(STR(""), &include, &st) == 0 && include == TABLE_METADATA);
    CHECK(table_include_parse(STR("None"), &include, &st) == 0 && include == TABLE_NONE);
    CHECK(table_include_parse(STR("Object"), &include, &st) == 0 && include == TABLE_OBJECT);
    CHECK(table_include_parse(STR("Metadata"), &include, &st) == 0 && include == TABLE_METADATA);
    CHECK(table_include_parse(STR("Half"), &include, &st) < 0);
    CHECK(status_is(&st, REASON_BAD_REQUEST));
}
