/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/write.h"

#include "rest_fixture.h"

/* What becomes of names and namespaces of new objects; the rest is in rest_write. */

TEST(what_is_in_no_namespace_loses_the_one_it_names)
{
    struct rig *r = rig_new();
    const struct json *v;
    int code;

    v = rig_ask(rig_call(r, VERB_CREATE, "", "namespaces", "", "",
                         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}"),
                &code);
    CHECK(code == 201);
    CHECK(!json_path(v, "metadata.namespace"));
    rig_free(r);
}

TEST(who_gives_no_name_may_get_one)
{
    struct rig *r = rig_new();
    const struct json *v;
    int code;

    r->kinds[RIG_THINGS].named_by_uuid = true;
    v = rig_ask(rig_call(r, VERB_CREATE, "", "things", "default", "", "{}"), &code);
    CHECK(code == 201);
    CHECK(strlen(rig_field(r, v, "metadata.name")) == 36);
    rig_free(r);
}

TEST(a_put_makes_what_is_not_there_of_some_kinds)
{
    static const char *const body = "{\"metadata\":{\"name\":\"a\"},\"spec\":{}}";
    struct rig *r = rig_new();
    const struct json *v;
    int code;

    (void)rig_ask(rig_call(r, VERB_UPDATE, "", "things", "default", "a", body), &code);
    CHECK(code == 404);
    r->kinds[RIG_THINGS].update_creates = true;
    (void)rig_ask(rig_call(r, VERB_UPDATE, "", "things", "nowhere", "a", body), &code);
    CHECK(code == 404);
    (void)rig_ask(rig_call(r, VERB_UPDATE, "", "things", "default", "a",
                           "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}"),
                  &code);
    CHECK(code == 409);
    v = rig_ask(rig_call(r, VERB_UPDATE, "", "things", "default", "a", body), &code);
    CHECK(code == 201);
    CHECK(strlen(rig_field(r, v, "metadata.uid")) == 36);
    v = rig_ask(rig_call(r, VERB_UPDATE, "", "things", "default", "a", body), &code);
    CHECK(code == 200);
    rig_free(r);
}
