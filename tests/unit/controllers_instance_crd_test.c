/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"
#include "server_rig.h"

/* CRDs in a whole server: the controller accepts them, the server serves what they describe. */

static void rig_init(struct rig *r)
{
    rig_open(r);
    r->own = client_new(server_local_transport(r->host->server, r->host->loop,
                                               STR("system:kairship:crd-controller")));
    r->controller = controller_start(&crd_controller, r->own);
}

static void rig_free(struct rig *r)
{
    controller_stop(r->controller);
    rig_close(r);
}

static bool comes_to(struct rig *r, const char *path, int code)
{
    for (int i = 0; i < 1000; i++) {
        if (ask_api(r, "GET", path, "", NULL) == code)
            return true;
        (void)usleep(5000);
    }
    return false;
}

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* A CRD of g.io with one version of which spec has the given properties. */
static const char *crd(struct rig *r, const char *plural, const char *kind, const char *props)
{
    return arena_printf(r->arena,
                        "{\"metadata\":{\"name\":\"%s.g.io\"},\"spec\":{\"group\":\"g.io\","
                        "\"scope\":\"Namespaced\","
                        "\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":"
                        "\"v1\",\"served\":true,"
                        "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
                        "\"properties\":{\"spec\":{"
                        "\"type\":\"object\",\"properties\":{%s}}}}}}]}}",
                        plural, plural, kind, props);
}

static int post(struct rig *r, const char *path, const char *kind, const char *name,
                const char *spec)
{
    return ask_api(
        r, "POST", path,
        arena_printf(r->arena,
                     "{\"apiVersion\":\"g.io/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":"
                     "\"%s\"},\"spec\":%s}",
                     kind, name, spec),
        NULL);
}

static const char *condition(struct rig *r, const char *name, const char *type)
{
    const struct json *v = NULL;

    (void)ask_api(r, "GET", arena_printf(r->arena, CRDS "/%s", name), "", &v);
    json_for_each (c, json_path(v, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return str_z(r->arena, json_get_str(c, "reason"));
    return "";
}

TEST(what_a_crd_describes_is_served_and_checked)
{
    struct rig r;
    const struct json *v = NULL;

    rig_init(&r);
    CHECK(ask_api(&r, "GET", "/apis/g.io/v1/widgets", "", NULL) == 404);
    CHECK(ask_api(&r, "POST", CRDS,
                  crd(&r, "widgets", "Widget",
                      "\"size\":{\"type\":\"integer\",\"default\":3,\"maximum\":9}"),
                  NULL) == 200);
    CHECK(comes_to(&r, "/apis/g.io/v1/widgets", 200));
    CHECK_STR(condition(&r, "widgets.g.io", "Established"), "InitialNamesAccepted");
    CHECK(post(&r, "/apis/g.io/v1/namespaces/default/widgets", "Widget", "a", "{}") == 200);
    CHECK(ask_api(&r, "GET", "/apis/g.io/v1/namespaces/default/widgets/a", "", &v) == 200);
    CHECK(json_int(json_path(v, "spec.size"), 0) == 3);
    CHECK(post(&r, "/apis/g.io/v1/namespaces/default/widgets", "Widget", "b", "{\"size\":10}") ==
          422);
    rig_free(&r);
}

TEST(a_changed_schema_holds_for_the_next_request_and_for_what_is_stored)
{
    struct rig r;
    const struct json *v = NULL;

    rig_init(&r);
    CHECK(ask_api(&r, "POST", CRDS,
                  crd(&r, "widgets", "Widget",
                      "\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}"),
                  NULL) == 200);
    CHECK(comes_to(&r, "/apis/g.io/v1/widgets", 200));
    CHECK(post(&r, "/apis/g.io/v1/namespaces/default/widgets", "Widget", "w",
               "{\"a\":\"1\",\"b\":\"2\"}") == 200);
    CHECK(ask_api(&r, "GET", CRDS "/widgets.g.io", "", &v) == 200);
    CHECK(ask_api(&r, "PATCH", CRDS "/widgets.g.io",
                  "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                  "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"
                  "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"c\":{\"type\":"
                  "\"string\",\"default\":\"new\"}}}}}}}]}}",
                  NULL) == 200);
    CHECK(ask_api(&r, "GET", "/apis/g.io/v1/namespaces/default/widgets/w", "", &v) == 200);
    CHECK(str_is(json_get_str(v, "spec.a"), "1"));
    CHECK(!json_path(v, "spec.b"));
    CHECK(str_is(json_get_str(v, "spec.c"), "new"));
    rig_free(&r);
}

TEST(instances_have_their_own_and_a_list_over_all_shows_each_as_it_is)
{
    struct rig r;
    const struct json *v = NULL, *items;

    rig_init(&r);
    for (int i = 0; i < 2; i++)
        CHECK(ask_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                      i ? "{\"metadata\":{\"name\":\"two\"},\"spec\":{\"profile\":\"minimal\"}}"
                        : "{\"metadata\":{\"name\":\"one\"}}",
                      NULL) == 200);
    CHECK(ask_api(&r, "POST", "/clusters/one" CRDS,
                  crd(&r, "widgets", "Widget", "\"x\":{\"type\":\"integer\"}"), NULL) == 200);
    CHECK(ask_api(&r, "POST", "/clusters/two" CRDS,
                  crd(&r, "widgets", "Wodget", "\"x\":{\"type\":\"string\"}"), NULL) == 200);
    CHECK(comes_to(&r, "/clusters/one/apis/g.io/v1/widgets", 200));
    CHECK(comes_to(&r, "/clusters/two/apis/g.io/v1/widgets", 200));
    CHECK(ask_api(&r, "GET", "/apis/g.io/v1/widgets", "", NULL) == 404);
    CHECK(post(&r, "/clusters/one/apis/g.io/v1/namespaces/default/widgets", "Widget", "a",
               "{\"x\":1}") == 200);
    CHECK(post(&r, "/clusters/two/apis/g.io/v1/namespaces/default/widgets", "Widget", "a",
               "{\"x\":\"s\"}") == 422);
    CHECK(post(&r, "/clusters/two/apis/g.io/v1/namespaces/default/widgets", "Wodget", "a",
               "{\"x\":\"s\"}") == 200);
    CHECK(ask_api(&r, "GET", "/clusters/*/apis/g.io/v1/widgets", "", &v) == 200);
    items = json_get(v, STR("items"));
    CHECK(json_len(items) == 2);
    CHECK(str_is(json_get_str(json_at(items, 0), "kind"), "Widget"));
    CHECK(str_is(json_get_str(json_at(items, 1), "kind"), "Wodget"));
    CHECK(str_is(json_str(json_get(json_path(json_at(items, 1), "metadata.annotations"),
                                   STR("kairship.io/instance"))),
                 "two"));
    CHECK(ask_api(&r, "GET", "/clusters/two/api/v1/pods", "", NULL) == 404);
    CHECK(ask_api(&r, "GET", "/clusters/one/api/v1/pods", "", NULL) == 200);
    rig_free(&r);
}

TEST(a_name_that_is_taken_waits_until_it_is_free)
{
    struct rig r;

    rig_init(&r);
    CHECK(ask_api(&r, "POST", CRDS, crd(&r, "widgets", "Widget", ""), NULL) == 200);
    CHECK(comes_to(&r, "/apis/g.io/v1/widgets", 200));
    CHECK(ask_api(&r, "POST", CRDS, crd(&r, "gizmos", "Widget", ""), NULL) == 200);
    for (int i = 0; i < 1000 && !*condition(&r, "gizmos.g.io", "NamesAccepted"); i++)
        (void)usleep(5000);
    CHECK_STR(condition(&r, "gizmos.g.io", "NamesAccepted"), "ListKindConflict");
    CHECK_STR(condition(&r, "gizmos.g.io", "Established"), "NotAccepted");
    CHECK(ask_api(&r, "GET", "/apis/g.io/v1/gizmos", "", NULL) == 404);
    CHECK(ask_api(&r, "DELETE", CRDS "/widgets.g.io", "", NULL) == 200);
    CHECK(comes_to(&r, "/apis/g.io/v1/gizmos", 200));
    rig_free(&r);
}

static bool is_named(struct rig *r, const char *name, const char *reason)
{
    for (int i = 0; i < 1000; i++) {
        if (strcmp(condition(r, name, "NamesAccepted"), reason) == 0)
            return true;
        (void)usleep(5000);
    }
    return false;
}

TEST(a_name_that_is_given_up_goes_to_who_waits_in_the_same_group_only)
{
    const char *short_name = "{\"spec\":{\"names\":{\"shortNames\":[\"x\",\"w\"]}}}";
    const struct json *v = NULL;
    struct rig r;

    rig_init(&r);
    CHECK(ask_api(&r, "POST", CRDS, crd(&r, "widgets", "Widget", ""), NULL) == 200);
    CHECK(ask_api(&r, "PATCH", CRDS "/widgets.g.io", short_name, NULL) == 200);
    for (int i = 0; i < 1000; i++) {
        (void)ask_api(&r, "GET", CRDS "/widgets.g.io", "", &v);
        if (json_path(v, "status.acceptedNames.shortNames"))
            break;
        (void)usleep(5000);
    }
    CHECK(ask_api(&r, "POST", CRDS, crd(&r, "w", "Gizmo", ""), NULL) == 200);
    CHECK(is_named(&r, "w.g.io", "PluralConflict"));
    CHECK(ask_api(&r, "PATCH", CRDS "/widgets.g.io", "{\"spec\":{\"names\":{\"shortNames\":null}}}",
                  NULL) == 200);
    CHECK(is_named(&r, "w.g.io", "NoConflicts"));
    CHECK(comes_to(&r, "/apis/g.io/v1/w", 200));
    rig_free(&r);
}

TEST(a_deleted_crd_takes_its_objects_with_it)
{
    struct rig r;

    rig_init(&r);
    CHECK(ask_api(&r, "POST", CRDS, crd(&r, "widgets", "Widget", ""), NULL) == 200);
    CHECK(comes_to(&r, "/apis/g.io/v1/widgets", 200));
    for (int i = 0; i < 3; i++)
        CHECK(post(&r, "/apis/g.io/v1/namespaces/default/widgets", "Widget",
                   arena_printf(r.arena, "w%d", i), "{}") == 200);
    CHECK(ask_api(&r, "PATCH", "/apis/g.io/v1/namespaces/default/widgets/w1",
                  "{\"metadata\":{\"finalizers\":[\"example.com/x\"]}}", NULL) == 200);
    CHECK(ask_api(&r, "DELETE", CRDS "/widgets.g.io", "", NULL) == 200);
    CHECK(comes_to(&r, "/apis/g.io/v1/namespaces/default/widgets/w0", 404));
    CHECK(post(&r, "/apis/g.io/v1/namespaces/default/widgets", "Widget", "late", "{}") == 403);
    CHECK(ask_api(&r, "PATCH", "/apis/g.io/v1/namespaces/default/widgets/w1",
                  "{\"metadata\":{\"finalizers\":null}}", NULL) == 200);
    CHECK(comes_to(&r, CRDS "/widgets.g.io", 404));
    CHECK(ask_api(&r, "GET", "/apis/g.io/v1/widgets", "", NULL) == 404);
    /* Made again it is empty. */
    CHECK(ask_api(&r, "POST", CRDS, crd(&r, "widgets", "Widget", ""), NULL) == 200);
    CHECK(comes_to(&r, "/apis/g.io/v1/widgets", 200));
    CHECK(ask_api(&r, "GET", "/apis/g.io/v1/namespaces/default/widgets/w0", "", NULL) == 404);
    rig_free(&r);
}

/* Many ask at once while the schemas are read: each is answered. */
TEST(equal_crds_are_compiled_once_and_all_who_wait_are_served)
{
    struct rig r;
    const struct json *v = NULL;

    rig_init(&r);
    for (int i = 0; i < 20; i++)
        CHECK(ask_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                      arena_printf(r.arena, "{\"metadata\":{\"name\":\"i%d\"}}", i), NULL) == 200);
    for (int i = 0; i < 20; i++)
        CHECK(ask_api(&r, "POST", arena_printf(r.arena, "/clusters/i%d" CRDS, i),
                      crd(&r, "widgets", "Widget", ""), NULL) == 200);
    for (int i = 0; i < 20; i++)
        CHECK(comes_to(&r, arena_printf(r.arena, "/clusters/i%d/apis/g.io/v1/widgets", i), 200));
    CHECK(ask_api(&r, "GET", "/clusters/i7/apis/g.io/v1", "", &v) == 200);
    CHECK(json_len(json_get(v, STR("resources"))) == 1);
    rig_free(&r);
}
