/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/local.h"

#include <pthread.h>
#include <semaphore.h>

#include "client/client.h"
#include "server_fixture.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

/* ---- calls of the transport itself, on the test's thread ---- */

struct local_ask {
    struct http_call http; /* first: callbacks get this */
    struct client_transport *transport;
    struct host *host;
    struct http_header header;
    int heads, code, ends;
    enum reason why;
    struct buf text;
    int cancel_at; /* cancels itself from inside: 1 in head, 2 in data */
};

static void on_head(struct http_call *http, int code, const struct http_header *h, size_t nh)
{
    struct local_ask *a = (struct local_ask *)(void *)http;

    (void)h;
    (void)nh;
    a->heads++;
    a->code = code;
    if (a->cancel_at == 1)
        a->transport->cancel(a->transport, http);
}

static void on_data(struct http_call *http, str bytes)
{
    struct local_ask *a = (struct local_ask *)(void *)http;

    buf_str_append(&a->text, bytes);
    if (a->cancel_at == 2)
        a->transport->cancel(a->transport, http);
}

static void on_end(struct http_call *http, const struct status *why)
{
    struct local_ask *a = (struct local_ask *)(void *)http;

    a->ends++;
    a->why = why ? why->reason : REASON_OK;
}

/* What it points to is the caller's and goes with it, as a caller's would. */
static struct local_ask *local_ask(struct host *h, struct client_transport *t, const char *method,
                                   const char *path, const char *body)
{
    struct local_ask *a = mem_zalloc(sizeof(*a));

    a->transport = t;
    a->host = h;
    a->header = (struct http_header){ STR("audit-id"), str_of(mem_strdup("id-of-the-caller")) };
    a->http = (struct http_call){ .method = str_of(mem_strdup(method)),
                                  .path = str_of(mem_strdup(path)),
                                  .body = str_of(mem_strdup(body)),
                                  .headers = &a->header,
                                  .nheaders = 1,
                                  .head = on_head,
                                  .data = on_data,
                                  .end = on_end };
    buf_init(&a->text, 64 << 20);
    return a;
}

static void local_ask_free(struct local_ask *a)
{
    buf_release(&a->text);
    free((void *)(uintptr_t)a->header.value.p);
    free((void *)(uintptr_t)a->http.method.p);
    free((void *)(uintptr_t)a->http.path.p);
    free((void *)(uintptr_t)a->http.body.p);
    free(a);
}

static bool send_it(void *arg)
{
    struct local_ask *a = arg;

    a->transport->call(a->transport, &a->http);
    CHECK(a->heads == 0 && a->ends == 0); /* never from inside */
    return true;
}

static bool cancel_it(void *arg)
{
    struct local_ask *a = arg;

    a->transport->cancel(a->transport, &a->http);
    return true;
}

static bool send_and_cancel(void *arg)
{
    return send_it(arg) && cancel_it(arg);
}

static bool has_ended(void *arg)
{
    return ((struct local_ask *)arg)->ends > 0;
}

static bool has_begun(void *arg)
{
    return ((struct local_ask *)arg)->heads > 0;
}

static bool free_transport(void *arg)
{
    struct client_transport *t = arg;

    t->free(t);
    return true;
}

static struct client_transport *local_new(struct host *h)
{
    static const struct identity admin = { .user = STR_INIT("system:kairship:test"),
                                           .groups = ask_masters,
                                           .ngroups = 1 };

    return server_local_as(h->server, h->loop, &admin);
}

static void local_free(struct host *h, struct client_transport *t)
{
    (void)host_until(h, free_transport, t);
    host_turn(h);
}

static int code_in(struct host *h, struct client_transport *t, const char *method, const char *path,
                   const char *body)
{
    struct local_ask *a = local_ask(h, t, method, path, body);
    int code;

    (void)host_until(h, send_it, a);
    CHECK(host_until(h, has_ended, a));
    CHECK(a->heads == 1 && a->ends == 1 && a->why == REASON_OK);
    code = a->code;
    local_ask_free(a);
    return code;
}

static const char *body_of(struct host *h, const char *name)
{
    return arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name);
}

TEST(a_call_goes_through_the_chain)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);

    CHECK(code_in(h, t, "POST", CONFIGMAPS, body_of(h, "a")) == 201);
    CHECK(code_in(h, t, "GET", CONFIGMAPS "/a", "") == 200);
    CHECK(code_in(h, t, "GET", CONFIGMAPS "/b", "") == 404);
    CHECK(code_in(h, t, "GET", CONFIGMAPS "?limit=5", "") == 200);
    CHECK(code_in(h, t, "GET", "/clusters/*/api/v1/configmaps", "") == 200);
    CHECK(code_in(h, t, "GET", "/no/../where", "") == 400);
    CHECK(code_in(h, t, "DELETE", CONFIGMAPS "/a", "") == 200);
    CHECK(atomic_load(&h->server->reads) == 0 && atomic_load(&h->server->writes) == 0);
    local_free(h, t);
    host_free(h);
}

TEST(a_long_list_comes_whole)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *a;
    const struct json *v;
    struct status st;

    status_init(&st, h->arena);
    for (int i = 0; i < 1500; i++)
        CHECK_STR(make_configmap(h, "", arena_printf(h->arena, "configmap-number-%d", i)), "201");
    a = local_ask(h, t, "GET", CONFIGMAPS, "");
    (void)host_until(h, send_it, a);
    CHECK(host_until(h, has_ended, a));
    REQUIRE(json_parse(h->arena, buf_str(&a->text), NULL, &v, &st) == 0);
    CHECK(json_len(json_get(v, STR("items"))) == 1500 && a->text.n > 200000);
    local_ask_free(a);
    local_free(h, t);
    host_free(h);
}

TEST(a_watch_hears_what_happens)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *a = local_ask(h, t, "GET", CONFIGMAPS "?watch=1&timeoutSeconds=1", "");

    (void)host_until(h, send_it, a);
    CHECK(host_until(h, has_begun, a));
    CHECK_STR(make_configmap(h, "", "a"), "201");
    CHECK(host_until(h, has_ended, a)); /* by its timeout */
    CHECK(a->why == REASON_OK && a->code == 200);
    CHECK(strncmp(a->text.p, "{\"type\":\"ADDED\"", 15) == 0);
    local_ask_free(a);
    local_free(h, t);
    host_free(h);
}

/* ---- cancelled, in each state ---- */

static void check_quiet(struct host *h, struct local_ask *a)
{
    int heads = a->heads;

    host_turn(h);
    CHECK(a->ends == 0 && a->heads == heads);
}

TEST(cancelled_before_it_runs)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *a = local_ask(h, t, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");

    (void)host_until(h, send_and_cancel, a);
    check_quiet(h, a);
    local_ask_free(a);
    CHECK(code_in(h, t, "GET", CONFIGMAPS "/a", "") == 404);
    local_free(h, t);
    host_free(h);
}

TEST(cancelled_while_the_store_writes)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *a = local_ask(h, t, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");

    wrap_hold(h->wrap);
    (void)host_until(h, send_it, a);
    host_turn(h);
    (void)host_until(h, cancel_it, a);
    local_ask_free(a); /* body, headers and all */
    wrap_unhold(h->wrap);
    host_turn(h);
    CHECK(code_in(h, t, "GET", CONFIGMAPS "/a", "") == 200); /* it was too late to stop it */
    CHECK(atomic_load(&h->server->writes) == 0);
    local_free(h, t);
    host_free(h);
}

TEST(cancelled_while_it_waits_for_a_revision)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *a =
        local_ask(h, t, "GET", CONFIGMAPS "?resourceVersion=100000&timeout=50ms", "");

    (void)host_until(h, send_it, a);
    host_turn(h);
    (void)host_until(h, cancel_it, a);
    local_ask_free(a);
    for (int i = 0; i < 20 && atomic_load(&h->server->reads); i++)
        host_turn(h);
    CHECK(atomic_load(&h->server->reads) == 0);
    local_free(h, t);
    host_free(h);
}

TEST(cancelled_from_inside_of_its_own_callbacks)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    static const char *const paths[] = { CONFIGMAPS "/a", CONFIGMAPS, CONFIGMAPS "?watch=1",
                                         "/openapi/v2" };

    for (int i = 0; i < 300; i++)
        CHECK_STR(make_configmap(h, "", arena_printf(h->arena, "a%d", i)), "201");
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        for (int where = 1; where <= 2; where++) {
            struct local_ask *a = local_ask(h, t, "GET", paths[i], "");

            a->cancel_at = where;
            (void)host_until(h, send_it, a);
            CHECK(host_until(h, has_begun, a));
            check_quiet(h, a);
            local_ask_free(a);
        }
    CHECK(code_in(h, t, "GET", CONFIGMAPS "/a1", "") == 200);
    local_free(h, t);
    host_free(h);
}

TEST(a_cancelled_watch_hears_no_more)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *a = local_ask(h, t, "GET", CONFIGMAPS "?watch=1", "");

    (void)host_until(h, send_it, a);
    CHECK(host_until(h, has_begun, a));
    (void)host_until(h, cancel_it, a);
    CHECK_STR(make_configmap(h, "", "a"), "201");
    check_quiet(h, a);
    CHECK(a->text.n == 0);
    (void)host_until(h, cancel_it, a); /* once more does nothing */
    local_ask_free(a);
    local_free(h, t);
    host_free(h);
}

TEST(what_is_in_flight_ends_with_the_transport)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *watch = local_ask(h, t, "GET", CONFIGMAPS "?watch=1", "");
    struct local_ask *write =
        local_ask(h, t, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    struct local_ask *early = local_ask(h, t, "GET", CONFIGMAPS, "");

    (void)host_until(h, send_it, watch);
    CHECK(host_until(h, has_begun, watch));
    wrap_hold(h->wrap);
    (void)host_until(h, send_it, write);
    host_turn(h);
    (void)host_until(h, send_it, early);
    (void)host_until(h, free_transport, t);
    CHECK(watch->ends == 1 && watch->why == REASON_UNAVAILABLE);
    CHECK(write->ends == 1 && write->why == REASON_UNAVAILABLE);
    CHECK(early->ends == 1);
    local_ask_free(watch);
    local_ask_free(write);
    local_ask_free(early);
    wrap_unhold(h->wrap);
    host_turn(h);
    CHECK(atomic_load(&h->server->writes) == 0);
    host_free(h);
}

TEST(a_write_that_takes_too_long_here_too)
{
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct local_ask *a =
        local_ask(h, t, "POST", CONFIGMAPS "?timeout=50ms", "{\"metadata\":{\"name\":\"a\"}}");

    wrap_hold(h->wrap);
    (void)host_until(h, send_it, a);
    CHECK(host_until(h, has_ended, a));
    CHECK(a->code == 504 && a->why == REASON_OK);
    local_ask_free(a);
    host_turn(h); /* the caller's half is gone */
    wrap_unhold(h->wrap);
    host_turn(h);
    CHECK(atomic_load(&h->server->writes) == 0);
    local_free(h, t);
    host_free(h);
}

/* ---- a client on another thread ---- */

static void *run_loop(void *arg)
{
    epoch_enter();
    loop_run(arg);
    epoch_exit();
    return NULL;
}

TEST(a_client_in_process)
{
    struct host *h = host_new(0, 0);
    struct client *c = client_new(local_new(h));
    struct client_ref ref = { .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = STR("default"),
                              .name = STR("a") };
    const struct json *v, *obj;
    struct status st;
    pthread_t thread;

    status_init(&st, h->arena);
    REQUIRE(pthread_create(&thread, NULL, run_loop, h->loop) == 0);
    CHECK(json_parse(h->arena, STR("{\"metadata\":{\"name\":\"a\"}}"), NULL, &obj, &st) == 0);
    CHECK(client_create(c, h->arena, &ref, obj, &v, &st) == 0);
    CHECK(client_create(c, h->arena, &ref, obj, &v, &st) < 0 &&
          status_is(&st, REASON_ALREADY_EXISTS));
    CHECK(client_get(c, h->arena, &ref, &v, &st) == 0);
    CHECK(str_is(json_get_str(v, "metadata.name"), "a"));
    CHECK(client_delete(c, h->arena, &ref, NULL, &st) == 0);
    CHECK(client_get(c, h->arena, &ref, &v, &st) < 0 && status_is(&st, REASON_NOT_FOUND));
    loop_stop(h->loop);
    (void)pthread_join(thread, NULL);
    epoch_enter();
    client_free(c);
    epoch_exit();
    host_free(h);
}

static sem_t held, go_on;

static void hold_loop(void *arg)
{
    (void)arg;
    (void)sem_post(&held);
    (void)sem_wait(&go_on);
}

static void *ask_groups(void *arg)
{
    scoped_arena a = arena_new();
    struct client_request req = { .method = STR("GET"), .path = STR("/apis") };
    const struct json *v;
    struct status st;

    status_init(&st, a);
    CHECK(client_do(arg, a, &req, &v, &st) == 0);
    CHECK(str_is(json_get_str(v, "kind"), "APIGroupList"));
    return NULL;
}

TEST(a_read_of_a_thread_that_waits_needs_no_other)
{
    struct host *h = host_new(0, 0);
    struct client *c = client_new(
        server_local_transport(h->server, h->loop, STR("system:kairship:namespace-controller")));
    struct client_ref ref = { .version = STR("v1"), .resource = STR("namespaces") };
    const struct json *v;
    struct status st;
    pthread_t thread, asks;

    status_init(&st, h->arena);
    (void)sem_init(&held, 0, 0);
    (void)sem_init(&go_on, 0, 0);
    REQUIRE(pthread_create(&thread, NULL, run_loop, h->loop) == 0);
    loop_call(h->loop, hold_loop, NULL);
    (void)sem_wait(&held);
    CHECK(client_list(c, h->arena, &ref, NULL, &v, &st) == 0);
    CHECK(json_len(json_get(v, STR("items"))) >= 4);
    ref.name = STR("default");
    CHECK(client_get(c, h->arena, &ref, &v, &st) == 0);
    ref.name = STR("none");
    CHECK(client_get(c, h->arena, &ref, &v, &st) < 0 && status_is(&st, REASON_NOT_FOUND));
    /* What is no object is answered by the server's loop. */
    REQUIRE(pthread_create(&asks, NULL, ask_groups, c) == 0);
    (void)sem_post(&go_on);
    (void)pthread_join(asks, NULL);
    loop_stop(h->loop);
    (void)pthread_join(thread, NULL);
    epoch_enter();
    client_free(c);
    epoch_exit();
    host_free(h);
}

/* ---- writes of a thread that waits ---- */

static const struct json *configmap(struct host *h, const char *name)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, h->arena);
    CHECK(json_parse(h->arena, str_of(body_of(h, name)), NULL, &v, &st) == 0);
    return v;
}

struct writer {
    struct host *host;
    struct client *client;
    const struct json *obj;
    int rc;
    enum reason reason;
    bool names_webhook;
};

static void *create_one(void *arg)
{
    struct writer *w = arg;
    scoped_arena a = arena_new();
    struct client_ref ref = { .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = STR("default") };
    struct status st;

    status_init(&st, a);
    w->rc = client_create(w->client, a, &ref, w->obj, NULL, &st);
    w->reason = st.reason;
    w->names_webhook = st.message.n && memmem(st.message.p, st.message.n, "no.example.com", 14);
    return NULL;
}

static void create_on_a_thread(struct writer *w)
{
    pthread_t thread;

    REQUIRE(pthread_create(&thread, NULL, create_one, w) == 0);
    (void)pthread_join(thread, NULL);
}

/* The loop is held: that the write ends is that nobody needs it. */
TEST(a_write_of_a_thread_that_waits_needs_no_loop)
{
    struct host *h = host_new(0, 0);
    struct writer w = { .host = h, .obj = configmap(h, "a") };
    pthread_t thread;

    w.client = client_new(
        server_local_transport(h->server, h->loop, STR("system:kairship:root-ca-controller")));
    (void)sem_init(&held, 0, 0);
    (void)sem_init(&go_on, 0, 0);
    REQUIRE(pthread_create(&thread, NULL, run_loop, h->loop) == 0);
    loop_call(h->loop, hold_loop, NULL);
    (void)sem_wait(&held);
    create_on_a_thread(&w);
    CHECK(w.rc == 0);
    create_on_a_thread(&w);
    CHECK(w.rc < 0 && w.reason == REASON_ALREADY_EXISTS);
    CHECK(atomic_load(&h->server->writes) == 0);
    (void)sem_post(&go_on);
    loop_stop(h->loop);
    (void)pthread_join(thread, NULL);
    epoch_enter();
    client_free(w.client);
    epoch_exit();
    host_free(h);
}

/* Who has to ask a webhook does so on the loop; this one cannot be reached. */
TEST(a_write_that_has_to_ask_goes_to_the_loop)
{
    static const char webhook[] =
        "{\"metadata\":{\"name\":\"no\"},\"webhooks\":[{\"name\":\"no.example.com\","
        "\"clientConfig\":{\"url\":\"https://127.0.0.1:1/\"},\"sideEffects\":\"None\","
        "\"admissionReviewVersions\":[\"v1\"],\"rules\":[{\"apiGroups\":[\"\"],\"apiVersions\":"
        "[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":[\"configmaps\"]}]}]}";
    static const char *const kinds[] = { "validatingwebhookconfigurations",
                                         "mutatingwebhookconfigurations" };
    struct host *h = host_new(0, 0);
    struct client_transport *t = local_new(h);
    struct writer w = { .host = h, .obj = configmap(h, "a") };
    pthread_t thread;

    w.client = client_new(
        server_local_transport(h->server, h->loop, STR("system:kairship:root-ca-controller")));
    for (size_t i = 0; i < 2; i++) {
        const char *path =
            arena_printf(h->arena, "/apis/admissionregistration.k8s.io/v1/%s", kinds[i]);

        CHECK(code_in(h, t, "POST", path, webhook) == 201);
        REQUIRE(pthread_create(&thread, NULL, run_loop, h->loop) == 0);
        create_on_a_thread(&w);
        CHECK(w.rc < 0 && w.reason == REASON_INTERNAL && w.names_webhook);
        loop_stop(h->loop);
        (void)pthread_join(thread, NULL);
        CHECK(atomic_load(&h->server->writes) == 0);
        CHECK(code_in(h, t, "DELETE", arena_printf(h->arena, "%s/no", path), "") == 200);
    }
    epoch_enter();
    client_free(w.client);
    epoch_exit();
    local_free(h, t);
    host_free(h);
}
