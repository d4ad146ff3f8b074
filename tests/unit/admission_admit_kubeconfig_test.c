/* SPDX-License-Identifier: Apache-2.0 */

/* What a kubeconfig inside of an object may not say, form by form. */

#include "server_fixture.h"

#define CLUSTERS "/apis/workload.kcp.dev/v1alpha1/clusters"

#define CONFIG(current, cluster, user)                                                            \
    "current-context: " current "\\ncontexts: [{name: c, context: {cluster: k, "                  \
    "user: u}}]\\nclusters: [{name: k, cluster: {" cluster "}}]\\nusers: [{name: u, user: {" user \
    "}}]\\n"

#define SERVER "server: 'https://192.0.2.1:6443'"

static const char *manifest(struct arena *a, const char *kubeconfig)
{
    return arena_printf(a, "{\"metadata\":{\"name\":\"m\"},\"spec\":{\"kubeconfig\":\"%s\"}}",
                        kubeconfig);
}

/* The answer's code and, when it is refused, its message. */
static void check(const char *kubeconfig, const char *code, const char *message)
{
    struct host *h = host_new(0, 0);
    struct arena *a = arena_new();
    struct ask *q = ask_body(ask(h, "POST", CLUSTERS), manifest(a, kubeconfig));

    CHECK_STR(answer(q), code);
    if (*message)
        CHECK_STR(answer_field(q, "message"), message);
    ask_free(q);
    arena_free(a);
    host_free(h);
}

#define REFUSED(kubeconfig, why)       \
    check((kubeconfig), "422 Invalid", \
          "Cluster.workload.kcp.dev \"m\" is invalid: spec.kubeconfig: " why)

TEST(inline_data_is_taken)
{
    check(CONFIG("c", SERVER ", certificate-authority-data: Y2E=", "token: t"), "201", "");
}

TEST(exec_is_refused)
{
    REFUSED(
        CONFIG("c", SERVER, "exec: {command: sh}"),
        "Invalid value: users[0].user.exec: Forbidden: a kubeconfig in an object may hold inline "
        "data only");
}

TEST(auth_provider_is_refused)
{
    REFUSED(
        CONFIG("c", SERVER, "auth-provider: {name: oidc}"),
        "Invalid value: users[0].user.auth-provider: Forbidden: a kubeconfig in an object may hold "
        "inline data only");
}

TEST(file_paths_are_refused_all_at_once)
{
    struct host *h = host_new(0, 0);
    struct arena *a = arena_new();
    struct ask *q = ask_body(ask(h, "POST", CLUSTERS),
                             manifest(a, CONFIG("c", SERVER ", certificate-authority: /etc/passwd",
                                                "client-certificate: /etc/a, client-key: /etc/b")));

    CHECK_STR(answer(q), "422 Invalid");
    CHECK(strstr(answer_field(q, "message"), "clusters[0].cluster.certificate-authority"));
    CHECK(strstr(answer_field(q, "message"), "users[0].user.client-certificate:"));
    CHECK(strstr(answer_field(q, "message"), "users[0].user.client-key:"));
    CHECK(!strstr(answer_field(q, "message"), "/etc/"));
    ask_free(q);
    arena_free(a);
    host_free(h);
}

TEST(token_files_are_refused)
{
    REFUSED(CONFIG("c", SERVER, "tokenFile: /etc/shadow"),
            "Invalid value: users[0].user.tokenFile: Forbidden: a kubeconfig in an object may hold "
            "inline data only");
}

TEST(proxies_are_refused)
{
    REFUSED(
        CONFIG("c", SERVER ", proxy-url: 'http://x'", "token: t"),
        "Invalid value: clusters[0].cluster.proxy-url: Forbidden: a kubeconfig in an object may "
        "hold inline data only");
}

TEST(a_member_that_need_not_prove_who_it_is_is_refused)
{
    REFUSED(CONFIG("c", SERVER ", insecure-skip-tls-verify: true", "token: t"),
            "Invalid value: clusters[0].cluster.insecure-skip-tls-verify: Forbidden: the server's "
            "certificate must be verified");
}

TEST(plain_http_is_refused)
{
    REFUSED(CONFIG("c", "server: 'http://192.0.2.1'", "token: t"),
            "Invalid value: clusters[0].cluster.server: Forbidden: must be an https:// URL");
}

TEST(a_context_that_is_missing_is_refused)
{
    REFUSED(CONFIG("''", SERVER, "token: t"),
            "Invalid value: current-context: Required value: is missing");
    REFUSED(CONFIG("other", SERVER, "token: t"),
            "Invalid value: contexts: Not found: there is no \"other\"");
}

TEST(what_is_no_kubeconfig_is_refused)
{
    REFUSED("[]", "Invalid value: current-context: Required value: is missing");
    REFUSED("{secret", "Invalid value: is not YAML");
}

TEST(fields_that_nobody_knows_are_refused)
{
    REFUSED(CONFIG("c", SERVER, "token: t, script: x"),
            "Invalid value: users[0].user.script: Forbidden: unknown field");
}

TEST(a_kubeconfig_has_a_limit)
{
    struct arena *a = arena_new();
    char *text = arena_alloc(a, (256 << 10) + 2);

    memset(text, 'a', (256 << 10) + 1);
    text[(256 << 10) + 1] = '\0';
    REFUSED(text, "Too long: may not be more than 262144 bytes");
    arena_free(a);
}

TEST(a_change_is_looked_at_like_a_create)
{
    struct host *h = host_new(0, 0);
    struct arena *a = arena_new();

    CHECK_STR(
        code_of(ask_body(ask(h, "POST", CLUSTERS), manifest(a, CONFIG("c", SERVER, "token: t")))),
        "201");
    CHECK_STR(code_of(ask_body(ask_header(ask(h, "PATCH", CLUSTERS "/m"), "content-type",
                                          "application/merge-patch+json"),
                               manifest(a, CONFIG("c", SERVER, "exec: {}")))),
              "422 Invalid");
    CHECK_STR(code_of(ask_body(ask_header(ask(h, "PATCH", CLUSTERS "/m"), "content-type",
                                          "application/merge-patch+json"),
                               "{\"spec\":{\"unschedulable\":true}}")),
              "200");
    arena_free(a);
    host_free(h);
}

TEST(protected_objects_stay)
{
    struct host *h = host_new(0, 0);
#define MAPS "/api/v1/namespaces/default/configmaps"
#define KEY  "\"resourcetemplate.karmada.io/deletion-protected\""

    CHECK_STR(code_of(ask_body(ask(h, "POST", MAPS),
                               "{\"metadata\":{\"name\":\"x\",\"labels\":{" KEY ":\"Always\"}}}")),
              "201");
    CHECK_STR(code_of(ask(h, "DELETE", MAPS "/x")), "403 Forbidden");
    CHECK_STR(code_of(ask_body(ask_header(ask(h, "PATCH", MAPS "/x"), "content-type",
                                          "application/merge-patch+json"),
                               "{\"metadata\":{\"labels\":{" KEY ":null}}}")),
              "200");
    CHECK_STR(code_of(ask(h, "DELETE", MAPS "/x")), "200");
    host_free(h);
}
