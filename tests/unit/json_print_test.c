/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/rand.h"
#include "unit/json_help.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *print_with(struct arena *a, void (*print)(struct buf *, const struct json *),
                              const char *text)
{
    const struct json *v = parse_z(a, text);
    struct buf b;
    const char *z;

    if (!v)
        return "(null)";
    buf_init(&b, 1 << 20);
    print(&b, v);
    z = str_z(a, buf_str(&b));
    buf_release(&b);
    return z;
}

static const char *print_float(struct arena *a, double f)
{
    return show(a, &(struct json){ .type = JSON_FLOAT, .f = f });
}

TEST(doubles_as_go_prints_them)
{
    static const struct {
        double f;
        const char *want;
    } table[] = {
        { 0.0, "0" },
        { -0.0, "-0" },
        { 1, "1" },
        { -1.5, "-1.5" },
        { 0.1, "0.1" },
        { 1.0 / 3, "0.3333333333333333" },
        { 100, "100" },
        { 123456.789, "123456.789" },
        { 1e20, "100000000000000000000" },
        { 1e21, "1e+21" },
        { 1.5e300, "1.5e+300" },
        { 1e-6, "0.000001" },
        { 1.25e-6, "0.00000125" },
        { 9.9e-7, "9.9e-7" },
        { 1e-7, "1e-7" },
        { 5e-324, "5e-324" },
        { DBL_MIN, "2.2250738585072014e-308" },
        { DBL_MAX, "1.7976931348623157e+308" },
        { 0x1p-44, "5.684341886080802e-14" },
        { 0x1p63, "9223372036854776000" },
        { 9007199254740993.0, "9007199254740992" },
        { 3333333333333000000.0, "3333333333333000192" }, /* it reads back as an int */
        { 12345678901234567890.0, "12345678901234567000" },
        { 0.000123, "0.000123" },
        { 299792458.0, "299792458" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++)
        CHECK_STR(print_float(a, table[i].f), table[i].want);
}

TEST(doubles_read_back_equal)
{
    struct rand_seq r = { 7 };
    scoped_arena a = arena_new();

    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rand_seq_u64(&r);
        const char *text;
        double f;

        if (i % 4 == 0)
            bits &= 0x800fffffffffffffull; /* subnormal */
        if (i % 4 == 1)
            bits &= 0xfff0000000000000ull; /* a power of two */
        memcpy(&f, &bits, sizeof(f));
        if (!isfinite(f))
            continue;
        text = print_float(a, f);
        CHECK(strtod(text, NULL) == f);
        CHECK(parse_z(a, text) != NULL);
    }
}

TEST(integers)
{
    scoped_arena a = arena_new();

    CHECK_STR(print_with(a, json_print, "[0,-1,9223372036854775807,-9223372036854775808]"),
              "[0,-1,9223372036854775807,-9223372036854775808]");
}

TEST(strings_escape_what_json_demands)
{
    static const struct {
        str s;
        const char *want;
    } table[] = {
        { STR_INIT(""), "\"\"" },
        { STR_INIT("plain"), "\"plain\"" },
        { STR_INIT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"" },
        { STR_INIT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
        { STR_INIT("\x01\x1f\x7f"), "\"\\u0001\\u001f\x7f\"" },
        { STR_INIT("a\0b"), "\"a\\u0000b\"" },
        { STR_INIT("<&> \xc3\xa9 \xe2\x80\xa8"), "\"<&> \xc3\xa9 \xe2\x80\xa8\"" },
        { STR_INIT("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\""),
          "\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\\\"\"" },
        { STR_INIT("ab\xe2\x80\x94 cd\xc2\xa2#f"), "\"ab\xe2\x80\x94 cd\xc2\xa2#f\"" },
        { STR_INIT("0123456789abcdef\n0123456789abcdef"),
          "\"0123456789abcdef\\n0123456789abcdef\"" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++) {
        struct json v = json_of_str(table[i].s);
        const struct json *again;

        CHECK_STR(show(a, &v), table[i].want);
        again = parse_z(a, table[i].want);
        CHECK(json_equal(&v, again));
    }
}

/* One byte of each value at each place of a string that is scanned sixteen bytes at a time. */
TEST(each_byte_at_each_place)
{
    scoped_arena a = arena_new();

    for (int c = 0; c < 128; c++) {
        for (size_t at = 0; at < 20; at++) {
            char text[] = "abcdefghij\xc3\xa9klmnopqr";
            struct json v;

            if (at == 11) /* would cut the two bytes apart */
                continue;
            text[at] = (char)c;
            if (at == 10)
                text[11] = 'x';
            v = json_of_str((str){ text, sizeof(text) - 1 });
            CHECK(json_equal(parse(a, json_text(a, &v)), &v));
        }
    }
}

/* Of values and of names, which are looked at together. */
TEST(what_is_escaped_at_each_place_of_strings_of_each_length)
{
    static const char odd[] = { '"', '\\', '\n', '\x1f', '\0', ' ', '!', '\x7f' };
    scoped_arena a = arena_new();

    for (size_t n = 1; n <= 36; n++) {
        for (size_t at = 0; at < n; at++) {
            for (size_t k = 0; k < sizeof(odd); k++) {
                char text[36];
                struct json_member m[2] = { { STR("plain"), json_of_int(1) } };
                struct json v = { .type = JSON_OBJECT, .n = 2, .members = m };

                memset(text, 'x', sizeof(text));
                text[at] = odd[k];
                m[1] = (struct json_member){ { text, n }, json_of_str(STR("fine")) };
                CHECK(json_equal(parse(a, json_text(a, &v)), &v));
                m[1] = (struct json_member){ STR("fine"), json_of_str((str){ text, n }) };
                CHECK(json_equal(parse(a, json_text(a, &v)), &v));
            }
        }
    }
}

TEST(the_canonical_form)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        { "3", "3" },
        { "{}", "{}" },
        { "[]", "[]" },
        { "{\"apiVersion\":\"v1\",\"data\":{\"b\":1,\"a\":2},\"kind\":\"K\",\"metadata\":{}}",
          "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{},\"data\":{\"a\":2,\"b\":1}}" },
        { "{\"z\":1,\"metadata\":{\"name\":\"x\",\"kind\":\"k\",\"apiVersion\":\"v\"},\"a\":2}",
          "{\"metadata\":{\"apiVersion\":\"v\",\"kind\":\"k\",\"name\":\"x\"},\"a\":2,\"z\":1}" },
        { "{\"b\":[{\"kind\":1,\"a\":2}],\"a\":1}", "{\"a\":1,\"b\":[{\"a\":2,\"kind\":1}]}" },
        { "{\"ab\":1,\"a\":2,\"\":3,\"B\":4,\"\xc3\xa9\":5}",
          "{\"\":3,\"B\":4,\"a\":2,\"ab\":1,\"\xc3\xa9\":5}" },
        { "{\"x\":1.0,\"w\":1e3,\"y\":0.50,\"z\":12345678901234567890}",
          "{\"w\":1000,\"x\":1,\"y\":0.5,\"z\":12345678901234567000}" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < COUNT(table); i++)
        CHECK_STR(print_with(a, json_print_canonical, table[i].text), table[i].want);
}

TEST(the_canonical_form_of_many_members_in_any_order)
{
    struct rand_seq r = { 3 };
    scoped_arena a = arena_new();

    for (size_t n = 1; n < 60; n++) {
        struct json_object sorted = json_object_new(a), mixed;
        const char *want;

        for (size_t i = 0; i < n; i++)
            json_add(&sorted, str_printf(a, "m%03zu", i), json_of_int((int64_t)i));
        mixed = json_object_from(a, json_object_done(&sorted));
        want = show(a, json_object_done(&sorted));
        for (uint32_t i = mixed.n; i > 1; i--) {
            uint32_t j = rand_seq_below(&r, i);
            struct json_member m = mixed.members[j];

            mixed.members[j] = mixed.members[i - 1];
            mixed.members[i - 1] = m;
        }
        CHECK_STR(print_with(a, json_print_canonical, show(a, json_object_done(&mixed))), want);
        CHECK_STR(print_with(a, json_print_canonical,
                             arena_printf(a, "[%s]", show(a, json_object_done(&mixed)))),
                  arena_printf(a, "[%s]", want));
        CHECK(json_equal(json_object_done(&mixed), json_object_done(&sorted)));
    }
}

TEST(the_pretty_form)
{
    scoped_arena a = arena_new();

    CHECK_STR(print_with(a, json_print_pretty, "{\"a\":{},\"b\":[],\"c\":[1,{\"d\":\"x\"}]}"),
              "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": \"x\"\n"
              "    }\n  ]\n}");
    CHECK_STR(print_with(a, json_print_pretty, "7"), "7");
}

TEST(a_full_buffer_overflows_and_nothing_else)
{
    scoped_arena a = arena_new();
    const struct json *v = parse_z(a, "{\"name\":[1.5,true,null,\"a\\nb\",\"plain\"],\"z\":-12}");
    size_t n = json_text(a, v).n;

    for (size_t max = 1; max <= n; max++) {
        struct buf b;

        buf_init(&b, max);
        json_print(&b, v);
        CHECK(buf_overflown(&b) == (max < n));
        buf_clear(&b);
        json_print_pretty(&b, v);
        CHECK(buf_overflown(&b));
        buf_release(&b);
    }
}
