/* SPDX-License-Identifier: Apache-2.0 */

/* Ports of single instances: what opens one does not open the other, and trouble is its own. */

#include <semaphore.h>
#include <time.h>

#include "apiserver/auth/authn_cert.h"
#include "apiserver/server/listener.h"
#include "base/banned.h"
#include "http/csr.h"
#include "http/pki.h"
#include "server_rig.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

enum { NOW_S = 1577934245, DAYS = 36500 }; /* the rig's clock; also for TLS, which has another */

struct world {
    struct rig rig;
    struct pki_pair ca, serving;
    struct listener *ports[2];
    struct client *in[2];  /* with the certificate of m1, at each port */
    struct client *own[2]; /* with each one's own */
};

static const char *const names[] = { "m1", "m2" };

static str certificate(struct world *w, str uid, secret *key)
{
    static const str masters[] = { STR_INIT("system:masters") };
    static const str usages[] = { STR_INIT("client auth") };
    struct arena *a = w->rig.arena;
    struct csr_order o = { .usages = usages,
                           .nusages = 1,
                           .uri = authn_cert_uri(a, &(struct instance){ .uid = uid }),
                           .not_before = NOW_S - 1000,
                           .not_after = NOW_S + (int64_t)DAYS * 80000 };
    str cert = STR_NONE;

    CHECK(csr_make(a, &(struct csr_subject){ STR("admin"), masters, 1 }, &o.pem, key, &w->rig.st) ==
          0);
    CHECK(csr_sign(a, &w->ca, &o, &cert, &w->rig.st) == 0);
    return cert;
}

static struct client *client_at(struct world *w, size_t port, str cert, secret key, str token)
{
    str address = listener_address(w->ports[port]);
    ptrdiff_t colon = str_find(address, ':', 0);
    struct kubeconfig k = { .context = STR("x"),
                            .server = address,
                            .tls = true,
                            .host = str_sub(address, 0, (size_t)colon),
                            .port = str_from(address, (size_t)colon + 1),
                            .ca_pem = w->ca.cert,
                            .cert_pem = cert,
                            .key_pem = key,
                            .token = secret_of(token) };

    return client_open(NULL, &k, &w->rig.st);
}

static int get(struct world *w, struct client *c, const char *path, int64_t timeout_ms)
{
    struct client_request req = { .method = STR("GET"),
                                  .path = str_of(path),
                                  .timeout_ms = timeout_ms };
    const struct json *v;

    status_reset(&w->rig.st);
    return client_do(c, w->rig.arena, &req, &v, &w->rig.st) < 0 ? status_http(&w->rig.st) : 200;
}

static void open_port(struct world *w, size_t i)
{
    struct rig *r = &w->rig;
    struct listener_options o = { .server = r->host->server,
                                  .listen = STR("127.0.0.1:0"),
                                  .instance = str_of(names[i]),
                                  .loops = &r->host->loop,
                                  .nloops = 1,
                                  .http = HTTP_LIMITS_DEFAULT,
                                  .cert_pem = w->serving.cert,
                                  .key_pem = w->serving.key_pem,
                                  .client_ca_pem = w->ca.cert };

    w->ports[i] = listener_new(&o, &r->st);
    CHECK(w->ports[i] != NULL);
    CHECK(ask_api(r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  arena_printf(r->arena,
                               "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"profile\":"
                               "\"kubernetes\"}}",
                               names[i]),
                  NULL) == 200);
    CHECK(ask_api(r, "POST", arena_printf(r->arena, "/clusters/%s" CONFIGMAPS, names[i]),
                  arena_printf(r->arena, "{\"metadata\":{\"name\":\"of-%s\"}}", names[i]),
                  NULL) == 200);
}

static void open_world(struct world *w)
{
    static const str hosts[] = { STR_INIT("127.0.0.1") };
    struct pki_request serve = {
        .cn = STR("server"), .hosts = hosts, .nhosts = 1, .now_s = NOW_S, .days = DAYS
    };

    rig_open(&w->rig);
    CHECK(pki_make_ca(w->rig.arena, STR("ca"), NOW_S, DAYS, &w->ca, &w->rig.st) == 0);
    CHECK(pki_sign(w->rig.arena, &w->ca, &serve, &w->serving, &w->rig.st) == 0);
    for (size_t i = 0; i < 2; i++)
        open_port(w, i);
    for (size_t i = 0; i < 2; i++) {
        const struct json *v = NULL;
        secret key;
        str cert;

        CHECK(ask_api(&w->rig, "GET",
                      arena_printf(w->rig.arena, "/apis/tenancy.kairship.io/v1alpha1/instances/%s",
                                   names[i]),
                      "", &v) == 200);
        cert = certificate(w, json_get_str(v, "metadata.uid"), &key);
        w->own[i] = client_at(w, i, cert, key, STR_NONE);
        if (i == 0)
            for (size_t j = 0; j < 2; j++)
                w->in[j] = client_at(w, j, cert, key, STR_NONE);
    }
}

static void close_world(struct world *w)
{
    for (size_t i = 0; i < 2; i++) {
        client_free(w->own[i]);
        client_free(w->in[i]);
    }
    loop_stop(w->rig.host->loop);
    (void)pthread_join(w->rig.thread, NULL);
    epoch_enter();
    client_free(w->rig.client);
    for (size_t i = 0; i < 2; i++)
        listener_free(w->ports[i]);
    epoch_exit();
    host_free(w->rig.host);
}

TEST(the_bare_paths_are_the_instance)
{
    struct world w = { 0 };

    open_world(&w);
    CHECK(get(&w, w.own[0], CONFIGMAPS "/of-m1", 0) == 200);
    CHECK(get(&w, w.own[0], CONFIGMAPS "/of-m2", 0) == 404);
    CHECK(get(&w, w.own[1], CONFIGMAPS "/of-m2", 0) == 200);
    CHECK(get(&w, w.own[0], "/version", 0) == 200);
    CHECK(get(&w, w.own[0], "/apis/apps/v1", 0) == 200);
    CHECK(get(&w, w.own[0], "/apis/policy.karmada.io/v1alpha1", 0) == 404);
    CHECK(get(&w, w.own[0], "/apis/tenancy.kairship.io/v1alpha1/instances", 0) == 404);
    close_world(&w);
}

TEST(there_is_no_way_from_one_to_another)
{
    static const char *const paths[] = { "/clusters/m2" CONFIGMAPS, "/clusters/m1" CONFIGMAPS,
                                         "/clusters/*" CONFIGMAPS, "/clusters/m2/version" };
    struct world w = { 0 };

    open_world(&w);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        CHECK(get(&w, w.own[0], paths[i], 0) == 404);
    /* The certificate of m1 at the port of m2, also where none is needed. */
    CHECK(get(&w, w.in[0], CONFIGMAPS, 0) == 200);
    CHECK(get(&w, w.in[1], CONFIGMAPS, 0) == 401);
    CHECK(get(&w, w.in[1], "/version", 0) == 401);
    close_world(&w);
}

TEST(a_token_opens_one_port)
{
    struct world w = { 0 };
    struct client *c[2];
    const struct json *v = NULL;
    str token;

    open_world(&w);
    REQUIRE(ask_api(&w.rig, "POST",
                    "/clusters/m1/api/v1/namespaces/default/serviceaccounts/default/token",
                    "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\"}",
                    &v) == 200);
    token = json_get_str(v, "status.token");
    for (size_t i = 0; i < 2; i++)
        c[i] = client_at(&w, i, STR_NONE, SECRET_NONE, token);
    CHECK(get(&w, c[0], "/version", 0) == 200);
    CHECK(get(&w, c[0], CONFIGMAPS, 0) == 403); /* known, and may nothing */
    CHECK(get(&w, c[1], "/version", 0) == 401);
    CHECK(get(&w, c[1], CONFIGMAPS, 0) == 401);
    for (size_t i = 0; i < 2; i++)
        client_free(c[i]);
    close_world(&w);
}

/* ---- trouble ---- */

struct order {
    struct listener *port;
    enum listener_mode mode;
    int64_t delay_ms;
    struct status *st;
    int rc;
    sem_t done;
};

static void obey(void *arg)
{
    struct order *o = arg;

    o->rc = listener_set(o->port, o->mode, o->delay_ms, o->st);
    (void)sem_post(&o->done);
}

static int set(struct world *w, enum listener_mode mode, int64_t delay_ms)
{
    struct order o = { w->ports[0], mode, delay_ms, &w->rig.st, -1, { { 0 } } };

    (void)sem_init(&o.done, 0, 0);
    loop_call(w->rig.host->loop, obey, &o);
    while (sem_wait(&o.done) < 0)
        ;
    (void)sem_destroy(&o.done);
    return o.rc;
}

static int64_t now_ms(void)
{
    return clock_now_ms(clock_real());
}

TEST(one_is_in_trouble_and_the_other_is_not)
{
    static const enum listener_mode modes[] = { LISTENER_DOWN, LISTENER_HUNG, LISTENER_DOWN,
                                                LISTENER_SLOW };
    struct world w = { 0 };
    char address[64];

    open_world(&w);
    (void)snprintf(address, sizeof(address), "%.*s", STR_ARG(listener_address(w.ports[0])));
    CHECK(get(&w, w.own[0], CONFIGMAPS, 0) == 200);
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        int64_t began;
        int code;

        CHECK(set(&w, modes[i], 300) == 0);
        began = now_ms();
        code = get(&w, w.own[0], CONFIGMAPS, modes[i] == LISTENER_SLOW ? 5000 : 200);
        CHECK(code == (modes[i] == LISTENER_DOWN ? 503 : modes[i] == LISTENER_HUNG ? 504 : 200));
        CHECK(modes[i] != LISTENER_SLOW || now_ms() - began >= 300);
        CHECK(get(&w, w.own[1], CONFIGMAPS, 5000) == 200);
        CHECK(set(&w, LISTENER_UP, 0) == 0);
        CHECK(get(&w, w.own[0], CONFIGMAPS, 5000) == 200);
    }
    CHECK_STR(str_z(w.rig.arena, listener_address(w.ports[0])), address);
    close_world(&w);
}

TEST(what_was_asked_while_it_hung_is_answered_when_it_thaws)
{
    struct world w = { 0 };
    const struct timespec some = { .tv_nsec = 100000000 };
    struct client_request req = { .method = STR("GET"), .path = STR(CONFIGMAPS) };
    scoped_arena a = arena_new();
    const struct json *v;

    open_world(&w);
    CHECK(get(&w, w.own[0], CONFIGMAPS, 0) == 200);
    CHECK(set(&w, LISTENER_HUNG, 0) == 0);
    CHECK(get(&w, w.own[0], CONFIGMAPS, 100) == 504);
    (void)nanosleep(&some, NULL);
    CHECK(set(&w, LISTENER_UP, 0) == 0);
    CHECK(client_do(w.own[0], a, &req, &v, &w.rig.st) == 0);
    close_world(&w);
}
