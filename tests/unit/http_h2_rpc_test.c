/* SPDX-License-Identifier: Apache-2.0 */

/* What gRPC needs of HTTP/2: bodies that come while they are handled, trailers. */

#include "unit/http_h2session.h"

static struct talk {
    struct http_request *req;
    struct http_stream *stream;
    unsigned mores;
    char heard[256];
    bool end, consumes;
} talk;

static bool is_early(const struct http_request *req, void *arg)
{
    (void)arg;
    return str_starts(req->path, STR("/talk"));
}

static void on_more(struct http_request *req)
{
    str part = http_body_peek(req, &talk.end);

    talk.mores++;
    (void)snprintf(talk.heard, sizeof(talk.heard), "%.*s", STR_ARG(part));
    if (talk.consumes)
        http_body_consume(req, part.n);
}

static void gone(struct http_request *req)
{
    talk.req = NULL;
    http_reply(req, 500, NULL, 0, NULL, 0);
}

static void handle(struct http_request *req, void *arg)
{
    const struct http_header trailer = { STR("grpc-status"), STR("0") };
    str hello = STR("hello");

    (void)arg;
    app.calls++;
    talk.req = req;
    if (str_is(req->path, "/unary")) {
        http_reply_trailers(req, &trailer, 1);
        http_reply(req, 200, NULL, 0, &hello, 1);
        return;
    }
    if (str_is(req->path, "/open") || str_is(req->path, "/talk/open"))
        talk.stream = http_reply_stream(req, 200, NULL, 0, app_closed, NULL);
    else
        req->cancelled = gone;
    http_body_listen(req, on_more);
}

static void open_talk(const struct http_limits *limits)
{
    talk = (struct talk){ 0 };
    open_with(limits);
    w.shard.handler = handle;
    w.shard.early = is_early;
}

static bool last_is_trailers(int32_t id)
{
    for (size_t i = ngot; i-- > 0;)
        if (got[i].id == id && got[i].type != RST_STREAM)
            return got[i].type == HEADERS && got[i].flags & END_STREAM;
    return false;
}

TEST(trailers_follow_the_body)
{
    open_talk(&HTTP_LIMITS_DEFAULT);
    get(1, "/unary");
    flush_out();
    CHECK(body_is(1, "hello") && count_of(HEADERS, 1) == 2 && last_is_trailers(1));
    CHECK(wire_stat(&w, requests_open) == 0);
    release();
}

TEST(trailers_follow_what_was_pushed)
{
    const struct http_header trailer = { STR("grpc-status"), STR("0") };

    open_talk(&HTTP_LIMITS_DEFAULT);
    get(1, "/open");
    flush_out();
    CHECK(push_text(talk.stream, "one"));
    http_reply_trailers(talk.req, &trailer, 1);
    http_stream_end(talk.stream);
    flush_out();
    CHECK(body_is(1, "one") && count_of(HEADERS, 1) == 2 && last_is_trailers(1));
    CHECK(wire_stat(&w, requests_open) == 0);
    release();
}

TEST(a_handler_may_begin_before_the_body)
{
    open_talk(&HTTP_LIMITS_DEFAULT);
    h2_request(&out, 1, "POST", "/talk", 0);
    flush_out();
    CHECK(app.calls == 1 && talk.req->body_follows && talk.mores == 0);
    h2_frame(&out, DATA, 0, 1, "one ", 4);
    flush_out();
    CHECK(talk.mores == 1 && !talk.end);
    CHECK_STR(talk.heard, "one ");
    h2_frame(&out, DATA, END_STREAM, 1, "two", 3);
    flush_out();
    CHECK(talk.mores == 2 && talk.end);
    CHECK_STR(talk.heard, "one two");
    CHECK(w.conn->bodies == 7);
    http_body_consume(talk.req, 7);
    CHECK(w.conn->bodies == 0);
    http_reply(talk.req, 200, NULL, 0, NULL, 0);
    flush_out();
    CHECK(status_of(1) == 200 && ended(1) && app.calls == 1);
    release();
}

TEST(a_body_that_is_there_at_once_is_given_at_once)
{
    open_talk(&HTTP_LIMITS_DEFAULT);
    h2_request(&out, 1, "POST", "/talk", END_STREAM);
    flush_out();
    CHECK(app.calls == 1 && !talk.req->body_follows);
    http_reply(talk.req, 200, NULL, 0, NULL, 0);
    release();
}

TEST(both_sides_may_talk_at_once_and_without_end)
{
    static char part[16 << 10];

    open_talk(&HTTP_LIMITS_DEFAULT);
    talk.consumes = true;
    h2_request(&out, 1, "POST", "/talk/open", 0);
    flush_out();
    for (int i = 0; i < 400; i++) { /* twice limits.body */
        h2_frame(&out, DATA, 0, 1, part, sizeof(part));
        flush_out();
        if (i % 100 == 0)
            CHECK(push_text(talk.stream, "heard"));
    }
    CHECK(talk.mores == 400 && !talk.req->body_too_large && w.conn->bodies == 0);
    h2_frame(&out, DATA, END_STREAM, 1, "x", 1);
    flush_out();
    CHECK(talk.end && count_of(DATA, 1) == 4);
    http_stream_end(talk.stream);
    flush_out();
    CHECK(ended(1) && wire_stat(&w, requests_open) == 0);
    release();
}

TEST(what_nobody_consumes_is_limited)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    static char part[1000];

    limits.body = 1500;
    open_talk(&limits);
    h2_request(&out, 1, "POST", "/talk", 0);
    h2_frame(&out, DATA, 0, 1, part, sizeof(part));
    flush_out();
    CHECK(!talk.req->body_too_large);
    h2_frame(&out, DATA, 0, 1, part, sizeof(part));
    flush_out();
    CHECK(talk.req->body_too_large && talk.mores == 2 && w.conn->bodies == 0);
    http_reply(talk.req, 413, NULL, 0, NULL, 0);
    flush_out();
    CHECK(status_of(1) == 413 && reset_code(1) == 0);
    release();
}

TEST(a_client_that_goes_is_heard_of)
{
    open_talk(&HTTP_LIMITS_DEFAULT);
    h2_request(&out, 1, "POST", "/talk", 0);
    h2_request(&out, 3, "POST", "/talk/open", 0);
    flush_out();
    h2_u32_frame(&out, RST_STREAM, 0, 1, 8);
    h2_u32_frame(&out, RST_STREAM, 0, 3, 8);
    flush_out();
    CHECK(!talk.req || app.closed == 1);
    CHECK(app.closed == 1 && wire_stat(&w, requests_open) == 0);
    release();
}
