/* SPDX-License-Identifier: Apache-2.0 */

/* Connections that become another protocol, through the proxy to a member and to an aggregated API
 * server: who may have one, when, and that every byte passes. */

#include <semaphore.h>

#include "apiserver/call/internal.h"
#include "apiserver/server/listener.h"
#include "fleet_rig.h"
#include "http/client.h"

#define API    "/apis/metrics.example.com/v1/namespaces/default/loads"
#define MEMBER "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/namespaces/d/pods/p"

enum { DAYS = 36500, MUCH = 3 << 20 };

/* ---- the server behind ---- */

static void echo(struct http_stream *s, void *arg, str bytes)
{
    struct bytes *b = bytes_new(bytes.n);

    (void)arg;
    memcpy(b->p, bytes.p, bytes.n);
    CHECK(http_stream_push(s, b));
    bytes_unref(b);
}

static atomic_int closes;

static void on_closed(struct http_stream *s, void *arg)
{
    (void)s;
    (void)arg;
    atomic_fetch_add(&closes, 1);
}

/* Sends by itself. */
static struct http_stream *ticking;

static void tick(void *arg)
{
    struct bytes *b = bytes_new(1);

    (void)arg;
    *b->p = 't';
    (void)http_stream_push(ticking, b);
    bytes_unref(b);
}

static void serve(struct fake *f, struct http_request *req)
{
    struct http_header h[] = {
        { STR("upgrade"), str_ends(req->path, STR("/other"))
                              ? STR("h2c")
                              : str_dup(req->arena, http_request_header(req, "upgrade")) },
        { STR("sec-websocket-protocol"), STR("v5.channel.k8s.io") },
        { STR("set-cookie"), STR("a=b") },
    };

    (void)f;
    if (str_is(req->path, "/apis/metrics.example.com/v1"))
        fake_answer(req, 200, STR("{\"kind\":\"APIResourceList\",\"resources\":[]}"));
    else if (str_ends(req->path, STR("/echo")) || str_ends(req->path, STR("/other")))
        ticking = http_reply_upgrade(req, h, 3, echo, on_closed, NULL);
    else if (str_ends(req->path, STR("/away")))
        http_reply(req, 302, &(struct http_header){ STR("location"), STR("https://x/") }, 1, NULL,
                   0);
    else
        fake_answer(req, 403, STR("{\"kind\":\"Status\",\"code\":403,\"message\":\"no\"}"));
}

/* ---- the rig ---- */

struct world {
    struct fleet_rig f;
    struct fake fake;
    struct listener *port;
    struct pki_pair ca;
    struct loop *loop; /* of the callers */
    pthread_t thread;
    struct http_client *admin, *nobody;
};

struct caller {
    struct http_call http;
    struct http_client *client;
    sem_t headed, over;
    int code;
    char upgrade[32], protocol[64], cookie[16];
    struct buf got;
    size_t want;
    sem_t enough;
    bool failed;
};

static void on_head(struct http_call *http, int status, const struct http_header *h, size_t n)
{
    struct caller *c = http->user;

    c->code = status;
    for (size_t i = 0; i < n; i++) {
        if (str_is(h[i].name, "upgrade"))
            (void)snprintf(c->upgrade, sizeof(c->upgrade), "%.*s", STR_ARG(h[i].value));
        if (str_is(h[i].name, "sec-websocket-protocol"))
            (void)snprintf(c->protocol, sizeof(c->protocol), "%.*s", STR_ARG(h[i].value));
        if (str_is(h[i].name, "set-cookie"))
            (void)snprintf(c->cookie, sizeof(c->cookie), "%.*s", STR_ARG(h[i].value));
    }
    (void)sem_post(&c->headed);
}

static void on_data(struct http_call *http, str bytes)
{
    struct caller *c = http->user;
    bool before = c->got.n < c->want;

    buf_str_append(&c->got, bytes);
    if (before && c->got.n >= c->want)
        (void)sem_post(&c->enough);
}

static void on_end(struct http_call *http, const struct status *why)
{
    struct caller *c = http->user;

    c->failed = why != NULL;
    if (!c->code)
        (void)sem_post(&c->headed);
    (void)sem_post(&c->over);
}

static void start(void *arg)
{
    struct caller *c = arg;

    http_client_call(c->client, &c->http);
}

static void cancel(void *arg)
{
    struct caller *c = arg;

    http_call_cancel(c->client, &c->http);
}

static void open_call(struct world *w, struct caller *c, struct http_client *client,
                      const char *path, const struct http_header *h, size_t n)
{
    *c = (struct caller){ .client = client,
                          .http = { .method = STR("GET"),
                                    .path = str_of(path),
                                    .headers = h,
                                    .nheaders = n,
                                    .upgrade = true,
                                    .head = on_head,
                                    .data = on_data,
                                    .end = on_end } };
    c->http.user = c;
    buf_init(&c->got, 64 << 20);
    (void)sem_init(&c->headed, 0, 0);
    (void)sem_init(&c->over, 0, 0);
    (void)sem_init(&c->enough, 0, 0);
    loop_call(w->loop, start, c);
    (void)sem_wait(&c->headed);
}

static void close_call(struct world *w, struct caller *c)
{
    loop_call_wait(w->loop, cancel, c);
    buf_release(&c->got);
}

static const struct http_header websocket[] = {
    { STR_INIT("upgrade"), STR_INIT("websocket") },
    { STR_INIT("sec-websocket-key"), STR_INIT("AAAA") },
    { STR_INIT("sec-websocket-protocol"),
      STR_INIT("v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0") },
    { STR_INIT("x-remote-user"), STR_INIT("eve") },
    { STR_INIT("authorization"), STR_INIT("Bearer no") },
};

static struct http_client *client_to(struct world *w, const struct pki_pair *who)
{
    str address = listener_address(w->port);
    struct http_client_options o = { .loop = w->loop,
                                     .host = STR("127.0.0.1"),
                                     .port = str_from(address, 10),
                                     .tls = true,
                                     .ca_pem = w->ca.cert,
                                     .cert_pem = who ? who->cert : STR_NONE,
                                     .key_pem = who ? who->key_pem : SECRET_NONE };
    struct http_client *c = http_client_new(&o, &w->f.rig.st);

    CHECK(c != NULL);
    return c;
}

static void open_port(struct world *w)
{
    static const str hosts[] = { STR_INIT("127.0.0.1") };
    static const str masters[] = { STR_INIT("system:masters") };
    struct rig *r = &w->f.rig;
    struct pki_pair serving, admin;
    struct listener_options o = { .server = r->host->server,
                                  .listen = STR("127.0.0.1:0"),
                                  .instance = STR("demo"),
                                  .loops = &r->host->loop,
                                  .nloops = 1,
                                  .http = HTTP_LIMITS_DEFAULT };

    CHECK(pki_make_ca(r->arena, STR("ca"), RIG_NOW, DAYS, &w->ca, &r->st) == 0);
    CHECK(
        pki_sign(
            r->arena, &w->ca,
            &(struct pki_request){
                .cn = STR("server"), .hosts = hosts, .nhosts = 1, .now_s = RIG_NOW, .days = DAYS },
            &serving, &r->st) == 0);
    CHECK(pki_sign(
              r->arena, &w->ca,
              &(struct pki_request){
                  .cn = STR("admin"), .orgs = masters, .norgs = 1, .now_s = RIG_NOW, .days = DAYS },
              &admin, &r->st) == 0);
    o.cert_pem = serving.cert;
    o.key_pem = serving.key_pem;
    o.client_ca_pem = w->ca.cert;
    w->port = listener_new(&o, &r->st);
    REQUIRE(w->port != NULL);
    w->admin = client_to(w, &admin);
    w->nobody = client_to(w, NULL);
}

static void allow_loopback(void *arg)
{
    ((struct server *)arg)->egress.loopback = true;
}

static bool is_available(struct rig *r)
{
    const struct json *v = NULL;

    for (int i = 0; i < 1000; i++) {
        if (ask_api(r, "GET",
                    "/clusters/demo/apis/apiregistration.k8s.io/v1/apiservices/"
                    "v1.metrics.example.com",
                    "", &v) == 200)
            json_for_each (c, json_path(v, "status.conditions"))
                if (str_is(json_get_str(c, "reason"), "Passed"))
                    return true;
        (void)usleep(10000);
    }
    return false;
}

static void open_world(struct world *w)
{
    struct rig *r = &w->f.rig;
    str address;

    *w = (struct world){ 0 };
    fleet_rig_open(&w->f, NULL);
    loop_call_wait(r->host->loop, allow_loopback, r->host->server);
    server_start_collecting(r->host->server);
    fake_open(&w->fake);
    w->fake.handler = serve;
    address = http_server_address(w->fake.http);
    add_cluster(&w->f, "demo", "m1", address, STR("t"), w->fake.ca.cert);
    CHECK(ask_api(r, "POST", "/clusters/demo/api/v1/namespaces/default/services",
                  "{\"metadata\":{\"name\":\"api\"},\"spec\":{\"type\":\"ExternalName\","
                  "\"externalName\":\"localhost\"}}",
                  NULL) == 200);
    CHECK(ask_api(r, "POST", "/clusters/demo/apis/apiregistration.k8s.io/v1/apiservices",
                  arena_printf(r->arena,
                               "{\"metadata\":{\"name\":\"v1.metrics.example.com\"},\"spec\":{"
                               "\"group\":\"metrics.example.com\",\"version\":\"v1\","
                               "\"groupPriorityMinimum\":100,\"versionPriority\":10,\"caBundle\":"
                               "\"%.*s\",\"service\":{\"namespace\":\"default\",\"name\":\"api\","
                               "\"port\":%.*s}}}",
                               STR_ARG(base64_encode(r->arena, BASE64_STD, w->fake.ca.cert)),
                               STR_ARG(str_from(address, 10))),
                  NULL) == 200);
    CHECK(is_available(r));
    w->loop = loop_new();
    if (pthread_create(&w->thread, NULL, fake_run, w->loop) != 0)
        exit(1);
    open_port(w);
}

static void free_clients(void *arg)
{
    struct world *w = arg;

    http_client_free(w->admin);
    http_client_free(w->nobody);
}

static void close_world(struct world *w)
{
    struct rig *r = &w->f.rig;

    loop_call_wait(w->loop, free_clients, w);
    loop_stop(w->loop);
    (void)pthread_join(w->thread, NULL);
    loop_free(w->loop);
    server_stop_collecting(r->host->server);
    loop_call_wait(r->host->loop, fleet_rig_free_fleet, w->f.fleet);
    loop_stop(r->host->loop);
    (void)pthread_join(r->thread, NULL);
    epoch_enter();
    client_free(r->client);
    listener_free(w->port);
    epoch_exit();
    host_free(r->host);
    fake_close(&w->fake);
}

/* ---- */

struct parcel {
    struct caller *to;
    str bytes;
};

static void post(void *arg)
{
    struct parcel *p = arg;

    http_call_send(&p->to->http, p->bytes);
}

static void send_much(struct world *w, struct caller *c)
{
    scoped_buf b = { .max = MUCH };

    for (unsigned i = 0; b.n < MUCH; i++)
        buf_byte(&b, (char)(i * 7 + i / 251));
    c->want = MUCH;
    for (size_t at = 0; at < MUCH; at += MUCH / 8)
        loop_call_wait(w->loop, post, &(struct parcel){ c, str_sub(buf_str(&b), at, MUCH / 8) });
    (void)sem_wait(&c->enough);
    CHECK(c->got.n == MUCH && memcmp(c->got.p, b.p, MUCH) == 0);
}

TEST(bytes_pass_both_ways)
{
    static const char *const paths[] = { API "/x/echo", MEMBER "/echo" };
    struct world w;

    open_world(&w);
    for (size_t i = 0; i < 2; i++) {
        struct caller c;
        int before = atomic_load(&closes);

        open_call(&w, &c, w.admin, paths[i], websocket, 3);
        CHECK(c.code == 101);
        CHECK(strcmp(c.upgrade, "websocket") == 0);
        CHECK(strcmp(c.protocol, "v5.channel.k8s.io") == 0 && !c.cookie[0]);
        CHECK(fake_saw(&w.fake, "sec-websocket-protocol: v5.channel.k8s.io\n"));
        CHECK(fake_saw(&w.fake, i ? "authorization: Bearer t\n" : "x-remote-user: admin\n"));
        send_much(&w, &c);
        close_call(&w, &c);
        for (int n = 0; n < 500 && atomic_load(&closes) == before; n++)
            (void)usleep(10000);
        CHECK(atomic_load(&closes) == before + 1);
    }
    close_world(&w);
}

static void pause_call(void *arg)
{
    http_call_pause(&((struct caller *)arg)->http, true);
}

static void go_on(void *arg)
{
    http_call_pause(&((struct caller *)arg)->http, false);
}

TEST(a_slow_caller_holds_up_the_other_side)
{
    struct world w;
    struct caller c;

    open_world(&w);
    open_call(&w, &c, w.admin, API "/x/echo", websocket, 3);
    REQUIRE(c.code == 101);
    loop_call_wait(w.loop, pause_call, &c);
    for (size_t i = 0; i < 8; i++) {
        scoped_buf b = { .max = MUCH };

        while (b.n < MUCH / 8)
            buf_byte(&b, (char)i);
        loop_call_wait(w.loop, post, &(struct parcel){ &c, buf_str(&b) });
    }
    (void)usleep(200000);
    c.want = MUCH;
    loop_call_wait(w.loop, go_on, &c);
    (void)sem_wait(&c.enough);
    for (size_t i = 0; i < MUCH; i++)
        if (!CHECK(c.got.p[i] == (char)(i / (MUCH / 8))))
            break;
    close_call(&w, &c);
    close_world(&w);
}

/* CVE-2018-1002105, CVE-2020-8559, CVE-2022-3172: only a real 101 gives the connection away. */
TEST(class_upgrade_confusion_any_other_answer_is_an_answer_and_the_end)
{
    static const struct {
        const char *path;
        int code;
    } answers[] = {
        { API "/x/no", 403 },     { MEMBER "/no", 403 },  { API "/x/other", 503 },
        { MEMBER "/other", 503 }, { API "/x/away", 502 }, { MEMBER "/away", 503 },
    };
    struct world w;

    open_world(&w);
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        struct caller c;

        open_call(&w, &c, w.admin, answers[i].path, websocket, 3);
        if (!CHECK(c.code == answers[i].code))
            printf("# %s: %d\n", answers[i].path, c.code);
        (void)sem_wait(&c.over); /* the answer is whole */
        CHECK(!c.failed && c.got.n > 0);
        close_call(&w, &c);
    }
    CHECK(atomic_load(&w.f.rig.host->server->reads) == 0);
    close_world(&w);
}

TEST(class_upgrade_confusion_nobody_gets_one_without_the_right)
{
    static const struct http_header h2c[] = { { STR_INIT("upgrade"), STR_INIT("h2c") } };
    struct world w;
    struct caller c;
    unsigned before;

    open_world(&w);
    before = atomic_load(&w.fake.requests);
    open_call(&w, &c, w.nobody, API "/x/echo", websocket, 4);
    CHECK(c.code == 401 || c.code == 403);
    close_call(&w, &c);
    open_call(&w, &c, w.nobody, API "/x/echo", websocket, 5);
    CHECK(c.code == 401);
    close_call(&w, &c);
    open_call(&w, &c, w.nobody, MEMBER "/echo", websocket, 3);
    CHECK(c.code == 401 || c.code == 403);
    close_call(&w, &c);
    open_call(&w, &c, w.admin, API "/x/echo", h2c, 1);
    CHECK(c.code == 400);
    close_call(&w, &c);
    CHECK(atomic_load(&w.fake.requests) == before);
    open_call(&w, &c, w.admin, API "/x/echo", websocket, 4);
    CHECK(c.code == 101);
    CHECK(fake_saw(&w.fake, "x-remote-user: admin\n"));
    CHECK(!strstr(w.fake.seen, "eve"));
    close_call(&w, &c);
    close_world(&w);
}

/* ---- what is withdrawn while it is open ---- */

#define RIGHTS "/clusters/demo/apis/rbac.authorization.k8s.io/v1"

static void bind_bot(struct rig *r)
{
    CHECK(ask_api(r, "POST", RIGHTS "/clusterrolebindings",
                  "{\"metadata\":{\"name\":\"loads\"},\"roleRef\":{\"apiGroup\":"
                  "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"loads\"},"
                  "\"subjects\":[{\"kind\":\"ServiceAccount\",\"namespace\":\"default\",\"name\":"
                  "\"bot\"}]}",
                  NULL) == 200);
}

static str bot_token(struct rig *r)
{
    const struct json *v = NULL;

    CHECK(ask_api(r, "POST", "/clusters/demo/api/v1/namespaces/default/serviceaccounts",
                  "{\"metadata\":{\"name\":\"bot\"}}", NULL) == 200);
    CHECK(
        ask_api(r, "POST", RIGHTS "/clusterroles",
                "{\"metadata\":{\"name\":\"loads\"},\"rules\":[{\"apiGroups\":[\"*\"],"
                "\"resources\":[\"loads\",\"loads/echo\",\"clusters/proxy\"],\"verbs\":[\"*\"]}]}",
                NULL) == 200);
    CHECK(ask_api(r, "POST", "/clusters/demo/api/v1/namespaces/default/serviceaccounts/bot/token",
                  "{}", &v) == 200);
    return str_printf(r->arena, "Bearer %.*s", STR_ARG(json_get_str(v, "status.token")));
}

/* One byte each way, by the caller's or by the other side's doing. */
static void pass(struct world *w, struct caller *c, bool by_itself)
{
    c->want = c->got.n + 1;
    if (by_itself)
        loop_call_wait(w->fake.loop, tick, NULL);
    else
        loop_call_wait(w->loop, post, &(struct parcel){ c, STR("x") });
}

TEST(nothing_passes_when_the_right_is_withdrawn)
{
    static const char *const paths[] = { API "/x/echo", MEMBER "/echo" };
    struct http_header h[4];
    struct world w;
    struct rig *r;

    open_world(&w);
    r = &w.f.rig;
    memcpy(h, websocket, 3 * sizeof(*h));
    h[3] = (struct http_header){ STR("authorization"), bot_token(r) };
    for (unsigned i = 0; i < 4; i++) {
        int before = atomic_load(&closes);
        bool by_itself = i % 2;
        struct caller c;

        bind_bot(r);
        open_call(&w, &c, w.nobody, paths[i / 2], h, 4);
        REQUIRE(c.code == 101);
        pass(&w, &c, by_itself);
        (void)sem_wait(&c.enough);
        /* Roles of users are read by a worker: what comes meanwhile waits, and passes then. */
        CHECK(ask_api(r, "POST", "/apis/iam.kairship.io/v1alpha1/users",
                      arena_printf(r->arena, "{\"metadata\":{\"name\":\"u%u\"}}", i), NULL) == 200);
        pass(&w, &c, by_itself);
        (void)sem_wait(&c.enough);
        CHECK(c.got.n == 2);
        CHECK(ask_api(r, "DELETE", RIGHTS "/clusterrolebindings/loads", "", NULL) == 200);
        pass(&w, &c, by_itself);
        (void)sem_wait(&c.over);
        CHECK(c.got.n == 2);
        close_call(&w, &c);
        for (int n = 0; n < 500 && atomic_load(&closes) == before; n++)
            (void)usleep(10000);
        CHECK(atomic_load(&closes) == before + 1);
    }
    CHECK(atomic_load(&r->host->server->reads) == 0);
    close_world(&w);
}
