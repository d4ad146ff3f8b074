/* SPDX-License-Identifier: Apache-2.0 */

/* Messages: protobuf, trees, JSON, and back. */

#include "base/pbwire.h"
#include "rpc_demo.h"
#include "tap.h"

static struct arena *arena;
static struct status st;

static void setup(void)
{
    arena = arena_new();
    status_init(&st, arena);
}

static const struct json *tree(const char *text)
{
    const struct json *v = &json_null;

    CHECK(json_parse(arena, str_of(text), NULL, &v, &st) == 0);
    return v;
}

/* What clients write, as the tree has it; "!" and why not. */
static const char *read(const char *text)
{
    const struct json *out;

    status_reset(&st);
    if (message_read(arena, demo_thing(), tree(text), &out, &st) < 0)
        return arena_printf(arena, "!%.*s", STR_ARG(st.message));
    return str_z(arena, json_text(arena, out));
}

static str encoded(const struct json *v)
{
    scoped_buf b = { .max = 1 << 20 };

    message_encode(&b, demo_thing(), v);
    return str_dup(arena, buf_str(&b));
}

static const char *decoded(str bytes)
{
    const struct json *out;

    status_reset(&st);
    if (message_decode(arena, demo_thing(), bytes, &out, &st) < 0)
        return arena_printf(arena, "!%.*s", STR_ARG(st.message));
    return str_z(arena, json_text(arena, out));
}

TEST(all_sorts_of_fields_come_back)
{
    static const char *const trees[] = {
        "{}",
        "{\"name\":\"a\\u0000b\"}",
        "{\"i32\":-1,\"i64\":-9223372036854775808,\"u32\":4294967295}",
        "{\"u64\":\"18446744073709551615\",\"s32\":-2147483648,\"s64\":-1}",
        "{\"f32\":1,\"f64\":9223372036854775807,\"sf32\":-7,\"sf64\":-8}",
        "{\"single\":0.5,\"real\":1e+300}",
        "{\"real\":\"NaN\"}",
        "{\"single\":\"-Infinity\",\"real\":\"Infinity\"}",
        "{\"yes\":true,\"raw\":\"AP8=\",\"color\":\"dark_blue\"}",
        "{\"color\":77}",
        "{\"part\":{}}",
        "{\"part\":{\"parts\":[{\"name\":\"x\"},{}]}}",
        "{\"words\":[\"\",\"b\"],\"numbers\":[0,-1,5],\"colors\":[\"NONE\",\"RED\",5]}",
        "{\"parts\":[{},{\"name\":\"p\"}]}",
        "{\"counts\":{\"\":0,\"k\":-5},\"byNumber\":{\"-3\":{\"name\":\"x\"},\"0\":{}}}",
        "{\"byTruth\":{\"false\":\"\",\"true\":\"t\"}}",
        "{\"maybe\":0}",
        "{\"leftSide\":\"\"}",
        "{\"rightSide\":0}",
        "{\"PascalName\":\"x\"}",
    };

    setup();
    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
        CHECK_STR(decoded(encoded(tree(trees[i]))), trees[i]);
        CHECK_STR(read(trees[i]), trees[i]);
    }
    arena_free(arena);
}

TEST(clients_may_write_in_several_ways)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "{\"left_side\":\"a\",\"by_number\":{\"1\":{}}}",
          "{\"leftSide\":\"a\",\"byNumber\":{\"1\":{}}}" },
        { "{\"i64\":\"5\",\"i32\":\"-5\",\"u64\":\"7\",\"real\":\"1.5\"}",
          "{\"i64\":5,\"i32\":-5,\"u64\":7,\"real\":1.5}" },
        { "{\"i32\":1.0}", "{\"i32\":1}" },
        { "{\"color\":1,\"colors\":[0,\"RED\",\"1\"]}",
          "{\"color\":\"RED\",\"colors\":[\"NONE\",\"RED\",\"RED\"]}" },
        { "{\"raw\":\"_-8\"}", "{\"raw\":\"/+8=\"}" },
        { "{\"name\":null,\"part\":null,\"words\":null}", "{}" },
        { "{\"name\":\"\",\"i32\":0,\"words\":[],\"counts\":{},\"color\":\"NONE\"}", "{}" },
        { "{\"nobody\":{\"knows\":1}}", "{}" },
        { "[]", "!the request: must be an object" },
        { "{\"name\":1}", "!name: must be a string" },
        { "{\"i32\":2147483648}", "!i32: must be a 32-bit integer" },
        { "{\"i32\":1.5}", "!i32: must be a 32-bit integer" },
        { "{\"u32\":-1}", "!u32: must be an unsigned 32-bit integer" },
        { "{\"u64\":\"-1\"}", "!u64: must be an unsigned 64-bit integer" },
        { "{\"i64\":\"1x\"}", "!i64: must be a 64-bit integer" },
        { "{\"yes\":\"true\"}", "!yes: must be true or false" },
        { "{\"raw\":\"?\"}", "!raw: must be bytes in base64" },
        { "{\"color\":\"GREEN\"}", "!color: must be a name of the enum" },
        { "{\"real\":\"much\"}", "!real: must be a number" },
        { "{\"words\":\"x\"}", "!words: must be an array" },
        { "{\"parts\":[{},{\"parts\":[{\"name\":{}}]}]}", "!parts.parts.name: must be a string" },
        { "{\"counts\":{\"k\":\"x\"}}", "!counts.k: must be a 64-bit integer" },
        { "{\"byNumber\":{\"x\":{}}}", "!byNumber.x: must be a key of the map's type" },
        { "{\"byTruth\":{\"1\":\"\"}}", "!byTruth.1: must be a key of the map's type" },
    };

    setup();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(read(rows[i].text), rows[i].want);
    arena_free(arena);
}

TEST(answers_have_all_defaults)
{
    scoped_buf b = { .max = 1 << 20 };

    setup();
    message_print(&b, demo_thing(),
                  tree("{\"i64\":5,\"parts\":[{}],\"counts\":{\"a\":1},"
                       "\"nobody\":1,\"name\":3,\"color\":1}"));
    CHECK_STR(str_z(arena, buf_str(&b)),
              "{\"name\":\"3\",\"i32\":0,\"i64\":\"5\",\"u32\":0,\"u64\":\"0\",\"s32\":0,"
              "\"s64\":\"0\",\"f32\":0,\"f64\":\"0\",\"sf32\":0,\"sf64\":\"0\",\"single\":0,"
              "\"real\":0,\"yes\":false,\"raw\":\"\",\"color\":\"RED\",\"part\":null,\"words\":[],"
              "\"numbers\":[],\"colors\":[],\"parts\":[{\"name\":\"\",\"parts\":[]}],"
              "\"counts\":{\"a\":\"1\"},\"byNumber\":{},\"byTruth\":{},\"PascalName\":\"\"}");
    arena_free(arena);
}

TEST(what_is_not_known_is_passed_over)
{
    scoped_buf b = { .max = 1000 };

    setup();
    pb_put_uint(&b, 1000, 7);
    pb_put_bytes(&b, 1001, STR("x"));
    pb_put_uint(&b, 1, 5); /* a string it should be */
    pb_put_bytes(&b, 2, STR("x"));
    pb_put_bytes(&b, 1, STR("n"));
    CHECK_STR(decoded(buf_str(&b)), "{\"name\":\"n\"}");
    arena_free(arena);
}

TEST(numbers_come_packed_or_one_by_one)
{
    scoped_buf b = { .max = 1000 };

    setup();
    pb_put_uint(&b, 19, 1);
    pb_put_bytes(&b, 19, STR("\x02\x03"));
    pb_put_uint(&b, 19, 4);
    CHECK_STR(decoded(buf_str(&b)), "{\"numbers\":[1,2,3,4]}");
    buf_clear(&b);
    pb_put_bytes(&b, 19, STR("\x02\xff"));
    CHECK_STR(decoded(buf_str(&b)),
              "!the message demo.v1.Thing cannot be decoded: a packed list is cut off");
    arena_free(arena);
}

TEST(a_field_that_comes_twice)
{
    scoped_buf b = { .max = 1000 };

    setup();
    pb_put_bytes(&b, 1, STR("a"));
    pb_put_bytes(&b, 17, STR("\x0a\x01x"));
    pb_put_bytes(&b, 17, STR("\x12\x00"));
    pb_put_bytes(&b, 1, STR("b"));
    CHECK_STR(decoded(buf_str(&b)), "{\"name\":\"b\",\"part\":{\"name\":\"x\",\"parts\":[{}]}}");
    arena_free(arena);
}

TEST(bad_bytes_are_refused)
{
    setup();
    CHECK_STR(decoded(STR("\x0a\x05x")),
              "!the message demo.v1.Thing cannot be decoded: it is cut off or no protobuf");
    CHECK_STR(decoded(STR("\x0a\x01\xff")),
              "!the message demo.v1.Thing cannot be decoded: a string is not UTF-8");
    arena_free(arena);
}

TEST(depth_and_size_are_limited)
{
    scoped_buf b = { .max = 8 << 20 }, inner = { .max = 8 << 20 };

    setup();
    for (int i = 0; i < RPC_DEPTH_MAX + 2; i++) {
        buf_clear(&b);
        pb_put_bytes(&b, i == RPC_DEPTH_MAX + 1 ? 17 : 2, buf_str(&inner));
        buf_clear(&inner);
        buf_str_append(&inner, buf_str(&b));
    }
    CHECK_STR(decoded(buf_str(&b)),
              "!the message demo.v1.Thing.Part cannot be decoded: it is nested too deeply");
    buf_clear(&b);
    for (int i = 0; i < 600000; i++) /* 4 bytes each that want many times as much */
        pb_put_bytes(&b, 21, STR("\x12\x00"));
    CHECK_STR(decoded(buf_str(&b)), "!the message is too large");
    arena_free(arena);
}
