/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/write.h"

#include "rest_fixture.h"

static struct rig_call *patch(struct rig *r, const char *name, const char *body)
{
    struct rig_call *c = rig_call(r, VERB_PATCH, "", "things", "default", name, body);

    c->req.patch_type = PATCH_MERGE;
    return c;
}

static const char *field_of(struct rig *r, const char *name, const char *path)
{
    return rig_field(r, rig_get(r, "", "things", "default", name), path);
}

TEST(patches_of_each_type)
{
    struct rig *r = rig_new();
    struct rig_call *c;

    (void)rig_make(r, "a", "},\"spec\":{\"size\":1,\"color\":\"red\"}}");
    c = rig_call(r, VERB_PATCH, "", "things", "default", "a",
                 "[{\"op\":\"test\",\"path\":\"/spec/size\",\"value\":1},"
                 "{\"op\":\"replace\",\"path\":\"/spec/size\",\"value\":2}]");
    CHECK_STR(rig_answer(c), "200 a");
    c = rig_call(r, VERB_PATCH, "", "things", "default", "a",
                 "[{\"op\":\"test\",\"path\":\"/spec/size\",\"value\":1}]");
    CHECK_STR(rig_answer(c), "422 Invalid");
    CHECK_STR(rig_answer(patch(r, "a", "{\"spec\":{\"color\":null}}")), "200 a");
    CHECK_STR(field_of(r, "a", "spec"), "{\"size\":2}");
    c = patch(r, "a", "{\"spec\":{\"color\":\"blue\"}}");
    c->req.patch_type = PATCH_STRATEGIC;
    CHECK_STR(rig_answer(c), "200 a");
    CHECK_STR(rig_answer(patch(r, "a", "[]")), "400 BadRequest");
    CHECK_STR(rig_answer(patch(r, "a", "{\"spec\":{\"size\":\"x\"}}")), "422 Invalid");
    CHECK_STR(rig_answer(patch(r, "a", "{\"metadata\":{\"uid\":\"x\"}}")), "422 Invalid");
    CHECK_STR(rig_answer(patch(r, "a", "{\"metadata\":{\"name\":\"b\"}}")), "400 BadRequest");
    CHECK_STR(rig_answer(patch(r, "b", "{}")), "404 NotFound");
    CHECK_STR(rig_answer(patch(r, "b", "{")), "404 NotFound");
    CHECK_STR(field_of(r, "a", "spec"), "{\"color\":\"blue\",\"size\":2}");
    rig_free(r);
}

TEST(operations_are_read_before_the_first_is_done)
{
    static const struct {
        const char *body, *message;
    } rows[] = {
        { "[{\"op\":\"remove\",\"path\":\"/x\"},{\"op\":\"add\",\"path\":5}]",
          "error decoding patch: path: must be a string, not a number" },
        { "[{\"op\":true}]", "error decoding patch: op: must be a string, not a boolean" },
        { "[5]", "error decoding patch: an operation must be an object, not a number" },
    };
    struct rig *r = rig_new();

    (void)rig_make(r, "a", "}}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rig_call *c = rig_call(r, VERB_PATCH, "", "things", "default", "a", rows[i].body);
        int code;
        const struct json *v = rig_ask(c, &code);

        CHECK(code == 400);
        CHECK_STR(rig_field(r, v, "message"), rows[i].message);
    }
    rig_free(r);
}

/* What an object is stands in it, but is not a part of it. */
TEST(patches_of_kind_and_version)
{
    static const struct {
        enum rest_patch type;
        const char *body, *answer;
    } table[] = {
        { PATCH_MERGE, "{\"kind\":null,\"apiVersion\":null}", "200 a" },
        { PATCH_MERGE, "{\"kind\":\"Other\"}", "422 Invalid" },
        { PATCH_MERGE, "{\"apiVersion\":\"example.com/v7\"}", "422 Invalid" },
        { PATCH_JSON, "[{\"op\":\"remove\",\"path\":\"/kind\"}]", "200 a" },
        { PATCH_JSON, "null", "200 a" },
        { PATCH_STRATEGIC, "{\"kind\":\"Other\",\"apiVersion\":\"v7\"}", "200 a" },
        { PATCH_STRATEGIC, "null", "200 a" },
    };
    struct rig *r = rig_new();

    (void)rig_make(r, "a", "}}");
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct rig_call *c = patch(r, "a", table[i].body);

        c->req.patch_type = table[i].type;
        CHECK_STR(rig_answer(c), table[i].answer);
    }
    CHECK_STR(field_of(r, "a", "kind"), "Thing");
    rig_free(r);
}

/* The field is the patch, and the object has no name. */
TEST(refused_patches_say_why)
{
    static const struct {
        enum rest_patch type;
        const char *body, *says;
    } table[] = {
        { PATCH_MERGE, "{\"spec\":{\"size\":\"x\"}}",
          "spec.size: must be an integer of 64 bits, not a string" },
        { PATCH_JSON, "[{\"op\":\"add\",\"path\":\"/kind\",\"value\":\"Other\"}]",
          "no kind \"Other\" is registered for version \"example.com/v1\"" },
        { PATCH_STRATEGIC, "{\"spec\":{\"size\":\"x\"}}",
          "spec.size: must be an integer of 64 bits, not a string" },
    };
    struct rig *r = rig_new();

    (void)rig_make(r, "a", "},\"spec\":{\"size\":1,\"color\":\"red\"}}");
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct rig_call *c = patch(r, "a", table[i].body);

        c->req.patch_type = table[i].type;
        CHECK_STR(
            rig_field(r, rig_ask(c, NULL), "message"),
            arena_printf(r->arena, " \"\" is invalid: patch: Invalid value: %s", table[i].says));
    }
    rig_free(r);
}

/* Those of the patch, then what nobody knows in the object, by name. */
TEST(faults_of_patches)
{
    static const struct {
        enum rest_patch type;
        const char *body, *says;
    } table[] = {
        { PATCH_MERGE,
          "{\"spec\":{\"zz\":1,\"size\":1,\"size\":2},\"nope\":1,\"metadata\":{\"nah\":1}}",
          "duplicate field \"spec.size\", unknown field \"metadata.nah\", unknown field "
          "\"nope\", unknown field \"spec.zz\"" },
        { PATCH_JSON,
          "[{\"op\":\"add\",\"path\":\"/spec/size\",\"value\":1,\"value\":2,\"nah\":1},"
          "{\"op\":\"add\",\"path\":\"/spec/zz\",\"value\":1}]",
          "json patch duplicate field \"[0].value\", json patch unknown field \"[0].nah\", "
          "unknown field \"spec.zz\"" },
    };
    struct rig *r = rig_new();

    (void)rig_make(r, "a", "},\"spec\":{\"size\":1}}");
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct rig_call *c = patch(r, "a", table[i].body);
        const char *message;

        c->req.patch_type = table[i].type;
        c->req.write.field_validation = FIELD_STRICT;
        message = rig_field(r, rig_ask(c, NULL), "message");
        REQUIRE(strstr(message, "strict decoding error: "));
        CHECK_STR(strstr(message, "strict decoding error: ") + strlen("strict decoding error: "),
                  table[i].says);
    }
    rig_free(r);
}
