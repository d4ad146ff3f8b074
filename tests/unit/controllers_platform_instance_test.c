/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pace.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/platform/status_sync.h"
#include "server_rig.h"
#include "tap.h"

/* The controllers of instances together, against a whole server, each with its rights. */

#define INSTANCES "/apis/tenancy.kairship.io/v1alpha1/instances"
#define REGISTRY  "/apis/fleet.kairship.io/v1alpha1/clusters"
#define MEMBERS   "/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters"

enum { PARTS = 5, WAIT_MS = 10000 };

struct bed {
    struct rig rig;
    struct client *clients[PARTS + 2];
    size_t nclients;
    struct controller_group *group;
    struct fleet *fleet;
    struct pace counted;
    struct status_sync status_sync;
};

static struct client *client_of(struct bed *b, const char *name)
{
    struct host *h = b->rig.host;
    str user = str_printf(h->arena, "system:kairship:%s", name);
    struct client *c = client_new(server_local_transport(h->server, h->loop, user));

    b->clients[b->nclients++] = c;
    return c;
}

static void bed_open(struct bed *b)
{
    static const struct controller_spec *const specs[PARTS] = {
        &instance_controller, &virtual_cluster_sync_controller, &resource_statistics_controller,
        &status_sync_controller, &member_registry_controller
    };
    static const struct egress egress = { .loopback = true };

    *b = (struct bed){ .nclients = 0 };
    rig_open(&b->rig);
    b->group = controller_group_new(2);
    b->fleet = fleet_new(client_of(b, "fleet"), &(struct fleet_options){ .egress = &egress });
    b->status_sync =
        (struct status_sync){ .fleet = b->fleet, .probe_ms = 50, .karmada_version = STR("v1.2.3") };
    for (size_t i = 0; i < PARTS; i++) {
        struct controller_spec spec = *specs[i];

        spec.arg = i < 2    ? (void *)&b->rig.host->clock
                   : i == 2 ? (void *)&b->counted
                            : &b->status_sync;
        (void)controller_group_start(b->group, &spec, client_of(b, spec.name));
    }
}

static void free_fleet(void *arg)
{
    fleet_free(arg);
}

static void free_clients(void *arg)
{
    struct bed *b = arg;

    for (size_t i = 0; i < b->nclients; i++)
        client_free(b->clients[i]);
}

static void bed_close(struct bed *b)
{
    controller_group_free(b->group);
    loop_call_wait(b->rig.host->loop, free_fleet, b->fleet);
    loop_call_wait(b->rig.host->loop, free_clients, b);
    rig_close(&b->rig);
}

/* What is at the path of the object, as text; "" when there is none. */
static const char *at(struct bed *b, const char *url, const char *path)
{
    const struct json *v = NULL;

    if (ask_api(&b->rig, "GET", url, "", &v) != 200)
        return "";
    v = json_path(v, path);
    if (!v)
        return "";
    return str_z(b->rig.arena, json_is(v, JSON_STRING) ? json_str(v) : json_text(b->rig.arena, v));
}

static bool becomes(struct bed *b, const char *url, const char *path, const char *want)
{
    for (int ms = 0; ms < WAIT_MS; ms += 10) {
        if (strcmp(at(b, url, path), want) == 0)
            return true;
        (void)usleep(10000);
    }
    CHECK_STR(at(b, url, path), want);
    return false;
}

static bool goes(struct bed *b, const char *url)
{
    for (int ms = 0; ms < WAIT_MS; ms += 10) {
        if (ask_api(&b->rig, "GET", url, "", NULL) == 404)
            return true;
        (void)usleep(10000);
    }
    return false;
}

static void make_demo(struct bed *b, const char *spec)
{
    const char *body = arena_printf(
        b->rig.arena,
        "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\",\"metadata\":{"
        "\"name\":\"demo\"},\"spec\":%s}",
        spec);

    CHECK(ask_api(&b->rig, "POST", INSTANCES, body, NULL) == 200);
}

/* As search does, when it has forgotten all of it. */
static bool search_lets_go(struct bed *b)
{
    for (int i = 0; i < 500 && !*at(b, REGISTRY "/k-demo", "metadata.deletionTimestamp"); i++)
        (void)usleep(10000);
    return ask_api(&b->rig, "PATCH", REGISTRY "/k-demo", "{\"metadata\":{\"finalizers\":null}}",
                   NULL) == 200;
}

TEST(an_instance_has_a_state_and_a_virtual_cluster)
{
    const char *uid;
    struct bed b;

    bed_open(&b);
    make_demo(&b, "{\"alias\":\"The demo\"}");
    CHECK(becomes(&b, INSTANCES "/demo", "status.karmadaVersion", "v1.2.3"));
    CHECK_STR(at(&b, INSTANCES "/demo", "status.state"), "RUNNING");
    CHECK(becomes(&b, REGISTRY "/k-demo", "spec.type", "Virtual"));
    CHECK_STR(at(&b, REGISTRY "/k-demo", "spec.instance"), "demo");
    CHECK(ask_api(&b.rig, "PATCH", INSTANCES "/demo", "{\"spec\":{\"alias\":\"Ours\"}}", NULL) ==
          200);
    CHECK(becomes(&b, REGISTRY "/k-demo", "spec.aliasName", "Ours"));
    /* Who takes it away gets it back. */
    uid = at(&b, REGISTRY "/k-demo", "metadata.uid");
    CHECK(ask_api(&b.rig, "DELETE", REGISTRY "/k-demo", "", NULL) == 200);
    CHECK(search_lets_go(&b));
    CHECK(becomes(&b, REGISTRY "/k-demo", "spec.aliasName", "Ours"));
    CHECK(strcmp(at(&b, REGISTRY "/k-demo", "metadata.uid"), uid) != 0);
    CHECK(ask_api(&b.rig, "DELETE", INSTANCES "/demo", "", NULL) == 200);
    CHECK(search_lets_go(&b)); /* it was there until then */
    CHECK(goes(&b, INSTANCES "/demo"));
    CHECK(ask_api(&b.rig, "GET", REGISTRY "/k-demo", "", NULL) == 404);
    bed_close(&b);
}

TEST(search_that_does_not_run_holds_nobody_up)
{
    struct bed b;

    bed_open(&b);
    make_demo(&b, "{}");
    CHECK(becomes(&b, REGISTRY "/k-demo", "spec.type", "Virtual"));
    CHECK(ask_api(&b.rig, "DELETE", INSTANCES "/demo", "", NULL) == 200);
    for (int i = 0; i < 500 && !*at(&b, REGISTRY "/k-demo", "metadata.deletionTimestamp"); i++)
        (void)usleep(10000);
    clock_jump(&b.rig.host->clock, (clock_wall_s(&b.rig.host->clock) + 6) * 1000000);
    CHECK(goes(&b, INSTANCES "/demo"));
    bed_close(&b);
}

static void join(struct bed *b, const char *name, const char *finalizers)
{
    const char *body = arena_printf(
        b->rig.arena,
        "{\"apiVersion\":\"cluster.karmada.io/v1alpha1\",\"kind\":\"Cluster\",\"metadata\":{"
        "\"name\":\"%s\",\"finalizers\":%s},\"spec\":{\"syncMode\":\"Push\"}}",
        name, finalizers);

    CHECK(ask_api(&b->rig, "POST", MEMBERS, body, NULL) == 200);
}

TEST(what_it_has_is_counted)
{
    struct bed b;

    bed_open(&b);
    make_demo(&b, "{}");
    join(&b, "m1", "[]");
    join(&b, "m2", "[]");
    CHECK(ask_api(&b.rig, "PATCH", MEMBERS "/m1/status",
                  "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                  "\"reason\":\"R\",\"message\":\"\",\"lastTransitionTime\":"
                  "\"2026-01-02T03:04:05Z\"}],\"nodeSummary\":{\"totalNum\":3,\"readyNum\":2},"
                  "\"resourceSummary\":{\"allocatable\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\","
                  "\"x.io/y\":\"1\"},\"allocated\":{\"cpu\":\"250m\"}}}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "PATCH", MEMBERS "/m2/status",
                  "{\"status\":{\"nodeSummary\":{\"totalNum\":1,\"readyNum\":1},"
                  "\"resourceSummary\":{\"allocatable\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "POST", "/clusters/demo/api/v1/namespaces/default/secrets",
                  "{\"metadata\":{\"name\":\"s\"}}", NULL) == 200);
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.clusterSummary",
                  "{\"readyNum\":1,\"totalNum\":2}"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.resourceTotalNum.secrets", "1"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.nodeSummary.totalNum", "4"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.nodeSummary.readyNum", "3"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.resourceSummary.allocatable",
                  "{\"cpu\":\"2\",\"memory\":\"2Gi\"}"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.resourceSummary.allocated",
                  "{\"cpu\":\"250m\"}"));
    CHECK(ask_api(&b.rig, "DELETE", "/clusters/demo/api/v1/namespaces/default/secrets/s", "",
                  NULL) == 200);
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.resourceTotalNum.secrets", "0"));
    bed_close(&b);
}

TEST(members_of_both_doors_are_counted)
{
    static const char door[] = "/clusters/demo/apis/workload.kcp.dev/v1alpha1/clusters";
    struct bed b;

    bed_open(&b);
    make_demo(&b, "{\"profile\":\"minimal\"}");
    CHECK(ask_api(&b.rig, "POST", door,
                  "{\"metadata\":{\"name\":\"east\"},\"spec\":{\"kubeconfig\":\"{current-context: "
                  "c, clusters: [{name: c, cluster: {server: 'https://m1.example'}}], contexts: "
                  "[{name: c, context: {cluster: c, user: c}}], users: [{name: c, user: {token: "
                  "t}}]}\"}}",
                  NULL) == 200);
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.clusterSummary",
                  "{\"readyNum\":0,\"totalNum\":1}"));
    CHECK(ask_api(
              &b.rig, "PATCH", arena_printf(b.rig.arena, "%s/east/status", door),
              "{\"status\":{\"allocatable\":{\"cpu\":\"2\"},\"allocated\":{\"cpu\":\"1\"},"
              "\"nodeSummary\":{\"totalNum\":2,\"readyNum\":1},\"conditions\":[{\"type\":\"Ready\","
              "\"status\":\"True\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}}",
              NULL) == 200);
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.clusterSummary.readyNum", "1"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.resourceSummary.allocatable",
                  "{\"cpu\":\"2\"}"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.resourceSummary.allocated",
                  "{\"cpu\":\"1\"}"));
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.nodeSummary",
                  "{\"readyNum\":1,\"totalNum\":2}"));
    CHECK(ask_api(&b.rig, "PATCH", arena_printf(b.rig.arena, "%s/east/status", door),
                  "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
                  "\"lastTransitionTime\":\"2026-01-03T00:00:00Z\"}]}}",
                  NULL) == 200);
    CHECK(becomes(&b, INSTANCES "/demo", "status.summary.nodeSummary",
                  "{\"readyNum\":0,\"totalNum\":2,\"unknownNum\":2,\"unknownSince\":"
                  "\"2026-01-03T00:00:00Z\"}"));
    bed_close(&b);
}

TEST(it_is_not_gone_before_its_members_are_detached)
{
    struct client_ref m1 = { .instance = STR("demo"),
                             .group = STR("cluster.karmada.io"),
                             .version = STR("v1alpha1"),
                             .resource = STR("clusters"),
                             .name = STR("m1") };
    const struct json *none;
    struct bed b;

    bed_open(&b);
    make_demo(&b, "{}");
    join(&b, "m1", "[\"test/works\"]"); /* as one whose controller is not done yet */
    CHECK(becomes(&b, REGISTRY "/k-demo", "spec.type", "Virtual"));
    for (int i = 0; i < 500 && !strstr(at(&b, INSTANCES "/demo", "metadata.finalizers"),
                                       "kairship.io/members");
         i++)
        (void)usleep(10000);
    CHECK(ask_api(&b.rig, "DELETE", INSTANCES "/demo", "", NULL) == 409);
    CHECK(ask_api(&b.rig, "PATCH", INSTANCES "/demo", "{\"spec\":{\"release\":\"Destroy\"}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "DELETE", INSTANCES "/demo", "", NULL) == 200);
    for (int i = 0; i < 500 && !*at(&b, MEMBERS "/m1", "metadata.deletionTimestamp"); i++)
        (void)usleep(10000);
    CHECK(*at(&b, MEMBERS "/m1", "metadata.deletionTimestamp"));
    CHECK_STR(at(&b, INSTANCES "/demo", "status.state"), "TERMINAL");
    /* Nobody writes there any more but our own parts. */
    CHECK(ask_api(&b.rig, "PATCH", MEMBERS "/m1", "{\"metadata\":{\"finalizers\":null}}", NULL) ==
          403);
    none = json_set(b.rig.arena, &json_empty_object, "metadata.finalizers", &json_null);
    CHECK(client_patch(client_of(&b, "garbage-collector"), b.rig.arena, &m1, CLIENT_PATCH_MERGE,
                       none, NULL, &b.rig.st) == 0);
    CHECK(search_lets_go(&b));
    CHECK(goes(&b, INSTANCES "/demo"));
    bed_close(&b);
}

TEST(one_that_is_attached_is_asked_for_its_health)
{
    static const char kubeconfig[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"k\"},\"stringData\":{"
        "\"kubeconfig\":\"{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, "
        "context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "
        "'https://127.0.0.1:1'}}], users: [{name: u, user: {token: t}}]}\"}}";
    struct bed b;

    bed_open(&b);
    make_demo(&b, "{\"attach\":{\"kubeconfigSecretRef\":{\"namespace\":\"default\",\"name\":"
                  "\"k\"}}}");
    CHECK(becomes(&b, INSTANCES "/demo", "status.state", "UNKNOWN"));
    CHECK(ask_api(&b.rig, "POST", "/api/v1/namespaces/default/secrets", kubeconfig, NULL) == 200);
    CHECK(becomes(&b, INSTANCES "/demo", "status.reason", "Unreachable"));
    CHECK_STR(at(&b, INSTANCES "/demo", "status.state"), "UNKNOWN");
    CHECK(strstr(at(&b, INSTANCES "/demo", "status.message"), "127.0.0.1:1"));
    bed_close(&b);
}

static void join_as(struct bed *b, const char *instance, const char *name, const char *id)
{
    struct arena *a = b->rig.arena;

    CHECK(ask_api(&b->rig, "POST",
                  arena_printf(a, "/clusters/%s/api/v1/namespaces/default/secrets", instance),
                  "{\"metadata\":{\"name\":\"c\"},\"data\":{\"token\":\"dA==\"}}", NULL) != 0);
    CHECK(
        ask_api(&b->rig, "POST",
                arena_printf(a, "/clusters/%s/apis/cluster.karmada.io/v1alpha1/clusters", instance),
                arena_printf(a,
                             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"syncMode\":\"Push\","
                             "\"id\":\"%s\",\"apiEndpoint\":\"https://x\",\"secretRef\":{"
                             "\"namespace\":\"default\",\"name\":\"c\"}}}",
                             name, id),
                NULL) == 200);
}

TEST(a_member_is_registered_once_wherever_it_joined)
{
    struct bed b;

    bed_open(&b);
    make_demo(&b, "{}");
    CHECK(ask_api(&b.rig, "POST", INSTANCES, "{\"metadata\":{\"name\":\"two\"}}", NULL) == 200);
    join_as(&b, "demo", "m1", "id-a");
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    CHECK_STR(at(&b, REGISTRY "/m1", "spec.apiEndpoint"), "https://x");
    CHECK_STR(at(&b, "/api/v1/namespaces/kairship-system/secrets/m1", "data.token"), "dA==");
    join_as(&b, "two", "m1", "id-b"); /* another cluster of that name */
    CHECK(becomes(&b, REGISTRY "/m1-two", "status.instances", "[\"two\"]"));
    join_as(&b, "two", "again", "id-a"); /* the same one under another name */
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\",\"two\"]"));
    CHECK(ask_api(&b.rig, "GET", REGISTRY "/again", "", NULL) == 404);
    CHECK(ask_api(&b.rig, "PATCH", "/clusters/demo/api/v1/namespaces/default/secrets/c",
                  "{\"data\":{\"token\":\"dQ==\"}}", NULL) == 200);
    CHECK(ask_api(&b.rig, "PATCH", MEMBERS "/m1", "{\"spec\":{\"region\":\"r\"}}", NULL) == 200);
    CHECK(becomes(&b, REGISTRY "/m1", "spec.region", "r"));
    CHECK(becomes(&b, "/api/v1/namespaces/kairship-system/secrets/m1", "data.token", "dQ=="));
    CHECK(ask_api(&b.rig, "DELETE", "/clusters/two/apis/cluster.karmada.io/v1alpha1/clusters/m1",
                  "", NULL) == 200);
    CHECK(goes(&b, REGISTRY "/m1-two"));
    CHECK(goes(&b, "/api/v1/namespaces/kairship-system/secrets/m1-two"));
    bed_close(&b);
}
