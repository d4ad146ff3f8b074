/* SPDX-License-Identifier: Apache-2.0 */

/* What the splitter decides, and what shards look like: without a server. */

#include "base/banned.h"
#include "federation/controllers/propagation/splitter.h"
#include "object/meta/api_version.h"
#include "tap.h"
#include "unit/parse.h"

/* ---- the plan ---- */

enum { READY = 1, LOST = 2, CORDONED = 4, REFUSES = 8 };

static const struct {
    enum spread_how how;
    int64_t replicas;
    int64_t before[4]; /* -1: has none */
    int flags[4];
    int64_t want[4]; /* -2: not there; -1: there, whole */
} plans[] = {
    { SPREAD_SPLIT, 10, { -1, -1, -1, -1 }, { READY, READY, 0, 0 }, { 5, 5, -2, -2 } },
    { SPREAD_SPLIT, 10, { 5, 5, -1, -1 }, { READY, READY, READY, 0 }, { 4, 3, 3, -2 } },
    { SPREAD_SPLIT, 2, { -1, -1, -1, -1 }, { READY, READY, READY, 0 }, { 1, 1, 0, -2 } },
    { SPREAD_SPLIT, 10, { 4, 3, 3, -1 }, { READY, LOST, READY, 0 }, { 5, -2, 5, -2 } },
    /* not ready, but not for long: it keeps its share */
    { SPREAD_SPLIT, 10, { 5, 5, -1, -1 }, { READY, 0, 0, 0 }, { 5, 5, -2, -2 } },
    /* a cordoned one keeps what it has, and gets no more */
    { SPREAD_SPLIT, 12, { 2, 2, -1, -1 }, { READY | CORDONED, READY, 0, 0 }, { 2, 10, -2, -2 } },
    { SPREAD_SPLIT, 2, { 5, 5, -1, -1 }, { READY | CORDONED, READY, 0, 0 }, { 1, 1, -2, -2 } },
    { SPREAD_SPLIT, 4, { -1, -1, -1, -1 }, { READY | CORDONED, READY, 0, 0 }, { -2, 4, -2, -2 } },
    /* one whose schema does not fit is left out, even if it has some */
    { SPREAD_SPLIT, 4, { 2, 2, -1, -1 }, { READY, READY | REFUSES, 0, 0 }, { 4, -2, -2, -2 } },
    /* nowhere to go */
    { SPREAD_SPLIT, 4, { 2, 2, -1, -1 }, { LOST, LOST, 0, 0 }, { 2, 2, -2, -2 } },
    { SPREAD_SPLIT, 4, { -1, -1, -1, -1 }, { 0, 0, 0, 0 }, { -2, -2, -2, -2 } },
    { SPREAD_ALL, 0, { -1, -1, -1, -1 }, { READY, READY, CORDONED, LOST }, { -1, -1, -2, -2 } },
    { SPREAD_ONE, 0, { -1, -1, -1, -1 }, { READY, READY, READY, 0 }, { -2, -1, -2, -2 } },
    { SPREAD_ONE, 0, { -1, -1, 1, -1 }, { READY, READY, READY, 0 }, { -2, -2, -1, -2 } },
    { SPREAD_ONE, 0, { -1, -1, 1, -1 }, { READY, READY, LOST, 0 }, { -2, -1, -2, -2 } },
};

TEST(plans)
{
    static const char *const names[] = { "a", "b", "c", "d" };

    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        struct split_place p[4];

        for (size_t j = 0; j < 4; j++)
            p[j] = (struct split_place){ .cluster = str_of(names[j]),
                                         .accepts = !(plans[i].flags[j] & REFUSES),
                                         .ready = plans[i].flags[j] & READY,
                                         .lost = plans[i].flags[j] & LOST,
                                         .unschedulable = plans[i].flags[j] & CORDONED,
                                         .has = plans[i].before[j] >= 0,
                                         .before = plans[i].before[j] };
        plan_places(plans[i].how, plans[i].replicas, 1, p, 4);
        for (size_t j = 0; j < 4; j++)
            if (!CHECK((p[j].wanted ? p[j].replicas : -2) == plans[i].want[j]))
                printf("# plan %zu, cluster %s: %d, %lld\n", i, names[j], p[j].wanted,
                       (long long)p[j].replicas);
    }
}

TEST(kinds)
{
    CHECK(spread_how(STR("apps"), STR("Deployment")) == SPREAD_SPLIT);
    CHECK(spread_how(STR("apps"), STR("DaemonSet")) == SPREAD_ALL);
    CHECK(spread_how(STR("batch"), STR("Job")) == SPREAD_ONE);
    CHECK(spread_how(STR("example.com"), STR("Deployment")) == SPREAD_LABEL);
}

TEST(clusters)
{
    scoped_arena a = arena_new();
    const struct json *down = parse(
        a, "{\"metadata\":{\"name\":\"east\"},\"spec\":{\"unschedulable\":true,\"evictAfter\":"
           "\"2026-01-01T01:00:00Z\"},\"status\":{\"conditions\":[{\"type\":\"Ready\","
           "\"status\":\"False\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    int64_t soon = 1000000, at = 1767225600; /* 2026-01-01 */
    struct split_place p = place_of(down, at + 10, 30000, &soon);

    CHECK_STR(str_z(a, p.cluster), "east");
    CHECK(p.unschedulable && !p.ready && !p.lost && !p.silent.n && soon == 20000);
    p = place_of(down, at + 30, 30000, &soon);
    CHECK(p.lost && str_is(p.silent, "2026-01-01T00:00:00Z"));
    p = place_of(json_set(a, down, "status.conditions",
                          parse(a, "[{\"type\":\"Ready\",\"status\":\"True\"}]")),
                 at + 60, 30000, &soon);
    CHECK(p.ready && !p.lost);
    p = place_of(json_set(a, down, "status.conditions",
                          parse(a, "[{\"type\":\"Ready\",\"status\":\"True\"}]")),
                 at + 3600, 30000, &soon);
    CHECK(p.ready && p.lost); /* drained */
}

/* ---- shards ---- */

static const char *const web =
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\","
    "\"namespace\":\"d\",\"uid\":\"u1\",\"generation\":4,\"resourceVersion\":\"9\",\"labels\":{"
    "\"app\":\"web\"},\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"x\"}}"
    ",\"spec\":{\"replicas\":10,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":["
    "{\"name\":\"E\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}},{\"name\":"
    "\"F\",\"value\":\"v\"}]}],\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"conf\"}}]}}},"
    "\"status\":{\"observedGeneration\":3,\"replicas\":7}}";

TEST(a_shard)
{
    scoped_arena a = arena_new();
    const struct json *root = parse(a, web), *s = shard_of(a, root, STR("us-east1"), 5);
    const struct json *want = parse(
        a, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
           "\"web--us-east1\",\"namespace\":\"d\",\"labels\":{\"app\":\"web\","
           "\"workloads.kcp.dev/cluster\":\"us-east1\",\"kcp.dev/owned-by\":\"web\"},"
           "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
           "\"web\",\"uid\":\"u1\",\"controller\":true}]},\"spec\":{\"replicas\":5,\"template\":{"
           "\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"E\",\"valueFrom\":{"
           "\"secretKeyRef\":{\"name\":\"s--us-east1\",\"key\":\"k\"}}},{\"name\":\"F\",\"value\":"
           "\"v\"}]}],\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"conf--us-east1\"}}]}}}"
           "}");

    if (!CHECK(json_equal(s, want)))
        printf("# %.*s\n", STR_ARG(json_text(a, s)));
    CHECK(shard_claim(s, STR("Deployment"), STR("web"), STR("u1")) == SHARD_MINE);
    CHECK(shard_claim(s, STR("Deployment"), STR("web"), STR("u2")) == SHARD_STALE);
    CHECK(shard_claim(s, STR("Deployment"), STR("other"), STR("u1")) == SHARD_OTHERS);
    CHECK(shard_updated(a, s, want) == s);
    CHECK(shard_updated(a, s, shard_of(a, root, STR("us-east1"), 4)) != s);
}

TEST(long_names)
{
    scoped_arena a = arena_new();
    str name = STR("a-name-that-is-so-long-that-with-its-cluster-it-is-too-long");
    str one = shard_name(a, name, STR("cluster-1")), two = shard_name(a, name, STR("cluster-2"));

    CHECK(one.n == 63 && two.n == 63 && !str_eq(one, two));
    CHECK(str_eq(one, shard_name(a, name, STR("cluster-1"))));
    CHECK(shard_owner_label(a, str_printf(a, "%.*s-%.*s", STR_ARG(name), STR_ARG(name))).n == 63);
}

static const struct json *two_shards(struct arena *a, int observed)
{
    return parse(
        a, arena_printf(
               a,
               "[{\"metadata\":{\"generation\":2,\"labels\":{\"workloads.kcp.dev/cluster\":"
               "\"e\"}},\"status\":{\"observedGeneration\":%d,\"replicas\":5,\"readyReplicas\":"
               "5,\"updatedReplicas\":5,\"availableReplicas\":5,\"conditions\":[{\"type\":"
               "\"Available\",\"status\":\"True\",\"reason\":\"R\"}]}},{\"metadata\":{"
               "\"generation\":1,\"labels\":{\"workloads.kcp.dev/cluster\":\"w\"}},\"status\":{"
               "\"observedGeneration\":1,\"replicas\":5,\"readyReplicas\":3,\"updatedReplicas\":"
               "5,\"availableReplicas\":3,\"conditions\":[{\"type\":\"Available\",\"status\":"
               "\"False\",\"reason\":\"Few\"}]}}]",
               observed));
}

TEST(the_sum)
{
    scoped_arena a = arena_new();
    const struct json *root = parse(a, web);
    const struct json *s = shard_sum(a, root, two_shards(a, 1), NULL, NULL, 1767225600);

    REQUIRE(s);
    CHECK(json_int(json_get(s, STR("replicas")), 0) == 10);
    CHECK(json_int(json_get(s, STR("readyReplicas")), 0) == 8);
    CHECK(json_int(json_get(s, STR("observedGeneration")), 0) == 3); /* one has not seen it */
    CHECK_STR(str_z(a, json_get_str(json_at(json_get(s, STR("conditions")), 0), "reason")),
              "MinimumReplicasUnavailable");
    s = shard_sum(a, root, two_shards(a, 2), NULL, NULL, 1767225600);
    CHECK(json_int(json_get(s, STR("observedGeneration")), 0) == 4);
    root = json_set(a, root, "status", s);
    CHECK(!shard_sum(a, root, two_shards(a, 2), NULL, NULL, 1767225700));
    s = shard_sum(a, root, &json_empty_array, NULL, "NoReadyClusters", 1767225700);
    REQUIRE(s);
    CHECK_STR(str_z(a, json_get_str(json_at(json_get(s, STR("conditions")), 1), "reason")),
              "NoReadyClusters");
    root = json_set(a, root, "status", s);
    CHECK(!shard_sum(a, root, &json_empty_array, NULL, "NoReadyClusters", 1767225800));
}

TEST(what_a_silent_cluster_runs_does_not_count_as_ready)
{
    scoped_arena a = arena_new();
    const struct json *root = parse(a, web), *silent = parse(a, "{\"e\":\"2026-01-01T00:00:00Z\"}");
    const struct json *s = shard_sum(a, root, two_shards(a, 2), silent, NULL, 1767225700);

    REQUIRE(s);
    CHECK(json_int(json_get(s, STR("replicas")), 0) == 10);
    CHECK(json_int(json_get(s, STR("readyReplicas")), 0) == 3);
    CHECK_STR(str_z(a, json_get_str(json_at(json_get(s, STR("conditions")), 1), "message")),
              "e (since 2026-01-01T00:00:00Z) is not Ready: what runs there is not known, and "
              "stays unless failover moves it");
}

TEST(versions)
{
    CHECK(api_version_cmp(STR("v2"), STR("v1")) > 0);
    CHECK(api_version_cmp(STR("v1"), STR("v1beta2")) > 0);
    CHECK(api_version_cmp(STR("v1beta2"), STR("v1beta1")) > 0);
    CHECK(api_version_cmp(STR("v1alpha9"), STR("v1beta1")) < 0);
    CHECK(api_version_cmp(STR("x"), STR("v1alpha1")) < 0);
}
