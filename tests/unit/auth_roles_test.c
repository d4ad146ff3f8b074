/* SPDX-License-Identifier: Apache-2.0 */
#include "base/encode.h"
#include "http/password.h"
#include "server_rig.h"
#include "tap.h"

/* What Global Management says, and what people may do then, the next moment. */

#define IAM        "/apis/iam.kairship.io/v1alpha1"
#define INSTANCES  "/apis/tenancy.kairship.io/v1alpha1/instances"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

struct bed {
    struct rig rig;
    struct client *jane;
};

static void make_jane(void *arg)
{
    static const str groups[] = { STR_INIT("system:authenticated"), STR_INIT("kairship:admins") };
    static const struct identity jane = { .user = STR_INIT("jane"),
                                          .groups = groups,
                                          .ngroups = 2 };
    struct bed *b = arg;

    b->jane = client_new(server_local_as(b->rig.host->server, b->rig.host->loop, &jane));
}

static void free_jane(void *arg)
{
    client_free(((struct bed *)arg)->jane);
}

static void bed_open(struct bed *b)
{
    static const char *const objects[][2] = {
        { INSTANCES, "{\"metadata\":{\"name\":\"demo\"}}" },
        { INSTANCES, "{\"metadata\":{\"name\":\"other\"}}" },
        { IAM "/users", "{\"metadata\":{\"name\":\"jane\"}}" },
        { IAM "/gproductresources",
          "{\"metadata\":{\"name\":\"kairship.demo\"},\"spec\":{\"gproduct\":\"kairship\","
          "\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}}" },
    };

    rig_open(&b->rig);
    server_start_collecting(b->rig.host->server);
    loop_call_wait(b->rig.host->loop, make_jane, b);
    for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
        CHECK(ask_api(&b->rig, "POST", objects[i][0], objects[i][1], NULL) == 200);
}

static void bed_close(struct bed *b)
{
    loop_call_wait(b->rig.host->loop, free_jane, b);
    server_stop_collecting(b->rig.host->server);
    rig_close(&b->rig);
}

static int as_jane(struct bed *b, const char *method, const char *path, const char *body)
{
    struct client *admin = b->rig.client;
    int code;

    b->rig.client = b->jane;
    code = ask_api(&b->rig, method, path, body, NULL);
    b->rig.client = admin;
    return code;
}

static void set_members(struct bed *b, const char *members)
{
    CHECK(ask_api(&b->rig, "PATCH", IAM "/workspaces/team",
                  arena_printf(b->rig.arena, "{\"spec\":{\"members\":%s}}", members), NULL) == 200);
}

#define JANE(role) "[{\"kind\":\"User\",\"name\":\"jane\",\"role\":\"" role "\"}]"
#define MAP(name)  "{\"metadata\":{\"name\":\"" name "\"}}"
#define DEMO       "/clusters/demo"

TEST(a_role_counts_with_the_next_request)
{
    struct bed b;

    bed_open(&b);
    CHECK(as_jane(&b, "GET", DEMO CONFIGMAPS, "") == 403); /* though she claims a group of ours */
    CHECK(ask_api(&b.rig, "POST", IAM "/workspaces",
                  "{\"metadata\":{\"name\":\"team\"},\"spec\":{\"resources\":[{\"resourceType\":"
                  "\"Kairship\",\"resourceName\":\"demo\"}],\"members\":" JANE("Viewer") "}}",
                  NULL) == 200);
    CHECK(as_jane(&b, "GET", DEMO CONFIGMAPS, "") == 200);
    CHECK(as_jane(&b, "GET", "/clusters/other" CONFIGMAPS, "") == 403);
    CHECK(as_jane(&b, "GET", CONFIGMAPS, "") == 403);
    CHECK(as_jane(&b, "GET", INSTANCES, "") == 403);
    CHECK(as_jane(&b, "GET", DEMO "/api/v1/secrets", "") == 403);
    CHECK(as_jane(&b, "GET", DEMO "/apis/policy.karmada.io/v1alpha1/propagationpolicies", "") ==
          200);
    CHECK(as_jane(&b, "POST", DEMO CONFIGMAPS, MAP("x")) == 403);
    set_members(&b, JANE("Editor"));
    CHECK(as_jane(&b, "POST", DEMO CONFIGMAPS, MAP("x")) == 200);
    CHECK(as_jane(&b, "GET", DEMO "/api/v1/secrets", "") == 200);
    CHECK(as_jane(&b, "POST", DEMO "/api/v1/namespaces", MAP("n")) == 403);
    set_members(&b, JANE("Admin"));
    CHECK(as_jane(&b, "POST", DEMO "/api/v1/namespaces", MAP("n")) == 200);
    CHECK(as_jane(&b, "POST", "/clusters/other/api/v1/namespaces", MAP("n")) == 403);
    set_members(&b, "[]");
    CHECK(as_jane(&b, "GET", DEMO CONFIGMAPS, "") == 403);
    bed_close(&b);
}

TEST(the_platform_admin_does_everything_and_a_disabled_one_nothing)
{
    struct bed b;

    bed_open(&b);
    CHECK(ask_api(&b.rig, "POST", IAM "/platformroles",
                  "{\"metadata\":{\"name\":\"admins\"},\"spec\":{\"members\":[{\"kind\":\"User\","
                  "\"name\":\"jane\"}]}}",
                  NULL) == 200);
    CHECK(as_jane(&b, "GET", INSTANCES, "") == 200);
    CHECK(as_jane(&b, "GET", "/clusters/other" CONFIGMAPS, "") == 200);
    CHECK(ask_api(&b.rig, "PATCH", IAM "/users/jane", "{\"spec\":{\"disabled\":true}}", NULL) ==
          200);
    CHECK(as_jane(&b, "GET", INSTANCES, "") == 403);
    bed_close(&b);
}

TEST(what_is_not_registered_is_not_bound_and_nothing_twice)
{
    static const char rows[][2][100] = {
        { "demo", "" },
        { "other", "it is not registered" },
        { "nowhere", "it is not registered" },
    };
    struct bed b;

    bed_open(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int code =
            ask_api(&b.rig, "POST", IAM "/workspaces",
                    arena_printf(b.rig.arena,
                                 "{\"metadata\":{\"name\":\"w%zu\"},\"spec\":{\"resources\":"
                                 "[{\"resourceType\":\"Kairship\",\"resourceName\":\"%s\"}]}}",
                                 i, rows[i][0]),
                    NULL);

        CHECK(code == (*rows[i][1] ? 422 : 200));
        CHECK(!*rows[i][1] || str_contains(b.rig.st.message, str_of(rows[i][1])));
    }
    CHECK(ask_api(&b.rig, "POST", IAM "/workspaces",
                  "{\"metadata\":{\"name\":\"second\"},\"spec\":{\"resources\":[{\"resourceType\":"
                  "\"Kairship\",\"resourceName\":\"demo\"}]}}",
                  NULL) == 422);
    CHECK(str_contains(b.rig.st.message, STR("is bound to workspace w0")));
    /* What is bound stays bound, whatever else changes. */
    CHECK(ask_api(&b.rig, "DELETE", IAM "/gproductresources/kairship.demo", "", NULL) == 200);
    CHECK(ask_api(&b.rig, "PATCH", IAM "/workspaces/w0", "{\"spec\":{\"alias\":\"A\"}}", NULL) ==
          200);
    bed_close(&b);
}

struct rival {
    pthread_t thread;
    struct client *client;
    int round, number;
    bool won;
};

static void *bind_demo(void *arg)
{
    struct rival *r = arg;
    scoped_arena a = arena_new();
    struct client_ref ref = { .group = STR("iam.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("workspaces") };
    struct status st;
    const struct json *w = NULL;

    status_init(&st, a);
    CHECK(json_parse(a,
                     str_printf(a,
                                "{\"metadata\":{\"name\":\"w%d-%d\"},\"spec\":{\"resources\":[{"
                                "\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}]}}",
                                r->round, r->number),
                     NULL, &w, &st) == 0);
    r->won = client_create(r->client, a, &ref, w, NULL, &st) == 0;
    CHECK(r->won || str_contains(st.message, STR("is bound to workspace")));
    return NULL;
}

TEST(of_many_that_bind_an_instance_at_once_one_has_it)
{
    enum { RIVALS = 4, ROUNDS = 10 };
    struct rival rivals[RIVALS];
    struct bed b;

    bed_open(&b);
    for (int round = 0; round < ROUNDS; round++) {
        int winners = 0;

        for (int i = 0; i < RIVALS; i++) {
            rivals[i] = (struct rival){ .client = b.rig.client, .round = round, .number = i };
            CHECK(pthread_create(&rivals[i].thread, NULL, bind_demo, &rivals[i]) == 0);
        }
        for (int i = 0; i < RIVALS; i++) {
            CHECK(pthread_join(rivals[i].thread, NULL) == 0);
            winners += rivals[i].won;
        }
        for (int i = 0; i < RIVALS; i++) /* not before: it would be free for the slower ones */
            if (rivals[i].won)
                CHECK(ask_api(&b.rig, "DELETE",
                              arena_printf(b.rig.arena, IAM "/workspaces/w%d-%d", round, i), "",
                              NULL) == 200);
        CHECK(winners == 1);
    }
    bed_close(&b);
}

static int for_someone(struct bed *b, struct client *c, const struct identity *who,
                       const char *path)
{
    struct client_request req = { .method = STR("GET"), .path = str_of(path), .as = who };

    status_reset(&b->rig.st);
    return client_do(c, b->rig.arena, &req, NULL, &b->rig.st) == 0 ? 200 : status_http(&b->rig.st);
}

static void make_management(void *arg)
{
    struct bed *b = arg;

    b->rig.own = client_new(server_local_transport(b->rig.host->server, b->rig.host->loop,
                                                   STR("system:kairship:management")));
}

/* As the management API does for whom it serves. */
TEST(a_part_that_acts_for_someone_has_their_rights_only)
{
    static const str masters[] = { STR_INIT("system:masters") };
    static const struct identity jane = { .user = STR_INIT("jane") };
    static const struct identity admin = { .user = STR_INIT("a"), .groups = masters, .ngroups = 1 };
    struct bed b;

    bed_open(&b);
    loop_call_wait(b.rig.host->loop, make_management, &b);
    CHECK(for_someone(&b, b.rig.own, &jane, DEMO CONFIGMAPS) == 403);
    CHECK(for_someone(&b, b.rig.own, NULL, DEMO CONFIGMAPS) == 403);
    CHECK(for_someone(&b, b.rig.own, NULL, INSTANCES) == 200);
    CHECK(for_someone(&b, b.rig.own, &jane, INSTANCES) == 403);
    CHECK(for_someone(&b, b.rig.own, &admin, DEMO CONFIGMAPS) == 200);
    CHECK(for_someone(&b, b.jane, &admin, DEMO CONFIGMAPS) == 403); /* she may not */
    bed_close(&b);
}

static void set_password(struct bed *b, const char *password)
{
    struct arena *a = b->rig.arena;
    str hash = base64_encode(a, BASE64_STD, password_hash(a, secret_of(str_of(password))));

    CHECK(ask_api(&b->rig, "POST", "/api/v1/namespaces/kube-system/secrets",
                  arena_printf(a,
                               "{\"metadata\":{\"name\":\"kairship-password-jane\"},\"data\":{"
                               "\"hash\":\"%.*s\"}}",
                               STR_ARG(hash)),
                  NULL) == 200);
}

static int login(struct bed *b, const char *name, const char *password)
{
    return ask_api(&b->rig, "POST", IAM "/logins",
                   arena_printf(b->rig.arena,
                                "{\"spec\":{\"username\":\"%s\",\"password\":\"%s\"}}", name,
                                password),
                   NULL);
}

TEST(a_login_takes_the_right_name_and_password)
{
    struct bed b;

    bed_open(&b);
    CHECK(login(&b, "jane", "anything at all") == 401); /* she has none yet */
    set_password(&b, "correct horse");
    CHECK(login(&b, "jane", "correct horse") == 200);
    CHECK(login(&b, "jane", "correct hors") == 401);
    CHECK(login(&b, "joe", "correct horse") == 401);
    CHECK(login(&b, "", "x") == 422);
    CHECK(login(&b, "jane", "") == 422);
    CHECK(ask_api(&b.rig, "PATCH", IAM "/users/jane", "{\"spec\":{\"disabled\":true}}", NULL) ==
          200);
    CHECK(login(&b, "jane", "correct horse") == 401);
    for (int i = 0; i < 12; i++)
        (void)login(&b, "jane", "wrong again");
    CHECK(login(&b, "jane", "correct horse") == 429);
    bed_close(&b);
}

TEST(a_hash_is_of_one_password)
{
    scoped_arena a = arena_new();
    str hash = password_hash(a, secret_of(STR("one")));

    CHECK(password_is(hash, secret_of(STR("one"))));
    CHECK(!password_is(hash, secret_of(STR("two"))));
    CHECK(!password_is(hash, secret_of(STR(""))));
    CHECK(!str_eq(hash, password_hash(a, secret_of(STR("one")))));
    CHECK(!password_is(STR(""), secret_of(STR(""))));
    CHECK(!password_is(STR("pbkdf2-sha512$x$$"), secret_of(STR(""))));
    CHECK(!password_is(STR("pbkdf2-sha512$99999999999$AA==$AA=="), secret_of(STR(""))));
    CHECK(!password_is(password_nobody, secret_of(STR(""))));
}
