/* SPDX-License-Identifier: Apache-2.0 */

/* Failures as clients of both sorts see them. */

#include "rpc/error.h"

#include "base/arena.h"
#include "base/encode.h"
#include "tap.h"

TEST(codes)
{
    static const struct {
        enum reason reason;
        int grpc, http;
    } rows[] = {
        { REASON_BAD_REQUEST, 3, 400 }, { REASON_UNAUTHORIZED, 16, 401 },
        { REASON_FORBIDDEN, 7, 403 },   { REASON_NOT_FOUND, 5, 404 },
        { REASON_INVALID, 3, 400 },     { REASON_ALREADY_EXISTS, 6, 409 },
        { REASON_CONFLICT, 10, 409 },   { REASON_TOO_MANY_REQUESTS, 8, 429 },
        { REASON_INTERNAL, 13, 500 },   { REASON_UNAVAILABLE, 14, 503 },
        { REASON_TIMEOUT, 4, 504 },     { REASON_METHOD_NOT_ALLOWED, 12, 501 },
        { REASON_EXPIRED, 11, 400 },    { REASON_TOO_LARGE, 8, 413 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct status st = { .reason = rows[i].reason };

        CHECK(status_grpc(&st) == rows[i].grpc && error_http(&st) == rows[i].http);
    }
}

TEST(both_forms)
{
    scoped_arena a = arena_new();
    scoped_buf b = { .max = 10000 };
    struct status st;

    status_init(&st, a);
    (void)status_set(&st, REASON_NOT_FOUND, "no \"x\" 50%% \xc3\xa4\n");
    error_print(&b, &st);
    CHECK_STR(str_z(a, buf_str(&b)),
              "{\"code\":5,\"message\":\"no \\\"x\\\" 50% \xc3\xa4\\n\",\"details\":[]}");
    CHECK_STR(str_z(a, error_message(a, &st)), "no \"x\" 50%25 %C3%A4%0A");
    buf_clear(&b);
    error_encode(&b, &st);
    CHECK_STR(str_z(a, base64_encode(a, BASE64_STD, buf_str(&b))), "CAUSDm5vICJ4IiA1MCUgw6QK");
}

TEST(causes_are_details)
{
    scoped_arena a = arena_new();
    scoped_buf b = { .max = 10000 };
    struct status st;

    status_init(&st, a);
    status_cause(&st, CAUSE_REQUIRED, STR("spec.a"), STR_NONE, "say it");
    status_cause(&st, CAUSE_REQUIRED, STR("spec.b"), STR_NONE, "%s", "");
    CHECK(status_invalid(&st, STR(""), STR("Thing"), STR("x")) < 0);
    error_print(&b, &st);
    CHECK(str_contains(buf_str(&b),
                       STR("\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\","
                           "\"fieldViolations\":[{\"field\":\"spec.a\",\"description\":"
                           "\"Required value: say it\"},{\"field\":\"spec.b\"")));
    buf_clear(&b);
    error_encode(&b, &st);
    CHECK(str_contains(buf_str(&b), STR("google.rpc.BadRequest")));
    CHECK(str_contains(buf_str(&b), STR("spec.b")));
}
