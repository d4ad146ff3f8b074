/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "client/reply.h"

enum {
    ERROR_MAX = 4096, /* bytes kept of an answer that is an error */
    PACE_MS = 1,
    WATCH_MS = 200,     /* how often memory is looked at */
    GIVE_UP_MS = 60000, /* an answer that does not come after the end */
};

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

/* ---- targets ---- */

void bench_target_header(struct bench_target *t, str name, str value)
{
    assert(t->nheaders < BENCH_HEADERS_MAX);
    t->headers[t->nheaders++] = (struct http_header){ name, value };
}

void bench_target_init(struct bench_target *t, struct arena *a, const struct kubeconfig *k)
{
    *t = (struct bench_target){ .http = { .host = k->host,
                                          .port = k->port,
                                          .server_name = k->server_name,
                                          .tls = k->tls,
                                          .ca_pem = k->ca_pem,
                                          .cert_pem = k->cert_pem,
                                          .key_pem = k->key_pem,
                                          .insecure = k->insecure },
                                .prefix = k->prefix };
    bench_target_header(t, STR("accept"), STR("application/json"));
    bench_target_header(t, STR("user-agent"), STR("kairship-bench"));
    bench_target_header(t, STR("content-type"), STR("application/json"));
    if (!secret_empty(k->token)) {
        bench_target_header(t, STR("authorization"),
                            str_printf(a, "Bearer %.*s", STR_ARG(secret_reveal(k->token))));
    } else if (k->username.n) {
        str both =
            str_printf(a, "%.*s:%.*s", STR_ARG(k->username), STR_ARG(secret_reveal(k->password)));

        bench_target_header(
            t, STR("authorization"),
            str_printf(a, "Basic %.*s", STR_ARG(base64_encode(a, BASE64_STD, both))));
    }
}

/* ---- errors ---- */

void bench_error(struct bench_result *r, int status, str reply, const struct status *why)
{
    scoped_arena a = arena_new();
    const struct json *ignored;
    struct status st;

    r->errors++;
    if (r->error[0])
        return;
    status_init(&st, a);
    if ((status >= 200 && status <= 299) || client_reply(a, status, reply, &ignored, &st) == 0)
        (void)status_set(&st, REASON_INTERNAL, "not the expected answer: %.*s",
                         STR_ARG(str_sub(reply, 0, 160)));
    (void)snprintf(r->error, sizeof(r->error), "%d %.*s", status,
                   STR_ARG(why ? why->message : st.message));
}

/* ---- one request ---- */

static void slot_next(struct bench_slot *s);

static bool good_status(const struct bench_load *l, int status)
{
    return (status >= 200 && status <= 299) || (l->also_good && status == l->also_good);
}

static void take_grpc(struct bench_slot *s, const struct http_header *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(h[i].name, "grpc-status"))
            s->grpc = str_is(h[i].value, "0") ? 0 : 1;
}

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    struct bench_slot *s = call->user;

    s->status = status;
    if (s->load->grpc)
        take_grpc(s, h, n);
}

static void on_trailers(struct http_call *call, const struct http_header *h, size_t n)
{
    struct bench_slot *s = call->user;

    if (s->load->grpc)
        take_grpc(s, h, n);
}

static void on_data(struct http_call *call, str bytes)
{
    struct bench_slot *s = call->user;
    size_t max = good_status(s->load, s->status) ? s->load->reply_max : ERROR_MAX;

    s->bytes += bytes.n;
    if ((s->sampled || !good_status(s->load, s->status)) && s->reply.n < max)
        buf_str_append(&s->reply, str_sub(bytes, 0, max - s->reply.n));
}

static bool answer_is_good(struct bench_load *l, struct bench_slot *s, const struct status *why)
{
    if (why || !good_status(l, s->status) || (l->grpc && s->grpc != 0))
        return false;
    return !s->sampled || !l->check || l->check(l, s);
}

static void on_end(struct http_call *call, const struct status *why)
{
    struct bench_slot *s = call->user;
    struct bench_load *l = s->load;

    if (!answer_is_good(l, s, why))
        bench_error(l->result, s->status, buf_str(&s->reply), why);
    if (l->measuring) {
        hist_add(&l->result->latency, (uint64_t)(bench_now_ns() - s->sent_ns));
        l->result->ops++;
        l->result->bytes += s->bytes;
    }
    /* A server that is gone fails thousands of requests a second: enough is enough. */
    if (l->result->errors > 100000)
        l->ending = true;
    slot_next(s);
}

static void slot_idle(struct bench_load *l)
{
    if (--l->busy == 0)
        loop_stop(l->loop);
}

static int64_t due_ns(const struct bench_load *l)
{
    return l->paced_ns + (int64_t)((double)l->started * 1e9 / l->rate);
}

/* A request that waited for a free stream counts from when it was due: a load that is late must
 * not look fast.  Our own ticks are no delay of the server's. */
static int64_t sent_ns(const struct bench_load *l)
{
    int64_t now = bench_now_ns();

    if (l->rate && now - due_ns(l) > (int64_t)2 * PACE_MS * 1000000)
        return due_ns(l);
    return now;
}

static void slot_next(struct bench_slot *s)
{
    struct bench_load *l = s->load;

    if (l->ending) {
        slot_idle(l);
        return;
    }
    if (l->rate && due_ns(l) > bench_now_ns()) {
        l->idle[l->nidle++] = s;
        return;
    }
    buf_clear(&s->path);
    buf_clear(&s->body);
    buf_clear(&s->reply);
    s->bytes = 0;
    s->status = 0;
    s->grpc = -1;
    s->number = l->started;
    s->sampled = l->sample_every && l->started % l->sample_every == 0;
    if (!l->next(l, s)) {
        slot_idle(l);
        return;
    }
    s->sent_ns = sent_ns(l);
    l->started++;
    http_client_call(s->client, &s->call);
}

/* ---- time ---- */

static void begin(struct bench_load *l)
{
    struct bench_result *r = l->result;

    l->measuring = true;
    hist_clear(&r->latency);
    r->ops = r->errors = r->bytes = 0;
    r->error[0] = '\0';
    l->began_ns = bench_now_ns();
    l->own_cpu_s = bench_own_cpu_s();
    l->at_begin = bench_proc_read(l->pids);
    r->before = l->at_begin;
    r->rss_peak = l->at_begin.rss;
    r->anon_peak = l->at_begin.rss_anon;
}

static void finish(struct bench_load *l)
{
    struct bench_result *r = l->result;

    if (!l->measuring)
        return;
    l->measuring = false;
    r->after = bench_proc_read(l->pids);
    r->seconds = (double)(bench_now_ns() - l->began_ns) / 1e9;
    r->have_cpu = l->pids->n > 0;
    r->cpu_s = r->after.cpu_s - l->at_begin.cpu_s;
    r->own_cpu_s = bench_own_cpu_s() - l->own_cpu_s;
}

static void on_warm(struct loop_timer *t)
{
    begin(CONTAINER(t, struct bench_load, warm));
}

static void on_time(struct loop_timer *t)
{
    struct bench_load *l = CONTAINER(t, struct bench_load, end);

    l->ending = true;
    finish(l);
}

static void on_pace(struct loop_timer *t)
{
    struct bench_load *l = CONTAINER(t, struct bench_load, pace);
    unsigned n = l->nidle;

    loop_timer_set(l->loop, t, PACE_MS);
    while (n-- && (l->ending || due_ns(l) <= bench_now_ns()))
        slot_next(l->idle[--l->nidle]);
}

static void on_watch(struct loop_timer *t)
{
    struct bench_load *l = CONTAINER(t, struct bench_load, watch);
    struct bench_proc now = bench_proc_read(l->pids);

    if (now.rss > l->result->rss_peak)
        l->result->rss_peak = now.rss;
    if (now.rss_anon > l->result->anon_peak)
        l->result->anon_peak = now.rss_anon;
    loop_timer_set(l->loop, t, WATCH_MS);
}

static void on_give_up(struct loop_timer *t)
{
    struct bench_load *l = CONTAINER(t, struct bench_load, give_up);

    bench_error(l->result, 0, STR_NONE,
                &(struct status){ .reason = REASON_TIMEOUT,
                                  .message = STR("the server stopped answering") });
    loop_stop(l->loop);
}

/* ---- a run ---- */

static int make_clients(struct bench_load *l, struct status *st)
{
    struct http_client_options o = l->target->http;

    o.loop = l->loop;
    o.streams = l->streams;
    l->clients = mem_zalloc(l->connections * sizeof(struct http_client *));
    for (unsigned i = 0; i < l->connections; i++) {
        l->clients[i] = http_client_new(&o, st);
        if (!l->clients[i])
            return -1;
    }
    return 0;
}

static void make_slots(struct bench_load *l)
{
    unsigned n = l->connections * l->streams;
    size_t keep = l->reply_max > ERROR_MAX ? l->reply_max : ERROR_MAX;

    l->slots = mem_zalloc(n * sizeof(struct bench_slot));
    l->idle = mem_zalloc(n * sizeof(struct bench_slot *));
    for (unsigned i = 0; i < n; i++) {
        struct bench_slot *s = &l->slots[i];

        *s = (struct bench_slot){ .load = l, .client = l->clients[i % l->connections] };
        s->call = (struct http_call){ .headers = l->target->headers,
                                      .nheaders = l->target->nheaders,
                                      .head = on_head,
                                      .data = on_data,
                                      .trailers = on_trailers,
                                      .end = on_end,
                                      .user = s };
        buf_init(&s->path, 64 << 10);
        buf_init(&s->body, 1 << 20);
        buf_init(&s->reply, keep);
        buf_init(&s->memo, 64 << 10);
    }
}

static void free_all(struct bench_load *l)
{
    l->ending = true;
    for (unsigned i = 0; i < l->connections; i++)
        http_client_free(l->clients[i]);
    for (unsigned i = 0; l->slots && i < l->connections * l->streams; i++) {
        buf_release(&l->slots[i].path);
        buf_release(&l->slots[i].body);
        buf_release(&l->slots[i].reply);
        buf_release(&l->slots[i].memo);
    }
    free(l->slots);
    free(l->idle);
    free(l->clients);
    l->slots = NULL;
    l->idle = NULL;
    l->clients = NULL;
}

static void start(struct bench_load *l)
{
    l->warm.fn = on_warm;
    l->end.fn = on_time;
    l->watch.fn = on_watch;
    l->give_up.fn = on_give_up;
    l->pace.fn = on_pace;
    l->paced_ns = bench_now_ns();
    if (l->rate)
        loop_timer_set(l->loop, &l->pace, PACE_MS);
    if (l->warm_ms)
        loop_timer_set(l->loop, &l->warm, l->warm_ms);
    else
        begin(l);
    if (l->duration_ms) {
        loop_timer_set(l->loop, &l->end, l->warm_ms + l->duration_ms);
        loop_timer_set(l->loop, &l->give_up, l->warm_ms + l->duration_ms + GIVE_UP_MS);
    }
    if (l->pids->n)
        loop_timer_set(l->loop, &l->watch, WATCH_MS);
}

int bench_load_run(struct bench_load *l, struct bench_result *r, struct status *st)
{
    unsigned n = l->connections * l->streams;
    int rc;

    l->result = r;
    l->busy = n;
    l->started = l->nidle = 0;
    l->measuring = l->ending = false;
    rc = make_clients(l, st);
    if (rc == 0) {
        make_slots(l);
        start(l);
        for (unsigned i = 0; i < n; i++)
            slot_next(&l->slots[i]);
        loop_run(l->loop);
        finish(l);
        loop_timer_cancel(l->loop, &l->warm);
        loop_timer_cancel(l->loop, &l->end);
        loop_timer_cancel(l->loop, &l->watch);
        loop_timer_cancel(l->loop, &l->give_up);
        loop_timer_cancel(l->loop, &l->pace);
    }
    l->busy = n + 1; /* answers that still come stop nothing */
    free_all(l);
    return rc;
}
