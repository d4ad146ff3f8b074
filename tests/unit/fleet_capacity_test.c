/* SPDX-License-Identifier: Apache-2.0 */

/* Sums over nodes and pods, and the APIs of a member, as a Cluster's status shows them. */

#include "fleet/capacity.h"
#include "fleet/enablements.h"
#include "tap.h"

static const struct json *tree(struct arena *a, const char *text)
{
    const struct json *v = &json_null;
    struct status st;

    status_init(&st, a);
    CHECK(json_parse(a, str_of(text), NULL, &v, &st) == 0);
    return v;
}

#define NODE(name, cpu, ready)                                                              \
    "{\"metadata\":{\"name\":\"" name "\"},\"status\":{\"allocatable\":{\"cpu\":\"" cpu     \
    "\",\"memory\":\"8Gi\",\"pods\":\"2\"},\"conditions\":[{\"type\":\"Ready\",\"status\":" \
    "\"" ready "\"}]}}"
#define POD(node, phase, cpu)                                                                  \
    "{\"spec\":{\"nodeName\":\"" node                                                          \
    "\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}]},\"status\":{\"" \
    "phase\":\"" phase "\"}}"
#define MODELS                                                                    \
    "[{\"grade\":0,\"ranges\":[{\"name\":\"cpu\",\"min\":\"0\",\"max\":\"2\"}]}," \
    "{\"grade\":1,\"ranges\":[{\"name\":\"cpu\",\"min\":\"2\",\"max\":\"4\"}]},"  \
    "{\"grade\":2,\"ranges\":[{\"name\":\"cpu\",\"min\":\"4\",\"max\":\"999999\"}]}]"

TEST(an_empty_member_has_nothing)
{
    scoped_arena a = arena_new();
    struct capacity *r = capacity_new(NULL);

    CHECK_STR(json_text(a, capacity_nodes(r, a)).p, "{}");
    CHECK_STR(json_text(a, capacity_summary(r, a)).p, "{}");
    capacity_free(r);
}

TEST(nodes_and_pods_are_summed)
{
    scoped_arena a = arena_new();
    struct capacity *r = capacity_new(tree(a, MODELS));

    capacity_add_node(r, tree(a, NODE("a", "4", "True")));
    capacity_add_node(r, tree(a, NODE("b", "4", "False")));
    capacity_add_node(r, tree(a, NODE("b", "4", "True"))); /* told twice */
    capacity_add_pod(r, tree(a, POD("a", "Running", "500m")));
    capacity_add_pod(r, tree(a, POD("a", "Succeeded", "500m")));
    capacity_add_pod(r, tree(a, POD("", "Pending", "1500m")));
    CHECK_STR(json_text(a, capacity_nodes(r, a)).p, "{\"totalNum\":2,\"readyNum\":1}");
    CHECK_STR(json_text(a, capacity_summary(r, a)).p,
              "{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"16Gi\",\"pods\":\"4\"},"
              "\"allocating\":{\"cpu\":\"1500m\",\"pods\":\"1\"},"
              "\"allocated\":{\"cpu\":\"500m\",\"pods\":\"1\"},"
              "\"allocatableModelings\":[{\"grade\":0,\"count\":0},{\"grade\":1,\"count\":1},"
              "{\"grade\":2,\"count\":1}]}");
    capacity_free(r);
}

TEST(a_full_node_does_not_hide_the_others)
{
    scoped_arena a = arena_new();
    struct capacity *r = capacity_new(tree(a, MODELS));

    capacity_add_node(r, tree(a, NODE("a", "4", "True")));
    capacity_add_node(r, tree(a, NODE("b", "4", "True")));
    for (int i = 0; i < 2; i++) /* it has two slots */
        capacity_add_pod(r, tree(a, POD("a", "Running", "1m")));
    CHECK(json_int(json_path(json_at(json_path(capacity_summary(r, a), "allocatableModelings"), 2),
                             "count"),
                   -1) == 1);
    capacity_free(r);
}

TEST(apis_come_aggregated_or_one_by_one)
{
    scoped_arena a = arena_new();
    struct enablements e;

    enablements_init(&e, a);
    enablements_add(&e,
                    tree(a, "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{"
                            "\"name\":\"apps\"},\"versions\":[{\"version\":\"v1\",\"resources\":"
                            "[{\"resource\":\"deployments\",\"responseKind\":{\"kind\":"
                            "\"Deployment\"}}]}]}]}"));
    enablements_add(&e, tree(a, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"));
    CHECK(e.nasked == 1);
    CHECK_STR(e.asked[0].p, "/api/v1");
    enablements_add_list(&e, tree(a, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"a/v1\","
                                     "\"resources\":[{\"name\":\"y\",\"kind\":\"Y\"},{\"name\":"
                                     "\"x/status\",\"kind\":\"X\"},{\"name\":\"x\",\"kind\":"
                                     "\"X\"}]}"));
    CHECK(e.complete);
    CHECK_STR(json_text(a, enablements_json(&e, a)).p,
              "[{\"groupVersion\":\"a/v1\",\"resources\":[{\"name\":\"x\",\"kind\":\"X\"},"
              "{\"name\":\"y\",\"kind\":\"Y\"}]},{\"groupVersion\":\"apps/v1\",\"resources\":[{"
              "\"name\":\"deployments\",\"kind\":\"Deployment\"}]}]");
}

TEST(what_is_no_name_is_not_asked_for)
{
    scoped_arena a = arena_new();
    struct enablements e;

    enablements_init(&e, a);
    enablements_add(&e, tree(a, "{\"kind\":\"APIGroupList\",\"groups\":[{\"versions\":[{"
                                "\"groupVersion\":\"a/v1?x=1\"}]}]}"));
    CHECK(e.nasked == 0 && !e.complete);
    enablements_init(&e, a);
    enablements_add(&e, tree(a, "[1]"));
    CHECK(!e.complete);
}
