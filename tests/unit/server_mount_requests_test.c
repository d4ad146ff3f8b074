/* SPDX-License-Identifier: Apache-2.0 */

/* What other layers answer: found, authenticated, limited like every other request. */

#include "apiserver/server/dispatch_check.h"
#include "apiserver/server/mount_requests.h"
#include "server_people.h"

static struct seen {
    int calls;
    struct mount_call *last;
    struct mount_call *held[4];
    int nheld;
} seen;

/* Says what it was asked; "…/held" is answered later. */
static void echo(void *arg, struct mount_call *c)
{
    const struct http_header type = { STR("content-type"), STR("application/json") };
    str *piece = arena_array(c->arena, str, 1);

    seen.calls++;
    seen.last = c;
    if (str_ends(c->path, STR("/held"))) {
        seen.held[seen.nheld++] = c;
        return;
    }
    if (str_ends(c->path, STR("/bad"))) {
        struct status st;

        status_init(&st, c->arena);
        (void)status_forbidden(&st, STR_NONE, STR_NONE, STR_NONE, "%s", "not you");
        c->ops->fail(c, &st);
        return;
    }
    *piece = str_printf(c->arena,
                        "{\"at\":\"%s\",\"method\":\"%.*s\",\"path\":\"%.*s\",\"query\":\"%.*s\","
                        "\"instance\":\"%.*s\",\"who\":\"%.*s\",\"body\":\"%.*s\"}",
                        (const char *)arg, STR_ARG(c->method), STR_ARG(c->path), STR_ARG(c->query),
                        STR_ARG(c->instance), STR_ARG(c->who.user), STR_ARG(c->body));
    c->ops->answer(c, 200, &type, 1, piece, 1);
}

/* As gRPC does: 200, and the code behind it. */
static size_t refusal(struct arena *a, const struct status *st, struct http_header *h)
{
    h[0] = (struct http_header){ STR("content-type"), STR("application/grpc") };
    h[1] = (struct http_header){ STR("grpc-status"), str_printf(a, "%d", status_grpc(st)) };
    return 2;
}

static char rpc[] = "rpc", search[] = "search", people[] = "people";
static const struct mount mounts[] = {
    { .prefix = "",
      .content_type = "application/grpc",
      .serve = echo,
      .refusal = refusal,
      .arg = rpc },
    { .prefix = "/apis/clusterpedia.io", .serve = echo, .arg = search },
    { .prefix = "/apis/people.io", .serve = echo, .arg = people, .instances = true },
};

enum { MOUNTS = sizeof(mounts) / sizeof(*mounts) };

static struct host *open_host(unsigned max_reads)
{
    host_mounts = mounts;
    host_nmounts = MOUNTS;
    seen = (struct seen){ 0 };
    return host_new(max_reads, 0);
}

static const char *field_of(struct host *h, const char *method, const char *path, const char *field)
{
    struct ask *a = ask(h, method, path);
    const char *text;

    CHECK_STR(answer(ask_body(a, "x")), "200");
    text = answer_field(a, field);
    ask_free(a);
    return text;
}

TEST(a_mount_answers_its_path_and_those_below)
{
    struct host *h = open_host(0);
    const char *path = "/apis/clusterpedia.io/v1beta1/resources?a=%20b";

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(field_of(h, "GET", path, "at"), "search");
    CHECK_STR(field_of(h, "GET", path, "path"), "/apis/clusterpedia.io/v1beta1/resources");
    CHECK_STR(field_of(h, "GET", path, "query"), "a=%20b");
    CHECK_STR(field_of(h, "GET", path, "who"), "admin");
    CHECK_STR(field_of(h, "DELETE", "/apis/clusterpedia.io/x", "method"), "DELETE");
    CHECK_STR(field_of(h, "POST", "/apis/clusterpedia.io/v1/x", "body"), "x");
    seen.calls = 0;
    CHECK_STR(code_of(ask(h, "GET", "/apis/clusterpedia.iox/v1/x")), "404");
    CHECK_STR(code_of(ask(h, "GET", "/apis/kairship.io/v1alpha1/instances")), "404");
    CHECK_STR(code_of(ask(h, "POST", "/demo.Service/Method")), "404");
    CHECK(seen.calls == 0);
    host_free(h);
}

TEST(a_mount_may_be_chosen_by_content_type)
{
    struct host *h = open_host(0);
    struct ask *a = ask_header(ask(h, "POST", "/demo.Service/Method"), "content-type",
                               "application/grpc+proto");

    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "at"), "rpc");
    ask_free(a);
    host_free(h);
}

TEST(who_asks_is_found_out_before)
{
    struct host *h = open_host(0);
    struct ask *a = ask(h, "GET", "/apis/clusterpedia.io/v1/x");

    a->call->peer = NULL;
    CHECK_STR(answer(a), "200"); /* whether nobody may is for the mount to say */
    CHECK_STR(answer_field(a, "who"), "system:anonymous");
    ask_free(a);

    a = ask_header(ask(h, "GET", "/apis/clusterpedia.io/v1/x"), "impersonate-user", "jane");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "who"), "jane");
    ask_free(a);

    seen.calls = 0;
    a = ask_header(ask(h, "GET", "/apis/clusterpedia.io/v1/x"), "authorization", "Bearer no");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "401 Unauthorized");
    CHECK(seen.calls == 0);
    CHECK_STR(code_of(ask(h, "GET", "/apis/clusterpedia.io/v1/bad")), "403 Forbidden");
    host_free(h);
}

/* An admin of an instance is system:masters there, and would be so for what is mounted. */
TEST(an_instance_has_no_mounts)
{
    static const char *const paths[] = { "/clusters/one/apis/clusterpedia.io/v1/x",
                                         "/clusters/none/apis/clusterpedia.io/v1/x",
                                         "/clusters/*/apis/clusterpedia.io/v1/x",
                                         "/clusters/one/demo.Service/Method",
                                         "/clusters/one/apis/clusterpedia.io" };
    struct host *h = open_host(0);
    const struct http_peer *own;

    CHECK_STR(make_instance(h, "one"), "201");
    own = cert_of(h, "one", "admin", "system:masters");
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        for (int as = 0; as < 3; as++) {
            struct ask *a =
                ask_header(ask(h, "POST", paths[i]), "content-type", "application/grpc");

            if (as)
                a->call->peer = as == 1 ? own : NULL;
            CHECK(strtol(code_of(a), NULL, 10) >= 400);
        }
    CHECK(seen.calls == 0);
    host_free(h);
}

TEST(a_mount_may_know_people_of_instances)
{
    struct host *h = open_host(0);
    const char *path = "/clusters/one/apis/people.io/v1/x";
    struct ask *a;

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(field_of(h, "GET", "/apis/people.io/v1/x", "instance"), "");
    CHECK_STR(field_of(h, "GET", path, "instance"), "one");
    CHECK_STR(field_of(h, "GET", path, "path"), "/apis/people.io/v1/x");
    a = ask(h, "GET", path);
    a->call->peer = cert_of(h, "one", "carol", "devs");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "who"), "carol");
    ask_free(a);
    seen.calls = 0;
    CHECK_STR(code_of(ask(h, "GET", "/clusters/none/apis/people.io/v1/x")), "404 NotFound");
    a = ask(h, "GET", "/clusters/none/apis/people.io/v1/x");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "403 Forbidden");
    CHECK(strtol(code_of(ask(h, "GET", "/clusters/*/apis/people.io/v1/x")), NULL, 10) >= 400);
    CHECK(seen.calls == 0);
    host_free(h);
}

static bool all_held(void *arg)
{
    return seen.nheld == *(int *)arg;
}

/* "200 7": the code of the answer, and the one behind it. */
static const char *refused(struct ask *a)
{
    const char *code = answer(ask_header(a, "content-type", "application/grpc")),
               *text = arena_printf(a->host->arena, "%s %s", code, answer_header(a, "grpc-status"));

    CHECK_STR(answer_header(a, "content-type"), "application/grpc");
    CHECK(answer_header(a, "audit-id")[0] != '\0');
    ask_free(a);
    return text;
}

TEST(what_the_server_refuses_is_said_as_the_mount_says_it)
{
    struct host *h = open_host(2);
    struct ask *a, *held[2];
    int two = 2;

    a = ask_header(ask(h, "POST", "/demo.Service/Method"), "authorization", "Bearer no");
    a->call->peer = NULL;
    CHECK_STR(refused(a), "200 16");
    a = ask_header(ask(h, "POST", "/demo.Service/Method"), "impersonate-user", "jane");
    a->call->peer = NULL;
    CHECK_STR(refused(a), "200 7");
    CHECK(seen.calls == 0);
    for (int i = 0; i < 2; i++)
        ask_send(held[i] = ask(h, "GET", "/apis/clusterpedia.io/v1/held"));
    CHECK(host_until(h, all_held, &two));
    CHECK_STR(refused(ask(h, "POST", "/demo.Service/Method")), "200 8");
    for (int i = 0; i < 2; i++) {
        seen.held[i]->ops->answer(seen.held[i], 204, NULL, 0, NULL, 0);
        CHECK_STR(answer_of(held[i]), "204");
        ask_free(held[i]);
    }
    host_free(h);
}

TEST(there_is_a_limit_of_calls_at_once)
{
    struct host *h = open_host(2);
    struct ask *a[2];
    int two = 2;

    for (int i = 0; i < 2; i++)
        ask_send(a[i] = ask(h, "GET", "/apis/clusterpedia.io/v1/held"));
    CHECK(host_until(h, all_held, &two));
    CHECK_STR(code_of(ask(h, "GET", "/apis/clusterpedia.io/v1/x")), "429");
    CHECK_STR(code_of(ask(h, "GET", "/api/v1/namespaces")), "200"); /* not at others' expense */
    for (int i = 0; i < 2; i++) {
        seen.held[i]->ops->answer(seen.held[i], 204, NULL, 0, NULL, 0);
        CHECK_STR(answer_of(a[i]), "204");
        ask_free(a[i]);
    }
    CHECK_STR(code_of(ask(h, "GET", "/apis/clusterpedia.io/v1/x")), "200");
    host_free(h);
}

TEST(no_mount_hides_a_kind_or_a_document)
{
    static const char *const bad[] = { "/api",          "/api/v1",       "/apis/apps",
                                       "/apis/apps/v1", "/healthz",      "/metrics",
                                       "/clusters/x/y", "/openapi/more", "x",
                                       "/apis",         "/version",      "/apis/clusterpedia.io/" };
    struct host *h = open_host(0);
    struct status st;

    status_init(&st, h->arena);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct mount m = { .prefix = bad[i], .serve = echo };

        status_reset(&st);
        if (!CHECK(mounts_check(h->arena, &m, 1, kinds_catalog_root(), &st) < 0))
            printf("# %s\n", bad[i]);
    }
    CHECK(mounts_check(h->arena, &(struct mount){ .prefix = "" }, 1, kinds_catalog_root(), &st) <
          0);
    CHECK(mounts_check(h->arena, &(struct mount){ .prefix = "/console" }, 1, kinds_catalog_root(),
                       &st) == 0);
    CHECK(mounts_check(h->arena, mounts, MOUNTS, kinds_catalog_root(), &st) == 0);
    host_free(h);
}
