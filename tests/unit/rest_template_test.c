/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/rows.h"
#include "unit/rest_fixture.h"

/* Default objects: written once, again when they are others. */

static int put(struct rig *r, const char *objects, struct status *st)
{
    const struct json *v = NULL;

    status_init(st, r->arena);
    if (json_parse(r->arena, str_of(objects), NULL, &v, st) < 0)
        return -1;
    return rest_write_templates(r->rest, &r->catalog, v, st);
}

static const char *color(struct rig *r, const char *row)
{
    struct instance root = { .id = INSTANCE_ROOT,
                             .uid = STR("00000000-0000-4000-8000-000000000001"),
                             .created = STR("2020-01-02T03:04:05Z") };
    const struct kind *k = &r->kinds[RIG_THINGS];
    const struct json *tree = NULL;
    struct status st;
    struct row out;
    int found;

    status_init(&st, r->arena);
    epoch_enter();
    found = rows_get(r->rest, r->arena, &root, k, str_of(row), 0, &out, &st);
    if (found == 1)
        CHECK(row_tree(r->arena, k, &out, STR_NONE, &tree, &st) == 0);
    epoch_exit();
    return found == 1 ? str_z(r->arena, json_get_str(tree, "spec.color")) : "none";
}

#define THING(name, color)                                                                 \
    "{\"kind\":\"Thing\",\"apiVersion\":\"example.com/v1\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"n\"},\"spec\":{\"color\":\"" color "\"}}"

TEST(templates_are_written_once_and_again_when_they_change)
{
    struct rig *r = rig_new();
    struct status st;
    uint64_t head;

    CHECK(put(r, "[" THING("a", "red") "," THING("b", "blue") "]", &st) == 0);
    CHECK_STR(color(r, "n/a"), "red");
    CHECK_STR(color(r, "n/b"), "blue");
    head = store_head(r->store);
    CHECK(put(r, "[" THING("a", "red") "," THING("b", "blue") "]", &st) == 0);
    CHECK(store_head(r->store) == head);
    CHECK(put(r, "[" THING("a", "red") "," THING("b", "green") "]", &st) == 0);
    CHECK(store_head(r->store) == head + 1);
    CHECK_STR(color(r, "n/b"), "green");
    /* Who watches does not hear of it, and has to list again. */
    CHECK(store_floor(r->store) == head + 1);
    rig_free(r);
}

TEST(each_template_has_a_revision_of_its_own)
{
    struct rig *r = rig_new();
    uint64_t head = store_head(r->store);
    struct status st;

    CHECK(put(r, "[" THING("a", "red") "," THING("b", "red") "," THING("c", "red") "]", &st) == 0);
    CHECK(store_head(r->store) == head + 3);
    rig_free(r);
}

TEST(a_template_of_no_kind_is_an_error)
{
    struct rig *r = rig_new();
    struct status st;

    CHECK(put(r, "[{\"kind\":\"Nothing\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"}}]",
              &st) < 0);
    CHECK_STR(str_z(r->arena, st.message), "no kind for the default x");
    rig_free(r);
}
