/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/upkeep_internal.h"
#include "server_fixture.h"

/* Events go when nothing was written to them for a while. */

enum { TTL_S = 120, STEP_S = TTL_S / 12 };

static const struct expiry_options of_events = { "", "v1", "events", "event-marks",
                                                 .ttl_s = TTL_S };

#define EVENTS "/api/v1/namespaces/default/events"

static const char *make_event(struct host *h, const char *prefix, const char *name)
{
    struct ask *a = ask(h, "POST", arena_printf(h->arena, "%s" EVENTS, prefix));

    return code_of(ask_body(
        a, arena_printf(h->arena,
                        "{\"metadata\":{\"name\":\"%s\"},\"involvedObject\":{\"kind\":\"Pod\","
                        "\"name\":\"p\",\"namespace\":\"default\"},\"lastTimestamp\":"
                        "\"2001-01-01T00:00:00Z\"}",
                        name)));
}

static const char *get(struct host *h, const char *prefix, const char *name)
{
    return code_of(ask(h, "GET", arena_printf(h->arena, "%s" EVENTS "/%s", prefix, name)));
}

/* So much later; looked at as often as upkeep would. */
static void pass(struct host *h, struct expiry *x, int seconds)
{
    for (int s = 0; s < seconds; s += STEP_S) {
        clock_jump(&h->clock, clock_wall_us(&h->clock) + (int64_t)STEP_S * 1000000);
        while (expiry_run(x) < STEP_S * 1000)
            ;
    }
}

TEST(an_event_goes_when_its_time_is_over)
{
    struct host *h = host_new(0, 0);
    struct expiry *x = expiry_new(h->server, &of_events);
    struct ask *watch = ask(h, "GET", EVENTS "?watch=1");

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(answer(watch), "200");
    CHECK_STR(make_event(h, "", "old"), "201");
    CHECK_STR(make_event(h, "/clusters/one", "old"), "201");
    CHECK_STR(make_configmap(h, "", "stays"), "201");
    pass(h, x, TTL_S / 2);
    CHECK_STR(make_event(h, "", "young"), "201");
    CHECK_STR(get(h, "", "old"), "200");
    pass(h, x, TTL_S / 2 + 2 * STEP_S);
    CHECK_STR(get(h, "", "old"), "404 NotFound");
    CHECK_STR(get(h, "/clusters/one", "old"), "404 NotFound");
    CHECK_STR(get(h, "", "young"), "200");
    CHECK_STR(code_of(ask(h, "GET", "/api/v1/namespaces/default/configmaps/stays")), "200");
    host_turn(h);
    CHECK(watch->frames == 3);
    CHECK(strstr(str_z(h->arena, buf_str(&watch->text)), "\"type\":\"DELETED\"") != NULL);
    pass(h, x, TTL_S / 2);
    CHECK_STR(get(h, "", "young"), "404 NotFound");
    ask_free(watch);
    expiry_free(x);
    host_free(h);
}

TEST(a_write_gives_it_more_time)
{
    struct host *h = host_new(0, 0);
    struct expiry *x = expiry_new(h->server, &of_events);
    struct ask *a = ask(h, "PATCH", EVENTS "/e");

    CHECK_STR(make_event(h, "", "e"), "201");
    pass(h, x, TTL_S - STEP_S);
    CHECK_STR(code_of(ask_body(ask_header(a, "content-type", "application/merge-patch+json"),
                               "{\"count\":2}")),
              "200");
    pass(h, x, TTL_S - STEP_S);
    CHECK_STR(get(h, "", "e"), "200");
    pass(h, x, 3 * STEP_S);
    CHECK_STR(get(h, "", "e"), "404 NotFound");
    expiry_free(x);
    host_free(h);
}

TEST(a_restart_forgets_nothing)
{
    struct host *h = host_new(0, 0);
    struct expiry *x = expiry_new(h->server, &of_events);

    CHECK_STR(make_event(h, "", "e"), "201");
    pass(h, x, TTL_S - 2 * STEP_S);
    CHECK_STR(get(h, "", "e"), "200");
    expiry_free(x);
    x = expiry_new(h->server, &of_events);
    pass(h, x, 4 * STEP_S);
    CHECK_STR(get(h, "", "e"), "404 NotFound");
    expiry_free(x);
    host_free(h);
}

TEST(many_go_in_portions_and_nothing_is_written_without_events)
{
    struct host *h = host_new(0, 0);
    struct expiry *x = expiry_new(h->server, &of_events);
    uint64_t head;
    int commits;

    for (int i = 0; i < 300; i++)
        CHECK_STR(make_event(h, "", arena_printf(h->arena, "e%d", i)), "201");
    pass(h, x, TTL_S + 2 * STEP_S);
    CHECK_STR(get(h, "", "e0"), "404 NotFound");
    CHECK_STR(get(h, "", "e299"), "404 NotFound");
    CHECK_STR(make_configmap(h, "", "a"), "201");
    head = store_head(h->server->store);
    commits = h->wrap->commits;
    pass(h, x, TTL_S);
    CHECK(store_head(h->server->store) == head && h->wrap->commits == commits);
    expiry_free(x);
    host_free(h);
}
