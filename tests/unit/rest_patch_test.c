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
          "error decoding patch: json: cannot unmarshal number into Go struct field "
          "jsonPatchOp.path of type string" },
        { "[{\"op\":true}]",
          "error decoding patch: json: cannot unmarshal bool into Go struct field "
          "jsonPatchOp.op of type string" },
        { "[5]", "error decoding patch: json: cannot unmarshal number into Go value of type "
                 "handlers.jsonPatchOp" },
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

static void check_parts(const char *text, const char *const *parts)
{
    for (; *parts; parts++) {
        text = strstr(text, *parts);
        if (!CHECK(text))
            return;
        text += strlen(*parts);
    }
}

/* As kube-apiserver 1.35 does: what became of the object, and the managers in it. */
TEST(refused_patches_show_the_object)
{
    static const struct {
        enum rest_patch type;
        const char *body, *parts[5];
    } table[] = {
        { PATCH_MERGE,
          "{\"spec\":{\"size\":\"x\"}}",
          { " \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion\\\":\\\"example.com/v1\\\","
            "\\\"kind\\\":\\\"Thing\\\",\\\"metadata\\\":{\\\"creationTimestamp\\\":",
            "\\\"managedFields\\\":[{\\\"apiVersion\\\":\\\"example.com/v1\\\",",
            "\\\"name\\\":\\\"a\\\"",
            "\\\"spec\\\":{\\\"color\\\":\\\"red\\\",\\\"size\\\":\\\"x\\\"}}\": json: cannot "
            "unmarshal string "
            "into Go struct field " } },
        { PATCH_JSON,
          "[{\"op\":\"add\",\"path\":\"/kind\",\"value\":\"Other\"}]",
          { "Invalid value: "
            "\"{\\\"apiVersion\\\":\\\"example.com/v1\\\",\\\"kind\\\":\\\"Other\\\",",
            "\\\"managedFields\\\":",
            "\\\"size\\\":1}}\": no kind \"Other\" is registered for version \"example.com/v1\" in "
            "scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"" } },
        { PATCH_STRATEGIC,
          "{\"spec\":{\"size\":\"x\"}}",
          { "Invalid value: \"map[spec:map[size:x]]\": " } },
    };
    struct rig *r = rig_new();
    const struct json *v;
    char *big = arena_alloc(r->arena, (64 << 10) + 1);

    (void)rig_make(r, "a", "},\"spec\":{\"size\":1,\"color\":\"red\"}}");
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct rig_call *c = patch(r, "a", table[i].body);

        c->req.patch_type = table[i].type;
        check_parts(rig_field(r, rig_ask(c, NULL), "message"), table[i].parts);
    }
    memset(big, 'x', 64 << 10);
    big[64 << 10] = '\0';
    v = rig_ask(
        patch(r, "a",
              arena_printf(r->arena, "{\"kind\":\"Other\",\"spec\":{\"color\":\"%s\"}}", big)),
        NULL);
    CHECK(strlen(rig_field(r, v, "message")) < 32 << 10);
    check_parts(rig_field(r, v, "message"), (const char *const[]){ "...\": no kind", NULL });
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
