/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/instance_limits.h"
#include "server_fixture.h"

/* What one instance may use, and that others do not notice. */

static const char *make_limited(struct host *h, const char *name, const char *limits)
{
    struct ask *a = ask(h, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances");

    return code_of(ask_body(a, arena_printf(h->arena,
                                            "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"limits\":"
                                            "{%s}}}",
                                            name, limits)));
}

static const char *set_limits(struct host *h, const char *name, const char *limits)
{
    struct ask *a =
        ask(h, "PATCH",
            arena_printf(h->arena, "/apis/tenancy.kairship.io/v1alpha1/instances/%s", name));

    (void)ask_header(a, "content-type", "application/merge-patch+json");
    return code_of(ask_body(a, arena_printf(h->arena, "{\"spec\":{\"limits\":{%s}}}", limits)));
}

#define MAPS "/api/v1/namespaces/default/configmaps"

static const char *message_of(struct host *h, const char *path, const char *body)
{
    struct ask *a = ask_body(ask(h, "POST", path), body);
    const char *text;

    (void)answer(a);
    text = answer_field(a, "message");
    ask_free(a);
    return text;
}

TEST(an_instance_holds_no_more_objects_than_it_may)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(make_limited(h, "t", "\"maxObjects\":2"), "201");
    CHECK_STR(make_instance(h, "other"), "201");
    CHECK_STR(make_configmap(h, "/clusters/t", "a"), "201");
    CHECK_STR(make_configmap(h, "/clusters/t", "b"), "201");
    CHECK_STR(make_configmap(h, "/clusters/t", "c"), "403 Forbidden");
    CHECK_STR(message_of(h, "/clusters/t" MAPS, "{\"metadata\":{\"name\":\"c\"}}"),
              "configmaps \"c\" is forbidden: instance \"t\" holds 2 objects, this is 1 more, and "
              "it may hold 2 (spec.limits.maxObjects of the Instance): delete what is not needed, "
              "or have the limit raised");
    for (int i = 0; i < 5; i++) {
        CHECK_STR(make_configmap(h, "/clusters/other", arena_printf(h->arena, "c%d", i)), "201");
        CHECK_STR(make_configmap(h, "", arena_printf(h->arena, "c%d", i)), "201");
    }
    CHECK_STR(code_of(ask(h, "DELETE", "/clusters/t" MAPS "/a")), "200");
    CHECK_STR(make_configmap(h, "/clusters/t", "c"), "201");
    CHECK_STR(set_limits(h, "t", "\"maxObjects\":3"), "200");
    CHECK_STR(make_configmap(h, "/clusters/t", "d"), "201");
    CHECK_STR(make_configmap(h, "/clusters/t", "e"), "403 Forbidden");
    CHECK_STR(set_limits(h, "t", "\"maxObjects\":0"), "200");
    CHECK_STR(make_configmap(h, "/clusters/t", "e"), "201");
    CHECK_STR(set_limits(h, "t", "\"maxObjects\":-1"), "422 Invalid");
    host_free(h);
}

TEST(an_instance_holds_no_more_bytes_than_it_may)
{
    struct host *h = host_new(0, 0);
    char big[3000];
    const char *body;

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    body = arena_printf(h->arena, "{\"data\":{\"k\":\"%s\"}}", big);
    CHECK_STR(make_limited(h, "t", "\"maxBytes\":3000"), "201");
    CHECK_STR(make_configmap(h, "/clusters/t", "a"), "201");
    CHECK_STR(code_of(ask_body(ask_header(ask(h, "PATCH", "/clusters/t" MAPS "/a"), "content-type",
                                          "application/merge-patch+json"),
                               body)),
              "403 Forbidden");
    CHECK_STR(set_limits(h, "t", "\"maxBytes\":6000"), "200");
    CHECK_STR(code_of(ask_body(ask_header(ask(h, "PATCH", "/clusters/t" MAPS "/a"), "content-type",
                                          "application/merge-patch+json"),
                               body)),
              "200");
    /* Though it is over a limit that came later, what makes it smaller is welcome. */
    CHECK_STR(set_limits(h, "t", "\"maxBytes\":10"), "200");
    CHECK_STR(code_of(ask_body(ask_header(ask(h, "PATCH", "/clusters/t" MAPS "/a"), "content-type",
                                          "application/merge-patch+json"),
                               "{\"data\":null}")),
              "200");
    CHECK_STR(make_configmap(h, "/clusters/t", "b"), "403 Forbidden");
    CHECK_STR(code_of(ask(h, "DELETE", "/clusters/t" MAPS "/a")), "200");
    host_free(h);
}

TEST(requests_at_once_are_counted_apart)
{
    struct host *h = host_new(0, 0);
    struct ask *first = ask(h, "POST", "/clusters/t" MAPS), *second;

    CHECK_STR(make_limited(h, "t", "\"maxInFlight\":1"), "201");
    CHECK_STR(make_instance(h, "other"), "201");
    wrap_hold(h->wrap);
    ask_send(ask_body(first, "{\"metadata\":{\"name\":\"a\"}}"));
    host_turn(h);
    CHECK(wrap_held(h->wrap) == 1);
    second = ask(h, "GET", "/clusters/t" MAPS);
    CHECK_STR(answer(second), "429 TooManyRequests");
    CHECK_STR(answer_header(second, "retry-after"), "1");
    CHECK_STR(answer_field(second, "message"),
              "instance \"t\" has 1 requests in flight and may have no more "
              "(spec.limits.maxInFlight of the Instance): try again later, or with fewer at once");
    ask_free(second);
    CHECK_STR(code_of(ask(h, "GET", "/clusters/other" MAPS)), "200");
    CHECK_STR(code_of(ask(h, "GET", MAPS)), "200");
    wrap_unhold(h->wrap);
    CHECK_STR(answer_of(first), "201");
    ask_free(first);
    for (int i = 0; i < 3; i++)
        CHECK_STR(code_of(ask(h, "GET", "/clusters/t" MAPS)), "200");
    host_free(h);
}

TEST(watches_at_once_are_counted_apart)
{
    struct host *h = host_new(0, 0);
    struct ask *watches[2], *third;

    CHECK_STR(make_limited(h, "t", "\"maxWatches\":2"), "201");
    CHECK_STR(make_instance(h, "other"), "201");
    for (int i = 0; i < 2; i++) {
        watches[i] = ask(h, "GET", "/clusters/t" MAPS "?watch=1");
        CHECK_STR(answer(watches[i]), "200");
    }
    third = ask(h, "GET", "/clusters/t" MAPS "?watch=1");
    CHECK_STR(answer(third), "429 TooManyRequests");
    CHECK_STR(answer_header(third, "retry-after"), "1");
    ask_free(third);
    CHECK_STR(code_of(ask(h, "GET", "/clusters/t" MAPS)), "200");
    CHECK_STR(code_of(ask(h, "GET", "/clusters/other" MAPS "?watch=1")), "200");
    CHECK_STR(code_of(ask(h, "GET", MAPS "?watch=1")), "200");
    ask_free(watches[0]);
    /* One that cannot begin is none. */
    for (int i = 0; i < 3; i++)
        CHECK_STR(code_of(ask(h, "GET", "/clusters/t" MAPS "?watch=1&resourceVersion=x")), "500");
    CHECK_STR(code_of(ask(h, "GET", "/clusters/t" MAPS "?watch=1")), "200");
    ask_free(watches[1]);
    host_free(h);
}

TEST(the_server_has_limits_for_those_that_say_nothing)
{
    struct host *h = host_new(0, 0);

    limits_free(h->server->limits);
    h->server->limits = limits_new(&(struct instance_limits){ .objects = 1 });
    CHECK_STR(make_instance(h, "t"), "201");
    CHECK_STR(make_limited(h, "free", "\"maxObjects\":0"), "201");
    CHECK_STR(make_configmap(h, "/clusters/t", "a"), "201");
    CHECK_STR(make_configmap(h, "/clusters/t", "b"), "403 Forbidden");
    CHECK_STR(make_configmap(h, "/clusters/free", "a"), "201");
    CHECK_STR(make_configmap(h, "/clusters/free", "b"), "201");
    host_free(h);
}
