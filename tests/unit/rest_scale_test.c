/* SPDX-License-Identifier: Apache-2.0 */

/* The fixture's things are scaled by spec.size; their selector is spec.color. */

#include "rest/scale.h"

#include "rest_fixture.h"

#define SCALE(meta, spec)                                                                     \
    "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{\"name\":\"a\"" meta \
    "},\"spec\":{" spec "}}"

static struct rig_call *scale_call(struct rig *r, enum verb verb, const char *name,
                                   const char *body)
{
    struct rig_call *c = rig_call(r, verb, "", "things", "default", name, body);

    c->req.subresource = STR("scale");
    c->req.patch_type = PATCH_MERGE;
    c->req.write.field_manager = STR("scaler");
    return c;
}

static struct rig *rig_with_thing(void)
{
    struct rig *r = rig_new();

    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "",
                     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3,\"color\":\"x=y\"}}"),
              "201 a");
    return r;
}

/* Code, kind, how many, selector; or what went wrong. */
static const char *seen(struct rig_call *c)
{
    struct rig *r = c->rig;
    int code;
    const struct json *v = rig_ask(c, &code);

    if (code != 200)
        return arena_printf(r->arena, "%d %.*s", code, STR_ARG(json_get_str(v, "message")));
    return arena_printf(r->arena, "%.*s %lld %.*s", STR_ARG(json_get_str(v, "kind")),
                        (long long)json_int(json_path(v, "spec.replicas"), 0),
                        STR_ARG(json_get_str(v, "status.selector")));
}

static const char *thing(struct rig *r, const char *path)
{
    return rig_field(r, rig_get(r, "", "things", "default", "a"), path);
}

TEST(a_scale_is_read)
{
    struct rig *r = rig_with_thing();

    CHECK_STR(seen(scale_call(r, VERB_GET, "a", "")), "Scale 3 x=y");
    CHECK_STR(seen(scale_call(r, VERB_GET, "b", "")), "404 things.example.com \"b\" not found");
    rig_free(r);
}

TEST(a_thing_that_does_not_say_how_many)
{
    struct rig *r = rig_with_thing();

    CHECK_STR(rig_do(r, VERB_UPDATE, "", "things", "default", "a",
                     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"x=y\"}}"),
              "200 a");
    CHECK_STR(seen(scale_call(r, VERB_GET, "a", "")),
              "500 Internal error occurred: the spec replicas field \".spec.size\" does not exist");
    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"spec\":{\"replicas\":2}}")), "Scale 2 x=y");
    rig_free(r);
}

TEST(writing_a_scale_changes_the_parent_and_nothing_else)
{
    struct rig *r = rig_with_thing();

    CHECK_STR(seen(scale_call(r, VERB_UPDATE, "a", SCALE("", "\"replicas\":5"))), "Scale 5 x=y");
    CHECK_STR(thing(r, "spec.size"), "5");
    CHECK_STR(thing(r, "spec.color"), "x=y");
    CHECK_STR(thing(r, "metadata.generation"), "2");
    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"spec\":{\"replicas\":6}}")), "Scale 6 x=y");
    CHECK_STR(thing(r, "metadata.generation"), "3");
    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}")),
              "Scale 6 x=y");
    CHECK_STR(thing(r, "metadata.generation"), "3");
    CHECK(!json_path(rig_get(r, "", "things", "default", "a"), "metadata.labels"));
    rig_free(r);
}

TEST(a_scale_has_an_owner)
{
    struct rig *r = rig_with_thing();
    const struct json *managed, *own = NULL;

    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"spec\":{\"replicas\":6}}")), "Scale 6 x=y");
    managed = json_path(rig_get(r, "", "things", "default", "a"), "metadata.managedFields");
    json_for_each (m, managed)
        if (str_is(json_get_str(m, "manager"), "scaler"))
            own = m;
    REQUIRE(own);
    CHECK_STR(rig_field(r, own, "subresource"), "scale");
    CHECK_STR(rig_field(r, own, "apiVersion"), "example.com/v1");
    CHECK(json_path(own, "fieldsV1.f:spec.f:size"));
    CHECK(!json_path(own, "time"));
    rig_free(r);
}

/* Managers and their fields, with ' for ", in the order of the list. */
static const char *owners(struct rig *r)
{
    scoped_buf b = { .max = 1 << 16 };
    char *z;

    json_for_each (e,
                   json_path(rig_get(r, "", "things", "default", "a"), "metadata.managedFields")) {
        buf_printf(&b, "%s%.*s%s=", b.n ? ";" : "", STR_ARG(json_get_str(e, "manager")),
                   json_get(e, STR("time")) ? " at" : "");
        json_print(&b, json_get(e, STR("fieldsV1")));
    }
    z = str_z(r->arena, buf_str(&b));
    for (char *p = z; *p; p++)
        if (*p == '"')
            *p = '\'';
    return z;
}

TEST(nobody_owns_a_scale_of_none)
{
    struct rig *r = rig_with_thing();

    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"spec\":{\"replicas\":0}}")), "Scale 0 x=y");
    CHECK_STR(thing(r, "spec.size"), "0");
    CHECK_STR(owners(r), "unknown at={'f:spec':{'.':{},'f:color':{}}}");
    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"spec\":{\"replicas\":2}}")), "Scale 2 x=y");
    CHECK_STR(owners(r), "unknown at={'f:spec':{'.':{},'f:color':{}}}");
    rig_free(r);
}

TEST(a_scale_that_stays_sets_its_owner_apart)
{
    struct rig *r = rig_with_thing();

    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"spec\":{\"replicas\":3}}")), "Scale 3 x=y");
    CHECK_STR(owners(r), "unknown={'f:spec':{'f:size':{}}};"
                         "unknown at={'f:spec':{'.':{},'f:color':{}}}");
    CHECK_STR(rig_do(r, VERB_UPDATE, "", "things", "default", "a",
                     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3,\"color\":\"x=z\"}}"),
              "200 a");
    CHECK_STR(owners(r), "unknown at={'f:spec':{'.':{},'f:color':{}}}");
    rig_free(r);
}

TEST(a_scale_is_applied)
{
    struct rig *r = rig_with_thing();
    struct rig_call *c = scale_call(r, VERB_PATCH, "a", SCALE("", "\"replicas\":9"));

    c->req.patch_type = PATCH_APPLY;
    CHECK(strstr(seen(c), "409 Apply failed with 1 conflict: conflict with "));
    c = scale_call(r, VERB_PATCH, "a", SCALE("", "\"replicas\":9"));
    c->req.patch_type = PATCH_APPLY;
    CHECK(strstr(seen(c), " using autoscaling/v1: .spec."));
    c = scale_call(r, VERB_PATCH, "a", SCALE("", "\"replicas\":9"));
    c->req.patch_type = PATCH_APPLY;
    c->req.write.force = true;
    CHECK_STR(seen(c), "Scale 9 x=y");
    CHECK_STR(thing(r, "spec.size"), "9");
    c = scale_call(r, VERB_PATCH, "b",
                   "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{"
                   "\"name\":\"b\"},\"spec\":{\"replicas\":1}}");
    c->req.patch_type = PATCH_APPLY;
    CHECK_STR(seen(c), "404 things.example.com \"b\" not found");
    rig_free(r);
}

TEST(bad_scales_are_refused)
{
    struct rig *r = rig_with_thing();

    CHECK_STR(seen(scale_call(r, VERB_PATCH, "a", "{\"spec\":{\"replicas\":-1}}")),
              "422 Scale.autoscaling \"a\" is invalid: spec.replicas: Invalid value: -1: must be "
              "greater than or equal to 0");
    CHECK_STR(rig_answer(scale_call(r, VERB_UPDATE, "a", SCALE(",\"resourceVersion\":\"1\"", ""))),
              "409 Conflict");
    CHECK_STR(rig_answer(scale_call(r, VERB_UPDATE, "a", SCALE(",\"uid\":\"u\"", ""))),
              "409 Conflict");
    CHECK_STR(rig_answer(scale_call(r, VERB_UPDATE, "a", "{\"kind\":\"Thing\"}")),
              "400 BadRequest");
    CHECK_STR(rig_answer(scale_call(r, VERB_UPDATE, "b", SCALE("", ""))), "400 BadRequest");
    CHECK_STR(rig_answer(scale_call(r, VERB_PATCH, "b", "{}")), "404 NotFound");
    CHECK_STR(rig_answer(scale_call(r, VERB_PATCH, "a", "{\"kind\":\"Thing\"}")), "422 Invalid");
    CHECK_STR(thing(r, "spec.size"), "3");
    rig_free(r);
}
