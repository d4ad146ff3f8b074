/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/flow/flow.h"

#include "server_fixture.h"

/* Requests at the gate of a whole server: which objects decide, what is answered, who waits. */

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define FLOWS  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
#define LEVELS "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
#define ROLES  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"

static struct ask *as(struct ask *a, const char *user)
{
    return ask_header(a, "impersonate-user", user);
}

static const char *post(struct host *h, const char *path, const char *body)
{
    return code_of(ask_body(ask(h, "POST", path), body));
}

static struct ask *create(struct host *h, const char *instance, const char *user, const char *name)
{
    struct ask *a = ask(h, "POST", arena_printf(h->arena, "%s" MAPS, instance));

    return as(ask_body(a, arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name)), user);
}

static void let_everybody(struct host *h, const char *instance)
{
    CHECK_STR(post(h, arena_printf(h->arena, "%s" ROLES, instance),
                   "{\"metadata\":{\"name\":\"all\"},\"roleRef\":{\"apiGroup\":"
                   "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":"
                   "\"cluster-admin\"},\"subjects\":[{\"kind\":\"Group\",\"apiGroup\":"
                   "\"rbac.authorization.k8s.io\",\"name\":\"system:authenticated\"}]}"),
              "201");
}

/* jane's requests are of a level of their own. */
static void make_level(struct host *h, const char *instance, const char *limited)
{
    CHECK_STR(post(h, arena_printf(h->arena, "%s" LEVELS, instance),
                   arena_printf(h->arena,
                                "{\"metadata\":{\"name\":\"jane\"},\"spec\":{\"type\":\"Limited\","
                                "\"limited\":{%s}}}",
                                limited)),
              "201");
    CHECK_STR(post(h, arena_printf(h->arena, "%s" FLOWS, instance),
                   "{\"metadata\":{\"name\":\"jane\"},\"spec\":{\"matchingPrecedence\":50,"
                   "\"priorityLevelConfiguration\":{\"name\":\"jane\"},\"distinguisherMethod\":"
                   "{\"type\":\"ByUser\"},\"rules\":[{\"subjects\":[{\"kind\":\"User\",\"user\":"
                   "{\"name\":\"jane\"}}],\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":"
                   "[\"*\"],\"resources\":[\"*\"],\"namespaces\":[\"*\"],\"clusterScope\":true}]"
                   "}]}}"),
              "201");
}

static const char *uid_of(struct host *h, const char *path)
{
    struct ask *a = ask(h, "GET", path);
    const char *uid;

    CHECK_STR(answer(a), "200");
    uid = answer_field(a, "metadata.uid");
    ask_free(a);
    return uid;
}

TEST(an_answer_names_the_schema_and_the_level)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "t"), "201");
    a = as(ask(h, "GET", "/clusters/t" MAPS), "jane"); /* refused, and named all the same */
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_header(a, "x-kubernetes-pf-flowschema-uid"),
              uid_of(h, "/clusters/t" FLOWS "/global-default"));
    CHECK_STR(answer_header(a, "x-kubernetes-pf-prioritylevel-uid"),
              uid_of(h, "/clusters/t" LEVELS "/global-default"));
    ask_free(a);
    make_level(h, "/clusters/t", "\"limitResponse\":{\"type\":\"Reject\"}");
    a = as(ask(h, "GET", "/clusters/t" MAPS), "jane");
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_header(a, "x-kubernetes-pf-flowschema-uid"),
              uid_of(h, "/clusters/t" FLOWS "/jane"));
    CHECK_STR(answer_header(a, "x-kubernetes-pf-prioritylevel-uid"),
              uid_of(h, "/clusters/t" LEVELS "/jane"));
    ask_free(a);
    a = ask(h, "GET", MAPS);
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_header(a, "x-kubernetes-pf-flowschema-uid"), uid_of(h, FLOWS "/exempt"));
    ask_free(a);
    host_free(h);
}

TEST(a_level_without_seats_holds_only_its_own_instance)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "t"), "201");
    CHECK_STR(make_instance(h, "other"), "201");
    let_everybody(h, "/clusters/t");
    let_everybody(h, "/clusters/other");
    make_level(h, "/clusters/t",
               "\"nominalConcurrencyShares\":0,\"borrowingLimitPercent\":0,"
               "\"limitResponse\":{\"type\":\"Reject\"}");
    a = as(ask(h, "GET", "/clusters/t" MAPS), "jane");
    CHECK_STR(answer(a), "429");
    CHECK_STR(answer_header(a, "retry-after"), "1");
    CHECK_STR(str_z(h->arena, buf_str(&a->text)), "Too many requests, please try again later.\n");
    ask_free(a);
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/t" MAPS), "john")), "200");
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/other" MAPS), "jane")), "200");
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/t/readyz"), "jane")), "200");
    /* From the next request on. */
    CHECK_STR(code_of(ask(h, "DELETE", "/clusters/t" FLOWS "/jane")), "200");
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/t" MAPS), "jane")), "200");
    host_free(h);
}

#define ONE_SEAT                                                                     \
    "\"nominalConcurrencyShares\":1,\"borrowingLimitPercent\":0,\"limitResponse\":{" \
    "\"type\":\"Queue\",\"queuing\":{\"queues\":1,\"handSize\":1,\"queueLengthLimit\":2}}"

TEST(what_waits_goes_on_when_a_seat_is_free)
{
    struct host *h = host_new(60, 0); /* 260 seats: one share is two of them */
    struct ask *a[5];
    struct ask *full, *metrics;

    CHECK_STR(make_instance(h, "t"), "201");
    let_everybody(h, "/clusters/t");
    make_level(h, "/clusters/t", ONE_SEAT);
    wrap_hold(h->wrap);
    for (int i = 0; i < 4; i++)
        ask_send(a[i] = create(h, "/clusters/t", "jane", arena_printf(h->arena, "c%d", i)));
    host_turn(h);
    CHECK(wrap_held(h->wrap) == 2);
    full = create(h, "/clusters/t", "jane", "d");
    CHECK_STR(answer(full), "429");
    CHECK_STR(answer_header(full, "retry-after"), "1");
    ask_free(full);
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/t" MAPS), "john")), "200");
    metrics = ask(h, "GET", "/metrics");
    CHECK_STR(answer(metrics), "200");
    CHECK(str_contains(buf_str(&metrics->text),
                       STR("apiserver_flowcontrol_current_inqueue_requests{priority_level="
                           "\"other\"} 2\n")));
    CHECK(str_contains(buf_str(&metrics->text),
                       STR("apiserver_flowcontrol_current_executing_requests{priority_level="
                           "\"other\"} 2\n")));
    CHECK(str_contains(buf_str(&metrics->text),
                       STR("apiserver_flowcontrol_rejected_requests_total{priority_level="
                           "\"other\",reason=\"queue-full\"} 1\n")));
    ask_free(metrics);
    wrap_unhold(h->wrap);
    for (int i = 0; i < 4; i++) {
        CHECK_STR(answer_of(a[i]), "201");
        ask_free(a[i]);
    }
    CHECK(atomic_load(&h->server->writes) == 0);
    host_free(h);
}

TEST(nobody_waits_for_longer_than_a_quarter_of_the_time)
{
    struct host *h = host_new(60, 0);
    struct ask *a[2], *late;

    CHECK_STR(make_instance(h, "t"), "201");
    let_everybody(h, "/clusters/t");
    make_level(h, "/clusters/t", ONE_SEAT);
    wrap_hold(h->wrap);
    for (int i = 0; i < 2; i++)
        ask_send(a[i] = create(h, "/clusters/t", "jane", arena_printf(h->arena, "c%d", i)));
    host_turn(h);
    late = as(ask(h, "GET", "/clusters/t" MAPS "?timeout=200ms"), "jane");
    CHECK_STR(answer(late), "429");
    ask_free(late);
    late = as(ask(h, "GET", "/clusters/t" MAPS), "jane");
    ask_send(late);
    host_turn(h);
    CHECK(!late->done);
    loop_skip_ms(h->loop, 15001);
    CHECK_STR(answer_of(late), "429");
    ask_free(late);
    /* A client that goes takes its place in the queue with it. */
    late = as(ask(h, "GET", "/clusters/t" MAPS), "jane");
    ask_send(late);
    host_turn(h);
    CHECK(!late->done);
    flow_gone(late->call);
    CHECK_STR(answer_of(late), "429");
    ask_free(late);
    wrap_unhold(h->wrap);
    for (int i = 0; i < 2; i++) {
        CHECK_STR(answer_of(a[i]), "201");
        ask_free(a[i]);
    }
    CHECK(atomic_load(&h->server->writes) == 0 && atomic_load(&h->server->reads) == 0);
    host_free(h);
}

TEST(a_watch_counts_only_while_it_starts)
{
    struct host *h = host_new(60, 0);
    struct ask *a[4];

    CHECK_STR(make_instance(h, "t"), "201");
    let_everybody(h, "/clusters/t");
    make_level(h, "/clusters/t", ONE_SEAT);
    for (int i = 0; i < 4; i++) {
        a[i] = as(ask(h, "GET", "/clusters/t" MAPS "?watch=1"), "jane");
        CHECK_STR(answer(a[i]), "200");
        CHECK(a[i]->streaming);
    }
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/t" MAPS), "jane")), "200");
    for (int i = 0; i < 4; i++)
        ask_free(a[i]);
    host_free(h);
}

/* What is mandatory is there though it was deleted, and cannot be changed. */
TEST(mandatory_schemas_hold_whatever_is_stored)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "t"), "201");
    CHECK_STR(code_of(ask(h, "DELETE", "/clusters/t" FLOWS "/exempt")), "200");
    CHECK_STR(code_of(ask(h, "DELETE", "/clusters/t" LEVELS "/exempt")), "200");
    CHECK_STR(code_of(ask(h, "DELETE", "/clusters/t" FLOWS "/catch-all")), "200");
    CHECK_STR(code_of(ask(h, "DELETE", "/clusters/t" FLOWS "/global-default")), "200");
    make_level(h, "/clusters/t",
               "\"nominalConcurrencyShares\":0,\"borrowingLimitPercent\":0,"
               "\"limitResponse\":{\"type\":\"Reject\"}");
    CHECK_STR(code_of(ask(h, "GET", "/clusters/t" MAPS)), "200");
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/t" MAPS), "john")), "403 Forbidden");
    a = ask_header(ask(h, "PATCH", "/clusters/t" LEVELS "/catch-all"), "content-type",
                   "application/merge-patch+json");
    CHECK_STR(code_of(ask_body(a, "{\"spec\":{\"limited\":{\"nominalConcurrencyShares\":0,"
                                  "\"borrowingLimitPercent\":0}}}")),
              "422 Invalid");
    CHECK_STR(code_of(as(ask(h, "GET", "/clusters/t" MAPS), "john")), "403 Forbidden");
    host_free(h);
}

/* Seats: an instance that fills all it may leaves the others theirs. */
TEST(an_instance_leaves_seats_for_others)
{
    enum { N = 24 };
    struct host *h = host_new(8, 8);
    struct ask *a[N], *other;
    int held;

    CHECK_STR(make_instance(h, "t"), "201");
    CHECK_STR(make_instance(h, "other"), "201");
    let_everybody(h, "/clusters/t");
    let_everybody(h, "/clusters/other");
    wrap_hold(h->wrap);
    for (int i = 0; i < N; i++)
        ask_send(a[i] = create(h, "/clusters/t", arena_printf(h->arena, "u%d", i),
                               arena_printf(h->arena, "c%d", i)));
    host_turn(h);
    held = wrap_held(h->wrap);
    CHECK(held > 0 && held <= 8); /* half of sixteen */
    other = create(h, "/clusters/other", "jane", "x");
    ask_send(other);
    host_turn(h);
    CHECK(wrap_held(h->wrap) == held + 1);
    wrap_unhold(h->wrap);
    CHECK_STR(answer_of(other), "201");
    ask_free(other);
    for (int i = 0; i < N; i++) {
        const char *code = answer_of(a[i]);

        CHECK(strcmp(code, "201") == 0 || strcmp(code, "429") == 0);
        ask_free(a[i]);
    }
    CHECK(atomic_load(&h->server->writes) == 0);
    host_free(h);
}
