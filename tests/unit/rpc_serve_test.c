/* SPDX-License-Identifier: Apache-2.0 */

/* The same calls as gRPC and as REST. */

#include "rpc_fake.h"

static struct loop *loop;
static struct rpc *rpc;
static const struct mount *grpc, *rest;

static void open_rpc(void)
{
    struct rpc_options o = { .api = &demo_api,
                             .implementations = &demo_implementation,
                             .nimplementations = 1,
                             .workers = 1 };
    scoped_arena a = arena_new();
    struct status st;
    size_t n;

    demo.calls = 0;
    demo.hold = false;
    status_init(&st, a);
    loop = loop_new();
    rpc = rpc_new(&o, &st);
    if (!CHECK(rpc != NULL))
        exit(1);
    grpc = rpc_mounts(rpc, &n);
    rest = grpc + 1;
    CHECK(n == 2);
    CHECK_STR(rest->prefix, "/apis/demo.io");
}

static void close_rpc(void)
{
    rpc_free(rpc);
    loop_free(loop);
}

/* Everything of a call happens on its loop. */
static void stop_loop(void *arg)
{
    loop_stop(arg);
}

static void turn(void)
{
    loop_call(loop, stop_loop, loop);
    loop_run(loop);
}

static void serve_grpc(void *arg)
{
    grpc->serve(grpc->arg, arg);
}

static void serve_rest(void *arg)
{
    rest->serve(rest->arg, arg);
}

static void tell_more(void *arg)
{
    struct mount_call *m = arg;

    m->more(m);
}

static void tell_gone(void *arg)
{
    struct mount_call *m = arg;

    m->gone(m);
}

static void on_loop(void (*fn)(void *arg), struct fake *f)
{
    loop_call(loop, fn, &f->m);
    turn();
}

/* ---- gRPC ---- */

static struct fake *grpc_call(const char *path)
{
    struct fake *f = fake_new(loop, "POST", path);

    fake_header(f, "content-type", "application/grpc");
    return f;
}

static void wait_for_answer(struct fake *f)
{
    while (!f->over)
        loop_run(loop);
}

/* With one message, whole. */
static void ask(struct fake *f, str message)
{
    fake_feed(f, "", message);
    f->in_ended = true;
    on_loop(serve_grpc, f);
    wait_for_answer(f);
}

static str named(struct arena *a, const char *name)
{
    scoped_buf b = { .max = 1000 };

    pb_put_bytes(&b, 1, str_of(name));
    return str_dup(a, buf_str(&b));
}

/* The messages of the answer as JSON, one behind the other. */
static const char *answers(struct fake *f, const struct rpc_message *m)
{
    scoped_buf b = { .max = 1 << 20 };
    str rest_of = buf_str(&f->out);
    const struct json *v;
    struct status st;

    status_init(&st, f->m.arena);
    while (rest_of.n >= 5) {
        size_t n = (size_t)(unsigned char)rest_of.p[3] << 8 | (unsigned char)rest_of.p[4];

        CHECK(message_decode(f->m.arena, m, str_sub(rest_of, 5, n), &v, &st) == 0);
        json_print(&b, v);
        rest_of = str_from(rest_of, 5 + n);
    }
    CHECK(rest_of.n == 0);
    return str_z(f->m.arena, buf_str(&b));
}

static const char *status_text(struct fake *f)
{
    return arena_printf(f->m.arena, "%d %.*s %.*s", f->code, STR_ARG(f->grpc_status),
                        STR_ARG(f->grpc_message));
}

TEST(a_unary_call)
{
    struct fake *f;

    open_rpc();
    f = grpc_call("/demo.v1.Things/GetThing");
    ask(f, named(f->m.arena, "x"));
    CHECK_STR(status_text(f), "200 0 ");
    CHECK(str_is(f->type, "application/grpc"));
    CHECK_STR(answers(f, demo_thing()),
              "{\"name\":\"x of jane by demo.v1.Things/GetThing\",\"i64\":-1}");
    fake_free(f);
    close_rpc();
}

TEST(answers_may_carry_a_warning)
{
    struct fake *f;

    open_rpc();
    f = grpc_call("/demo.v1.Things/GetThing");
    ask(f, named(f->m.arena, "old"));
    CHECK(str_is(f->grpc_status, "0") && str_is(f->warning, "299 - \"old\""));
    fake_free(f);
    f = fake_new(loop, "GET", "/apis/demo.io/v1/things/old");
    on_loop(serve_rest, f);
    wait_for_answer(f);
    CHECK(f->code == 200 && str_is(f->warning, "299 - \"old\""));
    fake_free(f);
    close_rpc();
}

TEST(failures_have_a_status_and_details)
{
    struct fake *f;
    str details;

    open_rpc();
    f = grpc_call("/demo.v1.Things/GetThing");
    ask(f, named(f->m.arena, "none"));
    CHECK_STR(status_text(f), "200 5 things.demo.io \"none\" not found");
    CHECK(f->details.n == 0 && f->out.n == 0);
    fake_free(f);
    f = grpc_call("/demo.v1.Things/GetThing");
    ask(f, named(f->m.arena, "bad"));
    CHECK(str_is(f->grpc_status, "3"));
    CHECK(base64_decode(f->m.arena, BASE64_STD, f->details, &details) &&
          str_contains(details, STR("Required value: another")));
    fake_free(f);
    close_rpc();
}

TEST(a_message_leaves_out_what_the_path_would_name)
{
    struct fake *f;

    open_rpc();
    f = grpc_call("/demo.v1.Things/GetThing");
    ask(f, STR(""));
    CHECK(f->code == 200 && str_is(f->grpc_status, "3") &&
          str_contains(f->grpc_message, STR("name: must not be empty")));
    CHECK(demo.calls == 0);
    fake_free(f);
    close_rpc();
}

TEST(what_is_not_served)
{
    static const struct {
        const char *path, *want;
    } rows[] = {
        { "/demo.v1.Things/Nothing", "200 12 demo.v1.Things/Nothing: is not implemented" },
        { "/demo.v1.Things/Nobody", "200 12 there is no such method" },
        { "/", "200 12 there is no such method" },
    };
    struct fake *f;

    open_rpc();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        f = grpc_call(rows[i].path);
        ask(f, STR(""));
        CHECK_STR(status_text(f), rows[i].want);
        fake_free(f);
    }
    f = fake_new(loop, "POST", "/demo.v1.Things/GetThing");
    fake_header(f, "content-type", "application/grpc+json");
    on_loop(serve_grpc, f);
    CHECK(f->code == 415);
    fake_free(f);
    f = fake_new(loop, "GET", "/demo.v1.Things/GetThing");
    fake_header(f, "content-type", "application/grpc");
    on_loop(serve_grpc, f);
    CHECK(f->code == 415);
    fake_free(f);
    CHECK(demo.calls == 0);
    close_rpc();
}

TEST(nobody_is_let_in_but_where_all_are)
{
    struct fake *f;

    open_rpc();
    f = grpc_call("/demo.v1.Things/GetThing");
    f->m.who = (struct identity){ STR("system:anonymous"), .groups = fake_nobody, .ngroups = 1 };
    ask(f, STR(""));
    CHECK(str_is(f->grpc_status, "7"));
    fake_free(f);
    f = grpc_call("/demo.v1.Things/PutThing");
    f->m.who = (struct identity){ STR("system:anonymous"), .groups = fake_nobody, .ngroups = 1 };
    ask(f, named(f->m.arena, "x"));
    CHECK(str_is(f->grpc_status, "0"));
    fake_free(f);
    f = fake_new(loop, "GET", "/apis/demo.io/v1/things/x");
    f->m.who = (struct identity){ STR("system:anonymous"), .groups = fake_nobody, .ngroups = 1 };
    on_loop(serve_rest, f);
    CHECK(f->code == 403);
    fake_free(f);
    close_rpc();
}

TEST(bodies_that_are_none)
{
    static const struct {
        str body;
        bool too_large;
        const char *want;
    } rows[] = {
        { STR_INIT(""), false, "200 3 there must be one whole message" },
        { STR_INIT("\0\0\0"), false, "200 3 there must be one whole message" },
        { STR_INIT("\0\0\0\0\5ab"), false, "200 3 there must be one whole message" },
        { STR_INIT("\0\0\0\0\0\0\0\0\0\0"), false, "200 3 there must be one whole message" },
        { STR_INIT("\1\0\0\0\0"), false, "200 12 compressed messages are not taken" },
        { STR_INIT("\0\0\0\0\1\xff"), false,
          "200 3 the message demo.v1.GetThingRequest cannot be decoded: it is cut off or no "
          "protobuf" },
        { STR_INIT(""), true, "200 8 the message is too large: limit is 3145728" },
    };

    open_rpc();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake *f = grpc_call("/demo.v1.Things/GetThing");

        buf_str_append(&f->in, rows[i].body);
        f->in_ended = true;
        f->m.body_too_large = rows[i].too_large;
        on_loop(serve_grpc, f);
        CHECK_STR(status_text(f), rows[i].want);
        fake_free(f);
    }
    CHECK(demo.calls == 0);
    close_rpc();
}

TEST(a_body_may_come_in_parts)
{
    struct fake *f;
    str name;

    open_rpc();
    f = grpc_call("/demo.v1.Things/GetThing");
    f->m.body_follows = true;
    on_loop(serve_grpc, f);
    name = named(f->m.arena, "x");
    buf_append(&f->in, "\0\0\0\0", 4);
    on_loop(tell_more, f);
    buf_byte(&f->in, (char)name.n);
    buf_str_append(&f->in, name);
    on_loop(tell_more, f);
    CHECK(!f->over && demo.calls == 0); /* the client may still break off */
    f->in_ended = true;
    on_loop(tell_more, f);
    wait_for_answer(f);
    CHECK_STR(status_text(f), "200 0 ");
    fake_free(f);
    close_rpc();
}

TEST(a_client_that_sends_nothing_is_not_waited_for)
{
    struct fake *f;

    open_rpc();
    f = grpc_call("/demo.v1.Things/GetThing");
    f->m.body_follows = true;
    on_loop(serve_grpc, f);
    loop_skip_ms(loop, 61000);
    wait_for_answer(f);
    CHECK_STR(status_text(f), "200 4 nothing came for too long");
    fake_free(f);
    close_rpc();
}

TEST(deadlines)
{
    static const struct {
        const char *header;
        int64_t skip;
    } rows[] = { { "50m", 60 },     { "2S", 2100 },       { "1M", 60100 },
                 { "90000u", 100 }, { "80000000n", 100 }, { "1H", 60100 } };

    open_rpc();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake *f = grpc_call("/demo.v1.Things/GetConfig");

        demo.hold = true;
        fake_header(f, "grpc-timeout", rows[i].header);
        fake_feed(f, "", STR(""));
        f->in_ended = true;
        on_loop(serve_grpc, f);
        loop_skip_ms(loop, rows[i].skip);
        wait_for_answer(f);
        CHECK_STR(status_text(f), "200 4 the deadline of the call is over");
        fake_free(f); /* while the handler still runs */
        demo_release();
        turn();
    }
    close_rpc();
}

TEST(a_client_that_goes)
{
    struct fake *f;

    open_rpc();
    demo.hold = true;
    f = grpc_call("/demo.v1.Things/GetConfig");
    fake_feed(f, "", STR(""));
    f->in_ended = true;
    on_loop(serve_grpc, f);
    on_loop(tell_gone, f);
    CHECK(!f->over); /* what it has begun goes on, and is recorded as it ends */
    demo_release();
    wait_for_answer(f);
    CHECK(f->failed == 0);
    fake_free(f);
    f = grpc_call("/demo.v1.Things/PutThing");
    f->m.body_follows = true;
    on_loop(serve_grpc, f);
    on_loop(tell_gone, f); /* with nothing begun */
    CHECK(f->over && f->failed == 400 && demo.calls == 1);
    fake_free(f);
    close_rpc();
}

/* ---- what the audit hears ---- */

static const char *told(const struct fake *f)
{
    const struct mount_deed *d = &f->deed;

    return arena_printf(f->m.arena, "%.*s %.*s %.*s/%.*s/%.*s %.*s %d", STR_ARG(d->event),
                        STR_ARG(d->verb), STR_ARG(d->group), STR_ARG(d->resource),
                        STR_ARG(d->subresource), STR_ARG(d->name), f->failed);
}

static str part_named(struct arena *a, const char *name, const char *part)
{
    scoped_buf b = { .max = 1000 };
    size_t at;

    pb_put_bytes(&b, 1, str_of(name));
    at = pb_begin(&b, 4);
    pb_put_bytes(&b, 1, str_of(part));
    pb_end(&b, at);
    return str_dup(a, buf_str(&b));
}

TEST(both_doors_tell_the_same)
{
    static const struct {
        const char *path, *name, *want;
    } rows[] = {
        { "/apis/demo.io/v1/things/x/part", "x", "Set-Part create demo.io/things/part p 501" },
        { "/apis/demo.io/v1/things/deep/part", "deep",
          "Deepen-Part update demo.io/things/part p 501" },
    };
    struct fake *f;

    open_rpc();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        f = fake_new(loop, "POST", rows[i].path);
        f->m.body = STR("{\"name\":\"p\"}");
        on_loop(serve_rest, f);
        wait_for_answer(f);
        CHECK_STR(told(f), rows[i].want);
        fake_free(f);
        f = grpc_call("/demo.v1.Things/SetPart");
        ask(f, part_named(f->m.arena, rows[i].name, "p"));
        CHECK_STR(told(f), rows[i].want);
        CHECK(f->code == 200);
        fake_free(f);
    }
    close_rpc();
}

TEST(a_path_tells_before_the_body)
{
    static const struct {
        bool grpc;
        const char *method, *path, *want;
    } rows[] = {
        { true, "POST", "/demo.v1.Things/PutThing", "Update-Thing update demo.io/things 1" },
        { false, "PUT", "/apis/demo.io/v1/things/x", "Update-Thing update demo.io/things 1" },
        { true, "POST", "/demo.v1.Things/GetThing", " get / 0" },
        { false, "GET", "/apis/demo.io/v1/things/x", " get / 0" },
        { true, "POST", "/demo.v1.Things/Nobody", "  / 0" },
        { false, "DELETE", "/apis/demo.io/v1/things/x", "  / 0" },
    };
    scoped_arena a = arena_new();

    open_rpc();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct mount_deed d = { .verb = STR_NONE };
        const struct mount *m = rows[i].grpc ? grpc : rest;

        m->describe(m->arg, str_of(rows[i].method), str_of(rows[i].path), &d);
        CHECK_STR(arena_printf(a, "%.*s %.*s %.*s/%.*s %d", STR_ARG(d.event), STR_ARG(d.verb),
                               STR_ARG(d.group), STR_ARG(d.resource), d.object),
                  rows[i].want);
    }
    close_rpc();
}

TEST(a_body_that_is_none_is_told_of)
{
    struct fake *f;

    open_rpc();
    f = fake_new(loop, "PUT", "/apis/demo.io/v1/things/x");
    f->m.body = STR("{");
    on_loop(serve_rest, f);
    wait_for_answer(f);
    CHECK_STR(told(f), "Update-Thing update demo.io/things/ x 400");
    fake_free(f);
    f = grpc_call("/demo.v1.Things/PutThing");
    ask(f, STR("\x0a\x7f"));
    CHECK(f->failed == 400 && f->why == REASON_BAD_REQUEST);
    fake_free(f);
    close_rpc();
}

/* ---- streams ---- */

TEST(each_message_of_a_stream_is_answered)
{
    const struct rpc_message *names = demo_method("Talk")->input;
    struct fake *f;

    open_rpc();
    f = grpc_call("/demo.v1.Things/Talk");
    f->m.body_follows = true;
    on_loop(serve_grpc, f);
    CHECK(f->opened && !f->over);
    fake_feed(f, "", named(f->m.arena, "a"));
    on_loop(tell_more, f);
    CHECK_STR(answers(f, names), "{\"names\":[\"a\"]}");
    for (int i = 0; i < 10000; i++) /* many at once are no deep recursion */
        fake_feed(f, "", STR(""));
    fake_feed(f, "", named(f->m.arena, "b"));
    on_loop(tell_more, f);
    CHECK(demo.calls == 10002 && f->in.n == 0);
    loop_skip_ms(loop, 200000);
    turn();
    fake_feed(f, "", named(f->m.arena, "c"));
    on_loop(tell_more, f);
    f->in_ended = true;
    on_loop(tell_more, f);
    CHECK(f->ended && str_is(f->grpc_status, "0") && demo.calls == 10003);
    fake_free(f);
    close_rpc();
}

TEST(streams_that_end_otherwise)
{
    struct fake *f;

    open_rpc();
    f = grpc_call("/demo.v1.Things/Talk"); /* by a failure */
    fake_feed(f, "", named(f->m.arena, "stop"));
    fake_feed(f, "", named(f->m.arena, "more"));
    on_loop(serve_grpc, f);
    CHECK(f->ended && str_is(f->grpc_status, "10") && demo.calls == 1);
    fake_free(f);
    f = grpc_call("/demo.v1.Things/Talk"); /* by silence */
    f->m.body_follows = true;
    on_loop(serve_grpc, f);
    loop_skip_ms(loop, 301000);
    while (!f->over)
        loop_run(loop);
    CHECK(f->ended && str_is(f->grpc_status, "4"));
    fake_free(f);
    f = grpc_call("/demo.v1.Things/Talk"); /* by a client that takes nothing */
    f->refuses = true;
    fake_feed(f, "", named(f->m.arena, "a"));
    on_loop(serve_grpc, f);
    CHECK(!f->ended);
    on_loop(tell_gone, f);
    fake_free(f);
    close_rpc();
}

/* ---- REST ---- */

static const char *rest_answer(const char *method, const char *path, const char *query,
                               const char *body)
{
    static char text[4096];
    struct fake *f = fake_new(loop, method, path);

    f->m.query = str_of(query);
    f->m.body = str_of(body);
    on_loop(serve_rest, f);
    wait_for_answer(f);
    CHECK(str_is(f->type, "application/json"));
    (void)snprintf(text, sizeof(text), "%d %.*s", f->code, STR_ARG(buf_str(&f->out)));
    fake_free(f);
    return text;
}

TEST(calls_by_rest)
{
    open_rpc();
    CHECK(
        strstr(rest_answer("GET", "/apis/demo.io/v1/things/x", "pageSize=3", ""),
               "200 {\"name\":\"x of jane by demo.v1.Things/GetThing\",\"i32\":0,\"i64\":\"3\","));
    CHECK(strstr(rest_answer("PUT", "/apis/demo.io/v1/things/x", "", "{\"words\":[\"a\"]}"),
                 "\"words\":[\"a\"]"));
    CHECK_STR(rest_answer("POST", "/apis/demo.io/v1/things/x:stop", "", "{}"),
              "501 {\"code\":12,\"message\":\"demo.v1.Things/StopThing: is not implemented\","
              "\"details\":[]}");
    CHECK_STR(rest_answer("GET", "/apis/demo.io/v1/things/none", "", ""),
              "404 {\"code\":5,\"message\":\"things.demo.io \\\"none\\\" not found\","
              "\"details\":[]}");
    CHECK(strstr(rest_answer("GET", "/apis/demo.io/v1/things/bad", "", ""),
                 "\"fieldViolations\":[{\"field\":\"name\""));
    CHECK_STR(rest_answer("GET", "/apis/demo.io/v1/things/x", "pageSize=x", ""),
              "400 {\"code\":3,\"message\":\"pageSize: must be a 32-bit integer\",\"details\":["
              "{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":["
              "{\"field\":\"pageSize\",\"description\":\"must be a 32-bit integer\"}]}]}");
    CHECK_STR(rest_answer("GET", "/apis/demo.io/v1/nothing", "", ""),
              "404 {\"code\":5,\"message\":\"Not Found\",\"details\":[]}");
    CHECK_STR(rest_answer("DELETE", "/apis/demo.io/v1/things/x", "", ""),
              "501 {\"code\":12,\"message\":\"Method Not Allowed\",\"details\":[]}");
    CHECK(strstr(rest_answer("GET", RPC_OPENAPI_PATH, "", ""), "200 {\"swagger\":\"2.0\""));
    CHECK(strstr(rest_answer("GET", RPC_OPENAPI3_PATH, "", ""), "200 {\"openapi\":\"3.1.0\""));
    CHECK(strstr(rest_answer("POST", RPC_OPENAPI3_PATH, "", ""), "404 "));
    close_rpc();
}

TEST(there_is_a_limit_of_calls_that_wait)
{
    enum { CALLS = 300 };
    struct fake *f[CALLS];
    int busy = 0;

    open_rpc();
    demo.hold = true;
    for (int i = 0; i < CALLS; i++) {
        f[i] = fake_new(loop, "GET", "/apis/demo.io/v1/things/config");
        on_loop(serve_rest, f[i]);
        busy += f[i]->code == 429;
    }
    CHECK(busy > 0 && busy < 100);
    demo_release();
    for (int i = 0; i < CALLS; i++) {
        while (!f[i]->over)
            loop_run(loop);
        CHECK(f[i]->code == 200 || f[i]->code == 429);
        fake_free(f[i]);
    }
    close_rpc();
}

TEST(an_implementation_of_nothing_is_refused)
{
    static const struct rpc_handler wrong[] = { { .method = "Nobody", .fn = demo_get } };
    struct rpc_implementation im[] = { { "demo.v1.Things", wrong, 1, NULL },
                                       { "demo.v1.Nobody", demo_handlers, 1, NULL } };
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    for (size_t i = 0; i < 2; i++) {
        struct rpc_options o = { .api = &demo_api,
                                 .implementations = &im[i],
                                 .nimplementations = 1 };

        CHECK(rpc_new(&o, &st) == NULL);
    }
}
