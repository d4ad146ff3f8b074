/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workload 9 of DESIGN 8: Deployments under one policy, each to all members.  Measured from the
 * create in the instance to the moment a watch at the member tells of it.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "bench/fleet.h"

enum {
    BURST = 1000,
    RATE = 50,
    LINE_MAX = 1 << 20,
    TICK_MS = 5,
    OPEN_MS = 10000,
    DRAIN_MS = 60000, /* for the last to come */
};

#define PREFIX                     "/clusters/" BENCH_INSTANCE
#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

struct run;

struct seen { /* a watch at a member */
    struct http_call call;
    struct http_client *client;
    struct run *run;
    struct bench_target target;
    struct buf path, part;
    uint8_t *marks; /* of each Deployment: it is there */
    bool open;
};

struct run {
    struct bench *b;
    struct bench_result *r;
    struct bench_fleet fleet;
    struct seen *watches;
    char batch[32];   /* what the names begin with: other runs may have left theirs */
    unsigned n;       /* Deployments at most */
    unsigned sent;    /* so far */
    int64_t *sent_ns; /* of each */
    int64_t first_ns, last_ns;
    uint64_t applied; /* Deployments x members */
    bool waiting;     /* for all to be there */
    int64_t until_ns;
    struct loop_timer tick;
};

/* ---- at the members ---- */

/* The number of one of this run's Deployments, or -1. */
static long number_of(const struct run *x, str line)
{
    char mark[64];
    size_t n = (size_t)snprintf(mark, sizeof(mark), "\"name\":\"%s", x->batch);
    const char *p = memmem(line.p, line.n, mark, n);

    return p ? strtol(p + n, NULL, 10) : -1; /* a line ends with \n */
}

static void take_event(struct seen *w, str line)
{
    struct run *x = w->run;
    int64_t now = bench_now_ns();
    long i;

    if (!str_starts(line, STR("{\"type\":\"ADDED\"")))
        return;
    i = number_of(x, line);
    if (i < 0 || i >= (long)x->n || w->marks[i])
        return;
    w->marks[i] = 1;
    x->applied++;
    x->last_ns = now;
    hist_add(&x->r->latency, (uint64_t)(now - x->sent_ns[i]));
}

static void on_data(struct http_call *call, str bytes)
{
    struct seen *w = call->user;

    while (bytes.n) {
        const char *nl = memchr(bytes.p, '\n', bytes.n);
        size_t n = nl ? (size_t)(nl - bytes.p) + 1 : bytes.n;

        if (!nl || w->part.n)
            buf_append(&w->part, bytes.p, n);
        if (nl) {
            take_event(w, w->part.n ? buf_str(&w->part) : str_sub(bytes, 0, n));
            buf_clear(&w->part);
        }
        bytes = str_from(bytes, n);
    }
}

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    (void)h;
    (void)n;
    ((struct seen *)call->user)->open = status == 200;
}

static void on_end(struct http_call *call, const struct status *why)
{
    static const struct status early = { .reason = REASON_UNAVAILABLE,
                                         .message = STR_INIT("a member's watch has ended") };
    struct seen *w = call->user;

    w->open = false;
    if (w->run->waiting)
        bench_error(w->run->r, 0, STR_NONE, why ? why : &early);
}

static int watch_member(struct run *x, size_t i, struct status *st)
{
    struct seen *w = &x->watches[i];
    struct http_client_options o;

    w->run = x;
    w->marks = mem_zalloc(x->n);
    buf_init(&w->path, 4096);
    buf_init(&w->part, LINE_MAX);
    bench_target_init(&w->target, x->b->arena, &x->fleet.members[i].k);
    o = w->target.http;
    o.loop = x->b->loop;
    w->client = http_client_new(&o, st);
    if (!w->client)
        return -1;
    buf_printf(&w->path, "%.*s/apis/apps/v1/namespaces/default/deployments?watch=true",
               STR_ARG(w->target.prefix));
    w->call = (struct http_call){ .method = STR("GET"),
                                  .path = buf_str(&w->path),
                                  .headers = w->target.headers,
                                  .nheaders = w->target.nheaders,
                                  .head = on_head,
                                  .data = on_data,
                                  .end = on_end,
                                  .user = w };
    http_client_call(w->client, &w->call);
    return 0;
}

static int watch_members(struct run *x, struct status *st)
{
    size_t open = 0;

    x->watches = mem_zalloc((x->fleet.n + 1) * sizeof(*x->watches));
    for (size_t i = 0; i < x->fleet.n; i++)
        if (watch_member(x, i, st) < 0)
            return -1;
    for (int ms = 0; ms < OPEN_MS && open < x->fleet.n; ms += TICK_MS) {
        bench_sleep(x->b, TICK_MS);
        open = 0;
        for (size_t i = 0; i < x->fleet.n; i++)
            open += x->watches[i].open;
    }
    if (open < x->fleet.n)
        return status_set(st, REASON_TIMEOUT, "%zu of %zu members can be watched", open,
                          x->fleet.n);
    return 0;
}

/* ---- in the instance ---- */

static int make_policy(struct bench *b, struct status *st)
{
    static const char object[] =
        "{\"apiVersion\":\"policy.karmada.io/v1alpha1\",\"kind\":\"PropagationPolicy\",\"metadata\""
        ":{\"name\":\"bench\",\"namespace\":\"default\"},\"spec\":{\"resourceSelectors\":[{"
        "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}],\"placement\":{\"clusterAffinity\":{}"
        ",\"replicaScheduling\":{\"replicaSchedulingType\":\"Duplicated\"}}}}";
    struct client_ref ref = { .instance = STR(BENCH_INSTANCE),
                              .group = STR("policy.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("propagationpolicies"),
                              .namespace = STR("default"),
                              .name = STR("bench") };
    const struct json *v;

    if (client_get(b->client, b->arena, &ref, NULL, st) == 0)
        return 0; /* of a run before */
    status_reset(st);
    ref.name = STR_NONE;
    if (json_parse(b->arena, str_of(object), NULL, &v, st) < 0)
        return -1;
    return client_create(b->client, b->arena, &ref, v, NULL, st);
}

static bool next_deployment(struct bench_load *l, struct bench_slot *s)
{
    struct run *x = l->user;
    unsigned i = x->sent;

    if (i >= x->n)
        return false;
    buf_str_append(&s->path, x->b->target.prefix);
    buf_lit(&s->path, PREFIX "/apis/apps/v1/namespaces/default/deployments");
    buf_printf(&s->body,
               "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
               "\"%s%05u\",\"labels\":{\"app\":\"a%05u\",\"suite\":\"bench\"}},\"spec\":{"
               "\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"a%05u\"}},\"template\":{"
               "\"metadata\":{\"labels\":{\"app\":\"a%05u\"}},\"spec\":{\"containers\":[{\"name\":"
               "\"main\",\"image\":\"registry.example.com/app:1\",\"resources\":{\"requests\":{"
               "\"cpu\":\"10m\",\"memory\":\"8Mi\"}}}]}}}}",
               x->batch, i, i, i, i);
    s->call.method = STR("POST");
    s->call.path = buf_str(&s->path);
    s->call.body = buf_str(&s->body);
    x->sent_ns[i] = bench_now_ns();
    if (i == 0)
        x->first_ns = x->sent_ns[0];
    x->sent++;
    return true;
}

static bool all_there(const struct run *x)
{
    return x->applied >= (uint64_t)x->sent * x->fleet.n;
}

static void on_tick(struct loop_timer *t)
{
    struct run *x = CONTAINER(t, struct run, tick);

    if (all_there(x) || bench_now_ns() > x->until_ns)
        loop_stop(x->b->loop);
    else
        loop_timer_set(x->b->loop, t, TICK_MS);
}

static void wait_for_all(struct run *x)
{
    x->until_ns = bench_now_ns() + (int64_t)DRAIN_MS * 1000000;
    x->tick.fn = on_tick;
    loop_timer_set(x->b->loop, &x->tick, TICK_MS);
    loop_run(x->b->loop);
    loop_timer_cancel(x->b->loop, &x->tick);
    if (!all_there(x))
        bench_error(x->r, 0, STR_NONE,
                    &(struct status){ .message = STR("not everything came to the members") });
}

/* ---- a run ---- */

static void figures(struct run *x, const struct bench_proc *there)
{
    struct bench_result *r = x->r;
    double works = (double)x->applied;

    r->ops = x->applied;
    r->seconds = (double)(x->last_ns - x->first_ns) / 1e9;
    bench_figure(r, "works per second", r->seconds > 0 ? works / r->seconds : 0, "/s");
    if (!r->have_cpu || works <= 0)
        return;
    bench_figure(r, "CPU per work until all are there",
                 (there->cpu_s - r->before.cpu_s) * 1e3 / works, "ms");
    bench_figure(r, "CPU per work until quiet", r->cpu_s * 1e3 / works, "ms");
    bench_figure(r, "memory per work",
                 ((double)r->after.rss - (double)r->before.rss) / 1024 / works, "KiB");
    if (x->fleet.kib_all > 0) {
        bench_figure(r, "memory per member", x->fleet.kib_each, "KiB");
        bench_figure(r, "memory per member with what all share", x->fleet.kib_all, "KiB");
    }
}

static int measure(struct run *x, unsigned rate, struct status *st)
{
    struct bench *b = x->b;
    struct bench_load l = bench_load_of(b, 4, 16);
    struct bench_result *part = arena_new_of(b->arena, struct bench_result);
    struct bench_proc there;

    l.rate = rate;
    l.warm_ms = l.duration_ms = 0;
    l.next = next_deployment;
    l.user = x;
    x->waiting = true;
    x->r->have_cpu = b->pids.n > 0;
    x->r->before = bench_proc_read(&b->pids);
    x->r->own_cpu_s = -bench_own_cpu_s();
    if (bench_load_run(&l, part, st) < 0)
        return -1;
    x->r->errors += part->errors;
    (void)snprintf(x->r->error, sizeof(x->r->error), "%s", part->error);
    bench_figure(x->r, "accepted p50", (double)hist_quantile(&part->latency, 0.5) / 1e3, "µs");
    wait_for_all(x);
    x->r->own_cpu_s += bench_own_cpu_s();
    there = bench_proc_read(&b->pids);
    bench_quiet(b);
    x->r->after = bench_proc_read(&b->pids);
    x->r->rss_peak = x->r->after.rss;
    x->r->cpu_s = x->r->after.cpu_s - x->r->before.cpu_s;
    figures(x, &there);
    return 0;
}

static void release(struct run *x)
{
    x->waiting = false;
    for (size_t i = 0; x->watches && i < x->fleet.n; i++) {
        struct seen *w = &x->watches[i];

        if (w->client)
            http_client_free(w->client);
        buf_release(&w->path);
        buf_release(&w->part);
        free(w->marks);
    }
    free(x->watches);
    free(x->sent_ns);
}

static int propagate(struct bench *b, struct bench_result *r, unsigned n, unsigned rate,
                     struct status *st)
{
    struct run x = { .b = b, .r = r, .n = n };
    int rc = -1;

    x.sent_ns = mem_zalloc((n + 1) * sizeof(int64_t));
    (void)snprintf(x.batch, sizeof(x.batch), "b%llx-", (unsigned long long)bench_now_ns() >> 20);
    if (bench_fleet_open(b, &x.fleet, st) == 0 && make_policy(b, st) == 0 &&
        watch_members(&x, st) == 0) {
        (void)snprintf(r->setup, sizeof(r->setup), "%u Deployments, each to %zu members, %u/s", n,
                       x.fleet.n, rate);
        rc = measure(&x, rate, st);
    }
    release(&x);
    bench_fleet_clean(b);
    return rc;
}

int bench_propagate(struct bench *b, struct bench_result *r, struct status *st)
{
    unsigned rate = bench_or(b->o.rate, RATE);

    return propagate(b, r, rate * bench_or(b->o.duration, 10), rate, st);
}

int bench_burst(struct bench *b, struct bench_result *r, struct status *st)
{
    return propagate(b, r, bench_or(b->o.objects, BURST), 0, st);
}
