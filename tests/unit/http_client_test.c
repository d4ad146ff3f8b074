/* SPDX-License-Identifier: Apache-2.0 */

/* The client against small servers of its own: scripted HTTP/1.1, nghttp2, both with TLS. */

#include "http/client.h"

#include <poll.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http_client_peer.h"
#include "tap.h"

/* ---- calls that remember ---- */

struct got {
    struct http_call call;
    struct http_client *client;
    int status, ends, *waits_for;
    struct buf body;
    char error[256];
    enum reason reason;
    char trailer[32];
    void (*then)(struct got *g);
    struct got *other;
    struct loop *loop;
};

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    struct got *g = call->user;

    (void)h;
    (void)n;
    g->status = status;
}

static void on_data(struct http_call *call, str bytes)
{
    struct got *g = call->user;

    buf_append(&g->body, bytes.p, bytes.n);
}

static void on_trailers(struct http_call *call, const struct http_header *h, size_t n)
{
    struct got *g = call->user;

    for (size_t i = 0; i < n; i++)
        (void)snprintf(g->trailer, sizeof(g->trailer), "%.*s=%.*s", STR_ARG(h[i].name),
                       STR_ARG(h[i].value));
}

static void on_end(struct http_call *call, const struct status *why)
{
    struct got *g = call->user;

    g->ends++;
    if (why) {
        g->reason = why->reason;
        (void)snprintf(g->error, sizeof(g->error), "%.*s", STR_ARG(why->message));
    }
    if (g->then)
        g->then(g);
    if (--*g->waits_for == 0)
        loop_stop(g->loop);
}

/* What a test has: a loop, a client, calls. */
struct bed {
    struct loop *loop;
    struct http_client *client;
    struct server server;
    struct pki pki;
    int open;
};

static void bed_start(struct bed *b, struct http_client_options o, bool tls)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    b->loop = loop_new();
    if (tls)
        b->pki = pki_new();
    if (b->server.serve)
        server_start(&b->server, tls ? &b->pki : NULL);
    o.loop = b->loop;
    o.host = STR("127.0.0.1");
    o.port = str_of(b->server.port);
    o.tls = tls;
    if (tls && !o.insecure && !o.ca_pem.n)
        o.ca_pem = str_of(b->pki.pem);
    b->client = http_client_new(&o, &st);
    if (!b->client) {
        printf("# %.*s\n", STR_ARG(st.message));
        abort();
    }
}

static void bed_end(struct bed *b)
{
    http_client_free(b->client);
    loop_free(b->loop);
    if (b->server.serve)
        server_stop(&b->server);
    buf_release(&b->server.seen);
    pki_free(&b->pki);
}

static void call(struct bed *b, struct got *g, const char *method, const char *path, str body)
{
    void (*then)(struct got *) = g->then;
    struct got *other = g->other;
    int64_t timeout = g->call.timeout_ms;

    *g = (struct got){
        .client = b->client, .waits_for = &b->open, .loop = b->loop, .then = then, .other = other
    };
    g->call = (struct http_call){ .method = str_of(method),
                                  .path = str_of(path),
                                  .body = body,
                                  .timeout_ms = timeout ? timeout : 20000,
                                  .head = on_head,
                                  .data = on_data,
                                  .trailers = on_trailers,
                                  .end = on_end,
                                  .user = g };
    buf_init(&g->body, 16 << 20);
    b->open++;
    http_client_call(b->client, &g->call);
}

static void check_body(struct got *g, int status, const char *want)
{
    CHECK(g->ends == 1);
    CHECK_STR(g->error, "");
    CHECK(g->status == status);
    buf_byte(&g->body, '\0');
    CHECK_STR(g->body.p, want);
    buf_release(&g->body);
}

/* ---- HTTP/1.1 ---- */

TEST(http1_replies_of_each_form)
{
    static const char *const script[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789"
        "\r\n0\r\nTrailer: x\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", /* to a HEAD */
        "xHTTP/1.0 200 OK\r\n\r\nuntil the end",
        NULL,
    };
    struct bed b = { .server = { .serve = serve_script, .script = script } };
    struct got g[5] = { 0 };

    bed_start(&b, (struct http_client_options){ .streams = 1 }, false);
    call(&b, &g[0], "GET", "/a", STR_NONE);
    call(&b, &g[1], "POST", "/b", STR("{\"x\":1}"));
    call(&b, &g[2], "DELETE", "/c", STR_NONE);
    call(&b, &g[3], "HEAD", "/d", STR_NONE);
    call(&b, &g[4], "GET", "/e", STR_NONE);
    loop_run(b.loop);
    check_body(&g[0], 200, "hello");
    check_body(&g[1], 201, "abc0123456789");
    check_body(&g[2], 204, "");
    check_body(&g[3], 200, "");
    check_body(&g[4], 200, "until the end");
    CHECK(b.server.connections == 1);
    http_client_free(b.client);
    b.client = NULL;
    server_stop(&b.server);
    b.server.serve = NULL;
    buf_byte(&b.server.seen, '\0');
    CHECK(strstr(b.server.seen.p, "POST /b HTTP/1.1\r\nhost: 127.0.0.1:"));
    CHECK(strstr(b.server.seen.p, "content-length: 7\r\n\r\n{\"x\":1}"));
    bed_end(&b);
}

TEST(http1_a_closed_kept_connection_is_reopened_for_reads_only)
{
    static const char *const script[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1",
        "!",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2",
        "!",
        NULL,
    };
    struct bed b = { .server = { .serve = serve_script, .script = script } };
    struct got g[3] = { 0 };

    bed_start(&b, (struct http_client_options){ .streams = 1 }, false);
    call(&b, &g[0], "GET", "/", STR_NONE);
    call(&b, &g[1], "GET", "/", STR_NONE);
    call(&b, &g[2], "POST", "/", STR_NONE);
    loop_run(b.loop);
    check_body(&g[0], 200, "1");
    check_body(&g[1], 200, "2");
    CHECK(g[2].ends == 1 && g[2].reason == REASON_UNAVAILABLE);
    bed_end(&b);
}

TEST(http1_rubbish_and_cut_replies_are_errors)
{
    static const char *const script[] = {
        "x\r\nnot http\r\n\r\n",
        "xHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "xHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "xHTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "xHTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "xHTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "xHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n",
        NULL,
    };
    struct bed b = { .server = { .serve = serve_script, .script = script } };
    struct got g[7] = { 0 };

    bed_start(&b, (struct http_client_options){ .streams = 1 }, false);
    for (int i = 0; i < 7; i++)
        call(&b, &g[i], "POST", "/", STR_NONE);
    loop_run(b.loop);
    for (int i = 0; i < 6; i++) {
        CHECK(g[i].ends == 1);
        CHECK(g[i].reason == REASON_UNAVAILABLE);
        CHECK(g[i].error[0]);
        buf_release(&g[i].body);
    }
    check_body(&g[6], 200, "ok"); /* what is behind it belongs to nobody */
    bed_end(&b);
}

TEST(http1_several_at_once_use_several_connections)
{
    static const char *const script[] = { "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1", "!",
                                          NULL };
    struct bed b = { .server = { .serve = serve_script, .script = script } };
    struct got g[2] = { 0 };

    bed_start(&b, (struct http_client_options){ .streams = 2 }, false);
    call(&b, &g[0], "GET", "/", STR_NONE);
    /* The server takes one connection after the other, so the first must go for the second. */
    loop_run(b.loop);
    check_body(&g[0], 200, "1");
    call(&b, &g[1], "GET", "/", STR_NONE);
    loop_run(b.loop);
    check_body(&g[1], 200, "1");
    CHECK(b.server.connections == 1);
    bed_end(&b);
}

/* ---- HTTP/2 ---- */

TEST(http2_without_tls_many_streams_on_one_connection)
{
    struct bed b = { .server = { .serve = serve_h2 } };
    static struct got g[300];

    memset(g, 0, sizeof(g));
    bed_start(&b, (struct http_client_options){ .h2_prior = true, .streams = 100 }, false);
    for (int i = 0; i < 300; i++)
        call(&b, &g[i], "GET", "/x", STR_NONE);
    loop_run(b.loop);
    for (int i = 0; i < 300; i++)
        check_body(&g[i], 200, "zzzzz");
    CHECK(b.server.connections == 1);
    bed_end(&b);
}

TEST(http2_bodies_both_ways_and_trailers)
{
    struct bed b = { .server = { .serve = serve_h2, .alpn = "\2h2" } };
    struct got g[3] = { 0 };
    size_t n = 3 << 20;
    char *big = mem_alloc(n);

    memset(big, 'q', n);
    bed_start(&b, (struct http_client_options){ .streams = 100 }, true);
    call(&b, &g[0], "GET", "/big", STR_NONE);
    call(&b, &g[1], "POST", "/echo", (str){ big, n });
    call(&b, &g[2], "GET", "/trailers", STR_NONE);
    loop_run(b.loop);
    CHECK(g[0].ends == 1 && g[0].body.n == 5 << 20);
    CHECK(g[1].ends == 1 && g[1].body.n == n && memcmp(g[1].body.p, big, n) == 0);
    CHECK_STR(g[2].trailer, "grpc-status=0");
    check_body(&g[2], 200, "zzzzz");
    buf_release(&g[0].body);
    buf_release(&g[1].body);
    free(big);
    bed_end(&b);
}

TEST(tls_without_http2_falls_back_to_http1)
{
    static const char *const script[] = { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                                          NULL };
    struct bed b = { .server = {
                         .serve = serve_script, .script = script, .alpn = "\x08http/1.1" } };
    struct got g = { 0 };

    bed_start(&b, (struct http_client_options){ 0 }, true);
    call(&b, &g, "GET", "/", STR_NONE);
    loop_run(b.loop);
    check_body(&g, 200, "hello");
    bed_end(&b);
}

TEST(http2_resets_refusals_and_goaway)
{
    struct bed b = { .server = { .serve = serve_h2 } };
    struct got g[3] = { 0 };

    bed_start(&b, (struct http_client_options){ .h2_prior = true }, false);
    call(&b, &g[0], "POST", "/refuse", STR_NONE); /* not processed: sent again, even a POST */
    call(&b, &g[1], "GET", "/reset", STR_NONE);
    call(&b, &g[2], "POST", "/goaway", STR_NONE);
    loop_run(b.loop);
    check_body(&g[0], 200, "zzzzz");
    CHECK(g[1].ends == 1 && g[1].reason == REASON_UNAVAILABLE);
    CHECK(strstr(g[1].error, "INTERNAL_ERROR"));
    check_body(&g[2], 200, "zzzzz");
    CHECK(b.server.connections == 2);
    bed_end(&b);
}

TEST(a_call_that_takes_too_long_ends_with_timeout)
{
    struct bed b = { .server = { .serve = serve_h2 } };
    struct got g[2] = { { .call = { .timeout_ms = 30 } } };

    bed_start(&b, (struct http_client_options){ .h2_prior = true }, false);
    call(&b, &g[0], "GET", "/hang", STR_NONE);
    loop_run(b.loop);
    CHECK(g[0].ends == 1 && g[0].reason == REASON_TIMEOUT);
    call(&b, &g[1], "GET", "/x", STR_NONE); /* the connection is still good */
    loop_run(b.loop);
    check_body(&g[1], 200, "zzzzz");
    CHECK(b.server.connections == 1);
    bed_end(&b);
}

static void cancel_other(struct got *g)
{
    http_call_cancel(g->client, &g->other->call);
    --*g->waits_for;
}

TEST(a_cancelled_call_hears_nothing_and_the_server_is_told)
{
    struct bed b = { .server = { .serve = serve_h2 } };
    struct got g[3] = { 0 };

    g[1].then = cancel_other;
    g[1].other = &g[0];
    bed_start(&b, (struct http_client_options){ .h2_prior = true }, false);
    call(&b, &g[0], "GET", "/hang", STR_NONE);
    call(&b, &g[1], "GET", "/x", STR_NONE);
    loop_run(b.loop);
    CHECK(g[0].ends == 0 && !g[0].call.impl);
    check_body(&g[1], 200, "zzzzz");
    call(&b, &g[2], "GET", "/y", STR_NONE);
    loop_run(b.loop);
    check_body(&g[2], 200, "zzzzz");
    http_client_free(b.client);
    b.client = NULL;
    server_stop(&b.server);
    b.server.serve = NULL;
    buf_byte(&b.server.seen, '\0');
    CHECK(strstr(b.server.seen.p, "/hang 8\n")); /* CANCEL */
    bed_end(&b);
}

TEST(calls_may_be_cancelled_before_the_connection_is_there)
{
    struct bed b = { .server = { .serve = serve_h2 } };
    struct got g[2] = { 0 };

    bed_start(&b, (struct http_client_options){ .h2_prior = true }, false);
    call(&b, &g[0], "GET", "/a", STR_NONE);
    http_call_cancel(b.client, &g[0].call);
    b.open--;
    call(&b, &g[1], "GET", "/b", STR_NONE);
    loop_run(b.loop);
    CHECK(g[0].ends == 0);
    check_body(&g[1], 200, "zzzzz");
    bed_end(&b);
}

static void free_client(struct got *g)
{
    http_client_free(g->client);
}

TEST(a_callback_may_free_the_client)
{
    struct bed b = { .server = { .serve = serve_h2 } };
    struct got g[4] = { 0 };

    bed_start(&b, (struct http_client_options){ .h2_prior = true }, false);
    g[1].then = free_client;
    for (int i = 0; i < 4; i++)
        call(&b, &g[i], "GET", i == 1 ? "/x" : "/hang", STR_NONE);
    loop_run(b.loop);
    b.client = NULL;
    for (int i = 0; i < 4; i++) {
        CHECK(g[i].ends == 1);
        CHECK(i == 1 || g[i].reason == REASON_UNAVAILABLE);
        buf_release(&g[i].body);
    }
    bed_end(&b);
}

/* ---- what goes wrong before a request can be sent ---- */

TEST(nobody_listens)
{
    struct bed b = { .server = { .serve = serve_h2 } };
    struct got g[3] = { 0 };

    bed_start(&b, (struct http_client_options){ .h2_prior = true }, false);
    server_stop(&b.server);
    b.server.serve = NULL;
    for (int i = 0; i < 3; i++)
        call(&b, &g[i], "GET", "/", STR_NONE);
    CHECK(g[0].ends == 0); /* never from inside of http_client_call */
    loop_run(b.loop);
    for (int i = 0; i < 3; i++) {
        CHECK(g[i].ends == 1 && g[i].reason == REASON_UNAVAILABLE);
        CHECK(strstr(g[i].error, "Connection refused"));
    }
    bed_end(&b);
}

TEST(a_certificate_that_nobody_vouches_for_is_refused)
{
    struct bed b = { .server = { .serve = serve_h2, .alpn = "\2h2" } };
    struct pki other = pki_new();
    struct got g = { 0 };

    bed_start(&b, (struct http_client_options){ .ca_pem = str_of(other.pem) }, true);
    call(&b, &g, "GET", "/", STR_NONE);
    loop_run(b.loop);
    CHECK(g.ends == 1 && g.reason == REASON_UNAVAILABLE);
    CHECK(strstr(g.error, "certificate"));
    bed_end(&b);
    pki_free(&other);
}

TEST(a_certificate_for_another_name_is_refused_unless_insecure)
{
    for (int insecure = 0; insecure < 2; insecure++) {
        struct bed b = { .server = { .serve = serve_h2, .alpn = "\2h2" } };
        struct got g = { 0 };

        bed_start(&b,
                  (struct http_client_options){ .server_name = STR("other.example"),
                                                .insecure = insecure },
                  true);
        call(&b, &g, "GET", "/", STR_NONE);
        loop_run(b.loop);
        CHECK(g.ends == 1);
        CHECK((g.status == 200) == insecure);
        CHECK(insecure || strstr(g.error, "mismatch"));
        buf_release(&g.body);
        bed_end(&b);
    }
}

TEST(wrong_pem_is_said_at_once)
{
    scoped_arena a = arena_new();
    struct loop *l = loop_new();
    struct http_client_options o = {
        .loop = l, .host = STR("h"), .port = STR("1"), .tls = true, .ca_pem = STR("rubbish")
    };
    struct pki p = pki_new(), q = pki_new();
    struct status st;

    status_init(&st, a);
    CHECK(!http_client_new(&o, &st));
    CHECK(status_is(&st, REASON_BAD_REQUEST));
    status_reset(&st);
    o.ca_pem = str_of(p.pem);
    o.cert_pem = str_of(p.pem);
    o.key_pem = secret_of(str_of(q.key_pem));
    CHECK(!http_client_new(&o, &st));
    CHECK(status_is(&st, REASON_BAD_REQUEST));
    loop_free(l);
    pki_free(&p);
    pki_free(&q);
}

TEST(names_are_looked_up_off_the_loop)
{
    scoped_arena a = arena_new();
    struct bed b = { .server = { .serve = serve_h2 } };
    struct http_client_options o = { .h2_prior = true, .host = STR("localhost") };
    struct got g[2] = { 0 };
    struct status st;

    status_init(&st, a);
    bed_start(&b, (struct http_client_options){ .h2_prior = true }, false);
    http_client_free(b.client);
    o.loop = b.loop;
    o.port = str_of(b.server.port);
    b.client = http_client_new(&o, &st);
    REQUIRE(b.client);
    call(&b, &g[0], "GET", "/", STR_NONE);
    loop_run(b.loop);
    check_body(&g[0], 200, "zzzzz");
    http_client_free(b.client);
    b.client = http_client_new(&o, &st);
    call(&b, &g[1], "GET", "/", STR_NONE);
    bed_end(&b); /* in the middle of the lookup */
    CHECK(g[1].ends == 1);
}

/* ---- a proxy ---- */

struct proxy {
    char to[8]; /* the server's port; empty: it refuses */
    char asked[256];
};

static struct proxy way;

/* Bytes from one to the other, until one of them ends. */
static void pass_bytes(int a, int b)
{
    struct pollfd p[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };

    while (poll(p, 2, 20000) > 0)
        for (int i = 0; i < 2; i++) {
            char chunk[4096];
            ssize_t n = p[i].revents ? recv(p[i].fd, chunk, sizeof(chunk), 0) : -1;

            if (p[i].revents && (n <= 0 || send(p[1 - i].fd, chunk, (size_t)n, MSG_NOSIGNAL) != n))
                return;
        }
}

static void serve_proxy(struct peer *p)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const char *answer = *way.to ? "HTTP/1.1 200 Connection established\r\n\r\n"
                                 : "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    size_t n = 0;
    int fd;

    while (n < sizeof(way.asked) - 1 && !strstr(way.asked, "\r\n\r\n")) {
        ssize_t got = peer_read(p, way.asked + n, sizeof(way.asked) - 1 - n);

        if (got <= 0)
            return;
        n += (size_t)got;
    }
    (void)peer_write(p, answer, 9); /* in two parts, as it may come */
    (void)usleep(20000);
    (void)peer_write(p, answer + 9, strlen(answer) - 9);
    if (!*way.to)
        return;
    to.sin_port = htons((uint16_t)strtoul(way.to, NULL, 10));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        pass_bytes(p->fd, fd);
    (void)close(fd);
}

TEST(a_proxy_leads_to_the_server_or_says_why_not)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct bed b = { .server = { .serve = serve_h2, .alpn = "\2h2" } };
        struct server proxy = { .serve = serve_proxy };
        struct got g = { 0 };

        way = (struct proxy){ 0 };
        server_start(&proxy, NULL);
        bed_start(&b,
                  (struct http_client_options){ .proxy_host = STR("127.0.0.1"),
                                                .proxy_port = str_of(proxy.port) },
                  true);
        (void)snprintf(way.to, sizeof(way.to), "%s", refuses ? "" : b.server.port);
        call(&b, &g, "GET", "/", STR_NONE);
        loop_run(b.loop);
        CHECK(g.ends == 1);
        CHECK((g.status == 200) == !refuses);
        CHECK(strstr(way.asked, "CONNECT 127.0.0.1:") == way.asked);
        CHECK(!refuses || strstr(g.error, "answers HTTP/1.1 407"));
        buf_release(&g.body);
        bed_end(&b);
        server_stop(&proxy);
        buf_release(&proxy.seen);
    }
}
