/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>

#include "base/banned.h"
#include "base/rand.h"
#include "bench/work.h"
#include "cmd/options.h"

enum {
    WARM_MS = 1000,
    DURATION_S = 10,
    QUIET_MS = 400,       /* a moment, … */
    QUIETS = 16,          /* … and so many: longer than anything is gathered */
    QUIET_MAX_MS = 90000, /* who is never quiet is measured as he is */
};

#define QUIET_CPU_S 0.011 /* … in which it takes a tick of /proc, and no more */

/* ---- what workloads use ---- */

struct bench_load bench_load_of(struct bench *b, unsigned connections, unsigned streams)
{
    return (struct bench_load){ .loop = b->loop,
                                .target = &b->target,
                                .pids = &b->pids,
                                .connections = bench_or(b->o.connections, connections),
                                .streams = bench_or(b->o.streams, streams),
                                .warm_ms = WARM_MS,
                                .rate = bench_or(b->o.rate, 0),
                                .duration_ms =
                                    (int64_t)bench_or(b->o.duration, DURATION_S) * 1000 };
}

unsigned bench_pick(struct bench *b, unsigned n)
{
    struct rand_seq r = { b->random };
    unsigned picked = rand_seq_below(&r, n ? n : 1);

    b->random = r.state;
    return picked;
}

struct sleeper {
    struct loop_timer timer;
    struct loop *loop;
};

static void wake(struct loop_timer *t)
{
    loop_stop(((struct sleeper *)t)->loop);
}

void bench_sleep(struct bench *b, int64_t ms)
{
    struct sleeper s = { .timer.fn = wake, .loop = b->loop };

    loop_timer_set(b->loop, &s.timer, ms);
    loop_run(b->loop);
}

void bench_quiet(struct bench *b)
{
    double was = bench_proc_read(&b->pids).cpu_s, now;
    unsigned quiet = 0;

    for (int ms = 0; b->pids.n && ms < QUIET_MAX_MS && quiet < QUIETS; ms += QUIET_MS) {
        bench_sleep(b, QUIET_MS);
        now = bench_proc_read(&b->pids).cpu_s;
        quiet = now - was <= QUIET_CPU_S ? quiet + 1 : 0;
        was = now;
    }
}

int bench_connect(struct bench *b, struct status *st)
{
    if (kubeconfig_load(b->arena, b->o.kubeconfig, str_of(b->o.context), &b->k, st) < 0)
        return -1;
    if (b->o.insecure) {
        b->k.insecure = true;
        b->k.ca_pem = STR_NONE;
    }
    bench_target_init(&b->target, b->arena, &b->k);
    b->client = client_open(NULL, &b->k, st);
    return b->client ? 0 : -1;
}

void bench_disconnect(struct bench *b)
{
    client_free(b->client);
    b->client = NULL;
}

/* ---- the command ---- */

enum { KUBERNETES = 1, CLEANS = 2 };

static const struct {
    const char *name;
    bench_work_fn *run;
    int flags;
    const char *summary;
} workloads[] = {
    { "get", bench_get, KUBERNETES | CLEANS, "GET of random objects (16 x 32, 10000 objects)" },
    { "get-token", bench_get_token, KUBERNETES, "the same with a token and RBAC, in an instance" },
    { "create", bench_create, KUBERNETES | CLEANS, "CREATE with generateName (4 x 16)" },
    { "create-serial", bench_create_serial, KUBERNETES | CLEANS, "CREATE, one at a time" },
    { "apply", bench_apply, KUBERNETES | CLEANS, "server-side apply, 2 KB (4 x 16)" },
    { "cr-create", bench_cr_create, KUBERNETES | CLEANS, "CREATE of custom resources, 2 KB" },
    { "cr-apply", bench_cr_apply, KUBERNETES | CLEANS, "server-side apply of such (4 x 16)" },
    { "crds", bench_crds, KUBERNETES, "1000 CRDs: how soon they are served, then discovery" },
    { "list", bench_list, KUBERNETES | CLEANS, "LIST, unpaged (2 x 1, 18000 objects)" },
    { "list-pages", bench_list_pages, KUBERNETES | CLEANS, "LIST by pages (2 x 1, pages of 50)" },
    { "list-label", bench_list_label, KUBERNETES | CLEANS, "LIST 10 of 100000 by label (4 x 4)" },
    { "watch", bench_watch, KUBERNETES | CLEANS, "1000 watches on 20 connections, 100 updates/s" },
    { "memory", bench_memory, KUBERNETES | CLEANS, "memory idle and per object, 0 to 100000" },
    { "instances", bench_instances, KUBERNETES, "10000 instances: create, touch, delete" },
    { "propagate", bench_propagate, KUBERNETES, "50 Deployments/s to each of --members" },
    { "burst", bench_burst, KUBERNETES, "1000 Deployments at once to each of --members" },
    { "grpc", bench_grpc, KUBERNETES, "gRPC: an instance of the management API (4 x 16)" },
    { "grpc-health", bench_grpc_health, KUBERNETES, "gRPC: the health service" },
    { "rest", bench_rest, KUBERNETES, "the same instance in JSON" },
    { "overload", bench_overload, KUBERNETES, "an instance at ten times its part, beside others" },
    { "withdraw", bench_withdraw, KUBERNETES, "how long what was withdrawn is still good" },
    { "start", bench_start, 0, "time from --command to ready, empty and with --objects" },
    { "search", bench_search, 0, "the search index: 50000 pods in, then questions, without HTTP" },
    { "etcd-put", bench_etcd_put, 0, "baseline: put into the etcd at --url (4 x 16)" },
    { "http-get", bench_http_get, 0, "baseline: GET --url of any server (16 x 32)" },
};

enum { NWORKLOADS = sizeof(workloads) / sizeof(*workloads) };

static int fail(const struct status *st)
{
    (void)fprintf(stderr, "kairship-bench: %.*s\n", STR_ARG(st->message));
    return 1;
}

static int unknown_workload(const char *name)
{
    (void)fprintf(stderr, "kairship-bench: %s%s\nWorkloads:\n",
                  name ? "no workload is called " : "", name ? name : "--workload is missing");
    for (size_t i = 0; i < NWORKLOADS; i++)
        (void)fprintf(stderr, "  %-16s %s\n", workloads[i].name, workloads[i].summary);
    return USAGE;
}

static int run(struct bench *b, size_t which, bool json, struct status *st)
{
    struct bench_result *r = arena_new_of(b->arena, struct bench_result);
    int rc;

    if (bench_pids_parse(b->o.pids, &b->pids, st) < 0)
        return -1;
    if (workloads[which].flags & KUBERNETES && bench_connect(b, st) < 0)
        return -1;
    r->workload = workloads[which].name;
    rc = workloads[which].run(b, r, st);
    if (rc == 0 && json)
        bench_report_json(r);
    else if (rc == 0)
        bench_report_text(r);
    if (workloads[which].flags & CLEANS)
        bench_clean(b);
    bench_disconnect(b);
    return rc < 0 ? -1 : r->errors != 0;
}

static int parse(struct bench_options *o, int argc, char **argv)
{
    const struct option_row rows[] = {
        { "--workload", OPTION_STRING, &o->workload, "NAME", "what to measure, see above" },
        { "--kubeconfig", OPTION_STRING, &o->kubeconfig, "FILE", "the server (as kubectl's)" },
        { "--context", OPTION_STRING, &o->context, "NAME", "of the kubeconfig, else the current" },
        { "--duration", OPTION_NUMBER, &o->duration, "SECONDS", "after one second of warming up" },
        { "--connections", OPTION_NUMBER, &o->connections, "N", "to the server" },
        { "--streams", OPTION_NUMBER, &o->streams, "N", "requests in flight on each" },
        { "--objects", OPTION_NUMBER, &o->objects, "N", "that exist, or instances to make" },
        { "--page", OPTION_NUMBER, &o->page, "N", "objects of a page (list-pages)" },
        { "--watches", OPTION_NUMBER, &o->watches, "N", "open at once (watch)" },
        { "--rate", OPTION_NUMBER, &o->rate, "N",
          "requests a second, else as many as go; updates (watch)" },
        { "--runs", OPTION_NUMBER, &o->runs, "N", "starts to measure (start)" },
        { "--pids", OPTION_STRING, &o->pids, "PID,PID", "of the server: its CPU and memory" },
        { "--output", OPTION_STRING, &o->output, "FORM", "text or json" },
        { "--namespace", OPTION_STRING, &o->namespace, "NAME", "to work in; deleted at the end" },
        { "--keep", OPTION_FLAG, &o->keep, NULL, "do not delete the namespace" },
        { "--members", OPTION_STRING, &o->members, "FILE",
          "members.json of kairship simulate (propagate, burst)" },
        { "--command", OPTION_STRING, &o->command, "LINE", "that starts the server (start)" },
        { "--url", OPTION_STRING, &o->url, "URL", "of a baseline" },
        { "--ca", OPTION_STRING, &o->ca, "FILE", "that vouches for the URL's certificate" },
        { "--insecure", OPTION_FLAG, &o->insecure, NULL, "do not verify the certificate" },
    };
    static char examples[2048];
    static const struct command_help help = {
        "kairship-bench --workload NAME [options]",
        "Measures a server of the Kubernetes API: rates, latencies, CPU and memory.", examples
    };
    size_t n = (size_t)snprintf(
        examples, sizeof(examples), "%s",
        "  kairship-bench --workload get --kubeconfig kairship-data/admin.kubeconfig\n"
        "  kairship-bench --workload create --connections 1 --streams 256 --pids 4711\n"
        "  kairship-bench --workload start --kubeconfig d/admin.kubeconfig \\\n"
        "      --command 'kairship up --data-dir d' --objects 100000\n"
        "  kairship-bench --workload etcd-put --url http://127.0.0.1:2379 --output json\n\n"
        "Workloads:\n");

    for (size_t i = 0; i < NWORKLOADS; i++)
        n += (size_t)snprintf(examples + n, sizeof(examples) - n, "  %-16s %s\n", workloads[i].name,
                              workloads[i].summary);
    return options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, NULL, 0, NULL);
}

int main(int argc, char **argv)
{
    scoped_arena a = arena_new();
    struct bench b = { .arena = a,
                       .random = 1,
                       .o = { .namespace = "bench", .output = "text", .pids = "" } };
    struct status st;
    size_t which = 0;
    int rc = parse(&b.o, argc, argv);

    if (rc != OPTIONS_OK)
        return rc;
    while (b.o.workload && which < NWORKLOADS && strcmp(workloads[which].name, b.o.workload) != 0)
        which++;
    if (!b.o.workload || which == NWORKLOADS)
        return unknown_workload(b.o.workload);
    if (strcmp(b.o.output, "text") != 0 && strcmp(b.o.output, "json") != 0) {
        (void)fprintf(stderr, "kairship-bench: --output is text or json\n");
        return USAGE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    status_init(&st, a);
    b.loop = loop_new();
    rc = run(&b, which, strcmp(b.o.output, "json") == 0, &st);
    loop_free(b.loop);
    return rc < 0 ? fail(&st) : rc;
}
