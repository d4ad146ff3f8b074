/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/admission.h"
#include "apiserver/admission/event_rate.h"
#include "server_fixture.h"

/* How many events may be written, and that others do not notice. */

enum { USER_QPS = 100, USER_BURST = 5000, SERVER_BURST = 10000 };

static bool take(struct event_rate *r, uint32_t instance, const char *ns, const char *user,
                 int64_t now_ms)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    return event_rate_take(r, instance, str_of(ns), str_of(user), NULL, now_ms, &st) == 0;
}

/* How many of so many are taken. */
static int take_many(struct event_rate *r, uint32_t instance, const char *ns, const char *user,
                     int64_t now_ms, int n)
{
    int taken = 0;

    for (int i = 0; i < n; i++)
        taken += take(r, instance, ns, user, now_ms);
    return taken;
}

TEST(a_burst_then_a_rate)
{
    struct event_rate *r = event_rate_new(NULL, 0);

    CHECK(take_many(r, 7, "a", "u", 1000, 2 * USER_BURST) == USER_BURST);
    CHECK(take_many(r, 7, "a", "u", 1000 + 10, 5) == 1);
    CHECK(take_many(r, 7, "a", "u", 1000 + 1010, 200) == USER_QPS);
    /* Full again, and not fuller. */
    CHECK(take_many(r, 7, "a", "u", 3600 * 1000, 2 * USER_BURST) == USER_BURST);
    event_rate_free(r);
}

TEST(others_have_their_own)
{
    struct event_rate *r = event_rate_new(NULL, 0);

    CHECK(take_many(r, 7, "a", "u", 0, USER_BURST + 1) == USER_BURST);
    CHECK(!take(r, 7, "b", "u", 0));
    CHECK(!take(r, 7, "a", "v", 0));
    CHECK(take(r, 7, "b", "v", 0));
    CHECK(take(r, 8, "a", "u", 0));
    event_rate_free(r);
}

TEST(an_instance_has_a_rate_whoever_writes)
{
    struct event_rate *r = event_rate_new(NULL, 0);
    int taken = 0;

    for (int i = 0; i < 4; i++) {
        char name[2] = { (char)('a' + i), '\0' };

        taken += take_many(r, 7, name, name, 0, SERVER_BURST / 4);
    }
    CHECK(taken == SERVER_BURST);
    CHECK(!take(r, 7, "z", "z", 0));
    CHECK(take(r, 8, "z", "z", 0));
    event_rate_free(r);
}

TEST(who_writes_too_much_is_not_forgotten_for_the_crowd)
{
    struct event_rate *r = event_rate_new(NULL, 0);

    CHECK(take_many(r, 7, "a", "loud", 0, USER_BURST) == USER_BURST);
    for (uint32_t i = 0; i < 20000; i++)
        (void)take(r, 1000 + i, "a", "quiet", 0);
    CHECK(!take(r, 7, "b", "loud", 0));
    event_rate_free(r);
}

static bool take_event(struct event_rate *r, const char *text, int64_t now_ms, struct status *st)
{
    const struct json *event = NULL;

    status_reset(st);
    CHECK(json_parse(st->arena, str_of(text), NULL, &event, st) == 0);
    return event_rate_take(r, 7, STR("a"), STR("u"), event, now_ms, st) == 0;
}

#define ABOUT(object) "\"kind\":\"Pod\",\"namespace\":\"a\",\"name\":\"" object "\",\"uid\":\"1\""

TEST(what_the_operator_says_counts)
{
    static const struct event_limit limits[] = {
        { EVENT_LIMIT_SOURCE_AND_OBJECT, 1, 2, 3 },
        { EVENT_LIMIT_NAMESPACE, 10, 3, 1 },
    };
    static const char p[] = "{\"source\":{\"component\":\"k\",\"host\":\"h\"},"
                            "\"involvedObject\":{" ABOUT("p") "}}";
    static const char same[] = "{\"deprecatedSource\":{\"component\":\"k\",\"host\":\"h\"},"
                               "\"regarding\":{" ABOUT("p") "}}";
    static const char other[] = "{\"source\":{\"component\":\"k\",\"host\":\"h\"},"
                                "\"involvedObject\":{" ABOUT("q") "}}";
    scoped_arena a = arena_new();
    struct event_rate *r = event_rate_new(limits, 2);
    struct status st;

    status_init(&st, a);
    CHECK(take_event(r, p, 1000, &st) && take_event(r, same, 1000, &st));
    CHECK(!take_event(r, p, 1000, &st));
    CHECK_STR(str_z(a, st.message),
              "Too many requests: limit reached on type SourceAndObject for key khPodap1");
    CHECK(!take_event(r, other, 1000, &st));
    CHECK_STR(str_z(a, st.message), "Too many requests: limit reached on type Namespace for key a");
    CHECK(take_event(r, other, 2000, &st) && take_event(r, p, 2000, &st));
    CHECK(!take_event(r, p, 2000, &st));
    event_rate_free(r);
}

#define EVENTS "/api/v1/namespaces/default/events"

static struct ask *event(struct host *h, const char *path, const char *name)
{
    return ask_body(
        ask(h, "POST", path),
        arena_printf(h->arena,
                     "{\"metadata\":{\"name\":\"%s\"},\"involvedObject\":{\"kind\":\"Pod\","
                     "\"name\":\"p\",\"namespace\":\"default\"}}",
                     name));
}

TEST(the_server_says_so_as_kubernetes_does)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "other"), "201");
    CHECK_STR(code_of(event(h, EVENTS, "a")), "201");
    (void)take_many(h->server->event_rate, INSTANCE_ROOT, "default", "somebody",
                    clock_now_ms(&h->clock), USER_BURST - 1);
    a = event(h, EVENTS, "b");
    CHECK_STR(answer(a), "429 TooManyRequests");
    CHECK_STR(answer_field(a, "message"),
              "Too many requests: limit reached on type Namespace for key default");
    ask_free(a);
    CHECK_STR(code_of(event(h, EVENTS "?dryRun=All", "b")), "201");
    CHECK_STR(code_of(event(h, "/clusters/other" EVENTS, "b")), "201");
    CHECK_STR(make_configmap(h, "", "b"), "201");
    clock_advance(&h->clock, 1000);
    CHECK_STR(code_of(event(h, EVENTS, "b")), "201");
    host_free(h);
}

#define SERVICES     "/api/v1/namespaces/default/services"
#define SERVICE(ips) "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80}]," ips "}}"

static const char *patch(struct host *h, const char *ips)
{
    struct ask *a = ask(h, "PATCH", SERVICES "/s");

    (void)ask_header(a, "content-type", "application/merge-patch+json");
    return code_of(ask_body(a, arena_printf(h->arena, "{\"spec\":{\"externalIPs\":%s}}", ips)));
}

TEST(services_get_no_external_addresses)
{
    struct host *h = host_new(0, 0);
    uint32_t off = 0;
    struct status st;
    struct ask *a;

    status_init(&st, h->arena);
    a = ask_body(ask(h, "POST", SERVICES), SERVICE("\"externalIPs\":[\"192.0.2.1\"]"));
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK_STR(answer_field(a, "message"),
              "services \"s\" is forbidden: Use of external IPs is denied by admission control");
    ask_free(a);

    /* Those that it has may stay and go. */
    CHECK(admission_choose(STR(""), STR("EventRateLimit,DenyServiceExternalIPs"), &off, &st) == 0);
    h->server->admission_off = off;
    CHECK_STR(code_of(ask_body(ask(h, "POST", SERVICES),
                               SERVICE("\"externalIPs\":[\"192.0.2.1\",\"192.0.2.2\"]"))),
              "201");
    h->server->admission_off = 0;
    CHECK_STR(patch(h, "[\"192.0.2.2\",\"192.0.2.1\"]"), "200");
    CHECK_STR(patch(h, "[\"192.0.2.2\",\"192.0.2.3\"]"), "403 Forbidden");
    CHECK_STR(patch(h, "[\"192.0.2.2\"]"), "200");
    CHECK_STR(patch(h, "[\"192.0.2.1\"]"), "403 Forbidden");
    CHECK_STR(patch(h, "null"), "200");
    host_free(h);
}

TEST(only_some_plugins_may_be_off)
{
    scoped_arena a = arena_new();
    uint32_t off = 1;
    struct status st;

    status_init(&st, a);
    CHECK(admission_choose(STR(""), STR(""), &off, &st) == 0 && off != 0);
    CHECK(admission_choose(STR("StorageObjectInUseProtection,Priority"), STR(""), &off, &st) == 0);
    CHECK(off == 0);
    CHECK(admission_choose(STR("EventRateLimit"), STR("EventRateLimit"), &off, &st) < 0);
    CHECK(admission_choose(STR("NodeRestriction"), STR(""), &off, &st) < 0);
    CHECK_STR(str_z(a, st.message),
              "there is no admission plugin \"NodeRestriction\" that may be turned on");
    CHECK(admission_choose(STR(""), STR("EventRateLimit,ServiceAccount"), &off, &st) < 0);
    CHECK_STR(str_z(a, st.message),
              "there is no admission plugin \"ServiceAccount\" that may be turned off");
}

#define CLAIM                                                                       \
    "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"]," \
    "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}"
#define CLAIMS "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All"

TEST(claims_are_protected_where_that_is_asked_for)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask_body(ask(h, "POST", CLAIMS), CLAIM);

    CHECK_STR(answer(a), "201");
    CHECK(!strstr(answer_field(a, "metadata"), "finalizers"));
    ask_free(a);
    h->server->admission_off = 0;
    a = ask_body(ask(h, "POST", CLAIMS), CLAIM);
    CHECK_STR(answer(a), "201");
    CHECK(strstr(answer_field(a, "metadata"),
                 "\"finalizers\":[\"kubernetes.io/pvc-protection\"]") != NULL);
    ask_free(a);
    host_free(h);
}
