/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/encryption.h"

#include "base/epoch.h"
#include "http/aead.h"
#include "tap.h"

#define HEAD                                   \
    "apiVersion: apiserver.config.k8s.io/v1\n" \
    "kind: EncryptionConfiguration\nresources:\n"
#define KEY_1 "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define KEY_2 "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="

static struct arena *a;
static struct status st;
static struct encryption *e;

static void begin(void)
{
    a = arena_new();
    status_init(&st, a);
    e = encryption_new();
}

static void end(void)
{
    encryption_free(e);
    epoch_drain();
    arena_free(a);
}

static int load(const char *text)
{
    status_init(&st, a);
    return encryption_load(e, secret_of(str_of(text)), &st);
}

static bool seals(const char *group, const char *plural)
{
    struct seal *s = encryption_seal(e);

    return !s->is_current(s, str_of(group), str_of(plural), STR_NONE);
}

static str close_(const char *plural, const char *beside, const char *plain)
{
    struct seal *s = encryption_seal(e);
    char *out = arena_alloc(a, strlen(plain) + SEAL_OVERHEAD_MAX);

    return (str){ out, s->close(s, STR_NONE, str_of(plural), str_of(beside), str_of(plain), out) };
}

static const char *open_(const char *beside, str sealed)
{
    struct seal *s = encryption_seal(e);
    char *out = arena_alloc(a, sealed.n + 1);
    size_t n = 0;

    status_init(&st, a);
    return s->open(s, str_of(beside), sealed, out, &n, &st) < 0 ? NULL : str_z(a, (str){ out, n });
}

static bool current(const char *plural, str sealed)
{
    struct seal *s = encryption_seal(e);

    return s->is_current(s, STR_NONE, str_of(plural), sealed);
}

static bool holds(str s, const char *part)
{
    return str_contains(s, str_of(part));
}

TEST(resources_are_chosen_by_the_first_entry_that_names_them)
{
    begin();
    CHECK(!seals("", "secrets"));
    REQUIRE(load(HEAD "- resources: [configmaps]\n"
                      "  providers: [identity: {}]\n"
                      "- resources: ['*.', deployments.apps]\n"
                      "  providers: [aesgcm: {keys: [{name: k1, secret: " KEY_1 "}]}]\n") == 0);
    CHECK(seals("", "secrets") && seals("", "pods") && seals("apps", "deployments"));
    CHECK(!seals("", "configmaps") && !seals("apps", "daemonsets") && !seals("x", "secrets"));
    REQUIRE(load(HEAD "- resources: ['*.apps']\n"
                      "  providers: [aescbc: {keys: [{name: k1, secret: " KEY_1 "}]}]\n") == 0);
    CHECK(seals("apps", "deployments") && !seals("", "secrets"));
    REQUIRE(load(HEAD "- resources: ['*.*']\n"
                      "  providers: [aescbc: {keys: [{name: k1, secret: " KEY_1 "}]}]\n") == 0);
    CHECK(seals("apps", "deployments") && seals("", "secrets"));
    end();
}

#define RING(first, second) \
    HEAD "- resources: [secrets]\n  providers: [" first ", " second "identity: {}]\n"
#define GCM_1 "aesgcm: {keys: [{name: one, secret: " KEY_1 "}]}"
#define GCM_2 "aesgcm: {keys: [{name: two, secret: " KEY_2 "}]}"
#define CBC_1 "aescbc: {keys: [{name: one, secret: " KEY_1 "}]}"

TEST(the_first_provider_writes_and_all_read)
{
    str one, two, cbc;

    begin();
    REQUIRE(load(RING(GCM_1, "")) == 0);
    one = close_("secrets", "here", "words");
    CHECK(one.n && !holds(one, "words") && holds(one, "one"));
    CHECK(current("secrets", one) && !current("secrets", STR_NONE));
    CHECK_STR(open_("here", one), "words");
    REQUIRE(load(RING(GCM_2, GCM_1 ", ")) == 0);
    two = close_("secrets", "here", "other words");
    CHECK(holds(two, "two") && current("secrets", two) && !current("secrets", one));
    CHECK_STR(open_("here", one), "words");
    CHECK_STR(open_("here", two), "other words");
    REQUIRE(load(RING(CBC_1, GCM_2 ", " GCM_1 ", ")) == 0);
    cbc = close_("secrets", "here", "more");
    CHECK(!current("secrets", one) && current("secrets", cbc));
    CHECK_STR(open_("here", one), "words");
    CHECK_STR(open_("here", two), "other words");
    CHECK_STR(open_("here", cbc), "more");
    REQUIRE(load(HEAD "- resources: [secrets]\n  providers: [identity: {}, " GCM_1 "]\n") == 0);
    CHECK(current("secrets", STR_NONE) && !current("secrets", one));
    CHECK(close_("secrets", "here", "words").n == 0);
    CHECK_STR(open_("here", one), "words");
    end();
}

TEST(a_key_that_is_missing_is_named)
{
    str one, cbc;

    begin();
    REQUIRE(load(RING(GCM_1, "")) == 0);
    one = close_("secrets", "here", "words");
    REQUIRE(load(RING(CBC_1, "")) == 0);
    cbc = close_("secrets", "here", "words");
    REQUIRE(load(RING(GCM_2, "")) == 0);
    CHECK(!open_("here", one) && status_is(&st, REASON_INTERNAL));
    CHECK_STR(str_z(a, st.message), "it is sealed with the key \"one\" (aesgcm), which the "
                                    "encryption configuration does not have");
    CHECK(!open_("here", cbc) && holds(st.message, "\"one\" (aescbc)"));
    /* Of the same name, but another. */
    REQUIRE(load(RING("aesgcm: {keys: [{name: one, secret: " KEY_2 "}]}", "")) == 0);
    CHECK(!open_("here", one) && holds(st.message, "another key than the one"));
    end();
}

TEST(what_was_moved_cut_or_changed_does_not_open)
{
    begin();
    for (int i = 0; i < 2; i++) {
        str sealed;
        char *p;

        REQUIRE(load(i ? RING(CBC_1, "") : RING(GCM_1, "")) == 0);
        sealed = close_("secrets", "here", "words");
        CHECK(!open_("there", sealed) && holds(st.message, "from elsewhere"));
        for (size_t n = 0; n < sealed.n; n++)
            CHECK(!open_("here", str_sub(sealed, 0, n)));
        p = (char *)(uintptr_t)str_dup(a, sealed).p;
        for (size_t bit = 0; bit < sealed.n * 8; bit++) {
            p[bit / 8] = (char)(p[bit / 8] ^ 1 << bit % 8);
            CHECK(!open_("here", (str){ p, sealed.n }));
            p[bit / 8] = (char)(p[bit / 8] ^ 1 << bit % 8);
        }
        CHECK_STR(open_("here", (str){ p, sealed.n }), "words");
    }
    end();
}

TEST(what_is_wrong_is_said_with_its_field)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "", "no EncryptionConfiguration" },
        { "a: [", "not YAML" },
        { "kind: EncryptionConfiguration\napiVersion: v1\n", "no EncryptionConfiguration" },
        { HEAD "  []\n", "resources: at least one is required" },
        { HEAD "- resources: [secrets]\n", "resources[0].providers: at least one" },
        { HEAD "- providers: [identity: {}]\n", "resources[0].resources: at least one" },
        { HEAD "- resources: [secrets]\n  extra: 1\n  providers: [identity: {}]\n",
          "resources[0]: unknown field \"extra\"" },
        { HEAD "- resources: [Secrets]\n  providers: [identity: {}]\n",
          "resources[0].resources[0]: resource name should not contain capital letters" },
        { HEAD "- resources: ['*']\n  providers: [identity: {}]\n", "'*.'" },
        { HEAD "- resources: ['secrets.*']\n  providers: [identity: {}]\n", "across groups" },
        { HEAD "- resources: ['se*s']\n  providers: [identity: {}]\n", "is no resource" },
        { HEAD "- resources: ['events.events.k8s.io']\n  providers: [identity: {}]\n", "'events'" },
        { HEAD "- resources: [secrets, secrets]\n  providers: [identity: {}]\n",
          "resources[0].resources[1]: the same resource" },
        { HEAD "- resources: [secrets, '*.']\n  providers: [identity: {}]\n", "overlapping" },
        { HEAD "- resources: ['*.*', deployments.apps]\n  providers: [identity: {}]\n",
          "overlapping" },
        { RING("kms: {name: x}", ""), "providers[0].kms: kms plugins are not supported" },
        { RING("secretbox: {keys: []}", ""), "secretbox is not supported here" },
        { RING("rot13: {}", ""), "\"rot13\" is no provider" },
        { RING("identity: {x: 1}", ""), "unknown field" },
        { RING("aesgcm: {keys: []}", ""), "providers[0].aesgcm.keys: at least one" },
        { RING("aesgcm: {keys: [{secret: " KEY_1 "}]}", ""), "keys[0].name: name is a required" },
        { RING("aesgcm: {keys: [{name: x}]}", ""), "keys[0].secret: secret is a required" },
        { RING("aesgcm: {keys: [{name: x, secret: '!!!'}]}", ""), "must be base64" },
        { RING("aesgcm: {keys: [{name: x, secret: YWJj}]}", ""),
          "keys[0].secret: secret is not of the expected length, got 3" },
        { RING("aesgcm: {keys: [{name: x, secret: " KEY_1 "}, {name: x, secret: " KEY_2 "}]}", ""),
          "keys[1]: the name is there twice" },
    };
    str sealed;

    begin();
    REQUIRE(load(RING(GCM_1, "")) == 0);
    sealed = close_("secrets", "here", "words");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CHECK(load(rows[i].text) < 0 && status_is(&st, REASON_INVALID));
        if (!CHECK(holds(st.message, rows[i].want)))
            printf("#  got: %.*s\n# want: %s\n", STR_ARG(st.message), rows[i].want);
        CHECK(!holds(st.message, KEY_1));
        /* The one before is still there. */
        CHECK_STR(open_("here", sealed), "words");
    }
    end();
}
