/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/kind.h"
#include "tap.h"

static const struct subresource subs[] = { { .name = STR_INIT("status"), .verbs = VERBS_STATUS } };

static const struct kind things = {
    .group = STR_INIT("example.com"),
    .version = STR_INIT("v1"),
    .kind = STR_INIT("Thing"),
    .plural = STR_INIT("things"),
    .api_version = STR_INIT("example.com/v1"),
    .subresources = subs,
    .nsubresources = 1,
};
static const struct kind core_things = {
    .version = STR_INIT("v1"),
    .kind = STR_INIT("Thing"),
    .plural = STR_INIT("things"),
    .api_version = STR_INIT("v1"),
};
static const struct kind *const list[] = { &core_things, &things };
static const struct catalog catalog = { .kinds = list, .nkinds = 2 };

TEST(verbs_have_the_names_of_rbac)
{
    CHECK_STR(verb_name(VERB_GET), "get");
    CHECK_STR(verb_name(VERB_DELETE_COLLECTION), "deletecollection");
}

TEST(each_verb_has_a_name)
{
    for (unsigned v = 1; v & VERBS_ALL; v <<= 1)
        CHECK(verb_name((enum verb)v)[0] != '\0');
}

TEST(subresources_are_found_by_name)
{
    CHECK(kind_subresource(&things, STR("status")) == &subs[0]);
    CHECK(kind_subresource(&things, STR("scale")) == NULL);
    CHECK(kind_subresource(&core_things, STR("status")) == NULL);
}

TEST(kinds_are_found_by_group_version_and_name)
{
    CHECK(catalog_find(&catalog, STR(""), STR("v1"), STR("things")) == &core_things);
    CHECK(catalog_find(&catalog, STR("example.com"), STR("v1"), STR("things")) == &things);
    CHECK(catalog_find(&catalog, STR("example.com"), STR("v2"), STR("things")) == NULL);
    CHECK(catalog_find(&catalog, STR("example.com"), STR("v1"), STR("thing")) == NULL);
    CHECK(catalog_find_kind(&catalog, STR("example.com/v1"), STR("Thing")) == &things);
    CHECK(catalog_find_kind(&catalog, STR("v1"), STR("Thing")) == &core_things);
    CHECK(catalog_find_kind(&catalog, STR("v1"), STR("things")) == NULL);
}

TEST(a_group_may_be_asked_for_without_version)
{
    CHECK(catalog_has_group(&catalog, STR("example.com"), STR("")));
    CHECK(catalog_has_group(&catalog, STR("example.com"), STR("v1")));
    CHECK(!catalog_has_group(&catalog, STR("example.com"), STR("v2")));
    CHECK(!catalog_has_group(&catalog, STR("example.org"), STR("")));
    CHECK(catalog_has_group(&catalog, STR(""), STR("v1")));
}
