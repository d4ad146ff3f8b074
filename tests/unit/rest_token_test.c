/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/token.h"

#include "base/encode.h"
#include "store/store.h"
#include "tap.h"

static bool parses(struct arena *a, str text, struct token *out)
{
    struct status st;

    status_init(&st, a);
    if (token_parse(a, text, out, &st) == 0)
        return true;
    CHECK(status_is(&st, REASON_BAD_REQUEST));
    return false;
}

TEST(a_token_is_read_as_it_was_written)
{
    scoped_arena a = arena_new();
    struct token t = {
        .rev = 1234567890123, .instance = 4000000000, .after = STR("ns/a\"\\"), .left = 17
    };
    struct token out;

    REQUIRE(parses(a, token_print(a, &t), &out));
    CHECK(out.rev == t.rev && out.instance == t.instance && out.left == t.left);
    CHECK(str_eq(out.after, t.after));
}

TEST(what_is_no_token_is_refused)
{
    scoped_arena a = arena_new();
    static const char *const bad[] = {
        "",
        "x",
        "null",
        "[]",
        "{}",
        "{\"v\":2,\"rv\":1,\"instance\":1,\"after\":\"a\",\"left\":0}",
        "{\"v\":1,\"rv\":-1,\"instance\":1,\"after\":\"a\",\"left\":0}",
        "{\"v\":1,\"rv\":1.5,\"instance\":1,\"after\":\"a\",\"left\":0}",
        "{\"v\":1,\"rv\":\"1\",\"instance\":1,\"after\":\"a\",\"left\":0}",
        "{\"v\":1,\"rv\":1,\"instance\":4294967296,\"after\":\"a\",\"left\":0}",
        "{\"v\":1,\"rv\":1,\"instance\":1,\"after\":\"\",\"left\":0}",
        "{\"v\":1,\"rv\":1,\"instance\":1,\"after\":7,\"left\":0}",
        "{\"v\":1,\"rv\":1,\"instance\":1,\"after\":\"a\",\"left\":-3}",
        "{\"v\":1,\"rv\":1,\"instance\":1,\"after\":\"a\"}",
    };
    struct token out;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(!parses(a, base64_encode(a, BASE64_URL, str_of(bad[i])), &out));
    CHECK(!parses(a, STR("%%%"), &out));
    CHECK(!parses(a, STR("e30"), &out));
}

TEST(a_name_no_row_can_have_is_refused)
{
    scoped_arena a = arena_new();
    char *name = arena_alloc(a, STORE_KEY_MAX + 1);
    struct token t = { .rev = 1, .after = { name, STORE_KEY_MAX } }, out;

    memset(name, 'n', STORE_KEY_MAX + 1);
    CHECK(parses(a, token_print(a, &t), &out));
    t.after.n++;
    CHECK(!parses(a, token_print(a, &t), &out));
}
