/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_RIG_H
#define FLEET_RIG_H

/*
 * A server with the instance `demo`, and members of it: a fake one that answers what the test wants
 * (fake_open), or another instance that a port shows as a cluster (real_open).
 */

#include <stdatomic.h>

#include "apiserver/server/listener.h"
#include "base/encode.h"
#include "fleet/member.h"
#include "http/pki.h"
#include "server_rig.h"

enum { RIG_NOW = 1577934245 }; /* what the rig's clock says; certificates begin before */

static const struct egress rig_egress = { .loopback = true };

struct fleet_rig {
    struct rig rig;
    struct fleet *fleet;
};

static inline int64_t rig_today(void)
{
    return clock_wall_s(clock_real());
}

static inline void fleet_rig_open(struct fleet_rig *f, const struct fleet_options *o)
{
    static const struct fleet_options usual = { .egress = &rig_egress, .timeout_ms = 3000 };

    rig_open(&f->rig);
    f->fleet = fleet_new(f->rig.client, o ? o : &usual);
    CHECK(ask_api(&f->rig, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\","
                  "\"metadata\":{\"name\":\"demo\"}}",
                  NULL) == 200);
    CHECK(ask_api(&f->rig, "POST", "/clusters/demo/api/v1/namespaces",
                  "{\"metadata\":{\"name\":\"karmada-cluster\"}}", NULL) == 200);
}

static inline void fleet_rig_free_fleet(void *arg)
{
    fleet_free(arg);
}

static inline void fleet_rig_close(struct fleet_rig *f)
{
    loop_call_wait(f->rig.host->loop, fleet_rig_free_fleet, f->fleet);
    rig_close(&f->rig);
}

/* A Cluster of `instance`, and its two Secrets. */
static inline void add_cluster(struct fleet_rig *f, const char *instance, const char *name,
                               str endpoint, str token, str ca)
{
    struct arena *a = f->rig.arena;
    const char *const parts[] = { "", "-impersonator" };

    for (size_t i = 0; i < 2; i++)
        CHECK(ask_api(&f->rig, "POST",
                      arena_printf(a, "/clusters/%s/api/v1/namespaces/karmada-cluster/secrets",
                                   instance),
                      arena_printf(a,
                                   "{\"metadata\":{\"name\":\"%s%s\"},\"data\":{\"token\":\"%.*s\","
                                   "\"caBundle\":\"%.*s\"}}",
                                   name, parts[i], STR_ARG(base64_encode(a, BASE64_STD, token)),
                                   STR_ARG(base64_encode(a, BASE64_STD, ca))),
                      NULL) == 200);
    CHECK(
        ask_api(&f->rig, "POST",
                arena_printf(a, "/clusters/%s/apis/cluster.karmada.io/v1alpha1/clusters", instance),
                arena_printf(
                    a,
                    "{\"apiVersion\":\"cluster.karmada.io/v1alpha1\",\"kind\":\"Cluster\","
                    "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"syncMode\":\"Push\","
                    "\"apiEndpoint\":\"https://%.*s\","
                    "\"secretRef\":{\"namespace\":\"karmada-cluster\",\"name\":\"%s\"},"
                    "\"impersonatorSecretRef\":{\"namespace\":\"karmada-cluster\",\"name\":\"%s-"
                    "impersonator\"}}}",
                    name, STR_ARG(endpoint), name, name),
                NULL) == 200);
}

/* ---- a member that lies ---- */

enum fake_mode {
    FAKE_HEALTHY, /* "ok", and nothing else is there */
    FAKE_GARBAGE, /* bytes that are no JSON */
    FAKE_HUGE,    /* an answer without end */
    FAKE_HANGS,   /* no answer */
    FAKE_SICK,    /* 500 */
    FAKE_REDIRECTS,
    FAKE_ECHO, /* what came, as text */
};

struct fake {
    struct loop *loop;
    pthread_t thread;
    struct http_server *http;
    struct arena *arena;
    struct pki_pair ca;
    atomic_int mode;
    atomic_uint requests;
    _Atomic size_t left; /* bytes of a huge answer */
    char token[64];
    struct http_source source;
    pthread_mutex_t mu;
    char seen[8192]; /* guarded by mu: the last request's headers */
    /* Answers in the place of the modes; NULL: they do.  On the fake's loop. */
    void (*handler)(struct fake *f, struct http_request *req);
};

static inline int fake_pull(struct http_source *s, struct buf *out, size_t want)
{
    struct fake *f = (struct fake *)(void *)((char *)s - offsetof(struct fake, source));
    static char zeros[64 << 10];

    want = want < sizeof(zeros) ? want : sizeof(zeros);
    want = want < f->left ? want : f->left;
    if (!zeros[0])
        memset(zeros, 'x', sizeof(zeros));
    buf_append(out, zeros, want);
    f->left -= want;
    return f->left > 0;
}

static inline void fake_note(struct fake *f, const struct http_request *req)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&f->mu);
    n += (size_t)snprintf(f->seen + n, sizeof(f->seen) - n, "%.*s %.*s?%.*s\n",
                          STR_ARG(req->method), STR_ARG(req->path), STR_ARG(req->query));
    if (req->peer && n < sizeof(f->seen))
        n +=
            (size_t)snprintf(f->seen + n, sizeof(f->seen) - n, "by %.*s\n", STR_ARG(req->peer->cn));
    for (size_t i = 0; i < req->nheaders && n < sizeof(f->seen); i++)
        n += (size_t)snprintf(f->seen + n, sizeof(f->seen) - n, "%.*s: %.*s\n",
                              STR_ARG(req->headers[i].name), STR_ARG(req->headers[i].value));
    (void)pthread_mutex_unlock(&f->mu);
}

static inline void fake_answer(struct http_request *req, int code, str text)
{
    static const struct http_header json[] = { { STR_INIT("content-type"),
                                                 STR_INIT("application/json") },
                                               { STR_INIT("set-cookie"), STR_INIT("a=b") } };
    str *piece = arena_new_of(req->arena, str);

    *piece = text;
    http_reply(req, code, json, 2, piece, 1);
}

static inline void fake_serve(struct http_request *req, void *arg)
{
    static const struct http_header away[] = { { STR_INIT("location"),
                                                 STR_INIT("https://169.254.169.254/") } };
    struct fake *f = arg;
    bool health = str_is(req->path, "/readyz");

    atomic_fetch_add(&f->requests, 1);
    fake_note(f, req);
    if (f->handler) {
        f->handler(f, req);
        return;
    }
    switch ((enum fake_mode)atomic_load(&f->mode)) {
    case FAKE_HEALTHY:
        fake_answer(req, health ? 200 : 404, health ? STR("ok") : STR("{}"));
        break;
    case FAKE_GARBAGE:
        fake_answer(req, 200, STR("\0\xff{[[[\"never closed"));
        break;
    case FAKE_HUGE:
        f->source.pull = fake_pull;
        http_reply_source(req, 200, NULL, 0, &f->source);
        break;
    case FAKE_HANGS:
        break;
    case FAKE_SICK:
        fake_answer(req, 500, STR("not well"));
        break;
    case FAKE_REDIRECTS:
        http_reply(req, 302, away, 1, NULL, 0);
        break;
    case FAKE_ECHO:
        fake_answer(req, 200, req->body.n ? req->body : STR("{\"kind\":\"Echo\"}"));
        break;
    }
}

static inline void *fake_run(void *arg)
{
    loop_run(arg);
    return NULL;
}

/* Of who shows a certificate that this authority has signed, it says who that is. */
static inline void fake_open_for(struct fake *f, str client_ca)
{
    static const str hosts[] = { STR_INIT("127.0.0.1"), STR_INIT("api.default.svc") };
    struct http_server_options o = { .listen = STR("127.0.0.1:0"),
                                     .nloops = 1,
                                     .limits = HTTP_LIMITS_DEFAULT,
                                     .client_ca_pem = client_ca,
                                     .handler = fake_serve,
                                     .arg = f };
    struct pki_pair serving;
    struct status st;

    *f = (struct fake){ .arena = arena_new(), .loop = loop_new() };
    (void)pthread_mutex_init(&f->mu, NULL);
    status_init(&st, f->arena);
    CHECK(pki_make_ca(f->arena, STR("test"), rig_today() - 86400, 30, &f->ca, &st) == 0);
    CHECK(pki_sign(f->arena, &f->ca,
                   &(struct pki_request){ .cn = STR("m"),
                                          .hosts = hosts,
                                          .nhosts = 2,
                                          .now_s = rig_today() - 86400,
                                          .days = 30 },
                   &serving, &st) == 0);
    o.loops = &f->loop;
    o.cert_pem = serving.cert;
    o.key_pem = serving.key_pem;
    f->http = http_server_new(&o, &st);
    if (!f->http || pthread_create(&f->thread, NULL, fake_run, f->loop) != 0)
        exit(1);
}

static inline void fake_open(struct fake *f)
{
    fake_open_for(f, STR_NONE);
}

static inline void fake_close(struct fake *f)
{
    loop_stop(f->loop);
    (void)pthread_join(f->thread, NULL);
    loop_free(f->loop);
    http_server_free(f->http);
    (void)pthread_mutex_destroy(&f->mu);
    arena_free(f->arena);
}

static inline bool fake_saw(struct fake *f, const char *text)
{
    bool found;

    (void)pthread_mutex_lock(&f->mu);
    found = strstr(f->seen, text) != NULL;
    if (!found)
        printf("# not in: %s\n", f->seen);
    (void)pthread_mutex_unlock(&f->mu);
    return found;
}

#endif
