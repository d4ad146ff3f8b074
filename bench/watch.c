/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workload 6 of DESIGN 8: many watches, one writer.  Every update carries its number and the time
 * it was sent, so each watch can be checked to have seen each update once, and how late.
 *
 * Watches are read by a thread a core: by one alone, each event would wait for all others of its
 * update, and the lag would be that of the load tool.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"
#include "bench/work.h"

enum {
    TICK_MS = 1,
    OPEN_MS = 30000,  /* for all watches to open */
    DRAIN_MS = 10000, /* for the last events to come */
    LINE_MAX = 64 << 10,
    WRITES = 64, /* in flight at most */
    READERS = 8, /* threads at most */
};

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

struct run;

struct watch_reader { /* a thread with its connections */
    struct run *run;
    struct loop *loop;
    pthread_t thread;
    bool started;
    struct hist lag;
    uint64_t bytes;
    _Atomic uint64_t opened, events;
};

struct bench_watch {
    struct http_call call;
    struct watch_reader *reader;
    int status;
    struct buf path, part; /* part: of an event that is not whole yet */
    size_t at;             /* where the mark was in the last event */
    uint64_t events, sum;  /* sum of the numbers seen */
};

struct write {
    struct http_call call;
    struct run *run;
    int status;
    int64_t sent_ns;
    uint64_t number;
    struct buf path, body, reply;
    bool busy;
};

struct run {
    struct bench *b;
    struct bench_result *r;
    pthread_mutex_t mu; /* guards the errors in r */
    struct watch_reader readers[READERS];
    struct http_client **clients; /* of the watches; client i is of reader i % nreaders */
    struct http_client *writer;
    unsigned nreaders, nclients, nwatches, objects, rate;
    struct bench_watch *watches;
    struct write writes[WRITES];
    uint64_t sent, acknowledged, sum; /* updates; sum of the acknowledged numbers */
    struct hist ack;
    int64_t began_ns, end_ns;
    bool opening, writing;
    atomic_bool leaving;
    struct bench_proc at_begin;
    double own_cpu_s;
    struct loop_timer tick, stop;
};

/* ---- events ---- */

static const char mark[] = BENCH_AT;
enum { MARK = sizeof(mark) - 1 };

static const char *find_mark(struct bench_watch *w, str line)
{
    const char *p;

    /* Events look alike: where it was last time it is most likely again. */
    if (w->at + MARK < line.n && memcmp(line.p + w->at, mark, MARK) == 0)
        return line.p + w->at + MARK;
    p = memmem(line.p, line.n, mark, MARK);
    if (!p)
        return NULL;
    w->at = (size_t)(p - line.p);
    return p + MARK;
}

/* Digits, up to something else; a line ends with one. */
static uint64_t digits(const char **p)
{
    uint64_t v = 0;

    for (; **p >= '0' && **p <= '9'; ++*p)
        v = v * 10 + (uint64_t)(**p - '0');
    return v;
}

static void take_event(struct bench_watch *w, str line)
{
    const char *p = find_mark(w, line);
    uint64_t number;

    if (!p)
        return; /* a bookmark */
    number = digits(&p);
    if (*p++ != '-')
        return; /* not one of this run's updates */
    hist_add(&w->reader->lag, (uint64_t)bench_now_ns() - digits(&p));
    w->events++;
    w->sum += number;
    atomic_fetch_add_explicit(&w->reader->events, 1, memory_order_relaxed);
}

static void watch_data(struct http_call *call, str bytes)
{
    struct bench_watch *w = call->user;

    w->reader->bytes += bytes.n;
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

static void watch_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    struct bench_watch *w = call->user;

    (void)h;
    (void)n;
    w->status = status;
    if (status == 200)
        atomic_fetch_add(&w->reader->opened, 1);
}

static void note_error(struct run *x, int status, str body, const struct status *why)
{
    (void)pthread_mutex_lock(&x->mu);
    bench_error(x->r, status, body, why);
    (void)pthread_mutex_unlock(&x->mu);
}

static void watch_end(struct http_call *call, const struct status *why)
{
    static const struct status early = { .reason = REASON_UNAVAILABLE,
                                         .message = STR_INIT("a watch ended before its time") };
    struct bench_watch *w = call->user;
    struct run *x = w->reader->run;

    if (atomic_load(&x->leaving))
        return; /* it ends because we go */
    note_error(x, w->status, buf_str(&w->part), !why && w->status == 200 ? &early : why);
}

/* ---- updates ---- */

static void write_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    struct write *w = call->user;

    (void)h;
    (void)n;
    w->status = status;
}

static void write_data(struct http_call *call, str bytes)
{
    struct write *w = call->user;

    if (w->status != 200)
        buf_str_append(&w->reply, bytes);
}

static void write_end(struct http_call *call, const struct status *why)
{
    struct write *w = call->user;
    struct run *x = w->run;

    w->busy = false;
    if (atomic_load(&x->leaving))
        return;
    if (why || w->status != 200) {
        note_error(x, w->status, buf_str(&w->reply), why);
        return;
    }
    hist_add(&x->ack, (uint64_t)(bench_now_ns() - w->sent_ns));
    x->acknowledged++;
    x->sum += w->number;
}

static struct write *free_write(struct run *x)
{
    for (unsigned i = 0; i < WRITES; i++)
        if (!x->writes[i].busy)
            return &x->writes[i];
    return NULL;
}

static void send_update(struct run *x, struct write *w)
{
    struct bench *b = x->b;
    unsigned i = (unsigned)(x->sent % x->objects);
    char name[32], at[64];

    w->busy = true;
    w->number = ++x->sent;
    w->status = 0;
    w->sent_ns = bench_now_ns();
    buf_clear(&w->path);
    buf_clear(&w->body);
    buf_clear(&w->reply);
    (void)snprintf(name, sizeof(name), "\"name\":\"o-%06u\"", i);
    (void)snprintf(at, sizeof(at), "%llu-%lld", (unsigned long long)w->number,
                   (long long)w->sent_ns);
    buf_printf(&w->path, "%.*s/api/v1/namespaces/%s/configmaps/o-%06u", STR_ARG(b->target.prefix),
               b->o.namespace, i);
    bench_object_body(b, &w->body, str_of(name), i / 10, str_of(at));
    w->call = (struct http_call){ .method = STR("PUT"),
                                  .path = buf_str(&w->path),
                                  .headers = b->target.headers,
                                  .nheaders = b->target.nheaders,
                                  .body = buf_str(&w->body),
                                  .head = write_head,
                                  .data = write_data,
                                  .end = write_end,
                                  .user = w };
    http_client_call(x->writer, &w->call);
}

static uint64_t events_of(struct run *x)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < x->nreaders; i++)
        n += atomic_load(&x->readers[i].events);
    return n;
}

static uint64_t opened_of(struct run *x)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < x->nreaders; i++)
        n += atomic_load(&x->readers[i].opened);
    return n;
}

static bool all_seen(struct run *x)
{
    uint64_t errors;

    (void)pthread_mutex_lock(&x->mu);
    errors = x->r->errors;
    (void)pthread_mutex_unlock(&x->mu);
    return x->acknowledged + errors >= x->sent && events_of(x) >= x->acknowledged * x->nwatches;
}

static void on_tick(struct loop_timer *t)
{
    struct run *x = CONTAINER(t, struct run, tick);
    int64_t now = bench_now_ns();
    uint64_t due = (uint64_t)((double)(now - x->began_ns) / 1e9 * x->rate);
    struct write *w;

    loop_timer_set(x->b->loop, t, TICK_MS);
    if (x->opening) {
        if (opened_of(x) == x->nwatches)
            loop_stop(x->b->loop);
        return;
    }
    if (!x->writing) {
        if (all_seen(x))
            loop_stop(x->b->loop);
        return;
    }
    if (now >= x->end_ns) {
        x->writing = false;
        loop_timer_set(x->b->loop, &x->stop, DRAIN_MS);
        return;
    }
    while (x->sent < due && (w = free_write(x)))
        send_update(x, w);
}

static void on_stop(struct loop_timer *t)
{
    loop_stop(CONTAINER(t, struct run, stop)->b->loop);
}

/* ---- a run ---- */

static int current_version(struct bench *b, str *out, struct status *st)
{
    struct client_ref ref = { .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = str_of(b->o.namespace) };
    struct client_query q = { .limit = 1 };
    const struct json *list;

    if (client_list(b->client, b->arena, &ref, &q, &list, st) < 0)
        return -1;
    *out = json_get_str(list, "metadata.resourceVersion");
    return 0;
}

static int make_clients(struct run *x, struct status *st)
{
    struct http_client_options o = x->b->target.http;

    o.loop = x->b->loop;
    o.streams = WRITES;
    x->writer = http_client_new(&o, st);
    x->clients = mem_zalloc(x->nclients * sizeof(struct http_client *));
    o.streams = (x->nwatches + x->nclients - 1) / x->nclients;
    for (unsigned i = 0; i < x->nclients; i++) {
        o.loop = x->readers[i % x->nreaders].loop;
        x->clients[i] = http_client_new(&o, st);
        if (!x->clients[i])
            return -1;
    }
    return x->writer ? 0 : -1;
}

static void call_watches(struct run *x, str version)
{
    const struct bench *b = x->b;

    x->watches = mem_zalloc(x->nwatches * sizeof(struct bench_watch));
    for (unsigned i = 0; i < x->nwatches; i++) {
        struct bench_watch *w = &x->watches[i];

        w->reader = &x->readers[i % x->nclients % x->nreaders];
        buf_init(&w->path, 4096);
        buf_init(&w->part, LINE_MAX);
        buf_printf(&w->path, "%.*s/api/v1/namespaces/%s/configmaps?watch=true&resourceVersion=%.*s",
                   STR_ARG(b->target.prefix), b->o.namespace, STR_ARG(version));
        w->call = (struct http_call){ .method = STR("GET"),
                                      .path = buf_str(&w->path),
                                      .headers = b->target.headers,
                                      .nheaders = b->target.nheaders,
                                      .head = watch_head,
                                      .data = watch_data,
                                      .end = watch_end,
                                      .user = w };
        http_client_call(x->clients[i % x->nclients], &w->call);
    }
}

static void *read_events(void *arg)
{
    loop_run(((struct watch_reader *)arg)->loop);
    return NULL;
}

static int open_watches(struct run *x, struct status *st)
{
    struct bench *b = x->b;
    str version;

    if (current_version(b, &version, st) < 0)
        return -1;
    call_watches(x, version);
    for (unsigned i = 0; i < x->nreaders; i++) {
        struct watch_reader *r = &x->readers[i];
        int err = pthread_create(&r->thread, NULL, read_events, r);

        if (err)
            return status_errno(st, err, "cannot start a thread");
        r->started = true;
    }
    x->opening = true;
    loop_timer_set(b->loop, &x->tick, TICK_MS);
    loop_timer_set(b->loop, &x->stop, OPEN_MS);
    loop_run(b->loop);
    loop_timer_cancel(b->loop, &x->tick);
    loop_timer_cancel(b->loop, &x->stop);
    x->opening = false;
    if (opened_of(x) < x->nwatches)
        return status_set(st, REASON_TIMEOUT, "only %u of %u watches were opened: %s",
                          (unsigned)opened_of(x), x->nwatches, x->r->error);
    return 0;
}

static void readers_stop(struct run *x)
{
    atomic_store(&x->leaving, true);
    for (unsigned i = 0; i < x->nreaders; i++) {
        struct watch_reader *r = &x->readers[i];

        if (!r->started)
            continue;
        loop_stop(r->loop);
        (void)pthread_join(r->thread, NULL);
        r->started = false;
    }
}

static void measure(struct run *x)
{
    struct bench *b = x->b;
    struct bench_result *r = x->r;

    x->at_begin = bench_proc_read(&b->pids);
    x->own_cpu_s = bench_own_cpu_s();
    x->began_ns = bench_now_ns();
    x->end_ns = x->began_ns + (int64_t)bench_or(b->o.duration, 10) * 1000000000;
    x->writing = true;
    loop_timer_set(b->loop, &x->tick, TICK_MS);
    loop_run(b->loop);
    loop_timer_cancel(b->loop, &x->tick);
    loop_timer_cancel(b->loop, &x->stop);
    r->seconds = (double)(bench_now_ns() - x->began_ns) / 1e9;
    r->before = x->at_begin;
    r->after = bench_proc_read(&b->pids);
    r->rss_peak = r->after.rss;
    r->have_cpu = b->pids.n > 0;
    r->cpu_s = r->after.cpu_s - x->at_begin.cpu_s;
    r->own_cpu_s = bench_own_cpu_s() - x->own_cpu_s;
}

/* A watch that saw each update once has the same count and the same sum of numbers. */
static void judge(struct run *x)
{
    struct bench_result *r = x->r;
    unsigned wrong = 0;

    for (unsigned i = 0; i < x->nreaders; i++) {
        r->bytes += x->readers[i].bytes;
        hist_merge(&r->latency, &x->readers[i].lag);
    }
    for (unsigned i = 0; i < x->nwatches; i++)
        wrong += x->watches[i].events != x->acknowledged || x->watches[i].sum != x->sum;
    r->ops = events_of(x);
    bench_figure(r, "updates per second", (double)x->acknowledged / bench_or(x->b->o.duration, 10),
                 "/s");
    bench_figure(r, "update p50", (double)hist_quantile(&x->ack, 0.5) / 1e3, "µs");
    bench_figure(r, "update p99", (double)hist_quantile(&x->ack, 0.99) / 1e3, "µs");
    bench_figure(r, "updates wanted", x->rate, "/s");
    bench_figure(r, "watches with gaps or repeats", wrong, "");
    if (wrong)
        bench_error(r, 0, STR_NONE,
                    &(struct status){ .message = STR("a watch missed or repeated an update") });
}

static void release(struct run *x)
{
    readers_stop(x);
    for (unsigned i = 0; x->clients && i < x->nclients; i++)
        http_client_free(x->clients[i]);
    http_client_free(x->writer);
    free(x->clients);
    for (unsigned i = 0; i < x->nreaders; i++)
        loop_free(x->readers[i].loop);
    (void)pthread_mutex_destroy(&x->mu);
    for (unsigned i = 0; x->watches && i < x->nwatches; i++) {
        buf_release(&x->watches[i].path);
        buf_release(&x->watches[i].part);
    }
    free(x->watches);
    for (unsigned i = 0; i < WRITES; i++) {
        buf_release(&x->writes[i].path);
        buf_release(&x->writes[i].body);
        buf_release(&x->writes[i].reply);
    }
    free(x);
}

static void make_readers(struct run *x)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    x->nreaders = cores < 1 ? 1 : cores > READERS ? READERS : (unsigned)cores;
    if (x->nreaders > x->nclients)
        x->nreaders = x->nclients;
    for (unsigned i = 0; i < x->nreaders; i++) {
        x->readers[i].run = x;
        x->readers[i].loop = loop_new();
    }
}

static struct run *run_new(struct bench *b, struct bench_result *r)
{
    struct run *x = mem_zalloc(sizeof(*x));

    x->b = b;
    x->r = r;
    x->nwatches = bench_or(b->o.watches, 1000);
    x->nclients = bench_or(b->o.connections, 20);
    x->objects = bench_or(b->o.objects, 1000);
    x->rate = bench_or(b->o.rate, 100);
    (void)pthread_mutex_init(&x->mu, NULL);
    make_readers(x);
    x->tick.fn = on_tick;
    x->stop.fn = on_stop;
    for (unsigned i = 0; i < WRITES; i++) {
        x->writes[i].run = x;
        buf_init(&x->writes[i].path, 4096);
        buf_init(&x->writes[i].body, 1 << 20);
        buf_init(&x->writes[i].reply, 1 << 20);
    }
    return x;
}

int bench_watch(struct bench *b, struct bench_result *r, struct status *st)
{
    struct run *x = run_new(b, r);
    int rc = -1;

    (void)snprintf(r->setup, sizeof(r->setup),
                   "%u watches on %u connections, %u updates/s of %u objects; an operation is an "
                   "event, its latency from the update's sending",
                   x->nwatches, x->nclients, x->rate, x->objects);
    if (bench_objects(b, x->objects, st) == 0 && make_clients(x, st) == 0 &&
        open_watches(x, st) == 0) {
        measure(x);
        readers_stop(x);
        judge(x);
        rc = 0;
    }
    release(x);
    return rc;
}
