/* SPDX-License-Identifier: Apache-2.0 */

/* The division and spread cases of tests/cases/karmada-cases.json, and a few of the same shape. */

#include "base/banned.h"
#include "facts.h"
#include "federation/sched/sched_internal.h"
#include "tap.h"

static struct arena *arena;

static void refuse(const char *id, const char *what, str got)
{
    tap_failed = 1;
    printf("# %s: %s: %.*s\n", id, what, STR_ARG(got));
}

/* {name: n} of shares against the case's; names with 0 may be missing. */
static void check_counts(const char *id, const struct json *want, const str *names,
                         const int64_t *counts, size_t n)
{
    int64_t sum = 0, expected = 0;

    if (!json_is(want, JSON_OBJECT)) {
        refuse(id, "succeeded", STR(""));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t w = json_int(json_get(want, names[i]), 0);

        sum += counts[i];
        if (w != counts[i])
            refuse(id, "differs",
                   str_printf(arena, "%.*s has %lld", STR_ARG(names[i]), (long long)counts[i]));
    }
    json_for_each_member (m, want)
        expected += json_int(&m->value, 0);
    if (sum != expected)
        refuse(id, "the sum differs", STR(""));
}

static void run_webster(const char *id, const struct json *in, const struct json *out)
{
    const struct json *weights = json_get(in, STR("weights"));
    size_t n = 0, max = json_len(weights);
    struct sched_share *s = arena_array(arena, struct sched_share, max);
    str *names = arena_array(arena, str, max);
    int64_t *counts = arena_array(arena, int64_t, max);

    json_for_each_member (m, weights)
        s[n++] =
            (struct sched_share){ m->name, json_int(&m->value, 0),
                                  json_int(json_get(json_get(in, STR("initial")), m->name), 0) };
    sched_webster(arena, s, n, json_int(json_get(in, STR("seats")), 0),
                  sched_ties_descend(json_get_str(in, "uid")));
    for (size_t i = 0; i < n; i++) {
        names[i] = s[i].name;
        counts[i] = s[i].seats;
    }
    check_counts(id, out, names, counts, n);
}

/* Through the front door: a placement and clusters that serve the kind. */
static void run_static(const char *id, const struct json *in, const struct json *out)
{
    const struct json *names = json_get(in, STR("clusters")),
                      *weights = json_get(in, STR("weights"));
    size_t n = json_len(names), k = 0;
    const struct sched_cluster **clusters = arena_array(arena, const struct sched_cluster *, n);
    struct json_array rules = json_array_new(arena);
    const struct json *placement =
        json_set(arena, &json_empty_object, "replicaScheduling.replicaSchedulingType",
                 json_box(arena, json_of_str(STR("Divided"))));
    struct sched_request r = { .api_version = STR("apps/v1"),
                               .kind = STR("Deployment"),
                               .replicas = json_int(json_get(in, STR("replicas")), 0) };
    struct sched_decision d;
    int64_t *counts = arena_array(arena, int64_t, n);
    str *got = arena_array(arena, str, n);

    json_for_each (rule, weights) {
        const struct json *one = json_set(arena, &json_empty_object, "weight", json_at(rule, 1));

        json_push(&rules, *json_set(arena, one, "targetCluster.clusterNames", json_at(rule, 0)));
    }
    if (weights && weights->type != JSON_NULL)
        placement =
            json_set(arena, placement, "replicaScheduling.weightPreference.staticWeightList",
                     json_array_done(&rules));
    r.placement = placement;
    json_for_each (name, names) {
        str text =
            str_printf(arena,
                       "{\"metadata\":{\"name\":\"%.*s\"},\"status\":{\"apiEnablements\":[{"
                       "\"groupVersion\":\"apps/v1\",\"resources\":[{\"kind\":\"Deployment\"}"
                       "]}]}}",
                       STR_ARG(json_str(name)));
        const struct json *tree;
        struct status st;

        status_init(&st, arena);
        if (json_parse(arena, text, NULL, &tree, &st) == 0)
            clusters[k++] = sched_cluster_parse(arena, tree);
    }
    sched_decide(arena, &r, clusters, k, &d);
    for (size_t i = 0; i < d.nrows; i++) {
        got[i] = d.rows[i].cluster->name;
        counts[i] = d.rows[i].replicas;
    }
    check_counts(id, out, got, counts, d.nrows);
}

static void divide_and_check(const char *id, const struct json *in, const struct json *out,
                             struct sched_holder *h, size_t n)
{
    struct sched_division d = { .replicas = json_int(json_get(in, STR("replicas")), 0),
                                .aggregated = str_is(json_get_str(in, "strategy"), "Aggregated"),
                                .fresh = json_bool(json_get(in, STR("fresh"))) };
    str *names = arena_array(arena, str, n);
    int64_t *counts = arena_array(arena, int64_t, n);

    for (size_t i = 0; i < n; i++)
        h[i].before = json_int(json_get(json_get(in, STR("previous")), h[i].name), 0);
    if (sched_divide(arena, &d, h, n) < 0) {
        if (!str_is(json_str(out), "ERR_UNSCHEDULABLE"))
            refuse(id, "is unschedulable", STR(""));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = h[i].name;
        counts[i] = h[i].after;
    }
    check_counts(id, out, names, counts, n);
}

static void run_dynamic(const char *id, const struct json *in, const struct json *out)
{
    const struct json *list = json_get(in, STR("candidates"));
    struct sched_holder *h = arena_array(arena, struct sched_holder, json_len(list));
    size_t n = 0;

    json_for_each (c, list)
        h[n++] = (struct sched_holder){ .name = json_str(json_at(c, 0)),
                                        .room = json_int(json_at(c, 1), 0) };
    divide_and_check(id, in, out, h, n);
}

static void run_overflow(const char *id, const struct json *in, const struct json *out)
{
    const struct json *tiers = json_get(in, STR("tiers"));
    struct sched_holder h[64];
    size_t n = 0;
    unsigned k = 0;

    json_for_each (tier, tiers) {
        json_for_each (c, tier)
            if (n < 64)
                h[n++] = (struct sched_holder){ .name = json_str(json_at(c, 0)),
                                                .available = json_int(json_at(c, 1), 0),
                                                .room = json_int(json_at(c, 2), 0),
                                                .tier = k };
        k++;
    }
    divide_and_check(id, in, out, h, n);
}

static void check_names(const char *id, const struct json *want, const str *names, size_t n)
{
    bool same = json_is(want, JSON_ARRAY) && json_len(want) == n;

    for (size_t i = 0; same && i < n; i++)
        same = str_eq(json_str(json_at(want, i)), names[i]);
    for (size_t i = 0; !same && i < n; i++)
        refuse(id, "chose", names[i]);
    if (!same)
        refuse(id, "differs", json_text(arena, want));
}

static void check_error(const char *id, const struct json *want, const struct status *st)
{
    str text = str_printf(arena, "ERR:%.*s", STR_ARG(st->message));

    if (!str_eq(json_str(want), text))
        refuse(id, "failed", text);
}

static void run_select_groups(const char *id, const struct json *in, const struct json *out)
{
    const struct json *list = json_get(in, STR("groups"));
    struct sched_group *g = arena_array(arena, struct sched_group, json_len(list));
    str *names = arena_array(arena, str, json_len(list));
    size_t n = 0, chosen;

    json_for_each (group, list)
        g[n++] = (struct sched_group){ .name = json_str(json_at(group, 0)),
                                       .nclusters = (size_t)json_int(json_at(group, 1), 0),
                                       .score = json_int(json_at(group, 2), 0) };
    chosen = sched_select_groups(arena, g, n, json_int(json_get(in, STR("minGroups")), 0),
                                 json_int(json_get(in, STR("maxGroups")), 0),
                                 json_int(json_get(in, STR("minClusters")), 0));
    for (size_t i = 0; i < chosen; i++)
        names[i] = g[i].name;
    check_names(id, out, names, chosen);
}

static size_t read_candidates(const struct json *list, struct sched_candidate *c)
{
    size_t n = 0;

    json_for_each (row, list)
        c[n++] = (struct sched_candidate){ .name = json_get_str(row, "name"),
                                           .score = json_int(json_get(row, STR("score")), 0),
                                           .available = json_int(json_get(row, STR("avail")), 0) };
    return n;
}

static struct sched_spread spread_of(const struct json *in)
{
    return (struct sched_spread){ json_int(json_get(in, STR("minGroups")), 0),
                                  json_int(json_get(in, STR("maxGroups")), 0), true };
}

static void report(const char *id, const struct json *out, int rc, const struct sched_candidate *c,
                   size_t n, const struct status *st)
{
    str *names = arena_array(arena, str, n);

    if (rc < 0) {
        check_error(id, out, st);
        return;
    }
    for (size_t i = 0; i < n; i++)
        names[i] = c[i].name;
    check_names(id, out, names, n);
}

static void run_select_clusters(const char *id, const struct json *in, const struct json *out)
{
    const struct json *list = json_get(in, STR("clusters"));
    struct sched_candidate *c = arena_array(arena, struct sched_candidate, json_len(list));
    size_t n = read_candidates(list, c), chosen = 0;
    struct sched_spread by = spread_of(in);
    struct status st;
    int rc;

    status_init(&st, arena);
    rc = sched_select_clusters(arena, c, n, &by, json_int(json_get(in, STR("needReplicas")), -1),
                               &chosen, &st);
    report(id, out, rc, c, chosen, &st);
}

static void run_select_by_region(const char *id, const struct json *in, const struct json *out)
{
    const struct json *regions = json_get(in, STR("regions"));
    struct sched_group *g = arena_array(arena, struct sched_group, json_len(regions));
    struct sched_spread region = spread_of(json_get(in, STR("region")));
    struct sched_spread cluster = spread_of(json_get(in, STR("cluster")));
    struct sched_candidate chosen[64];
    size_t n = 0, nchosen = 0;
    struct status st;
    int rc;

    status_init(&st, arena);
    json_for_each_member (m, regions) {
        const struct json *list = json_get(&m->value, STR("clusters"));
        struct sched_candidate *c = arena_array(arena, struct sched_candidate, json_len(list));

        g[n++] = (struct sched_group){ .name = m->name,
                                       .nclusters = read_candidates(list, c),
                                       .score = json_int(json_get(&m->value, STR("score")), 0),
                                       .clusters = c };
    }
    rc = sched_select_by_region(arena, g, n, &region, &cluster, chosen, &nchosen, &st);
    report(id, out, rc, chosen, nchosen, &st);
}

static void run_group_score(const char *id, const struct json *in, const struct json *out)
{
    const struct json *list = json_get(in, STR("clusters"));
    struct sched_candidate *c = arena_array(arena, struct sched_candidate, json_len(list));
    size_t n = 0;
    int64_t score;

    json_for_each (row, list)
        c[n++] = (struct sched_candidate){ .score = json_int(json_at(row, 0), 0),
                                           .available = json_int(json_at(row, 1), 0) };
    score = sched_group_score(c, n, str_is(json_get_str(in, "mode"), "Duplicated"),
                              json_int(json_get(in, STR("replicas")), 0),
                              json_int(json_get(in, STR("minGroups")), 0), 0);
    if (score != json_int(out, -1))
        refuse(id, "scores", str_printf(arena, "%lld", (long long)score));
}

/* Runs one case; false: it is none of ours. */
static bool run_case(const struct json *c)
{
    static const struct {
        const char *op;
        void (*run)(const char *id, const struct json *in, const struct json *out);
    } ops[] = {
        { "webster", run_webster },
        { "static_weight", run_static },
        { "dynamic", run_dynamic },
        { "overflow", run_overflow },
        { "select_groups", run_select_groups },
        { "select_clusters", run_select_clusters },
        { "select_by_region", run_select_by_region },
        { "group_score", run_group_score },
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (str_is(json_get_str(c, "op"), ops[i].op)) {
            ops[i].run(str_z(arena, json_get_str(c, "id")), json_get(c, STR("in")),
                       json_get(c, STR("out")));
            return true;
        }
    return false;
}

static size_t run_cases(const struct json *tree)
{
    size_t n = 0;

    json_for_each (c, json_get(tree, STR("cases")))
        n += run_case(c);
    return n;
}

TEST(own_cases)
{
    scoped_arena a = arena_new();
    const struct json *tree = NULL;
    struct status st;
    static const char cases[] =
        "{\"cases\":["
        "{\"id\":\"O1\",\"op\":\"webster\",\"in\":{\"seats\":7,\"weights\":{\"a\":3,\"b\":2,\"c\":"
        "1},"
        "\"initial\":{}},\"out\":{\"a\":4,\"b\":2,\"c\":1}},"
        "{\"id\":\"O2\",\"op\":\"static_weight\",\"in\":{\"replicas\":4,\"clusters\":[\"a\",\"b\"],"
        "\"weights\":[[[\"x\"],9]]},\"out\":{\"a\":2,\"b\":2}},"
        "{\"id\":\"O3\",\"op\":\"dynamic\",\"in\":{\"strategy\":\"DynamicWeight\",\"replicas\":9,"
        "\"candidates\":[[\"m1\",16],[\"m3\",8],[\"m2\",4]]},\"out\":{\"m1\":5,\"m2\":1,\"m3\":3}},"
        "{\"id\":\"O4\",\"op\":\"dynamic\",\"in\":{\"strategy\":\"Aggregated\",\"replicas\":9,"
        "\"candidates\":[[\"m1\",2],[\"m2\",4]]},\"out\":\"ERR_UNSCHEDULABLE\"},"
        "{\"id\":\"O5\",\"op\":\"dynamic\",\"in\":{\"strategy\":\"DynamicWeight\",\"replicas\":3,"
        "\"candidates\":[[\"m1\",16],[\"m3\",8]],\"previous\":{\"m3\":3},\"fresh\":true},"
        "\"out\":{\"m1\":2,\"m3\":1}},"
        "{\"id\":\"O6\",\"op\":\"select_clusters\",\"in\":{\"clusters\":[{\"name\":\"a\",\"score\":"
        "9,"
        "\"avail\":1},{\"name\":\"b\",\"score\":5,\"avail\":1},{\"name\":\"c\",\"score\":1,"
        "\"avail\":"
        "9},{\"name\":\"d\",\"score\":1,\"avail\":9}],\"minGroups\":1,\"maxGroups\":2,"
        "\"needReplicas\":11},\"out\":[\"d\",\"c\"]},"
        "{\"id\":\"O7\",\"op\":\"overflow\",\"in\":{\"strategy\":\"DynamicWeight\",\"replicas\":9,"
        "\"tiers\":[[[\"a\",2,2]],[[\"b\",3,3]]]},\"out\":\"ERR_UNSCHEDULABLE\"}"
        "]}";

    arena = a;
    status_init(&st, a);
    REQUIRE(json_parse(a, str_of(cases), NULL, &tree, &st) == 0);
    CHECK(run_cases(tree) == 7);
}

TEST(karmada_cases)
{
    scoped_arena a = arena_new();

    arena = a;
    CHECK(run_cases(facts_read(a, "cases/karmada-cases.json")) >= 40);
}
