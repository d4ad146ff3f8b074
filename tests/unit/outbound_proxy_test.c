/* SPDX-License-Identifier: Apache-2.0 */

/* The proxy to members: what passes, what does not, and answers larger than memory should be. */

#include "fleet_rig.h"

#define PROXY "/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy"

static const str devs[] = { STR_INIT("devs"), STR_INIT("system:authenticated") };
static const struct identity alice = { .user = STR_INIT("alice"), .groups = devs, .ngroups = 2 };

struct proxy_rig {
    struct fleet_rig f;
    struct fake fake;
    struct client *alice;
};

static void open_proxy(struct proxy_rig *p)
{
    fleet_rig_open(&p->f, NULL);
    p->f.rig.host->server->egress.loopback = true;
    fake_open(&p->fake);
    p->fake.mode = FAKE_ECHO;
    add_cluster(&p->f, "demo", "m1", http_server_address(p->fake.http), STR("t"), p->fake.ca.cert);
    p->alice = client_new(server_local_as(p->f.rig.host->server, p->f.rig.host->loop, &alice));
}

static void let(struct proxy_rig *p, const char *verbs)
{
    CHECK(ask_api(&p->f.rig, "POST",
                  "/clusters/demo/apis/rbac.authorization.k8s.io/v1/clusterroles",
                  arena_printf(p->f.rig.arena,
                               "{\"metadata\":{\"name\":\"proxy\"},\"rules\":[{\"apiGroups\":["
                               "\"cluster.karmada.io\"],\"resources\":[\"clusters/proxy\"],"
                               "\"resourceNames\":[\"m1\"],\"verbs\":[%s]}]}",
                               verbs),
                  NULL) == 200);
    CHECK(ask_api(&p->f.rig, "POST",
                  "/clusters/demo/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                  "{\"metadata\":{\"name\":\"proxy\"},\"roleRef\":{\"apiGroup\":"
                  "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"proxy\"},"
                  "\"subjects\":[{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\","
                  "\"name\":\"alice\"}]}",
                  NULL) == 200);
}

static int ask_as(struct proxy_rig *p, const char *method, const char *path, const char *body,
                  const struct json **out)
{
    struct client_request req = { .method = str_of(method),
                                  .path = str_of(path),
                                  .content_type = STR("application/json"),
                                  .body = str_of(body) };
    const struct json *v;

    status_reset(&p->f.rig.st);
    if (client_do(p->alice, p->f.rig.arena, &req, out ? out : &v, &p->f.rig.st) < 0)
        return status_http(&p->f.rig.st);
    return 200;
}

static void end(struct proxy_rig *p)
{
    p->f.rig.own = p->alice;
    fleet_rig_close(&p->f);
    fake_close(&p->fake);
}

TEST(nobody_passes_without_the_right_to_the_proxy)
{
    struct proxy_rig p;

    open_proxy(&p);
    CHECK(ask_as(&p, "GET", PROXY "/api", "", NULL) == 403);
    let(&p, "\"get\"");
    CHECK(ask_as(&p, "GET", PROXY "/api", "", NULL) == 200);
    CHECK(ask_as(&p, "POST", PROXY "/api/v1/namespaces", "{}", NULL) == 403);
    CHECK(atomic_load(&p.fake.requests) == 1);
    end(&p);
}

TEST(the_member_is_asked_for_the_caller_and_by_nothing_of_his)
{
    struct proxy_rig p;
    const struct json *v;

    open_proxy(&p);
    let(&p, "\"*\"");
    CHECK(ask_as(&p, "GET", PROXY "/api/v1/pods?limit=5&labelSelector=a%3Db", "", NULL) == 200);
    CHECK(fake_saw(&p.fake, "GET /api/v1/pods?limit=5&labelSelector=a%3Db\n"));
    CHECK(fake_saw(&p.fake, "authorization: Bearer t\n"));
    CHECK(fake_saw(&p.fake, "impersonate-user: alice\n"));
    CHECK(fake_saw(&p.fake, "impersonate-group: devs\n"));
    CHECK(!strstr(p.fake.seen, "system:authenticated"));
    CHECK(ask_as(&p, "POST", PROXY "/api/v1/namespaces", "{\"kind\":\"Hello\"}", &v) == 200);
    CHECK(str_is(json_get_str(v, "kind"), "Hello"));
    CHECK(fake_saw(&p.fake, "POST /api/v1/namespaces?\n"));
    end(&p);
}

TEST(an_admin_is_nobody_else_in_a_member)
{
    struct proxy_rig p;

    open_proxy(&p);
    CHECK(ask_api(&p.f.rig, "GET", PROXY "/api", "", NULL) == 200);
    CHECK(fake_saw(&p.fake, "authorization: Bearer t\n"));
    CHECK(!strstr(p.fake.seen, "impersonate-"));
    end(&p);
}

TEST(a_path_cannot_climb_out_of_the_proxy)
{
    struct proxy_rig p;

    open_proxy(&p);
    let(&p, "\"*\"");
    CHECK(ask_as(&p, "GET", PROXY "/../../x", "", NULL) == 400);
    CHECK(ask_as(&p, "GET", PROXY "/%2e%2e/x", "", NULL) == 400);
    CHECK(ask_as(&p, "GET", PROXY "/a%2fb", "", NULL) == 400);
    CHECK(atomic_load(&p.fake.requests) == 0);
    CHECK(ask_as(&p, "GET", PROXY "/a%20b%3f", "", NULL) == 200);
    CHECK(fake_saw(&p.fake, "GET /a%20b%3F?\n"));
    end(&p);
}

TEST(redirects_and_refusals_of_a_member_are_said_as_such)
{
    struct proxy_rig p;

    open_proxy(&p);
    let(&p, "\"*\"");
    p.fake.mode = FAKE_REDIRECTS;
    CHECK(ask_as(&p, "GET", PROXY "/api", "", NULL) == 503);
    CHECK(str_contains(p.f.rig.st.message, STR("redirect")));
    CHECK(ask_as(&p, "GET", "/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters/m2/proxy/api",
                 "", NULL) == 403);
    CHECK(ask_api(&p.f.rig, "GET",
                  "/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters/m2/proxy/api", "",
                  NULL) == 404);
    end(&p);
}

TEST(a_member_that_hangs_ends_in_time)
{
    struct proxy_rig p;

    open_proxy(&p);
    let(&p, "\"*\"");
    p.fake.mode = FAKE_HANGS;
    CHECK(ask_as(&p, "GET", PROXY "/api?timeout=1s", "", NULL) == 504);
    CHECK(ask_as(&p, "POST", PROXY "/api?timeout=1s", "{}", NULL) == 504);
    p.fake.mode = FAKE_ECHO;
    CHECK(ask_as(&p, "GET", PROXY "/api", "", NULL) == 200);
    end(&p);
}

TEST(a_large_answer_passes_whole)
{
    struct proxy_rig p;
    const struct json *v;

    open_proxy(&p);
    let(&p, "\"*\"");
    p.fake.mode = FAKE_HUGE;
    p.fake.left = 20 << 20;
    /* No JSON, so the client complains; that it came whole shows in what is left. */
    CHECK(ask_as(&p, "GET", PROXY "/api", "", &v) != 200);
    CHECK(p.fake.left == 0);
    end(&p);
}
