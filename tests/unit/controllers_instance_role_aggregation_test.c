/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

#include "apiserver/call/local.h"
#include "federation/controllers/frame/controller.h"
#include "server_fixture.h"

/* The controller of aggregated roles against a whole server, with the rights it has there. */

#define ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"

struct rig {
    struct host *host;
    struct client *client, *controllers; /* ours, and the one of the controller */
    struct controller *controller;
    pthread_t thread;
    struct arena *arena;
};

static void *run_loop(void *arg)
{
    epoch_enter();
    loop_run(arg);
    epoch_exit();
    return NULL;
}

static void rig_init(struct rig *r)
{
    static const struct identity admin = { .user = STR_INIT("admin"),
                                           .groups = ask_masters,
                                           .ngroups = 1 };

    r->host = host_new(0, 0);
    r->arena = r->host->arena;
    r->client = client_new(server_local_as(r->host->server, r->host->loop, &admin));
    r->controllers = client_new(server_local_transport(r->host->server, r->host->loop,
                                                       STR("system:kairship:role-aggregation")));
    if (pthread_create(&r->thread, NULL, run_loop, r->host->loop) != 0)
        exit(1);
    r->controller = controller_start(&role_aggregation_controller, r->controllers);
}

static void rig_free(struct rig *r)
{
    controller_stop(r->controller);
    loop_stop(r->host->loop);
    (void)pthread_join(r->thread, NULL);
    epoch_enter();
    client_free(r->client);
    client_free(r->controllers);
    epoch_exit();
    host_free(r->host);
}

static const struct json *call_api(struct rig *r, const char *method, const char *path,
                                   const char *body)
{
    struct client_request req = { .method = str_of(method),
                                  .path = str_of(path),
                                  .content_type = STR("application/json"),
                                  .body = str_of(body) };
    const struct json *v = &json_null;
    struct status st;

    status_init(&st, r->arena);
    if (!CHECK(client_do(r->client, r->arena, &req, &v, &st) == 0))
        printf("# %s %s: %.*s\n", method, path, STR_ARG(st.message));
    return v;
}

/* The role gives one rule, "get" on that resource, to those that collect by the label. */
static void make(struct rig *r, const char *prefix, const char *name, const char *label,
                 const char *resource)
{
    (void)call_api(r, "POST", arena_printf(r->arena, "%s" ROLES, prefix),
                   arena_printf(r->arena,
                                "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"%s\":\"true\"}},"
                                "\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"example.com\"],"
                                "\"resources\":[\"%s\"]}]}",
                                name, label, resource));
}

static void drop(struct rig *r, const char *prefix, const char *name)
{
    (void)call_api(r, "DELETE", arena_printf(r->arena, "%s" ROLES "/%s", prefix, name), "");
}

static const char *rules_of(struct rig *r, const char *prefix, const char *name)
{
    const struct json *v =
        call_api(r, "GET", arena_printf(r->arena, "%s" ROLES "/%s", prefix, name), "");

    return str_z(r->arena, json_text(r->arena, json_get(v, STR("rules"))));
}

/* Whether its rules speak of the resource: comes true within ten seconds. */
static bool comes_to(struct rig *r, const char *prefix, const char *name, const char *resource,
                     bool has)
{
    for (int i = 0; i < 1000; i++) {
        if ((strstr(rules_of(r, prefix, name), resource) != NULL) == has)
            return true;
        (void)usleep(10000);
    }
    return false;
}

TEST(rules_are_collected_and_follow)
{
    struct rig r;

    rig_init(&r);
    (void)call_api(
        &r, "POST", ROLES,
        "{\"metadata\":{\"name\":\"all\"},\"aggregationRule\":{\"clusterRoleSelectors\":["
        "{\"matchLabels\":{\"collect\":\"true\"}}]}}");
    CHECK_STR(rules_of(&r, "", "all"), "null");
    make(&r, "", "p1", "collect", "apples");
    make(&r, "", "p2", "collect", "pears");
    CHECK(comes_to(&r, "", "all", "apples", true));
    CHECK(comes_to(&r, "", "all", "pears", true));
    drop(&r, "", "p1");
    CHECK(comes_to(&r, "", "all", "apples", false));
    CHECK(strstr(rules_of(&r, "", "all"), "pears"));
    rig_free(&r);
}

/* Nobody hears of default roles that an instance has not touched; they change all the same. */
TEST(default_roles_collect_in_their_instance_only)
{
    static const char label[] = "rbac.authorization.k8s.io/aggregate-to-view";
    struct rig r;

    rig_init(&r);
    (void)call_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                   "{\"metadata\":{\"name\":\"one\"}}");
    make(&r, "/clusters/one", "mine", label, "apples");
    /* view is collected by edit, and edit by admin */
    CHECK(comes_to(&r, "/clusters/one", "view", "apples", true));
    CHECK(comes_to(&r, "/clusters/one", "edit", "apples", true));
    CHECK(comes_to(&r, "/clusters/one", "admin", "apples", true));
    CHECK(strstr(rules_of(&r, "/clusters/one", "view"), "configmaps"));
    CHECK(!strstr(rules_of(&r, "", "view"), "apples"));
    drop(&r, "/clusters/one", "mine");
    CHECK(comes_to(&r, "/clusters/one", "admin", "apples", false));
    CHECK_STR(rules_of(&r, "/clusters/one", "admin"), rules_of(&r, "", "admin"));
    rig_free(&r);
}

/* What was written by hand does not stay. */
TEST(rules_of_an_aggregated_role_are_the_controllers)
{
    struct rig r;

    rig_init(&r);
    (void)call_api(
        &r, "POST", ROLES,
        "{\"metadata\":{\"name\":\"all\"},\"aggregationRule\":{\"clusterRoleSelectors\":["
        "{\"matchLabels\":{\"collect\":\"true\"}}]},\"rules\":[{\"verbs\":[\"*\"],"
        "\"apiGroups\":[\"*\"],\"resources\":[\"plums\"]}]}");
    CHECK(comes_to(&r, "", "all", "plums", false));
    rig_free(&r);
}
