/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/http_h2session.h"

/* ---- requests and replies ---- */

TEST(requests_on_one_connection_are_answered)
{
    open_h2();
    CHECK(count_of(SETTINGS, 0) == 2);
    get(1, "/hello");
    get(3, "/info?a=b");
    get(5, "/nothing");
    h2_request(&out, 7, "HEAD", "/hello", END_STREAM);
    flush_out();
    CHECK(status_of(1) == 200 && body_is(1, "hello\n") && ended(1));
    CHECK_STR(app.last, "GET /info ?a=b v2 host=a cn=- org=- uri=- rejected=0\n");
    CHECK(status_of(5) == 204 && ended(5) && !frame_of(DATA, 5));
    CHECK(status_of(7) == 200 && ended(7) && !frame_of(DATA, 7));
    CHECK(wire_stat(&w, requests) == 4 && wire_stat(&w, requests_open) == 0);
    release();
}

TEST(all_replies_of_a_turn_leave_in_one_write)
{
    open_h2();
    for (int32_t id = 1; id < 64; id += 2)
        get(id, "/hello");
    w.room = 1 << 20;
    w.out.n = 0;
    ngot = got_at = 0;
    w.sends = 0;
    flush_out();
    CHECK(w.sends == 1);
    CHECK(count_of(DATA, -1) == 32);
    release();
}

TEST(bodies_arrive_and_pieces_go_out)
{
    open_h2();
    h2_request(&out, 1, "POST", "/echo", 0);
    h2_frame(&out, DATA, 0, 1, "one ", 4);
    flush_out();
    CHECK(app.calls == 0);
    h2_frame(&out, DATA, END_STREAM, 1, "two", 3);
    get(3, "/split");
    flush_out();
    CHECK(body_is(1, "one two") && body_is(3, "one two"));
    release();
}

TEST(trailers_are_read_and_forgotten)
{
    scoped_buf block;

    buf_init(&block, 1000);
    open_h2();
    h2_request(&out, 1, "POST", "/echo", 0);
    h2_frame(&out, DATA, 0, 1, "x", 1);
    hpack(&block, "grpc-status", "0");
    h2_frame(&out, HEADERS, END_HEADERS | END_STREAM, 1, block.p, block.n);
    flush_out();
    CHECK(app.calls == 1 && body_is(1, "x"));
    release();
}

TEST(expect_100_continue_is_answered)
{
    scoped_buf block;

    buf_init(&block, 1000);
    open_h2();
    hpack_request(&block, "POST", "/echo");
    hpack(&block, "expect", "100-continue");
    h2_frame(&out, HEADERS, END_HEADERS, 1, block.p, block.n);
    flush_out();
    CHECK(status_of(1) == 100);
    h2_frame(&out, DATA, END_STREAM, 1, "ok", 2);
    flush_out();
    CHECK(status_of(1) == 200 && body_is(1, "ok"));
    release();
}

TEST(malformed_requests_are_reset_and_never_reach_the_handler)
{
    static const struct {
        const char *name, *value;
    } bad[] = {
        { "X-Upper", "a" },        { "connection", "close" }, { "bad name", "a" },
        { "x", "line\r\nfeed" },   { ":late", "a" },          { "transfer-encoding", "chunked" },
        { "content-length", "x" },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        scoped_buf block;

        buf_init(&block, 1000);
        open_h2();
        hpack_request(&block, "GET", "/hello");
        hpack(&block, bad[i].name, bad[i].value);
        h2_frame(&out, HEADERS, END_HEADERS | END_STREAM, 1, block.p, block.n);
        flush_out();
        if (!CHECK(frame_of(RST_STREAM, 1) && app.calls == 0))
            printf("# %s\n", bad[i].name);
        get(3, "/hello");
        flush_out();
        CHECK(status_of(3) == 200); /* the connection lives on */
        release();
    }
}

TEST(blanks_around_a_value_are_not_of_it)
{
    static const char *const values[] = { "kubectl/v1", "kubectl/v1 ", " \tkubectl/v1\t " };

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        scoped_buf block;

        buf_init(&block, 1000);
        open_h2();
        hpack_request(&block, "GET", "/agent");
        hpack(&block, "user-agent", values[i]);
        h2_frame(&out, HEADERS, END_HEADERS | END_STREAM, 1, block.p, block.n);
        flush_out();
        CHECK(status_of(1) == 200 && body_is(1, "kubectl/v1"));
        release();
    }
}

TEST(a_body_of_another_length_than_declared_is_reset)
{
    scoped_buf block;

    buf_init(&block, 1000);
    open_h2();
    hpack_request(&block, "POST", "/echo");
    hpack(&block, "content-length", "5");
    h2_frame(&out, HEADERS, END_HEADERS, 1, block.p, block.n);
    h2_frame(&out, DATA, END_STREAM, 1, "1234", 4);
    flush_out();
    CHECK(frame_of(RST_STREAM, 1) && app.calls == 0);
    release();
}

TEST(a_body_over_the_limit_reaches_the_handler_as_too_large)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    scoped_buf block;

    buf_init(&block, 1000);
    limits.body = 8;
    open_with(&limits);
    hpack_request(&block, "POST", "/echo");
    hpack(&block, "content-length", "9");
    h2_frame(&out, HEADERS, END_HEADERS, 1, block.p, block.n); /* declared: answered at once */
    h2_request(&out, 3, "POST", "/echo", 0);
    h2_frame(&out, DATA, 0, 3, "12345678", 8);
    flush_out();
    CHECK(status_of(1) == 413 && body_is(1, "too large\n") && ended(1));
    CHECK(reset_code(1) == NGHTTP2_NO_ERROR); /* no more of it, please */
    CHECK(status_of(3) == 0);
    h2_frame(&out, DATA, 0, 3, "9", 1);
    h2_request(&out, 5, "POST", "/echo", 0);
    h2_frame(&out, DATA, END_STREAM, 5, "12345678", 8);
    flush_out();
    CHECK(status_of(3) == 413 && status_of(5) == 200);
    CHECK(app.calls == 3);
    release();
}

TEST(a_connection_may_not_hold_more_bodies_than_its_limit)
{
    static char big[10000];
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.connection_queue = 25000;
    open_with(&limits);
    for (int32_t id = 1; id < 13; id += 2) {
        h2_request(&out, id, "POST", "/echo", 0);
        h2_frame(&out, DATA, 0, id, big, sizeof(big));
    }
    flush_out();
    CHECK(!frame_of(RST_STREAM, 9) && reset_code(11) == NGHTTP2_ENHANCE_YOUR_CALM);
    h2_frame(&out, DATA, END_STREAM, 1, NULL, 0);
    flush_out();
    CHECK(status_of(1) == 200 && body_bytes(1) == sizeof(big));
    CHECK(wire_stat(&w, rejected_limits) == 1);
    release();
}

/* What our windows let through so far, of a stream or of the connection. */
static size_t window_of(int32_t id, size_t initial)
{
    for (size_t i = 0; i < ngot; i++)
        if (got[i].type == WINDOW_UPDATE && got[i].id == id)
            initial += h2_u32(got[i].payload, 0);
    return initial;
}

TEST(uploads_that_are_too_much_together_wait_for_each_other)
{
    enum { STREAMS = 20, SIZE = 300000, WINDOW = 32 << 10 };
    static char zeros[WINDOW];
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    size_t sent[STREAMS] = { 0 }, all = 0, most = 0;

    limits.connection_queue = 1 << 20;
    open_with(&limits);
    for (int i = 0; i < STREAMS; i++)
        h2_request(&out, 1 + 2 * i, "POST", "/", 0);
    flush_out();
    for (int round = 0; round < 20000 && app.calls < STREAMS; round++) {
        int i = round % STREAMS;
        size_t room = window_of(1 + 2 * i, WINDOW) - sent[i], left = SIZE - sent[i];

        room = room < left ? room : left;
        room = room < 16384 ? room : 16384;
        if (room == 0)
            continue;
        CHECK(all + room <= window_of(0, 65535));
        h2_frame(&out, DATA, room == left ? END_STREAM : 0, 1 + 2 * i, zeros, room);
        sent[i] += room;
        all += room;
        flush_out();
        most = w.conn->bodies > most ? w.conn->bodies : most;
    }
    CHECK(app.calls == STREAMS);
    CHECK(count_of(RST_STREAM, -1) == 0);
    CHECK(most > 500000 && most < 1900000);
    release();
}

TEST(headers_over_the_limit_get_431)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    scoped_buf block;
    char value[801];

    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    limits.headers = 1000;
    open_with(&limits);
    buf_init(&block, 64 << 10);
    hpack_request(&block, "GET", "/hello");
    hpack(&block, "x", value);
    h2_frame(&out, HEADERS, END_HEADERS | END_STREAM, 1, block.p, block.n);
    hpack(&block, "y", value);
    h2_frame(&out, HEADERS, END_HEADERS | END_STREAM, 3, block.p, block.n);
    buf_clear(&block);
    for (int i = 0; i <= STREAM_HEADERS_MAX; i++)
        hpack(&block, "z", "");
    flush_out();
    CHECK(status_of(1) == 200 && status_of(3) == 431 && ended(3));
    CHECK(app.calls == 1);
    release();
}

/* ---- bodies that do not end soon ---- */

TEST(a_source_waits_for_the_flow_control_window)
{
    open_h2();
    get(1, "/source");
    flush_out();
    CHECK(body_bytes(1) == 65535 && app.pulled == 65535);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, 1 << 20);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, 1000);
    flush_out();
    CHECK(body_bytes(1) == 66535 && app.pulled == 66535);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, 1 << 20);
    flush_out();
    flush_out();
    flush_out();
    CHECK(body_bytes(1) == 1 << 20 && ended(1));
    CHECK(wire_stat(&w, requests_open) == 0);
    release();
}

TEST(a_source_is_pulled_only_as_the_socket_takes_it)
{
    open_h2();
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, 64 << 20);
    for (int32_t id = 1; id < 100; id += 2) {
        get(id, "/source");
        h2_u32_frame(&out, WINDOW_UPDATE, 0, id, 1 << 20);
    }
    w.room = 1000;
    flush_out();
    wire_turn(&w);
    CHECK(app.pulled > 0 && app.pulled <= 256 << 10);
    wire_room(&w, 10000);
    CHECK(app.pulled <= 256 << 10);
    wire_room(&w, SIZE_MAX);
    for (int i = 0; i < 200; i++)
        wire_turn(&w);
    flush_out();
    for (int32_t id = 1; id < 100; id += 2)
        CHECK(body_bytes(id) == 1 << 20 && ended(id));
    release();
}

TEST(a_source_that_finds_little_leaves_the_loop_to_others)
{
    unsigned before;

    open_h2();
    get(1, "/sparse");
    get(3, "/hello");
    flush_out();
    CHECK(status_of(1) == 200 && ended(3));
    CHECK(app.pulls > 0 && app.pulls < 20 && !ended(1));
    for (int i = 0; i < 100; i++) {
        before = app.pulls;
        wire_turn(&w); /* four turns */
        CHECK(app.pulls <= before + 20);
    }
    flush_out();
    CHECK(app.pulls == 100 && body_bytes(1) == 10 && ended(1));
    release();
}

TEST(a_broken_source_never_looks_complete)
{
    open_h2();
    get(1, "/broken");
    get(3, "/hello");
    flush_out();
    CHECK(!ended(1) && reset_code(1) == NGHTTP2_INTERNAL_ERROR);
    CHECK(status_of(3) == 200 && ended(3));
    release();
}

TEST(a_stream_sends_what_is_pushed_and_ends)
{
    open_h2();
    get(1, "/watch");
    flush_out();
    CHECK(status_of(1) == 200 && !ended(1));
    REQUIRE(app.watch);
    CHECK(push_text(app.watch, "one\n") && push_text(app.watch, "two\n"));
    flush_out();
    CHECK(body_is(1, "one\ntwo\n"));
    CHECK(push_zeros(app.watch, 40000));
    http_stream_end(app.watch);
    flush_out();
    CHECK(body_bytes(1) == 40008 && ended(1));
    CHECK(app.closed == 0 && wire_stat(&w, streams_open) == 0);
    release();
}

TEST(open_ends_keep_to_the_windows)
{
    struct http_stream *first;

    open_h2();
    get(1, "/watch");
    flush_out();
    first = app.watch;
    get(3, "/watch");
    flush_out();
    REQUIRE(first && app.watch && first != app.watch);
    CHECK(push_zeros(first, 60000) && push_zeros(app.watch, 60000));
    flush_out();
    CHECK(body_bytes(1) + body_bytes(3) == 65535); /* the connection's */
    get(5, "/source");
    flush_out();
    CHECK(status_of(5) == 200 && body_bytes(5) == 0);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, 70000); /* 5535 are owed to nobody */
    flush_out();
    CHECK(body_bytes(1) + body_bytes(3) + body_bytes(5) == 135535);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, 1 << 20);
    flush_out();
    CHECK(body_bytes(1) == 60000 && body_bytes(3) == 60000 && body_bytes(5) == 65535);
    CHECK(push_zeros(first, 60000));
    flush_out();
    CHECK(body_bytes(1) == 65535); /* its own */
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, 100);
    flush_out();
    CHECK(body_bytes(1) == 65635);
    http_stream_end(first);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, 1 << 20);
    flush_out();
    CHECK(body_bytes(1) == 120000 && ended(1));
    release();
}

/* The client's updates come to what was sent: no window overflows, however long it goes on. */
TEST(windows_stay_right_for_ever)
{
    enum { STEP = 1 << 20, ROUNDS = 2600 };
    unsigned rounds = 0;

    open_h2();
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, (1U << 31) - 1 - 65535);
    get(1, "/watch");
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, (1U << 31) - 1 - 65535);
    flush_out();
    REQUIRE(app.watch);
    for (unsigned i = 0; i < ROUNDS; i++) { /* more than 2 GiB */
        bool ok = push_zeros(app.watch, STEP);

        for (int k = 0; k < 4; k++)
            wire_turn(&w);
        if (!ok || w.out.n < STEP || !app.watch)
            break;
        rounds++;
        buf_clear(&w.out);
        ngot = got_at = 0;
        h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, STEP);
        h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, STEP);
        wire_write(&w, out.p, out.n);
        buf_clear(&out);
    }
    REQUIRE(app.watch && rounds == ROUNDS);
    CHECK(push_text(app.watch, "last\n"));
    http_stream_end(app.watch);
    flush_out();
    CHECK(body_is(1, "last\n") && ended(1));
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, 6); /* one more than was sent */
    flush_out();
    CHECK(sent_away(NGHTTP2_FLOW_CONTROL_ERROR));
    release();
}

TEST(a_smaller_initial_window_holds_for_open_ends)
{
    const unsigned char small[6] = { 0, 4, 0, 0, 0x10, 0 }; /* 4096 */

    open_h2();
    get(1, "/watch");
    flush_out();
    REQUIRE(app.watch);
    CHECK(push_zeros(app.watch, 3000));
    flush_out();
    h2_frame(&out, SETTINGS, 0, 0, small, sizeof(small));
    flush_out();
    CHECK(push_zeros(app.watch, 3000));
    flush_out();
    CHECK(body_bytes(1) == 4096);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, 5000);
    flush_out();
    CHECK(body_bytes(1) == 6000);
    release();
}

TEST(a_stream_whose_queue_is_full_is_reset)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_stream *first;

    limits.stream_queue = 100000;
    limits.connection_queue = 150000;
    open_with(&limits);
    get(1, "/watch");
    flush_out();
    first = app.watch;
    get(3, "/watch");
    flush_out();
    REQUIRE(first && app.watch && first != app.watch);
    w.room = 0; /* the client does not read */
    CHECK(push_zeros(first, 60000));
    CHECK(!push_zeros(first, 60000)); /* over the stream's limit */
    CHECK(app.closed == 0);           /* not from within */
    wire_turn(&w);
    CHECK(app.closed == 1);
    CHECK(push_zeros(app.watch, 90000));
    wire_turn(&w); /* taken by the connection's buffer as far as the window goes */
    wire_room(&w, SIZE_MAX);
    flush_out();
    CHECK(reset_code(1) == NGHTTP2_CANCEL && !ended(1));
    CHECK(!frame_of(RST_STREAM, 3) && body_bytes(3) == 65535);
    CHECK(wire_stat(&w, rejected_limits) == 1);
    release();
}

TEST(the_streams_of_a_connection_share_a_limit)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_stream *first;

    limits.connection_queue = 100000;
    open_with(&limits);
    get(1, "/watch");
    flush_out();
    first = app.watch;
    get(3, "/watch");
    flush_out();
    CHECK(push_zeros(first, 60000));
    CHECK(!push_zeros(app.watch, 60000));
    flush_out();
    CHECK(app.closed == 1 && reset_code(3) == NGHTTP2_CANCEL && body_bytes(1) == 60000);
    release();
}

/* ---- clients that go away ---- */

TEST(a_reset_cancels_the_request)
{
    open_h2();
    get(1, "/hold");
    get(3, "/watch");
    get(5, "/source");
    flush_out();
    CHECK(wire_stat(&w, requests_open) == 3);
    for (int32_t id = 1; id < 7; id += 2)
        h2_u32_frame(&out, RST_STREAM, 0, id, NGHTTP2_CANCEL);
    flush_out();
    CHECK(app.cancelled == 1 && app.closed == 1);
    CHECK(wire_stat(&w, requests_open) == 0);
    get(7, "/hello");
    flush_out();
    CHECK(status_of(7) == 200);
    release();
}

TEST(the_end_of_the_connection_cancels_its_requests)
{
    open_h2();
    get(1, "/hold");
    get(3, "/watch");
    get(5, "/hold");
    flush_out();
    app.held[1]->cancelled = NULL; /* replies later, to nobody */
    wire_eof(&w);
    CHECK(w.closed && app.cancelled == 1 && app.closed == 1);
    CHECK(wire_stat(&w, requests_open) == 1 && wire_stat(&w, streams_open) == 0);
    app_source(app.held[1], 100, 0);
    CHECK(wire_stat(&w, requests_open) == 0 && app.pulled == 0);
    release();
}
