/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/roles.h"
#include "tap.h"

static const char roles[] =
    "[{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"rules\":[{\"verbs\":[\"get\"]},"
    "{\"verbs\":[\"list\"]}]},"
    "{\"metadata\":{\"name\":\"b\",\"labels\":{\"x\":\"2\"}},\"rules\":[{\"verbs\":[\"list\"]},"
    "{\"verbs\":[\"watch\"]}]},"
    "{\"metadata\":{\"name\":\"c\",\"labels\":{\"y\":\"1\"}},\"rules\":null},"
    "{\"metadata\":{\"name\":\"self\",\"labels\":{\"x\":\"1\"}},\"rules\":[{\"verbs\":[\"*\"]}]}]";

/* The rules of the role `self` with these selectors. */
static void check(const char *aggregation, const char *want)
{
    scoped_arena a = arena_new();
    const struct json *all = NULL, *role = NULL, *got;
    struct status st;

    status_init(&st, a);
    REQUIRE(json_parse(a, str_of(roles), NULL, &all, &st) == 0);
    REQUIRE(json_parse(
                a, str_printf(a, "{\"metadata\":{\"name\":\"self\"},\"rules\":[]%s}", aggregation),
                NULL, &role, &st) == 0);
    got = roles_aggregate(a, role, all);
    CHECK_STR(got ? str_z(a, json_text(a, got)) : "none", want);
}

#define SELECT(s) ",\"aggregationRule\":{\"clusterRoleSelectors\":[" s "]}"

TEST(rules_are_collected_in_order_each_once)
{
    check("", "none");
    check(SELECT(""), "[]");
    check(SELECT("{\"matchLabels\":{\"x\":\"1\"}}"),
          "[{\"verbs\":[\"get\"]},{\"verbs\":[\"list\"]}]");
    check(SELECT("{\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"Exists\"}]}"),
          "[{\"verbs\":[\"get\"]},{\"verbs\":[\"list\"]},{\"verbs\":[\"watch\"]}]");
    check(SELECT("{\"matchLabels\":{\"x\":\"2\"}},{\"matchLabels\":{\"x\":\"1\"}}"),
          "[{\"verbs\":[\"list\"]},{\"verbs\":[\"watch\"]},{\"verbs\":[\"get\"]}]");
    check(SELECT("{\"matchLabels\":{\"y\":\"1\"}}"), "[]");
}

TEST(a_selector_that_makes_no_sense_selects_nothing)
{
    check(SELECT("{\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"Near\"}]}"), "[]");
}
