/* SPDX-License-Identifier: Apache-2.0 */

/* Rights cannot be made out of less. */

#include "server_fixture.h"

#define RBAC  "/apis/rbac.authorization.k8s.io/v1"
#define IN    RBAC "/namespaces/default"
#define GROUP "rbac.authorization.k8s.io"

static const str teams[] = { STR_INIT("team") };
static const struct http_peer alice = {
    .cn = STR_INIT("alice"), .orgs = teams, .norgs = 1, .not_after = INT64_MAX
};

#define RULE(g, r, v)     "{\"apiGroups\":[\"" g "\"],\"resources\":[" r "],\"verbs\":[" v "]}"
#define ROLE(name, rules) "{\"metadata\":{\"name\":\"" name "\"},\"rules\":[" rules "]}"
#define BINDING(name, kind, role, user)                                        \
    "{\"metadata\":{\"name\":\"" name "\"},\"roleRef\":{\"apiGroup\":\"" GROUP \
    "\",\"kind\":\"" kind "\",\"name\":\"" role                                \
    "\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"" user "\"}]}"

static const char *admin(struct host *h, const char *path, const char *body)
{
    return code_of(ask_body(ask(h, "POST", path), body));
}

static struct ask *as_alice(struct host *h, const char *method, const char *path, const char *body)
{
    struct ask *a = ask_body(ask(h, method, path), body);

    a->call->peer = &alice;
    if (strcmp(method, "PATCH") == 0)
        ask_header(a, "content-type", "application/merge-patch+json");
    return a;
}

/* Alice writes roles and bindings in one namespace, reads pods there, and no more. */
static struct host *rig(void)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(admin(h, IN "/roles",
                    ROLE("mgr", RULE(GROUP, "\"roles\",\"rolebindings\"",
                                     "\"*\"") "," RULE("", "\"pods\"", "\"get\""))),
              "201");
    CHECK_STR(admin(h, IN "/roles",
                    ROLE("writer",
                         RULE(GROUP, "\"roles\",\"rolebindings\"",
                              "\"create\",\"update\",\"patch\",\"get\"") "," RULE("", "\"pods\"",
                                                                                  "\"get\""))),
              "201");
    CHECK_STR(admin(h, IN "/rolebindings", BINDING("writer", "Role", "writer", "alice")), "201");
    CHECK_STR(admin(h, IN "/roles", ROLE("secretive", RULE("", "\"secrets\"", "\"get\""))), "201");
    return h;
}

TEST(a_role_gives_what_its_writer_has)
{
    struct host *h = rig();
    struct ask *a;

    CHECK_STR(code_of(as_alice(h, "POST", IN "/roles", ROLE("a", RULE("", "\"pods\"", "\"get\"")))),
              "201");
    CHECK_STR(code_of(as_alice(h, "POST", IN "/roles", ROLE("none", ""))), "201");
    a = as_alice(h, "POST", IN "/roles", ROLE("b", RULE("", "\"pods\",\"secrets\"", "\"get\"")));
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_field(a, "message"),
              "roles." GROUP " \"b\" is forbidden: user \"alice\" (groups=[\"team\" "
              "\"system:authenticated\"]) is attempting to grant RBAC permissions not currently "
              "held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}");
    ask_free(a);
    CHECK_STR(code_of(as_alice(h, "PATCH", IN "/roles/a",
                               "{\"rules\":[" RULE("*", "\"*\"", "\"*\"") "]}")),
              "403 Forbidden");
    CHECK_STR(
        code_of(as_alice(h, "PUT", IN "/roles/a", ROLE("a", RULE("", "\"pods\"", "\"delete\"")))),
        "403 Forbidden");
    CHECK_STR(
        code_of(as_alice(h, "PATCH", IN "/roles/a", "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}")),
        "200");
    /* A dry run is no way to learn more, either. */
    CHECK_STR(code_of(as_alice(h, "POST", IN "/roles?dryRun=All",
                               ROLE("c", RULE("", "\"secrets\"", "\"get\"")))),
              "403 Forbidden");
    /* What only collects garbage may be changed by who may change at all. */
    CHECK_STR(code_of(as_alice(h, "PATCH", IN "/roles/secretive",
                               "{\"metadata\":{\"finalizers\":[\"example.com/x\"]}}")),
              "200");
    CHECK_STR(code_of(as_alice(h, "PATCH", IN "/roles/secretive",
                               "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}")),
              "403 Forbidden");
    host_free(h);
}

TEST(who_may_escalate_may_write_any_role)
{
    struct host *h = rig();

    CHECK_STR(admin(h, IN "/roles", ROLE("esc", RULE(GROUP, "\"roles\"", "\"escalate\""))), "201");
    CHECK_STR(admin(h, IN "/rolebindings", BINDING("esc", "Role", "esc", "alice")), "201");
    CHECK_STR(
        code_of(as_alice(h, "POST", IN "/roles", ROLE("b", RULE("", "\"secrets\"", "\"*\"")))),
        "201");
    /* But not bind it. */
    CHECK_STR(code_of(as_alice(h, "POST", IN "/rolebindings", BINDING("b", "Role", "b", "alice"))),
              "403 Forbidden");
    host_free(h);
}

TEST(a_binding_gives_what_its_writer_has)
{
    struct host *h = rig();
    struct ask *a;

    CHECK_STR(
        code_of(as_alice(h, "POST", IN "/rolebindings", BINDING("ok", "Role", "writer", "bob"))),
        "201");
    a = as_alice(h, "POST", IN "/rolebindings", BINDING("b", "Role", "secretive", "alice"));
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_field(a, "message"),
              "rolebindings." GROUP " \"b\" is forbidden: user \"alice\" (groups=[\"team\" "
              "\"system:authenticated\"]) is attempting to grant RBAC permissions not currently "
              "held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}");
    ask_free(a);
    a = as_alice(h, "POST", IN "/rolebindings", BINDING("b", "Role", "nope", "alice"));
    CHECK_STR(answer(a), "404 NotFound");
    CHECK_STR(answer_field(a, "message"), "roles." GROUP " \"nope\" not found");
    ask_free(a);
    CHECK_STR(code_of(as_alice(h, "POST", IN "/rolebindings",
                               BINDING("b", "ClusterRole", "cluster-admin", "alice"))),
              "403 Forbidden");
    /* The verb bind, on this role. */
    CHECK_STR(admin(h, IN "/roles",
                    ROLE("binder", "{\"apiGroups\":[\"" GROUP "\"],\"resources\":[\"roles\"],"
                                   "\"verbs\":[\"bind\"],\"resourceNames\":[\"secretive\"]}")),
              "201");
    CHECK_STR(admin(h, IN "/rolebindings", BINDING("binder", "Role", "binder", "alice")), "201");
    CHECK_STR(
        code_of(as_alice(h, "POST", IN "/rolebindings", BINDING("b", "Role", "secretive", "bob"))),
        "201");
    CHECK_STR(code_of(as_alice(h, "POST", IN "/rolebindings", BINDING("c", "Role", "mgr", "bob"))),
              "403 Forbidden");
    host_free(h);
}

TEST(aggregation_needs_everything)
{
    static const char body[] = "{\"metadata\":{\"name\":\"agg\"},\"aggregationRule\":{"
                               "\"clusterRoleSelectors\":[{\"matchLabels\":{\"x\":\"1\"}}]}}";
    struct host *h = rig();
    struct ask *a;

    CHECK_STR(admin(h, RBAC "/clusterroles",
                    ROLE("cr", RULE(GROUP, "\"clusterroles\"", "\"create\",\"patch\""))),
              "201");
    CHECK_STR(admin(h, RBAC "/clusterrolebindings", BINDING("cr", "ClusterRole", "cr", "alice")),
              "201");
    CHECK_STR(code_of(as_alice(h, "POST", RBAC "/clusterroles", ROLE("mine", ""))), "201");
    a = as_alice(h, "POST", RBAC "/clusterroles", body);
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_field(a, "message"),
              "clusterroles." GROUP " \"agg\" is forbidden: must have cluster-admin privileges to "
              "use the aggregationRule");
    ask_free(a);
    CHECK_STR(admin(h, RBAC "/clusterroles", body), "201");
    /* Nor may it be taken away from a role that has it. */
    CHECK_STR(code_of(as_alice(h, "PATCH", RBAC "/clusterroles/agg", "{\"aggregationRule\":null}")),
              "403 Forbidden");
    CHECK_STR(admin(h, RBAC "/clusterrolebindings",
                    BINDING("all", "ClusterRole", "cluster-admin", "alice")),
              "201");
    CHECK_STR(code_of(as_alice(h, "PATCH", RBAC "/clusterroles/agg", "{\"aggregationRule\":null}")),
              "200");
    host_free(h);
}
