/* SPDX-License-Identifier: Apache-2.0 */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "tap.h"
#include "unit/http_h2lib.h"
#include "unit/http_testlib.h"

static struct wire w;
static struct buf out; /* what we are about to send */
static nghttp2_hd_inflater *inflater;
static struct h2_got got[4096];
static size_t ngot, got_at;

/* Sends what was built, and reads what came. */
static void flush_out(void)
{
    wire_write(&w, out.p, out.n);
    buf_clear(&out);
    while (ngot < sizeof(got) / sizeof(got[0]) &&
           h2_next(buf_str(&w.out), &got_at, inflater, &got[ngot]))
        ngot++;
    /* The buffer may have moved. */
    got_at = 0;
    for (size_t i = 0; i < ngot; i++) {
        got[i].payload.p = w.out.p + got_at + 9;
        got_at += 9 + got[i].payload.n;
    }
}

/* acked: the client has seen our settings. */
static void begin_session(bool acked)
{
    buf_init(&out, 64 << 20);
    ngot = got_at = 0;
    if (nghttp2_hd_inflate_new(&inflater) != 0)
        abort();
    buf_append(&out, h2_preface, sizeof(h2_preface) - 1);
    h2_frame(&out, SETTINGS, 0, 0, NULL, 0);
    if (acked)
        h2_frame(&out, SETTINGS, ACK, 0, NULL, 0);
    flush_out();
}

static void open_with(const struct http_limits *limits)
{
    wire_open(&w, &h2_proto, limits);
    begin_session(true);
}

static void open_h2(void)
{
    open_with(&HTTP_LIMITS_DEFAULT);
}

static void release(void)
{
    wire_release(&w);
    buf_release(&out);
    nghttp2_hd_inflate_del(inflater);
}

static const struct h2_got *frame_of(int type, int32_t id)
{
    for (size_t i = ngot; i-- > 0;)
        if (got[i].type == type && got[i].id == id)
            return &got[i];
    return NULL;
}

static size_t count_of(int type, int32_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < ngot; i++)
        n += got[i].type == type && (id < 0 || got[i].id == id);
    return n;
}

static int status_of(int32_t id)
{
    const struct h2_got *g = frame_of(HEADERS, id);

    return g ? g->status : 0;
}

static uint32_t reset_code(int32_t id)
{
    const struct h2_got *g = frame_of(RST_STREAM, id);

    return g ? h2_u32(g->payload, 0) : 0xffffffff;
}

static size_t body_bytes(int32_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < ngot; i++)
        if (got[i].type == DATA && got[i].id == id)
            n += got[i].payload.n;
    return n;
}

static bool body_is(int32_t id, const char *text)
{
    const struct h2_got *g = frame_of(DATA, id);

    return g && str_is(g->payload, text);
}

static bool ended(int32_t id)
{
    const struct h2_got *d = frame_of(DATA, id), *h = frame_of(HEADERS, id);

    return (d && d->flags & END_STREAM) || (h && h->flags & END_STREAM);
}

/* GOAWAY with that code, and the connection is closed. */
static bool sent_away(uint32_t code)
{
    const struct h2_got *g = frame_of(GOAWAY, 0);

    return g && h2_u32(g->payload, 4) == code && w.ended;
}

static void get(int32_t id, const char *path)
{
    h2_request(&out, id, "GET", path, END_STREAM);
}

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

/* ---- limits ---- */

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
