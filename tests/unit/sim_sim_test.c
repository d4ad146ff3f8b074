/* SPDX-License-Identifier: Apache-2.0 */

/* Simulated members: two of them on one server, with all controllers, as in the real program. */

#include <time.h>

#include "base/banned.h"
#include "federation/controllers/frame/controller.h"
#include "server_rig.h"
#include "sim/process.h"
#include "sim/sim.h"

#define M1          "/clusters/m1"
#define REPLICASETS "/apis/apps/v1/namespaces/default/replicasets"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define PODS        "/api/v1/namespaces/default/pods"
#define POD_SPEC    "{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}"

#define POD_OF                                                                                   \
    "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"," \
    "\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]}}"

static void open_member(struct rig *r, const char *name, const char *node)
{
    CHECK(ask_api(r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  arena_printf(r->arena,
                               "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"profile\":"
                               "\"kubernetes\"}}",
                               name),
                  NULL) == 200);
    if (node)
        CHECK(ask_api(r, "POST", arena_printf(r->arena, "/clusters/%s/api/v1/nodes", name), node,
                      NULL) == 200);
}

static struct sim *open_sim(struct rig *r)
{
    struct sim_options o = { .cpu = "4", .memory = "8Gi", .pods = "10", .dir = "." };

    rig_open(r);
    open_member(r, "m1", "{\"metadata\":{\"name\":\"n1\"}}");
    open_member(r, "m2", NULL);
    o.server = r->host->server;
    o.loop = r->host->loop;
    return sim_new(&o);
}

static void close_sim(struct rig *r, struct sim *s)
{
    sim_stop(s);
    loop_stop(r->host->loop);
    (void)pthread_join(r->thread, NULL);
    epoch_enter();
    client_free(r->client);
    sim_free(s);
    epoch_exit();
    host_free(r->host);
}

/* Until a field of what is there says so, as JSON; "" when there is none. */
static bool becomes(struct rig *r, const char *path, const char *field, const char *want)
{
    const struct timespec nap = { .tv_nsec = 5000000 };

    for (int i = 0; i < 4000; i++) {
        const struct json *v = NULL, *f;
        int code = ask_api(r, "GET", path, "", &v);

        f = code == 200 ? json_path(v, field) : NULL;
        if (strcmp(f ? str_z(r->arena, json_text(r->arena, f)) : "", want) == 0)
            return true;
        (void)nanosleep(&nap, NULL);
    }
    return false;
}

static size_t count(struct rig *r, const char *path)
{
    const struct json *v = NULL;

    return ask_api(r, "GET", path, "", &v) == 200 ? json_len(json_path(v, "items")) : 0;
}

TEST(a_deployment_runs_rolls_and_goes)
{
    struct rig r;
    struct sim *s = open_sim(&r);

    CHECK(becomes(&r, M1 "/api/v1/nodes/n1", "spec.taints", ""));
    CHECK(ask_api(&r, "POST", M1 DEPLOYMENTS,
                  "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3,\"selector\":{"
                  "\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":"
                  "\"b\"}},\"spec\":" POD_SPEC "}}}",
                  NULL) == 200);
    CHECK(becomes(&r, M1 DEPLOYMENTS "/d", "status.availableReplicas", "3"));
    CHECK(count(&r, M1 PODS) == 3);
    CHECK(count(&r, "/clusters/m2" PODS) == 0);
    CHECK(ask_api(&r, "PATCH", M1 DEPLOYMENTS "/d",
                  "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
                  "\"y\"}]}}}}",
                  NULL) == 200);
    for (int i = 0; i < 4000 && count(&r, M1 REPLICASETS) < 2; i++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    CHECK(becomes(&r, M1 DEPLOYMENTS "/d", "status.updatedReplicas", "3"));
    CHECK(becomes(&r, M1 DEPLOYMENTS "/d", "status.replicas", "3"));
    CHECK(count(&r, M1 REPLICASETS) == 2);
    CHECK(ask_api(&r, "PATCH", M1 DEPLOYMENTS "/d", "{\"spec\":{\"replicas\":0}}", NULL) == 200);
    CHECK(becomes(&r, M1 DEPLOYMENTS "/d", "status.replicas", ""));
    CHECK(becomes(&r, M1 PODS, "items", "[]"));
    close_sim(&r, s);
}

TEST(without_a_node_pods_wait_for_one)
{
    struct rig r;
    struct sim *s = open_sim(&r);

    CHECK(ask_api(&r, "POST", "/clusters/m2" PODS,
                  "{\"metadata\":{\"name\":\"p\"},\"spec\":" POD_SPEC "}", NULL) == 200);
    CHECK(becomes(&r, "/clusters/m2" PODS "/p", "status.phase", "\"Pending\""));
    CHECK(ask_api(&r, "POST", "/clusters/m2/api/v1/nodes", "{\"metadata\":{\"name\":\"late\"}}",
                  NULL) == 200);
    CHECK(becomes(&r, "/clusters/m2" PODS "/p", "status.phase", "\"Running\""));
    CHECK(becomes(&r, "/clusters/m2" PODS "/p", "spec.nodeName", "\"late\""));
    CHECK(ask_api(&r, "DELETE", "/clusters/m2/api/v1/nodes/late", "", NULL) == 200);
    CHECK(becomes(&r, "/clusters/m2" PODS, "items", "[]"));
    close_sim(&r, s);
}

TEST(what_does_not_fit_runs_when_there_is_room)
{
    struct rig r;
    struct sim *s = open_sim(&r);

    CHECK(ask_api(&r, "POST", M1 PODS, arena_printf(r.arena, POD_OF, "p1"), NULL) == 200);
    CHECK(becomes(&r, M1 PODS "/p1", "status.phase", "\"Running\""));
    CHECK(ask_api(&r, "POST", M1 PODS, arena_printf(r.arena, POD_OF, "p2"), NULL) == 200);
    CHECK(becomes(&r, M1 PODS "/p2", "status.phase", "\"Pending\""));
    CHECK(ask_api(&r, "DELETE", M1 PODS "/p1", "", NULL) == 200);
    CHECK(becomes(&r, M1 PODS "/p2", "status.phase", "\"Running\""));
    close_sim(&r, s);
}

TEST(jobs_end_and_services_find_pods)
{
    struct rig r;
    struct sim *s = open_sim(&r);

    CHECK(ask_api(&r, "POST", M1 "/apis/batch/v1/namespaces/default/jobs",
                  "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"completions\":3,\"parallelism\":2,"
                  "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
                  "\"c\",\"image\":\"x\"}]}}}}",
                  NULL) == 200);
    CHECK(becomes(&r, M1 "/apis/batch/v1/namespaces/default/jobs/j", "status.succeeded", "3"));
    CHECK(ask_api(&r, "POST", M1 "/api/v1/namespaces/default/services",
                  "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"selector\":{\"a\":\"b\"},\"ports\":[{"
                  "\"port\":80}]}}",
                  NULL) == 200);
    CHECK(ask_api(&r, "POST", M1 PODS,
                  "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}},\"spec\":" POD_SPEC "}",
                  NULL) == 200);
    CHECK(becomes(&r, M1 PODS "/p", "status.phase", "\"Running\""));
    for (int i = 0; i < 400; i++) {
        const struct json *v = NULL;
        const struct timespec nap = { .tv_nsec = 10000000 };

        if (ask_api(&r, "GET", M1 "/api/v1/namespaces/default/endpoints/s", "", &v) == 200 &&
            json_len(json_path(json_at(json_path(v, "subsets"), 0), "addresses")) == 1)
            break;
        CHECK(i < 399);
        (void)nanosleep(&nap, NULL);
    }
    close_sim(&r, s);
}

TEST(stateful_and_daemon_sets)
{
    struct rig r;
    struct sim *s = open_sim(&r);
    static const char sets[] = M1 "/apis/apps/v1/namespaces/default/statefulsets";
    static const char daemons[] = M1 "/apis/apps/v1/namespaces/default/daemonsets";

    CHECK(ask_api(&r, "POST", sets,
                  "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"replicas\":2,\"selector\":{"
                  "\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":"
                  "\"b\"}},\"spec\":" POD_SPEC "}}}",
                  NULL) == 200);
    CHECK(ask_api(&r, "POST", daemons,
                  "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"c\":"
                  "\"d\"}},\"template\":{\"metadata\":{\"labels\":{\"c\":\"d\"}},\"spec\":" POD_SPEC
                  "}}}",
                  NULL) == 200);
    CHECK(becomes(&r, arena_printf(r.arena, "%s/s", sets), "status.readyReplicas", "2"));
    CHECK(becomes(&r, M1 PODS "/s-1", "status.phase", "\"Running\""));
    CHECK(becomes(&r, arena_printf(r.arena, "%s/d", daemons), "status.numberReady", "1"));
    CHECK(ask_api(&r, "POST", M1 "/api/v1/nodes", "{\"metadata\":{\"name\":\"n2\"}}", NULL) == 200);
    CHECK(becomes(&r, arena_printf(r.arena, "%s/d", daemons), "status.numberReady", "2"));
    close_sim(&r, s);
}

TEST(places_of_volumes_in_arguments)
{
    scoped_arena a = arena_new();
    const struct process_mount m[] = { { STR("/etc/x"), STR("/d/x") },
                                       { STR("/etc/x/y"), STR("/d/y") },
                                       { STR("/"), STR("/bad") } };

    CHECK_STR(str_z(a, process_relocate(a, STR("--file=/etc/x/k"), m, 3)), "--file=/d/x/k");
    CHECK_STR(str_z(a, process_relocate(a, STR("/etc/x/y/k:/etc/x"), m, 3)), "/d/y/k:/d/x");
    CHECK_STR(str_z(a, process_relocate(a, STR("/etc/xy/k"), m, 3)), "/etc/xy/k");
    CHECK_STR(str_z(a, process_relocate(a, STR("plain"), m, 3)), "plain");
}
