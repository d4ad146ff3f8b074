/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/http_h2session.h"

TEST(more_streams_than_allowed_are_refused)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.streams = 4;
    open_with(&limits);
    for (int32_t id = 1; id < 11; id += 2)
        get(id, "/hold");
    flush_out();
    CHECK(app.calls == 4 && sent_away(NGHTTP2_PROTOCOL_ERROR)); /* it knew */
    release();

    wire_open(&w, &h2_proto, &limits);
    begin_session(false);
    for (int32_t id = 1; id < 11; id += 2)
        get(id, "/hold");
    flush_out();
    CHECK(app.calls == 4);
    CHECK(reset_code(9) == NGHTTP2_REFUSED_STREAM);
    http_reply(app.held[0], 200, NULL, 0, NULL, 0);
    app.held[0] = NULL;
    flush_out();
    get(11, "/hold");
    flush_out();
    CHECK(app.calls == 5);
    release();
}

TEST(a_client_that_resets_too_often_is_sent_away)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.resets = 20;
    open_with(&limits);
    for (int32_t id = 1; id < 41; id += 2) {
        get(id, "/hold");
        h2_u32_frame(&out, RST_STREAM, 0, id, NGHTTP2_CANCEL);
    }
    flush_out();
    CHECK(app.calls == 20 && app.cancelled == 20 && !w.ended);
    get(41, "/hold");
    h2_u32_frame(&out, RST_STREAM, 0, 41, NGHTTP2_CANCEL);
    flush_out();
    CHECK(sent_away(NGHTTP2_ENHANCE_YOUR_CALM));
    CHECK(wire_stat(&w, rejected_limits) == 1);
    release();

    limits.window_ms = 20000;
    open_with(&limits);
    for (int32_t id = 1; id < 81; id += 2) {
        get(id, "/hold");
        h2_u32_frame(&out, RST_STREAM, 0, id, NGHTTP2_CANCEL);
        if (id == 39) {
            flush_out();
            wire_sleep(&w, 25);
        }
    }
    flush_out();
    CHECK(app.calls == 40 && !w.ended); /* another window, another budget */
    release();
}

TEST(a_client_that_makes_us_reset_is_sent_away)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.resets = 20;
    open_with(&limits);
    for (int32_t id = 1; id < 61 && !w.ended; id += 2) {
        get(id, "/hold");
        h2_u32_frame(&out, WINDOW_UPDATE, 0, id, 0x7fffffff); /* is an error of the stream */
        flush_out();
    }
    CHECK(count_of(RST_STREAM, -1) == 21);
    CHECK(app.calls == 21 && sent_away(NGHTTP2_ENHANCE_YOUR_CALM));
    release();
}

static void flood(int kind)
{
    static const unsigned char setting[6] = { 0, 3, 0, 0, 0, 9 }, zeros[16];

    switch (kind) {
    case 0:
        h2_frame(&out, SETTINGS, 0, 0, setting, 6);
        break;
    case 1:
        h2_frame(&out, PING, 0, 0, zeros, 8);
        break;
    case 2:
        h2_frame(&out, DATA, 0, 1, NULL, 0);
        break;
    case 3:
        h2_frame(&out, DATA, PADDED, 1, "\0", 1);
        break;
    case 4:
        h2_frame(&out, PRIORITY, 0, 1, zeros, 5);
        break;
    case 5:
        h2_frame(&out, 0x77, 0, 1, zeros, 16); /* nobody knows what it means */
        break;
    default:
        h2_frame(&out, PING, ACK, 0, zeros, 8);
        break;
    }
}

TEST(floods_of_frames_that_carry_nothing_are_sent_away)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.controls = 50;
    for (int kind = 0; kind < 7; kind++) {
        open_with(&limits); /* two SETTINGS are spent */
        h2_request(&out, 1, "POST", "/echo", 0);
        for (int i = 0; i < 48; i++)
            flood(kind);
        flush_out();
        CHECK(!w.ended);
        flood(kind);
        flush_out();
        if (!CHECK(sent_away(NGHTTP2_ENHANCE_YOUR_CALM)))
            printf("# flood %d\n", kind);
        release();
    }
}

TEST(endless_header_blocks_are_sent_away)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    scoped_buf block, more;

    buf_init(&block, 1000);
    buf_init(&more, 10000);
    limits.continuation = 1000;
    hpack_request(&block, "GET", "/hello");
    for (int i = 0; i < 40; i++)
        hpack(&more, "x", "0123456789");
    open_with(&limits);
    h2_frame(&out, HEADERS, END_STREAM, 1, block.p, block.n);
    h2_frame(&out, CONTINUATION, END_HEADERS, 1, more.p, more.n);
    flush_out();
    CHECK(status_of(1) == 200);
    h2_frame(&out, HEADERS, END_STREAM, 3, block.p, block.n);
    h2_frame(&out, CONTINUATION, 0, 3, more.p, more.n);
    flush_out();
    CHECK(!w.ended);
    h2_frame(&out, CONTINUATION, 0, 3, more.p, more.n);
    flush_out();
    CHECK(sent_away(NGHTTP2_ENHANCE_YOUR_CALM) && app.calls == 1);
    release();

    open_with(&limits); /* each empty */
    h2_frame(&out, HEADERS, END_STREAM, 1, block.p, block.n);
    for (int i = 0; i < 200; i++)
        h2_frame(&out, CONTINUATION, 0, 1, NULL, 0);
    flush_out();
    CHECK(w.ended || w.closed);
    CHECK(app.calls == 0);
    release();
}

TEST(what_is_not_http2_is_closed)
{
    wire_open(&w, &h2_proto, &HTTP_LIMITS_DEFAULT);
    wire_write(&w, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
    CHECK(w.closed || w.ended);
    wire_release(&w);

    open_h2();
    h2_frame(&out, DATA, 0, 1, "x", 1); /* on a stream that does not exist */
    flush_out();
    CHECK(sent_away(NGHTTP2_PROTOCOL_ERROR) || sent_away(NGHTTP2_STREAM_CLOSED));
    release();
}

/* ---- time ---- */

static void open_hasty(void)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.header_ms = limits.body_ms = limits.write_ms = 30000;
    limits.idle_ms = 60000;
    open_with(&limits);
}

TEST(slow_headers_close_the_connection)
{
    scoped_buf block;

    buf_init(&block, 1000);
    hpack_request(&block, "GET", "/hello");
    open_hasty();
    h2_frame(&out, HEADERS, END_STREAM, 1, block.p, block.n);
    flush_out();
    wire_sleep(&w, 20);
    h2_frame(&out, CONTINUATION, 0, 1, "\0\1x\1y", 5); /* progress does not help */
    flush_out();
    CHECK(!w.closed);
    wire_sleep(&w, 20);
    CHECK(w.closed && app.calls == 0);
    release();

    open_hasty(); /* in the middle of a frame */
    h2_frame(&out, HEADERS, END_STREAM, 1, block.p, block.n);
    out.n -= 3;
    flush_out();
    wire_sleep(&w, 40);
    CHECK(w.closed && wire_stat(&w, rejected_limits) == 1);
    release();
}

TEST(a_slow_body_is_reset)
{
    open_hasty();
    h2_request(&out, 1, "POST", "/echo", 0);
    get(3, "/hold");
    flush_out();
    wire_sleep(&w, 20);
    h2_frame(&out, DATA, 0, 1, "x", 1);
    flush_out();
    wire_sleep(&w, 20);
    flush_out();
    CHECK(frame_of(RST_STREAM, 1) && !frame_of(RST_STREAM, 3));
    CHECK(!w.ended && app.cancelled == 0);
    release();
}

TEST(an_idle_connection_is_told_to_go_but_not_a_waiting_one)
{
    static const char zeros[8];

    open_hasty();
    get(1, "/hold");
    flush_out();
    wire_sleep(&w, 80);
    CHECK(!w.ended);
    http_reply(app.held[0], 200, NULL, 0, NULL, 0);
    app.held[0] = NULL;
    flush_out();
    wire_sleep(&w, 40);
    CHECK(!w.ended);
    h2_frame(&out, PING, 0, 0, zeros, 8); /* is no request */
    flush_out();
    CHECK(count_of(PING, 0) == 1);
    wire_sleep(&w, 40);
    flush_out();
    CHECK(sent_away(NGHTTP2_NO_ERROR));
    release();
}

TEST(a_client_that_does_not_read_is_closed)
{
    open_hasty();
    get(1, "/source");
    w.room = 100;
    flush_out();
    wire_sleep(&w, 20);
    wire_room(&w, 100);
    wire_sleep(&w, 20);
    CHECK(!w.closed);
    wire_sleep(&w, 30);
    CHECK(w.closed && wire_stat(&w, rejected_limits) == 1);
    release();
}

TEST(a_stream_whose_window_stays_shut_is_reset)
{
    open_hasty();
    get(1, "/source");
    get(3, "/watch"); /* has nothing to send: may wait for ever */
    flush_out();
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 0, 1 << 20);
    h2_u32_frame(&out, WINDOW_UPDATE, 0, 1, 100);
    wire_sleep(&w, 20);
    flush_out();
    wire_sleep(&w, 20);
    flush_out();
    CHECK(!frame_of(RST_STREAM, 1));
    wire_sleep(&w, 20);
    flush_out();
    CHECK(frame_of(RST_STREAM, 1) && !frame_of(RST_STREAM, 3) && !w.closed);
    CHECK(app.closed == 0);
    release();
}

/* ---- the server stops ---- */

TEST(stopping_says_goaway_and_lets_requests_end)
{
    open_h2();
    get(1, "/hold");
    get(3, "/watch");
    flush_out();
    CHECK(push_text(app.watch, "last\n"));
    shard_stop(&w.shard);
    flush_out();
    CHECK(frame_of(GOAWAY, 0) && !w.ended);
    CHECK(app.closed == 1 && body_is(3, "last\n") && ended(3));
    get(5, "/hello"); /* too late */
    flush_out();
    CHECK(app.calls == 2);
    http_reply(app.held[0], 200, NULL, 0, NULL, 0);
    app.held[0] = NULL;
    flush_out();
    CHECK(status_of(1) == 200 && w.ended);
    release();

    open_h2();
    get(1, "/hold");
    flush_out();
    shard_stop(&w.shard);
    (void)http_reply_stream(app.held[0], 200, NULL, 0, app_closed, NULL); /* too late for that */
    CHECK(app.closed == 0);
    flush_out();
    CHECK(app.closed == 1 && frame_of(RST_STREAM, 1) && w.ended);
    release();
}
