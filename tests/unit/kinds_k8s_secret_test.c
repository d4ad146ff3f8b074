/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

#include "base/encode.h"

static struct fixture secrets(void)
{
    return fixture_new("", "v1", "secrets");
}

TEST(string_data_is_put_into_data)
{
    struct fixture f = secrets();

    CHECK_STR(fixture_print(&f, fixture_read(&f, "{\"data\":{\"a\":\"MQ==\",\"b\":\"Mg==\"},"
                                                 "\"stringData\":{\"b\":\"x\",\"c\":\"yz\"}}")),
              "{\"metadata\":{},\"data\":{\"a\":\"MQ==\",\"b\":\"eA==\",\"c\":\"eXo=\"},\"type\":"
              "\"Opaque\"}");
    fixture_release(&f);
}

TEST(the_type_is_opaque_if_not_given)
{
    struct fixture f = secrets();

    CHECK_STR(fixture_print(&f, fixture_read(&f, "{}")), "{\"metadata\":{},\"type\":\"Opaque\"}");
    CHECK(str_is(json_get_str(fixture_read(&f, "{\"type\":\"x/y\"}"), "type"), "x/y"));
    fixture_release(&f);
}

TEST(known_types_need_their_keys)
{
    static const struct {
        const char *text, *faults;
    } cases[] = {
        { "{\"type\":\"kubernetes.io/tls\",\"data\":{\"tls.crt\":\"eA==\"}}",
          "data[tls.key]: Required value" },
        { "{\"type\":\"kubernetes.io/tls\",\"data\":{\"tls.crt\":\"\",\"tls.key\":\"\"}}", "" },
        { "{\"type\":\"kubernetes.io/dockerconfigjson\"}",
          "data[.dockerconfigjson]: Required value" },
        { "{\"type\":\"kubernetes.io/dockerconfigjson\",\"data\":{\".dockerconfigjson\":\"e30=\"}}",
          "" },
        { "{\"type\":\"kubernetes.io/dockercfg\",\"data\":{\".dockercfg\":\"W10=\"}}",
          "data[.dockercfg]: Invalid value: \"<secret contents redacted>\": must be an object, not "
          "an array" },
        { "{\"type\":\"kubernetes.io/basic-auth\"}",
          "data[username]: Required value; data[password]: Required value" },
        { "{\"type\":\"kubernetes.io/basic-auth\",\"data\":{\"password\":\"\"}}", "" },
        { "{\"type\":\"kubernetes.io/ssh-auth\",\"data\":{\"ssh-privatekey\":\"\"}}",
          "data[ssh-privatekey]: Required value" },
        { "{\"type\":\"kubernetes.io/ssh-auth\",\"data\":{\"ssh-privatekey\":\"eA==\"}}", "" },
        { "{\"type\":\"kubernetes.io/service-account-token\"}",
          "metadata.annotations[kubernetes.io/service-account.name]: Required value" },
        { "{\"type\":\"kubernetes.io/service-account-token\",\"metadata\":{\"annotations\":"
          "{\"kubernetes.io/service-account.name\":\"bot\"}}}",
          "" },
        { "{\"type\":\"helm.sh/release.v1\",\"data\":{\"release\":\"eA==\"}}", "" },
    };
    struct fixture f = secrets();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(fixture_create_faults(&f, cases[i].text), cases[i].faults);
    fixture_release(&f);
}

TEST(what_is_wrong_with_json_is_said_without_the_secret)
{
    struct fixture f = secrets();
    const char *faults = fixture_create_faults(
        &f, "{\"type\":\"kubernetes.io/dockerconfigjson\",\"data\":{\".dockerconfigjson\":"
            "\"bm90anNvbg==\"}}");

    CHECK(f.st.ncauses == 1);
    CHECK(
        strstr(faults, "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": "));
    CHECK(!strstr(faults, "notjson"));
    fixture_release(&f);
}

TEST(keys_and_size_are_checked)
{
    struct fixture f = secrets();
    char *big = arena_alloc(f.c.arena, (1 << 20) / 3 * 4 + 9);

    memset(big, 'A', (1 << 20) / 3 * 4 + 4);
    CHECK(fixture_create_faults(&f, "{\"stringData\":{\"a b\":\"\"}}")[0] != '\0');
    CHECK(str_is(f.st.causes->field, "data[a b]"));
    CHECK_STR(fixture_create_faults(&f, arena_printf(f.c.arena, "{\"data\":{\"a\":\"%s\"}}", big)),
              "data: Too long: may not be more than 1048576 bytes");
    fixture_release(&f);
}

TEST(the_type_cannot_change)
{
    struct fixture f = secrets();
    const struct json *old = fixture_read(&f, "{\"type\":\"x/y\"}");

    CHECK_STR(fixture_faults(&f, old, old), "");
    CHECK_STR(fixture_faults(&f, fixture_read(&f, "{}"), old),
              "type: Invalid value: \"Opaque\": field is immutable");
    fixture_release(&f);
}

TEST(immutable_is_for_ever)
{
    struct fixture f = secrets();
    const struct json *old = fixture_read(&f, "{\"data\":{\"x\":\"MQ==\"},\"immutable\":true}");

    CHECK_STR(fixture_faults(&f, old, old), "");
    CHECK_STR(
        fixture_faults(&f, fixture_read(&f, "{\"data\":{\"x\":\"Mg==\"},\"immutable\":true}"), old),
        "data: Forbidden: field is immutable when `immutable` is set");
    CHECK_STR(fixture_faults(&f, fixture_read(&f, "{\"data\":{\"x\":\"MQ==\"}}"), old),
              "immutable: Forbidden: field is immutable when `immutable` is set");
    fixture_release(&f);
}

static const char *warning(struct fixture *f, const char *cert, const char *key)
{
    struct arena *a = f->c.arena;
    struct schema_faults w = { 0 };
    str c = base64_encode(a, BASE64_STD, str_of(cert)),
        k = base64_encode(a, BASE64_STD, str_of(key));
    const char *text = arena_printf(a,
                                    "{\"type\":\"kubernetes.io/tls\",\"data\":{\"tls.crt\":"
                                    "\"%.*s\",\"tls.key\":\"%.*s\"}}",
                                    STR_ARG(c), STR_ARG(k));

    f->kind->ops->warn(&f->c, fixture_read(f, text), NULL, &w);
    CHECK(w.n <= 1);
    return w.n ? str_z(a, w.texts[0]) : "";
}

#define BLOCK(type) "-----BEGIN " type "-----\nAAAA\n-----END " type "-----\n"

TEST(what_is_no_certificate_is_warned_of)
{
    struct fixture f = secrets();

    CHECK_STR(warning(&f, "", ""), "tls: failed to find any PEM data in certificate input");
    CHECK_STR(warning(&f, BLOCK("EC PRIVATE KEY"), ""),
              "tls: failed to find any PEM data in certificate input");
    CHECK_STR(warning(&f, BLOCK("X") BLOCK("Y"), ""),
              "tls: failed to find any PEM data in certificate input");
    CHECK_STR(warning(&f, BLOCK("CERTIFICATE"), "hello\n"),
              "tls: failed to find any PEM data in key input");
    CHECK_STR(warning(&f, BLOCK("CERTIFICATE"), BLOCK("CERTIFICATE")),
              "tls: failed to find any PEM data in key input");
    CHECK_STR(warning(&f, BLOCK("CERTIFICATE"), BLOCK("EC PARAMETERS")),
              "tls: failed to find any PEM data in key input");
    CHECK_STR(warning(&f, BLOCK("X") BLOCK("CERTIFICATE"),
                      BLOCK("EC PARAMETERS") BLOCK("EC PRIVATE KEY")),
              "");
    CHECK_STR(warning(&f, "-----BEGIN CERTIFICATE-----\nAAAA\n", ""),
              "tls: failed to find any PEM data in certificate input");
    fixture_release(&f);
}

TEST(cells_are_name_type_keys_age)
{
    struct fixture f = secrets();

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"},\"stringData\":{\"a\":\"\"}}"),
              "[\"x\",\"Opaque\",1,\"5s\"]");
    CHECK(f.kind->field_labels[0].indexed && str_is(f.kind->field_labels[0].label, "type"));
    fixture_release(&f);
}
