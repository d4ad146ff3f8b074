/* SPDX-License-Identifier: Apache-2.0 */

/* Many CRDs in one instance: how soon each is served, and what discovery costs then. */

#include <stdio.h>

#include "base/banned.h"
#include "bench/work.h"

#define INSTANCES "/apis/tenancy.kairship.io/v1alpha1/instances"
#define NAME      "bench-crds"

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

enum { WARM = 2000, COLD = 10, GROUP = 10 };

struct crds {
    struct bench *b;
    struct arena *arena;
    str instance; /* empty: the server has none, all is where the kubeconfig says */
    unsigned n;
    struct bench_target target;
    struct bench_result *part;
};

/* ---- questions ---- */

struct question {
    const char *path; /* NULL: the resources of each group, one after the other */
    const char *accept;
    const char *warm, *cold, *cpu, *size; /* names of the figures; cold may be NULL */
    double size_unit;
};

static const struct question questions[] = {
    { "/apis", AGGREGATED, "aggregated discovery, warm", "aggregated discovery, cold",
      "aggregated discovery, server CPU", "aggregated discovery, size", 1e6 },
    { "/apis", "application/json", "list of groups, warm", "list of groups, cold",
      "list of groups, server CPU", "list of groups, size", 1e6 },
    { NULL, "application/json", "resources of a group, warm", NULL,
      "resources of a group, server CPU", "resources of a group, size", 1e6 },
    { "/openapi/v3", "application/json", "OpenAPI v3 root, warm", "OpenAPI v3 root, cold",
      "OpenAPI v3 root, server CPU", "OpenAPI v3 root, size", 1e6 },
};

enum { NQUESTIONS = sizeof(questions) / sizeof(*questions) };

struct asking {
    struct crds *x;
    const struct question *q;
    unsigned times;
};

static bool next_question(struct bench_load *l, struct bench_slot *s)
{
    struct asking *k = l->user;
    struct crds *x = k->x;

    if (l->started >= k->times)
        return false;
    buf_str_append(&s->path, x->target.prefix);
    if (k->q->path) {
        buf_printf(&s->path, "%s", k->q->path);
    } else {
        unsigned n = (unsigned)l->started * GROUP % x->n;
        scoped_arena a = arena_new();

        buf_printf(&s->path, "/apis/%.*s/v1", STR_ARG(bench_crd_group(a, n)));
    }
    s->call.method = STR("GET");
    s->call.path = buf_str(&s->path);
    s->call.body = STR_NONE;
    return true;
}

static int ask(struct crds *x, const struct question *q, unsigned times, struct status *st)
{
    struct asking k = { x, q, times };
    struct bench_target target = x->target;
    struct bench_load l = bench_load_of(x->b, 1, 1);

    for (size_t i = 0; i < target.nheaders; i++)
        if (str_is(target.headers[i].name, "accept"))
            target.headers[i].value = str_of(q->accept);
    l.target = &target;
    l.connections = l.streams = 1;
    l.warm_ms = l.duration_ms = 0;
    l.rate = 0;
    l.next = next_question;
    l.user = &k;
    *x->part = (struct bench_result){ .workload = "crds" };
    return bench_load_run(&l, x->part, st);
}

static void keep_error(struct bench_result *sum, const struct bench_result *part)
{
    sum->errors += part->errors;
    if (!sum->error[0])
        (void)snprintf(sum->error, sizeof(sum->error), "%s", part->error);
}

static double ms_of(const struct hist *h, double part)
{
    return (double)hist_quantile(h, part) / 1e6;
}

static int ask_warm(struct crds *x, const struct question *q, struct bench_result *r,
                    struct status *st)
{
    const struct bench_result *part = x->part;

    if (ask(x, q, 1, st) < 0)
        return -1;
    keep_error(r, part);
    if (ask(x, q, WARM, st) < 0)
        return -1;
    keep_error(r, part);
    bench_figure(r, q->warm, ms_of(&part->latency, 0.5), "ms");
    if (part->have_cpu)
        bench_figure(r, q->cpu, part->cpu_s * 1e6 / (double)part->ops, "µs");
    bench_figure(r, q->size, (double)part->bytes / (double)part->ops / q->size_unit, "MB");
    return 0;
}

/* Each time with one more CRD: the server makes it anew. */
static int ask_cold(struct crds *x, struct bench_result *r, struct status *st)
{
    struct hist *all = arena_array(x->arena, struct hist, NQUESTIONS);
    int64_t unused;

    for (unsigned i = 0; i < COLD; i++) {
        if (bench_crd_make(x->b, x->instance, x->n + i, &unused, st) < 0)
            return -1;
        for (size_t q = 0; q < NQUESTIONS; q++) {
            if (!questions[q].cold)
                continue;
            if (ask(x, &questions[q], 1, st) < 0)
                return -1;
            keep_error(r, x->part);
            hist_merge(&all[q], &x->part->latency);
        }
    }
    for (size_t q = 0; q < NQUESTIONS; q++)
        if (questions[q].cold)
            bench_figure(r, questions[q].cold, ms_of(&all[q], 0.5), "ms");
    return 0;
}

/* ---- the run ---- */

/* One after the other, as a client that needs what it made. */
static int make_all(struct crds *x, struct bench_result *r, struct status *st)
{
    struct bench *b = x->b;
    int64_t began = bench_now_ns(), took;

    r->before = bench_proc_read(&b->pids);
    for (unsigned i = 0; i < x->n; i++) {
        if (bench_crd_make(b, x->instance, i, &took, st) < 0)
            return -1;
        hist_add(&r->latency, (uint64_t)took);
    }
    r->ops = x->n;
    r->seconds = (double)(bench_now_ns() - began) / 1e9;
    r->after = bench_proc_read(&b->pids);
    r->rss_peak = r->after.rss;
    r->have_cpu = b->pids.n > 0;
    r->cpu_s = r->after.cpu_s - r->before.cpu_s;
    bench_figure(r, "accepted to served, p50", ms_of(&r->latency, 0.5), "ms");
    bench_figure(r, "accepted to served, p99", ms_of(&r->latency, 0.99), "ms");
    if (r->have_cpu)
        bench_figure(r, "memory per CRD",
                     ((double)r->after.rss - (double)r->before.rss) / x->n / 1024, "KiB");
    return 0;
}

static int enter(struct crds *x, struct status *st)
{
    struct client_request req = {
        .method = STR("POST"),
        .path = STR(INSTANCES),
        .content_type = STR("application/json"),
        .body = STR("{\"kind\":\"Instance\",\"apiVersion\":\"tenancy.kairship.io/v1alpha1\","
                    "\"metadata\":{\"name\":\"" NAME "\"}}"),
    };

    if (client_do(x->b->client, x->arena, &req, NULL, st) < 0) {
        if (status_is(st, REASON_NOT_FOUND)) {
            status_reset(st);
            return 0;
        }
        if (!status_is(st, REASON_ALREADY_EXISTS))
            return status_wrap(st, "making the instance " NAME);
        status_reset(st);
    }
    x->instance = STR(NAME);
    x->target.prefix = str_printf(x->arena, "%.*s/clusters/" NAME, STR_ARG(x->b->target.prefix));
    return 0;
}

static void leave(struct crds *x)
{
    scoped_arena a = arena_new();
    struct client_request req = { .method = STR("DELETE"), .path = STR(INSTANCES "/" NAME) };
    struct status st;

    if (x->b->o.keep || !x->instance.n)
        return;
    status_init(&st, a);
    if (client_do(x->b->client, a, &req, NULL, &st) < 0)
        (void)fprintf(stderr, "bench: deleting the instance " NAME ": %.*s\n", STR_ARG(st.message));
}

int bench_crds(struct bench *b, struct bench_result *r, struct status *st)
{
    scoped_arena a = arena_new();
    struct crds x = { .b = b,
                      .arena = a,
                      .n = bench_or(b->o.objects, 1000),
                      .target = b->target,
                      .part = arena_new_of(a, struct bench_result) };
    int rc = 0;

    (void)snprintf(r->setup, sizeof(r->setup), "%u CRDs, one after the other; then discovery", x.n);
    if (enter(&x, st) < 0)
        return -1;
    rc = make_all(&x, r, st);
    for (size_t i = 0; rc == 0 && i < NQUESTIONS; i++)
        rc = ask_warm(&x, &questions[i], r, st);
    if (rc == 0)
        rc = ask_cold(&x, r, st);
    leave(&x);
    return rc;
}
