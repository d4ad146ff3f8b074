/* SPDX-License-Identifier: Apache-2.0 */

/* The HTTP transport against our own server, over TLS: what a kubeconfig says must arrive. */

#include "client/http_transport.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "client/client.h"
#include "client/informer.h"
#include "http/pki.h"
#include "tap.h"

struct bed {
    struct arena *arena;
    struct loop *loop;
    struct http_server *server;
    pthread_t thread;
    struct pki_pair ca, cert, user;
    struct kubeconfig k;
    str address;
    bool ok;
};

/* {"path":…,"auth":…,"as":…,"groups":…,"cn":…} */
static void echo(struct http_request *req)
{
    str *pieces = arena_array(req->arena, str, 1);
    scoped_buf groups;

    buf_init(&groups, 4096);
    for (size_t i = 0; i < req->nheaders; i++)
        if (str_is(req->headers[i].name, "impersonate-group"))
            buf_printf(&groups, "%.*s,", STR_ARG(req->headers[i].value));
    pieces[0] = str_printf(
        req->arena,
        "{\"path\":\"%.*s\",\"auth\":\"%.*s\",\"as\":\"%.*s\",\"groups\":\"%.*s\",\"cn\":\"%.*s\"}",
        STR_ARG(req->path), STR_ARG(http_request_header(req, "authorization")),
        STR_ARG(http_request_header(req, "impersonate-user")), STR_ARG(buf_str(&groups)),
        STR_ARG(req->peer ? req->peer->cn : STR_NONE));
    http_reply(req, 200, NULL, 0, pieces, 1);
}

static void ignore_closed(struct http_stream *s, void *arg)
{
    (void)s;
    (void)arg;
}

static void watch(struct http_request *req)
{
    static const char events[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\","
                                 "\"resourceVersion\":\"2\"}}}\n"
                                 "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\","
                                 "\"resourceVersion\":\"3\"}}}\n";
    struct http_stream *s = http_reply_stream(req, 200, NULL, 0, ignore_closed, NULL);
    struct bytes *b = bytes_new(sizeof(events) - 1);

    memcpy(b->p, events, sizeof(events) - 1);
    (void)http_stream_push(s, b);
    bytes_unref(b);
}

static void handle(struct http_request *req, void *arg)
{
    static const str list = STR_INIT(
        "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":\"a\","
        "\"resourceVersion\":\"1\"}}]}");

    (void)arg;
    if (str_contains(req->query, STR("watch=true")))
        watch(req);
    else if (str_ends(req->path, STR("/listed")))
        http_reply(req, 200, NULL, 0, &list, 1);
    else
        echo(req);
}

static void *run(void *loop)
{
    loop_run(loop);
    return NULL;
}

static void bed_start(struct bed *b, struct status *st)
{
    static const str hosts[] = { STR_INIT("127.0.0.1") };
    struct http_server_options o = {
        .listen = STR("127.0.0.1:0"), .nloops = 1, .limits = HTTP_LIMITS_DEFAULT, .handler = handle
    };
    struct pki_request serving = { .cn = STR("s"), .hosts = hosts, .nhosts = 1 },
                       user = { .cn = STR("alice") };
    ptrdiff_t colon;

    *b = (struct bed){ .arena = arena_new(), .loop = loop_new() };
    status_init(st, b->arena);
    serving.now_s = user.now_s = time(NULL);
    serving.days = user.days = 1;
    if (pki_make_ca(b->arena, STR("ca"), time(NULL), 1, &b->ca, st) < 0 ||
        pki_sign(b->arena, &b->ca, &serving, &b->cert, st) < 0 ||
        pki_sign(b->arena, &b->ca, &user, &b->user, st) < 0)
        return;
    o.loops = &b->loop;
    o.cert_pem = b->cert.cert;
    o.key_pem = b->cert.key_pem;
    o.client_ca_pem = b->ca.cert;
    b->server = http_server_new(&o, st);
    if (!b->server || pthread_create(&b->thread, NULL, run, b->loop) != 0)
        return;
    b->address = str_dup(b->arena, http_server_address(b->server));
    colon = str_find(b->address, ':', 0);
    b->k = (struct kubeconfig){ .tls = true,
                                .host = str_sub(b->address, 0, (size_t)colon),
                                .port = str_from(b->address, (size_t)colon + 1),
                                .prefix = STR("/clusters/t1"),
                                .ca_pem = b->ca.cert };
    b->ok = true;
}

static void bed_end(struct bed *b)
{
    loop_stop(b->loop);
    (void)pthread_join(b->thread, NULL);
    loop_free(b->loop);
    http_server_free(b->server);
    arena_free(b->arena);
}

static const struct client_ref thing = { .version = STR_INIT("v1"),
                                         .resource = STR_INIT("things"),
                                         .name = STR_INIT("x") };

static const struct json *ask(struct bed *b, struct client *c, struct status *st)
{
    const struct json *v = NULL;

    if (!CHECK(client_get(c, b->arena, &thing, &v, st) == 0))
        printf("# %.*s\n", STR_ARG(st->message));
    return v;
}

TEST(credentials_prefix_and_impersonation_arrive)
{
    static const str groups[] = { STR_INIT("g1"), STR_INIT("g2") };
    struct status st;
    struct bed b;
    struct client *c;
    const struct json *v;

    bed_start(&b, &st);
    REQUIRE(b.ok);
    b.k.token = secret_of(STR("tok"));
    b.k.as = STR("bob");
    b.k.as_groups = groups;
    b.k.nas_groups = 2;
    c = client_open(NULL, &b.k, &st);
    REQUIRE(c);
    v = ask(&b, c, &st);
    CHECK(str_is(json_get_str(v, "path"), "/clusters/t1/api/v1/things/x"));
    CHECK(str_is(json_get_str(v, "auth"), "Bearer tok"));
    CHECK(str_is(json_get_str(v, "as"), "bob"));
    CHECK(str_is(json_get_str(v, "groups"), "g1,g2,"));
    client_free(c);
    bed_end(&b);
}

static void write_token(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

static void a_minute_later(void *loop)
{
    loop_skip_ms(loop, 60000);
}

/* Pods and node agents have tokens that are replaced while they run. */
TEST(a_token_in_a_file_is_read_again)
{
    static const struct {
        const char *text;
        bool later;
        const char *sent;
    } table[] = {
        { "one\n", false, "Bearer one" },    { "two\n", false, "Bearer one" }, /* not yet */
        { "two\n", true, "Bearer two" },     { "", true, "Bearer two" }, /* just being written */
        { " three ", true, "Bearer three" },
    };
    char path[] = "/tmp/token-test.XXXXXX";
    struct status st;
    struct bed b;
    struct client *c;
    int fd = mkstemp(path);

    REQUIRE(fd >= 0);
    (void)close(fd);
    bed_start(&b, &st);
    REQUIRE(b.ok);
    b.k.token = secret_of(STR("one"));
    b.k.token_file = str_of(path);
    c = client_open(NULL, &b.k, &st);
    REQUIRE(c);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        write_token(path, table[i].text);
        if (table[i].later)
            loop_call(client_loop(c), a_minute_later, client_loop(c));
        CHECK_STR(str_z(b.arena, json_get_str(ask(&b, c, &st), "auth")), table[i].sent);
    }
    client_free(c);
    bed_end(&b);
    (void)unlink(path);
}

TEST(client_certificates_and_passwords)
{
    struct status st;
    struct bed b;
    struct client *c;
    const struct json *v;

    bed_start(&b, &st);
    REQUIRE(b.ok);
    b.k.username = STR("u");
    b.k.password = secret_of(STR("p"));
    b.k.cert_pem = b.user.cert;
    b.k.key_pem = b.user.key_pem;
    c = client_open(NULL, &b.k, &st);
    REQUIRE(c);
    v = ask(&b, c, &st);
    CHECK(str_is(json_get_str(v, "auth"), "Basic dTpw"));
    CHECK(str_is(json_get_str(v, "cn"), "alice"));
    client_free(c);
    bed_end(&b);
}

TEST(a_server_of_another_ca_is_refused)
{
    struct status st;
    struct bed b;
    struct client *c;
    struct pki_pair other;

    bed_start(&b, &st);
    REQUIRE(b.ok);
    REQUIRE(pki_make_ca(b.arena, STR("other"), time(NULL), 1, &other, &st) == 0);
    b.k.ca_pem = other.cert;
    c = client_open(NULL, &b.k, &st);
    REQUIRE(c);
    CHECK(client_get(c, b.arena, &thing, NULL, &st) < 0);
    CHECK(st.reason == REASON_UNAVAILABLE);
    CHECK(str_contains(st.message, STR("certificate")));
    client_free(c);
    bed_end(&b);
}

struct told {
    struct loop *loop;
    int events;
};

static void on_added(void *arg, const struct informer_key *k, const struct json *now)
{
    struct told *t = arg;

    (void)k;
    (void)now;
    t->events++;
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    struct told *t = arg;

    (void)last;
    CHECK(str_is(k->name, "a"));
    t->events++;
    loop_stop(t->loop);
}

TEST(an_informer_over_http)
{
    struct status st;
    struct bed b;
    struct loop *l = loop_new();
    struct told t = { .loop = l };
    struct informer_options o = { .ref = { .version = STR("v1"), .resource = STR("listed") },
                                  .added = on_added,
                                  .deleted = on_deleted,
                                  .arg = &t };
    struct informer *i;

    bed_start(&b, &st);
    REQUIRE(b.ok);
    o.client = client_open(l, &b.k, &st);
    REQUIRE(o.client);
    i = informer_new(&o);
    informer_start(i);
    loop_run(l);
    CHECK(t.events == 3);
    informer_free(i);
    client_free(o.client);
    loop_free(l);
    bed_end(&b);
}
