/* SPDX-License-Identifier: Apache-2.0 */

/* API servers that serve a part of an instance's API: who is asked, for whom, and what is said. */

#include "apiserver/call/internal.h"
#include "apiserver/discovery/discovery_merge.h"
#include "apiserver/outbound/backends.h"
#include "apiserver/outbound/front_proxy.h"
#include "fleet_rig.h"

#define API     "/clusters/demo/apis/metrics.example.com/v1"
#define SERVICE "/clusters/demo/api/v1/namespaces/default/services"
#define APIS    "/clusters/demo/apis/apiregistration.k8s.io/v1/apiservices"
#define V2      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static const str devs[] = { STR_INIT("devs"), STR_INIT("system:authenticated") };
static const str scopes[] = { STR_INIT("a"), STR_INIT("b") };
static const struct identity_extra extra[] = { { STR_INIT("example.com/scopes"), scopes, 2 } };
static const struct identity alice = { .user = STR_INIT("alice"),
                                       .uid = STR_INIT("u-1"),
                                       .groups = devs,
                                       .ngroups = 2,
                                       .extra = extra,
                                       .nextra = 1 };

struct agg {
    struct fleet_rig f;
    struct fake fake;
    struct client *alice;
};

static void serve(struct fake *f, struct http_request *req)
{
    static const struct http_header away[] = { { STR_INIT("location"),
                                                 STR_INIT("https://169.254.169.254/") } };

    if (!req->peer)
        fake_answer(req, 401, STR("{\"kind\":\"Status\",\"code\":401}"));
    else if (str_is(req->path, "/apis/metrics.example.com/v1"))
        fake_answer(req, 200,
                    STR("{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":"
                        "\"metrics.example.com/v1\",\"resources\":[{\"name\":\"loads\","
                        "\"singularName\":\"load\",\"namespaced\":true,\"kind\":\"Load\","
                        "\"shortNames\":[\"ld\"],\"verbs\":[\"get\",\"list\"]},{\"name\":"
                        "\"loads/status\",\"namespaced\":true,\"kind\":\"Load\",\"verbs\":"
                        "[\"get\"]}]}"));
    else if (str_is(req->path, "/openapi/v3"))
        fake_answer(req, 200,
                    STR("{\"paths\":{\"apis/metrics.example.com/v1\":{\"serverRelativeURL\":"
                        "\"/openapi/v3/apis/metrics.example.com/v1?hash=1\"}}}"));
    else if (str_ends(req->path, STR("/away")))
        http_reply(req, 302, away, 1, NULL, 0);
    else if (str_ends(req->path, STR("/huge")))
        f->source.pull = fake_pull, http_reply_source(req, 200, NULL, 0, &f->source);
    else
        fake_answer(req, 200, STR("{\"kind\":\"Load\",\"apiVersion\":\"metrics.example.com/v1\"}"));
}

static void allow_loopback(void *arg)
{
    ((struct server *)arg)->egress.loopback = true;
}

static void open_agg(struct agg *g)
{
    struct rig *r = &g->f.rig;

    fleet_rig_open(&g->f, NULL);
    loop_call_wait(r->host->loop, allow_loopback, r->host->server);
    server_start_collecting(r->host->server);
    fake_open_for(&g->fake, r->host->server->front_ca.cert);
    g->fake.handler = serve;
    g->alice = client_new(server_local_as(r->host->server, r->host->loop, &alice));
}

static void close_agg(struct agg *g)
{
    server_stop_collecting(g->f.rig.host->server);
    g->f.rig.own = g->alice;
    fleet_rig_close(&g->f);
    fake_close(&g->fake);
}

static void add_service(struct agg *g, const char *instance, const char *name)
{
    CHECK(ask_api(&g->f.rig, "POST",
                  arena_printf(g->f.rig.arena, "%s/api/v1/namespaces/default/services", instance),
                  arena_printf(g->f.rig.arena,
                               "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"type\":"
                               "\"ExternalName\",\"externalName\":\"localhost\"}}",
                               name),
                  NULL) == 200);
}

static void add_api(struct agg *g, const char *instance, const char *service, const char *more)
{
    struct arena *a = g->f.rig.arena;
    str port = str_from(http_server_address(g->fake.http), 10);

    CHECK(ask_api(&g->f.rig, "POST",
                  arena_printf(a, "%s/apis/apiregistration.k8s.io/v1/apiservices", instance),
                  arena_printf(a,
                               "{\"metadata\":{\"name\":\"v1.metrics.example.com\"},\"spec\":{"
                               "\"group\":\"metrics.example.com\",\"version\":\"v1\","
                               "\"groupPriorityMinimum\":17350,\"versionPriority\":10,"
                               "\"service\":{\"namespace\":\"default\",\"name\":\"%s\",\"port\":"
                               "%.*s}%s}}",
                               service, STR_ARG(port), more),
                  NULL) == 200);
}

static const char *ca_of(struct agg *g)
{
    return arena_printf(g->f.rig.arena, ",\"caBundle\":\"%.*s\"",
                        STR_ARG(base64_encode(g->f.rig.arena, BASE64_STD, g->fake.ca.cert)));
}

static str reason_of(struct agg *g, const char *instance, str *message)
{
    const struct json *v = NULL;

    if (ask_api(&g->f.rig, "GET",
                arena_printf(g->f.rig.arena,
                             "%s/apis/apiregistration.k8s.io/v1/apiservices/v1.metrics.example.com",
                             instance),
                "", &v) != 200)
        return STR_NONE;
    json_for_each (c, json_path(v, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Available")) {
            if (message)
                *message = json_get_str(c, "message");
            return json_get_str(c, "reason");
        }
    return STR_NONE;
}

static bool becomes(struct agg *g, const char *instance, const char *reason)
{
    str message = STR_NONE, is = STR_NONE;

    for (int i = 0; i < 1000; i++) {
        is = reason_of(g, instance, &message);
        if (str_is(is, reason))
            return true;
        (void)usleep(10000);
    }
    printf("# %.*s: %.*s\n", STR_ARG(is), STR_ARG(message));
    return false;
}

static int ask_as(struct agg *g, const char *path, const struct json **out)
{
    struct client_request req = { .method = STR("GET"), .path = str_of(path) };
    const struct json *v = NULL;

    status_reset(&g->f.rig.st);
    if (client_do(g->alice, g->f.rig.arena, &req, out ? out : &v, &g->f.rig.st) < 0)
        return status_http(&g->f.rig.st);
    return 200;
}

static void let(struct agg *g)
{
    CHECK(ask_api(&g->f.rig, "POST",
                  "/clusters/demo/apis/rbac.authorization.k8s.io/v1/clusterroles",
                  "{\"metadata\":{\"name\":\"loads\"},\"rules\":[{\"apiGroups\":["
                  "\"metrics.example.com\"],\"resources\":[\"loads\"],\"verbs\":[\"get\"]}]}",
                  NULL) == 200);
    CHECK(ask_api(&g->f.rig, "POST",
                  "/clusters/demo/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                  "{\"metadata\":{\"name\":\"loads\"},\"roleRef\":{\"apiGroup\":"
                  "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"loads\"},"
                  "\"subjects\":[{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\","
                  "\"name\":\"alice\"}]}",
                  NULL) == 200);
}

TEST(a_group_of_another_server)
{
    struct agg g;
    const struct json *v = NULL;
    str message;

    open_agg(&g);
    add_api(&g, "/clusters/demo", "api", ca_of(&g));
    CHECK(becomes(&g, "/clusters/demo", "ServiceNotFound"));
    (void)reason_of(&g, "/clusters/demo", &message);
    CHECK(str_is(message, "service/api in \"default\" is not present"));
    CHECK(ask_api(&g.f.rig, "GET", API, "", NULL) == 503);
    add_service(&g, "/clusters/demo", "api");
    CHECK(becomes(&g, "/clusters/demo", "Passed"));
    CHECK(fake_saw(&g.fake, "x-remote-user: system:kube-aggregator\n"));
    CHECK(ask_api(&g.f.rig, "GET", API "/namespaces/default/loads/x", "", &v) == 200);
    CHECK(str_is(json_get_str(v, "kind"), "Load"));
    /* In no other instance. */
    CHECK(ask_api(&g.f.rig, "GET", "/apis/metrics.example.com/v1", "", NULL) == 404);
    CHECK(ask_api(&g.f.rig, "DELETE", APIS "/v1.metrics.example.com", "", NULL) == 200);
    CHECK(ask_api(&g.f.rig, "GET", API, "", NULL) == 404);
    close_agg(&g);
}

TEST(who_asks_is_told_and_authorized_before)
{
    struct agg g;
    unsigned before;

    open_agg(&g);
    add_service(&g, "/clusters/demo", "api");
    add_api(&g, "/clusters/demo", "api", ca_of(&g));
    CHECK(becomes(&g, "/clusters/demo", "Passed"));
    before = atomic_load(&g.fake.requests);
    CHECK(ask_as(&g, API "/namespaces/default/loads/x", NULL) == 403);
    CHECK(atomic_load(&g.fake.requests) == before);
    let(&g);
    CHECK(ask_as(&g, API "/namespaces/default/loads/x?limit=3", NULL) == 200);
    CHECK(fake_saw(&g.fake, "GET /apis/metrics.example.com/v1/namespaces/default/loads/x?limit=3"));
    CHECK(fake_saw(&g.fake, "x-remote-user: alice\n"));
    CHECK(fake_saw(&g.fake, "x-remote-uid: u-1\n"));
    CHECK(fake_saw(&g.fake, "x-remote-group: devs\n"));
    CHECK(fake_saw(&g.fake, "x-remote-group: system:authenticated\n"));
    CHECK(fake_saw(&g.fake, "x-remote-extra-example.com%2fscopes: b\n"));
    CHECK(!strstr(g.fake.seen, "authorization:"));
    close_agg(&g);
}

TEST(documents_have_what_others_serve)
{
    struct agg g;
    const struct json *v = NULL, *found = NULL;
    size_t at = 0, batch = 0, policy = 0, here = 0;

    open_agg(&g);
    add_service(&g, "/clusters/demo", "api");
    add_api(&g, "/clusters/demo", "api", ca_of(&g));
    CHECK(becomes(&g, "/clusters/demo", "Passed"));
    REQUIRE(ask_api(&g.f.rig, "GET", "/clusters/demo/apis", "", &v) == 200);
    json_for_each (o, json_get(v, STR("groups"))) {
        at++;
        if (str_is(json_get_str(o, "name"), "metrics.example.com"))
            found = o, here = at;
        batch = str_is(json_get_str(o, "name"), "batch") ? at : batch;
        policy = str_is(json_get_str(o, "name"), "policy") ? at : policy;
    }
    REQUIRE(found);
    CHECK(str_is(json_get_str(found, "preferredVersion.version"), "v1"));
    CHECK(here < policy || here < batch);
    REQUIRE(ask_api(&g.f.rig, "GET", "/clusters/demo/apis/metrics.example.com", "", &v) == 200);
    CHECK(str_is(json_get_str(v, "kind"), "APIGroup"));
    REQUIRE(ask_api(&g.f.rig, "GET", API, "", &v) == 200);
    CHECK(str_is(json_get_str(v, "kind"), "APIResourceList"));
    REQUIRE(ask_api(&g.f.rig, "GET", "/clusters/demo/openapi/v3", "", &v) == 200);
    found = json_get(json_get(v, STR("paths")), STR("apis/metrics.example.com/v1"));
    CHECK(str_starts(json_get_str(found, "serverRelativeURL"),
                     STR("/clusters/demo/openapi/v3/apis/metrics.example.com/v1?hash=")));
    CHECK(ask_api(&g.f.rig, "GET", "/clusters/demo/openapi/v3/apis/metrics.example.com/v1", "",
                  NULL) == 200);
    CHECK(fake_saw(&g.fake, "x-remote-user: system:aggregator\n"));
    CHECK(!strstr(g.fake.seen, "x-remote-group"));
    close_agg(&g);
}

/* The certificate says which instance it is for; the other instance's backend must not take it. */
TEST(every_instance_has_a_name_of_its_own)
{
    struct agg g;
    const struct json *v = NULL;
    str names;

    open_agg(&g);
    add_service(&g, "/clusters/demo", "api");
    add_api(&g, "/clusters/demo", "api", ca_of(&g));
    CHECK(becomes(&g, "/clusters/demo", "Passed"));
    REQUIRE(ask_api(&g.f.rig, "GET",
                    "/clusters/demo/api/v1/namespaces/kube-system/configmaps/"
                    "extension-apiserver-authentication",
                    "", &v) == 200);
    names = json_str(json_get(json_get(v, STR("data")), STR("requestheader-allowed-names")));
    CHECK(str_starts(names, STR("[\"front-proxy:")) && str_ends(names, STR("\"]")));
    CHECK(fake_saw(&g.fake, arena_printf(g.f.rig.arena, "by %.*s\n",
                                         STR_ARG(str_sub(names, 2, names.n - 4)))));
    CHECK(!json_get(json_get(v, STR("data")), STR("client-ca-file")));
    add_service(&g, "", "api");
    add_api(&g, "", "api", ca_of(&g));
    CHECK(becomes(&g, "", "Passed"));
    CHECK(ask_api(&g.f.rig, "GET", "/apis/metrics.example.com/v1/loads/x", "", &v) == 200);
    CHECK(strstr(g.fake.seen, "by front-proxy:") != NULL);
    CHECK(!strstr(g.fake.seen, arena_printf(g.f.rig.arena, "by %.*s\n",
                                            STR_ARG(str_sub(names, 2, names.n - 4)))));
    close_agg(&g);
}

TEST(a_server_that_nobody_vouches_for)
{
    struct agg g;
    const struct json *v = NULL;
    bool told = false;

    open_agg(&g);
    add_service(&g, "/clusters/demo", "api");
    add_api(&g, "/clusters/demo", "api", "");
    CHECK(becomes(&g, "/clusters/demo", "FailedDiscoveryCheck"));
    CHECK(ask_api(&g.f.rig, "GET", API, "", NULL) == 503);
    CHECK(ask_api(&g.f.rig, "PATCH", APIS "/v1.metrics.example.com",
                  "{\"spec\":{\"insecureSkipTLSVerify\":true}}", NULL) == 200);
    CHECK(becomes(&g, "/clusters/demo", "Passed"));
    REQUIRE(ask_api(&g.f.rig, "GET", APIS "/v1.metrics.example.com", "", &v) == 200);
    json_for_each (c, json_path(v, "status.conditions"))
        told = told || (str_is(json_get_str(c, "type"), "InsecureSkipTLSVerify") &&
                        str_is(json_get_str(c, "status"), "True"));
    CHECK(told);
    close_agg(&g);
}

TEST(redirects_stay_and_large_answers_pass)
{
    struct agg g;
    const struct json *v = NULL;

    open_agg(&g);
    add_service(&g, "/clusters/demo", "api");
    add_api(&g, "/clusters/demo", "api", ca_of(&g));
    CHECK(becomes(&g, "/clusters/demo", "Passed"));
    CHECK(ask_api(&g.f.rig, "GET", API "/loads/away", "", NULL) != 200);
    CHECK(str_contains(g.f.rig.st.message, STR("redirect")) || status_http(&g.f.rig.st) >= 500);
    g.fake.left = 20 << 20;
    CHECK(ask_api(&g.f.rig, "GET", API "/loads/huge", "", &v) != 200); /* is no JSON */
    CHECK(g.fake.left == 0);
    close_agg(&g);
}

TEST(what_backends_say_is_not_believed)
{
    static const char *const bad[] = { "", "[]", "{}", "{\"kind\":\"APIGroupList\"}" };
    scoped_arena a = arena_new();
    struct status st;
    str out;

    status_init(&st, a);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(backend_read_resources(a, str_of(bad[i]), STR("g"), STR("v1"), &out, &st) < 0);
    REQUIRE(backend_read_resources(
                a,
                STR("{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"a b\",\"kind\":"
                    "\"A\"},{\"name\":\"x\",\"kind\":\"\"},{\"name\":\"ok\",\"kind\":\"Ok\","
                    "\"verbs\":[\"get\",3,\"\\n\"]},{\"name\":\"none/scale\",\"kind\":\"S\"}]}"),
                STR("g"), STR("v1"), &out, &st) == 0);
    CHECK(str_is(out, "[{\"resource\":\"ok\",\"responseKind\":{\"group\":\"g\",\"version\":\"v1\","
                      "\"kind\":\"Ok\"},\"scope\":\"Cluster\",\"singularResource\":\"\","
                      "\"verbs\":[\"get\"]}]"));
}

static const struct json *parsed(struct arena *a, const char *text)
{
    const struct json *v = &json_null;
    struct status st;

    status_init(&st, a);
    CHECK(json_parse(a, str_of(text), NULL, &v, &st) == 0);
    return v;
}

TEST(groups_and_versions_by_priority)
{
    static const struct aggregated_version others[] = {
        { .group = STR_INIT("apps"),
          .version = STR_INIT("v2"),
          .group_priority = 1,
          .version_priority = 20,
          .resources = STR_INIT("[]") },
        { .group = STR_INIT("z.io"),
          .version = STR_INIT("v1"),
          .group_priority = 17750,
          .version_priority = 1,
          .stale = true },
        { .group = STR_INIT("a.io"), .version = STR_INIT("v1"), .group_priority = 10 },
    };
    static const struct aggregated g = { .at = others, .n = 3 };
    scoped_arena a = arena_new();
    const struct json *doc =
        merge_groups(a,
                     parsed(a, "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{"
                               "\"name\":\"apps\"},\"versions\":[{\"version\":\"v1\"}]},{"
                               "\"metadata\":{\"name\":\"batch\"},\"versions\":[{\"version\":"
                               "\"v1\"}]}]}"),
                     &g);

    CHECK(
        str_is(json_text(a, doc),
               "{\"kind\":\"APIGroupDiscoveryList\",\"items\":["
               "{\"metadata\":{\"name\":\"apps\"},\"versions\":[{\"version\":\"v2\",\"resources\":"
               "[],\"freshness\":\"Current\"},{\"version\":\"v1\"}]},"
               "{\"metadata\":{\"name\":\"z.io\"},\"versions\":[{\"version\":\"v1\","
               "\"freshness\":\"Stale\"}]},"
               "{\"metadata\":{\"name\":\"batch\"},\"versions\":[{\"version\":\"v1\"}]},"
               "{\"metadata\":{\"name\":\"a.io\"},\"versions\":[{\"version\":\"v1\","
               "\"freshness\":\"Stale\"}]}]}"));
}
