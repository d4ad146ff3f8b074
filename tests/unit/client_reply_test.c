/* SPDX-License-Identifier: Apache-2.0 */
#include "client/reply.h"

#include "base/banned.h"
#include "tap.h"

TEST(an_object)
{
    scoped_arena a = arena_new();
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    REQUIRE(client_reply(a, 201, STR("{\"kind\":\"ConfigMap\"}"), &v, &st) == 0);
    CHECK(str_is(json_get_str(v, "kind"), "ConfigMap"));
    REQUIRE(client_reply(a, 200, STR(""), &v, &st) == 0);
    CHECK(json_is(v, JSON_NULL));
}

TEST(a_status_with_all_its_parts)
{
    static const char text[] =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{\"continue\":\"tok\"},"
        "\"status\":\"Failure\",\"message\":\"no good\",\"reason\":\"Invalid\",\"details\":{"
        "\"name\":\"x\",\"group\":\"apps\",\"kind\":\"Deployment\",\"uid\":\"u\","
        "\"retryAfterSeconds\":3,\"causes\":[{\"reason\":\"FieldValueRequired\",\"message\":"
        "\"Required value\",\"field\":\"spec.x\"},{\"reason\":\"New\",\"message\":\"m\"}]},"
        "\"code\":422}";
    scoped_arena a = arena_new();
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    CHECK(client_reply(a, 422, str_of(text), &v, &st) < 0);
    CHECK(st.reason == REASON_INVALID);
    CHECK_STR(st.message.p, "no good");
    CHECK_STR(st.name.p, "x");
    CHECK_STR(st.group.p, "apps");
    CHECK_STR(st.kind.p, "Deployment");
    CHECK_STR(st.uid.p, "u");
    CHECK_STR(st.continue_token.p, "tok");
    CHECK(st.retry_after_s == 3);
    REQUIRE(st.ncauses == 2);
    CHECK(st.causes->type == CAUSE_REQUIRED);
    CHECK_STR(st.causes->field.p, "spec.x");
    CHECK_STR(st.causes->message.p, "Required value");
    CHECK(st.causes->next->type == CAUSE_OTHER);
}

TEST(answers_that_are_no_status)
{
    static const struct {
        int code;
        enum reason reason;
    } table[] = {
        { 404, REASON_NOT_FOUND },   { 429, REASON_TOO_MANY_REQUESTS }, { 502, REASON_INTERNAL },
        { 418, REASON_BAD_REQUEST }, { 302, REASON_BAD_REQUEST },       { 503, REASON_UNAVAILABLE },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        scoped_arena a = arena_new();
        const struct json *v = NULL;
        struct status st;

        status_init(&st, a);
        CHECK(client_reply(a, table[i].code, STR("<html>"), &v, &st) < 0);
        CHECK(st.reason == table[i].reason);
        CHECK(str_contains(st.message, STR("<html>")));
    }
}

TEST(rubbish_with_code_200)
{
    scoped_arena a = arena_new();
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    CHECK(client_reply(a, 200, STR("{"), &v, &st) < 0);
    CHECK(st.reason == REASON_INTERNAL);
    CHECK(!v);
}
