/* SPDX-License-Identifier: Apache-2.0 */

/* The scheduler and the rebalancer against a whole server, with the rights they have there. */

#include "base/metric.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/propagation/scheduler.h"
#include "object/meta/karmada.h"
#include "server_rig.h"

#define CLUSTERS         "/clusters/one/apis/cluster.karmada.io/v1alpha1/clusters"
#define BINDINGS         "/clusters/one/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
#define CLUSTER_BINDINGS "/clusters/one/apis/work.karmada.io/v1alpha2/clusterresourcebindings"
#define REBALANCERS      "/clusters/one/apis/apps.karmada.io/v1alpha1/workloadrebalancers"

struct plant {
    struct rig rig;
    struct scheduler *scheduler;
    struct recorder *recorder;
    struct client *rebalancer;
    struct controller_group *group;
};

static struct client *client_as(struct rig *r, const char *user)
{
    return client_new(server_local_transport(r->host->server, r->host->loop, str_of(user)));
}

static const struct json *must(struct plant *p, const char *method, const char *path,
                               const char *body)
{
    const struct json *v = &json_null;

    if (!CHECK(ask_api(&p->rig, method, path, body, &v) == 200))
        printf("# %s %s: %.*s\n", method, path, STR_ARG(p->rig.st.message));
    return v;
}

/* The server's clock stands still (server_fixture.h), and so does ours: all is in one second. */
static struct clock standing;

static void start(struct plant *p)
{
    struct controller_spec spec = scheduler_controller, other = rebalancer_controller;

    p->recorder = recorder_new(
        &(struct recorder_options){ .client = p->rig.own, .component = STR("default-scheduler") });
    p->scheduler = scheduler_new(p->recorder, &standing);
    spec.arg = p->scheduler;
    other.arg = &standing;
    p->group = controller_group_new(4);
    (void)controller_group_start(p->group, &spec, p->rig.own);
    (void)controller_group_start(p->group, &other, p->rebalancer);
}

static void free_recorder(void *arg)
{
    recorder_free(arg);
}

static void stop(struct plant *p)
{
    controller_group_free(p->group);
    loop_call_wait(p->rig.host->loop, free_recorder, p->recorder);
    scheduler_free(p->scheduler);
}

/* region r1: m1; r2: m2, m3. */
static void make_cluster(struct plant *p, const char *name, const char *region, const char *env,
                         int cpu)
{
    struct arena *a = p->rig.arena;

    (void)must(p, "POST", CLUSTERS,
               arena_printf(a,
                            "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"env\":\"%s\"}},"
                            "\"spec\":{\"syncMode\":\"Push\",\"region\":\"%s\"}}",
                            name, env, region));
    (void)must(p, "PATCH", arena_printf(a, CLUSTERS "/%s/status", name),
               arena_printf(
                   a,
                   "{\"status\":{\"apiEnablements\":[{\"groupVersion\":\"apps/v1\",\"resources\":[{"
                   "\"name\":\"deployments\",\"kind\":\"Deployment\"}]},{\"groupVersion\":\"v1\","
                   "\"resources\":[{\"name\":\"configmaps\",\"kind\":\"ConfigMap\"}]}],"
                   "\"resourceSummary\":{\"allocatable\":{\"cpu\":\"%d\",\"pods\":\"100\"}}}}",
                   cpu));
}

static void open_plant(struct plant *p)
{
    *p = (struct plant){ 0 };
    clock_jump(&standing, 1577934245LL * 1000000);
    rig_open(&p->rig);
    p->rig.own = client_as(&p->rig, "system:kairship:scheduler");
    p->rebalancer = client_as(&p->rig, "system:kairship:rebalancer");
    (void)must(p, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
               "{\"metadata\":{\"name\":\"one\"}}");
    make_cluster(p, "m1", "r1", "prod", 16);
    make_cluster(p, "m2", "r2", "prod", 4);
    make_cluster(p, "m3", "r2", "dev", 8);
    start(p);
}

static void free_client(void *arg)
{
    client_free(arg);
}

static void close_plant(struct plant *p)
{
    stop(p);
    loop_call_wait(p->rig.host->loop, free_client, p->rebalancer);
    rig_close(&p->rig);
}

static void make_binding(struct plant *p, const char *name, const char *kind, int replicas,
                         const char *placement)
{
    bool map = strcmp(kind, "ConfigMap") == 0;

    (void)must(p, "POST", BINDINGS,
               arena_printf(
                   p->rig.arena,
                   "{\"metadata\":{\"name\":\"%s\",\"labels\":{"
                   "\"propagationpolicy.karmada.io/permanent-id\":\"x\"}},\"spec\":{\"resource\":{"
                   "\"apiVersion\":\"%s\",\"kind\":\"%s\",\"namespace\":\"default\",\"name\":"
                   "\"%s\",\"uid\":\"u\"},\"replicas\":%d,%s\"placement\":%s}}",
                   name, map ? "v1" : "apps/v1", kind, name, replicas,
                   map ? "" : "\"replicaRequirements\":{\"resourceRequest\":{\"cpu\":\"1\"}},",
                   placement));
}

static void patch(struct plant *p, const char *name, const char *body)
{
    (void)must(p, "PATCH", arena_printf(p->rig.arena, BINDINGS "/%s", name), body);
}

static str scheduled(const struct json *b, const char *field)
{
    json_for_each (c, json_path(b, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Scheduled"))
            return json_get_str(c, field);
    return STR_NONE;
}

/* "m1=5 m3=3 Success", as it is now. */
static const char *state(struct plant *p, const char *path)
{
    struct arena *a = p->rig.arena;
    const struct json *b = NULL;
    str text = STR("");

    if (ask_api(&p->rig, "GET", path, "", &b) != 200)
        return "gone";
    json_for_each (t, json_path(b, "spec.clusters"))
        text = str_printf(a, "%.*s%.*s=%lld ", STR_ARG(text), STR_ARG(json_get_str(t, "name")),
                          (long long)json_int(json_get(t, STR("replicas")), 0));
    return str_printf(a, "%.*s%.*s", STR_ARG(text), STR_ARG(scheduled(b, "reason"))).p;
}

static bool comes_to_path(struct plant *p, const char *path, const char *want)
{
    for (int i = 0; i < 1000; i++) {
        if (strcmp(state(p, path), want) == 0)
            return true;
        (void)usleep(10000);
    }
    printf("# %s: got %s, want %s\n", path, state(p, path), want);
    return false;
}

static bool comes_to(struct plant *p, const char *name, const char *want)
{
    return comes_to_path(p, arena_printf(p->rig.arena, BINDINGS "/%s", name), want);
}

static const struct json *get(struct plant *p, const char *name)
{
    return must(p, "GET", arena_printf(p->rig.arena, BINDINGS "/%s", name), "");
}

/* Nothing is written any more: the same revision for a while. */
static bool rests(struct plant *p, const char *name)
{
    for (int i = 0; i < 50; i++) {
        str before = str_dup(p->rig.arena, json_get_str(get(p, name), "metadata.resourceVersion"));

        (void)usleep(100000);
        if (str_eq(before, json_get_str(get(p, name), "metadata.resourceVersion")))
            return true;
    }
    return false;
}

#define DYNAMIC                                                                             \
    "\"replicaScheduling\":{\"replicaSchedulingType\":\"Divided\","                         \
    "\"replicaDivisionPreference\":\"Weighted\",\"weightPreference\":{\"dynamicWeight\":\"" \
    "AvailableReplicas\"}}"

TEST(a_binding_is_scheduled_and_follows_its_placement)
{
    struct plant p;
    const struct json *b;

    open_plant(&p);
    make_binding(&p, "conf", "ConfigMap", 0, "{\"clusterAffinity\":{\"clusterNames\":[\"nope\"]}}");
    CHECK(comes_to(&p, "conf", "NoClusterFit"));
    b = get(&p, "conf");
    CHECK_STR(str_z(p.rig.arena, scheduled(b, "message")),
              "0/3 clusters are available: 3 cluster(s) did not match the placement cluster "
              "affinity constraint.");
    CHECK(!json_path(b, "status.schedulerObservedGeneration"));
    CHECK(rests(&p, "conf"));
    patch(&p, "conf",
          "{\"spec\":{\"placement\":{\"clusterAffinity\":{\"clusterNames\":[\"m3\"]}}}}");
    CHECK(comes_to(&p, "conf", "m3=0 Success"));
    CHECK(rests(&p, "conf"));
    b = get(&p, "conf");
    CHECK_STR(str_z(p.rig.arena, scheduled(b, "message")),
              "Binding has been scheduled successfully.");
    CHECK(json_int(json_path(b, "status.schedulerObservedGeneration"), 0) ==
          json_int(json_path(b, "metadata.generation"), -1));
    CHECK(json_get_str(b, "status.lastScheduledTime").n == 20);
    patch(&p, "conf",
          "{\"spec\":{\"placement\":{\"clusterAffinity\":{\"clusterNames\":[\"x\"]}}}}");
    CHECK(comes_to(&p, "conf", "m3=0 NoClusterFit")); /* it stays; Karmada takes it away */
    CHECK(rests(&p, "conf"));
    close_plant(&p);
}

static int64_t replicas_in(struct plant *p, const char *cluster)
{
    int64_t n = 0;

    json_for_each (b, json_get(must(p, "GET", BINDINGS, ""), STR("items")))
        json_for_each (t, json_path(b, "spec.clusters"))
            if (str_is(json_get_str(t, "name"), cluster))
                n += json_int(json_get(t, STR("replicas")), 0);
    return n;
}

static void tell_usage(struct plant *p, const char *cluster, int cpu)
{
    (void)must(p, "PATCH", arena_printf(p->rig.arena, CLUSTERS "/%s/status", cluster),
               arena_printf(p->rig.arena,
                            "{\"status\":{\"resourceSummary\":{\"allocated\":{\"cpu\":\"%d\","
                            "\"pods\":\"%d\"}}}}",
                            cpu, cpu));
}

/* The end of a binding and the next one may reach two workers in any order: who finds no room is
 * looked at again after 15 s, so this waits longer. */
static bool is_decided(struct plant *p, const char *name, const char *reason)
{
    for (int i = 0; i < 2500; i++) {
        if (str_is(scheduled(get(p, name), "reason"), reason))
            return true;
        (void)usleep(10000);
    }
    printf("# %s: %s\n", name, state(p, arena_printf(p->rig.arena, BINDINGS "/%s", name)));
    return false;
}

/* 28 places, and members tell nothing while 14 bindings of two replicas are decided at once. */
TEST(room_is_given_out_once)
{
    static const char *const names[] = { "m1", "m2", "m3" };
    static const int places[] = { 16, 4, 8 };
    struct plant p;

    open_plant(&p);
    stop(&p); /* all of them wait */
    for (int i = 0; i < 14; i++)
        make_binding(&p, arena_printf(p.rig.arena, "web%d", i), "Deployment", 2, "{" DYNAMIC "}");
    start(&p);
    for (int i = 0; i < 14; i++)
        CHECK(is_decided(&p, arena_printf(p.rig.arena, "web%d", i), "Success"));
    for (int i = 0; i < 3; i++)
        CHECK(replicas_in(&p, names[i]) == places[i]);
    make_binding(&p, "more", "Deployment", 2, "{" DYNAMIC "}");
    CHECK(is_decided(&p, "more", "Unschedulable"));
    /* What has gone needs no room. */
    (void)must(&p, "DELETE", BINDINGS "/web0", "");
    make_binding(&p, "next", "Deployment", 2, "{" DYNAMIC "}");
    CHECK(is_decided(&p, "next", "Success"));
    /* What members have told is theirs to tell. */
    for (int i = 0; i < 3; i++)
        tell_usage(&p, names[i], places[i]);
    make_binding(&p, "full", "Deployment", 2, "{" DYNAMIC "}");
    CHECK(is_decided(&p, "full", "Unschedulable"));
    tell_usage(&p, "m1", 0);
    make_binding(&p, "again", "Deployment", 16, "{" DYNAMIC "}");
    CHECK(comes_to(&p, "again", "m1=16 Success"));
    /* What does not come in a minute does not come. */
    make_binding(&p, "late", "Deployment", 3, "{" DYNAMIC "}");
    CHECK(is_decided(&p, "late", "Unschedulable"));
    clock_advance(&standing, 60000);
    make_binding(&p, "later", "Deployment", 3, "{" DYNAMIC "}");
    CHECK(comes_to(&p, "later", "m1=3 Success"));
    close_plant(&p);
}

static void tell_ready(struct plant *p, const char *name, int m1, int m2, int m3)
{
    (void)must(
        p, "PATCH", arena_printf(p->rig.arena, BINDINGS "/%s/status", name),
        arena_printf(p->rig.arena,
                     "{\"status\":{\"aggregatedStatus\":[{\"clusterName\":\"m1\",\"status\":{"
                     "\"readyReplicas\":%d}},{\"clusterName\":\"m2\",\"status\":{"
                     "\"readyReplicas\":%d}},{\"clusterName\":\"m3\",\"status\":{"
                     "\"readyReplicas\":%d}}]}}",
                     m1, m2, m3));
}

/* A change of a cluster makes the scheduler look at all. */
static void wake(struct plant *p, const char *value)
{
    (void)must(p, "PATCH", CLUSTERS "/m3",
               arena_printf(p->rig.arena, "{\"metadata\":{\"labels\":{\"wake\":\"%s\"}}}", value));
}

#define READY                                                                                    \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\"," \
    "\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]"

/* m1 fills up with what others run there before two of the four replicas have started. */
TEST(what_does_not_fit_is_placed_again_and_what_runs_stays)
{
    struct plant p;

    open_plant(&p);
    make_binding(&p, "web", "Deployment", 7, "{" DYNAMIC "}");
    CHECK(comes_to(&p, "web", "m1=4 m2=1 m3=2 Success"));
    tell_ready(&p, "web", 2, 1, 1); /* m3 has room: it is only slow */
    clock_jump(&standing, (1577934245LL + 61) * 1000000);
    tell_usage(&p, "m1", 16);
    wake(&p, "full");
    CHECK(rests(&p, "web")); /* none waits for a node, so they are no misfits */
    CHECK_STR(state(&p, BINDINGS "/web"), "m1=4 m2=1 m3=2 Success");
    (void)must(&p, "PATCH", CLUSTERS "/m1/status",
               "{\"status\":{" READY ",\"resourceSummary\":{\"allocating\":{\"cpu\":\"2\",\"pods\":"
               "\"2\"}}}}");
    wake(&p, "waiting");
    CHECK(comes_to(&p, "web", "m1=2 m2=2 m3=3 Success"));
    CHECK(rests(&p, "web"));
    close_plant(&p);
}

static bool event_seen(struct plant *p, const char *kind, const char *reason, const char *message)
{
    for (int i = 0; i < 500; i++) {
        const struct json *list =
            must(p, "GET", "/clusters/one/api/v1/namespaces/default/events", "");

        json_for_each (e, json_get(list, STR("items")))
            if (str_is(json_get_str(e, "involvedObject.kind"), kind) &&
                str_is(json_get_str(e, "reason"), reason) &&
                str_is(json_get_str(e, "message"), message))
                return true;
        (void)usleep(10000);
    }
    return false;
}

/* The value at /metrics. */
static int64_t metric(const char *name)
{
    struct arena *a = arena_new();
    struct buf text;
    int64_t n = -1;

    buf_init(&text, 1 << 20);
    metric_print(&text);
    for (str rest = buf_str(&text), line; str_split(&rest, '\n', &line);)
        if (str_starts(line, str_printf(a, "%s ", name)))
            (void)str_to_i64(str_from(line, strlen(name) + 1), &n);
    buf_release(&text);
    arena_free(a);
    return n;
}

/* A decision that fails, or has no result, is no order to leave a cluster. */
TEST(only_a_decision_takes_a_cluster_away)
{
    static const char *const placements[] = {
        "\"clusterAffinity\":{\"clusterNames\":[\"nope\"]}",
        "\"spreadConstraints\":[{\"spreadByField\":\"cluster\",\"minGroups\":2,\"maxGroups\":0}]",
        "\"spreadConstraints\":[{\"spreadByField\":\"cluster\",\"minGroups\":9,\"maxGroups\":9}]",
        "\"spreadConstraints\":[{\"spreadByField\":\"zone\",\"minGroups\":1,\"maxGroups\":1}]",
    };
    static const char *const reasons[] = { "NoClusterFit", "SchedulerError", "SchedulerError",
                                           "NoClusterFit" };
    int64_t kept = metric("kairship_scheduling_kept_total");
    struct plant p;

    open_plant(&p);
    for (size_t i = 0; i < sizeof(placements) / sizeof(*placements); i++) {
        char *name = arena_printf(p.rig.arena, "web%zu", i);

        make_binding(&p, name, "Deployment", 7, "{" DYNAMIC "}");
        CHECK(comes_to(&p, name, "m1=4 m2=1 m3=2 Success"));
        patch(&p, name,
              arena_printf(p.rig.arena, "{\"spec\":{\"placement\":{%s}}}", placements[i]));
        CHECK(comes_to(&p, name, arena_printf(p.rig.arena, "m1=4 m2=1 m3=2 %s", reasons[i])));
        CHECK(rests(&p, name));
        CHECK_STR(state(&p, arena_printf(p.rig.arena, BINDINGS "/%s", name)),
                  arena_printf(p.rig.arena, "m1=4 m2=1 m3=2 %s", reasons[i]));
        CHECK(event_seen(&p, "ResourceBinding", "ScheduleBindingFailed",
                         str_z(p.rig.arena, scheduled(get(&p, name), "message"))));
        CHECK(metric("kairship_scheduling_kept_total") > kept);
        kept = metric("kairship_scheduling_kept_total");
    }
    (void)must(&p, "DELETE", CLUSTERS "/m3", "");
    for (size_t i = 0; i < sizeof(placements) / sizeof(*placements); i++)
        CHECK(comes_to(&p, arena_printf(p.rig.arena, "web%zu", i),
                       arena_printf(p.rig.arena, "m1=4 m2=1 %s", reasons[i])));
    close_plant(&p);
}

TEST(replicas_are_divided_and_scaled)
{
    struct plant p;

    open_plant(&p);
    make_binding(&p, "web", "Deployment", 7, "{" DYNAMIC "}");
    CHECK(comes_to(&p, "web", "m1=4 m2=1 m3=2 Success"));
    CHECK(strstr(str_z(p.rig.arena, json_text(p.rig.arena, get(&p, "web"))),
                 "4 of 7 replicas: room for 16 of 28"));
    patch(&p, "web", "{\"spec\":{\"replicas\":99}}");
    CHECK(comes_to(&p, "web", "m1=4 m2=1 m3=2 Unschedulable"));
    patch(&p, "web", "{\"spec\":{\"replicas\":14}}");
    CHECK(comes_to(&p, "web", "m1=8 m2=2 m3=4 Success"));
    patch(&p, "web", "{\"spec\":{\"replicas\":1}}");
    CHECK(comes_to(&p, "web", "m1=1 Success"));
    make_binding(
        &p, "few", "ConfigMap", 0,
        "{\"spreadConstraints\":[{\"spreadByField\":\"cluster\",\"minGroups\":5,\"maxGroups\":6}]"
        "}");
    CHECK(comes_to(&p, "few", "SchedulerError"));
    CHECK_STR(str_z(p.rig.arena, scheduled(get(&p, "few"), "message")),
              "failed to select clusters: the number of feasible clusters is less than "
              "spreadConstraint.MinGroups");
    close_plant(&p);
}

TEST(clusters_that_change_move_what_they_concern)
{
    struct plant p;
    uint64_t decided, before, written;

    open_plant(&p);
    make_binding(&p, "conf", "ConfigMap", 0,
                 "{\"clusterAffinity\":{\"labelSelector\":{\"matchLabels\":{\"env\":\"prod\"}}}}");
    CHECK(comes_to(&p, "conf", "m1=0 m2=0 Success"));
    (void)must(&p, "PATCH", CLUSTERS "/m3", "{\"metadata\":{\"labels\":{\"env\":\"prod\"}}}");
    CHECK(comes_to(&p, "conf", "m1=0 m2=0 m3=0 Success"));
    (void)must(&p, "PATCH", CLUSTERS "/m2", "{\"metadata\":{\"labels\":{\"env\":\"dev\"}}}");
    CHECK(comes_to(&p, "conf", "m1=0 m3=0 Success"));
    (void)must(&p, "PATCH", CLUSTERS "/m1",
               "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}}");
    make_binding(&p, "new", "ConfigMap", 0,
                 "{\"clusterAffinity\":{\"labelSelector\":{\"matchLabels\":{\"env\":\"prod\"}}}}");
    CHECK(comes_to(&p, "new", "m3=0 Success"));
    CHECK(comes_to(&p, "conf", "m1=0 m3=0 Success")); /* what it has stays */
    (void)must(&p, "PATCH", CLUSTERS "/m1", "{\"spec\":{\"taints\":null}}");
    CHECK(comes_to(&p, "new", "m1=0 m3=0 Success"));
    CHECK(rests(&p, "conf") && rests(&p, "new"));
    scheduler_counts(p.scheduler, &before, &written);
    for (int i = 0; i < 20; i++)
        (void)must(&p, "PATCH", CLUSTERS "/m1/status",
                   arena_printf(p.rig.arena,
                                "{\"status\":{\"resourceSummary\":{\"allocated\":{\"pods\":\"%d\"}}"
                                "}}",
                                i));
    make_binding(&p, "last", "ConfigMap", 0, "{\"clusterAffinity\":{\"clusterNames\":[\"m2\"]}}");
    CHECK(comes_to(&p, "last", "m2=0 Success") && rests(&p, "last"));
    scheduler_counts(p.scheduler, &decided, &written);
    CHECK(decided - before < 10); /* of the last binding only, not of 20 heartbeats */
    (void)must(&p, "DELETE", CLUSTERS "/m3", "");
    CHECK(comes_to(&p, "new", "m1=0 Success"));
    close_plant(&p);
}

TEST(what_is_not_ours_is_left_alone)
{
    struct plant p;

    open_plant(&p);
    (void)must(
        &p, "POST", BINDINGS,
        "{\"metadata\":{\"name\":\"attached\"},\"spec\":{\"resource\":{\"apiVersion\":\"v1\","
        "\"kind\":\"ConfigMap\",\"name\":\"a\",\"namespace\":\"default\"}}}");
    make_binding(&p, "other", "ConfigMap", 0, "{}");
    patch(&p, "other", "{\"spec\":{\"schedulerName\":\"somebody\",\"clusters\":null}}");
    make_binding(&p, "held", "Deployment", 3, "{" DYNAMIC "}");
    CHECK(comes_to(&p, "held", "m1=2 m3=1 Success"));
    patch(&p, "held", "{\"spec\":{\"suspension\":{\"scheduling\":true}}}");
    patch(&p, "held", "{\"spec\":{\"replicas\":9}}");
    make_binding(&p, "witness", "ConfigMap", 0, "{}");
    CHECK(comes_to(&p, "witness", "m1=0 m2=0 m3=0 Success"));
    CHECK_STR(state(&p, BINDINGS "/attached"), "");
    CHECK_STR(state(&p, BINDINGS "/held"), "m1=2 m3=1 Success");
    patch(&p, "held", "{\"spec\":{\"suspension\":null}}");
    CHECK(comes_to(&p, "held", "m1=5 m2=1 m3=3 Success"));
    (void)must(
        &p, "POST", CLUSTER_BINDINGS,
        "{\"metadata\":{\"name\":\"wide\",\"labels\":{"
        "\"clusterpropagationpolicy.karmada.io/permanent-id\":\"x\"}},\"spec\":{\"resource\":"
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"w\"},\"placement\":{}}}");
    CHECK(comes_to_path(&p, CLUSTER_BINDINGS "/wide", "m1=0 m2=0 m3=0 Success"));
    close_plant(&p);
}

TEST(what_lost_its_policy_stays_but_not_in_a_cluster_that_leaves)
{
    struct plant p;

    open_plant(&p);
    make_binding(&p, "left", "ConfigMap", 0, "{}");
    CHECK(comes_to(&p, "left", "m1=0 m2=0 m3=0 Success") && rests(&p, "left"));
    patch(&p, "left", "{\"metadata\":{\"labels\":{\"" KARMADA_PP_ID "\":null}}}");
    patch(&p, "left",
          "{\"spec\":{\"placement\":{\"clusterAffinity\":{\"clusterNames\":[\"m1\"]}}}}");
    make_binding(&p, "witness", "ConfigMap", 0, "{}");
    CHECK(comes_to(&p, "witness", "m1=0 m2=0 m3=0 Success"));
    CHECK_STR(state(&p, BINDINGS "/left"), "m1=0 m2=0 m3=0 Success");
    (void)must(&p, "DELETE", CLUSTERS "/m3", "");
    CHECK(comes_to(&p, "left", "m1=0 m2=0 Success"));
    close_plant(&p);
}

/* What an eviction does: the cluster leaves the result, and a task says that it is being emptied.
 */
TEST(what_is_evicted_goes_elsewhere)
{
    struct plant p;

    open_plant(&p);
    make_binding(&p, "web", "Deployment", 7, "{" DYNAMIC "}");
    make_binding(&p, "copies", "Deployment", 1, "{}");
    CHECK(comes_to(&p, "web", "m1=4 m2=1 m3=2 Success"));
    CHECK(comes_to(&p, "copies", "m1=1 m2=1 m3=1 Success"));
    patch(&p, "web",
          "{\"spec\":{\"clusters\":[{\"name\":\"m2\",\"replicas\":1},{\"name\":\"m3\",\"replicas\":"
          "2}],\"gracefulEvictionTasks\":[{\"fromCluster\":\"m1\",\"reason\":\"TaintUntolerated\","
          "\"producer\":\"TaintManager\"}]}}");
    patch(&p, "copies",
          "{\"spec\":{\"clusters\":[{\"name\":\"m2\",\"replicas\":1},{\"name\":\"m3\",\"replicas\":"
          "1}],\"gracefulEvictionTasks\":[{\"fromCluster\":\"m1\",\"reason\":\"TaintUntolerated\","
          "\"producer\":\"TaintManager\"}]}}");
    CHECK(comes_to(&p, "web", "m2=2 m3=5 Success"));
    CHECK(rests(&p, "copies"));
    CHECK_STR(state(&p, BINDINGS "/copies"), "m2=1 m3=1 Success");
    patch(&p, "copies", "{\"spec\":{\"gracefulEvictionTasks\":null}}");
    CHECK(comes_to(&p, "copies", "m1=1 m2=1 m3=1 Success"));
    close_plant(&p);
}

TEST(groups_of_affinities)
{
    struct plant p;

    open_plant(&p);
    make_binding(
        &p, "conf", "ConfigMap", 0,
        "{\"clusterAffinities\":[{\"affinityName\":\"first\",\"clusterNames\":[\"nope\"]},"
        "{\"affinityName\":\"second\",\"labelSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}]}");
    CHECK(comes_to(&p, "conf", "m3=0 Success"));
    CHECK(rests(&p, "conf"));
    CHECK(str_is(json_get_str(get(&p, "conf"), "status.schedulerObservingAffinityName"), "second"));
    patch(&p, "conf",
          "{\"spec\":{\"placement\":{\"clusterAffinities\":[{\"affinityName\":\"first\","
          "\"clusterNames\":[\"m1\"]},{\"affinityName\":\"second\",\"clusterNames\":[\"nope\"]}]}}"
          "}");
    CHECK(comes_to(&p, "conf", "m3=0 NoClusterFit"));
    CHECK(str_is(json_get_str(get(&p, "conf"), "status.schedulerObservingAffinityName"), "second"));
    close_plant(&p);
}

TEST(a_rebalancer_divides_anew)
{
    struct plant p;
    const struct json *w, *rows;

    open_plant(&p);
    make_binding(&p, "web-deployment", "Deployment", 3,
                 "{\"clusterAffinity\":{\"clusterNames\":[\"m3\"]}," DYNAMIC "}");
    CHECK(comes_to(&p, "web-deployment", "m3=3 Success"));
    patch(&p, "web-deployment",
          "{\"spec\":{\"placement\":{\"clusterAffinity\":{\"clusterNames\":[\"m1\",\"m3\"]}}}}");
    CHECK(rests(&p, "web-deployment"));
    CHECK_STR(state(&p, BINDINGS "/web-deployment"), "m3=3 Success");
    (void)must(
        &p, "POST", REBALANCERS,
        "{\"metadata\":{\"name\":\"r\"},\"spec\":{\"workloads\":[{\"apiVersion\":\"apps/v1\","
        "\"kind\":\"Deployment\",\"namespace\":\"default\",\"name\":\"web\"},{\"apiVersion\":"
        "\"apps/v1\",\"kind\":\"Deployment\",\"namespace\":\"default\",\"name\":\"nope\"}]}}");
    CHECK(comes_to(&p, "web-deployment", "m1=2 m3=1 Success"));
    CHECK(rests(&p, "web-deployment"));
    for (int i = 0; i < 500; i++) {
        w = must(&p, "GET", REBALANCERS "/r", "");
        if (json_get_str(w, "status.finishTime").n)
            break;
        (void)usleep(10000);
    }
    rows = json_path(w, "status.observedWorkloads");
    CHECK(json_len(rows) == 2);
    CHECK(str_is(json_get_str(json_at(rows, 0), "reason"), "ReferencedBindingNotFound"));
    CHECK(str_is(json_get_str(json_at(rows, 0), "workload.name"), "nope"));
    CHECK(str_is(json_get_str(json_at(rows, 1), "result"), "Successful"));
    /* What succeeded stays on record, what did not goes with its workload. */
    (void)must(&p, "PATCH", REBALANCERS "/r",
               "{\"spec\":{\"workloads\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
               "\"namespace\":\"default\",\"name\":\"other\"}]}}");
    for (int i = 0; i < 500; i++) {
        w = must(&p, "GET", REBALANCERS "/r", "");
        if (json_int(json_path(w, "status.observedGeneration"), 0) ==
            json_int(json_path(w, "metadata.generation"), -1))
            break;
        (void)usleep(10000);
    }
    rows = json_path(w, "status.observedWorkloads");
    CHECK(json_len(rows) == 2);
    CHECK(str_is(json_get_str(json_at(rows, 0), "workload.name"), "other"));
    CHECK(str_is(json_get_str(json_at(rows, 1), "workload.name"), "web"));
    (void)must(&p, "PATCH", REBALANCERS "/r", "{\"spec\":{\"ttlSecondsAfterFinished\":0}}");
    for (int i = 0; i < 500 && ask_api(&p.rig, "GET", REBALANCERS "/r", "", NULL) == 200; i++)
        (void)usleep(10000);
    CHECK(ask_api(&p.rig, "GET", REBALANCERS "/r", "", NULL) == 404);
    close_plant(&p);
}

/* The controller ends at any time: what is stored is enough for the next one. */
TEST(events_are_told_and_a_restart_changes_nothing)
{
    struct plant p;

    open_plant(&p);
    make_binding(&p, "web", "Deployment", 7, "{" DYNAMIC "}");
    CHECK(comes_to(&p, "web", "m1=4 m2=1 m3=2 Success"));
    CHECK(event_seen(&p, "ResourceBinding", "ScheduleBindingSucceed",
                     "Binding has been scheduled successfully. Result: {m1:4, m2:1, m3:2}"));
    CHECK(event_seen(&p, "Deployment", "ScheduleBindingSucceed",
                     "Binding has been scheduled successfully. Result: {m1:4, m2:1, m3:2}"));
    stop(&p);
    /* As if it had been killed between the two writes. */
    (void)must(&p, "PATCH", BINDINGS "/web/status", "{\"status\":{\"conditions\":null}}");
    start(&p);
    CHECK(comes_to(&p, "web", "m1=4 m2=1 m3=2 Success"));
    CHECK(rests(&p, "web"));
    close_plant(&p);
}

/* Several workers, while the clusters change under them: all ends as if one had done it. */
TEST(many_at_once)
{
    enum { MANY = 100 };
    struct plant p;
    int good = 0;

    open_plant(&p);
    for (int i = 0; i < MANY; i++) {
        make_binding(&p, arena_printf(p.rig.arena, "b%03d", i), "ConfigMap", 0,
                     "{\"clusterAffinity\":{\"labelSelector\":{\"matchLabels\":{\"env\":\"prod\"}}}"
                     "}");
        if (i % 10 == 0)
            (void)must(&p, "PATCH", arena_printf(p.rig.arena, CLUSTERS "/m%d", 1 + i / 10 % 3),
                       i % 20 ? "{\"metadata\":{\"labels\":{\"env\":\"prod\"}}}"
                              : "{\"metadata\":{\"labels\":{\"env\":\"dev\"}}}");
    }
    for (int i = 1; i <= 3; i++)
        (void)must(&p, "PATCH", arena_printf(p.rig.arena, CLUSTERS "/m%d", i),
                   i == 2 ? "{\"metadata\":{\"labels\":{\"env\":\"dev\"}}}"
                          : "{\"metadata\":{\"labels\":{\"env\":\"prod\"}}}");
    for (int i = 0; i < MANY; i++)
        good += comes_to(&p, arena_printf(p.rig.arena, "b%03d", i), "m1=0 m3=0 Success");
    CHECK(good == MANY);
    close_plant(&p);
}
