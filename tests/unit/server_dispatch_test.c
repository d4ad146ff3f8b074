/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

/* Which path has which methods, and what is said where there is none. */

#define CORE     "/api/v1"
#define DEFAULT  "/api/v1/namespaces/default"
#define TENANCY  "/apis/tenancy.kairship.io/v1alpha1"
#define PAGE_404 "404 page not found\n"

static void check_rows(struct host *h, const char *const (*rows)[3], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *got = code_of(ask_body(ask(h, rows[i][0], rows[i][1]), "{}"));

        if (!CHECK(strcmp(got, rows[i][2]) == 0))
            printf("# %s %s: %s, not %s\n", rows[i][0], rows[i][1], got, rows[i][2]);
    }
}

#define CHECK_ROWS(h, rows) check_rows((h), (rows), sizeof(rows) / sizeof(*(rows)))

TEST(methods_of_paths)
{
    static const char *const rows[][3] = {
        { "GET", CORE "/configmaps", "200" },
        { "GET", DEFAULT "/configmaps", "200" },
        { "GET", DEFAULT "/configmaps/", "200" },
        { "GET", DEFAULT "/configmaps/none", "404 NotFound" },
        { "GET", "/api/v1/namespaces/nowhere/configmaps", "200" },
        { "POST", DEFAULT "/configmaps", "422 Invalid" },
        { "PUT", DEFAULT "/configmaps", "405 MethodNotAllowed" },
        { "PATCH", DEFAULT "/configmaps", "405 MethodNotAllowed" },
        { "POST", DEFAULT "/configmaps/a", "405 MethodNotAllowed" },
        { "HEAD", DEFAULT "/configmaps", "405 MethodNotAllowed" },
        { "OPTIONS", DEFAULT "/configmaps", "405 MethodNotAllowed" },
        { "BREW", DEFAULT "/configmaps", "405 MethodNotAllowed" },
        { "POST", CORE "/configmaps", "405 MethodNotAllowed" },
        { "DELETE", CORE "/configmaps", "405 MethodNotAllowed" },
        { "DELETE", CORE "/namespaces", "405 MethodNotAllowed" },
        { "DELETE", DEFAULT "/configmaps?resourceVersion=abc", "400 BadRequest" },
        { "DELETE", DEFAULT "/configmaps?resourceVersionMatch=Exact", "422 Invalid" },
        { "GET",
          CORE "/watch/namespaces/default/configmaps/a?timeoutSeconds=0&fieldSelector="
               "metadata.name%3Db",
          "400 BadRequest" },
        { "GET", CORE "/watch/namespaces/default/configmaps/a/status", "404 NotFound" },
        { "GET", CORE "/configmaps/a", "404 NotFound" },
        { "GET", DEFAULT "/namespaces", "404 NotFound" },
        { "GET", DEFAULT, "200" },
        { "GET", DEFAULT "/status", "200" },
        { "POST", DEFAULT "/status", "405 MethodNotAllowed" },
        { "GET", DEFAULT "/finalize", "405 MethodNotAllowed" },
        { "GET", DEFAULT "/configmaps/a/status", "404 NotFound" },
        { "GET", DEFAULT "/configmaps/a/scale", "404 NotFound" },
        { "GET", DEFAULT "/things", "404 NotFound" },
        { "GET", "/apis/nowhere.io/v1/things", "404" },
        { "GET", "/api/v2/configmaps", "404 NotFound" },
        { "GET", "/api/v2", "404 NotFound" },
        { "POST", "/api/v2", "404 NotFound" },
        { "GET", DEFAULT "/status/x", "404 NotFound" },
        { "GET", "/nowhere", "404" },
        { "POST", "/nowhere", "404" },
        { "DELETE", "/apis/nowhere.io", "404" },
        { "POST", "/apis", "405 MethodNotAllowed" },
        { "POST", "/healthz", "405 MethodNotAllowed" },
        { "POST", "/version", "405 MethodNotAllowed" },
    };
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_ROWS(h, rows);
    a = ask(h, "GET", "/apis/nowhere.io/v1/things");
    CHECK_STR(answer(a), "404");
    CHECK_STR(str_z(h->arena, buf_str(&a->text)), PAGE_404);
    CHECK_STR(answer_header(a, "content-type"), "text/plain; charset=utf-8");
    ask_free(a);
    a = ask(h, "GET", DEFAULT "/things");
    CHECK_STR(answer(a), "404 NotFound");
    CHECK_STR(answer_field(a, "message"), "the server could not find the requested resource");
    CHECK_STR(answer_field(a, "details"), "{}");
    ask_free(a);
    host_free(h);
}

TEST(an_instance_is_like_the_root)
{
    static const char *const rows[][3] = {
        { "GET", "/clusters/one" CORE "/configmaps", "200" },
        { "GET", "/clusters/one" DEFAULT, "200" },
        { "GET", "/clusters/one/api", "200" },
        { "GET", "/clusters/one/apis", "200" },
        { "GET", "/clusters/one/version", "200" },
        { "GET", "/clusters/one/openapi/v2", "200" },
        { "GET", "/clusters/one" TENANCY "/instances", "404" }, /* in root only */
        { "GET", "/clusters/one/apis/tenancy.kairship.io", "404" },
        { "GET", TENANCY "/instances", "200" },
        { "GET", "/clusters/two" CORE "/configmaps", "404 NotFound" },
        { "GET", "/clusters/two/api", "404 NotFound" },
        { "GET", "/clusters/root" CORE "/configmaps", "404 NotFound" },
        { "GET", "/clusters/One" CORE "/configmaps", "404 NotFound" },
        { "GET", "/clusters", "404" },
    };
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_ROWS(h, rows);
    a = ask(h, "GET", "/clusters/two" CORE "/configmaps");
    CHECK_STR(answer(a), "404 NotFound");
    CHECK_STR(answer_field(a, "message"), "instances.tenancy.kairship.io \"two\" not found");
    CHECK_STR(answer_field(a, "details"),
              "{\"name\":\"two\",\"group\":\"tenancy.kairship.io\",\"kind\":\"instances\"}");
    ask_free(a);
    host_free(h);
}

TEST(over_all_instances_one_can_only_look)
{
    static const char *const rows[][3] = {
        { "GET", "/clusters/*" CORE "/configmaps", "200" },
        { "GET", "/clusters/*" CORE "/configmaps?limit=1", "200" },
        { "GET", "/clusters/*" CORE "/configmaps?fieldSelector=kairship.io/instance!%3Droot",
          "200" },
        { "GET", CORE "/configmaps?fieldSelector=kairship.io/instance!%3Droot", "400 BadRequest" },
        { "GET", "/clusters/*" DEFAULT "/configmaps", "200" },
        { "GET", "/clusters/*" CORE "/namespaces", "200" },
        { "GET", "/clusters/*" CORE "/configmaps?watch=1&timeoutSeconds=1", "200" },
        { "GET", "/clusters/*" DEFAULT "/configmaps/a", "405 MethodNotAllowed" },
        { "POST", "/clusters/*" DEFAULT "/configmaps", "405 MethodNotAllowed" },
        { "PUT", "/clusters/*" DEFAULT "/configmaps/a", "405 MethodNotAllowed" },
        { "PATCH", "/clusters/*" DEFAULT "/configmaps/a", "405 MethodNotAllowed" },
        { "DELETE", "/clusters/*" DEFAULT "/configmaps/a", "405 MethodNotAllowed" },
        { "DELETE", "/clusters/*" DEFAULT "/configmaps", "405 MethodNotAllowed" },
    };
    struct host *h = host_new(0, 0);

    CHECK_ROWS(h, rows);
    host_free(h);
}

TEST(bodies_and_what_they_may_be)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask_body(ask(h, "POST", DEFAULT "/configmaps"), "metadata: {name: a}");

    CHECK_STR(code_of(ask_header(a, "content-type", "application/yaml")), "201");
    a = ask_body(ask(h, "POST", DEFAULT "/configmaps"), "{\"metadata\":{\"name\":\"b\"}}");
    CHECK_STR(code_of(ask_header(a, "content-type", "text/html")), "415 UnsupportedMediaType");
    a = ask_body(ask(h, "POST", DEFAULT "/configmaps"), "{\"metadata\":{\"name\":\"b\"}}");
    CHECK_STR(code_of(ask_header(a, "content-type", "application/json; charset=utf-8")), "201");
    a = ask_body(ask(h, "POST", DEFAULT "/configmaps"), "{\"metadata\":{\"name\":\"c\"}}");
    CHECK_STR(code_of(ask_header(a, "accept", "image/png")), "406 NotAcceptable");
    a = ask(h, "POST", DEFAULT "/configmaps");
    a->call->body_too_large = true;
    CHECK_STR(answer(a), "413 RequestEntityTooLarge");
    CHECK_STR(answer_field(a, "message"), "Request entity too large: limit is 3145728");
    ask_free(a);
    a = ask_body(ask(h, "PATCH", DEFAULT "/configmaps/a"), "{\"data\":{\"x\":\"1\"}}");
    CHECK_STR(code_of(ask_header(a, "content-type", "application/json")),
              "415 UnsupportedMediaType");
    a = ask_body(ask(h, "PATCH", DEFAULT "/configmaps/a"), "{\"data\":{\"x\":\"1\"}}");
    CHECK_STR(code_of(ask_header(a, "content-type", "application/merge-patch+json")), "200");
    CHECK_STR(code_of(ask(h, "GET", DEFAULT "/configmaps?limit=x")), "400 BadRequest");
    CHECK_STR(code_of(ask_body(ask(h, "POST", DEFAULT "/configmaps?dryRun=Some"), "{}")),
              "422 Invalid");
    CHECK_STR(code_of(ask_body(ask(h, "DELETE", DEFAULT "/configmaps/b"),
                               "{\"propagationPolicy\":\"Background\"}")),
              "200");
    host_free(h);
}

TEST(tables_and_partial_objects)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_configmap(h, "", "a"), "201");
    a = ask_header(ask(h, "GET", DEFAULT "/configmaps"), "accept",
                   "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "kind"), "Table");
    ask_free(a);
    a = ask_header(ask(h, "GET", DEFAULT "/configmaps?includeObject=All"), "accept",
                   "application/json;as=Table;v=v1;g=meta.k8s.io");
    CHECK_STR(code_of(a), "400 BadRequest");
    a = ask_header(ask(h, "GET", DEFAULT "/configmaps/a"), "accept",
                   "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "kind"), "PartialObjectMetadata");
    ask_free(a);
    a = ask_header(ask(h, "GET", DEFAULT "/configmaps/a"), "accept",
                   "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
    CHECK_STR(code_of(a), "406 NotAcceptable");
    host_free(h);
}
