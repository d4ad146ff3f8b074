/* SPDX-License-Identifier: Apache-2.0 */
#include "client/request.h"

#include "base/banned.h"
#include "tap.h"

static const struct client_ref configmap = {
    .version = STR_INIT("v1"),
    .resource = STR_INIT("configmaps"),
    .namespace = STR_INIT("d"),
    .name = STR_INIT("x"),
};

TEST(paths)
{
    scoped_arena a = arena_new();
    struct client_ref r = configmap;

    CHECK_STR(client_path(a, &r, NULL).p, "/api/v1/namespaces/d/configmaps/x");
    r.subresource = STR("status");
    CHECK_STR(client_path(a, &r, NULL).p, "/api/v1/namespaces/d/configmaps/x/status");
    r = (struct client_ref){ .instance = STR("t1"),
                             .group = STR("apps"),
                             .version = STR("v1"),
                             .resource = STR("deployments") };
    CHECK_STR(client_path(a, &r, NULL).p, "/clusters/t1/apis/apps/v1/deployments");
    r.instance = STR("*");
    CHECK_STR(client_path(a, &r, NULL).p, "/clusters/*/apis/apps/v1/deployments");
}

TEST(names_cannot_leave_their_segment)
{
    scoped_arena a = arena_new();
    struct client_ref r = configmap;

    r.name = STR("../../nodes?x=1");
    CHECK_STR(client_path(a, &r, NULL).p,
              "/api/v1/namespaces/d/configmaps/..%2F..%2Fnodes%3Fx%3D1");
}

TEST(queries)
{
    scoped_arena a = arena_new();
    struct client_ref r = configmap;
    struct client_query q = { .label_selector = STR("a=b,c in (d)"),
                              .limit = 50,
                              .continue_token = STR("x+/="),
                              .dry_run = true };

    r.name = STR_NONE;
    CHECK_STR(client_path(a, &r, &q).p,
              "/api/v1/namespaces/d/"
              "configmaps?labelSelector=a%3Db%2Cc%20in%20%28d%29&limit=50&continue=x%2B%2F%3D"
              "&dryRun=All");
}

TEST(verbs)
{
    scoped_arena a = arena_new();
    struct client_query q = { .field_manager = STR("me"), .force = true };
    struct client_request r;

    r = client_request_create(a, &configmap, NULL, &json_empty_object);
    CHECK_STR(r.method.p, "POST");
    CHECK_STR(r.path.p, "/api/v1/namespaces/d/configmaps"); /* the name is in the body */
    CHECK_STR(r.content_type.p, "application/json");
    CHECK(str_is(r.body, "{}"));
    r = client_request_patch(a, &configmap, &q, CLIENT_PATCH_APPLY, &json_empty_object);
    CHECK_STR(r.method.p, "PATCH");
    CHECK_STR(r.path.p, "/api/v1/namespaces/d/configmaps/x?fieldManager=me&force=true");
    CHECK_STR(r.content_type.p, "application/apply-patch+yaml");
    r = client_request_delete(a, &configmap, NULL, NULL);
    CHECK_STR(r.method.p, "DELETE");
    CHECK(!r.body.n && !r.content_type.n);
    r = client_request_watch(a, &configmap, NULL);
    CHECK_STR(r.path.p, "/api/v1/namespaces/d/configmaps/x?watch=true");
    CHECK(r.timeout_ms < 0);
}
