/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workload 8 of DESIGN 8: many empty instances made, touched, deleted.  Where controllers run, what
 * they make of each is part of it: they are settled when the server has nothing more to do.
 */

#include <stdio.h>

#include "base/banned.h"
#include "bench/work.h"

#define GROUP "/apis/tenancy.kairship.io/v1alpha1"

enum { SETTLE_MS = 5000, IDLE_MS = 5000, POLL_MS = 20, GONE_MS = 120000 };

struct instances {
    struct bench *b;
    unsigned n;
    const char *method, *path; /* with one %u for the name's number, or without */
    bool body;
};

static bool next_instance(struct bench_load *l, struct bench_slot *s)
{
    struct instances *x = l->user;
    unsigned i = (unsigned)l->started;

    if (i >= x->n)
        return false;
    buf_str_append(&s->path, x->b->target.prefix);
    buf_printf(&s->path, "%s", x->path);
    if (!x->body)
        buf_printf(&s->path, "/bench-%06u", i);
    if (str_is(str_of(x->method), "GET"))
        buf_lit(&s->path, "/api/v1/namespaces/default");
    if (x->body)
        buf_printf(&s->body,
                   "{\"kind\":\"Instance\",\"apiVersion\":\"tenancy.kairship.io/v1alpha1\","
                   "\"metadata\":{\"name\":\"bench-%06u\"}}",
                   i);
    s->call.method = str_of(x->method);
    s->call.path = buf_str(&s->path);
    s->call.body = buf_str(&s->body);
    return true;
}

static int phase(struct instances *x, const char *method, const char *path, bool body,
                 struct bench_result *r, struct status *st)
{
    struct bench_load l = bench_load_of(x->b, 4, 16);

    x->method = method;
    x->path = path;
    x->body = body;
    l.warm_ms = l.duration_ms = 0;
    l.rate = 0;
    l.next = next_instance;
    l.user = x;
    *r = (struct bench_result){ .workload = r->workload };
    return bench_load_run(&l, r, st);
}

/* Until the list holds none of ours; seconds, or -1. */
static double wait_until_gone(struct bench *b)
{
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances") };
    struct client_query q = { .limit = 1 };
    int64_t began = bench_now_ns();

    for (;;) {
        scoped_arena a = arena_new();
        const struct json *list;
        struct status st;
        double s = (double)(bench_now_ns() - began) / 1e9;

        status_init(&st, a);
        if (client_list(b->client, a, &ref, &q, &list, &st) == 0 &&
            !str_starts(json_get_str(json_at(json_get(list, STR("items")), 0), "metadata.name"),
                        STR("bench-")))
            return s;
        if (s > GONE_MS / 1000.0)
            return -1;
        bench_sleep(b, POLL_MS);
    }
}

static bool served(struct bench *b)
{
    scoped_arena a = arena_new();
    struct client_request req = { .method = STR("GET"), .path = STR(GROUP) };
    struct status st;

    status_init(&st, a);
    return client_do(b->client, a, &req, NULL, &st) == 0;
}

static void keep_error(struct bench_result *sum, const struct bench_result *part)
{
    sum->errors += part->errors;
    if (!sum->error[0])
        (void)snprintf(sum->error, sizeof(sum->error), "%s", part->error);
}

static double kib_each(uint64_t now, uint64_t before, unsigned n)
{
    return ((double)now - (double)before) / n / 1024;
}

/* Taken while they exist, and what of it is still taken after all are gone. */
static void memory_figures(struct bench_result *r, const struct bench_proc *full, unsigned n)
{
    bench_figure(r, "memory per instance", kib_each(full->rss, r->before.rss, n), "KiB");
    bench_figure(r, "anonymous memory per instance",
                 kib_each(full->rss_anon, r->before.rss_anon, n), "KiB");
    bench_figure(r, "memory left per instance", kib_each(r->after.rss, r->before.rss, n), "KiB");
    bench_figure(r, "anonymous memory left per instance",
                 kib_each(r->after.rss_anon, r->before.rss_anon, n), "KiB");
}

/* What they cost when nobody uses them. */
static void idle_figure(struct bench *b, struct bench_result *r)
{
    double from = bench_proc_read(&b->pids).cpu_s;

    bench_sleep(b, IDLE_MS);
    if (b->pids.n)
        bench_figure(r, "idle CPU", (bench_proc_read(&b->pids).cpu_s - from) * 1e5 / IDLE_MS,
                     "% of a core");
}

static int measure(struct instances *x, struct bench_result *r, struct bench_result *part,
                   struct status *st)
{
    struct bench *b = x->b;
    struct bench_proc full;
    int64_t began;
    double gone;

    r->before = bench_proc_read(&b->pids);
    began = bench_now_ns();
    if (phase(x, "POST", GROUP "/instances", true, part, st) < 0)
        return -1;
    keep_error(r, part);
    r->latency = part->latency;
    bench_figure(r, "made per second", (double)part->ops / part->seconds, "/s");
    if (phase(x, "GET", "/clusters", false, part, st) < 0)
        return -1;
    keep_error(r, part);
    bench_figure(r, "touched per second", (double)part->ops / part->seconds, "/s");
    bench_quiet(b);
    bench_figure(r, "all settled after", (double)(bench_now_ns() - began) / 1e9, "s");
    full = bench_proc_read(&b->pids);
    r->rss_peak = full.rss;
    idle_figure(b, r);
    began = bench_now_ns();
    if (phase(x, "DELETE", GROUP "/instances", false, part, st) < 0)
        return -1;
    keep_error(r, part);
    gone = wait_until_gone(b);
    bench_figure(r, "all deleted after", (double)(bench_now_ns() - began) / 1e9, "s");
    if (gone < 0)
        bench_error(r, 0, STR_NONE,
                    &(struct status){ .message = STR("instances are left after two minutes") });
    bench_quiet(b);
    bench_sleep(b, SETTLE_MS);
    r->after = bench_proc_read(&b->pids);
    if (b->pids.n)
        memory_figures(r, &full, x->n);
    return 0;
}

int bench_instances(struct bench *b, struct bench_result *r, struct status *st)
{
    struct instances x = { .b = b, .n = bench_or(b->o.objects, 10000) };
    struct bench_result *part = arena_new_of(b->arena, struct bench_result);

    (void)snprintf(r->setup, sizeof(r->setup), "%u empty instances, 64 requests in flight", x.n);
    if (!served(b)) {
        r->skipped = "this server has no instances";
        return 0;
    }
    part->workload = r->workload;
    if (measure(&x, r, part, st) < 0)
        return -1;
    r->have_cpu = b->pids.n > 0;
    return 0;
}
