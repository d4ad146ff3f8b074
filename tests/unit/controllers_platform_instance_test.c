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

/* …a text that has this in it. */
static bool mentions(struct bed *b, const char *url, const char *path, const char *want)
{
    for (int ms = 0; ms < WAIT_MS; ms += 10) {
        if (strstr(at(b, url, path), want))
            return true;
        (void)usleep(10000);
    }
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

/* A Cluster of an instance, and a Secret of its own. */
struct joining {
    const char *instance, *name, *id;
    const char *server, *token, *ca; /* the last two in base64 */
};

/* A Secret alone wakes nobody; the status of a Cluster, which changes all the time, does. */
static void put_way(struct bed *b, const struct joining *j)
{
    static int looks;
    struct arena *a = b->rig.arena;
    const char *secrets =
        arena_printf(a, "/clusters/%s/api/v1/namespaces/default/secrets", j->instance);
    const char *clusters =
        arena_printf(a, "/clusters/%s/apis/cluster.karmada.io/v1alpha1/clusters", j->instance);
    const char *data =
        arena_printf(a, "\"data\":{\"token\":\"%s\",\"caBundle\":\"%s\"}", j->token, j->ca);
    const char *spec = arena_printf(
        a,
        "\"spec\":{\"syncMode\":\"Push\",\"id\":\"%s\",\"apiEndpoint\":\"https://%s\","
        "\"region\":\"r%d\",\"secretRef\":{\"namespace\":\"default\",\"name\":\"%s\"}}",
        j->id, j->server, looks++, j->name);

    if (ask_api(&b->rig, "PATCH", arena_printf(a, "%s/%s", secrets, j->name),
                arena_printf(a, "{%s}", data), NULL) == 200) {
        CHECK(ask_api(&b->rig, "PATCH", arena_printf(a, "%s/%s", clusters, j->name),
                      arena_printf(a, "{%s}", spec), NULL) == 200);
        return;
    }
    CHECK(ask_api(&b->rig, "POST", secrets,
                  arena_printf(a, "{\"metadata\":{\"name\":\"%s\"},%s}", j->name, data),
                  NULL) == 200);
    CHECK(ask_api(&b->rig, "POST", clusters,
                  arena_printf(a, "{\"metadata\":{\"name\":\"%s\"},%s}", j->name, spec),
                  NULL) == 200);
}

static void leave_as(struct bed *b, const char *instance, const char *name)
{
    CHECK(ask_api(&b->rig, "DELETE",
                  arena_printf(b->rig.arena,
                               "/clusters/%s/apis/cluster.karmada.io/v1alpha1/clusters/%s",
                               instance, name),
                  "", NULL) == 200);
}

static void open_two(struct bed *b)
{
    bed_open(b);
    make_demo(b, "{}");
    CHECK(ask_api(&b->rig, "POST", INSTANCES, "{\"metadata\":{\"name\":\"two\"}}", NULL) == 200);
}

#define COPIES "/api/v1/namespaces/kairship-system/secrets"

TEST(a_member_is_registered_once_wherever_it_joined_in_the_same_way)
{
    struct joining one = { "demo", "m1", "id-a", "x", "dA==", "Y2E=" }, other = one;
    struct bed b;

    open_two(&b);
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    CHECK_STR(at(&b, REGISTRY "/m1", "spec.apiEndpoint"), "https://x");
    CHECK_STR(at(&b, COPIES "/m1", "data.token"), "dA==");
    other.instance = "two";
    other.id = "id-b"; /* another cluster of that name */
    other.server = "y";
    put_way(&b, &other);
    CHECK(becomes(&b, REGISTRY "/m1-two", "status.instances", "[\"two\"]"));
    other = one; /* the same one under another name */
    other.instance = "two";
    other.name = "again";
    put_way(&b, &other);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\",\"two\"]"));
    CHECK(ask_api(&b.rig, "GET", REGISTRY "/again", "", NULL) == 404);
    leave_as(&b, "two", "m1");
    CHECK(goes(&b, REGISTRY "/m1-two"));
    CHECK(goes(&b, COPIES "/m1-two"));
    /* Who came second goes on alone, and only then says where it is. */
    leave_as(&b, "demo", "m1");
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"two\"]"));
    CHECK(mentions(&b, REGISTRY "/m1", "metadata.annotations", "two/again/"));
    other.server = "z";
    put_way(&b, &other);
    CHECK(becomes(&b, REGISTRY "/m1", "spec.apiEndpoint", "https://z"));
    leave_as(&b, "two", "again");
    CHECK(goes(&b, REGISTRY "/m1"));
    bed_close(&b);
}

static void say_version(struct bed *b, const char *instance, const char *version)
{
    const char *url = arena_printf(
        b->rig.arena, "/clusters/%s/apis/cluster.karmada.io/v1alpha1/clusters/m1/status", instance);
    const char *body =
        arena_printf(b->rig.arena, "{\"status\":{\"kubernetesVersion\":\"%s\"}}", version);

    CHECK(ask_api(&b->rig, "PATCH", url, body, NULL) == 200);
}

/* What the controller had to do before it registered this one is done. */
static void join_another(struct bed *b, const char *name)
{
    struct joining j = { "two", name, name, name, "dA==", "Y2E=" };

    put_way(b, &j);
    CHECK(becomes(b, arena_printf(b->rig.arena, REGISTRY "/%s", name), "status.instances",
                  "[\"two\"]"));
}

TEST(two_instances_that_share_an_entry_do_not_contradict_each_other)
{
    struct joining one = { "demo", "m1", "id-a", "x", "dA==", "Y2E=" }, two = one;
    const char *version;
    struct bed b;

    open_two(&b);
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    two.instance = "two";
    put_way(&b, &two);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\",\"two\"]"));
    say_version(&b, "two", "v1.2.2");
    say_version(&b, "demo", "v1.2.1");
    CHECK(becomes(&b, REGISTRY "/m1", "status.kubernetesVersion", "v1.2.1"));
    join_another(&b, "m2");
    version = at(&b, REGISTRY "/m1", "metadata.resourceVersion");
    join_another(&b, "m3");
    CHECK_STR(at(&b, REGISTRY "/m1", "metadata.resourceVersion"), version);
    CHECK_STR(at(&b, REGISTRY "/m1", "status.instances"), "[\"demo\",\"two\"]");
    leave_as(&b, "demo", "m1"); /* the next one says it now */
    CHECK(becomes(&b, REGISTRY "/m1", "status.kubernetesVersion", "v1.2.2"));
    bed_close(&b);
}

/*
 * Whoever may write in an instance may claim the id of any cluster there, or bring a server that
 * claims it.
 */
TEST(an_id_that_is_claimed_opens_no_entry)
{
    static const struct joining own = { "demo", "m1", "id-a", "x", "dA==", "Y2E=" };
    static const struct {
        const char *why, *server, *token, *ca;
    } lies[] = {
        { "a server of their own", "evil", "dA==", "Y2E=" },
        { "a server of their own, and its credentials", "evil", "ZXZpbA==", "ZXZpbA==" },
        { "another way to the same server", "x", "ZXZpbA==", "Y2E=" },
        { "another authority", "x", "dA==", "ZXZpbA==" },
        { "a path below it", "x/clusters/evil", "dA==", "Y2E=" },
        { "another port", "x:1", "dA==", "Y2E=" },
        { "no credentials", "x", "", "Y2E=" },
    };
    struct joining lie;
    struct bed b;

    open_two(&b);
    put_way(&b, &own);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    lie = own;
    lie.instance = "two";
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        lie.server = lies[i].server;
        lie.token = lies[i].token;
        lie.ca = lies[i].ca;
        put_way(&b, &lie);
        if (!CHECK(becomes(&b, REGISTRY "/m1-two", "spec.apiEndpoint",
                           arena_printf(b.rig.arena, "https://%s", lie.server))) ||
            !CHECK(becomes(&b, REGISTRY "/m1-two", "status.instances", "[\"two\"]")))
            printf("# %s\n", lies[i].why);
        CHECK_STR(at(&b, REGISTRY "/m1", "status.instances"), "[\"demo\"]");
        CHECK_STR(at(&b, REGISTRY "/m1", "spec.apiEndpoint"), "https://x");
        CHECK_STR(at(&b, COPIES "/m1", "data.token"), "dA==");
    }
    bed_close(&b);
}

/* Credentials that were changed show who of those that shared them still has the right. */
TEST(who_shares_an_entry_shows_it_again)
{
    struct joining one = { "demo", "m1", "id-a", "x", "dA==", "Y2E=" }, two = one;
    struct bed b;

    open_two(&b);
    two.instance = "two";
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    put_way(&b, &two);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\",\"two\"]"));
    two.token = "ZXZpbA=="; /* only where it was registered from may it be changed */
    put_way(&b, &two);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    CHECK(becomes(&b, REGISTRY "/m1-two", "status.instances", "[\"two\"]"));
    CHECK_STR(at(&b, COPIES "/m1", "data.token"), "dA==");
    leave_as(&b, "two", "m1");
    CHECK(goes(&b, REGISTRY "/m1-two"));
    CHECK(ask_api(&b.rig, "DELETE", "/clusters/two/api/v1/namespaces/default/secrets/m1", "",
                  NULL) == 200);
    two.token = one.token;
    put_way(&b, &two);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\",\"two\"]"));
    one.token = "dQ==";
    put_way(&b, &one);
    CHECK(becomes(&b, COPIES "/m1", "data.token", "dQ=="));
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    CHECK(becomes(&b, REGISTRY "/m1-two", "status.instances", "[\"two\"]"));
    bed_close(&b);
}

/* An entry of somebody's own hands is not a tenant's because he knows its name and address. */
TEST(an_entry_made_by_hand_is_entered_by_name_only)
{
    static const char hand[] =
        "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"type\":\"Member\",\"apiEndpoint\":"
        "\"https://x\",\"secretRef\":{\"namespace\":\"default\",\"name\":\"hand\"}}}";
    struct joining one = { "demo", "m1", "id-a", "x", "ZXZpbA==", "Y2E=" };
    struct arena *a;
    struct bed b;

    open_two(&b);
    a = b.rig.arena;
    CHECK(ask_api(&b.rig, "POST", "/api/v1/namespaces/default/secrets",
                  "{\"metadata\":{\"name\":\"hand\"},\"data\":{\"token\":\"dA==\",\"caBundle\":"
                  "\"Y2E=\"}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "POST", REGISTRY, hand, NULL) == 200);
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1-demo", "status.instances", "[\"demo\"]"));
    CHECK_STR(at(&b, REGISTRY "/m1", "status.instances"), "");
    leave_as(&b, "demo", "m1");
    CHECK(goes(&b, REGISTRY "/m1-demo"));
    /* Joined by name: an annotation says so of this very instance. */
    CHECK(ask_api(&b.rig, "PATCH", REGISTRY "/m1",
                  arena_printf(a,
                               "{\"metadata\":{\"annotations\":{\"granted.fleet.kairship.io/"
                               "demo\":\"m1/%s\",\"granted.fleet.kairship.io/two\":\"m1/another\""
                               "}}}",
                               at(&b, INSTANCES "/demo", "metadata.uid")),
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "DELETE", "/clusters/demo/api/v1/namespaces/default/secrets/m1", "",
                  NULL) == 200);
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    one.instance = "two"; /* an instance of before had that right */
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1-two", "status.instances", "[\"two\"]"));
    CHECK_STR(at(&b, REGISTRY "/m1", "status.instances"), "[\"demo\"]");
    one.instance = "demo";
    one.server = "elsewhere";
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1-demo", "status.instances", "[\"demo\"]"));
    CHECK_STR(at(&b, REGISTRY "/m1", "status.instances"), "");
    CHECK_STR(at(&b, REGISTRY "/m1", "spec.apiEndpoint"), "https://x");
    bed_close(&b);
}

/* Both are indexed by their names. */
TEST(the_name_of_a_pedia_cluster_is_taken)
{
    static const char *const pedias = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters";
    static const char *const pedia = "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"apiserver\":"
                                     "\"https://x\",\"syncResources\":[]}}";
    struct joining one = { "demo", "m1", "id-a", "x", "dA==", "Y2E=" };
    struct bed b;

    open_two(&b);
    CHECK(ask_api(&b.rig, "POST", pedias, pedia, NULL) == 200);
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1-demo", "status.instances", "[\"demo\"]"));
    CHECK(ask_api(&b.rig, "GET", REGISTRY "/m1", "", NULL) == 404);
    CHECK(ask_api(&b.rig, "POST", pedias,
                  "{\"metadata\":{\"name\":\"m1-demo\"},\"spec\":{\"apiserver\":\"https://x\","
                  "\"syncResources\":[]}}",
                  NULL) == 422);
    CHECK(strstr(str_z(b.rig.arena, b.rig.st.message), "is the name of a Cluster of"));
    bed_close(&b);
}

/* What was joined by name before that was written down stays joined. */
TEST(an_entry_that_was_joined_by_name_stays_so)
{
    struct joining one = { "demo", "m1", "id-a", "x", "ZGVtbw==", "Y2E=" }, lie = one;
    struct bed b;

    open_two(&b);
    CHECK(ask_api(&b.rig, "POST", "/api/v1/namespaces/default/secrets",
                  "{\"metadata\":{\"name\":\"hand\"},\"data\":{\"token\":\"dA==\",\"caBundle\":"
                  "\"Y2E=\"}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "POST", REGISTRY,
                  "{\"metadata\":{\"name\":\"m1\",\"labels\":{\"fleet.kairship.io/id\":\"id-a\"}},"
                  "\"spec\":{\"type\":\"Member\",\"apiEndpoint\":\"https://x\",\"secretRef\":{"
                  "\"namespace\":\"default\",\"name\":\"hand\"}}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "PATCH", REGISTRY "/m1/status",
                  "{\"status\":{\"instances\":[\"demo\",\"two\"]}}", NULL) == 200);
    lie.instance = "two";
    lie.ca = "ZXZpbA==";
    put_way(&b, &lie);
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"demo\"]"));
    put_way(&b, &one);
    CHECK(becomes(&b, REGISTRY "/m1", "status.kubeSystemID", "id-a"));
    CHECK_STR(at(&b, REGISTRY "/m1", "status.instances"), "[\"demo\"]");
    CHECK(strstr(at(&b, REGISTRY "/m1", "metadata.annotations"), "granted.fleet.kairship.io/demo"));
    lie.ca = one.ca; /* once gone, it does not come back so */
    put_way(&b, &lie);
    CHECK(becomes(&b, REGISTRY "/m1-two", "status.instances", "[\"two\"]"));
    CHECK_STR(at(&b, REGISTRY "/m1", "status.instances"), "[\"demo\"]");
    bed_close(&b);
}

/* What older programs have written is looked at again. */
TEST(an_entry_that_was_shared_by_an_id_is_so_no_more)
{
    struct joining one = { "demo", "m1", "id-a", "x", "dA==", "Y2E=" }, two = one;
    struct bed b;

    open_two(&b);
    CHECK(ask_api(&b.rig, "POST", "/api/v1/namespaces",
                  "{\"metadata\":{\"name\":\"kairship-system\"}}", NULL) == 200);
    CHECK(ask_api(&b.rig, "POST", COPIES,
                  "{\"metadata\":{\"name\":\"old\",\"labels\":{\"fleet.kairship.io/registered-by\":"
                  "\"member-registry\"}},\"data\":{\"token\":\"dA==\",\"caBundle\":\"Y2E=\"}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "POST", REGISTRY,
                  "{\"metadata\":{\"name\":\"old\",\"labels\":{\"fleet.kairship.io/id\":\"id-a\","
                  "\"fleet.kairship.io/registered-by\":\"member-registry\"}},\"spec\":{\"type\":"
                  "\"Member\",\"apiEndpoint\":\"https://x\",\"secretRef\":{\"namespace\":"
                  "\"kairship-system\",\"name\":\"old\"}}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "PATCH", REGISTRY "/old/status",
                  "{\"status\":{\"instances\":[\"demo\",\"two\"]}}", NULL) == 200);
    two.instance = "two";
    two.server = "evil";
    put_way(&b, &two);
    CHECK(becomes(&b, REGISTRY "/old", "status.instances", "[\"demo\"]"));
    CHECK(becomes(&b, REGISTRY "/m1", "status.instances", "[\"two\"]"));
    put_way(&b, &one); /* whose it is: */
    CHECK(becomes(&b, REGISTRY "/old", "status.kubeSystemID", "id-a"));
    one.token = "dQ==";
    put_way(&b, &one);
    CHECK(becomes(&b, COPIES "/old", "data.token", "dQ=="));
    CHECK_STR(at(&b, REGISTRY "/old", "status.instances"), "[\"demo\"]");
    bed_close(&b);
}
