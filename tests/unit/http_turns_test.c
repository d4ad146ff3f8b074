/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/http_h2session.h"

/* Requests that wait for their turn on the loop: in which order, and that none is lost. */

static char order[64];
static size_t handled;

static uint64_t whose(const struct http_request *req, void *arg)
{
    (void)arg;
    return (uint64_t)req->path.p[1];
}

/* Longer than a turn lasts. */
static void slow(struct http_request *req, void *arg)
{
    app_spin(300000);
    order[handled++] = req->path.p[1];
    app_handle(req, arg);
}

static void open_slow(void)
{
    open_h2();
    memset(order, 0, sizeof(order));
    handled = 0;
    w.shard.handler = slow;
    w.shard.whose = whose;
}

static void ask(int32_t id, const char *path)
{
    h2_request(&out, id, "GET", path, END_STREAM);
}

static void run(int times)
{
    for (int i = 0; i < times; i++)
        flush_out();
}

TEST(one_with_many_requests_leaves_turns_to_others)
{
    open_slow();
    for (int32_t id = 1; id < 20; id += 2)
        ask(id, "/loud");
    ask(21, "/quiet");
    ask(23, "/other");
    run(1);
    CHECK(handled > 0 && handled < 12);
    run(6);
    CHECK(handled == 12);
    for (int32_t id = 1; id <= 23; id += 2)
        CHECK(status_of(id) == 200);
    CHECK(strchr(order, 'q') - order <= 4 && strchr(order, 'o') - order <= 5);
    release();
}

/* Each would look at many rows to find few: one after the other, not all in one turn. */
TEST(many_long_answers_of_one_leave_turns_to_others)
{
    enum { N = 40 };

    open_h2();
    w.shard.whose = whose;
    app.pulls = 0;
    for (int32_t id = 1; id < 2 * N; id += 2)
        ask(id, "/sparse");
    run(1);                                 /* four turns */
    CHECK(app.pulls > 0 && app.pulls < 24); /* each takes 100 µs */
    ask(2 * N + 1, "/hello");
    run(1);
    CHECK(status_of(2 * N + 1) == 200 && app.pulls < 48);
    run(2000);
    for (int32_t id = 1; id < 2 * N; id += 2)
        CHECK(ended(id));
    CHECK(app.pulls == 100 * N);
    release();
}

TEST(what_is_taken_back_while_it_waits_is_never_handled)
{
    open_slow();
    for (int32_t id = 1; id < 10; id += 2)
        ask(id, "/loud");
    h2_u32_frame(&out, RST_STREAM, 0, 7, 8);
    run(6);
    CHECK(handled == 4 && !status_of(7) && status_of(9) == 200);
    release();
}

TEST(what_waits_when_the_server_stops_is_answered)
{
    open_slow();
    for (int32_t id = 1; id < 20; id += 2)
        ask(id, "/loud");
    run(1);
    CHECK(handled < 10);
    shard_stop(&w.shard);
    ask(21, "/late"); /* before the client has seen GOAWAY */
    run(7);
    CHECK(frame_of(GOAWAY, 0) && h2_u32(frame_of(GOAWAY, 0)->payload, 0) == 19);
    CHECK(handled == 10 && !status_of(21) && w.ended);
    for (int32_t id = 1; id < 20; id += 2)
        CHECK(status_of(id) == 200);
    release();
}

TEST(a_connection_that_ends_takes_what_waits_with_it)
{
    open_slow();
    for (int32_t id = 1; id < 40; id += 2)
        ask(id, "/loud");
    run(1);
    CHECK(handled < 20);
    wire_eof(&w);
    run(2);
    CHECK(w.closed && handled < 20);
    release();
}
