/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"
#include "server_rig.h"

/* Imports are made by the test; what becomes of them is the controllers'. */

#define BASE      "/clusters/demo/apis/apiresource.kcp.dev/v1alpha1/"
#define IMPORTS   BASE "apiresourceimports"
#define AGREED    BASE "negotiatedapiresources/gadgets.v1.example.com"
#define CRDS      "/clusters/demo/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRD       CRDS "/gadgets.example.com"
#define SPEC_OF_A "\"a\":{\"type\":\"string\"}"
#define SPEC_OF_B SPEC_OF_A ",\"b\":{\"type\":\"integer\"}"

struct bench {
    struct rig rig;
    struct client *crd_client;
    struct controller *crds;
};

static void bench_open(struct bench *b)
{
    struct rig *r = &b->rig;

    rig_open(r);
    CHECK(ask_api(r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\","
                  "\"metadata\":{\"name\":\"demo\"},\"spec\":{\"profile\":\"minimal\"}}",
                  NULL) == 200);
    r->own = client_new(server_local_transport(r->host->server, r->host->loop,
                                               STR("system:kairship:api-negotiation")));
    b->crd_client = client_new(server_local_transport(r->host->server, r->host->loop,
                                                      STR("system:kairship:crd-controller")));
    b->crds = controller_start(&crd_controller, b->crd_client);
    r->controller = controller_start(&api_negotiation_controller, r->own);
}

static void free_client(void *arg)
{
    client_free(arg);
}

static void bench_close(struct bench *b)
{
    controller_stop(b->rig.controller);
    controller_stop(b->crds);
    loop_call_wait(b->rig.host->loop, free_client, b->crd_client);
    rig_close(&b->rig);
}

static void import(struct bench *b, const char *location, const char *properties)
{
    CHECK(ask_api(&b->rig, "POST", IMPORTS,
                  arena_printf(
                      b->rig.arena,
                      "{\"metadata\":{\"name\":\"gadgets.%s.v1.example.com\"},\"spec\":{"
                      "\"groupVersion\":{\"group\":\"example.com\",\"version\":\"v1\"},\"scope\":"
                      "\"Namespaced\",\"plural\":\"gadgets\",\"singular\":\"gadget\",\"kind\":"
                      "\"Gadget\",\"listKind\":\"GadgetList\",\"location\":\"%s\","
                      "\"subResources\":[{\"name\":\"status\"}],\"openAPIV3Schema\":{\"type\":"
                      "\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{%s}"
                      "}}}}}",
                      location, location, properties),
                  NULL) == 200);
}

static const char *import_path(struct bench *b, const char *location)
{
    return arena_printf(b->rig.arena, IMPORTS "/gadgets.%s.v1.example.com", location);
}

/* "True", "False reason: message", or "-". */
static const char *condition(struct bench *b, const char *path, const char *type)
{
    const struct json *v = NULL;

    (void)ask_api(&b->rig, "GET", path, "", &v);
    json_for_each (c, json_path(v, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return arena_printf(
                b->rig.arena, "%.*s%s%.*s%s%.*s", STR_ARG(json_get_str(c, "status")),
                json_get(c, STR("reason")) ? " " : "", STR_ARG(json_get_str(c, "reason")),
                json_get(c, STR("message")) ? ": " : "", STR_ARG(json_get_str(c, "message")));
    return "-";
}

static bool comes(struct bench *b, const char *path, const char *type, const char *want)
{
    for (int i = 0; i < 500; i++) {
        if (strcmp(condition(b, path, type), want) == 0)
            return true;
        (void)usleep(10000);
    }
    printf("# %s of %s: got %s, want %s\n", type, path, condition(b, path, type), want);
    return false;
}

/* The fields of spec that the CRD serves become these; "-": there is no CRD. */
static bool serves(struct bench *b, const char *want)
{
    const char *got = "";

    for (int i = 0; i < 500; i++) {
        const struct json *v = NULL;

        got = "-";
        if (ask_api(&b->rig, "GET", CRD, "", &v) == 200) {
            got = "";
            json_for_each_member (m, json_path(json_at(json_path(v, "spec.versions"), 0),
                                               "schema.openAPIV3Schema.properties.spec.properties"))
                got = arena_printf(b->rig.arena, "%s%.*s", got, STR_ARG(m->name));
        }
        if (strcmp(got, want) == 0)
            return true;
        (void)usleep(10000);
    }
    printf("# serves %s, wanted %s\n", got, want);
    return false;
}

TEST(a_type_lives_with_its_imports)
{
    struct bench b;

    bench_open(&b);
    import(&b, "east", SPEC_OF_B);
    CHECK(comes(&b, import_path(&b, "east"), "Available", "True"));
    CHECK(comes(&b, import_path(&b, "east"), "Compatible", "True"));
    CHECK(comes(&b, AGREED, "Published", "True"));
    CHECK(comes(&b, AGREED, "Enforced", "False"));
    CHECK(serves(&b, "ab"));

    import(&b, "west", SPEC_OF_A); /* it does not have b */
    CHECK(comes(&b, import_path(&b, "west"), "Compatible",
                "False IncompatibleSchema: properties[spec]: the property b was taken away"));
    CHECK(comes(&b, import_path(&b, "east"), "Compatible", "True"));
    CHECK(serves(&b, "ab"));

    CHECK(ask_api(&b.rig, "PATCH", import_path(&b, "west"),
                  "{\"spec\":{\"schemaUpdateStrategy\":\"UpdatePublished\"}}", NULL) == 200);
    CHECK(comes(&b, import_path(&b, "west"), "Compatible", "True"));
    CHECK(serves(&b, "a"));

    CHECK(ask_api(&b.rig, "DELETE", import_path(&b, "west"), "", NULL) == 200);
    CHECK(serves(&b, "ab")); /* as wide as before */
    CHECK(ask_api(&b.rig, "DELETE", import_path(&b, "east"), "", NULL) == 200);
    CHECK(serves(&b, "-"));
    bench_close(&b);
}

TEST(when_none_fits_any_more_it_begins_anew)
{
    struct bench b;

    bench_open(&b);
    import(&b, "east", SPEC_OF_B);
    CHECK(serves(&b, "ab"));
    CHECK(comes(&b, AGREED, "Published", "True"));
    import(&b, "west", SPEC_OF_A);
    CHECK(comes(&b, import_path(&b, "west"), "Compatible",
                "False IncompatibleSchema: properties[spec]: the property b was taken away"));
    CHECK(ask_api(&b.rig, "DELETE", import_path(&b, "east"), "", NULL) == 200);
    CHECK(comes(&b, import_path(&b, "west"), "Compatible", "True"));
    CHECK(serves(&b, "a"));
    bench_close(&b);
}

TEST(objects_outlive_the_last_import)
{
    struct bench b;

    bench_open(&b);
    import(&b, "east", SPEC_OF_B);
    CHECK(comes(&b, AGREED, "Published", "True"));
    CHECK(ask_api(&b.rig, "POST", "/clusters/demo/apis/example.com/v1/namespaces/default/gadgets",
                  "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\",\"metadata\":{\"name\":"
                  "\"g\"},\"spec\":{\"a\":\"x\"}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "DELETE", import_path(&b, "east"), "", NULL) == 200);
    (void)usleep(300000);
    CHECK(serves(&b, "ab"));
    CHECK(ask_api(&b.rig, "GET", "/clusters/demo/apis/example.com/v1/namespaces/default/gadgets/g",
                  "", NULL) == 200);
    bench_close(&b);
}

TEST(a_crd_made_by_hand_rules)
{
    struct bench b;

    bench_open(&b);
    CHECK(ask_api(
              &b.rig, "POST", CRDS,
              "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
              "\"metadata\":{\"name\":\"gadgets.example.com\"},\"spec\":{\"group\":\"example.com\","
              "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"gadgets\",\"kind\":\"Gadget\"},"
              "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
              "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"
              "\"object\",\"properties\":{" SPEC_OF_B "}}}}}}]}}",
              NULL) == 200);
    import(&b, "east", SPEC_OF_B);
    import(&b, "west", SPEC_OF_A);
    CHECK(comes(&b, AGREED, "Enforced", "True"));
    CHECK(comes(&b, import_path(&b, "east"), "Compatible", "True"));
    CHECK(comes(&b, import_path(&b, "east"), "Available", "True"));
    CHECK(comes(&b, import_path(&b, "west"), "Compatible",
                "False IncompatibleSchema: properties[spec]: the property b was taken away"));
    CHECK(ask_api(&b.rig, "PATCH", import_path(&b, "west"),
                  "{\"spec\":{\"schemaUpdateStrategy\":\"UpdatePublished\"}}", NULL) == 200);
    (void)usleep(200000);
    CHECK(serves(&b, "ab")); /* nobody may narrow it */
    bench_close(&b);
}

TEST(a_type_that_is_there_anyway_needs_no_negotiation)
{
    struct bench b;
    const char *path = IMPORTS "/configmaps.east.v1.core";

    bench_open(&b);
    CHECK(ask_api(&b.rig, "POST", IMPORTS,
                  "{\"metadata\":{\"name\":\"configmaps.east.v1.core\"},\"spec\":{"
                  "\"groupVersion\":{\"version\":\"v1\"},\"scope\":\"Namespaced\",\"plural\":"
                  "\"configmaps\",\"kind\":\"ConfigMap\",\"location\":\"east\"}}",
                  NULL) == 200);
    CHECK(comes(&b, path, "Compatible", "True"));
    CHECK(comes(&b, path, "Available", "True"));
    CHECK(ask_api(&b.rig, "GET", BASE "negotiatedapiresources/configmaps.v1.core", "", NULL) ==
          404);
    bench_close(&b);
}

/* CRDs wake it there, too. */
TEST(where_nothing_can_be_imported_there_is_nothing_to_do)
{
    struct informer_key key = { .instance = STR("plain"), .name = STR("gadgets.v1.example.com") };
    struct status st;
    struct bench b;

    bench_open(&b);
    CHECK(ask_api(&b.rig, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\","
                  "\"metadata\":{\"name\":\"plain\"},\"spec\":{\"profile\":\"kubernetes\"}}",
                  NULL) == 200);
    status_init(&st, b.rig.arena);
    CHECK(api_negotiation_controller.reconcile(NULL, b.rig.own, b.rig.arena, &key, &st) == 0);
    bench_close(&b);
}
