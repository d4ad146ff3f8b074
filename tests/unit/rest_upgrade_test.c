/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/upgrade.h"

#include "rest_fixture.h"

static unsigned fixed;

static const struct json *no_red(struct rest *r, struct arena *a, const struct json *obj,
                                 struct status *st)
{
    struct json blue = json_of_str(STR("blue"));

    (void)r;
    (void)st;
    if (!str_is(json_get_str(obj, "spec.color"), "red"))
        return obj;
    fixed++;
    return json_set(a, obj, "spec.color", &blue);
}

static int upgrade(struct rig *r)
{
    const struct kind *things =
        catalog_find(&r->catalog, STR("example.com"), STR("v1"), STR("things"));
    struct status st;

    status_init(&st, r->arena);
    return rest_upgrade(r->rest, things, STR("test"), no_red, &st);
}

static const char *color(struct rig *r, const char *name)
{
    return rig_field(r, rig_get(r, "", "things", "default", name), "spec.color");
}

TEST(what_is_stored_changes_once)
{
    struct rig *r = rig_new();

    fixed = 0;
    CHECK_STR(rig_make(r, "one", "},\"spec\":{\"color\":\"red\"}}"), "201 one");
    CHECK_STR(rig_make(r, "two", "},\"spec\":{\"color\":\"green\"}}"), "201 two");
    CHECK(upgrade(r) == 0 && fixed == 1);
    CHECK_STR(color(r, "one"), "blue");
    CHECK_STR(color(r, "two"), "green");
    /* What somebody writes from now on is meant. */
    CHECK_STR(rig_make(r, "three", "},\"spec\":{\"color\":\"red\"}}"), "201 three");
    CHECK(upgrade(r) == 0 && fixed == 1);
    CHECK_STR(color(r, "three"), "red");
    rig_free(r);
}
