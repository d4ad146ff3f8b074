/* SPDX-License-Identifier: Apache-2.0 */

/* REST paths: which call it is, and its request from path, query and body. */

#include "rpc/context.h"
#include "rpc/route.h"
#include "rpc_demo.h"
#include "tap.h"

enum { NAMES = 5 };
static const char *const names[NAMES] = { "GetThing", "GetConfig", "PutThing", "SetPart",
                                          "StopThing" };
static struct arena *arena;
static struct status st;
static struct rpc_endpoint endpoints[NAMES];
static struct route routes[NAMES];

static void setup(void)
{
    arena = arena_new();
    status_init(&st, arena);
    for (size_t i = 0; i < NAMES; i++) {
        endpoints[i] = (struct rpc_endpoint){ .method = demo_method(names[i]) };
        CHECK(route_parse(arena, endpoints[i].method->rules, &endpoints[i], &routes[i], &st) == 0);
    }
    routes_sort(routes, NAMES);
}

static const char *find(const char *method, const char *path)
{
    bool other;
    const struct route *r = route_find(routes, NAMES, str_of(method), str_of(path), &other);

    return r ? str_z(arena, r->endpoint->method->name) : other ? "another method" : "nothing";
}

TEST(a_literal_goes_before_a_field)
{
    setup();
    CHECK_STR(find("GET", "/apis/demo.io/v1/things/x"), "GetThing");
    CHECK_STR(find("GET", "/apis/demo.io/v1/things/config"), "GetConfig");
    CHECK_STR(find("PUT", "/apis/demo.io/v1/things/config"), "PutThing");
    CHECK_STR(find("POST", "/apis/demo.io/v1/things/x:stop"), "StopThing");
    CHECK_STR(find("POST", "/apis/demo.io/v1/things/a:b:stop"), "StopThing");
    CHECK_STR(find("GET", "/apis/demo.io/v1/things/x:y"), "GetThing");
    CHECK_STR(find("POST", "/apis/demo.io/v1/things/x/part"), "SetPart");
    arena_free(arena);
}

TEST(what_is_no_path)
{
    setup();
    CHECK_STR(find("DELETE", "/apis/demo.io/v1/things/x"), "another method");
    CHECK_STR(find("POST", "/apis/demo.io/v1/things/:stop"), "another method");
    CHECK_STR(find("GET", "/apis/demo.io/v1/things"), "nothing");
    CHECK_STR(find("GET", "/apis/demo.io/v1/things/"), "nothing");
    CHECK_STR(find("GET", "/apis/demo.io/v1//x"), "nothing");
    CHECK_STR(find("GET", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z"), "nothing");
    CHECK_STR(find("GET", "/"), "nothing");
    arena_free(arena);
}

static const char *request(const char *method, const char *path, const char *query,
                           const char *body)
{
    bool other;
    const struct route *r = route_find(routes, NAMES, str_of(method), str_of(path), &other);
    const struct json *out;

    status_reset(&st);
    if (!CHECK(r != NULL))
        return "";
    if (route_request(arena, r, str_of(path), str_of(query), str_of(body), &out, &st) < 0)
        return arena_printf(arena, "!%.*s", STR_ARG(st.message));
    return str_z(arena, json_text(arena, out));
}

TEST(requests_from_path_and_query)
{
    const char *x = "/apis/demo.io/v1/things/x";

    setup();
    CHECK_STR(request("GET", x, "", ""), "{\"name\":\"x\"}");
    CHECK_STR(request("GET", x, "pageSize=5&deep=true&nobody=1", ""),
              "{\"pageSize\":5,\"deep\":true,\"name\":\"x\"}");
    CHECK_STR(request("GET", x, "page_size=5&page_size=6", ""), "{\"pageSize\":6,\"name\":\"x\"}");
    CHECK_STR(request("GET", x, "colors=RED&colors=-2", ""),
              "{\"colors\":[\"RED\",\"dark_blue\"],\"name\":\"x\"}");
    CHECK_STR(request("GET", x, "part.name=a%20b+c&part.parts.name=z&part=q", ""),
              "{\"part\":{\"name\":\"a b c\"},\"name\":\"x\"}");
    CHECK_STR(request("GET", x, "name=other&pageSize=0&&=&deep=0", ""), "{\"name\":\"x\"}");
    CHECK_STR(request("GET", x, "pageSize=many", ""), "!pageSize: must be a 32-bit integer");
    CHECK_STR(request("GET", x, "deep=maybe", ""), "!deep: must be true or false");
    CHECK_STR(request("GET", x, "colors=GREEN", ""), "!colors: must be a name of the enum");
    CHECK_STR(request("GET", x, "part.name=%zz", ""), "!the query holds a broken escape");
    arena_free(arena);
}

TEST(requests_with_bodies)
{
    const char *x = "/apis/demo.io/v1/things/x";

    setup();
    CHECK_STR(request("PUT", x, "i32=9", "{\"name\":\"y\",\"i64\":\"3\"}"),
              "{\"name\":\"x\",\"i64\":3}");
    CHECK_STR(request("PUT", x, "", " "), "{\"name\":\"x\"}");
    CHECK_STR(request("POST", "/apis/demo.io/v1/things/x/part", "pageSize=2", "{\"name\":\"p\"}"),
              "{\"part\":{\"name\":\"p\"},\"pageSize\":2,\"name\":\"x\"}");
    CHECK_STR(request("POST", "/apis/demo.io/v1/things/x:stop", "", "{}"), "{\"name\":\"x\"}");
    CHECK_STR(request("PUT", x, "", "[]"), "!the request: must be an object");
    CHECK(strncmp(request("PUT", x, "", "{\"i32\":}"), "!", 1) == 0);
    CHECK_STR(request("GET", x, "", "{\"pageSize\":1}"), "{\"name\":\"x\"}");
    arena_free(arena);
}

TEST(templates_that_make_no_sense)
{
    static const char *const bad[] = { "x",         "/",       "/{name",    "/a//b",
                                       "/{nobody}", "/{part}", "/{colors}", "/a/{name}x" };

    setup();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct rpc_rule rule = { "GET", bad[i], "" };
        struct route r;

        status_reset(&st);
        if (!CHECK(route_parse(arena, &rule, &endpoints[0], &r, &st) < 0))
            printf("# %s\n", bad[i]);
    }
    arena_free(arena);
}
