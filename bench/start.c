/* SPDX-License-Identifier: Apache-2.0 */

/* Workload 12 of DESIGN 8: from the start of a command to its first good /readyz. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"
#include "bench/work.h"

enum { POLL_MS = 1, READY_MS = 120000, STOP_MS = 60000, RUNS = 5, RUNS_MAX = 100 };

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

static pid_t spawn(const char *command)
{
    pid_t pid = fork();

    if (pid == 0) {
        char *argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", NULL, NULL };
        char line[4096];

        /* exec: so that our signals reach the server, not a shell around it */
        (void)snprintf(line, sizeof(line), "exec %s >&2", command);
        argv[2] = line;
        (void)execv("/bin/sh", argv);
        _exit(127);
    }
    return pid;
}

static int stop(pid_t pid, struct status *st)
{
    int status;

    (void)kill(pid, SIGTERM);
    for (int waited = 0; waitpid(pid, &status, WNOHANG) == 0; waited += POLL_MS) {
        if (waited > STOP_MS) {
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            return status_set(st, REASON_TIMEOUT, "the server did not stop on SIGTERM");
        }
        (void)usleep(POLL_MS * 1000);
    }
    return 0;
}

/* ---- asking /readyz until it is 200 ---- */

struct ask {
    struct http_call call;
    struct loop_timer timer;
    struct loop *loop;
    struct http_client *client;
    int status;
    bool ready;
    int64_t until_ns;
};

static void ask_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    struct ask *a = call->user;

    (void)h;
    (void)n;
    a->status = status;
}

static void ask_end(struct http_call *call, const struct status *why)
{
    struct ask *a = call->user;

    a->ready = !why && a->status == 200;
    if (a->ready || bench_now_ns() > a->until_ns)
        loop_stop(a->loop);
    else
        loop_timer_set(a->loop, &a->timer, POLL_MS);
}

static void ask_again(struct loop_timer *t)
{
    struct ask *a = CONTAINER(t, struct ask, timer);

    a->status = 0;
    http_client_call(a->client, &a->call);
}

static int wait_ready(struct bench *b, const struct bench_target *t, struct status *st)
{
    struct http_client_options o = t->http;
    scoped_arena arena = arena_new();
    struct ask a = { .loop = b->loop,
                     .timer.fn = ask_again,
                     .until_ns = bench_now_ns() + (int64_t)READY_MS * 1000000 };

    o.loop = b->loop;
    a.client = http_client_new(&o, st);
    if (!a.client)
        return -1;
    a.call = (struct http_call){ .method = STR("GET"),
                                 .path = str_printf(arena, "%.*s/readyz", STR_ARG(t->prefix)),
                                 .headers = t->headers,
                                 .nheaders = t->nheaders,
                                 .timeout_ms = 5000,
                                 .head = ask_head,
                                 .end = ask_end,
                                 .user = &a };
    http_client_call(a.client, &a.call);
    loop_run(b->loop);
    a.until_ns = 0;
    http_client_free(a.client);
    loop_timer_cancel(b->loop, &a.timer);
    return a.ready ? 0 : status_set(st, REASON_TIMEOUT, "the server did not become ready");
}

/* The server may write its kubeconfig only while it starts. */
static int wait_kubeconfig(struct bench *b, pid_t pid, struct status *st)
{
    struct kubeconfig k;
    int status;

    for (int waited = 0;; waited += POLL_MS) {
        status_reset(st);
        if (kubeconfig_load(b->arena, b->o.kubeconfig, str_of(b->o.context), &k, st) == 0)
            break;
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status_set(st, REASON_INTERNAL, "the command ended: %s", b->o.command);
        if (waited > READY_MS)
            return -1;
        (void)usleep(POLL_MS * 1000);
    }
    b->k = k;
    bench_target_init(&b->target, b->arena, &k);
    return 0;
}

/* Starts it and measures; the process is left running. */
static int start_once(struct bench *b, pid_t *pid, double *ms, struct status *st)
{
    int64_t began = bench_now_ns();

    *pid = spawn(b->o.command);
    if (*pid < 0)
        return status_errno(st, errno, "fork");
    if (wait_kubeconfig(b, *pid, st) < 0 || wait_ready(b, &b->target, st) < 0) {
        struct status ignored;

        status_init(&ignored, b->arena);
        (void)stop(*pid, &ignored);
        return -1;
    }
    *ms = (double)(bench_now_ns() - began) / 1e6;
    return 0;
}

static int fill(struct bench *b, unsigned objects, struct status *st)
{
    int rc;

    if (bench_connect(b, st) < 0)
        return -1;
    rc = bench_objects(b, objects, st);
    bench_disconnect(b);
    return rc;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Restarts on the same data; the median and the longest. */
static int restarts(struct bench *b, struct bench_result *r, const char *median,
                    const char *longest, struct status *st)
{
    unsigned runs = bench_or(b->o.runs, RUNS);
    double ms[RUNS_MAX] = { 0 }, max = 0;
    pid_t pid;

    runs = runs > RUNS_MAX ? RUNS_MAX : runs;
    for (unsigned i = 0; i < runs; i++) {
        if (start_once(b, &pid, &ms[i], st) < 0 || stop(pid, st) < 0)
            return -1;
        hist_add(&r->latency, (uint64_t)(ms[i] * 1e6));
        max = ms[i] > max ? ms[i] : max;
    }
    qsort(ms, runs, sizeof(*ms), compare);
    bench_figure(r, median, ms[runs / 2], "ms");
    bench_figure(r, longest, max, "ms");
    return 0;
}

int bench_start(struct bench *b, struct bench_result *r, struct status *st)
{
    unsigned objects = b->o.objects > 0 ? (unsigned)b->o.objects : 0;
    double first = 0;
    pid_t pid;
    int rc;

    if (!b->o.command)
        return status_set(st, REASON_BAD_REQUEST,
                          "start needs --command, and the --kubeconfig "
                          "that the command writes or is reached by");
    (void)snprintf(r->setup, sizeof(r->setup), "%u runs, %u objects", bench_or(b->o.runs, RUNS),
                   objects);
    if (start_once(b, &pid, &first, st) < 0)
        return -1;
    bench_figure(r, "first start", first, "ms");
    if (stop(pid, st) < 0 || restarts(b, r, "empty, median", "empty, longest", st) < 0)
        return -1;
    if (!objects)
        return 0;
    if (start_once(b, &pid, &first, st) < 0)
        return -1;
    rc = fill(b, objects, st);
    if (stop(pid, st) < 0 || rc < 0)
        return -1;
    hist_clear(&r->latency);
    return restarts(b, r, "with objects, median", "with objects, longest", st);
}
