/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static struct ask *create(struct host *h, const char *name, const char *query)
{
    struct ask *a = ask(h, "POST", arena_printf(h->arena, CONFIGMAPS "%s", query));

    return ask_body(a, arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name));
}

/* ---- ids ---- */

TEST(every_answer_names_its_request)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask_header(ask(h, "GET", CONFIGMAPS), "audit-id", "mine-17");

    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_header(a, "audit-id"), "mine-17");
    CHECK_STR(answer_header(a, "cache-control"), "no-cache, private");
    ask_free(a);
    a = ask_header(ask(h, "GET", CONFIGMAPS), "audit-id", "a b\r\nc");
    CHECK_STR(answer(a), "200");
    CHECK(strlen(answer_header(a, "audit-id")) == 36);
    ask_free(a);
    a = ask(h, "GET", "/api/../x"); /* refused by the very next step */
    a->call->peer = NULL;
    CHECK_STR(answer(a), "400 BadRequest");
    CHECK(strlen(answer_header(a, "audit-id")) == 36);
    ask_free(a);
    host_free(h);
}

/* ---- the order ---- */

/* Whoever is not known finds no seat. */
static void shut_out_the_unknown(struct host *h)
{
    static const char *const bodies[][2] = {
        { "prioritylevelconfigurations",
          "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"type\":\"Limited\",\"limited\":{"
          "\"nominalConcurrencyShares\":0,\"borrowingLimitPercent\":0,\"limitResponse\":{"
          "\"type\":\"Reject\"}}}}" },
        { "flowschemas",
          "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"matchingPrecedence\":2,"
          "\"priorityLevelConfiguration\":{\"name\":\"x\"},\"rules\":[{\"subjects\":[{\"kind\":"
          "\"Group\",\"group\":{\"name\":\"system:unauthenticated\"}}],\"resourceRules\":[{"
          "\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"namespaces\":[\"*\"]"
          "}]}]}}" },
    };

    for (size_t i = 0; i < 2; i++) {
        const char *path =
            arena_printf(h->arena, "/apis/flowcontrol.apiserver.k8s.io/v1/%s", bodies[i][0]);

        CHECK_STR(code_of(ask_body(ask(h, "POST", path), bodies[i][1])), "201");
    }
}

TEST(each_step_comes_before_the_next)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    shut_out_the_unknown(h);
    /* What is wrong with the request, then who it is, then how many there are, then rights. */
    a = create(h, "b", "");
    a->call->raw_path = STR("/api/v1/%zz");
    a->call->peer = NULL;
    a->call->peer_rejected = true;
    CHECK_STR(code_of(a), "400 BadRequest");
    a = create(h, "b", "");
    a->call->peer = NULL;
    a->call->peer_rejected = true;
    CHECK_STR(code_of(a), "401 Unauthorized");
    a = ask_header(create(h, "b", ""), "impersonate-user", "bob");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "403 Forbidden");
    a = create(h, "b", "");
    a->call->peer = NULL; /* anonymous, and too many */
    CHECK_STR(code_of(a), "429");
    a = ask_header(create(h, "b", "?timeout=soon"), "impersonate-user", "bob");
    CHECK_STR(code_of(a), "403 Forbidden"); /* rights before the rest of the request */
    CHECK_STR(code_of(create(h, "b", "?timeout=soon")), "400 BadRequest");
    host_free(h);
}

/* ---- time ---- */

static bool nothing_in_flight(void *arg)
{
    struct host *h = arg;

    return atomic_load(&h->server->writes) == 0;
}

TEST(a_write_that_takes_too_long_is_answered)
{
    struct host *h = host_new(0, 1);
    struct ask *a = create(h, "a", "?timeout=100ms");

    wrap_hold(h->wrap);
    CHECK_STR(answer(a), "504 Timeout");
    CHECK_STR(answer_field(a, "message"),
              "Timeout: request did not complete within the allotted timeout");
    ask_free(a);
    /* The store still has it, so it keeps its place. */
    CHECK(atomic_load(&h->server->writes) == 1);
    wrap_unhold(h->wrap);
    CHECK(host_until(h, nothing_in_flight, h));
    CHECK_STR(code_of(ask(h, "GET", CONFIGMAPS "/a")), "200"); /* late, but done */
    CHECK_STR(code_of(create(h, "b", "?timeout=100ms")), "201");
    host_free(h);
}

TEST(a_collection_that_takes_too_long_is_answered)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "DELETE", CONFIGMAPS "?timeout=100ms");

    for (int i = 0; i < 100; i++)
        CHECK_STR(code_of(create(h, arena_printf(h->arena, "a%d", i), "")), "201");
    wrap_hold(h->wrap);
    CHECK_STR(answer(a), "504 Timeout");
    ask_free(a);
    wrap_unhold(h->wrap);
    CHECK(host_until(h, nothing_in_flight, h));
    a = ask(h, "GET", CONFIGMAPS);
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "items"), "[]"); /* it went on to its end */
    ask_free(a);
    host_free(h);
}

TEST(many_at_once_each_in_its_time)
{
    enum { N = 20 };
    struct host *h = host_new(0, 0);
    struct ask *a[N];

    wrap_hold(h->wrap);
    for (int i = 0; i < N; i++) {
        a[i] = create(h, arena_printf(h->arena, "a%d", i), i % 2 ? "?timeout=50ms" : "");
        ask_send(a[i]);
    }
    for (int i = 1; i < N; i += 2)
        CHECK_STR(answer_of(a[i]), "504 Timeout");
    for (int i = 0; i < N; i += 2)
        CHECK(!a[i]->done);
    wrap_unhold(h->wrap);
    for (int i = 0; i < N; i++) {
        if (i % 2 == 0)
            CHECK_STR(answer_of(a[i]), "201");
        ask_free(a[i]);
    }
    CHECK(host_until(h, nothing_in_flight, h));
    host_free(h);
}

TEST(a_watch_has_no_such_limit)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "GET", CONFIGMAPS "?watch=1&timeout=10ms");

    CHECK_STR(answer(a), "200");
    CHECK_STR(code_of(create(h, "a", "")), "201");
    host_turn(h);
    CHECK(a->streaming && a->frames == 1);
    ask_free(a);
    host_free(h);
}

/* ---- the end ---- */

static bool flag(void *arg)
{
    return *(bool *)arg;
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

struct stopping {
    struct host *host;
    bool *stopped;
};

static void stop(void *arg)
{
    struct stopping *s = arg;

    server_stop(s->host->server, 10, set_flag, s->stopped);
}

TEST(a_stop_waits_for_what_the_store_has)
{
    struct host *h = host_new(0, 0);
    struct ask *a = create(h, "a", "?timeout=50ms");
    bool stopped = false;
    struct stopping s = { h, &stopped };

    wrap_hold(h->wrap);
    CHECK_STR(answer(a), "504 Timeout");
    ask_free(a);
    loop_call(h->loop, stop, &s);
    host_turn(h);
    CHECK(!stopped);
    a = ask(h, "GET", "/readyz");
    CHECK_STR(answer(a), "500"); /* first of all it is not ready any more */
    ask_free(a);
    wrap_unhold(h->wrap);
    CHECK(host_until(h, flag, &stopped));
    host_free(h);
}
