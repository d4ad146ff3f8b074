/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

/* What the labels of a namespace do to pods, to what makes them, and to the namespace itself. */

#define L          "pod-security.kubernetes.io/"
#define NAMESPACES "/api/v1/namespaces"
#define PODS       NAMESPACES "/ps/pods"

static struct ask *api(struct host *h, const char *method, const char *path, const char *body)
{
    struct ask *a = ask_body(ask(h, method, path), body);

    if (strcmp(method, "PATCH") == 0)
        ask_header(a, "content-type", "application/merge-patch+json");
    return a;
}

static struct ask *label(struct host *h, const char *labels)
{
    return api(h, "PATCH", NAMESPACES "/ps",
               arena_printf(h->arena, "{\"metadata\":{\"labels\":{%s}}}", labels));
}

static struct ask *pod(struct host *h, const char *name, const char *more)
{
    return api(h, "POST", PODS,
               arena_printf(h->arena,
                            "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%"
                            "s\"automountServiceAccountToken\":false,\"containers\":[{"
                            "\"name\":\"c\",\"image\":\"i\"}]}}",
                            name, more));
}

static void open_host(struct host *h)
{
    CHECK_STR(code_of(api(h, "POST", NAMESPACES, "{\"metadata\":{\"name\":\"ps\"}}")), "201");
    CHECK_STR(code_of(api(h, "POST", NAMESPACES "/ps/serviceaccounts",
                          "{\"metadata\":{\"name\":\"default\"}}")),
              "201");
}

TEST(labels_that_say_nothing_are_refused)
{
    struct host *h = host_new(0, 0);
    struct ask *a = api(h, "POST", NAMESPACES,
                        "{\"metadata\":{\"name\":\"ps\",\"labels\":{\"" L "enforce\":\"all\",\"" L
                        "warn-version\":\"1.2\"}}}");

    (void)answer(a);
    CHECK_STR(answer_field(a, "message"),
              "Namespace \"ps\" is invalid: [metadata.labels[" L "enforce]: Invalid value: "
              "\"all\": must be one of privileged, baseline, restricted, metadata.labels[" L
              "warn-version]: Invalid value: \"1.2\": must be \"latest\" or \"v1.x\"]");
    ask_free(a);
    open_host(h);
    CHECK_STR(code_of(label(h, "\"" L "audit\":\"all\"")), "422 Invalid");
    CHECK_STR(code_of(label(h, "\"" L "audit\":\"baseline\"")), "200");
    host_free(h);
}

TEST(pods_keep_to_what_is_enforced)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    open_host(h);
    CHECK_STR(code_of(pod(h, "before", "\"hostPID\":true,")), "201");
    CHECK_STR(code_of(label(h, "\"" L "enforce\":\"baseline\",\"" L "enforce-version\":\"v1.2\"")),
              "200");
    CHECK_STR(code_of(pod(h, "good", "")), "201");
    a = pod(h, "bad", "\"hostPID\":true,");
    (void)answer(a);
    CHECK_STR(answer_field(a, "message"),
              "pods \"bad\" is forbidden: violates PodSecurity \"baseline:v1.2\": host namespaces "
              "(hostPID=true)");
    ask_free(a);
    /* One that is there stays, as long as it runs what it did. */
    CHECK_STR(code_of(api(h, "PATCH", PODS "/before", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}")),
              "200");
    CHECK_STR(code_of(api(h, "PATCH", PODS "/before",
                          "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"j\"}]}}")),
              "403 Forbidden");
    CHECK_STR(
        code_of(api(h, "PATCH", PODS "/before/status", "{\"status\":{\"message\":\"well\"}}")),
        "200");
    CHECK_STR(code_of(api(h, "PATCH", PODS "/before/ephemeralcontainers",
                          "{\"spec\":{\"ephemeralContainers\":[{\"name\":\"e\",\"image\":"
                          "\"i\"}]}}")),
              "403 Forbidden");
    CHECK_STR(code_of(api(h, "PATCH", PODS "/good/ephemeralcontainers",
                          "{\"spec\":{\"ephemeralContainers\":[{\"name\":\"e\",\"image\":"
                          "\"i\"}]}}")),
              "200");
    host_free(h);
}

TEST(a_stricter_namespace_tells_of_its_pods)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    open_host(h);
    CHECK_STR(code_of(pod(h, "a", "\"hostPID\":true,")), "201");
    a = label(h, "\"" L "enforce\":\"baseline\"");
    (void)answer(a);
    CHECK_STR(answer_field(a, "metadata.name"), "ps");
    CHECK(strstr(answer_header(a, "warning"), "existing pods in namespace \\\"ps\\\" violate the "
                                              "new PodSecurity enforce level "
                                              "\\\"baseline:latest\\\""));
    ask_free(a);
    a = label(h, "\"" L "enforce\":\"privileged\"");
    (void)answer(a);
    CHECK_STR(answer_field(a, "metadata.name"), "ps");
    CHECK(!answer_header(a, "warning") || !*answer_header(a, "warning"));
    ask_free(a);
    host_free(h);
}

TEST(what_makes_pods_is_warned)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    open_host(h);
    CHECK_STR(code_of(label(h, "\"" L "enforce\":\"baseline\"")), "200");
    a = api(h, "POST", "/apis/apps/v1/namespaces/ps/deployments",
            "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
            "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"hostIPC\":true,"
            "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    (void)answer(a);
    CHECK_STR(answer_field(a, "metadata.name"), "d");
    CHECK_STR(answer_header(a, "warning"),
              "299 - \"would violate PodSecurity \\\"baseline:latest\\\": host namespaces "
              "(hostIPC=true)\"");
    ask_free(a);
    host_free(h);
}

/* k8s: registry/rest/create.go BeforeCreate comes before what admission says of the whole. */
TEST(who_is_refused_hears_what_is_old)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    open_host(h);
    CHECK_STR(code_of(label(h, "\"" L "enforce\":\"baseline\"")), "200");
    a = pod(h, "p",
            "\"hostPID\":true,\"volumes\":[{\"name\":\"v\",\"flocker\":{\"datasetName\":\"d\"}}],");
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_header(a, "warning"),
              "299 - \"spec.volumes[0].flocker: deprecated in v1.22, non-functional in v1.25+\"");
    ask_free(a);
    host_free(h);
}
