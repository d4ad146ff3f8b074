/* SPDX-License-Identifier: Apache-2.0 */
#include "client/recorder.h"

#include <pthread.h>

#include "base/banned.h"
#include "client_fake.h"
#include "tap.h"

/* A server that writes down what it is sent. */
struct bed {
    struct loop *loop;
    struct fake fake;
    struct client *client;
    struct clock clock;
    struct recorder *recorder;
    struct arena *arena;
    int posts, patches;
    const struct json *last; /* body of the last request */
    str path;                /* and its path */
    int status;              /* of answers, if not 200; 0: as it comes */
    struct http_call *held;
    bool hold;
};

static void serve(struct fake *f, struct http_call *call)
{
    struct bed *b = f->arg;
    struct status st;

    status_init(&st, b->arena);
    b->posts += str_is(call->method, "POST");
    b->patches += str_is(call->method, "PATCH");
    b->path = str_dup(b->arena, call->path);
    if (json_parse(b->arena, str_dup(b->arena, call->body), NULL, &b->last, &st) < 0)
        abort();
    if (b->hold)
        b->held = call;
    else if (b->status)
        fake_reply(call, b->status, "no");
    else
        fake_reply(call, 200, "{}");
}

static void bed_init(struct bed *b, struct recorder_options o)
{
    *b = (struct bed){ .loop = loop_new(), .arena = arena_new() };
    b->fake.serve = serve;
    b->fake.arg = b;
    fake_init(&b->fake, b->loop);
    b->client = client_new(&b->fake.base);
    clock_advance(&b->clock, 1000);
    clock_jump(&b->clock, 1700000000000000);
    o.client = b->client;
    o.clock = &b->clock;
    o.component = STR("tester");
    b->recorder = recorder_new(&o);
}

static void bed_free(struct bed *b)
{
    recorder_free(b->recorder);
    CHECK(b->fake.open == 0);
    client_free(b->client);
    loop_free(b->loop);
    arena_free(b->arena);
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

static void settle(struct bed *b)
{
    for (int i = 0; i < 40; i++) {
        loop_call(b->loop, stop_loop, b->loop);
        loop_run(b->loop);
    }
}

static void pass(struct bed *b, int64_t ms)
{
    clock_advance(&b->clock, ms);
    loop_skip_ms(b->loop, ms);
    settle(b);
}

static const struct recorder_object pod = { .api_version = STR_INIT("v1"),
                                            .kind = STR_INIT("Pod"),
                                            .namespace = STR_INIT("d"),
                                            .name = STR_INIT("web"),
                                            .uid = STR_INIT("u1"),
                                            .resource_version = STR_INIT("7") };

static const char *said(struct bed *b, const char *path)
{
    return str_z(b->arena, json_get_str(b->last, path));
}

TEST(an_event_is_whole)
{
    struct bed b;

    bed_init(&b, (struct recorder_options){ .host = STR("h1") });
    recorder_tell(b.recorder, &pod, RECORDER_WARNING, "Failed", "no %s", "image");
    CHECK(b.posts == 0); /* nothing is sent by the caller */
    settle(&b);
    REQUIRE(b.posts == 1);
    CHECK_STR(str_z(b.arena, b.path), "/api/v1/namespaces/d/events");
    CHECK_STR(said(&b, "kind"), "Event");
    CHECK_STR(said(&b, "involvedObject.kind"), "Pod");
    CHECK_STR(said(&b, "involvedObject.name"), "web");
    CHECK_STR(said(&b, "involvedObject.uid"), "u1");
    CHECK_STR(said(&b, "involvedObject.namespace"), "d");
    CHECK_STR(said(&b, "type"), "Warning");
    CHECK_STR(said(&b, "reason"), "Failed");
    CHECK_STR(said(&b, "message"), "no image");
    CHECK_STR(said(&b, "source.component"), "tester");
    CHECK_STR(said(&b, "source.host"), "h1");
    CHECK_STR(said(&b, "firstTimestamp"), "2023-11-14T22:13:20Z");
    CHECK_STR(said(&b, "lastTimestamp"), "2023-11-14T22:13:20Z");
    CHECK(json_int(json_path(b.last, "count"), 0) == 1);
    CHECK(strncmp(said(&b, "metadata.name"), "web.", 4) == 0);
    CHECK(strlen(said(&b, "metadata.name")) == 4 + 16);
    bed_free(&b);
}

TEST(again_is_counted)
{
    struct bed b;
    const char *name;

    bed_init(&b, (struct recorder_options){ 0 });
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "Pulled", "x");
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "Pulled", "x");
    settle(&b);
    CHECK(b.posts == 1 && b.patches == 0);
    CHECK(json_int(json_path(b.last, "count"), 0) == 2); /* before it was sent */
    name = said(&b, "metadata.name");
    pass(&b, 5000);
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "Pulled", "x");
    settle(&b);
    CHECK(b.posts == 1 && b.patches == 1);
    CHECK(str_ends(b.path, str_of(name)));
    CHECK(json_int(json_path(b.last, "count"), 0) == 3);
    CHECK_STR(said(&b, "lastTimestamp"), "2023-11-14T22:13:25Z");
    CHECK_STR(said(&b, "firstTimestamp"), "");
    recorder_tell(b.recorder, &pod, RECORDER_WARNING, "Pulled", "x"); /* is another one */
    settle(&b);
    CHECK(b.posts == 2);
    bed_free(&b);
}

TEST(what_is_told_while_it_is_sent_is_sent_after)
{
    struct bed b;

    bed_init(&b, (struct recorder_options){ 0 });
    b.hold = true;
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    settle(&b);
    REQUIRE(b.held);
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    b.hold = false;
    fake_reply(b.held, 201, "{}");
    settle(&b);
    CHECK(b.posts == 1 && b.patches == 1);
    CHECK(json_int(json_path(b.last, "count"), 0) == 2);
    bed_free(&b);
}

TEST(an_event_that_the_server_removed_is_made_again)
{
    struct bed b;

    bed_init(&b, (struct recorder_options){ 0 });
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    settle(&b);
    b.hold = true;
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    settle(&b);
    REQUIRE(b.held && b.patches == 1);
    b.hold = false;
    fake_reply(b.held, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}");
    settle(&b);
    CHECK(b.posts == 2);
    CHECK(json_int(json_path(b.last, "count"), 0) == 2);
    CHECK(recorder_dropped(b.recorder) == 0);
    bed_free(&b);
}

TEST(similar_ones_are_combined)
{
    struct bed b;

    bed_init(&b, (struct recorder_options){ 0 });
    for (int i = 0; i < 14; i++)
        recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "Failed", "try %d", i);
    settle(&b);
    CHECK(b.posts == 11);
    CHECK_STR(said(&b, "message"), "(combined from similar events): try 13");
    CHECK(json_int(json_path(b.last, "count"), 0) == 4);
    bed_free(&b);
}

TEST(an_object_has_a_burst_and_then_little)
{
    struct recorder_object other = pod;
    struct bed b;

    bed_init(&b, (struct recorder_options){ 0 });
    for (int i = 0; i < 1000; i++)
        recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    settle(&b);
    CHECK(json_int(json_path(b.last, "count"), 0) == 25);
    CHECK(recorder_dropped(b.recorder) == 975);
    other.name = STR("db"); /* is not the other's fault */
    recorder_tell(b.recorder, &other, RECORDER_NORMAL, "R", "x");
    settle(&b);
    CHECK(b.posts == 2);
    pass(&b, 299000);
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    settle(&b);
    CHECK(b.patches == 0);
    pass(&b, 1000);
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    settle(&b);
    CHECK(b.patches == 1 && json_int(json_path(b.last, "count"), 0) == 26);
    bed_free(&b);
}

TEST(a_server_that_is_away_gets_them_later)
{
    struct bed b;

    bed_init(&b, (struct recorder_options){ .waiting_max = 3 });
    b.status = 503;
    for (int i = 0; i < 5; i++)
        recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "%d", i);
    settle(&b);
    CHECK(b.posts == 1);
    CHECK(recorder_dropped(b.recorder) == 2); /* there is room for three */
    pass(&b, 16000);
    CHECK(b.posts == 2);
    b.status = 0;
    pass(&b, 16000);
    CHECK(b.posts == 5);
    CHECK_STR(said(&b, "message"), "2");
    CHECK(recorder_dropped(b.recorder) == 2);
    bed_free(&b);
}

TEST(a_server_that_stays_away_or_refuses_is_left_alone)
{
    struct bed b;

    bed_init(&b, (struct recorder_options){ 0 });
    b.status = 503;
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "x");
    for (int i = 0; i < 20; i++)
        pass(&b, 16000);
    CHECK(b.posts == 12);
    CHECK(recorder_dropped(b.recorder) == 1);
    b.status = 403;
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "y");
    for (int i = 0; i < 20; i++)
        pass(&b, 16000);
    CHECK(b.posts == 13);
    CHECK(recorder_dropped(b.recorder) == 2);
    bed_free(&b);
}

TEST(names_and_namespaces_fit)
{
    static const struct {
        const char *name, *begins;
    } table[] = {
        { "system:node:A", "system-node-x." },
        { "a..b", "a.-b." },
        { "-", "x." },
        { "v1.apps", "v1.apps." },
    };
    struct recorder_object o = { .kind = STR("Thing") };
    struct bed b;
    char name[400];

    bed_init(&b, (struct recorder_options){ 0 });
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        o.name = str_of(table[i].name);
        recorder_tell(b.recorder, &o, RECORDER_NORMAL, "R", "x");
        settle(&b);
        if (!CHECK(strncmp(said(&b, "metadata.name"), table[i].begins, strlen(table[i].begins)) ==
                   0))
            printf("# %s\n", said(&b, "metadata.name"));
        CHECK_STR(said(&b, "metadata.namespace"), "default");
        CHECK_STR(said(&b, "involvedObject.namespace"), "");
    }
    memset(name, 'n', sizeof(name));
    o.name = (str){ name, sizeof(name) };
    o.instance = STR("t1");
    recorder_tell(b.recorder, &o, RECORDER_NORMAL, "R", "%0*d", 5000, 1);
    settle(&b);
    CHECK(strlen(said(&b, "metadata.name")) == 253);
    CHECK(strlen(said(&b, "message")) < 1024);
    CHECK_STR(str_z(b.arena, b.path), "/clusters/t1/api/v1/namespaces/default/events");
    bed_free(&b);
}

/* More objects than are remembered: the oldest are forgotten, none is lost. */
TEST(many_objects)
{
    struct recorder_object o = pod;
    struct bed b;

    bed_init(&b, (struct recorder_options){ 0 });
    for (int i = 0; i < 3000; i++) {
        o.name = str_printf(b.arena, "p%d", i);
        recorder_tell(b.recorder, &o, RECORDER_NORMAL, "R", "x");
        if (i % 10 == 9)
            settle(&b);
    }
    CHECK(b.posts == 3000 && recorder_dropped(b.recorder) == 0);
    bed_free(&b);
}

static void *teller(void *arg)
{
    struct bed *b = arg;

    for (int i = 0; i < 200; i++)
        recorder_tell(b->recorder, &pod, RECORDER_NORMAL, "R", "%d", i % 3);
    return NULL;
}

TEST(many_threads_tell)
{
    pthread_t t[4];
    struct bed b;

    bed_init(&b, (struct recorder_options){ .burst = 10000 });
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&t[i], NULL, teller, &b) == 0);
    for (int i = 0; i < 20; i++)
        settle(&b);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(t[i], NULL);
    settle(&b);
    CHECK(b.posts == 3);
    CHECK(recorder_dropped(b.recorder) == 0);
    recorder_tell(b.recorder, &pod, RECORDER_NORMAL, "R", "on its way when all ends");
    bed_free(&b);
}
