/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "http/h1_head.h"
#include "tap.h"
#include "unit/http_testlib.h"

static struct wire w;

static void open_h1(void)
{
    wire_open(&w, &h1_proto, &HTTP_LIMITS_DEFAULT);
}

static void say(const char *text)
{
    wire_write(&w, text, strlen(text));
}

TEST(a_request_gets_its_reply_and_the_connection_stays)
{
    open_h1();
    say("GET /hello?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wire_has(&w, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ndate: "));
    CHECK(wire_has(&w, "content-length: 6\r\n\r\nhello\n"));
    CHECK(!w.ended);
    say("GET /info?a=b&c HTTP/1.1\r\nHost: b\r\n\r\n");
    CHECK_STR(app.last, "GET /info ?a=b&c v1 host=b cn=- org=- uri=- rejected=0\n");
    CHECK(wire_stat(&w, requests) == 2 && wire_stat(&w, requests_open) == 0);
    CHECK(wire_stat(&w, connections_open) == 1);
    wire_release(&w);
}

TEST(a_request_may_come_byte_by_byte)
{
    const char *text = "\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfive!";

    open_h1();
    for (const char *p = text; *p; p++) {
        CHECK(app.calls == 0);
        wire_write(&w, p, 1);
    }
    CHECK(app.calls == 1);
    CHECK(wire_has(&w, "content-length: 5\r\n\r\nfive!"));
    wire_release(&w);
}

TEST(pipelined_requests_are_answered_in_order)
{
    open_h1();
    say("GET /hold HTTP/1.1\r\nHost: a\r\n\r\nPOST /echo HTTP/1.1\r\nHost: a\r\n"
        "Content-Length: 3\r\n\r\nabcGET /info HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(app.calls == 1 && w.out.n == 0);
    REQUIRE(app.nheld == 1);
    http_reply(app.held[0], 202, NULL, 0, NULL, 0);
    wire_turn(&w);
    CHECK(app.calls == 3);
    CHECK(wire_count(&w, "HTTP/1.1 20") == 3);
    CHECK(str_starts(buf_str(&w.out), STR("HTTP/1.1 202 Accepted\r\n")));
    CHECK(wire_has(&w, "\r\n\r\nabcHTTP/1.1 200 OK\r\n"));
    CHECK(wire_has(&w, "GET /info"));
    wire_release(&w);
}

TEST(a_busy_connection_stops_reading)
{
    static char many[1 << 20];

    open_h1();
    memset(many, 'x', sizeof(many));
    say("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    wire_write(&w, many, sizeof(many));
    wire_turn(&w);
    CHECK(w.in_at <= 3 * SHARD_IN);
    CHECK(!w.closed);
    wire_release(&w);
    CHECK(app.cancelled == 1);
}

TEST(head_sends_the_length_and_no_body)
{
    open_h1();
    say("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\nHEAD /source HTTP/1.1\r\nHost: a\r\n\r\n"
        "HEAD /watch HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wire_count(&w, "HTTP/1.1 200 OK") == 3);
    CHECK(wire_has(&w, "content-length: 6\r\n\r\nHTTP/1.1"));
    CHECK(!wire_has(&w, "hello"));
    CHECK(app.pulled == 0);
    CHECK(app.closed == 1);
    CHECK(wire_has(&w, "HTTP/1.1 204 No Content\r\ndate: "));
    CHECK(wire_count(&w, "content-length") == 1 && !wire_has(&w, "chunked"));
    wire_release(&w);
}

TEST(connection_close_and_http_1_0_end_the_connection)
{
    static const char *const ends[] = {
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
    };

    for (size_t i = 0; i < 2; i++) {
        open_h1();
        say(ends[i]);
        CHECK(wire_has(&w, "connection: close\r\n\r\nhello\n") ||
              wire_has(&w, "connection: close\r\n"));
        CHECK(wire_has(&w, "hello\n"));
        CHECK(w.ended && !w.closed);
        wire_eof(&w);
        CHECK(w.closed);
        wire_release(&w);
    }
    open_h1();
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(wire_has(&w, "connection: keep-alive\r\n"));
    CHECK(!w.ended);
    say("GET /source HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    for (int i = 0; i < 10; i++)
        wire_turn(&w);
    CHECK(!wire_has(&w, "chunked"));
    CHECK(w.ended); /* the end of the body */
    wire_release(&w);
}

/* ---- request bodies ---- */

TEST(chunked_requests_are_put_together)
{
    open_h1();
    say("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
        "5\r\nhello\r\n00000006;ext=\"1\"\r\n world\r\n0\r\nTrailer: x\r\n\r\n"
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(app.calls == 2);
    CHECK(wire_has(&w, "content-length: 11\r\n\r\nhello world"));
    CHECK(wire_has(&w, "hello\n"));
    wire_release(&w);
}

TEST(expect_100_continue_is_answered_when_the_body_is_wanted)
{
    open_h1();
    say("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
    CHECK(str_eq(buf_str(&w.out), STR("HTTP/1.1 100 Continue\r\n\r\n")));
    say("ok");
    CHECK(wire_has(&w, "HTTP/1.1 200 OK\r\n") && wire_has(&w, "\r\n\r\nok"));
    wire_release(&w);

    open_h1();
    say("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: "
        "99999999\r\n\r\n");
    CHECK(!wire_has(&w, "100 Continue"));
    CHECK(wire_has(&w, "HTTP/1.1 413 "));
    CHECK(w.ended);
    wire_release(&w);
}

TEST(a_body_over_the_limit_reaches_the_handler_as_too_large)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.body = 8;
    wire_open(&w, &h1_proto, &limits);
    say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n12345678");
    CHECK(wire_has(&w, "\r\n\r\n12345678"));
    say("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n4\r\n6");
    CHECK(wire_count(&w, "HTTP/1.1 413") == 0);
    say("789\r\n");
    CHECK(wire_count(&w, "HTTP/1.1 413 Request Entity Too Large\r\n") == 1);
    CHECK(wire_has(&w, "too large\n"));
    CHECK(w.ended && app.calls == 2);
    wire_release(&w);
}

/* ---- what is refused ---- */

static const struct refused {
    const char *request;
    const char *status;
} refused[] = {
    { "GET / HTTP/1.1\nHost: a\n\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\r\n\tfolded\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\r\nNoColon\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\r\nX: a\x01\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400" },
    { "GET / HTTP/1.1\r\nX: no host\r\n\r\n", "400" },
    { "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400" },
    { "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400" },
    { "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", "400" },
    { "GET\r\nHost: a\r\n\r\n", "400" },
    { "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "400" },
    { "GET a HTTP/1.1\r\nHost: a\r\n\r\n", "400" },
    { "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400" },
    { "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505" },
    { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505" },
    { "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "405" },
    { "GET / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n", "417" },
    { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
      "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\nx", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nx", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", "501" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
      "chunked\r\n\r\n",
      "400" },
    { "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n000000005\r\nhello\r\n",
      "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n", "400" },
    { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a\x01\r\nhello\r\n",
      "400" },
};

TEST(malformed_requests_are_refused_and_never_reach_the_handler)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        char want[32];

        open_h1();
        (void)snprintf(want, sizeof(want), "HTTP/1.1 %s ", refused[i].status);
        say(refused[i].request);
        if (!CHECK(str_starts(buf_str(&w.out), str_of(want)) && w.ended && app.calls == 0))
            printf("# %s\n# %.*s\n", refused[i].request, STR_ARG(buf_str(&w.out)));
        CHECK(wire_count(&w, "HTTP/1.1") == 1 && wire_has(&w, "connection: close\r\n"));
        wire_release(&w);
    }
}

TEST(a_nul_in_a_head_is_refused)
{
    static const char head[] = "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n";

    open_h1();
    wire_write(&w, head, sizeof(head) - 1);
    CHECK(wire_has(&w, "HTTP/1.1 400") && app.calls == 0);
    wire_release(&w);
}

TEST(an_absolute_target_is_its_path_and_options_may_ask_for_all)
{
    open_h1();
    say("GET http://a/info?q HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK_STR(app.last, "GET /info ?q v1 host=a cn=- org=- uri=- rejected=0\n");
    say("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK_STR(app.last, "OPTIONS * ? v1 host=a cn=- org=- uri=- rejected=0\n");
    say("GET https://a HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wire_has(&w, "hello\n"));
    wire_release(&w);
}

static void many_headers(size_t n, size_t size)
{
    char line[128];

    say("GET / HTTP/1.1\r\nHost: a\r\n");
    for (size_t i = 0; i < n; i++) {
        int len = snprintf(line, sizeof(line), "x%0*zu: y\r\n", (int)size - 2, i);

        wire_write(&w, line, (size_t)len);
    }
    say("\r\n");
}

TEST(headers_over_the_limit_get_431)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.headers = 1000;
    wire_open(&w, &h1_proto, &limits);
    many_headers(19, 50); /* 5 of Host, 1 of the target, 950 of these */
    CHECK(wire_has(&w, "HTTP/1.1 200"));
    many_headers(20, 50);
    CHECK(wire_has(&w, "HTTP/1.1 431 ") && w.ended);
    CHECK(app.calls == 1);
    wire_release(&w);

    wire_open(&w, &h1_proto, &limits); /* no end in sight */
    say("GET / HTTP/1.1\r\nHost: a\r\nX: ");
    for (int i = 0; i < 100 && !w.ended; i++)
        say("0123456789012345678901234567890123456789012345678901234567890123456789");
    CHECK(wire_has(&w, "HTTP/1.1 431 ") && w.ended);
    wire_release(&w);

    open_h1(); /* small, but too many */
    many_headers(STREAM_HEADERS_MAX, 6);
    CHECK(wire_has(&w, "HTTP/1.1 431 ") && app.calls == 0);
    wire_release(&w);
}

/* ---- replies ---- */

TEST(what_was_smuggled_into_a_header_stays_one_line)
{
    open_h1();
    say("GET /split HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wire_has(&w, "\r\nwarning: a  set-cookie: b\r\n"));
    CHECK(wire_has(&w, "content-length: 7\r\n\r\none two"));
    wire_release(&w);
}

TEST(a_source_is_sent_in_chunks_and_only_as_the_client_takes_it)
{
    open_h1();
    w.room = 1000;
    say("GET /source HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(app.pulled > 1000 && app.pulled <= 256 << 10);
    CHECK(w.out.n == 1000);
    wire_room(&w, SIZE_MAX);
    for (int i = 0; i < 10; i++)
        wire_turn(&w);
    CHECK(app.pulled == 1 << 20);
    CHECK(wire_has(&w, "transfer-encoding: chunked\r\n"));
    CHECK(str_ends(buf_str(&w.out), STR("\r\n0\r\n\r\n")));
    CHECK(!w.ended);
    wire_release(&w);
}

TEST(a_source_that_finds_little_leaves_the_loop_to_others)
{
    open_h1();
    say("GET /sparse HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(app.pulls > 0 && app.pulls < 20);
    for (int i = 0; i < 100; i++) {
        unsigned before = app.pulls;

        wire_turn(&w); /* four turns */
        CHECK(app.pulls <= before + 20);
    }
    CHECK(app.pulls == 100 && wire_count(&w, "00000001\r\nx\r\n") == 10);
    CHECK(wire_has(&w, "\r\n0\r\n\r\n"));
    wire_release(&w);
}

TEST(a_broken_source_never_looks_complete)
{
    open_h1();
    say("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(w.closed);
    CHECK(!wire_has(&w, "0\r\n\r\n"));
    wire_release(&w);
}

TEST(a_stream_sends_what_is_pushed_and_ends)
{
    open_h1();
    say("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wire_has(&w, "transfer-encoding: chunked\r\n\r\n"));
    REQUIRE(app.watch);
    CHECK(push_text(app.watch, "one\n") && push_text(app.watch, "two\n"));
    CHECK(http_stream_queued(app.watch) == 8);
    wire_turn(&w);
    CHECK(wire_has(&w, "00000008\r\none\ntwo\n\r\n"));
    CHECK(http_stream_queued(app.watch) == 0);
    CHECK(wire_stat(&w, streams_open) == 1);
    http_stream_end(app.watch);
    wire_turn(&w);
    CHECK(str_ends(buf_str(&w.out), STR("\r\n0\r\n\r\n")));
    CHECK(app.closed == 0 && wire_stat(&w, streams_open) == 0);
    say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wire_has(&w, "hello\n"));
    wire_release(&w);
}

TEST(a_stream_whose_queue_is_full_is_cut_off)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.stream_queue = 1000;
    wire_open(&w, &h1_proto, &limits);
    say("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(app.watch);
    CHECK(push_zeros(app.watch, 600));
    CHECK(!push_zeros(app.watch, 600));
    CHECK(app.closed == 0); /* not from within */
    wire_turn(&w);
    CHECK(app.closed == 1 && w.closed);
    CHECK(wire_stat(&w, rejected_limits) == 1);
    wire_release(&w);
}

/* ---- clients that go away ---- */

TEST(a_client_may_end_its_side_and_wait_for_replies)
{
    open_h1();
    w.eof = w.conn->hup = true;
    say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(wire_count(&w, "hello\n") == 2);
    CHECK(w.closed);
    wire_release(&w);
}

TEST(a_watch_ends_when_the_client_has_gone)
{
    open_h1();
    say("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
    wire_eof(&w);
    CHECK(app.closed == 1 && w.closed);
    wire_release(&w);

    open_h1();
    say("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    conn_kill(w.conn);
    wire_turn(&w);
    CHECK(app.cancelled == 1 && w.closed && wire_stat(&w, requests_open) == 0);
    wire_release(&w);
}

TEST(a_reply_to_nobody_is_fine)
{
    struct http_stream *s;

    open_h1();
    say("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(app.nheld == 1);
    app.held[0]->cancelled = NULL;
    conn_kill(w.conn);
    wire_turn(&w);
    CHECK(wire_stat(&w, requests_open) == 1);
    s = http_reply_stream(app.held[0], 200, NULL, 0, app_closed, NULL);
    CHECK(!push_text(s, "x"));
    CHECK(app.closed == 0);
    wire_turn(&w);
    CHECK(app.closed == 1 && wire_stat(&w, requests_open) == 0);
    wire_release(&w);
}

/* ---- time ---- */

static void open_hasty(void)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;

    limits.header_ms = limits.body_ms = limits.write_ms = 30000;
    limits.idle_ms = 60000;
    wire_open(&w, &h1_proto, &limits);
}

TEST(slow_headers_get_408)
{
    open_hasty();
    say("GET / HTTP/1.1\r\n");
    wire_sleep(&w, 20);
    say("Host: a\r\n"); /* progress does not help */
    CHECK(w.out.n == 0);
    wire_sleep(&w, 20);
    CHECK(wire_has(&w, "HTTP/1.1 408 ") && w.ended && app.calls == 0);
    wire_release(&w);
}

TEST(a_slow_body_gets_408)
{
    open_hasty();
    say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n1");
    wire_sleep(&w, 20);
    say("2");
    CHECK(w.out.n == 0);
    wire_sleep(&w, 20);
    CHECK(wire_has(&w, "HTTP/1.1 408 ") && w.ended && app.calls == 0);
    CHECK(wire_stat(&w, rejected_limits) == 1);
    wire_release(&w);
}

TEST(an_idle_connection_is_closed_but_not_a_waiting_one)
{
    open_hasty();
    say("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    wire_sleep(&w, 80);
    CHECK(!w.ended);
    http_reply(app.held[0], 200, NULL, 0, NULL, 0);
    wire_turn(&w);
    wire_sleep(&w, 40);
    CHECK(!w.ended);
    say("\r\n"); /* is no request */
    wire_sleep(&w, 40);
    CHECK(w.ended);
    wire_release(&w);
}

TEST(a_client_that_does_not_read_is_closed)
{
    open_hasty();
    w.room = 100;
    say("GET /source HTTP/1.1\r\nHost: a\r\n\r\n");
    wire_sleep(&w, 20);
    wire_room(&w, 100);
    wire_sleep(&w, 20);
    CHECK(!w.closed); /* it took something */
    wire_sleep(&w, 30);
    CHECK(w.closed && wire_stat(&w, rejected_limits) == 1);
    wire_release(&w);
}

/* ---- the server stops ---- */

TEST(stopping_ends_idle_connections_and_lets_requests_end)
{
    open_h1();
    shard_stop(&w.shard);
    wire_turn(&w);
    CHECK(w.ended);
    wire_release(&w);

    open_h1();
    say("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    shard_stop(&w.shard);
    wire_turn(&w);
    CHECK(!w.ended);
    http_reply(app.held[0], 200, NULL, 0, NULL, 0);
    wire_turn(&w);
    CHECK(wire_has(&w, "connection: close\r\n") && w.ended);
    wire_release(&w);

    open_h1();
    say("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(push_text(app.watch, "last\n"));
    shard_stop(&w.shard);
    wire_turn(&w);
    CHECK(app.closed == 1 && w.ended);
    CHECK(str_ends(buf_str(&w.out), STR("last\n\r\n0\r\n\r\n")));
    wire_release(&w);
}
