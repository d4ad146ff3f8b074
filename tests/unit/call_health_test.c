/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/health.h"

#include "base/arena.h"
#include "base/banned.h"
#include "tap.h"

static int check_flag(void *arg, struct status *st)
{
    if (!*(bool *)arg)
        return status_set(st, REASON_INTERNAL, "disk is on fire");
    return 0;
}

static struct health *make(bool *store)
{
    struct health *h = health_new();

    health_add(h, (struct health_check){ STR("store"), HEALTH_HEALTHZ | HEALTH_READYZ, check_flag,
                                         store });
    return h;
}

/* "code body" */
static const char *ask(struct arena *a, const struct health *h, const char *path, const char *query)
{
    struct health_answer out;

    if (!health_serve(h, a, str_of(path), str_of(query), &out))
        return "none";
    return arena_printf(a, "%d %.*s", out.code, STR_ARG(out.body));
}

TEST(healthy)
{
    scoped_arena a = arena_new();
    bool store = true;
    struct health *h = make(&store);

    CHECK_STR(ask(a, h, "/healthz", ""), "200 ok");
    CHECK_STR(ask(a, h, "/livez", ""), "200 ok");
    CHECK_STR(ask(a, h, "/readyz", ""), "200 ok");
    CHECK_STR(ask(a, h, "/readyz/", ""), "200 ok");
    CHECK_STR(ask(a, h, "/readyz", "verbose"),
              "200 [+]ping ok\n[+]shutdown ok\n[+]store ok\nreadyz check passed\n");
    CHECK_STR(ask(a, h, "/livez", "verbose=1"), "200 [+]ping ok\nlivez check passed\n");
    CHECK_STR(ask(a, h, "/readyz/ping", ""), "200 ok");
    CHECK_STR(ask(a, h, "/healthz/store", ""), "200 ok");
    health_free(h);
}

TEST(a_failed_check_keeps_its_reason)
{
    scoped_arena a = arena_new();
    bool store = false;
    struct health *h = make(&store);

    CHECK_STR(ask(a, h, "/readyz", ""),
              "500 [+]ping ok\n[+]shutdown ok\n[-]store failed: reason withheld\n"
              "readyz check failed\n");
    CHECK_STR(ask(a, h, "/livez", ""), "200 ok");
    CHECK_STR(ask(a, h, "/readyz/store", ""), "500 internal server error: disk is on fire\n");
    CHECK_STR(ask(a, h, "/readyz", "exclude=store"), "200 ok");
    CHECK_STR(ask(a, h, "/readyz", "verbose&exclude=store&exclude=no%20such"),
              "200 [+]ping ok\n[+]shutdown ok\n[+]store excluded: ok\n"
              "warn: some health checks cannot be excluded: no matches for \"no such\"\n"
              "readyz check passed\n");
    health_free(h);
}

TEST(draining_fails_readyz_only)
{
    scoped_arena a = arena_new();
    bool store = true;
    struct health *h = make(&store);

    health_drain(h);
    CHECK_STR(ask(a, h, "/readyz/shutdown", ""),
              "500 internal server error: process is shutting down\n");
    CHECK_STR(ask(a, h, "/healthz", ""), "200 ok");
    CHECK_STR(ask(a, h, "/livez", ""), "200 ok");
    health_free(h);
}

TEST(other_paths)
{
    scoped_arena a = arena_new();
    bool store = true;
    struct health *h = make(&store);

    CHECK_STR(ask(a, h, "/readyz/nope", ""), "404 404 page not found\n");
    CHECK_STR(ask(a, h, "/livez/store", ""), "404 404 page not found\n");
    CHECK_STR(ask(a, h, "/readyzz", ""), "none");
    CHECK_STR(ask(a, h, "/", ""), "none");
    CHECK_STR(ask(a, h, "/ready", ""), "none");
    health_free(h);
}

TEST(many_excludes_are_bounded)
{
    scoped_arena a = arena_new();
    bool store = true;
    struct health *h = make(&store);
    char query[8192] = "";
    size_t n = 0;

    for (int i = 0; i < 500; i++)
        n += (size_t)snprintf(query + n, sizeof(query) - n, "exclude=x%d&", i);
    CHECK_STR(ask(a, h, "/readyz", query), "200 ok");
    health_free(h);
}
