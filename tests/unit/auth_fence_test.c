/* SPDX-License-Identifier: Apache-2.0 */
#include "server_people.h"

#define LEASES     "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

#define LEASE                                \
    "{\"apiVersion\":\"coordination.k8s.io/" \
    "v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"m\"},\"spec\":{\"holderIdentity\":\"a\"}}"

/* A write by that lease. */
static struct ask *write_by(struct host *h, const char *prefix, const char *lease, const char *name)
{
    const char *path = arena_printf(h->arena, "%s" CONFIGMAPS, prefix);
    const char *body = arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name);

    return ask_header(ask_body(ask(h, "POST", path), body), "kairship-lease", lease);
}

TEST(who_lost_the_lease_may_not_write)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(make_instance(h, "demo"), "201");
    CHECK_STR(code_of(write_by(h, "", "kube-system/m/a", "none")),
              "409 Conflict"); /* no such lease */
    CHECK_STR(code_of(ask_body(ask(h, "POST", LEASES), LEASE)), "201");
    CHECK_STR(code_of(write_by(h, "", "kube-system/m/a", "one")), "201");
    CHECK_STR(code_of(write_by(h, "/clusters/demo", "kube-system/m/a", "one")), "201");
    CHECK_STR(code_of(write_by(h, "", "kube-system/m/b", "two")), "409 Conflict");
    CHECK_STR(code_of(ask_header(
                  ask_body(ask(h, "PATCH", LEASES "/m"), "{\"spec\":{\"holderIdentity\":\"b\"}}"),
                  "content-type", "application/merge-patch+json")),
              "200");
    CHECK_STR(code_of(write_by(h, "", "kube-system/m/a", "two")), "409 Conflict");
    CHECK_STR(code_of(write_by(h, "/clusters/demo", "kube-system/m/a", "two")), "409 Conflict");
    CHECK_STR(code_of(ask(h, "GET", CONFIGMAPS "/two")), "404 NotFound");
    CHECK_STR(code_of(write_by(h, "", "kube-system/m/b", "two")), "201");
    /* It may still read. */
    CHECK_STR(
        code_of(ask_header(ask(h, "GET", CONFIGMAPS "/two"), "kairship-lease", "kube-system/m/a")),
        "200");
    host_free(h);
}

TEST(a_lease_is_named_whole)
{
    static const char *const bad[] = { "x", "a/b", "/b/c", "a//c", "a/b/" };
    struct host *h = host_new(0, 0);

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_STR(code_of(write_by(h, "", bad[i], "x")), "400 BadRequest");
    host_free(h);
}

/* As the controller-manager of another process does. */
TEST(a_part_for_which_the_admin_acts_has_its_rights)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(code_of(ask_header(ask(h, "GET", "/clusters/*/api/v1/namespaces"), "impersonate-user",
                                 "system:kairship:namespace-controller")),
              "200");
    CHECK_STR(code_of(ask_header(ask(h, "GET", "/api/v1/secrets"), "impersonate-user",
                                 "system:kairship:role-aggregation")),
              "403 Forbidden");
    host_free(h);
}

/* An admin of an instance is of system:masters there, too, but has no parts. */
TEST(an_admin_of_an_instance_is_no_part_of_the_server)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "one"), "201");
    a = ask_header(ask(h, "GET", "/clusters/one/api/v1/namespaces"), "impersonate-user",
                   "system:kairship:namespace-controller");
    a->call->peer = cert_of(h, "one", "admin", "system:masters");
    CHECK_STR(code_of(a), "403 Forbidden");
    CHECK_STR(code_of(ask_header(ask(h, "GET", "/clusters/one/api/v1/namespaces"),
                                 "impersonate-user", "system:kairship:namespace-controller")),
              "200");
    host_free(h);
}
