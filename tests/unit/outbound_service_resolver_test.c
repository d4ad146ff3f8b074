/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

/* Addresses and node ports of services that are made at the same moment. */

#define SERVICES "/api/v1/namespaces/default/services"

#define PORTS "\"ports\":[{\"port\":80}]"

enum { RACERS = 8, EACH = 12 };

struct racer {
    pthread_t thread;
    struct rig *rig;
    int number, times;
    const char *spec; /* members of it */
    int made, refused;
};

static void *race(void *arg)
{
    struct racer *r = arg;

    for (int i = 0; i < r->times; i++) {
        scoped_arena a = arena_new();
        struct status st;
        const struct json *v;
        struct client_request req = {
            .method = STR("POST"),
            .path = STR(SERVICES),
            .content_type = STR("application/json"),
            .body = str_printf(a, "{\"metadata\":{\"name\":\"s-%d-%d\"},\"spec\":{%s}}", r->number,
                               i, r->spec),
        };

        status_init(&st, a);
        if (client_do(r->rig->client, a, &req, &v, &st) == 0)
            r->made++;
        else if (status_http(&st) == 422)
            r->refused++;
    }
    return NULL;
}

/* All at once; how many were made, and in *refused how many were invalid. */
static int run_race(struct rig *rig, const char *spec, int times, int *refused)
{
    struct racer racers[RACERS];
    int made = 0;

    *refused = 0;
    wrap_hold(rig->host->wrap); /* so that all have looked before the first is done */
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){ .rig = rig, .number = i, .times = times, .spec = spec };
        if (pthread_create(&racers[i].thread, NULL, race, &racers[i]) != 0)
            exit(1);
    }
    while (atomic_load(&rig->host->server->writes) < RACERS)
        (void)usleep(1000);
    wrap_unhold(rig->host->wrap);
    for (int i = 0; i < RACERS; i++) {
        (void)pthread_join(racers[i].thread, NULL);
        made += racers[i].made;
        *refused += racers[i].refused;
    }
    return made;
}

TEST(an_address_is_given_to_one_of_many_that_want_it)
{
    struct rig r;
    int refused, made;

    rig_open(&r);
    made = run_race(&r, "\"clusterIP\":\"10.96.7.7\"," PORTS, 1, &refused);
    CHECK(made == 1);
    CHECK(refused == RACERS - 1);

    /* It is free again when its service is gone, whatever was claimed. */
    CHECK(ask_api(&r, "DELETE", SERVICES, "", NULL) == 200);
    made = run_race(&r, "\"clusterIP\":\"10.96.7.7\"," PORTS, 1, &refused);
    CHECK(made == 1);
    rig_close(&r);
}

TEST(a_node_port_is_given_once)
{
    const struct json *list = NULL;
    bool taken[32768] = { false };
    struct rig r;
    int refused, made, n = 0;

    rig_open(&r);
    made = run_race(&r, "\"type\":\"NodePort\",\"ports\":[{\"port\":80,\"nodePort\":30080}]", 1,
                    &refused);
    CHECK(made == 1);
    CHECK(refused == RACERS - 1);
    CHECK(ask_api(&r, "DELETE", SERVICES, "", NULL) == 200);
    made = run_race(&r, "\"type\":\"NodePort\"," PORTS, EACH, &refused);
    CHECK(made == RACERS * EACH);
    CHECK(refused == 0);
    CHECK(ask_api(&r, "GET", SERVICES, "", &list) == 200);
    json_for_each (s, json_path(list, "items")) {
        int64_t port =
            json_int(json_get(json_at(json_path(s, "spec.ports"), 0), STR("nodePort")), 0);

        if (port == 0)
            continue;
        CHECK(port >= 30000 && port < 32768);
        CHECK(!taken[port & 32767]);
        taken[port & 32767] = true;
        n++;
    }
    CHECK(n == RACERS * EACH);
    rig_close(&r);
}

TEST(what_changes_nothing_claims_nothing)
{
    const struct json *v = NULL, *again = NULL;
    struct rig r;

    rig_open(&r);
    CHECK(ask_api(&r, "POST", SERVICES,
                  "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"NodePort\","
                  "\"ports\":[{\"port\":80}]}}",
                  &v) == 200);
    CHECK(ask_api(&r, "PATCH", SERVICES "/a", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}",
                  &again) == 200);
    CHECK_STR(str_z(r.arena, json_get_str(v, "spec.clusterIP")),
              str_z(r.arena, json_get_str(again, "spec.clusterIP")));
    CHECK(json_equal(json_path(v, "spec.ports"), json_path(again, "spec.ports")));
    /* A dry run takes nothing. */
    CHECK(ask_api(&r, "POST", SERVICES "?dryRun=All",
                  "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"clusterIP\":\"10.96.9.9\","
                  "\"ports\":[{\"port\":80}]}}",
                  &v) == 200);
    CHECK(ask_api(&r, "POST", SERVICES,
                  "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"clusterIP\":\"10.96.9.9\","
                  "\"ports\":[{\"port\":80}]}}",
                  &v) == 200);
    rig_close(&r);
}

TEST(services_without_a_name_yet_do_not_ask_for_the_same_address)
{
    struct rig r;

    rig_open(&r);
    for (int i = 0; i < 100; i++)
        CHECK(ask_api(&r, "POST", SERVICES,
                      "{\"metadata\":{\"generateName\":\"s-\"},\"spec\":{" PORTS "}}",
                      NULL) == 200);
    rig_close(&r);
}

TEST(a_port_for_health_checks_is_one_of_the_nodes)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "POST", SERVICES);

    CHECK_STR(answer(ask_body(a, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":"
                                 "\"LoadBalancer\",\"externalTrafficPolicy\":\"Local\","
                                 "\"healthCheckNodePort\":1000,\"ports\":[{\"port\":80}]}}")),
              "500 InternalError");
    CHECK_STR(answer_field(a, "message"),
              "failed to allocate requested HealthCheck NodePort 1000: provided port is not in the "
              "valid range. The range of valid ports is 30000-32767");
    ask_free(a);
    host_free(h);
}
