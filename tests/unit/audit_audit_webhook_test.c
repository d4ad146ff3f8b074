/* SPDX-License-Identifier: Apache-2.0 */

/* The audit sent elsewhere: when batches go, what is in them, and what happens when nobody takes
 * them. */

#include "apiserver/audit/audit_webhook.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/pki.h"
#include "http/server.h"
#include "tap.h"
#include "json/json.h"

/* ---- when ---- */

static const struct audit_batch_options plain = {
    .max_size = 400, .max_wait_ms = 30000, .qps = 10, .burst = 15, .pause_ms = 10000
};

TEST(a_batch_goes_when_it_is_full_or_old)
{
    struct clock c = { 0 };
    struct audit_batch b;

    clock_advance(&c, 1000);
    audit_batch_init(&b, &plain, clock_now_ms(&c));
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 0) == -1);
    audit_batch_waits(&b, clock_now_ms(&c));
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 1) == 30000);
    clock_advance(&c, 29999);
    audit_batch_waits(&b, clock_now_ms(&c)); /* the first counts */
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 399) == 1);
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 400) == 0);
    clock_advance(&c, 1);
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 1) == 0);
    audit_batch_taken(&b);
    audit_batch_goes(&b, clock_now_ms(&c));
    clock_advance(&c, 5);
    audit_batch_waits(&b, clock_now_ms(&c));
    audit_batch_goes(&b, clock_now_ms(&c)); /* again: of what came since none was taken */
    clock_advance(&c, 5);
    audit_batch_waits(&b, clock_now_ms(&c));
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 1) == 29995);
}

TEST(not_more_often_than_the_throttle_says)
{
    struct clock c = { 0 };
    struct audit_batch b;
    int n = 0;

    audit_batch_init(&b, &plain, clock_now_ms(&c));
    for (; n < 100 && audit_batch_due(&b, clock_now_ms(&c), 400) == 0; n++)
        audit_batch_goes(&b, clock_now_ms(&c));
    CHECK(n == 15);
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 400) == 100);
    for (int ms = 0; ms < 10000; ms += 10) {
        clock_advance(&c, 10);
        if (audit_batch_due(&b, clock_now_ms(&c), 400) != 0)
            continue;
        audit_batch_goes(&b, clock_now_ms(&c));
        n++;
    }
    CHECK(n == 15 + 100);

    clock_advance(&c, INT64_C(1) << 50); /* however long nothing came */
    for (n = 0; n < 100 && audit_batch_due(&b, clock_now_ms(&c), 400) == 0; n++)
        audit_batch_goes(&b, clock_now_ms(&c));
    CHECK(n == 15);

    b.o.qps = 0;
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 400) == 0);
}

TEST(pauses_grow_and_end)
{
    static const int64_t want[] = { 10000, 15000, 22500, 33750, 50625, 60000, 60000 };
    struct clock c = { 0 };
    struct audit_batch b;

    audit_batch_init(&b, &plain, clock_now_ms(&c));
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        audit_batch_failed(&b, clock_now_ms(&c));
        CHECK(audit_batch_due(&b, clock_now_ms(&c), 400) == want[i]);
        clock_advance(&c, want[i]);
        CHECK(audit_batch_due(&b, clock_now_ms(&c), 400) == 0);
    }
    audit_batch_arrived(&b);
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 400) == 0);
    audit_batch_failed(&b, clock_now_ms(&c));
    CHECK(audit_batch_due(&b, clock_now_ms(&c), 400) == 10000);
}

/* ---- to whom ---- */

struct receiver {
    struct arena *arena;
    struct loop *loop;
    struct http_server *server;
    pthread_t thread;
    struct kubeconfig k;
    struct audit_webhook_options o;
    struct status st;

    pthread_mutex_t mu;
    int code, times; /* answered so often in place of 200 */
    int requests;
    size_t lists, items; /* that were taken */
    bool in_order, well_formed, known;
};

/* Events are {"n":0}, {"n":1} … */
static void take(struct receiver *r, struct http_request *req)
{
    const struct json *list, *all;
    struct status st;

    status_init(&st, req->arena);
    r->known = r->known && str_is(req->path, "/hooks/audit") &&
               str_is(http_request_header(req, "authorization"), "Bearer t") &&
               str_is(http_request_header(req, "content-type"), "application/json") &&
               str_is(req->method, "POST");
    if (json_parse(req->arena, req->body, NULL, &list, &st) < 0 ||
        !str_is(json_get_str(list, "kind"), "EventList") ||
        !str_is(json_get_str(list, "apiVersion"), "audit.k8s.io/v1")) {
        r->well_formed = false;
        return;
    }
    all = json_get(list, STR("items"));
    json_for_each (item, all) {
        r->in_order = r->in_order && json_int(json_get(item, STR("n")), -1) == (int64_t)r->items;
        r->well_formed = r->well_formed && !json_get(item, STR("kind"));
        r->items++;
    }
    r->lists++;
}

static void handle(struct http_request *req, void *arg)
{
    struct receiver *r = arg;
    int code = 200;

    (void)pthread_mutex_lock(&r->mu);
    r->requests++;
    if (r->times > 0) {
        r->times--;
        code = r->code;
    } else {
        take(r, req);
    }
    (void)pthread_mutex_unlock(&r->mu);
    http_reply(req, code, NULL, 0, NULL, 0);
}

static void *run(void *loop)
{
    loop_run(loop);
    return NULL;
}

static void receiver_start(struct receiver *r)
{
    static const str hosts[] = { STR_INIT("127.0.0.1") };
    struct http_server_options o = { .listen = STR("127.0.0.1:0"),
                                     .nloops = 1,
                                     .limits = HTTP_LIMITS_DEFAULT,
                                     .handler = handle,
                                     .arg = r };
    struct pki_request serving = { .cn = STR("s"), .hosts = hosts, .nhosts = 1, .days = 1 };
    struct pki_pair ca, cert;
    str address;
    ptrdiff_t colon;

    *r = (struct receiver){ .arena = arena_new(), .loop = loop_new() };
    r->in_order = r->well_formed = r->known = true;
    log_open(2, LOG_ERROR + 1, LOG_JSON); /* that nobody takes them is what is tested */
    (void)pthread_mutex_init(&r->mu, NULL);
    status_init(&r->st, r->arena);
    serving.now_s = time(NULL);
    if (!CHECK(pki_make_ca(r->arena, STR("ca"), serving.now_s, 1, &ca, &r->st) == 0 &&
               pki_sign(r->arena, &ca, &serving, &cert, &r->st) == 0))
        exit(1);
    o.loops = &r->loop;
    o.cert_pem = cert.cert;
    o.key_pem = cert.key_pem;
    r->server = http_server_new(&o, &r->st);
    if (!CHECK(r->server && pthread_create(&r->thread, NULL, run, r->loop) == 0))
        exit(1);
    address = str_dup(r->arena, http_server_address(r->server));
    colon = str_find(address, ':', 0);
    r->k = (struct kubeconfig){ .tls = true,
                                .host = str_sub(address, 0, (size_t)colon),
                                .port = str_from(address, (size_t)colon + 1),
                                .prefix = STR("/hooks/audit"),
                                .token = secret_of(STR("t")),
                                .ca_pem = ca.cert };
    r->o = (struct audit_webhook_options){
        .config = &r->k,
        .batch = { .max_size = 2, .max_wait_ms = 20, .qps = 0, .burst = 1, .pause_ms = 5 },
        .buffer = 10
    };
}

static void receiver_end(struct receiver *r)
{
    loop_stop(r->loop);
    (void)pthread_join(r->thread, NULL);
    loop_free(r->loop);
    http_server_free(r->server);
    (void)pthread_mutex_destroy(&r->mu);
    arena_free(r->arena);
}

static bool put(struct audit_webhook *w, int n)
{
    char text[96];
    int len = snprintf(text, sizeof(text),
                       "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"n\":%d}", n);
    struct bytes *b = bytes_new((size_t)len);
    bool ok;

    memcpy(b->p, text, b->n);
    ok = audit_webhook_put(w, b);
    bytes_unref(b);
    return ok;
}

static bool has(struct receiver *r, size_t items)
{
    bool ok;

    (void)pthread_mutex_lock(&r->mu);
    ok = r->items >= items;
    (void)pthread_mutex_unlock(&r->mu);
    return ok;
}

static bool arrive(struct receiver *r, size_t items)
{
    for (int i = 0; i < 1000 && !has(r, items); i++)
        (void)usleep(10000);
    return has(r, items);
}

TEST(events_arrive_as_lists_in_their_order)
{
    struct audit_webhook *w;
    struct receiver r;

    receiver_start(&r);
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    for (int i = 0; i < 5; i++)
        CHECK(put(w, i));
    CHECK(arrive(&r, 5)); /* the last by its age */
    CHECK(audit_webhook_free(w) == 0);
    CHECK(r.items == 5 && r.lists >= 3 && r.in_order && r.well_formed && r.known);
    receiver_end(&r);
}

TEST(what_waits_is_sent_at_the_end)
{
    struct audit_webhook *w;
    struct receiver r;

    receiver_start(&r);
    r.o.batch.max_size = 4;
    r.o.batch.max_wait_ms = 3600 * 1000;
    r.o.batch.qps = 1; /* does not count at the end */
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    for (int i = 0; i < 10; i++)
        CHECK(put(w, i));
    CHECK(audit_webhook_free(w) == 0);
    CHECK(r.items == 10 && r.lists == 3 && r.in_order);
    receiver_end(&r);
}

TEST(what_fails_is_sent_again_and_nothing_is_lost)
{
    struct audit_webhook *w;
    struct receiver r;

    receiver_start(&r);
    r.code = 503;
    r.times = AUDIT_WEBHOOK_TRIES + 3; /* it may come back: no number of them is too many */
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    for (int i = 0; i < 10; i++)
        CHECK(put(w, i));
    CHECK(!put(w, 10)); /* those on their way count */
    CHECK(!audit_webhook_has_room(w));
    CHECK(arrive(&r, 10));
    CHECK(audit_webhook_given_up(w) == 0);
    CHECK(audit_webhook_free(w) == 0);
    CHECK(r.items == 10 && r.in_order && r.requests >= 13);
    receiver_end(&r);
}

TEST(a_batch_that_is_refused_does_not_stop_the_others)
{
    struct audit_webhook *w;
    struct receiver r;

    receiver_start(&r);
    r.code = 400;
    r.times = AUDIT_WEBHOOK_TRIES;
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    CHECK(put(w, 0) && put(w, 0) && put(w, 0) && put(w, 1));
    CHECK(arrive(&r, 2));
    CHECK(audit_webhook_given_up(w) == 2);
    CHECK(audit_webhook_free(w) == 0);
    CHECK(r.items == 2 && r.in_order && r.requests == AUDIT_WEBHOOK_TRIES + 1);
    receiver_end(&r);
}

TEST(redirects_are_not_followed)
{
    struct audit_webhook *w;
    struct receiver r;

    receiver_start(&r);
    r.code = 307;
    r.times = 1000;
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    CHECK(put(w, 0));
    CHECK(audit_webhook_free(w) == 1);
    CHECK(r.items == 0);
    receiver_end(&r);
}

TEST(who_cannot_prove_who_it_is_gets_nothing)
{
    struct audit_webhook *w;
    struct receiver r;
    struct pki_pair other;

    receiver_start(&r);
    CHECK(pki_make_ca(r.arena, STR("other"), time(NULL), 1, &other, &r.st) == 0);
    r.k.ca_pem = other.cert;
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    CHECK(put(w, 0));
    CHECK(audit_webhook_free(w) == 1);
    CHECK(r.requests == 0);
    receiver_end(&r);
}

TEST(where_nobody_listens_the_buffer_fills_and_the_end_does_not_wait)
{
    struct audit_webhook *w;
    struct receiver r;
    int n = 0;

    receiver_start(&r);
    r.k.port = STR("1");
    r.o.batch.pause_ms = 60000;
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    while (n < 100 && put(w, n))
        n++;
    CHECK(n == 10);
    CHECK(audit_webhook_free(w) == 10);
    receiver_end(&r);
}

TEST(who_never_answers_holds_up_the_end_for_a_bounded_time)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t n = sizeof(to);
    struct audit_webhook *w;
    struct receiver r;
    time_t began = time(NULL);

    receiver_start(&r);
    CHECK(bind(fd, (const struct sockaddr *)&to, n) == 0 && listen(fd, 1) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&to, &n) == 0);
    r.k.port = str_printf(r.arena, "%d", ntohs(to.sin_port));
    w = audit_webhook_new(&r.o, &r.st);
    REQUIRE(w);
    CHECK(put(w, 0) && put(w, 1) && put(w, 2));
    CHECK(audit_webhook_free(w) == 3);
    CHECK(time(NULL) - began <= 4 * AUDIT_WEBHOOK_STOP_MS / 1000);
    (void)close(fd);
    receiver_end(&r);
}
