/* SPDX-License-Identifier: Apache-2.0 */
#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
#include "http/server.h"
#include "tap.h"
#include "unit/http_h2lib.h"
#include "unit/http_tlslib.h"

/* ---- a server on two threads, and what it serves ---- */

enum { LOOPS = 2 };

static struct fixture {
    struct identity *ca, *other_ca, *serving, *admin;
    struct loop *loops[LOOPS];
    pthread_t threads[LOOPS];
    struct http_server *server;
    char address[64];
    bool plain;
} f;

static atomic_uint calls, cancelled, closed;
static _Atomic(struct http_request *) held;
static _Atomic(struct http_stream *) watch;

static void on_cancelled(struct http_request *req)
{
    /* The connection may be gone, but not who it was. */
    CHECK(str_starts(req->remote, STR("127.0.0.1:")));
    CHECK(!req->peer || str_is(req->peer->cn, "admin"));
    atomic_fetch_add(&cancelled, 1);
    http_reply(req, 500, NULL, 0, NULL, 0);
}

static void on_closed(struct http_stream *s, void *arg)
{
    (void)s;
    (void)arg;
    atomic_fetch_add(&closed, 1);
}

static void who(struct http_request *req)
{
    const struct http_peer *p = req->peer;
    str body = str_printf(req->arena, "cn=%.*s orgs=%zu last=%.*s uri=%.*s rejected=%d v%d",
                          STR_ARG(p ? p->cn : STR("-")), p ? p->norgs : 0,
                          STR_ARG(p && p->norgs ? p->orgs[p->norgs - 1] : STR("-")),
                          STR_ARG(p && p->nuris ? p->uris[0] : STR("-")), req->peer_rejected,
                          req->version);

    http_reply(req, 200, NULL, 0, &body, 1);
}

struct zeros {
    struct http_source source;
    size_t left;
};

static int pull_zeros(struct http_source *self, struct buf *out, size_t want)
{
    struct zeros *z = (struct zeros *)self;
    size_t n = z->left < want ? z->left : want;
    char *p = buf_reserve(out, n);

    memset(p, 'z', n);
    out->n += n;
    z->left -= n;
    return z->left > 0;
}

static uint64_t whose(const struct http_request *req, void *arg)
{
    (void)arg;
    return (uint64_t)req->path.n + 1;
}

/* Longer than a turn of the loop. */
static void take_long(void)
{
    struct timespec from, now;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    do
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < 300000);
}

static void handle(struct http_request *req, void *arg)
{
    (void)arg;
    CHECK(loop_is_current(req->loop));
    CHECK(str_starts(req->remote, STR("127.0.0.1:")));
    atomic_fetch_add(&calls, 1);
    if (str_starts(req->path, STR("/slow")))
        take_long();
    if (str_is(req->path, "/who")) {
        who(req);
    } else if (str_is(req->path, "/hold")) {
        req->cancelled = on_cancelled;
        atomic_store(&held, req);
    } else if (str_is(req->path, "/watch")) {
        atomic_store(&watch, http_reply_stream(req, 200, NULL, 0, on_closed, NULL));
    } else if (str_is(req->path, "/source")) {
        struct zeros *z = arena_new_of(req->arena, struct zeros);

        *z = (struct zeros){ { pull_zeros }, 8 << 20 };
        http_reply_source(req, 200, NULL, 0, &z->source);
    } else {
        http_reply(req, 200, NULL, 0, &req->body, 1);
    }
}

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static struct http_server *new_server(const char *listen, const struct http_limits *limits,
                                      struct status *st)
{
    const struct http_server_options o = {
        .listen = str_of(listen),
        .loops = f.loops,
        .nloops = LOOPS,
        .limits = *limits,
        .plain = f.plain,
        .cert_pem = str_of(f.serving->cert_pem),
        .key_pem = secret_of(str_of(f.serving->key_pem)),
        .client_ca_pem = str_of(f.ca->cert_pem),
        .handler = handle,
        .whose = whose,
    };

    return http_server_new(&o, st);
}

static void start(const struct http_limits *limits)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    atomic_store(&calls, 0);
    atomic_store(&cancelled, 0);
    atomic_store(&closed, 0);
    atomic_store(&held, NULL);
    atomic_store(&watch, NULL);
    f.ca = identity_new(&(struct identity_options){ .cn = "ca" });
    f.other_ca = identity_new(&(struct identity_options){ .cn = "ca" });
    f.serving = identity_new(&(struct identity_options){ .cn = "server", .ca = f.ca });
    f.admin = identity_new(&(struct identity_options){ .cn = "admin",
                                                       .orgs = { "system:masters", "others" },
                                                       .san = "URI:spiffe://a/b,DNS:x",
                                                       .ca = f.ca });
    for (int i = 0; i < LOOPS; i++)
        f.loops[i] = loop_new();
    f.server = new_server("127.0.0.1:0", limits, &st);
    if (!CHECK(f.server))
        abort();
    (void)snprintf(f.address, sizeof(f.address), "%.*s", STR_ARG(http_server_address(f.server)));
    for (int i = 0; i < LOOPS; i++)
        if (pthread_create(&f.threads[i], NULL, run_loop, f.loops[i]) != 0)
            abort();
}

static void join_loops(void)
{
    for (int i = 0; i < LOOPS; i++) {
        loop_stop(f.loops[i]);
        (void)pthread_join(f.threads[i], NULL);
    }
    for (int i = 0; i < LOOPS; i++)
        loop_free(f.loops[i]);
    http_server_free(f.server);
    identity_free(f.ca);
    identity_free(f.other_ca);
    identity_free(f.serving);
    identity_free(f.admin);
}

static void post_semaphore(void *arg)
{
    (void)sem_post(arg);
}

/* Waits until the server has stopped; false when it takes more than 10 seconds. */
static bool stop(int64_t grace_ms)
{
    struct timespec until;
    sem_t done;
    bool ok;

    (void)sem_init(&done, 0, 0);
    http_server_stop(f.server, grace_ms, post_semaphore, &done);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    ok = sem_timedwait(&done, &until) == 0;
    (void)sem_destroy(&done);
    return ok;
}

static void finish(void)
{
    CHECK(stop(1000));
    join_loops();
}

/* ---- requests over HTTP/1.1 ---- */

/* Reads until the text is there, or the end. */
static bool read_until(struct tls_client *c, struct buf *b, const char *text)
{
    while (!str_contains(buf_str(b), str_of(text)))
        if (!tls_client_read(c, b))
            return false;
    return true;
}

/* The body of GET /who with this client, or why not. */
static void ask_who(const struct tls_client_options *o, char *out, size_t size)
{
    static const char request[] = "GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    struct tls_client c;
    scoped_buf b;
    char *body;

    buf_init(&b, 1 << 20);
    (void)snprintf(out, size, "no handshake");
    if (tls_client_open(&c, f.address, o)) {
        tls_client_write(&c, request, sizeof(request) - 1);
        while (tls_client_read(&c, &b))
            ;
        buf_byte(&b, '\0');
        body = strstr(b.p, "\r\n\r\n");
        (void)snprintf(out, size, "%s", body ? body + 4 : "no reply");
    }
    tls_client_close(&c);
}

TEST(alpn_chooses_the_protocol)
{
    static const struct {
        const char *alpn, *want;
    } cases[] = {
        { NULL, "" },
        { "\x08http/1.1", "http/1.1" },
        { "\x08http/1.1\x02h2", "h2" },
        { "\x06spdy/3", NULL },
    };

    start(&HTTP_LIMITS_DEFAULT);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tls_client c;
        const unsigned char *p = NULL;
        unsigned n = 0;
        bool ok =
            tls_client_open(&c, f.address, &(struct tls_client_options){ .alpn = cases[i].alpn });

        CHECK(ok == (cases[i].want != NULL));
        SSL_get0_alpn_selected(c.ssl, &p, &n);
        if (ok)
            CHECK(str_is((str){ (const char *)p, n }, cases[i].want));
        tls_client_close(&c);
    }
    finish();
}

TEST(only_new_versions_of_tls_are_spoken)
{
    struct tls_client c;

    start(&HTTP_LIMITS_DEFAULT);
    CHECK(!tls_client_open(&c, f.address,
                           &(struct tls_client_options){ .max_version = TLS1_1_VERSION }));
    tls_client_close(&c);
    CHECK(tls_client_open(&c, f.address,
                          &(struct tls_client_options){ .max_version = TLS1_2_VERSION }));
    tls_client_close(&c);
    finish();
}

TEST(client_certificates_tell_who_it_is)
{
    struct identity *id;
    char got[256];

    start(&HTTP_LIMITS_DEFAULT);
    ask_who(&(struct tls_client_options){ 0 }, got, sizeof(got));
    CHECK_STR(got, "cn=- orgs=0 last=- uri=- rejected=0 v1");
    ask_who(&(struct tls_client_options){ .identity = f.admin }, got, sizeof(got));
    CHECK_STR(got, "cn=admin orgs=2 last=others uri=spiffe://a/b rejected=0 v1");
    ask_who(&(struct tls_client_options){ .identity = f.admin, .max_version = TLS1_2_VERSION }, got,
            sizeof(got));
    CHECK_STR(got, "cn=admin orgs=2 last=others uri=spiffe://a/b rejected=0 v1");

    /* Signed by a CA that only bears the same name. */
    id = identity_new(&(struct identity_options){ .cn = "admin", .ca = f.other_ca });
    ask_who(&(struct tls_client_options){ .identity = id }, got, sizeof(got));
    CHECK_STR(got, "cn=- orgs=0 last=- uri=- rejected=1 v1");
    identity_free(id);

    id = identity_new(
        &(struct identity_options){ .cn = "admin", .ca = f.ca, .from_s = -7200, .to_s = -3600 });
    ask_who(&(struct tls_client_options){ .identity = id }, got, sizeof(got));
    CHECK_STR(got, "cn=- orgs=0 last=- uri=- rejected=1 v1");
    identity_free(id);
    finish();
}

TEST(a_resumed_session_is_still_the_same_client)
{
    static const char request[] = "GET /who HTTP/1.1\r\nHost: a\r\n\r\n";
    struct tls_client c;
    SSL_SESSION *session;
    scoped_buf b;

    start(&HTTP_LIMITS_DEFAULT);
    buf_init(&b, 1 << 20);
    REQUIRE(tls_client_open(&c, f.address, &(struct tls_client_options){ .identity = f.admin }));
    tls_client_write(&c, request, sizeof(request) - 1);
    CHECK(read_until(&c, &b, "cn=admin"));
    session = SSL_get1_session(c.ssl); /* with the ticket, which came before the reply */
    tls_client_close(&c);
    buf_clear(&b);
    REQUIRE(tls_client_open(&c, f.address, &(struct tls_client_options){ .session = session }));
    CHECK(SSL_session_reused(c.ssl));
    tls_client_write(&c, request, sizeof(request) - 1);
    CHECK(read_until(&c, &b, "cn=admin orgs=2 last=others uri=spiffe://a/b rejected=0"));
    tls_client_close(&c);
    SSL_SESSION_free(session);
    finish();
}

TEST(new_connections_use_a_reloaded_certificate)
{
    scoped_arena a = arena_new();
    struct identity *id;
    struct tls_client c;
    struct status st;
    char cn[32] = "";

    start(&HTTP_LIMITS_DEFAULT);
    status_init(&st, a);
    id = identity_new(&(struct identity_options){ .cn = "renewed", .ca = f.ca });
    CHECK(http_server_reload(f.server, str_of(id->cert_pem), secret_of(str_of(f.serving->key_pem)),
                             &st) < 0);
    CHECK(str_contains(st.message, STR("the key does not belong to it")));
    status_reset(&st);
    CHECK(http_server_reload(f.server, str_of(id->cert_pem), secret_of(str_of(id->key_pem)), &st) ==
          0);
    REQUIRE(tls_client_open(&c, f.address, &(struct tls_client_options){ 0 }));
    (void)X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(c.ssl)),
                                    NID_commonName, cn, sizeof(cn));
    CHECK_STR(cn, "renewed");
    tls_client_close(&c);
    identity_free(id);
    finish();
}

TEST(what_cannot_be_served_says_why)
{
    scoped_arena a = arena_new();
    struct status st;

    start(&HTTP_LIMITS_DEFAULT);
    status_init(&st, a);
    CHECK(!new_server(f.address, &HTTP_LIMITS_DEFAULT, &st));
    CHECK(str_contains(st.message, STR("the address is in use; stop the server that has it")));
    status_reset(&st);
    CHECK(!new_server("localhost", &HTTP_LIMITS_DEFAULT, &st));
    CHECK(str_contains(st.message, STR("the port is missing")));
    status_reset(&st);
    f.serving->key_pem[40] = '!';
    CHECK(!new_server("127.0.0.1:0", &HTTP_LIMITS_DEFAULT, &st));
    CHECK(str_contains(st.message, STR("serving key")));
    finish();
}

TEST(a_handshake_that_takes_too_long_is_closed)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_stats stats;
    char byte;
    int fd;

    limits.handshake_ms = 50;
    start(&limits);
    fd = tcp_connect(f.address);
    CHECK(write(fd, "\x16\x03", 2) == 2);
    CHECK(read(fd, &byte, 1) <= 0);
    (void)close(fd);
    http_server_stats(f.server, &stats);
    CHECK(stats.rejected_limits == 1 && stats.connections == 1);
    finish();
}

TEST(what_is_not_tls_is_closed)
{
    char reply[64];
    ssize_t n;
    int fd;

    start(&HTTP_LIMITS_DEFAULT);
    fd = tcp_connect(f.address);
    CHECK(write(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27) == 27);
    n = read(fd, reply, sizeof(reply));
    CHECK(n <= 7); /* at most an alert */
    while (n > 0)
        n = read(fd, reply, sizeof(reply));
    (void)close(fd);
    finish();
}

/* All that comes on a connection until its end. */
static void read_to_the_end(int fd, char *out, size_t size)
{
    size_t n = 0;
    ssize_t got;

    while (n < size - 1 && (got = read(fd, out + n, size - 1 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
}

TEST(without_tls_it_is_http1_and_nobody_is_known)
{
    static const char request[] = "GET /who HTTP/1.1\r\nHost: a\r\n\r\n"
                                  "GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    static const char body[] = "cn=- orgs=0 last=- uri=- rejected=0 v1";
    char reply[2048], *second;
    int fd;

    f.plain = true;
    start(&HTTP_LIMITS_DEFAULT);
    fd = tcp_connect(f.address);
    CHECK(write(fd, request, sizeof(request) - 1) == sizeof(request) - 1);
    read_to_the_end(fd, reply, sizeof(reply));
    (void)close(fd);
    CHECK(strncmp(reply, "HTTP/1.1 200 OK\r\n", 17) == 0);
    second = strstr(reply, body);
    CHECK(second && strstr(second + 1, body));
    fd = tcp_connect(f.address); /* a client that wants TLS gets none */
    CHECK(write(fd, "\x16\x03\x01\x00\x05hello\r\n\r\n", 14) == 14);
    read_to_the_end(fd, reply, sizeof(reply));
    CHECK(strncmp(reply, "HTTP/1.1 400 ", 13) == 0);
    (void)close(fd);
    finish();
    f.plain = false;
}

TEST(more_connections_than_allowed_are_closed)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct tls_client a, b, c;
    struct http_stats stats;
    char byte;
    int fd;

    limits.connections = 2;
    start(&limits);
    REQUIRE(tls_client_open(&a, f.address, &(struct tls_client_options){ 0 }));
    REQUIRE(tls_client_open(&b, f.address, &(struct tls_client_options){ 0 }));
    fd = tcp_connect(f.address);
    CHECK(read(fd, &byte, 1) <= 0);
    (void)close(fd);
    tls_client_close(&a);
    do
        http_server_stats(f.server, &stats);
    while (stats.connections_open > 1);
    CHECK(tls_client_open(&c, f.address, &(struct tls_client_options){ 0 }));
    tls_client_close(&b);
    tls_client_close(&c);
    finish();
}

/* ---- HTTP/2 ---- */

struct h2_client {
    struct tls_client tls;
    nghttp2_hd_inflater *inflater;
    struct buf in, out;
    size_t at;
};

static bool h2_client_open(struct h2_client *c)
{
    const struct tls_client_options o = { .alpn = "\x02h2", .identity = f.admin };

    if (!tls_client_open(&c->tls, f.address, &o) || nghttp2_hd_inflate_new(&c->inflater) != 0)
        return false;
    c->at = 0;
    buf_init(&c->in, 64 << 20);
    buf_init(&c->out, 1 << 20);
    buf_append(&c->out, h2_preface, sizeof(h2_preface) - 1);
    h2_frame(&c->out, SETTINGS, 0, 0, NULL, 0);
    return true;
}

static void h2_client_close(struct h2_client *c)
{
    tls_client_close(&c->tls);
    nghttp2_hd_inflate_del(c->inflater);
    buf_release(&c->in);
    buf_release(&c->out);
}

static void h2_client_flush(struct h2_client *c)
{
    tls_client_write(&c->tls, c->out.p, c->out.n);
    buf_clear(&c->out);
}

/* The next frame of the stream (0: of the connection) and type; false at the end. */
static bool h2_client_wait(struct h2_client *c, int type, int32_t id, struct h2_got *got)
{
    for (;;) {
        while (h2_next(buf_str(&c->in), &c->at, c->inflater, got))
            if (got->type == type && got->id == id)
                return true;
        if (!tls_client_read(&c->tls, &c->in))
            return false;
    }
}

TEST(a_large_reply_comes_whole_over_http2)
{
    struct h2_client c;
    struct h2_got got;
    size_t n = 0;

    start(&HTTP_LIMITS_DEFAULT);
    REQUIRE(h2_client_open(&c));
    h2_u32_frame(&c.out, WINDOW_UPDATE, 0, 0, 64 << 20);
    h2_request(&c.out, 1, "GET", "/source", END_STREAM);
    h2_u32_frame(&c.out, WINDOW_UPDATE, 0, 1, 64 << 20);
    h2_client_flush(&c);
    do {
        REQUIRE(h2_client_wait(&c, DATA, 1, &got));
        n += got.payload.n;
    } while (!(got.flags & END_STREAM));
    CHECK(n == 8 << 20);
    h2_client_close(&c);
    finish();
}

struct push {
    struct loop *loop;
    const char *text;
    sem_t done;
};

static void push_now(void *arg)
{
    struct push *p = arg;
    struct bytes *b = bytes_new(strlen(p->text));

    memcpy(b->p, p->text, strlen(p->text));
    CHECK(http_stream_push(atomic_load(&watch), b));
    bytes_unref(b);
    (void)sem_post(&p->done);
}

TEST(a_watch_gets_what_is_pushed_and_notices_the_client_leave)
{
    struct h2_client c;
    struct h2_got got;
    struct push p = { .text = "event\n" };

    start(&HTTP_LIMITS_DEFAULT);
    (void)sem_init(&p.done, 0, 0);
    REQUIRE(h2_client_open(&c));
    h2_request(&c.out, 1, "GET", "/watch", END_STREAM);
    h2_client_flush(&c);
    REQUIRE(h2_client_wait(&c, HEADERS, 1, &got));
    CHECK(got.status == 200);
    loop_call(f.loops[0], push_now, &p); /* the first connection is on the first loop */
    (void)sem_wait(&p.done);
    REQUIRE(h2_client_wait(&c, DATA, 1, &got));
    CHECK(str_is(got.payload, "event\n"));
    h2_client_close(&c);
    while (atomic_load(&closed) == 0)
        (void)usleep(1000);
    (void)sem_destroy(&p.done);
    finish();
}

static void reply_held(void *arg)
{
    (void)arg;
    http_reply(atomic_exchange(&held, NULL), 202, NULL, 0, NULL, 0);
}

struct stopping {
    pthread_t thread;
    int64_t grace_ms;
    bool ok;
};

static void *stop_there(void *arg)
{
    struct stopping *s = arg;

    s->ok = stop(s->grace_ms);
    return NULL;
}

TEST(stopping_says_goaway_ends_watches_and_waits_for_requests)
{
    struct stopping s = { .grace_ms = 8000 };
    struct h2_client c;
    struct h2_got got;
    int fd;

    start(&HTTP_LIMITS_DEFAULT);
    REQUIRE(h2_client_open(&c));
    h2_request(&c.out, 1, "GET", "/watch", END_STREAM);
    h2_request(&c.out, 3, "GET", "/hold", END_STREAM);
    h2_client_flush(&c);
    REQUIRE(h2_client_wait(&c, HEADERS, 1, &got));
    while (!atomic_load(&held))
        (void)usleep(1000);
    REQUIRE(pthread_create(&s.thread, NULL, stop_there, &s) == 0);
    CHECK(h2_client_wait(&c, GOAWAY, 0, &got));
    CHECK(h2_client_wait(&c, DATA, 1, &got));
    CHECK(got.flags & END_STREAM && atomic_load(&closed) == 1);
    fd = tcp_connect(f.address);
    CHECK(fd < 0); /* nobody listens any more */
    loop_call(f.loops[0], reply_held, NULL);
    CHECK(h2_client_wait(&c, HEADERS, 3, &got));
    CHECK(got.status == 202);
    CHECK(!h2_client_wait(&c, DATA, 99, &got)); /* the end */
    h2_client_close(&c);
    (void)pthread_join(s.thread, NULL);
    CHECK(s.ok && atomic_load(&cancelled) == 0);
    join_loops();
}

TEST(stopping_does_not_wait_longer_than_it_says)
{
    struct h2_client c;
    struct h2_got got;

    start(&HTTP_LIMITS_DEFAULT);
    REQUIRE(h2_client_open(&c));
    h2_request(&c.out, 1, "GET", "/hold", END_STREAM);
    h2_client_flush(&c);
    while (!atomic_load(&held))
        (void)usleep(1000);
    CHECK(stop(20));
    CHECK(atomic_load(&cancelled) == 1);
    CHECK(!h2_client_wait(&c, HEADERS, 1, &got));
    h2_client_close(&c);
    join_loops();
}

TEST(a_server_may_be_freed_with_connections_open)
{
    struct h2_client c;
    struct h2_got got;

    start(&HTTP_LIMITS_DEFAULT);
    REQUIRE(h2_client_open(&c));
    h2_request(&c.out, 1, "GET", "/hold", END_STREAM);
    h2_request(&c.out, 3, "GET", "/watch", END_STREAM);
    h2_client_flush(&c);
    REQUIRE(h2_client_wait(&c, HEADERS, 3, &got));
    join_loops();
    CHECK(atomic_load(&closed) == 1 && atomic_load(&cancelled) == 1);
    h2_client_close(&c);
}

/* ---- many at once ---- */

enum { CLIENTS = 6, ROUNDS = 20, AT_ONCE = 10 };

static void *many_requests(void *arg)
{
    struct h2_client c;
    struct h2_got got;
    int32_t id = 1;
    intptr_t bad = 0;

    (void)arg;
    if (!h2_client_open(&c))
        return (void *)1;
    for (int r = 0; r < ROUNDS; r++) {
        int32_t first = id;

        for (int i = 0; i < AT_ONCE; i++, id += 2) {
            h2_request(&c.out, id, "POST", "/echo", 0);
            h2_frame(&c.out, DATA, END_STREAM, id, &id, sizeof(id));
        }
        h2_client_flush(&c);
        for (; first < id; first += 2)
            bad += !h2_client_wait(&c, DATA, first, &got) || got.payload.n != sizeof(id) ||
                   memcmp(got.payload.p, &first, sizeof(id)) != 0;
    }
    h2_client_close(&c);
    return (void *)bad;
}

/* More than is handed on at once, of many records, while each of them takes a turn. */
TEST(what_was_read_and_waits_for_its_turn_is_not_lost)
{
    enum { N = 100, BODY = 2000 };
    static char body[BODY];
    struct h2_client c;
    struct h2_got got;

    start(&HTTP_LIMITS_DEFAULT);
    REQUIRE(h2_client_open(&c));
    h2_u32_frame(&c.out, WINDOW_UPDATE, 0, 0, 1 << 20);
    for (int32_t i = 0; i < N; i++) {
        memset(body, 'a' + i % 26, BODY);
        h2_request(&c.out, 2 * i + 1, "POST", i % 3 ? "/slow" : "/slower", 0);
        h2_frame(&c.out, DATA, END_STREAM, 2 * i + 1, body, BODY);
    }
    h2_client_flush(&c);
    for (int n = 0; n < N;) {
        size_t at = c.at;

        if (!h2_next(buf_str(&c.in), &c.at, c.inflater, &got)) {
            CHECK(c.at == at);
            REQUIRE(tls_client_read(&c.tls, &c.in));
            continue;
        }
        if (got.type != DATA || !got.payload.n)
            continue;
        CHECK(got.payload.n == BODY && got.payload.p[0] == 'a' + got.id / 2 % 26);
        n++;
    }
    h2_client_close(&c);
    finish();
}

TEST(many_clients_on_two_loops)
{
    pthread_t t[CLIENTS];
    struct http_stats stats;
    void *bad;

    start(&HTTP_LIMITS_DEFAULT);
    for (int i = 0; i < CLIENTS; i++)
        REQUIRE(pthread_create(&t[i], NULL, many_requests, NULL) == 0);
    for (int i = 0; i < CLIENTS; i++) {
        (void)pthread_join(t[i], &bad);
        CHECK(!bad);
    }
    CHECK(stop(1000));
    http_server_stats(f.server, &stats);
    CHECK(stats.requests == CLIENTS * ROUNDS * AT_ONCE && atomic_load(&calls) == stats.requests);
    CHECK(stats.connections == CLIENTS && stats.connections_open == 0 && stats.requests_open == 0);
    CHECK(stats.bytes_in > 0 && stats.bytes_out > 0 && stats.rejected_limits == 0);
    join_loops();
}
