/* SPDX-License-Identifier: Apache-2.0 */

/* How a Service of an instance is reached, and webhooks that are named by one. */

#include "apiserver/call/internal.h"
#include "apiserver/outbound/service_resolver.h"
#include "fleet_rig.h"

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

/* ---- a version that a webhook makes ---- */

#define CRDS  "/clusters/demo/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define BOATS "/clusters/demo/apis/sea.io/v1/namespaces/default/boats"
#define SCHEMA                                                                          \
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"   \
    "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}},\"served\":" \
    "true,\"storage\":"
#define NAMES \
    "{\"plural\":\"boats\",\"singular\":\"boat\",\"kind\":\"Boat\",\"listKind\":\"BoatList\"}"

/* Says in each object by whom it was made, so that what was not converted shows. */
static void convert(struct fake *f, struct http_request *req)
{
    scoped_arena a = arena_new();
    const struct json *review = &json_null;
    struct json_array out = json_array_new(a);
    struct status st;
    str to;

    (void)f;
    status_init(&st, a);
    CHECK(json_parse(a, req->body, NULL, &review, &st) == 0);
    to = json_get_str(review, "request.desiredAPIVersion");
    json_for_each (o, json_path(review, "request.objects")) {
        struct json text = json_of_str(STR("webhook"));
        const struct json *v = json_set(a, o, "spec.by", &text);

        text = json_of_str(to);
        json_push(&out, *json_set(a, v, "apiVersion", &text));
    }
    fake_answer(req, 200,
                str_printf(req->arena,
                           "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
                           "\"ConversionReview\",\"response\":{\"uid\":\"%.*s\",\"result\":{"
                           "\"status\":\"Success\"},\"convertedObjects\":%.*s}}",
                           STR_ARG(json_get_str(review, "request.uid")),
                           STR_ARG(json_text(a, json_array_done(&out)))));
}

static void never(struct fake *f, struct http_request *req)
{
    (void)f;
    (void)req;
}

static void make_crd(struct rig *r, struct fake *f)
{
    struct arena *a = r->arena;
    const struct json *v;

    REQUIRE(ask_api(r, "POST", CRDS,
                    arena_printf(a,
                                 "{\"metadata\":{\"name\":\"boats.sea.io\"},\"spec\":{\"group\":"
                                 "\"sea.io\",\"scope\":\"Namespaced\",\"names\":" NAMES
                                 ",\"versions\":[{\"name\":\"v1\"," SCHEMA
                                 "true},{\"name\":\"v2\"," SCHEMA
                                 "false}],\"conversion\":{\"strategy\":\"Webhook\",\"webhook\":{"
                                 "\"conversionReviewVersions\":[\"v1\"],\"clientConfig\":{"
                                 "\"caBundle\":\"%.*s\",\"service\":{\"namespace\":\"default\","
                                 "\"name\":\"api\",\"port\":%.*s}}}}}}",
                                 STR_ARG(base64_encode(a, BASE64_STD, f->ca.cert)),
                                 STR_ARG(str_from(http_server_address(f->http), 10))),
                    NULL) == 200);
    REQUIRE(ask_api(r, "PATCH", CRDS "/boats.sea.io/status",
                    "{\"status\":{\"acceptedNames\":" NAMES
                    ",\"storedVersions\":[\"v1\"],\"conditions\":[{\"type\":\"NamesAccepted\","
                    "\"status\":\"True\"},{\"type\":\"Established\",\"status\":\"True\"}]}}",
                    &v) == 200);
}

struct seen {
    struct client_watch watch;
    struct client *client;
    pthread_mutex_t mu;
    char text[65536];
    size_t n;
    unsigned events, unconverted;
};

static void on_seen(struct client_watch *watch, enum client_event type, const struct json *o)
{
    struct seen *s = watch->user;

    (void)pthread_mutex_lock(&s->mu);
    s->events++;
    s->unconverted += !str_is(json_get_str(o, "spec.by"), "webhook") ||
                      !str_is(json_get_str(o, "apiVersion"), "sea.io/v2");
    s->n += (size_t)snprintf(s->text + s->n, sizeof(s->text) - s->n, "%c%.*s:%.*s ", "AMDB"[type],
                             STR_ARG(json_get_str(o, "metadata.name")),
                             STR_ARG(json_get_str(o, "spec.n")));
    (void)pthread_mutex_unlock(&s->mu);
}

static void on_over(struct client_watch *watch, const struct status *why)
{
    (void)watch;
    (void)why;
}

static void begin_watch(void *arg)
{
    struct seen *s = arg;

    client_watch(s->client, &s->watch);
}

static void end_watch(void *arg)
{
    client_watch_cancel(&((struct seen *)arg)->watch);
}

static void watch_v2(struct rig *r, struct seen *s)
{
    struct client_ref ref = { .instance = STR("demo"),
                              .group = STR("sea.io"),
                              .version = STR("v2"),
                              .resource = STR("boats"),
                              .namespace = STR("default") };
    struct client_query q = { .watch = true, .timeout_s = 60 };

    *s = (struct seen){ .client = r->client };
    (void)pthread_mutex_init(&s->mu, NULL);
    s->watch = (struct client_watch){ .req = client_request_watch(r->arena, &ref, &q),
                                      .event = on_seen,
                                      .done = on_over,
                                      .user = s };
    loop_call_wait(r->host->loop, begin_watch, s);
}

static bool saw(struct seen *s, const char *text)
{
    bool same = false;

    for (int i = 0; i < 500 && !same; i++) {
        (void)pthread_mutex_lock(&s->mu);
        same = strcmp(s->text, text) == 0;
        (void)pthread_mutex_unlock(&s->mu);
        if (!same)
            (void)usleep(10000);
    }
    if (!same)
        printf("# %s\n# %s\n", s->text, text);
    return same;
}

static void open_boats(struct fleet_rig *f, struct fake *fake)
{
    struct rig *r = &f->rig;

    fleet_rig_open(f, NULL);
    loop_call_wait(r->host->loop, allow_loopback, r->host->server);
    fake_open(fake);
    fake->handler = convert;
    CHECK(ask_api(r, "POST", CORE "services",
                  "{\"metadata\":{\"name\":\"api\"},\"spec\":{\"type\":\"ExternalName\","
                  "\"externalName\":\"localhost\"}}",
                  NULL) == 200);
    make_crd(r, fake);
}

static const char *boat(struct rig *r, const char *name, int n)
{
    return arena_printf(r->arena,
                        "{\"apiVersion\":\"sea.io/v1\",\"kind\":\"Boat\",\"metadata\":{\"name\":"
                        "\"%s\"},\"spec\":{\"n\":\"%d\"}}",
                        name, n);
}

TEST(a_converted_version_is_watched_in_order)
{
    struct fleet_rig f;
    struct rig *r = &f.rig;
    struct fake fake;
    struct seen s;
    scoped_buf want = { .max = 65536 };

    open_boats(&f, &fake);
    CHECK(ask_api(r, "POST", BOATS, boat(r, "a", 0), NULL) == 200);
    CHECK(ask_api(r, "POST", BOATS, boat(r, "b", 0), NULL) == 200);
    watch_v2(r, &s);
    CHECK(saw(&s, "Aa:0 Ab:0 "));
    buf_lit(&want, "Aa:0 Ab:0 ");
    /* Faster than the webhook answers. */
    for (int i = 1; i <= 100; i++) {
        CHECK(ask_api(r, "PATCH", BOATS "/a",
                      arena_printf(r->arena, "{\"spec\":{\"n\":\"%d\"}}", i), NULL) == 200);
        buf_printf(&want, "Ma:%d ", i);
    }
    CHECK(ask_api(r, "DELETE", BOATS "/b", "", NULL) == 200);
    CHECK(ask_api(r, "POST", BOATS, boat(r, "c", 7), NULL) == 200);
    buf_lit(&want, "Db:0 Ac:7 ");
    buf_byte(&want, 0);
    CHECK(saw(&s, want.p));
    CHECK(s.unconverted == 0);
    loop_call_wait(r->host->loop, end_watch, &s);
    fleet_rig_close(&f);
    fake_close(&fake);
}

TEST(a_watch_may_end_while_its_webhook_thinks)
{
    struct fleet_rig f;
    struct rig *r = &f.rig;
    struct fake fake;
    struct seen s;

    open_boats(&f, &fake);
    CHECK(ask_api(r, "POST", BOATS, boat(r, "a", 0), NULL) == 200);
    fake.handler = never;
    watch_v2(r, &s);
    CHECK(ask_api(r, "PATCH", BOATS "/a", "{\"spec\":{\"n\":\"1\"}}", NULL) == 200);
    for (int i = 0; i < 500 && !atomic_load(&fake.requests); i++)
        (void)usleep(10000);
    CHECK(atomic_load(&fake.requests) == 1 && s.events == 0);
    loop_call_wait(r->host->loop, end_watch, &s);
    CHECK(ask_api(r, "GET", BOATS "/a", "", NULL) == 200);
    fleet_rig_close(&f);
    fake_close(&fake);
}
