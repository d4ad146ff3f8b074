/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <errno.h>

#include "base/arena.h"
#include "tap.h"

#define CHECK_MESSAGE(want) CHECK_STR(str_z(a, st.message), (want))

TEST(wire_names_and_codes_of_kubernetes)
{
    static const struct {
        enum reason reason;
        const char *wire;
        int http;
    } want[] = {
        { REASON_NOT_FOUND, "NotFound", 404 },
        { REASON_ALREADY_EXISTS, "AlreadyExists", 409 },
        { REASON_CONFLICT, "Conflict", 409 },
        { REASON_INVALID, "Invalid", 422 },
        { REASON_BAD_REQUEST, "BadRequest", 400 },
        { REASON_UNAUTHORIZED, "Unauthorized", 401 },
        { REASON_FORBIDDEN, "Forbidden", 403 },
        { REASON_METHOD_NOT_ALLOWED, "MethodNotAllowed", 405 },
        { REASON_NOT_ACCEPTABLE, "NotAcceptable", 406 },
        { REASON_UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", 415 },
        { REASON_TOO_LARGE, "RequestEntityTooLarge", 413 },
        { REASON_EXPIRED, "Expired", 410 },
        { REASON_GONE, "Gone", 410 },
        { REASON_TIMEOUT, "Timeout", 504 },
        { REASON_SERVER_TIMEOUT, "ServerTimeout", 500 },
        { REASON_TOO_MANY_REQUESTS, "TooManyRequests", 429 },
        { REASON_INTERNAL, "InternalError", 500 },
        { REASON_UNAVAILABLE, "ServiceUnavailable", 503 },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        struct status st;
        enum reason back;

        status_init(&st, a);
        CHECK(status_set(&st, want[i].reason, "x") == -1);
        CHECK_STR(status_reason(&st), want[i].wire);
        CHECK(status_http(&st) == want[i].http);
        CHECK(status_is(&st, want[i].reason));
        CHECK(status_parse_reason(str_of(want[i].wire), &back) && back == want[i].reason);
    }
}

TEST(a_reason_nobody_has_is_not_parsed)
{
    enum reason r = REASON_GONE;

    CHECK(!status_parse_reason(STR("Nonsense"), &r));
    CHECK(!status_parse_reason(STR(""), &r));
    CHECK(r == REASON_GONE);
}

TEST(a_fresh_status_is_ok)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    CHECK(status_is(&st, REASON_OK));
    CHECK(status_http(&st) == 200);
    (void)status_set(&st, REASON_GONE, "x");
    status_reset(&st);
    CHECK(status_is(&st, REASON_OK) && st.arena == a && st.message.n == 0);
}

TEST(not_found_names_the_resource)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    CHECK(status_not_found(&st, STR(""), STR("configmaps"), STR("x")) == -1);
    CHECK_MESSAGE("configmaps \"x\" not found");
    CHECK(str_is(st.kind, "configmaps") && str_is(st.name, "x") && str_is(st.group, ""));
    status_reset(&st);
    (void)status_not_found(&st, STR("apps"), STR("deployments"), STR("web"));
    CHECK_MESSAGE("deployments.apps \"web\" not found");
    CHECK(str_is(st.group, "apps"));
}

TEST(already_exists)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_already_exists(&st, STR("coordination.k8s.io"), STR("leases"), STR("l"));
    CHECK_MESSAGE("leases.coordination.k8s.io \"l\" already exists");
}

TEST(conflict)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_conflict(&st, STR(""), STR("configmaps"), STR("x"),
                          "the object has been modified; please apply your changes to the latest "
                          "version and try again");
    CHECK_MESSAGE(
        "Operation cannot be fulfilled on configmaps \"x\": the object has been modified; "
        "please apply your changes to the latest version and try again");
    CHECK(status_http(&st) == 409 && str_is(st.kind, "configmaps"));
}

TEST(forbidden_with_and_without_a_name)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_forbidden(&st, STR(""), STR("configmaps"), STR("a"), "no %s", "way");
    CHECK_MESSAGE("configmaps \"a\" is forbidden: no way");
    (void)status_forbidden(&st, STR("apps"), STR("deployments"), STR(""), "no");
    CHECK_MESSAGE("deployments.apps is forbidden: no");
    (void)status_forbidden(&st, STR(""), STR(""), STR(""), "no");
    CHECK_MESSAGE("forbidden: no");
}

TEST(the_strings_are_copies)
{
    scoped_arena a = arena_new();
    char name[] = "mutable";
    struct status st;

    status_init(&st, a);
    (void)status_not_found(&st, STR(""), STR("secrets"), str_of(name));
    name[0] = 'X';
    CHECK(str_is(st.name, "mutable"));
    CHECK_MESSAGE("secrets \"mutable\" not found");
}

TEST(one_wrong_field)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    status_cause(&st, CAUSE_REQUIRED, STR("metadata.name"), STR(""),
                 "name or generateName is required");
    CHECK(status_invalid(&st, STR(""), STR("ConfigMap"), STR("")) == -1);
    CHECK_MESSAGE("ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName "
                  "is required");
    CHECK(str_is(st.kind, "ConfigMap") && st.ncauses == 1);
    CHECK_STR(cause_reason(st.causes->type), "FieldValueRequired");
    CHECK(str_is(st.causes->field, "metadata.name"));
    CHECK(str_is(st.causes->message, "Required value: name or generateName is required"));
}

TEST(bodies_of_field_errors)
{
    static const struct {
        enum cause_type type;
        const char *value, *detail, *reason, *body;
    } want[] = {
        { CAUSE_REQUIRED, "", "", "FieldValueRequired", "Required value" },
        { CAUSE_INVALID, "-1", "must be >= 0", "FieldValueInvalid",
          "Invalid value: -1: must be >= 0" },
        { CAUSE_INVALID, "", "must be a thing", "FieldValueInvalid",
          "Invalid value: must be a thing" },
        { CAUSE_NOT_SUPPORTED, "\"x\"", "supported values: \"a\", \"b\"", "FieldValueNotSupported",
          "Unsupported value: \"x\": supported values: \"a\", \"b\"" },
        { CAUSE_DUPLICATE, "\"a\"", "", "FieldValueDuplicate", "Duplicate value: \"a\"" },
        { CAUSE_FORBIDDEN, "", "not now", "FieldValueForbidden", "Forbidden: not now" },
        { CAUSE_NOT_FOUND, "\"x\"", "", "FieldValueNotFound", "Not found: \"x\"" },
        { CAUSE_TOO_LONG, "", "may not be more than 4 bytes", "FieldValueTooLong",
          "Too long: may not be more than 4 bytes" },
        { CAUSE_TOO_MANY, "5", "must have at most 3 items", "FieldValueTooMany",
          "Too many: 5: must have at most 3 items" },
        { CAUSE_TYPE_INVALID, "\"integer\"", "spec.s in body must be of type string: \"integer\"",
          "FieldValueTypeInvalid",
          "Invalid value: \"integer\": spec.s in body must be of type string: \"integer\"" },
        { CAUSE_TOO_LARGE_VERSION, "", "Too large resource version", "ResourceVersionTooLarge",
          "Too large resource version" },
    };

    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        status_cause(&st, want[i].type, STR("f"), str_of(want[i].value), "%s", want[i].detail);
        CHECK_STR(str_z(a, st.causes->message), want[i].body);
        CHECK_STR(cause_reason(st.causes->type), want[i].reason);
    }
}

TEST(several_wrong_fields_stand_in_brackets_in_order_and_once)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    status_cause(&st, CAUSE_INVALID, STR("spec.a"), STR("1"), "no");
    status_cause(&st, CAUSE_REQUIRED, STR("spec.b[0]"), STR(""), "%s", "");
    status_cause(&st, CAUSE_INVALID, STR("spec.a"), STR("1"), "no");
    CHECK(status_invalid(&st, STR("apps"), STR("Deployment"), STR("web")) == -1);
    CHECK_MESSAGE("Deployment.apps \"web\" is invalid: [spec.a: Invalid value: 1: no, spec.b[0]: "
                  "Required value]");
    CHECK(st.ncauses == 3);
}

TEST(without_causes_nothing_is_invalid)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    CHECK(status_invalid(&st, STR(""), STR("ConfigMap"), STR("x")) == 0);
    CHECK(status_is(&st, REASON_OK));
}

TEST(context_comes_first)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_errno(&st, ENOSPC, "append to %s", "segment 3");
    CHECK_MESSAGE("append to segment 3: No space left on device");
    CHECK(status_is(&st, REASON_INTERNAL));
    CHECK(status_wrap(&st, "commit") == -1);
    CHECK_MESSAGE("commit: append to segment 3: No space left on device");
}

TEST(expired)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    CHECK(status_expired(&st, "too old resource version: %d (%d)", 1, 9) == -1);
    CHECK_MESSAGE("too old resource version: 1 (9)");
    CHECK(status_http(&st) == 410);
}

TEST(what_is_tolerated_is_no_cause)
{
    scoped_arena a = arena_new();
    scoped_arena b = arena_new();
    struct status st, copy;

    status_init(&st, a);
    status_init(&copy, b);
    for (unsigned i = 0; i < STATUS_CAUSES_MAX + 1; i++)
        status_tolerate(&st, CAUSE_INVALID, STR("spec.n"), STR("1"), STR("failed rule: self > 1"));
    CHECK(st.ntolerated == STATUS_CAUSES_MAX);
    CHECK(str_is(cause_text(a, st.tolerated), "spec.n: Invalid value: 1: failed rule: self > 1"));
    CHECK(status_invalid(&st, STR_NONE, STR("Gear"), STR("a")) == 0);
    status_copy(&copy, &st); /* its arena may go before */
    CHECK(!copy.tolerated && copy.ntolerated == 0);
}
