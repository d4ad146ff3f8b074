/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_FIXTURE_H
#define SERVER_FIXTURE_H

/*
 * What the tests of the chain share: a whole server that listens nowhere, on a store that can hold
 * commits back, and calls with everything a network would bring.  The loop runs on the test's own
 * thread while a call is waited for.
 *
 *     struct host *h = host_new(0, 0);
 *     struct ask *a = ask(h, "GET", "/api/v1/namespaces/default/configmaps");
 *     CHECK_STR(answer(a), "200");
 *     ask_free(a);
 *     host_free(h);
 */

#include <stdio.h>
#include <stdlib.h>

#include "apiserver/auth/people.h"
#include "apiserver/call/internal.h"
#include "apiserver/server/server.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/mem.h"
#include "iam/permissions.h"
#include "store_model.h"
#include "store_wrap.h"
#include "tap.h"

struct host {
    struct clock clock;
    struct wrap *wrap;
    struct loop *loop;
    struct server *server;
    struct arena *arena;
    struct host_wait *wait; /* looks again as soon as something is answered */
};

/* What hosts made from now on have beside their own (rpc/mount.h). */
static const struct mount *host_mounts;
static size_t host_nmounts;
static struct audit *host_audit;
static uint64_t host_record_bytes;

static inline struct host *host_new(unsigned max_reads, unsigned max_writes)
{
    struct host *h = mem_zalloc(sizeof(*h));
    struct server_options o = { .nloops = 1,
                                .clock = &h->clock,
                                .dir = ".",
                                .max_reads = max_reads,
                                .max_writes = max_writes,
                                .mounts = host_mounts,
                                .nmounts = host_nmounts,
                                .audit = host_audit,
                                .record_bytes = host_record_bytes };
    struct status st;

    log_open(2, LOG_ERROR, LOG_JSON); /* that requests fail is what is tested */
    h->arena = arena_new();
    status_init(&st, h->arena);
    clock_jump(&h->clock, 1577934245000000); /* 2020-01-02T03:04:05Z */
    h->wrap = wrap_new(model_open());
    h->loop = loop_new();
    loop_set_reading(h->loop);
    o.store = &h->wrap->store;
    o.loops = &h->loop;
    h->server = server_new(&o, &st);
    if (!h->server) {
        printf("Bail out! %.*s\n", STR_ARG(st.message));
        exit(1);
    }
    return h;
}

static inline void host_free(struct host *h)
{
    epoch_enter();
    server_free(h->server);
    loop_free(h->loop);
    epoch_exit();
    store_close(&h->wrap->store);
    epoch_drain();
    arena_free(h->arena);
    free(h);
}

/* ---- the loop ---- */

struct host_wait {
    struct loop_timer timer;
    struct host *host;
    bool (*over)(void *arg);
    void *arg;
    int64_t until_ms;
    bool came;
};

static inline void host_look(struct loop_timer *t)
{
    struct host_wait *w = (struct host_wait *)(void *)t;

    w->came = w->over(w->arg);
    if (w->came || loop_now_ms(w->host->loop) >= w->until_ms)
        loop_stop(w->host->loop);
    else
        loop_timer_set(w->host->loop, t, 1);
}

/* Runs the loop until over() says so; false when it has not within thirty seconds. */
static inline bool host_until(struct host *h, bool (*over)(void *arg), void *arg)
{
    struct host_wait w = { .timer.fn = host_look, .host = h, .over = over, .arg = arg };

    w.until_ms = loop_now_ms(h->loop) + 30000;
    h->wait = &w;
    loop_timer_set(h->loop, &w.timer, 0);
    epoch_enter();
    loop_run(h->loop);
    epoch_exit();
    h->wait = NULL;
    return w.came;
}

static inline bool host_some_turns(void *arg)
{
    return --*(int *)arg < 0;
}

static inline void host_turn(struct host *h)
{
    int n = 5;

    (void)host_until(h, host_some_turns, &n);
}

/* ---- calls ---- */

enum { ASK_HEADERS = 16, GOT_HEADERS = 600 };

struct ask {
    struct call *call; /* NULL: it has gone */
    struct host *host;
    struct loop_msg msg;
    struct http_header headers[ASK_HEADERS], got[GOT_HEADERS];
    size_t nheaders, ngot;
    struct rest_sink sink;
    void (*closed)(struct call *c);
    bool done, streaming, broken;
    int code, frames;
    struct buf text; /* the body, or the frames */
};

static inline void ask_head(struct ask *a, int code, const struct http_header *h, size_t nh)
{
    CHECK(!a->done); /* one answer each */
    a->done = true;
    if (a->host->wait)
        loop_timer_set(a->host->loop, &a->host->wait->timer, 0);
    a->code = code;
    a->ngot = nh;
    for (size_t i = 0; i < nh; i++)
        a->got[i] = (struct http_header){ str_dup(a->host->arena, h[i].name),
                                          str_dup(a->host->arena, h[i].value) };
}

static inline void ask_over(struct ask *a)
{
    struct call *c = a->call;

    a->call = NULL;
    if (c->holders)
        call_release(c);
}

static inline void ask_answer(struct call *c, int code, const struct http_header *h, size_t nh,
                              const str *pieces, size_t npieces)
{
    struct ask *a = c->transport;

    ask_head(a, code, h, nh);
    for (size_t i = 0; i < npieces; i++)
        buf_str_append(&a->text, pieces[i]);
    ask_over(a);
}

static inline void ask_source(struct call *c, int code, const struct http_header *h, size_t nh,
                              struct http_source *src)
{
    struct ask *a = c->transport;
    int more;

    ask_head(a, code, h, nh);
    while ((more = src->pull(src, &a->text, 1 << 14)) > 0)
        ;
    a->broken = more < 0;
    ask_over(a);
}

static inline struct ask *ask_of(struct rest_sink *s)
{
    return (struct ask *)(void *)((char *)s - offsetof(struct ask, sink));
}

static inline bool ask_push(struct rest_sink *s, struct bytes *frame)
{
    struct ask *a = ask_of(s);

    a->frames++;
    buf_str_append(&a->text, bytes_str(frame));
    return true;
}

static inline size_t ask_queued(struct rest_sink *s)
{
    (void)s;
    return 0;
}

static inline void ask_end(struct rest_sink *s)
{
    struct ask *a = ask_of(s);

    call_watch_ended(a->call);
    a->streaming = false;
    ask_over(a);
}

static inline struct rest_sink *ask_stream(struct call *c, int code, const struct http_header *h,
                                           size_t nh, void (*closed)(struct call *c))
{
    struct ask *a = c->transport;

    ask_head(a, code, h, nh);
    a->streaming = true;
    a->closed = closed;
    a->sink = (struct rest_sink){ .push = ask_push, .queued = ask_queued, .end = ask_end };
    return &a->sink;
}

static inline void ask_run(struct loop_msg *msg)
{
    struct ask *a = (struct ask *)(void *)((char *)msg - offsetof(struct ask, msg));

    call_run(a->call);
}

static const struct call_ops ask_ops = { .answer = ask_answer,
                                         .source = ask_source,
                                         .stream = ask_stream };

static const str ask_masters[] = { STR_INIT("system:masters") };
static const struct http_peer ask_admin = {
    .cn = STR_INIT("admin"), .orgs = ask_masters, .norgs = 1, .not_after = INT64_MAX
};

/* A call of the admin; anything in a->call may be changed before it is sent. */
static inline struct ask *ask(struct host *h, const char *method, const char *target)
{
    struct ask *a = mem_zalloc(sizeof(*a));
    struct arena *arena = arena_new();
    struct call *c = arena_new_of(arena, struct call);
    const char *query = strchr(target, '?');

    *c = (struct call){ .server = h->server,
                        .ops = &ask_ops,
                        .arena = arena,
                        .holders = 2,
                        .loop = h->loop,
                        .method = str_of(method),
                        .peer = &ask_admin,
                        .remote = STR("test"),
                        .transport = a };
    c->raw_path = query ? (str){ target, (size_t)(query - target) } : str_of(target);
    c->query = query ? str_of(query + 1) : STR_NONE;
    a->call = c;
    a->host = h;
    a->msg.fn = ask_run;
    buf_init(&a->text, 256 << 20);
    return a;
}

static inline struct ask *ask_header(struct ask *a, const char *name, const char *value)
{
    a->headers[a->nheaders++] = (struct http_header){ str_of(name), str_of(value) };
    return a;
}

static inline struct ask *ask_body(struct ask *a, const char *body)
{
    a->call->body = str_of(body);
    return a;
}

static inline void ask_send(struct ask *a)
{
    a->call->headers = a->headers;
    a->call->nheaders = a->nheaders;
    loop_post(a->host->loop, &a->msg);
}

static inline bool ask_done(void *arg)
{
    return ((struct ask *)arg)->done;
}

/* Sends it, waits, gives "200", or "404 NotFound" if it is a Status with a reason. */
static inline const char *answer_of(struct ask *a)
{
    struct host *h = a->host;
    const struct json *v = NULL;
    struct status st;
    str reason;

    CHECK(host_until(h, ask_done, a));
    status_init(&st, h->arena);
    if (a->text.n && a->text.p[0] == '{')
        CHECK(json_parse(h->arena, buf_str(&a->text), NULL, &v, &st) == 0);
    reason = str_is(json_get_str(v, "kind"), "Status") ? json_get_str(v, "reason") : STR_NONE;
    return arena_printf(h->arena, reason.n ? "%d %.*s" : "%d", a->code, STR_ARG(reason));
}

static inline const char *answer(struct ask *a)
{
    ask_send(a);
    return answer_of(a);
}

/* The text of a field of the answer, "" if it is not there. */
static inline const char *answer_field(struct ask *a, const char *path)
{
    struct host *h = a->host;
    const struct json *v = NULL, *at;
    struct status st;

    status_init(&st, h->arena);
    if (json_parse(h->arena, buf_str(&a->text), NULL, &v, &st) < 0)
        return "";
    at = json_path(v, path);
    if (!at)
        return "";
    return str_z(h->arena, json_is(at, JSON_STRING) ? json_str(at) : json_text(h->arena, at));
}

static inline const char *answer_header(struct ask *a, const char *name)
{
    for (size_t i = 0; i < a->ngot; i++)
        if (str_is(a->got[i].name, name))
            return str_z(a->host->arena, a->got[i].value);
    return "";
}

static inline bool ask_closed(void *arg)
{
    struct ask *a = arg;

    if (!a->streaming)
        return true;
    a->streaming = false;
    a->closed(a->call);
    ask_over(a);
    return true;
}

static inline void ask_free(struct ask *a)
{
    if (a->streaming) /* the client goes */
        (void)host_until(a->host, ask_closed, a);
    CHECK(!a->call);
    buf_release(&a->text);
    free(a);
}

/* All in one, when only the code matters. */
static inline const char *code_of(struct ask *a)
{
    const char *code = answer(a);

    ask_free(a);
    return code;
}

static inline const char *make_configmap(struct host *h, const char *prefix, const char *name)
{
    struct ask *a =
        ask(h, "POST", arena_printf(h->arena, "%s/api/v1/namespaces/default/configmaps", prefix));

    return code_of(ask_body(a, arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name)));
}

static inline const char *make_instance(struct host *h, const char *name)
{
    struct ask *a = ask(h, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances");

    return code_of(ask_body(a, arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name)));
}

#endif
