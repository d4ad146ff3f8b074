/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions over four clusters like those of the recorded scenarios (tests/recorded/karmada). */

#include <time.h>

#include "base/banned.h"
#include "federation/sched/sched.h"
#include "tap.h"

static struct arena *arena;
static const struct sched_cluster *fleet[4];

static const struct json *parse(const char *text)
{
    const struct json *v = &json_null;
    struct status st;

    status_init(&st, arena);
    if (json_parse(arena, str_of(text), NULL, &v, &st) < 0)
        printf("# %.*s in %s\n", STR_ARG(st.message), text);
    return v;
}

#define APIS                                                                                       \
    "\"apiEnablements\":[{\"groupVersion\":\"apps/v1\",\"resources\":[{\"name\":\"deployments\","  \
    "\"kind\":\"Deployment\"}]},{\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"configmaps\"," \
    "\"kind\":\"ConfigMap\"}]}]"
#define MODELS                                                                         \
    "\"resourceModels\":[{\"grade\":0,\"ranges\":[{\"name\":\"cpu\",\"min\":\"0\"}]}," \
    "{\"grade\":1,\"ranges\":[{\"name\":\"cpu\",\"min\":\"2\"}]},"                     \
    "{\"grade\":2,\"ranges\":[{\"name\":\"cpu\",\"min\":\"8\"}]}]"

static const char *const members[] = {
    "{\"metadata\":{\"name\":\"m1\",\"labels\":{\"env\":\"prod\",\"size\":\"large\"}},"
    "\"spec\":{\"provider\":\"p1\",\"region\":\"r1\",\"zones\":[\"z1a\",\"z1b\"]," MODELS "},"
    "\"status\":{" APIS ",\"resourceSummary\":{\"allocatable\":{\"cpu\":\"32\",\"pods\":\"220\"},"
    "\"allocatableModelings\":[{\"grade\":0,\"count\":0},{\"grade\":1,\"count\":0},{\"grade\":2,"
    "\"count\":2}]}}}",
    "{\"metadata\":{\"name\":\"m2\",\"labels\":{\"env\":\"prod\",\"size\":\"small\"}},"
    "\"spec\":{\"provider\":\"p1\",\"region\":\"r2\",\"zones\":[\"z2a\"]," MODELS "},"
    "\"status\":{" APIS ",\"resourceSummary\":{\"allocatable\":{\"cpu\":\"8\",\"pods\":\"100\"},"
    "\"allocatableModelings\":[{\"grade\":1,\"count\":2}]}}}",
    "{\"metadata\":{\"name\":\"m3\",\"labels\":{\"env\":\"dev\",\"size\":\"large\"}},"
    "\"spec\":{\"provider\":\"p2\",\"region\":\"r2\",\"zones\":[\"z2b\"]," MODELS "},"
    "\"status\":{" APIS ",\"resourceSummary\":{\"allocatable\":{\"cpu\":\"16\",\"pods\":\"75\"},"
    "\"allocatableModelings\":[{\"grade\":2,\"count\":1}]}}}",
    "{\"metadata\":{\"name\":\"m4\",\"labels\":{\"env\":\"dev\",\"size\":\"small\"}},"
    "\"spec\":{\"provider\":\"p2\",\"region\":\"r3\",\"zones\":[\"z3a\"]},"
    "\"status\":{" APIS ",\"resourceSummary\":{}}}",
};

static void open_fleet(struct arena *a)
{
    arena = a;
    for (size_t i = 0; i < 4; i++)
        fleet[i] = sched_cluster_parse(a, parse(members[i]));
}

static struct sched_request ask(const char *kind, int64_t replicas, const char *placement)
{
    return (struct sched_request){ .placement = parse(placement),
                                   .api_version =
                                       strcmp(kind, "ConfigMap") ? STR("apps/v1") : STR("v1"),
                                   .kind = str_of(kind),
                                   .replicas = replicas };
}

/* "m1=2 m3=1", "m1 m2" where replicas do not count, or "!" and the message. */
static const char *answer(const struct sched_request *r)
{
    struct sched_decision d;
    str text = STR("");

    sched_decide(arena, r, fleet, 4, &d);
    if (d.outcome != SCHED_DONE)
        return str_printf(arena, "!%.*s", STR_ARG(d.message)).p;
    json_for_each (t, sched_targets(arena, &d)) {
        const struct json *n = json_get(t, STR("replicas"));

        text = str_printf(arena, "%.*s%s%.*s", STR_ARG(text), text.n ? " " : "",
                          STR_ARG(json_get_str(t, "name")));
        if (n)
            text = str_printf(arena, "%.*s=%lld", STR_ARG(text), (long long)json_int(n, 0));
    }
    return text.n ? text.p : "";
}

static const char *place(const char *kind, int64_t replicas, const char *placement)
{
    struct sched_request r = ask(kind, replicas, placement);

    return answer(&r);
}

#define DIVIDED "\"replicaScheduling\":{\"replicaSchedulingType\":\"Divided\""
#define DYNAMIC                                            \
    DIVIDED ",\"replicaDivisionPreference\":\"Weighted\"," \
            "\"weightPreference\":{\"dynamicWeight\":\"AvailableReplicas\"}}"
#define AGGREGATED DIVIDED ",\"replicaDivisionPreference\":\"Aggregated\"}"

TEST(affinity_by_names_labels_fields_and_exclusion)
{
    scoped_arena a = arena_new();

    open_fleet(a);
    CHECK_STR(place("ConfigMap", 0, "{}"), "m1 m2 m3 m4");
    CHECK_STR(place("ConfigMap", 0, "{\"clusterAffinity\":{\"clusterNames\":[\"m3\",\"m1\"]}}"),
              "m1 m3");
    CHECK_STR(place("ConfigMap", 0,
                    "{\"clusterAffinity\":{\"labelSelector\":{\"matchLabels\":{\"env\":\"dev\"}},"
                    "\"exclude\":[\"m4\"]}}"),
              "m3");
    CHECK_STR(place("ConfigMap", 0,
                    "{\"clusterAffinity\":{\"fieldSelector\":{\"matchExpressions\":[{\"key\":"
                    "\"region\",\"operator\":\"In\",\"values\":[\"r2\"]},{\"key\":\"provider\","
                    "\"operator\":\"NotIn\",\"values\":[\"p1\"]}]}}}"),
              "m3");
    CHECK_STR(place("ConfigMap", 0,
                    "{\"clusterAffinity\":{\"fieldSelector\":{\"matchExpressions\":[{\"key\":"
                    "\"zone\",\"operator\":\"In\",\"values\":[\"z1b\",\"z3a\"]}]}}}"),
              "m1 m4");
    CHECK_STR(place("ConfigMap", 0, "{\"clusterAffinity\":{\"clusterNames\":[\"nope\"]}}"),
              "!0/4 clusters are available: 4 cluster(s) did not match the placement cluster "
              "affinity constraint.");
    CHECK_STR(place("Lamp", 0, "{}"),
              "!0/4 clusters are available: 4 cluster(s) did not have the API resource.");
}

TEST(taints_keep_new_work_away_and_leave_old)
{
    scoped_arena a = arena_new();
    struct sched_request r;

    open_fleet(a);
    fleet[1] = sched_cluster_parse(
        a, parse("{\"metadata\":{\"name\":\"m2\"},\"spec\":{\"taints\":[{\"key\":\"kg\",\"value\":"
                 "\"a\",\"effect\":\"NoSchedule\"},{\"key\":\"x\",\"effect\":\"PreferNoSchedule\"}"
                 "]},\"status\":{" APIS "}}"));
    r = ask("ConfigMap", 0, "{\"clusterAffinity\":{\"clusterNames\":[\"m1\",\"m2\"]}}");
    CHECK_STR(answer(&r), "m1");
    r.previous = parse("[{\"name\":\"m2\"}]");
    CHECK_STR(answer(&r), "m1 m2");
    r.evictions = parse("[{\"fromCluster\":\"m1\"}]");
    CHECK_STR(answer(&r), "m2");
    CHECK_STR(place("ConfigMap", 0,
                    "{\"clusterAffinity\":{\"clusterNames\":[\"m2\"]},\"clusterTolerations\":[{"
                    "\"key\":\"kg\",\"operator\":\"Equal\",\"value\":\"b\"}]}"),
              "!0/4 clusters are available: 1 cluster(s) had untolerated taint {kg=a:NoSchedule}, "
              "3 cluster(s) did not match the placement cluster affinity constraint.");
    CHECK_STR(place("ConfigMap", 0,
                    "{\"clusterAffinity\":{\"clusterNames\":[\"m2\"]},\"clusterTolerations\":[{"
                    "\"key\":\"kg\",\"operator\":\"Exists\"}]}"),
              "m2");
}

TEST(duplicated_and_divided)
{
    scoped_arena a = arena_new();
    struct sched_request r;

    open_fleet(a);
    CHECK_STR(place("Deployment", 2, "{\"clusterAffinity\":{\"clusterNames\":[\"m1\",\"m3\"]}}"),
              "m1=2 m3=2");
    CHECK_STR(place("Deployment", 0, "{\"clusterAffinity\":{\"clusterNames\":[\"m1\",\"m3\"]}}"),
              "m1 m3");
    CHECK_STR(place("Deployment", 6,
                    "{\"clusterAffinity\":{\"clusterNames\":[\"m1\",\"m2\"]}," DIVIDED "}}"),
              "m1=3 m2=3");
    CHECK_STR(
        place("Deployment", 9,
              "{" DIVIDED ",\"weightPreference\":{\"staticWeightList\":[{\"targetCluster\":{"
              "\"clusterNames\":[\"m1\"]},\"weight\":2},{\"targetCluster\":{\"labelSelector\":{"
              "\"matchLabels\":{\"size\":\"small\"}}},\"weight\":1},{\"targetCluster\":{"
              "\"clusterNames\":[\"m2\",\"m1\"]},\"weight\":6}]}}}"),
        "m1=4 m2=4 m4=1");
    r = ask("Deployment", 0, "{" AGGREGATED "}");
    r.requirements = parse("{}");
    r.previous = parse("[{\"name\":\"m1\",\"replicas\":3}]");
    CHECK_STR(answer(&r), "");
}

TEST(room_decides_dynamic_weight_and_aggregation)
{
    scoped_arena a = arena_new();
    struct sched_request r;

    open_fleet(a);
    r = ask("Deployment", 9, "{" DYNAMIC "}");
    r.requirements = parse("{\"resourceRequest\":{\"cpu\":\"1\"}}");
    CHECK_STR(answer(&r), "m1=5 m2=1 m3=3");
    r.requirements = parse("{\"resourceRequest\":{\"cpu\":\"1500m\"}}"); /* 10, 2, 5 */
    CHECK_STR(answer(&r), "m1=5 m2=1 m3=3");
    r.replicas = 99;
    CHECK_STR(answer(&r),
              "!failed to assign replicas: failed to scale up: Clusters available replicas 17 are "
              "not enough to schedule.");
    r = ask("Deployment", 6, "{" AGGREGATED "}");
    r.requirements = parse("{\"resourceRequest\":{\"cpu\":\"2\"}}");
    CHECK_STR(answer(&r), "m1=6");
    r.replicas = 10;
    r.previous = parse("[{\"name\":\"m3\",\"replicas\":2}]");
    CHECK_STR(answer(&r), "m1=5 m3=5");
    r.replicas = 2;
    CHECK_STR(answer(&r), "m3=2");
    r.replicas = 1;
    CHECK_STR(answer(&r), "m3=1");
    r.fresh = true;
    CHECK_STR(answer(&r), "m1=1");
    r.replicas = 99;
    CHECK(strstr(answer(&r), "failed to assign replicas: failed to do fresh scale: Clusters"));
    /* What no model names is counted by sums. */
    r = ask("Deployment", 1, "{" DYNAMIC "}");
    r.requirements = parse("{\"resourceRequest\":{\"example.com/gpu\":1}}");
    CHECK_STR(answer(&r),
              "!failed to assign replicas: failed to scale up: Clusters available replicas 0 are "
              "not enough to schedule.");
}

#define SPREAD(field, min, max) \
    "{\"spreadByField\":\"" field "\",\"minGroups\":" #min ",\"maxGroups\":" #max "}"

TEST(spread_constraints)
{
    scoped_arena a = arena_new();

    open_fleet(a);
    CHECK_STR(place("Deployment", 1, "{\"spreadConstraints\":[" SPREAD("cluster", 1, 2) "]}"),
              "m1=1 m2=1");
    CHECK_STR(place("ConfigMap", 0, "{\"spreadConstraints\":[" SPREAD("cluster", 2, 3) "]}"),
              "m1 m2 m3");
    CHECK_STR(
        place("Deployment", 1,
              "{\"spreadConstraints\":[" SPREAD("region", 2, 2) "," SPREAD("cluster", 2, 3) "]}"),
        "m1=1 m2=1 m3=1");
    CHECK_STR(
        place("ConfigMap", 0,
              "{\"spreadConstraints\":[" SPREAD("region", 3, 3) "," SPREAD("cluster", 3, 4) "]}"),
        "m1 m2 m3 m4");
    CHECK_STR(
        place("ConfigMap", 0,
              "{\"spreadConstraints\":[" SPREAD("region", 1, 1) "," SPREAD("cluster", 1, 1) "]}"),
        "m2");
    CHECK_STR(place("ConfigMap", 0, "{\"spreadConstraints\":[" SPREAD("cluster", 5, 6) "]}"),
              "!failed to select clusters: the number of feasible clusters is less than "
              "spreadConstraint.MinGroups");
    CHECK_STR(
        place("ConfigMap", 0,
              "{\"spreadConstraints\":[" SPREAD("region", 4, 5) "," SPREAD("cluster", 1, 9) "]}"),
        "!failed to select clusters: the number of feasible region is less than "
        "spreadConstraint.MinGroups");
    CHECK_STR(place("ConfigMap", 0, "{\"spreadConstraints\":[{\"spreadByLabel\":\"x\"}]}"),
              "!failed to select clusters: just support cluster and region spread constraint");
}

#define GROUPS                                                                             \
    "{\"clusterAffinities\":[{\"affinityName\":\"first\",\"clusterNames\":[\"nope\"]},"    \
    "{\"affinityName\":\"second\",\"labelSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}," \
    "{\"affinityName\":\"third\"}]}"

TEST(groups_of_affinities_are_tried_in_order)
{
    scoped_arena a = arena_new();
    struct sched_request r;
    struct sched_decision d;

    open_fleet(a);
    r = ask("ConfigMap", 0, GROUPS);
    sched_decide(a, &r, fleet, 4, &d);
    CHECK(str_is(d.affinity, "second") && d.tried == 1);
    CHECK_STR(answer(&r), "m3 m4");
    r.affinity = STR("third");
    CHECK_STR(answer(&r), "m1 m2 m3 m4");
    r.fresh = true;
    CHECK_STR(answer(&r), "m3 m4");
    r = ask("ConfigMap", 0,
            "{\"clusterAffinities\":[{\"affinityName\":\"a\",\"clusterNames\":[\"x\"]},"
            "{\"affinityName\":\"b\",\"clusterNames\":[\"y\"]}]}");
    sched_decide(a, &r, fleet, 4, &d);
    CHECK(d.outcome == SCHED_NO_FIT && str_is(d.affinity, "a"));
}

TEST(overflow_groups_take_what_is_left)
{
    scoped_arena a = arena_new();
    struct sched_request r;

    open_fleet(a);
    r = ask("Deployment", 20,
            "{\"clusterAffinities\":[{\"affinityName\":\"a\",\"clusterNames\":[\"m3\"],"
            "\"overflowAffinities\":[{\"affinityName\":\"b\",\"clusterNames\":[\"m1\",\"m2\"]}]"
            "}]," DYNAMIC "}");
    r.requirements = parse("{\"resourceRequest\":{\"cpu\":1}}");
    CHECK_STR(answer(&r), "m1=10 m2=2 m3=8");
}

TEST(a_placement_changes_where_it_counts)
{
    scoped_arena a = arena_new();
    const struct json *p, *q;

    arena = a;
    p = parse(GROUPS);
    q = parse("{\"clusterAffinities\":[{\"affinityName\":\"first\",\"clusterNames\":[\"m1\"]},"
              "{\"affinityName\":\"second\",\"labelSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}"
              "]}");
    CHECK(sched_placement_changed(p, NULL, STR("")));
    CHECK(!sched_placement_changed(p, p, STR("")));
    CHECK(!sched_placement_changed(NULL, parse("{}"), STR("")));
    CHECK(!sched_placement_changed(q, p, STR("second")));
    CHECK(sched_placement_changed(q, p, STR("first")));
    CHECK(sched_placement_changed(q, p, STR("third")));
    CHECK(sched_placement_changed(q, p, STR("")));
    CHECK(sched_placement_changed(parse("{\"spreadConstraints\":[]}"), parse("{}"), STR("")));
    CHECK(!sched_placement_changed(parse("{\"workloadAffinity\":{}}"), parse("{}"), STR("")));
}

TEST(a_fingerprint_ignores_heartbeats)
{
    scoped_arena a = arena_new();
    const struct json *m;
    uint64_t before;

    open_fleet(a);
    m = parse(members[0]);
    before = fleet[0]->fingerprint;
    CHECK(sched_cluster_parse(
              a, json_set(a, m, "status.resourceSummary.allocated", parse("{\"pods\":\"7\"}")))
              ->fingerprint == before);
    CHECK(sched_cluster_parse(a, json_set(a, m, "metadata.labels.env", parse("\"dev\"")))
              ->fingerprint != before);
    CHECK(sched_cluster_parse(a, json_set(a, m, "spec.region", parse("\"r9\"")))->fingerprint !=
          before);
    CHECK(sched_cluster_parse(
              a, json_set(a, m, "spec.taints", parse("[{\"key\":\"k\",\"effect\":\"NoExecute\"}]")))
              ->fingerprint != before);
    CHECK(sched_cluster_parse(a, json_set(a, m, "status.apiEnablements", NULL))->fingerprint !=
          before);
}

TEST(explanations_say_why)
{
    scoped_arena a = arena_new();
    struct sched_request r;
    struct sched_decision d;
    const struct json *e;

    open_fleet(a);
    r = ask("Deployment", 9, "{\"clusterAffinity\":{\"exclude\":[\"m2\"]}," DYNAMIC "}");
    r.requirements = parse("{\"resourceRequest\":{\"cpu\":1}}");
    sched_decide(a, &r, fleet, 4, &d);
    CHECK_STR(sched_sentence(a, &r, &d).p,
              "9 replicas are divided by dynamic weight over 2 of 4 clusters: m1 6, m3 3.");
    CHECK_STR(sched_why(a, &r, &d, &d.rows[0]).p, "6 of 9 replicas: room for 16 of 24");
    CHECK_STR(sched_why(a, &r, &d, &d.rows[1]).p, "not what the placement's affinity asks for");
    CHECK_STR(sched_why(a, &r, &d, &d.rows[3]).p, "no room for one replica");
    CHECK_STR(json_text(a, sched_whys(a, &r, &d)).p,
              "{\"m1\":\"6 of 9 replicas: room for 16 of 24\",\"m3\":\"3 of 9 replicas: room for 8 "
              "of 24\"}");
    e = sched_explain(a, &r, &d);
    CHECK(json_len(json_get(e, STR("clusters"))) == 4);
    CHECK(
        str_is(json_get_str(json_at(json_get(e, STR("clusters")), 1), "step"), "ClusterAffinity"));
    CHECK(json_bool(json_get(json_at(json_get(e, STR("clusters")), 0), STR("chosen"))));
}

/* Not a limit, a hint: the figure is in the output. */
TEST(a_decision_over_a_hundred_clusters)
{
    enum { CLUSTERS = 100, ROUNDS = 200 };
    scoped_arena a = arena_new();
    const struct sched_cluster *many[CLUSTERS];
    struct sched_request r;
    struct timespec from, to;
    int64_t sum = 0;

    open_fleet(a);
    for (size_t i = 0; i < CLUSTERS; i++) {
        const struct json *m = parse(members[i % 3]);
        struct json name = json_of_str(str_printf(a, "member-%03zu", i));

        many[i] = sched_cluster_parse(a, json_set(a, m, "metadata.name", json_box(a, name)));
    }
    r = ask("Deployment", 1000, "{" DYNAMIC "}");
    r.requirements = parse("{\"resourceRequest\":{\"cpu\":\"500m\"}}");
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int i = 0; i < ROUNDS; i++) {
        scoped_arena one = arena_new();
        struct sched_decision d;

        sched_decide(one, &r, many, CLUSTERS, &d);
        sum = 0;
        for (size_t k = 0; k < d.nrows; k++)
            sum += d.rows[k].replicas;
        CHECK(d.outcome == SCHED_DONE);
    }
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    CHECK(sum == 1000);
    printf("# %.1f us a decision over %d clusters\n",
           ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) /
               ROUNDS,
           CLUSTERS);
}
