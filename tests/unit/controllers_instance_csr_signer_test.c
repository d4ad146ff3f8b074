/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/instance/csr_signer.h"

#include <pthread.h>
#include <unistd.h>

#include "apiserver/auth/signer.h"
#include "apiserver/call/local.h"
#include "base/encode.h"
#include "http/csr.h"
#include "server_fixture.h"

/* The signer against a whole server, in process, with the rights that it has there. */

#define CSRS "/apis/certificates.k8s.io/v1/certificatesigningrequests"

struct rig {
    struct host *host;
    struct client *client, *controllers; /* ours, and the one of the controller */
    struct controller *controller;
    struct csr_signer signer;
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

static void rig_init(struct rig *r)
{
    static const struct identity admin = { .user = STR_INIT("admin"),
                                           .groups = ask_masters,
                                           .ngroups = 1 };

    r->host = host_new(0, 0);
    r->arena = r->host->arena;
    status_init(&r->st, r->arena);
    CHECK(pki_make_ca(r->arena, STR("signer"), clock_wall_s(&r->host->clock), 3650,
                      &r->host->server->signer, &r->st) == 0);
    r->client = client_new(server_local_as(r->host->server, r->host->loop, &admin));
    r->controllers = client_new(
        server_local_transport(r->host->server, r->host->loop, STR("system:kairship:csr-signer")));
    if (pthread_create(&r->thread, NULL, run_loop, r->host->loop) != 0)
        exit(1);
}

static void rig_start(struct rig *r)
{
    struct controller_spec spec = csr_signer_controller;

    r->signer = (struct csr_signer){ signer_sign, r->host->server, &r->host->clock };
    spec.arg = &r->signer;
    r->controller = controller_start(&spec, r->controllers);
}

static void rig_free(struct rig *r)
{
    controller_stop(r->controller);
    loop_stop(r->host->loop);
    (void)pthread_join(r->thread, NULL);
    epoch_enter();
    client_free(r->client);
    client_free(r->controllers);
    epoch_exit();
    host_free(r->host);
}

/* The code of the answer, and the tree in *out. */
static int ask_api(struct rig *r, const char *method, const char *path, str body,
                   const struct json **out)
{
    struct client_request req = { .method = str_of(method),
                                  .path = str_of(path),
                                  .content_type = STR("application/json"),
                                  .body = body };
    const struct json *v = &json_null;

    if (strcmp(method, "PATCH") == 0)
        req.content_type = STR("application/merge-patch+json");
    status_reset(&r->st);
    if (client_do(r->client, r->arena, &req, &v, &r->st) < 0)
        return status_http(&r->st);
    if (out)
        *out = v;
    return 200;
}

static const char *path_of(struct rig *r, const char *prefix, const char *name)
{
    return arena_printf(r->arena, "%s" CSRS "%s%s", prefix, *name ? "/" : "", name);
}

struct want {
    const char *name, *cn, *org, *signer, *usages; /* usages as JSON */
};

static int request(struct rig *r, const char *prefix, const struct want *w)
{
    str org = str_of(w->org), pem;
    secret key;
    struct csr_subject who = { .cn = str_of(w->cn), .orgs = &org, .norgs = 1 };

    CHECK(csr_make(r->arena, &who, &pem, &key, &r->st) == 0);
    return ask_api(r, "POST", path_of(r, prefix, ""),
                   str_printf(r->arena,
                              "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"request\":\"%.*s\","
                              "\"signerName\":\"%s\",\"usages\":%s}}",
                              w->name, STR_ARG(base64_encode(r->arena, BASE64_STD, pem)), w->signer,
                              w->usages),
                   NULL);
}

static int decide(struct rig *r, const char *prefix, const char *name, const char *type)
{
    return ask_api(r, "PATCH", arena_printf(r->arena, "%s/approval", path_of(r, prefix, name)),
                   str_printf(r->arena,
                              "{\"status\":{\"conditions\":[{\"type\":\"%s\",\"status\":\"True\","
                              "\"reason\":\"x\"}]}}",
                              type),
                   NULL);
}

static const struct json *get(struct rig *r, const char *prefix, const char *name)
{
    const struct json *v = NULL;

    return ask_api(r, "GET", path_of(r, prefix, name), STR_NONE, &v) == 200 ? v : NULL;
}

/* Within ten seconds: its certificate, or why it failed. */
static str outcome(struct rig *r, const char *prefix, const char *name)
{
    for (int i = 0; i < 1000; i++) {
        const struct json *csr = get(r, prefix, name);
        str cert = json_get_str(csr, "status.certificate");

        json_for_each (c, json_path(csr, "status.conditions"))
            if (str_is(json_get_str(c, "type"), "Failed"))
                return json_get_str(c, "message");
        if (cert.n && base64_decode(r->arena, BASE64_STD, cert, &cert))
            return cert;
        (void)usleep(10000);
    }
    return STR("nothing");
}

static bool vanishes(struct rig *r, const char *name)
{
    for (int i = 0; i < 1000; i++) {
        if (!get(r, "", name))
            return true;
        (void)usleep(10000);
    }
    return false;
}

#define CLIENT "[\"client auth\"]"

TEST(what_is_approved_is_signed_for_its_instance_and_time)
{
    static const struct want w = { "x", "alice", "devs", SIGNER_API_CLIENT, CLIENT };
    struct rig r;
    int64_t from, to, now;
    str cert;

    rig_init(&r);
    rig_start(&r);
    CHECK(ask_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  STR("{\"metadata\":{\"name\":\"one\"}}"), NULL) == 200);
    CHECK(request(&r, "/clusters/one", &w) == 200);
    CHECK(decide(&r, "/clusters/one", "x", "Approved") == 200);
    cert = outcome(&r, "/clusters/one", "x");
    CHECK(str_starts(cert, STR("-----BEGIN CERTIFICATE-----")));
    REQUIRE(pki_cert_times(cert, &from, &to));
    now = clock_wall_s(&r.host->clock);
    CHECK(from == now - 300 && to == now + 365 * 86400 - 300);
    CHECK(!get(&r, "", "x"));
    rig_free(&r);
}

TEST(what_does_not_fit_its_signer_fails)
{
    static const struct {
        struct want w;
        const char *why;
    } rows[] = {
        { { "a", "u", "g", SIGNER_API_CLIENT, "[\"client auth\",\"server auth\"]" },
          "invalid usage for client certificate: server auth" },
        { { "b", "u", "g", SIGNER_API_CLIENT, "[\"digital signature\"]" },
          "missing required usage for client certificate: client auth" },
        { { "c", "system:node:n", "g", SIGNER_KUBELET_CLIENT,
            "[\"digital signature\",\"client auth\"]" },
          "subject organization is not system:nodes" },
        { { "d", "n", "system:nodes", SIGNER_KUBELET_CLIENT,
            "[\"digital signature\",\"client auth\"]" },
          "subject common name does not begin with system:node: " },
        { { "e", "system:node:n", "system:nodes", SIGNER_KUBELET_CLIENT, CLIENT },
          "usages did not match [digital signature client auth]" },
        { { "f", "system:node:n", "system:nodes", SIGNER_KUBELET_SERVER,
            "[\"digital signature\",\"server auth\"]" },
          "DNS or IP subjectAltName is required" },
    };
    struct rig r;

    rig_init(&r);
    rig_start(&r);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CHECK(request(&r, "", &rows[i].w) == 200);
        CHECK(decide(&r, "", rows[i].w.name, "Approved") == 200);
        CHECK_STR(str_z(r.arena, outcome(&r, "", rows[i].w.name)), rows[i].why);
    }
    rig_free(&r);
}

TEST(masters_have_a_signer_of_their_own)
{
    struct want w = { "m", "u", "system:masters", SIGNER_API_CLIENT, CLIENT };
    struct rig r;

    rig_init(&r);
    rig_start(&r);
    CHECK(request(&r, "", &w) == 403);
    w.signer = SIGNER_ADMIN_CLIENT;
    CHECK(request(&r, "", &w) == 200);
    CHECK(decide(&r, "", "m", "Approved") == 200);
    CHECK(str_starts(outcome(&r, "", "m"), STR("-----BEGIN CERTIFICATE-----")));
    rig_free(&r);
}

TEST(times_are_the_approvers_to_write)
{
    static const struct want w = { "far", "u", "g", SIGNER_API_CLIENT, CLIENT };
    struct rig r;

    rig_init(&r);
    rig_start(&r);
    CHECK(request(&r, "", &w) == 200);
    CHECK(ask_api(&r, "PATCH", CSRS "/far/approval",
                  STR("{\"status\":{\"conditions\":[{\"type\":\"Approved\",\"status\":\"True\","
                      "\"lastUpdateTime\":\"9999-01-01T00:00:00Z\"}]}}"),
                  NULL) == 200);
    CHECK(str_starts(outcome(&r, "", "far"), STR("-----BEGIN CERTIFICATE-----")));
    (void)usleep(50000);
    CHECK(get(&r, "", "far"));
    rig_free(&r);
}

TEST(what_is_old_goes)
{
    static const struct want rows[] = {
        { "denied", "u", "g", SIGNER_API_CLIENT, CLIENT },
        { "pending", "u", "g", SIGNER_API_CLIENT, CLIENT },
        { "other", "u", "g", "example.com/x", CLIENT }, /* approved, but not ours to sign */
        { "young", "u", "g", SIGNER_API_CLIENT, CLIENT },
    };
    struct rig r;

    rig_init(&r);
    for (size_t i = 0; i < 3; i++)
        CHECK(request(&r, "", &rows[i]) == 200);
    CHECK(decide(&r, "", "denied", "Denied") == 200);
    CHECK(decide(&r, "", "other", "Approved") == 200);
    clock_jump(&r.host->clock, clock_wall_us(&r.host->clock) + 25 * 3600 * 1000000LL);
    CHECK(request(&r, "", &rows[3]) == 200);
    rig_start(&r);
    CHECK(vanishes(&r, "denied"));
    CHECK(vanishes(&r, "pending"));
    CHECK(get(&r, "", "other") && get(&r, "", "young"));
    rig_free(&r);
}
