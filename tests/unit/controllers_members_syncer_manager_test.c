/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/syncer_manager.h"

#include "federation/controllers/frame/controller.h"
#include "server_rig.h"

/* What a kcp Cluster says of itself, by what its syncer says; the syncer is the test. */

#define CLUSTER "/apis/workload.kcp.dev/v1alpha1/clusters"
#define SECRET  "/api/v1/namespaces/kube-system/secrets/cluster-east"

struct bench {
    struct rig rig;
    struct fleet *fleet;
    struct syncer_manager manager;
    struct clock clock;
};

static void new_fleet(void *arg)
{
    struct bench *b = arg;

    b->fleet = fleet_new(b->rig.client, NULL);
}

static void free_fleet(void *arg)
{
    struct bench *b = arg;

    fleet_free(b->fleet);
}

static void bench_open_with(struct bench *b, int64_t silence_ms)
{
    struct controller_spec spec = syncer_manager_controller;

    rig_open(&b->rig);
    b->clock = (struct clock){ 0 };
    clock_jump(&b->clock, 1577934245000000); /* 2020-01-02T03:04:05Z */
    loop_call_wait(b->rig.host->loop, new_fleet, b);
    syncer_manager_init(&b->manager);
    b->manager.works = works_new(b->fleet, NULL);
    b->manager.place = SYNCER_NONE;
    b->manager.clock = &b->clock;
    b->manager.silence_ms = silence_ms;
    spec.arg = &b->manager;
    b->rig.own = client_new(server_local_transport(b->rig.host->server, b->rig.host->loop,
                                                   STR("system:kairship:syncer-manager")));
    b->rig.controller = controller_start(&spec, b->rig.own);
}

static void bench_open(struct bench *b)
{
    bench_open_with(b, 0);
}

static void bench_close(struct bench *b)
{
    controller_stop(b->rig.controller);
    works_free(b->manager.works);
    syncer_manager_release(&b->manager);
    loop_call_wait(b->rig.host->loop, free_fleet, b);
    rig_close(&b->rig);
}

static void make_cluster(struct bench *b)
{
    CHECK(ask_api(&b->rig, "POST", CLUSTER,
                  "{\"metadata\":{\"name\":\"east\"},\"spec\":{\"kubeconfig\":\"{current-context: "
                  "c, clusters: [{name: c, cluster: {server: 'https://m1.example'}}], contexts: "
                  "[{name: c, context: {cluster: c, user: c}}], users: [{name: c, user: {token: "
                  "t}}]}\"}}",
                  NULL) == 200);
}

/* "True", or "False/reason". */
static const char *condition(struct bench *b, const char *type)
{
    const struct json *v = NULL;

    (void)ask_api(&b->rig, "GET", CLUSTER "/east", "", &v);
    json_for_each (c, json_path(v, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return arena_printf(b->rig.arena, "%.*s%s%.*s", STR_ARG(json_get_str(c, "status")),
                                json_get(c, STR("reason")) ? "/" : "",
                                STR_ARG(json_get_str(c, "reason")));
    return "-";
}

static bool comes(struct bench *b, const char *type, const char *want)
{
    for (int i = 0; i < 500; i++) {
        if (strcmp(condition(b, type), want) == 0)
            return true;
        (void)usleep(10000);
    }
    printf("# %s: got %s, want %s\n", type, condition(b, type), want);
    return false;
}

static void speak_of(struct bench *b, const char *time, const char *ready, const char *reason)
{
    const char *body =
        arena_printf(b->rig.arena,
                     "{\"status\":{\"lastSyncerHeartbeatTime\":\"%s\",\"conditions\":[{\"type\":"
                     "\"SyncerReady\",\"status\":\"%s\",\"reason\":\"%s\",\"severity\":"
                     "\"Error\",\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]}}",
                     time, ready, reason);

    CHECK(ask_api(&b->rig, "PATCH", CLUSTER "/east/status", body, NULL) == 200);
}

static void speak(struct bench *b, const char *time, const char *ready)
{
    speak_of(b, time, ready, "Because");
}

TEST(a_cluster_is_ready_while_its_syncer_speaks_and_reaches_it)
{
    struct bench b;

    bench_open(&b);
    make_cluster(&b);
    CHECK(comes(&b, "HeartbeatHealthy", "False/ErrorHeartbeat"));
    CHECK(comes(&b, "Ready", "False/ClusterStatusUnknown"));
    speak(&b, "2020-01-02T03:04:00Z", "True");
    CHECK(comes(&b, "HeartbeatHealthy", "True"));
    CHECK(comes(&b, "Ready", "True"));
    speak(&b, "2020-01-02T03:04:01Z", "False");
    CHECK(comes(&b, "Ready", "False/Because"));
    bench_close(&b);
}

TEST(its_credentials_are_in_a_secret_that_follows_them)
{
    struct bench b;
    const struct json *v = NULL;

    bench_open(&b);
    make_cluster(&b);
    CHECK(comes(&b, "Ready", "False/ClusterStatusUnknown"));
    CHECK(ask_api(&b.rig, "GET", SECRET, "", &v) == 200);
    CHECK(str_starts(json_get_str(v, "data.kubeconfig"), STR("e2N1cnJlbnQtY29udGV4dDog")));
    json_for_each (o, json_path(v, "metadata.ownerReferences"))
        CHECK(str_is(json_get_str(o, "name"), "east"));
    CHECK(ask_api(&b.rig, "DELETE", SECRET, "", NULL) == 200);
    speak(&b, "2020-01-02T03:04:00Z", "True");
    CHECK(comes(&b, "Ready", "True"));
    CHECK(ask_api(&b.rig, "GET", SECRET, "", NULL) == 200);
    bench_close(&b);
}

TEST(a_syncer_that_falls_silent_makes_it_not_ready)
{
    struct bench b;

    bench_open_with(&b, 1000);
    make_cluster(&b);
    speak(&b, "2020-01-02T03:04:05Z", "True");
    CHECK(comes(&b, "Ready", "True"));
    clock_advance(&b.clock, 2000);
    clock_jump(&b.clock, 1577934247000000);
    CHECK(comes(&b, "Ready", "False/ErrorHeartbeat")); /* nobody but the time has said so */
    bench_close(&b);
}

TEST(a_kubeconfig_that_leads_nowhere_is_said_in_push_mode)
{
    struct bench b;

    bench_open(&b);
    b.manager.place = SYNCER_PUSH;
    CHECK(ask_api(&b.rig, "POST", CLUSTER,
                  "{\"metadata\":{\"name\":\"east\"},\"spec\":{\"kubeconfig\":\"{current-context: "
                  "c, clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], contexts: "
                  "[{name: c, context: {cluster: c, user: c}}], users: [{name: c, user: {token: "
                  "t}}]}\"}}",
                  NULL) == 200);
    CHECK(comes(&b, "SyncerReady", "False/ClusterUnreachable"));
    CHECK(comes(&b, "Ready", "False/ClusterUnreachable"));
    CHECK(ask_api(&b.rig, "DELETE", CLUSTER "/east", "", NULL) == 200);
    bench_close(&b);
}

TEST(pull_mode_without_an_image_is_said_until_a_syncer_speaks)
{
    struct bench b;
    const struct json *v = NULL;

    bench_open(&b);
    b.manager.place = SYNCER_PULL;
    make_cluster(&b);
    CHECK(comes(&b, "SyncerReady", "False/NoSyncerImage"));
    CHECK(comes(&b, "Ready", "False/NoSyncerImage"));
    CHECK(ask_api(&b.rig, "GET", CLUSTER "/east", "", &v) == 200);
    CHECK(str_contains(json_text(b.rig.arena, json_path(v, "status.conditions")),
                       STR("--syncer-image")));
    speak(&b, "2020-01-02T03:04:00Z", "True");
    CHECK(comes(&b, "Ready", "True"));
    bench_close(&b);
}

TEST(what_was_said_when_there_could_be_no_syncer_is_taken_back)
{
    struct bench b;

    bench_open(&b);
    make_cluster(&b);
    speak_of(&b, "2020-01-02T03:04:00Z", "False", "NoSyncerImage");
    CHECK(comes(&b, "SyncerReady", "-"));
    CHECK(comes(&b, "Ready", "False/ClusterStatusUnknown"));
    bench_close(&b);
}

TEST(a_member_that_does_not_answer_keeps_its_cluster_for_seconds)
{
    struct bench b;
    const struct json *v = NULL;
    int64_t since = 0;
    int code = 200;

    bench_open(&b);
    make_cluster(&b);
    CHECK(comes(&b, "Ready", "False/ClusterStatusUnknown"));
    CHECK(ask_api(&b.rig, "DELETE", CLUSTER "/east", "", NULL) == 200);
    (void)usleep(200000);
    CHECK(ask_api(&b.rig, "GET", CLUSTER "/east", "", &v) == 200); /* it is asked again */
    CHECK(time_parse_seconds(json_get_str(v, "metadata.deletionTimestamp"), &since));
    clock_jump(&b.clock, (since + 5) * 1000000);
    for (int i = 0; i < 500 && code == 200; i++) {
        (void)usleep(10000);
        code = ask_api(&b.rig, "GET", CLUSTER "/east", "", NULL);
    }
    CHECK(code == 404);
    bench_close(&b);
}
