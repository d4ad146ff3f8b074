/* SPDX-License-Identifier: Apache-2.0 */

/* How a Service of an instance is reached, and webhooks that are named by one. */

#include "fleet_rig.h"
#include "server/internal.h"
#include "server/service.h"

#define CORE   "/clusters/demo/api/v1/namespaces/default/"
#define SLICES "/clusters/demo/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define HOOKS                                              \
    "/clusters/demo/apis/admissionregistration.k8s.io/v1/" \
    "mutatingwebhookconfigurations"

struct place {
    struct rig *rig;
    const char *name;
    uint16_t port;
    enum service_fault fault;
    char text[256];
};

static void resolve(void *arg)
{
    struct place *p = arg;
    struct server *s = p->rig->host->server;
    scoped_arena a = arena_new();
    struct service_ref ref = { .namespace_ = STR("default"),
                               .name = str_of(p->name),
                               .port = p->port };
    struct service_place at = { 0 };
    struct status st;

    status_init(&st, a);
    CHECK(instance_find(rest_instances(s->rest), a, STR("demo"), &ref.instance, &st) == 0);
    p->fault = service_resolve(s, a, &ref, &at, &st);
    (void)snprintf(p->text, sizeof(p->text), "%.*s:%.*s%.*s", STR_ARG(at.host), STR_ARG(at.port),
                   STR_ARG(st.message));
}

static bool is_at(struct rig *r, const char *name, uint16_t port, enum service_fault fault,
                  const char *text)
{
    struct place p = { .rig = r, .name = name, .port = port };

    loop_call_wait(r->host->loop, resolve, &p);
    if (p.fault == fault && strcmp(p.text, text) == 0)
        return true;
    printf("# %s %s\n", service_fault_name(p.fault), p.text);
    return false;
}

TEST(addresses_of_services)
{
    struct fleet_rig f;
    struct rig *r = &f.rig;

    fleet_rig_open(&f, NULL);
    CHECK(is_at(r, "s", 443, SERVICE_NOT_FOUND, ":service/s in \"default\" is not present"));
    CHECK(ask_api(r, "POST", CORE "services",
                  "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"name\":\"https\","
                  "\"port\":443,\"targetPort\":8443},{\"name\":\"other\",\"port\":80}]}}",
                  NULL) == 200);
    CHECK(is_at(r, "s", 444, SERVICE_PORT_ERROR,
                ":service/s in \"default\" is not listening on port 444"));
    CHECK(is_at(r, "s", 443, SERVICE_NO_ENDPOINTS,
                ":cannot find endpointslices for service/s in \"default\""));
    CHECK(
        ask_api(r, "POST", SLICES,
                "{\"metadata\":{\"name\":\"a\",\"labels\":{\"kubernetes.io/service-name\":\"s\"}},"
                "\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"192.0.2.1\"],"
                "\"conditions\":{\"ready\":false}}],\"ports\":[{\"name\":\"https\","
                "\"port\":8443}]}",
                NULL) == 200);
    CHECK(is_at(r, "s", 443, SERVICE_NOT_READY,
                ":endpointslices for service/s in \"default\" have no addresses with port name "
                "\"https\""));
    CHECK(
        ask_api(r, "POST", SLICES,
                "{\"metadata\":{\"name\":\"b\",\"labels\":{\"kubernetes.io/service-name\":\"s\"}},"
                "\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"192.0.2.2\"]}],"
                "\"ports\":[{\"name\":\"https\",\"port\":9443}]}",
                NULL) == 200);
    CHECK(is_at(r, "s", 443, SERVICE_FOUND, "192.0.2.2:9443"));
    CHECK(is_at(r, "s", 80, SERVICE_NOT_READY,
                ":endpointslices for service/s in \"default\" have no addresses with port name "
                "\"other\""));
    fleet_rig_close(&f);
}

TEST(endpoints_and_external_names)
{
    struct fleet_rig f;
    struct rig *r = &f.rig;

    fleet_rig_open(&f, NULL);
    CHECK(ask_api(r, "POST", CORE "services",
                  "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":443}]}}",
                  NULL) == 200);
    CHECK(ask_api(r, "POST", CORE "endpoints",
                  "{\"metadata\":{\"name\":\"s\"},\"subsets\":[{\"addresses\":[{\"ip\":"
                  "\"192.0.2.7\"}],\"notReadyAddresses\":[{\"ip\":\"192.0.2.8\"}],"
                  "\"ports\":[{\"port\":6443}]}]}",
                  NULL) == 200);
    CHECK(is_at(r, "s", 443, SERVICE_FOUND, "192.0.2.7:6443"));
    CHECK(ask_api(r, "POST", CORE "services",
                  "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"type\":\"ExternalName\","
                  "\"externalName\":\"api.example.com\"}}",
                  NULL) == 200);
    CHECK(is_at(r, "x", 6443, SERVICE_FOUND, "api.example.com:6443"));
    fleet_rig_close(&f);
}

static void allow_loopback(void *arg)
{
    ((struct server *)arg)->egress.loopback = true;
}

static void admit(struct fake *f, struct http_request *req)
{
    scoped_arena a = arena_new();
    const struct json *review;
    struct status st;

    (void)f;
    status_init(&st, a);
    CHECK(json_parse(a, req->body, NULL, &review, &st) == 0);
    fake_answer(req, 200,
                str_printf(req->arena,
                           "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                           "\"response\":{\"uid\":\"%.*s\",\"allowed\":false,\"status\":{"
                           "\"message\":\"not today\"}}}",
                           STR_ARG(json_get_str(review, "request.uid"))));
}

static void hook(struct rig *r, struct fake *f, const char *service, str ca)
{
    str address = http_server_address(f->http);

    (void)ask_api(r, "DELETE", HOOKS "/w", "", NULL);
    CHECK(ask_api(r, "POST", HOOKS,
                  arena_printf(r->arena,
                               "{\"metadata\":{\"name\":\"w\"},\"webhooks\":[{\"name\":"
                               "\"w.example.com\",\"clientConfig\":{\"caBundle\":\"%.*s\","
                               "\"service\":{\"namespace\":\"default\",\"name\":\"%s\",\"path\":"
                               "\"/ask\",\"port\":%.*s}},\"rules\":[{\"apiGroups\":[\"\"],"
                               "\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],"
                               "\"resources\":[\"configmaps\"]}],\"sideEffects\":\"None\","
                               "\"admissionReviewVersions\":[\"v1\"]}]}",
                               STR_ARG(base64_encode(r->arena, BASE64_STD, ca)), service,
                               STR_ARG(str_from(address, 10))),
                  NULL) == 200);
}

static int make_map(struct rig *r)
{
    return ask_api(r, "POST", CORE "configmaps", "{\"metadata\":{\"name\":\"m\"}}", NULL);
}

TEST(a_webhook_that_is_a_service)
{
    struct fleet_rig f;
    struct rig *r = &f.rig;
    struct fake fake;

    fleet_rig_open(&f, NULL);
    fake_open(&fake);
    fake.handler = admit;
    for (int i = 0; i < 2; i++)
        CHECK(ask_api(r, "POST", CORE "services",
                      arena_printf(r->arena,
                                   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"type\":"
                                   "\"ExternalName\",\"externalName\":\"localhost\"}}",
                                   i ? "api" : "other"),
                      NULL) == 200);
    hook(r, &fake, "api", fake.ca.cert);
    CHECK(make_map(r) == 500 && str_contains(r->st.message, STR("loopback")));
    loop_call_wait(r->host->loop, allow_loopback, r->host->server);
    CHECK(make_map(r) == 400);
    CHECK(str_contains(r->st.message, STR("\"w.example.com\" denied the request: not today")));
    CHECK(fake_saw(&fake, "POST /ask?timeout=10s\n"));
    /* The certificate is for another service than this one, wherever it is. */
    hook(r, &fake, "other", fake.ca.cert);
    CHECK(make_map(r) == 500);
    CHECK(str_contains(r->st.message, STR("https://other.default.svc:")));
    CHECK(atomic_load(&fake.requests) == 1);
    fleet_rig_close(&f);
    fake_close(&fake);
}
