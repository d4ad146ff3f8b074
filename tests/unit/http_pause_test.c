/* SPDX-License-Identifier: Apache-2.0 */

/* Answers that are held up by who reads them, and open ends that end in the turn they began. */

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "http/client.h"
#include "http/pki.h"
#include "tap.h"

enum { WHOLE = 3 << 20, PIECE = 64 << 10, WINDOW = 64 << 10, READ = 64 << 10 };

struct bed {
    struct loop *loop;
    struct arena *arena;
    struct http_server *server;
    struct http_client *client;
    struct http_call call;
    struct loop_timer timer;
    size_t got, got_paused;
    bool pause, ended, failed;
};

static void on_closed(struct http_stream *s, void *arg)
{
    (void)s;
    (void)arg;
}

static void serve(struct http_request *req, void *arg)
{
    struct http_stream *s = http_reply_stream(req, 200, NULL, 0, on_closed, arg);
    size_t n = req->query.n ? WHOLE : 5;

    for (size_t put = 0; put < n;) {
        size_t part = n - put < PIECE ? n - put : PIECE;
        struct bytes *b = bytes_new(part);

        memset(b->p, 'x', part);
        CHECK(http_stream_push(s, b));
        bytes_unref(b);
        put += part;
    }
    http_stream_end(s);
}

static void go_on(struct loop_timer *t)
{
    struct bed *b = (struct bed *)(void *)((char *)t - offsetof(struct bed, timer));

    b->got_paused = b->got;
    http_call_pause(&b->call, false);
}

static void on_data(struct http_call *call, str bytes)
{
    struct bed *b = call->user;

    if (b->pause && b->got == 0) {
        http_call_pause(call, true);
        loop_timer_set(b->loop, &b->timer, 200);
    }
    b->got += bytes.n;
}

static void on_end(struct http_call *call, const struct status *why)
{
    struct bed *b = call->user;

    b->ended = true;
    b->failed = why != NULL;
    loop_stop(b->loop);
}

static void run(struct bed *b, const char *path, bool pause, bool http1)
{
    static const str hosts[] = { STR_INIT("127.0.0.1") };
    struct http_server_options o = { .listen = STR("127.0.0.1:0"),
                                     .nloops = 1,
                                     .limits = HTTP_LIMITS_DEFAULT,
                                     .handler = serve,
                                     .arg = b };
    int64_t now = clock_wall_s(clock_real()) - 86400;
    struct http_client_options c = { .tls = true, .http1 = http1, .window = WINDOW };
    struct pki_pair ca, serving;
    struct status st;

    *b = (struct bed){ .loop = loop_new(), .arena = arena_new(), .pause = pause };
    b->timer.fn = go_on;
    status_init(&st, b->arena);
    REQUIRE(pki_make_ca(b->arena, STR("ca"), now, 30, &ca, &st) == 0);
    REQUIRE(pki_sign(b->arena, &ca,
                     &(struct pki_request){
                         .cn = STR("s"), .hosts = hosts, .nhosts = 1, .now_s = now, .days = 30 },
                     &serving, &st) == 0);
    o.loops = &b->loop;
    o.cert_pem = serving.cert;
    o.key_pem = serving.key_pem;
    b->server = http_server_new(&o, &st);
    REQUIRE(b->server);
    c.loop = b->loop;
    c.host = STR("127.0.0.1");
    c.port = str_from(http_server_address(b->server), sizeof("127.0.0.1:") - 1);
    c.ca_pem = ca.cert;
    b->client = http_client_new(&c, &st);
    REQUIRE(b->client);
    b->call = (struct http_call){ .method = STR("GET"),
                                  .path = str_of(path),
                                  .timeout_ms = 10000,
                                  .data = on_data,
                                  .end = on_end,
                                  .user = b };
    http_client_call(b->client, &b->call);
    loop_run(b->loop);
    http_client_free(b->client);
    loop_free(b->loop);
    http_server_free(b->server);
    arena_free(b->arena);
}

TEST(an_end_in_the_turn_of_the_data_is_sent)
{
    struct bed b;

    run(&b, "/", false, false);
    CHECK(b.ended && !b.failed && b.got == 5);
    run(&b, "/", false, true);
    CHECK(b.ended && !b.failed && b.got == 5);
}

TEST(a_paused_call_gets_a_window_and_no_more)
{
    struct bed b;

    run(&b, "/?all", true, false);
    CHECK(b.ended && !b.failed && b.got == WHOLE);
    CHECK(b.got_paused > 0 && b.got_paused <= WINDOW + READ);
}

TEST(a_paused_call_of_http1_is_not_read)
{
    struct bed b;

    run(&b, "/?all", true, true);
    CHECK(b.ended && !b.failed && b.got == WHOLE);
    CHECK(b.got_paused > 0 && b.got_paused <= WINDOW + READ);
}
