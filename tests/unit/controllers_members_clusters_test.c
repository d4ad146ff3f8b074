/* SPDX-License-Identifier: Apache-2.0 */

/* The controllers of member clusters, against a whole server and fake members. */

#include "federation/controllers/members/clusters.h"
#include "fleet_rig.h"
#include "object/meta/karmada.h"

#define CLUSTERS "/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters"
#define BINDINGS "/clusters/demo/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
#define WORKS    "/clusters/demo/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"

static const struct failover quick = { .enabled = true,
                                       .success_ms = 20,
                                       .failure_ms = 20,
                                       .startup_ms = 20,
                                       .grace_ms = 20,
                                       .eviction_ms = 10,
                                       .graceful_ms = 600000 };

static const struct controller_spec *const specs[] = {
    &cluster_controller,        &cluster_status_controller,    &cluster_taint_controller,
    &taint_eviction_controller, &graceful_eviction_controller,
};
enum { SPECS = sizeof(specs) / sizeof(*specs) };

struct clusters_rig {
    struct fleet_rig f;
    struct clusters clusters;
    struct controller_group *group;
    struct client *clients[SPECS];
};

static void start(struct clusters_rig *c)
{
    struct rig *r = &c->f.rig;

    memset(c, 0, sizeof(*c));
    fleet_rig_open(&c->f, NULL);
    c->clusters = (struct clusters){
        .fleet = c->f.fleet, .failover = &quick, .status_ms = 20, .health_ms = 300, .removal_ms = 1
    };
    c->group = controller_group_new(4);
    for (size_t i = 0; i < SPECS; i++) {
        struct controller_spec spec = *specs[i];

        spec.arg = &c->clusters;
        c->clients[i] = client_new(server_local_transport(
            r->host->server, r->host->loop, str_printf(r->arena, "system:kairship:%s", spec.name)));
        (void)controller_group_start(c->group, &spec, c->clients[i]);
    }
}

static void free_clients(void *arg)
{
    struct clusters_rig *c = arg;

    for (size_t i = 0; i < SPECS; i++)
        client_free(c->clients[i]);
}

static void end(struct clusters_rig *c)
{
    clusters_stop(&c->clusters);
    controller_group_free(c->group);
    clusters_release(&c->clusters);
    loop_call_wait(c->f.rig.host->loop, free_clients, c);
    fleet_rig_close(&c->f);
}

/* Until the object's text holds it (or does not), at most some seconds; the object. */
static const struct json *until(struct clusters_rig *c, const char *path, const char *part,
                                bool there)
{
    const struct json *v = NULL;

    for (int i = 0; i < 500; i++) {
        int code = ask_api(&c->f.rig, "GET", path, "", &v);

        if (!part && code == 404)
            return &json_null;
        if (part && code == 200 &&
            str_contains(json_text(c->f.rig.arena, v), str_of(part)) == there)
            return v;
        (void)usleep(10000);
    }
    printf("# %s: no %s\n", path, part ? part : "end");
    return NULL;
}

TEST(a_cluster_gets_a_namespace_a_finalizer_and_a_status)
{
    struct clusters_rig c;
    struct fake fake;

    start(&c);
    fake_open(&fake);
    add_cluster(&c.f, "demo", "m1", http_server_address(fake.http), STR("t"), fake.ca.cert);
    CHECK(until(&c, CLUSTERS "/m1", "\"reason\":\"ClusterReady\"", true));
    CHECK(until(&c, CLUSTERS "/m1", "karmada.io/cluster-controller", true));
    CHECK(until(&c, "/clusters/demo/api/v1/namespaces/karmada-es-m1", "karmada.io/system", true));
    CHECK(until(&c, CLUSTERS "/m1", "\"taints\"", false)); /* of the time before it was known */
    CHECK(ask_api(&c.f.rig, "DELETE", CLUSTERS "/m1", "", NULL) == 200);
    /* Nobody deletes what is in the namespace here, so it cannot go; the cluster's time is over. */
    CHECK(until(&c, "/clusters/demo/api/v1/namespaces/karmada-es-m1", "Terminating", true));
    end(&c);
    fake_close(&fake);
}

TEST(a_member_that_hangs_does_not_hold_up_others)
{
    struct clusters_rig c;
    struct fake good, hung;

    start(&c);
    fake_open(&good);
    fake_open(&hung);
    hung.mode = FAKE_HANGS;
    for (int i = 0; i < 8; i++)
        add_cluster(&c.f, "demo", arena_printf(c.f.rig.arena, "h%d", i),
                    http_server_address(hung.http), STR("t"), hung.ca.cert);
    add_cluster(&c.f, "demo", "m1", http_server_address(good.http), STR("t"), good.ca.cert);
    CHECK(until(&c, CLUSTERS "/m1", "\"reason\":\"ClusterReady\"", true));
    CHECK(until(&c, CLUSTERS "/h7", "\"reason\":\"ClusterNotReachable\"", true));
    end(&c);
    fake_close(&good);
    fake_close(&hung);
}

TEST(a_member_that_fails_is_tainted_and_its_bindings_move_away)
{
    struct clusters_rig c;
    struct fake fake;
    const struct json *b;

    start(&c);
    fake_open(&fake);
    add_cluster(&c.f, "demo", "m1", http_server_address(fake.http), STR("t"), fake.ca.cert);
    CHECK(until(&c, CLUSTERS "/m1", "\"reason\":\"ClusterReady\"", true));
    CHECK(
        ask_api(&c.f.rig, "POST", BINDINGS,
                "{\"apiVersion\":\"work.karmada.io/v1alpha2\",\"kind\":\"ResourceBinding\","
                "\"metadata\":{\"name\":\"b\"},\"spec\":{\"resource\":{\"apiVersion\":\"apps/v1\","
                "\"kind\":\"Deployment\",\"namespace\":\"default\",\"name\":\"n\"},\"replicas\":3,"
                "\"clusters\":[{\"name\":\"m1\",\"replicas\":2},{\"name\":\"m2\",\"replicas\":1}]"
                "}}",
                NULL) == 200);
    fake.mode = FAKE_SICK;
    CHECK(until(&c, CLUSTERS "/m1", "\"reason\":\"ClusterNotReady\"", true));
    CHECK(until(&c, CLUSTERS "/m1", "\"effect\":\"NoExecute\"", true));
    b = until(&c, BINDINGS "/b", "TaintUntolerated", true);
    CHECK(json_len(json_path(b, "spec.clusters")) == 1);
    b = json_at(json_path(b, "spec.gracefulEvictionTasks"), 0);
    CHECK(str_is(json_get_str(b, "fromCluster"), "m1"));
    CHECK(str_is(json_get_str(b, "producer"), "TaintManager"));
    CHECK(str_is(json_get_str(b, "purgeMode"), "Gracefully"));
    CHECK(json_int(json_get(b, STR("replicas")), 0) == 2);
    fake.mode = FAKE_HEALTHY;
    CHECK(until(&c, CLUSTERS "/m1", "\"effect\":\"NoExecute\"", false));
    end(&c);
    fake_close(&fake);
}

/* Settings hold at once, also of a cluster that has failed long ago and changes no more. */
TEST(failover_may_be_turned_on_while_a_member_is_away)
{
    static const char binding[] =
        "{\"apiVersion\":\"work.karmada.io/v1alpha2\",\"kind\":\"ResourceBinding\",\"metadata\":{"
        "\"name\":\"b\"},\"spec\":{\"resource\":{\"apiVersion\":\"apps/"
        "v1\",\"kind\":\"Deployment\","
        "\"namespace\":\"default\",\"name\":\"n\"},\"replicas\":2,\"clusters\":[{\"name\":\"m1\","
        "\"replicas\":2}]}}";
    struct failover off = quick;
    struct clusters_rig c;
    struct fake fake;

    off.enabled = false;
    start(&c);
    c.clusters.failover = &off;
    fake_open(&fake);
    add_cluster(&c.f, "demo", "m1", http_server_address(fake.http), STR("t"), fake.ca.cert);
    CHECK(ask_api(&c.f.rig, "POST", BINDINGS, binding, NULL) == 200);
    fake.mode = FAKE_SICK;
    CHECK(until(&c, CLUSTERS "/m1", "\"effect\":\"NoSchedule\"", true));
    (void)usleep(200000);
    CHECK(until(&c, CLUSTERS "/m1", "\"effect\":\"NoExecute\"", false));
    CHECK(ask_api(&c.f.rig, "PATCH", "/apis/tenancy.kairship.io/v1alpha1/instances/demo",
                  "{\"spec\":{\"settings\":{\"failover\":{\"enabled\":true,"
                  "\"failoverEvictionTimeout\":1}}}}",
                  NULL) == 200);
    CHECK(until(&c, CLUSTERS "/m1", "\"effect\":\"NoExecute\"", true));
    CHECK(until(&c, BINDINGS "/b", "TaintUntolerated", true));
    end(&c);
    fake_close(&fake);
}

TEST(a_task_ends_when_what_replaces_it_is_healthy)
{
    struct clusters_rig c;
    const struct json *b;
    const char *status;

    start(&c);
    CHECK(
        ask_api(&c.f.rig, "POST", BINDINGS,
                "{\"apiVersion\":\"work.karmada.io/v1alpha2\",\"kind\":\"ResourceBinding\","
                "\"metadata\":{\"name\":\"b\"},\"spec\":{\"resource\":{\"apiVersion\":\"apps/v1\","
                "\"kind\":\"Deployment\",\"namespace\":\"default\",\"name\":\"n\"},"
                "\"clusters\":[{\"name\":\"m2\",\"replicas\":1}],"
                "\"gracefulEvictionTasks\":[{\"fromCluster\":\"m1\",\"reason\":"
                "\"TaintUntolerated\",\"producer\":\"TaintManager\"}]}}",
                &b) == 200);
    b = until(&c, BINDINGS "/b", "\"creationTimestamp\":\"20", true);
    b = until(&c, BINDINGS "/b", "\"producer\":\"TaintManager\"", true);
    REQUIRE(b);
    (void)usleep(50000);
    CHECK(ask_api(&c.f.rig, "GET", BINDINGS "/b", "", &b) == 200);
    CHECK(json_len(json_path(b, "spec.gracefulEvictionTasks")) == 1);
    status =
        arena_printf(c.f.rig.arena,
                     "{\"status\":{\"schedulerObservedGeneration\":%lld,\"aggregatedStatus\":[{"
                     "\"clusterName\":\"m2\",\"health\":\"Healthy\"}]}}",
                     (long long)json_int(json_path(b, "metadata.generation"), 0));
    CHECK(ask_api(&c.f.rig, "PATCH", BINDINGS "/b/status", status, NULL) == 200);
    CHECK(until(&c, BINDINGS "/b", "gracefulEvictionTasks\":[{", false));
    end(&c);
}

/* Its time is long over, and its copy is the only one there is. */
TEST(a_task_does_not_end_without_a_place_to_go)
{
    static const char *const modes[] = { "Gracefully", "Directly" };
    struct clusters_rig c;
    const struct json *b;

    start(&c);
    CHECK(ask_api(&c.f.rig, "POST", "/clusters/demo/api/v1/namespaces",
                  "{\"metadata\":{\"name\":\"karmada-es-m1\"}}", NULL) == 200);
    for (size_t i = 0; i < 2; i++) {
        char *path = arena_printf(c.f.rig.arena, BINDINGS "/%zu", i);

        CHECK(ask_api(&c.f.rig, "POST", BINDINGS,
                      arena_printf(c.f.rig.arena,
                                   "{\"apiVersion\":\"work.karmada.io/v1alpha2\",\"kind\":"
                                   "\"ResourceBinding\",\"metadata\":{\"name\":\"%zu\"},\"spec\":{"
                                   "\"resource\":{\"apiVersion\":\"apps/v1\",\"kind\":"
                                   "\"Deployment\",\"namespace\":\"default\",\"name\":\"n\"},"
                                   "\"gracefulEvictionTasks\":[{\"fromCluster\":\"m1\",\"reason\":"
                                   "\"TaintUntolerated\",\"producer\":\"TaintManager\","
                                   "\"gracePeriodSeconds\":1,\"purgeMode\":\"%s\","
                                   "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"}]}}",
                                   i, modes[i]),
                      &b) == 200);
        CHECK(ask_api(&c.f.rig, "POST", WORKS,
                      arena_printf(c.f.rig.arena,
                                   "{\"metadata\":{\"name\":\"%zu\",\"labels\":{\"%s\":\"%.*s\"}},"
                                   "\"spec\":{\"workload\":{}}}",
                                   i, KARMADA_RB_ID, STR_ARG(karmada_label(b, KARMADA_RB_ID))),
                      NULL) == 200);
        (void)usleep(200000);
        CHECK(ask_api(&c.f.rig, "GET", path, "", &b) == 200);
        CHECK(json_len(json_path(b, "spec.gracefulEvictionTasks")) == 1);
        CHECK(ask_api(&c.f.rig, "GET", arena_printf(c.f.rig.arena, WORKS "/%zu", i), "", NULL) ==
              200);
        CHECK(ask_api(&c.f.rig, "PATCH", path,
                      "{\"spec\":{\"clusters\":[{\"name\":\"m2\",\"replicas\":1}]}}", &b) == 200);
        CHECK(ask_api(&c.f.rig, "PATCH", arena_printf(c.f.rig.arena, "%s/status", path),
                      arena_printf(c.f.rig.arena,
                                   "{\"status\":{\"schedulerObservedGeneration\":%lld}}",
                                   (long long)json_int(json_path(b, "metadata.generation"), 0)),
                      NULL) == 200);
        CHECK(until(&c, path, "gracefulEvictionTasks\":[{", false));
        /* Else binding.c deletes it, now that no task keeps it. */
        CHECK(ask_api(&c.f.rig, "GET", arena_printf(c.f.rig.arena, WORKS "/%zu", i), "", NULL) ==
              (i == 1 ? 404 : 200));
    }
    end(&c);
}
