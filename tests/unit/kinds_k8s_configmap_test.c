/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture configmaps(void)
{
    return fixture_new("", "v1", "configmaps");
}

#define KEY_RULE                                                                               \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "       \
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]" \
    "+')"

TEST(keys_have_few_characters)
{
    struct fixture f = configmaps();

    CHECK_STR(fixture_create_faults(&f, "{\"data\":{\"ok.-_9\":\"1\"},\"binaryData\":{\"b\":"
                                        "\"AAEC\"}}"),
              "");
    CHECK_STR(fixture_create_faults(&f, "{\"data\":{\"bad key\":\"1\"}}"),
              "data[bad key]: Invalid value: \"bad key\": " KEY_RULE);
    CHECK_STR(fixture_create_faults(&f, "{\"data\":{\"\":\"1\"}}"),
              "data[]: Invalid value: \"\": " KEY_RULE);
    CHECK_STR(fixture_create_faults(&f, "{\"binaryData\":{\"a/b\":\"AAEC\"}}"),
              "binaryData[a/b]: Invalid value: \"a/b\": " KEY_RULE);
    CHECK_STR(fixture_create_faults(&f, "{\"data\":{\"..\":\"1\"}}"),
              "data[..]: Invalid value: \"..\": must not be '..'");
    CHECK_STR(fixture_create_faults(&f, "{\"data\":{\".\":\"1\",\"..x\":\"\"}}"),
              "data[.]: Invalid value: \".\": must not be '.'; data[..x]: Invalid value: "
              "\"..x\": must not start with '..'");
    fixture_release(&f);
}

TEST(keys_are_at_most_253_long)
{
    struct fixture f = configmaps();
    char key[255];

    memset(key, 'k', 254);
    key[254] = '\0';
    CHECK_STR(fixture_create_faults(
                  &f, str_z(f.c.arena, str_printf(f.c.arena, "{\"data\":{\"%s\":\"\"}}", key + 1))),
              "");
    CHECK(fixture_create_faults(
              &f, str_z(f.c.arena, str_printf(f.c.arena, "{\"data\":{\"%s\":\"\"}}", key)))[0] !=
          '\0');
    CHECK(f.st.ncauses == 1);
    fixture_release(&f);
}

TEST(a_key_is_in_one_of_the_two_maps)
{
    struct fixture f = configmaps();

    CHECK_STR(fixture_create_faults(&f, "{\"data\":{\"x\":\"1\"},\"binaryData\":{\"x\":\"AA==\"}}"),
              "data[x]: Invalid value: \"x\": duplicate of key present in binaryData");
    fixture_release(&f);
}

/* n bytes of text, m bytes of binary data (m a multiple of 3). */
static const char *sized(struct fixture *f, size_t n, size_t m)
{
    char *text = arena_alloc(f->c.arena, n + 1), *binary = arena_alloc(f->c.arena, m / 3 * 4 + 1);

    memset(text, 'x', n);
    memset(binary, 'A', m / 3 * 4);
    return fixture_create_faults(f, arena_printf(f->c.arena,
                                                 "{\"data\":{\"a\":\"%s\"},\"binaryData\":{\"b\":"
                                                 "\"%s\"}}",
                                                 text, binary));
}

TEST(all_values_together_are_at_most_a_mebibyte)
{
    struct fixture f = configmaps();

    CHECK_STR(sized(&f, (1 << 20) - 300, 300), "");
    CHECK_STR(sized(&f, (1 << 20) - 299, 300), ": Too long: may not be more than 1048576 bytes");
    CHECK_STR(sized(&f, 1, 1 << 20 | 2), ": Too long: may not be more than 1048576 bytes");
    fixture_release(&f);
}

TEST(immutable_is_for_ever)
{
    struct fixture f = configmaps();
    const struct json *old = fixture_read(
        &f, "{\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"AA==\"},\"immutable\":true}");

    CHECK_STR(fixture_faults(&f, old, old), "");
    CHECK_STR(fixture_faults(&f, fixture_read(&f, "{\"data\":{\"a\":\"2\"}}"), old),
              "immutable: Forbidden: field is immutable when `immutable` is set; "
              "data: Forbidden: field is immutable when `immutable` is set; "
              "binaryData: Forbidden: field is immutable when `immutable` is set");
    CHECK_STR(fixture_faults(&f, old, fixture_read(&f, "{\"immutable\":false}")), "");
    fixture_release(&f);
}

TEST(cells_count_all_keys)
{
    struct fixture f = configmaps();

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"},\"data\":{\"a\":\"\",\"b\":\"\"},"
                                "\"binaryData\":{\"c\":\"\"}}"),
              "[\"x\",3,\"5s\"]");
    fixture_release(&f);
}
