/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

#include "apiserver/call/local.h"
#include "base/encode.h"
#include "federation/controllers/frame/controller.h"
#include "server_fixture.h"

/* The controllers of accounts and their tokens against a whole server, each under its own name. */

static const struct controller_spec *const specs[] = {
    &serviceaccount_controller,
    &root_ca_controller,
    &token_secret_controller,
    &token_account_controller,
};
enum { SPECS = sizeof(specs) / sizeof(*specs) };

struct rig {
    struct host *host;
    struct client *ours, *clients[SPECS];
    struct controller *controllers[SPECS];
    pthread_t thread;
    struct arena *arena;
    struct status st;
};

static void *run_loop(void *arg)
{
    epoch_enter();
    loop_run(arg);
    epoch_exit();
    return NULL;
}

static const struct identity admin = { .user = STR_INIT("admin"),
                                       .groups = ask_masters,
                                       .ngroups = 1 };

static void start(struct rig *r)
{
    for (size_t i = 0; i < SPECS; i++) {
        str user = str_printf(r->arena, "system:kairship:%s", specs[i]->name);

        r->clients[i] = client_new(server_local_transport(r->host->server, r->host->loop, user));
        r->controllers[i] = controller_start(specs[i], r->clients[i]);
    }
}

static void rig_init(struct rig *r)
{
    *r = (struct rig){ .host = host_new(0, 0) };
    r->arena = r->host->arena;
    r->host->server->root_ca = STR("the CA");
    status_init(&r->st, r->arena);
    r->ours = client_new(server_local_as(r->host->server, r->host->loop, &admin));
    if (pthread_create(&r->thread, NULL, run_loop, r->host->loop) != 0)
        exit(1);
}

static void rig_free(struct rig *r)
{
    for (size_t i = 0; i < SPECS; i++)
        controller_stop(r->controllers[i]);
    loop_stop(r->host->loop);
    (void)pthread_join(r->thread, NULL);
    epoch_enter();
    for (size_t i = 0; i < SPECS; i++)
        client_free(r->clients[i]);
    client_free(r->ours);
    epoch_exit();
    host_free(r->host);
}

static int ask_api(struct rig *r, const char *method, const char *path, const char *body,
                   const struct json **out)
{
    struct client_request req = { .method = str_of(method),
                                  .path = str_of(path),
                                  .content_type = STR("application/json"),
                                  .body = str_of(body) };
    const struct json *v = &json_null;

    if (strcmp(method, "PATCH") == 0)
        req.content_type = STR("application/merge-patch+json");
    status_reset(&r->st);
    if (client_do(r->ours, r->arena, &req, &v, &r->st) < 0)
        return status_http(&r->st);
    if (out)
        *out = v;
    return 200;
}

static void make(struct rig *r, const char *path, const char *body)
{
    if (!CHECK(ask_api(r, "POST", path, body, NULL) == 200))
        printf("# %s: %.*s\n", path, STR_ARG(r->st.message));
}

/* Within ten seconds: the object is there and the field says so; NULL: it is not there. */
static bool comes_to(struct rig *r, const char *path, const char *field, const char *want)
{
    for (int i = 0; i < 1000; i++) {
        const struct json *v = NULL;
        int code = ask_api(r, "GET", path, "", &v);

        if (want ? code == 200 && (!*want ? json_get_str(v, field).n > 0
                                          : str_is(json_get_str(v, field), want))
                 : code == 404)
            return true;
        (void)usleep(10000);
    }
    return false;
}

#define NS  "/api/v1/namespaces"
#define CA  "/configmaps/kube-root-ca.crt"
#define ONE "/clusters/one"

static bool ca_is_told(struct rig *r, const char *path)
{
    const struct json *v = NULL;

    for (int i = 0; i < 1000; i++) {
        if (ask_api(r, "GET", path, "", &v) == 200 &&
            str_is(json_str(json_get(json_get(v, STR("data")), STR("ca.crt"))), "the CA") &&
            json_get(json_path(v, "metadata.annotations"), STR("kubernetes.io/description")))
            return true;
        (void)usleep(10000);
    }
    return false;
}

TEST(a_namespace_has_its_account_and_the_ca)
{
    struct rig r;

    rig_init(&r);
    make(&r, NS, "{\"metadata\":{\"name\":\"before\"}}");
    start(&r);
    make(&r, "/apis/tenancy.kairship.io/v1alpha1/instances", "{\"metadata\":{\"name\":\"one\"}}");
    make(&r, NS, "{\"metadata\":{\"name\":\"n\"}}");
    make(&r, ONE NS, "{\"metadata\":{\"name\":\"n\"}}");
    CHECK(comes_to(&r, NS "/before/serviceaccounts/default", "metadata.uid", ""));
    CHECK(comes_to(&r, NS "/n/serviceaccounts/default", "metadata.uid", ""));
    CHECK(comes_to(&r, ONE NS "/n/serviceaccounts/default", "metadata.uid", ""));
    CHECK(ca_is_told(&r, NS "/before" CA));
    CHECK(ca_is_told(&r, NS "/n" CA));
    CHECK(ca_is_told(&r, ONE NS "/n" CA));
    rig_free(&r);
}

TEST(what_is_taken_or_changed_comes_back)
{
    struct rig r;

    rig_init(&r);
    start(&r);
    make(&r, NS, "{\"metadata\":{\"name\":\"n\"}}");
    CHECK(ca_is_told(&r, NS "/n" CA));
    CHECK(ask_api(&r, "PATCH", NS "/n" CA, "{\"data\":{\"ca.crt\":\"mine\",\"x\":\"y\"}}", NULL) ==
          200);
    CHECK(ca_is_told(&r, NS "/n" CA));
    CHECK(ask_api(&r, "PATCH", NS "/n" CA, "{\"metadata\":{\"annotations\":null}}", NULL) == 200);
    CHECK(ca_is_told(&r, NS "/n" CA));
    CHECK(ask_api(&r, "DELETE", NS "/n" CA, "", NULL) == 200);
    CHECK(ca_is_told(&r, NS "/n" CA));
    CHECK(ask_api(&r, "DELETE", NS "/n/serviceaccounts/default", "", NULL) == 200);
    CHECK(comes_to(&r, NS "/n/serviceaccounts/default", "metadata.uid", ""));
    rig_free(&r);
}

#define SECRET(name, account)                                                       \
    "{\"metadata\":{\"name\":\"" name                                               \
    "\",\"annotations\":{\"kubernetes.io/service-account.name\":\"" account "\"}}," \
    "\"type\":\"kubernetes.io/service-account-token\"}"

static const char *user_of(struct rig *r, const char *secret_path)
{
    const struct json *v = NULL, *answer = NULL;
    str token = STR_NONE;

    CHECK(ask_api(r, "GET", secret_path, "", &v) == 200);
    CHECK(base64_decode(r->arena, BASE64_STD, json_get_str(v, "data.token"), &token));
    CHECK(ask_api(r, "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                  arena_printf(r->arena, "{\"spec\":{\"token\":\"%.*s\"}}", STR_ARG(token)),
                  &answer) == 200);
    return str_z(r->arena, json_get_str(answer, "status.user.username"));
}

TEST(a_secret_of_an_account_is_filled_in)
{
    struct rig r;

    rig_init(&r);
    start(&r);
    make(&r, NS "/default/serviceaccounts", "{\"metadata\":{\"name\":\"bot\"}}");
    make(&r, NS "/default/secrets", SECRET("s", "bot"));
    CHECK(comes_to(&r, NS "/default/secrets/s", "data.token", ""));
    CHECK(comes_to(&r, NS "/default/secrets/s", "data.namespace", "ZGVmYXVsdA=="));
    CHECK_STR(user_of(&r, NS "/default/secrets/s"), "system:serviceaccount:default:bot");
    /* Emptied, it is filled in again. */
    CHECK(ask_api(&r, "PATCH", NS "/default/secrets/s", "{\"data\":null}", NULL) == 200);
    CHECK(comes_to(&r, NS "/default/secrets/s", "data.token", ""));
    CHECK(ask_api(&r, "DELETE", NS "/default/serviceaccounts/bot", "", NULL) == 200);
    CHECK(comes_to(&r, NS "/default/secrets/s", "", NULL));
    /* One for nobody goes, too. */
    make(&r, NS "/default/secrets", SECRET("t", "nobody"));
    CHECK(comes_to(&r, NS "/default/secrets/t", "", NULL));
    rig_free(&r);
}
