/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/names.h"

#include "tap.h"
#include "unit/parse.h"

/* The texts are those of recorded answers: errors/invalid-*, namespaces/invalid-names. */
#define SUBDOMAIN                                                                             \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' " \
    "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "     \
    "regex used for validation is "                                                           \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL                                                                           \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or " \
    "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "  \
    "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define LABEL_1035                                                                       \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start " \
    "with an alphabetic character, and end with an alphanumeric character (e.g. "        \
    "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
#define KEY                                                                               \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "   \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex " \
    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE                                                                                \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' " \
    "or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "    \
    "'my_value',  or '12345', regex used for validation is "                                 \
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static str repeated(struct arena *a, char c, size_t n)
{
    char *p = arena_alloc(a, n + 1);

    memset(p, c, n);
    return (str){ p, n };
}

TEST(names_by_their_rules)
{
    static const struct {
        enum name_rule rule;
        const char *name, *fault; /* NULL: a name */
    } cases[] = {
        { NAME_SUBDOMAIN, "a", NULL },
        { NAME_SUBDOMAIN, "a.b-c.0", NULL },
        { NAME_SUBDOMAIN, "Bad_Name", SUBDOMAIN },
        { NAME_SUBDOMAIN, "a..b", SUBDOMAIN },
        { NAME_SUBDOMAIN, "a/b", SUBDOMAIN },
        { NAME_SUBDOMAIN, ".a", SUBDOMAIN },
        { NAME_SUBDOMAIN, "a.", SUBDOMAIN },
        { NAME_SUBDOMAIN, "-a", SUBDOMAIN },
        { NAME_SUBDOMAIN, "a-.b", SUBDOMAIN },
        { NAME_SUBDOMAIN, "a\n", SUBDOMAIN },
        { NAME_SUBDOMAIN, "ä", SUBDOMAIN },
        { NAME_SUBDOMAIN, "", SUBDOMAIN },
        { NAME_LABEL, "0a-b9", NULL },
        { NAME_LABEL, "Upper-x", LABEL },
        { NAME_LABEL, "-x", LABEL },
        { NAME_LABEL, "", LABEL },
        { NAME_LABEL, "a.b", "must not contain dots" },
        { NAME_LABEL, "a..b", LABEL },
        { NAME_LABEL_1035, "a0-b", NULL },
        { NAME_LABEL_1035, "0a", LABEL_1035 },
        { NAME_LABEL_1035, "a-", LABEL_1035 },
        { NAME_PATH, "system:node", NULL },
        { NAME_PATH, "A b", NULL },
        { NAME_PATH, ".", "may not be '.'" },
        { NAME_PATH, "..", "may not be '..'" },
        { NAME_PATH, "...", NULL },
        { NAME_PATH, "a/b", "may not contain '/'" },
        { NAME_PATH, "a%b", "may not contain '%'" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        str faults[NAME_FAULTS];
        size_t n = name_faults(cases[i].rule, str_of(cases[i].name), faults);

        CHECK(n == (cases[i].fault ? 1 : 0));
        CHECK(name_is_valid(cases[i].rule, str_of(cases[i].name)) == !cases[i].fault);
        if (n)
            CHECK_STR(faults[0].p, cases[i].fault);
    }
}

TEST(no_name_holds_a_nul)
{
    str faults[NAME_FAULTS];

    REQUIRE(name_faults(NAME_PATH, STR("a\0b"), faults) == 1);
    CHECK_STR(faults[0].p, "may not contain NUL");
    CHECK(!name_is_valid(NAME_SUBDOMAIN, STR("a\0b")));
}

TEST(names_have_a_length)
{
    scoped_arena a = arena_new();
    str faults[NAME_FAULTS];

    CHECK(name_is_valid(NAME_SUBDOMAIN, repeated(a, 'x', 253)));
    CHECK(name_faults(NAME_SUBDOMAIN, repeated(a, 'x', 254), faults) == 1);
    CHECK_STR(faults[0].p, "must be no more than 253 characters");
    CHECK(name_is_valid(NAME_LABEL, repeated(a, 'x', 63)));
    CHECK(name_faults(NAME_LABEL, repeated(a, 'x', 64), faults) == 1);
    CHECK_STR(faults[0].p, "must be no more than 63 characters");
    CHECK(name_faults(NAME_LABEL_1035, repeated(a, '_', 64), faults) == 2);
    CHECK_STR(faults[1].p, LABEL_1035);
    CHECK(name_is_valid(NAME_PATH, repeated(a, 'x', 5000)));
}

TEST(causes_say_the_field_and_the_value)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    CHECK(name_check(&st, NAME_SUBDOMAIN, STR("metadata.name"), STR("ok")) == 0 && !st.causes);
    CHECK(name_check(&st, NAME_SUBDOMAIN, STR("metadata.name"), STR("a\"b")) == 1);
    CHECK(status_invalid(&st, STR(""), STR("ConfigMap"), STR("a\"b")) < 0);
    CHECK_STR(st.message.p, "ConfigMap \"a\"b\" is invalid: metadata.name: Invalid value: "
                            "\"a\\\"b\": " SUBDOMAIN);
    CHECK(st.causes && st.causes->type == CAUSE_INVALID);
}

TEST(a_prefix_may_end_in_a_dash)
{
    static const struct {
        enum name_rule rule;
        const char *prefix;
        unsigned faults;
    } cases[] = {
        { NAME_SUBDOMAIN, "a-", 0 },   { NAME_SUBDOMAIN, "web-", 0 },
        { NAME_SUBDOMAIN, "web", 0 },  { NAME_SUBDOMAIN, "-", 1 },
        { NAME_SUBDOMAIN, "A-b-", 1 }, { NAME_SUBDOMAIN, "a..b-", 1 },
        { NAME_LABEL, "x-", 0 },       { NAME_LABEL, "a.b-", 1 },
        { NAME_LABEL_1035, "0x-", 1 }, { NAME_LABEL_1035, "x0-", 0 },
        { NAME_PATH, "..", 0 },        { NAME_PATH, "a/", 1 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        if (!CHECK(name_check_prefix(&st, cases[i].rule, STR("metadata.generateName"),
                                     str_of(cases[i].prefix)) == cases[i].faults))
            printf("# %s\n", cases[i].prefix);
    }
}

TEST(label_keys)
{
    static const struct {
        const char *key, *faults[2];
    } cases[] = {
        { "a", { NULL } },
        { "example.com/a.b_c-D", { NULL } },
        { "bad key!", { "name part " KEY } },
        { "example.com/", { "name part must be non-empty", "name part " KEY } },
        { "", { "name part must be non-empty", "name part " KEY } },
        { "/a", { "prefix part must be non-empty" } },
        { "Example_Com/x", { "prefix part " SUBDOMAIN } },
        { "a/b/c",
          { "a valid label key " KEY
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')" } },
        { "-a", { "name part " KEY } },
        { "a.", { "name part " KEY } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        str faults[NAME_FAULTS];
        size_t n = qualified_name_faults(str_of(cases[i].key), faults), want = 0;

        for (; want < 2 && cases[i].faults[want]; want++)
            CHECK_STR(want < n ? faults[want].p : NULL, cases[i].faults[want]);
        CHECK(n == want);
        CHECK(qualified_name_is_valid(str_of(cases[i].key)) == (want == 0));
    }
}

TEST(label_keys_and_values_have_a_length)
{
    scoped_arena a = arena_new();
    str faults[NAME_FAULTS];
    str key =
        str_printf(a, "%.*s/%.*s", STR_ARG(repeated(a, '_', 254)), STR_ARG(repeated(a, '-', 64)));

    CHECK(qualified_name_faults(repeated(a, 'k', 64), faults) == 1);
    CHECK_STR(faults[0].p, "name part must be no more than 63 bytes");
    CHECK(qualified_name_faults(key, faults) == 4);
    CHECK_STR(faults[0].p, "prefix part must be no more than 253 bytes");
    CHECK(label_value_is_valid(repeated(a, 'v', 63)));
    CHECK(label_value_faults(repeated(a, 'v', 64), faults) == 1);
    CHECK_STR(faults[0].p, "must be no more than 63 bytes");
    CHECK(label_value_is_valid(STR("")) && label_value_is_valid(STR("A.b_C-9")));
    CHECK(label_value_faults(STR("bad value!"), faults) == 1);
    CHECK_STR(faults[0].p, VALUE);
}

/* Recorded: errors/invalid-label-message */
TEST(labels_are_checked_key_and_value)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    CHECK(labels_check(&st, STR("metadata.labels"), NULL) == 0);
    CHECK(labels_check(&st, STR("metadata.labels"), parse(a, "{\"a\":\"b\",\"e\":\"\"}")) == 0);
    CHECK(labels_check(&st, STR("metadata.labels"), parse(a, "{\"k\":\"bad value!\"}")) == 1);
    CHECK(status_invalid(&st, STR(""), STR("ConfigMap"), STR("a")) < 0);
    CHECK_STR(st.message.p, "ConfigMap \"a\" is invalid: metadata.labels: Invalid value: \"bad "
                            "value!\": " VALUE);
    status_reset(&st);
    CHECK(labels_check(&st, STR("l"), parse(a, "{\"bad key\":\"bad value!\",\"\":\"\"}")) == 4);
    CHECK(st.ncauses == 4);
}

TEST(annotations_are_checked_in_any_case_and_by_their_size)
{
    scoped_arena a = arena_new();
    struct json_object o = json_object_new(a);
    struct json v;
    struct status st;

    status_init(&st, a);
    CHECK(annotations_check(&st, STR("f"), parse(a, "{\"k\":\"any value, really! {}\"}")) == 0);
    CHECK(annotations_check(&st, STR("f"), parse(a, "{\"Example.COM/Key\":\"\"}")) == 0);
    CHECK(annotations_check(&st, STR("f"), parse(a, "{\"Bad key\":\"v\"}")) == 1);
    CHECK(st.causes &&
          str_starts(st.causes->message, STR("Invalid value: \"Bad key\": name part")));
    status_reset(&st);
    json_add(&o, STR("k"), json_of_str(repeated(a, 'v', 262143)));
    v = json_object_value(&o);
    CHECK(annotations_check(&st, STR("metadata.annotations"), &v) == 0);
    o = json_object_new(a);
    json_add(&o, STR("k"), json_of_str(repeated(a, 'v', 262144)));
    v = json_object_value(&o);
    CHECK(annotations_check(&st, STR("metadata.annotations"), &v) == 1);
    CHECK(st.causes && st.causes->type == CAUSE_TOO_LONG);
    CHECK_STR(st.causes ? st.causes->message.p : NULL,
              "Too long: may not be more than 262144 bytes");
}

TEST(very_many_faults_are_cut_off)
{
    scoped_arena a = arena_new();
    struct json_object o = json_object_new(a);
    struct json v;
    struct status st;

    status_init(&st, a);
    for (int i = 0; i < 1000; i++)
        json_add(&o, str_printf(a, "bad key %d", i), json_of_str(STR("")));
    v = json_object_value(&o);
    CHECK(labels_check(&st, STR("l"), &v) == 1000);
    CHECK(st.ncauses == STATUS_CAUSES_MAX);
}
