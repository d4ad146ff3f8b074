/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "sim/fit.h"
#include "sim/objects.h"
#include "sim/usage.h"
#include "tap.h"

#define READY                                                                \
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]," \
    "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"3\"}}"

static struct arena *a;

static const char *allows(const char *node, const char *pod)
{
    static const char *const words[] = { "ok",       "not ready", "cordoned", "tainted",
                                         "selector", "pods",      "cpu",      "memory" };

    if (!a)
        a = arena_new();
    return words[fit_allows(a, obj_of(a, node), obj_of(a, pod))];
}

TEST(requests_of_a_pod)
{
    scoped_arena own = arena_new();
    struct fit_amount r = fit_requests(obj_of(
        own, "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":"
             "\"1Mi\"}}},{\"resources\":{\"requests\":{\"cpu\":1}}},{}],\"initContainers\":[{"
             "\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"2Mi\"}}}],"
             "\"overhead\":{\"cpu\":\"1m\"}}}"));

    CHECK(r.cpu_m == 1101);
    CHECK(r.memory == 2 << 20);
    CHECK(r.pods == 1);
}

TEST(what_nodes_and_pods_say)
{
    static const struct {
        const char *node, *pod, *want;
    } rows[] = {
        { "{" READY "}", "{}", "ok" },
        { "{}", "{}", "not ready" },
        { "{\"spec\":{\"unschedulable\":true}," READY "}", "{}", "cordoned" },
        { "{\"spec\":{\"unschedulable\":true}," READY "}",
          "{\"spec\":{\"tolerations\":[{\"operator\":\"Exists\"}]}}", "ok" },
        { "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}"
          "," READY "}",
          "{}", "tainted" },
        { "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}"
          "," READY "}",
          "{\"spec\":{\"tolerations\":[{\"key\":\"k\",\"value\":\"other\"}]}}", "tainted" },
        { "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}"
          "," READY "}",
          "{\"spec\":{\"tolerations\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}"
          "}",
          "ok" },
        { "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}]}," READY "}",
          "{}", "ok" },
        { "{\"metadata\":{\"labels\":{\"a\":\"b\"}}," READY "}",
          "{\"spec\":{\"nodeSelector\":{\"a\":\"c\"}}}", "selector" },
        { "{\"metadata\":{\"labels\":{\"a\":\"b\"}}," READY "}",
          "{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}", "ok" },
        { "{\"metadata\":{\"name\":\"n1\"}," READY "}",
          "{\"spec\":{\"affinity\":{\"nodeAffinity\":{"
          "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
          "\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n2\"]}]}]"
          "}}}}}",
          "selector" },
        { "{\"metadata\":{\"labels\":{\"zone\":\"z2\"}}," READY "}",
          "{\"spec\":{\"affinity\":{\"nodeAffinity\":{"
          "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
          "\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"z1\",\"z2\"]}]"
          "}]}}}}}",
          "ok" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(allows(rows[i].node, rows[i].pod), rows[i].want);
    arena_free(a);
    a = NULL;
}

/* ---- many pods, few nodes ---- */

static const struct json *node_named(struct arena *own, const char *name)
{
    return obj_set_str(own, obj_of(own, "{" READY "}"), "metadata.name", str_of(name));
}

static const char *place(struct usage *u, struct arena *own, const char *pod, const char *cpu)
{
    const struct json *p = obj_of(own, arena_printf(own,
                                                    "{\"spec\":{\"containers\":[{\"resources\":{"
                                                    "\"requests\":{\"cpu\":\"%s\"}}}]}}",
                                                    cpu));
    struct informer_key k = { STR("m1"), STR("default"), str_of(pod) };
    str node, why;

    return usage_place(u, own, &k, p, &node, &why) ? str_z(own, node) : str_z(own, why);
}

TEST(pods_go_to_the_emptiest_node_until_all_are_full)
{
    scoped_arena own = arena_new();
    struct usage *u = usage_new();
    const char *first;
    size_t n;

    CHECK_STR(place(u, own, "p0", "1"), "no nodes available to schedule pods");
    CHECK(usage_node(u, STR("m1"), STR("n1"), node_named(own, "n1")));
    CHECK(!usage_node(u, STR("m1"), STR("n1"), node_named(own, "n1")));
    CHECK(usage_node(u, STR("m1"), STR("n2"), node_named(own, "n2")));
    CHECK(usage_has_node(u, STR("m1"), STR("n1")));
    CHECK(!usage_has_node(u, STR("m2"), STR("n1")));
    first = place(u, own, "p0", "3");
    CHECK(strcmp(place(u, own, "p1", "3"), first) != 0);
    CHECK_STR(place(u, own, "p2", "2"), "0/2 nodes are available: 2 Insufficient cpu.");
    CHECK(usage_waiting(u, own, STR("m1"), 10, &n) != NULL);
    CHECK(n == 1);
    (void)place(u, own, "p3", "100m");
    (void)place(u, own, "p4", "100m");
    (void)place(u, own, "p5", "100m");
    (void)place(u, own, "p6", "100m");
    CHECK_STR(place(u, own, "p7", "100m"), "0/2 nodes are available: 2 Too many pods.");
    usage_free(u);
}

TEST(a_pod_that_ends_leaves_room)
{
    scoped_arena own = arena_new();
    struct usage *u = usage_new();
    struct informer_key k = { STR("m1"), STR("default"), STR("p0") };
    const struct json *pod = obj_of(own, "{\"spec\":{\"nodeName\":\"n1\",\"containers\":[{"
                                         "\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]},"
                                         "\"status\":{\"phase\":\"Running\"}}");

    (void)usage_node(u, STR("m1"), STR("n1"), node_named(own, "n1"));
    CHECK(usage_pod(u, &k, pod, false) == (USAGE_STATE | USAGE_LABELS));
    CHECK(usage_pod(u, &k, pod, false) == 0);
    CHECK_STR(place(u, own, "p1", "2"), "0/1 nodes are available: 1 Insufficient cpu.");
    pod = obj_set_str(own, pod, "status.phase", STR("Succeeded"));
    CHECK(usage_pod(u, &k, pod, false) == (USAGE_STATE | USAGE_FREED));
    CHECK_STR(place(u, own, "p1", "2"), "n1");
    CHECK(usage_pod(u, &k, NULL, true) == (USAGE_STATE | USAGE_LABELS));
    k.name = STR("p1");
    CHECK(usage_pod(u, &k, NULL, true) & USAGE_FREED);
    CHECK_STR(place(u, own, "p2", "4"), "n1");
    /* The node goes; what was on it is still counted until it goes, too. */
    CHECK(usage_node(u, STR("m1"), STR("n1"), NULL));
    CHECK_STR(place(u, own, "p3", "1"), "no nodes available to schedule pods");
    usage_free(u);
}
