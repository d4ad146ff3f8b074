/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

/* What is refused in a suspended instance, and what goes on. */

#define INSTANCES "/apis/tenancy.kairship.io/v1alpha1/instances"
#define IN        "/clusters/one"
#define CLUSTERS  IN "/apis/cluster.karmada.io/v1alpha1/clusters"
#define CORE      IN "/api/v1/namespaces/default/"

static struct ask *api(struct host *h, const char *method, const char *path, const char *body)
{
    struct ask *a = ask_body(ask(h, method, path), body);

    if (strcmp(method, "PATCH") == 0)
        ask_header(a, "content-type", "application/merge-patch+json");
    return a;
}

static void suspend(struct host *h, const char *value)
{
    CHECK_STR(code_of(api(h, "PATCH", INSTANCES "/one",
                          arena_printf(h->arena, "{\"spec\":{\"suspended\":%s}}", value))),
              "200");
}

static const struct {
    const char *method, *path, *body;
    const char *suspended, *else_; /* codes */
} requests[] = {
    { "GET", CORE "configmaps/a", "", "200", "200" },
    { "PATCH", CORE "configmaps/a", "{\"data\":{\"x\":\"1\"}}", "403 Forbidden", "200" },
    { "POST", CORE "configmaps", "{\"metadata\":{\"name\":\"b\"}}", "403 Forbidden", "201" },
    { "PATCH", CLUSTERS "/m1", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", "403 Forbidden",
      "200" },
    { "PATCH", CLUSTERS "/m1/status", "{\"status\":{\"kubernetesVersion\":\"v1\"}}", "200", "200" },
    { "POST", CLUSTERS "/m1/proxy/api/v1/namespaces", "{}", "403 Forbidden",
      "503 ServiceUnavailable" },
    { "POST", IN "/apis/coordination.k8s.io/v1/namespaces/default/leases",
      "{\"metadata\":{\"generateName\":\"l\"}}", "201", "201" },
    { "POST", IN "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}", "201",
      "201" },
    { "POST", CORE "serviceaccounts/default/token", "{}", "201", "201" },
    { "DELETE", CORE "configmaps/b", "", "403 Forbidden", "200" },
    { "DELETE", CORE "configmaps?labelSelector=a", "", "403 Forbidden", "200" },
    { "PATCH", INSTANCES "/one", "{\"spec\":{\"alias\":\"x\"}}", "200", "200" },
};

static void play(struct host *h, bool suspended)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        const char *want = suspended ? requests[i].suspended : requests[i].else_;
        const char *got = code_of(api(h, requests[i].method, requests[i].path, requests[i].body));

        if (!CHECK(strcmp(got, want) == 0))
            printf("# %s %s: %s, not %s\n", requests[i].method, requests[i].path, got, want);
    }
}

TEST(an_instance_that_is_suspended_stands_still)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(code_of(api(h, "POST", INSTANCES, "{\"metadata\":{\"name\":\"one\"}}")), "201");
    CHECK_STR(code_of(api(h, "POST", CORE "configmaps", "{\"metadata\":{\"name\":\"a\"}}")), "201");
    CHECK_STR(code_of(api(h, "POST", CLUSTERS,
                          "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"syncMode\":\"Push\"}}")),
              "201");
    suspend(h, "true");
    play(h, true);
    suspend(h, "false");
    play(h, false);
    host_free(h);
}

TEST(an_upgraded_connection_to_a_member_may_write)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(code_of(api(h, "POST", INSTANCES,
                          "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"suspended\":true}}")),
              "201");
    a = ask(h, "GET", CLUSTERS "/m1/proxy/api/v1/namespaces/d/pods/p/exec");
    ask_header(a, "connection", "upgrade");
    ask_header(a, "upgrade", "websocket");
    CHECK_STR(code_of(a), "403 Forbidden");
    CHECK_STR(code_of(ask(h, "GET", CLUSTERS "/m1/proxy/api/v1/pods")), "404 NotFound");
    host_free(h);
}

TEST(the_refusal_says_why)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(code_of(api(h, "POST", INSTANCES,
                          "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"suspended\":true}}")),
              "201");
    a = api(h, "POST", CORE "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    (void)answer(a);
    CHECK_STR(answer_field(a, "message"),
              "configmaps is forbidden: instance \"one\" is suspended: nothing in it or in its "
              "members is changed as long as spec.suspended of the Instance is true");
    ask_free(a);
    host_free(h);
}
