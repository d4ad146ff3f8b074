/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"
#include "server_rig.h"

/* The namespace controller against a whole server, through the transport in process. */

static void rig_init(struct rig *r)
{
    rig_open(r);
    /* Its own, with the rights that it has and no more. */
    r->own = client_new(server_local_transport(r->host->server, r->host->loop,
                                               STR("system:kairship:namespace-controller")));
    r->controller = controller_start(&namespace_controller, r->own);
}

static void rig_free(struct rig *r)
{
    controller_stop(r->controller);
    rig_close(r);
}

static void make(struct rig *r, const char *path, const char *name, const char *more)
{
    CHECK(ask_api(r, "POST", path,
                  arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"%s}}", name, more),
                  NULL) == 200);
}

/* Within ten seconds. */
static bool comes_to(struct rig *r, const char *path, int code)
{
    for (int i = 0; i < 1000; i++) {
        if (ask_api(r, "GET", path, "", NULL) == code)
            return true;
        (void)usleep(10000);
    }
    return false;
}

static void fill(struct rig *r, const char *prefix, int n)
{
    make(r, arena_printf(r->arena, "%s/api/v1/namespaces", prefix), "n", "");
    for (int i = 0; i < n; i++)
        make(r, arena_printf(r->arena, "%s/api/v1/namespaces/n/configmaps", prefix),
             arena_printf(r->arena, "c%d", i), "");
    make(r, arena_printf(r->arena, "%s/api/v1/namespaces/n/secrets", prefix), "s", "");
    make(r, arena_printf(r->arena, "%s/apis/coordination.k8s.io/v1/namespaces/n/leases", prefix),
         "l", "");
}

static size_t left(struct rig *r, const char *path)
{
    const struct json *v = NULL;

    CHECK(ask_api(r, "GET", path, "", &v) == 200);
    return json_len(json_get(v, STR("items")));
}

TEST(a_deleted_namespace_is_emptied_and_goes)
{
    struct rig r;

    rig_init(&r);
    fill(&r, "", 250); /* several pages */
    make(&r, "/api/v1/namespaces/default/configmaps", "stays", "");
    CHECK(ask_api(&r, "DELETE", "/api/v1/namespaces/n", "", NULL) == 200);
    CHECK(comes_to(&r, "/api/v1/namespaces/n", 404));
    CHECK(left(&r, "/api/v1/namespaces/n/configmaps") == 0);
    CHECK(left(&r, "/api/v1/namespaces/n/secrets") == 0);
    CHECK(left(&r, "/apis/coordination.k8s.io/v1/namespaces/n/leases") == 0);
    CHECK(left(&r, "/api/v1/namespaces/default/configmaps") == 1);
    make(&r, "/api/v1/namespaces", "n", ""); /* and can be made again */
    rig_free(&r);
}

TEST(so_does_one_of_an_instance_and_only_there)
{
    struct rig r;

    rig_init(&r);
    make(&r, "/apis/tenancy.kairship.io/v1alpha1/instances", "one", "");
    fill(&r, "", 3);
    fill(&r, "/clusters/one", 3);
    CHECK(ask_api(&r, "DELETE", "/clusters/one/api/v1/namespaces/n", "", NULL) == 200);
    CHECK(comes_to(&r, "/clusters/one/api/v1/namespaces/n", 404));
    CHECK(left(&r, "/clusters/one/api/v1/namespaces/n/configmaps") == 0);
    CHECK(left(&r, "/api/v1/namespaces/n/configmaps") == 3);
    CHECK(ask_api(&r, "GET", "/api/v1/namespaces/n", "", NULL) == 200);
    rig_free(&r);
}

static const char *condition(struct rig *r, const char *type)
{
    const struct json *v = NULL;

    (void)ask_api(r, "GET", "/api/v1/namespaces/n", "", &v);
    json_for_each (c, json_path(v, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return str_z(r->arena, json_get_str(c, "message"));
    return "";
}

/* As Works are, of a group whose bindings have a newer one. */
TEST(what_only_another_version_has_goes_too)
{
    static const char works[] = "/clusters/one/apis/work.karmada.io/v1alpha1/namespaces/n/works";
    struct rig r;

    rig_init(&r);
    make(&r, "/apis/tenancy.kairship.io/v1alpha1/instances", "one", "");
    fill(&r, "/clusters/one", 1);
    CHECK(ask_api(&r, "POST", works,
                  "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"workload\":{\"manifests\":[{"
                  "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}]}}}",
                  NULL) == 200);
    CHECK(ask_api(&r, "DELETE", "/clusters/one/api/v1/namespaces/n", "", NULL) == 200);
    CHECK(comes_to(&r, "/clusters/one/api/v1/namespaces/n", 404));
    CHECK(left(&r, works) == 0);
    rig_free(&r);
}

TEST(finalizers_hold_it_and_it_says_which)
{
    struct rig r;

    rig_init(&r);
    fill(&r, "", 2);
    make(&r, "/api/v1/namespaces/n/configmaps", "held", ",\"finalizers\":[\"example.com/x\"]");
    CHECK(ask_api(&r, "DELETE", "/api/v1/namespaces/n", "", NULL) == 200);
    for (int i = 0; i < 1000 && !*condition(&r, "NamespaceContentRemaining"); i++)
        (void)usleep(10000);
    CHECK_STR(condition(&r, "NamespaceContentRemaining"),
              "Some resources are remaining: configmaps. has 1 resource instances");
    CHECK_STR(condition(&r, "NamespaceFinalizersRemaining"),
              "Some content in the namespace has finalizers remaining: example.com/x");
    CHECK(left(&r, "/api/v1/namespaces/n/configmaps") == 1);
    CHECK(ask_api(&r, "POST", "/api/v1/namespaces/n/configmaps",
                  "{\"metadata\":{\"name\":\"late\"}}", NULL) == 403);
    CHECK(ask_api(&r, "PATCH", "/api/v1/namespaces/n/configmaps/held",
                  "{\"metadata\":{\"finalizers\":null}}", NULL) == 200);
    CHECK(comes_to(&r, "/api/v1/namespaces/n", 404));
    rig_free(&r);
}

TEST(pods_go_before_what_they_may_need)
{
    struct rig r;

    rig_init(&r);
    fill(&r, "", 2);
    make(&r, "/api/v1/namespaces/n/serviceaccounts", "default", "");
    CHECK(ask_api(&r, "POST", "/api/v1/namespaces/n/pods",
                  "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"example.com/x\"]},"
                  "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                  NULL) == 200);
    CHECK(ask_api(&r, "DELETE", "/api/v1/namespaces/n", "", NULL) == 200);
    for (int i = 0; i < 1000 && !*condition(&r, "NamespaceContentRemaining"); i++)
        (void)usleep(10000);
    CHECK_STR(condition(&r, "NamespaceContentRemaining"),
              "Some resources are remaining: pods. has 1 resource instances");
    CHECK(left(&r, "/api/v1/namespaces/n/configmaps") == 2);
    CHECK(left(&r, "/apis/coordination.k8s.io/v1/namespaces/n/leases") == 1);
    CHECK(ask_api(&r, "PATCH", "/api/v1/namespaces/n/pods/p",
                  "{\"metadata\":{\"finalizers\":null}}", NULL) == 200);
    CHECK(comes_to(&r, "/api/v1/namespaces/n", 404));
    rig_free(&r);
}

TEST(one_that_was_terminating_before_it_started)
{
    struct rig r;
    const struct json *v = NULL;

    rig_init(&r);
    controller_stop(r.controller);
    fill(&r, "", 2);
    CHECK(ask_api(&r, "DELETE", "/api/v1/namespaces/n", "", &v) == 200);
    CHECK(str_is(json_get_str(v, "status.phase"), "Terminating"));
    CHECK(ask_api(&r, "GET", "/api/v1/namespaces/n", "", NULL) == 200);
    r.controller = controller_start(&namespace_controller, r.client);
    CHECK(comes_to(&r, "/api/v1/namespaces/n", 404));
    rig_free(&r);
}

TEST(an_instance_that_goes_meanwhile_is_no_trouble)
{
    struct rig r;

    rig_init(&r);
    make(&r, "/apis/tenancy.kairship.io/v1alpha1/instances", "one", "");
    fill(&r, "/clusters/one", 3);
    make(&r, "/clusters/one/api/v1/namespaces/n/configmaps", "held",
         ",\"finalizers\":[\"example.com/x\"]");
    CHECK(ask_api(&r, "DELETE", "/clusters/one/api/v1/namespaces/n", "", NULL) == 200);
    CHECK(ask_api(&r, "DELETE", "/apis/tenancy.kairship.io/v1alpha1/instances/one", "", NULL) ==
          200);
    CHECK(comes_to(&r, "/clusters/one/api/v1/namespaces/n", 404));
    fill(&r, "", 2); /* and it works on */
    CHECK(ask_api(&r, "DELETE", "/api/v1/namespaces/n", "", NULL) == 200);
    CHECK(comes_to(&r, "/api/v1/namespaces/n", 404));
    rig_free(&r);
}
