/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

/* Who comes how. */
enum who { NOBODY, ADMIN, ALICE, EXPIRED, NAMELESS, FOREIGN };

static const str teams[] = { STR_INIT("team-a"), STR_INIT("team-b") };
static const struct http_peer peers[] = {
    [ALICE] = { .cn = STR_INIT("alice"), .orgs = teams, .norgs = 2, .not_after = INT64_MAX },
    [EXPIRED] = { .cn = STR_INIT("admin"),
                  .orgs = ask_masters,
                  .norgs = 1,
                  .not_after = 1577934245 }, /* this very second */
    [NAMELESS] = { .orgs = ask_masters, .norgs = 1, .not_after = INT64_MAX },
};

static struct ask *come(struct host *h, enum who who, const char *authorization, const char *method,
                        const char *path)
{
    struct ask *a = ask(h, method, path);

    if (who != ADMIN)
        a->call->peer = who == NOBODY || who == FOREIGN ? NULL : &peers[who];
    a->call->peer_rejected = who == FOREIGN;
    return authorization ? ask_header(a, "authorization", authorization) : a;
}

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

TEST(who_gets_in)
{
    static const struct {
        enum who who;
        const char *authorization, *method, *path, *want;
    } rows[] = {
        { ADMIN, NULL, "GET", CONFIGMAPS, "200" },
        { ADMIN, "Bearer rubbish", "GET", CONFIGMAPS, "200" }, /* the certificate is good */
        { ALICE, NULL, "GET", CONFIGMAPS, "403 Forbidden" },
        { NOBODY, NULL, "GET", CONFIGMAPS, "403 Forbidden" },
        { NOBODY, NULL, "POST", CONFIGMAPS, "403 Forbidden" },
        { NOBODY, NULL, "GET", "/metrics", "403 Forbidden" },
        { NOBODY, NULL, "GET", "/api", "403 Forbidden" },
        { NOBODY, NULL, "GET", "/nowhere", "403 Forbidden" },
        { NOBODY, NULL, "GET", "/healthz", "200" },
        { NOBODY, NULL, "GET", "/livez", "200" },
        { NOBODY, NULL, "GET", "/readyz", "200" },
        { NOBODY, NULL, "GET", "/version", "200" },
        { NOBODY, NULL, "POST", "/version", "403 Forbidden" },
        { NOBODY, NULL, "GET", "/readyz/ping", "403 Forbidden" },
        { NOBODY, NULL, "GET", "/clusters/x/version", "200" }, /* though there is no x */
        { NOBODY, NULL, "GET", "/clusters/x/api", "403 Forbidden" },
        { NOBODY, NULL, "GET", "/clusters/*/api/v1/configmaps", "403 Forbidden" },
        { NOBODY, "Bearer rubbish", "GET", CONFIGMAPS, "401 Unauthorized" },
        { NOBODY, "Bearer rubbish", "GET", "/healthz", "401 Unauthorized" },
        { NOBODY, "Basic eDp5", "GET", "/healthz", "401 Unauthorized" },
        { FOREIGN, NULL, "GET", CONFIGMAPS, "401 Unauthorized" },
        { FOREIGN, NULL, "GET", "/version", "401 Unauthorized" },
        { EXPIRED, NULL, "GET", CONFIGMAPS, "401 Unauthorized" },
        { NAMELESS, NULL, "GET", CONFIGMAPS, "401 Unauthorized" },
    };
    struct host *h = host_new(0, 0);

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *got =
            code_of(come(h, rows[i].who, rows[i].authorization, rows[i].method, rows[i].path));

        if (!CHECK(strcmp(got, rows[i].want) == 0))
            printf("# row %zu, %s %s: %s\n", i, rows[i].method, rows[i].path, got);
    }
    host_free(h);
}

static void check_words(struct host *h, enum who who, const char *method, const char *path,
                        const char *message, const char *details)
{
    struct ask *a = come(h, who, NULL, method, path);

    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_field(a, "message"), message);
    CHECK_STR(answer_field(a, "details"), details);
    ask_free(a);
}

TEST(the_words_of_a_refusal)
{
    struct host *h = host_new(0, 0);

    check_words(h, ALICE, "GET", CONFIGMAPS "/x",
                "configmaps \"x\" is forbidden: User \"alice\" cannot get resource \"configmaps\" "
                "in API group \"\" in the namespace \"default\"",
                "{\"name\":\"x\",\"kind\":\"configmaps\"}");
    check_words(h, ALICE, "POST", CONFIGMAPS,
                "configmaps is forbidden: User \"alice\" cannot create resource \"configmaps\" in "
                "API group \"\" in the namespace \"default\"",
                "{\"kind\":\"configmaps\"}");
    check_words(h, NOBODY, "GET", "/apis/tenancy.kairship.io/v1alpha1/instances",
                "instances.tenancy.kairship.io is forbidden: User \"system:anonymous\" cannot list "
                "resource \"instances\" in API group \"tenancy.kairship.io\" at the cluster scope",
                "{\"group\":\"tenancy.kairship.io\",\"kind\":\"instances\"}");
    check_words(h, ALICE, "PUT", "/api/v1/namespaces/n/status",
                "namespaces \"n\" is forbidden: User \"alice\" cannot update resource "
                "\"namespaces/status\" in API group \"\" in the namespace \"n\"",
                "{\"name\":\"n\",\"kind\":\"namespaces\"}");
    check_words(h, ALICE, "GET", "/metrics",
                "forbidden: User \"alice\" cannot get path \"/metrics\"", "{}");
    host_free(h);
}

TEST(nothing_is_told_of_what_one_may_not_see)
{
    struct host *h = host_new(0, 0);

    /* Whether there is such an instance, kind or object is not for everyone to know. */
    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(code_of(come(h, ALICE, NULL, "GET", "/clusters/one" CONFIGMAPS)), "401 Unauthorized");
    CHECK_STR(code_of(come(h, ALICE, NULL, "GET", "/clusters/two" CONFIGMAPS)), "401 Unauthorized");
    CHECK_STR(code_of(come(h, ALICE, NULL, "GET", "/apis/nowhere.io/v1/things")), "403 Forbidden");
    host_free(h);
}

/* So many rules that reading them is not for a loop: the first ones to ask wait for it. */
TEST(a_great_many_rules)
{
    struct host *h = host_new(0, 0);
    struct ask *waiting[8];

    for (int i = 0; i < 250; i++) {
        struct ask *a =
            ask(h, "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings");

        CHECK_STR(
            code_of(ask_body(a, arena_printf(h->arena,
                                             "{\"metadata\":{\"name\":\"b%d\"},\"roleRef\":{"
                                             "\"apiGroup\":\"rbac.authorization.k8s.io\","
                                             "\"kind\":\"ClusterRole\",\"name\":\"view\"},"
                                             "\"subjects\":[{\"kind\":\"User\",\"name\":\"%s\"}]}",
                                             i, i == 249 ? "alice" : "other"))),
            "201");
    }
    for (size_t i = 0; i < 8; i++) {
        waiting[i] = come(h, i % 2 ? ALICE : NOBODY, NULL, "GET", CONFIGMAPS);
        ask_send(waiting[i]);
    }
    for (size_t i = 0; i < 8; i++) {
        CHECK_STR(answer_of(waiting[i]), i % 2 ? "200" : "403 Forbidden");
        ask_free(waiting[i]);
    }
    CHECK_STR(code_of(come(h, ALICE, NULL, "GET", CONFIGMAPS)), "200");
    host_free(h);
}

/* ---- impersonation ---- */

static const char *as(struct host *h, enum who who, const char *user, const char *group)
{
    struct ask *a = ask_header(come(h, who, NULL, "GET", CONFIGMAPS), "impersonate-user", user);

    if (group) {
        ask_header(a, "impersonate-group", "team-x");
        ask_header(a, "impersonate-group", group);
    }
    return code_of(a);
}

TEST(who_is_impersonated_has_his_own_rights)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(as(h, ADMIN, "bob", NULL), "403 Forbidden");
    CHECK_STR(as(h, ADMIN, "bob", "team-y"), "403 Forbidden");
    CHECK_STR(as(h, ADMIN, "bob", "system:masters"), "200");
    CHECK_STR(as(h, ALICE, "bob", "system:masters"), "403 Forbidden");
    CHECK_STR(as(h, NOBODY, "admin", "system:masters"), "403 Forbidden");
    a = ask_header(come(h, ADMIN, NULL, "GET", CONFIGMAPS), "impersonate-user",
                   "system:serviceaccount:ns:sa");
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_field(a, "message"),
              "configmaps is forbidden: User \"system:serviceaccount:ns:sa\" cannot list resource "
              "\"configmaps\" in API group \"\" in the namespace \"default\"");
    ask_free(a);
    a = ask_header(come(h, ALICE, NULL, "GET", CONFIGMAPS), "impersonate-user", "bob");
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_field(a, "message"),
              "users \"bob\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in "
              "API group \"\" at the cluster scope");
    ask_free(a);
    host_free(h);
}
