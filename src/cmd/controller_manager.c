/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship controller-manager`: the controllers in a process of their own.  One of several works;
 * who loses the lease ends at once, so that whoever runs it starts it anew, as a candidate that
 * knows nothing.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/rand.h"
#include "base/sandbox.h"
#include "client/leader.h"
#include "cmd/commands.h"
#include "cmd/controllers.h"
#include "cmd/metrics_listener.h"
#include "cmd/options.h"
#include "cmd/syncer_flags.h"

#define LEASE_NAMESPACE "kube-system"
#define LEASE_NAME      "kairship-controller-manager"
#define METRICS_ADDRESS "127.0.0.1:6480"

enum { CLIENTS_MAX = 64, NAMES_MAX = 1200 };

struct candidate {
    const char *kubeconfig, *controllers;
    long lease_s, renew_s, retry_s, silence_s, grace_s;
    struct syncer_flags syncers;
    bool loopback;
    struct metrics_listener metrics;
    struct sandbox_options sandbox;
    const char *token_file;

    struct arena *arena;
    struct kubeconfig to;
    struct loop *loop;
    pthread_t thread;
    struct client *lease_client;
    struct client *clients[CLIENTS_MAX];
    size_t nclients;
    struct leader *leader;
    struct controllers *manager;
    atomic_bool released;
    atomic_bool lease_known; /* the API server has said who leads */
};

/* -1: this process is no candidate. */
static atomic_int leading = -1;

static void read_leading(struct buf *out, const struct metric_spec *spec)
{
    const int64_t now = atomic_load(&leading);

    if (now >= 0)
        metric_rows(out, spec, &now);
}
METRIC_READ(leader, read_leading, METRIC_GAUGE, "kairship_leader",
            "1 while this controller-manager holds the lease and works.", NULL)

/* Everybody else has another. */
static str identity_of(struct arena *a)
{
    char host[65] = "";

    (void)gethostname(host, sizeof(host) - 1);
    for (char *p = host; *p; p++)
        if (*p == '/')
            *p = '-'; /* the lease is said with slashes */
    return str_printf(a, "%s_%08x%08x", host, rand_below(UINT32_MAX), rand_below(UINT32_MAX));
}

/* ---- clients: one for each controller, with its name and our lease ---- */

struct opening {
    struct candidate *of;
    str user;
    struct client *client;
};

static void open_on_loop(void *arg)
{
    struct opening *o = arg;
    struct kubeconfig k = o->of->to;
    scoped_arena a = arena_new();
    struct status st;

    k.as = o->user;
    status_init(&st, a);
    o->client = client_open(o->of->loop, &k, &st);
    if (!o->client)
        log_error("no client", log_str("why", st.message));
}

static struct client *open_client(void *arg, str user)
{
    struct candidate *c = arg;
    struct opening o = { .of = c, .user = user };

    loop_call_wait(c->loop, open_on_loop, &o);
    if (!o.client || c->nclients == CLIENTS_MAX)
        abort(); /* the same kubeconfig has opened the one of the lease; the table is ours */
    c->clients[c->nclients++] = o.client;
    return o.client;
}

/* ---- leading ---- */

/* To the main thread, which may block. */
static void on_started(void *arg)
{
    struct candidate *c = arg;

    atomic_store(&c->lease_known, true);
    atomic_store(&leading, 1);
    (void)kill(getpid(), SIGUSR1);
}

static void on_stopped(void *arg)
{
    struct candidate *c = arg;

    if (atomic_load(&c->released))
        return; /* by ourselves */
    log_error("the lease is lost: another may work now", log_z("lease", LEASE_NAME));
    _exit(1);
}

static void on_changed(void *arg, str holder)
{
    struct candidate *c = arg;

    atomic_store(&c->lease_known, true);
    log_info("waiting: another works", log_str("holder", holder));
}

/* The address of the kubeconfig, without an instance. */
static str server_of(const struct candidate *c)
{
    bool v6 = str_find(c->to.host, ':', 0) >= 0;

    return str_printf(c->arena, "%s://%s%.*s%s:%.*s", c->to.tls ? "https" : "http", v6 ? "[" : "",
                      STR_ARG(c->to.host), v6 ? "]" : "", STR_ARG(c->to.port));
}

static void work(struct candidate *c)
{
    struct controllers_options o = {
        .client = open_client,
        .arg = c,
        .controllers = c->controllers,
        .loopback = c->loopback,
        .syncers = c->syncers.place,
        .server = c->syncers.server ? str_of(c->syncers.server) : server_of(c),
        .syncer_image = str_of(c->syncers.image),
        .syncer_silence_ms = c->silence_s * 1000,
        .resources_to_sync = str_of(c->syncers.resources),
        .splitter_grace_ms = c->grace_s * 1000,
    };

    log_info("leading", log_z("lease", LEASE_NAME));
    c->manager = controllers_start(&o);
}

static void start_leader(void *arg)
{
    leader_start(((struct candidate *)arg)->leader);
}

static void given_back(void *arg)
{
    loop_stop(((struct candidate *)arg)->loop);
}

static void give_back(void *arg)
{
    struct candidate *c = arg;

    leader_stop(c->leader, given_back, c);
}

/* ---- life ---- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static int is_ready(void *arg, struct status *st)
{
    struct candidate *c = arg;

    return atomic_load(&c->lease_known)
               ? 0
               : status_set(st, REASON_UNAVAILABLE, "the API server has not said who leads");
}

static int serve_metrics(struct candidate *c, struct status *st)
{
    const struct health_check lease = {
        .name = STR("lease"), .endpoints = HEALTH_READYZ, .fn = is_ready, .arg = c
    };

    atomic_store(&leading, 0);
    return metrics_listener_start(&c->metrics, c->loop, lease, st);
}

static int shut_in(struct candidate *c, struct status *st)
{
    if (metrics_listener_open(&c->metrics, METRICS_ADDRESS, st) < 0)
        return -1;
    c->token_file = c->to.token_file.n ? str_z(c->arena, c->to.token_file) : NULL;
    c->sandbox.files = &c->token_file;
    c->sandbox.nfiles = 1;
    c->sandbox.port = SANDBOX_NO_PORT;
    return sandbox_drop(&c->sandbox, st) < 0 ? -1 : sandbox_enter(&c->sandbox, st);
}

static int open_all(struct candidate *c, struct status *st)
{
    str identity = identity_of(c->arena);
    struct leader_options o = { .namespace = STR(LEASE_NAMESPACE),
                                .name = STR(LEASE_NAME),
                                .identity = identity,
                                .duration_ms = c->lease_s * 1000,
                                .renew_ms = c->renew_s * 1000,
                                .retry_ms = c->retry_s * 1000,
                                .started = on_started,
                                .stopped = on_stopped,
                                .changed = on_changed,
                                .arg = c };

    if (syncer_flags_read(&c->syncers, st) < 0)
        return -1;
    if (c->silence_s < 3)
        return status_set(st, REASON_BAD_REQUEST,
                          "--workload-cluster-heartbeat-threshold is 3 seconds or more");
    if (controllers_check(c->controllers, st) < 0 ||
        kubeconfig_load(c->arena, c->kubeconfig, STR_NONE, &c->to, st) < 0 ||
        kubeconfig_check_lasting(&c->to, st) < 0)
        return -1;
    if (shut_in(c, st) < 0)
        return -1;
    c->loop = loop_new();
    c->lease_client = client_open(c->loop, &c->to, st);
    if (!c->lease_client || serve_metrics(c, st) < 0)
        return -1;
    c->to.lease = str_printf(c->arena, LEASE_NAMESPACE "/" LEASE_NAME "/%.*s", STR_ARG(identity));
    o.client = c->lease_client;
    c->leader = leader_new(&o);
    if (pthread_create(&c->thread, NULL, run_loop, c->loop) != 0)
        return status_set(st, REASON_INTERNAL, "cannot start a thread");
    loop_call(c->loop, start_leader, c);
    log_info("candidate", log_str("identity", identity));
    return sandbox_filter(&c->sandbox, st);
}

static void close_all(struct candidate *c)
{
    controllers_stop(c->manager);
    atomic_store(&c->released, true);
    loop_call(c->loop, give_back, c);
    (void)pthread_join(c->thread, NULL);
    for (size_t i = 0; i < c->nclients; i++)
        client_free(c->clients[i]);
}

static void forget(struct candidate *c)
{
    if (c->loop) {
        leader_free(c->leader);
        client_free(c->lease_client);
        loop_free(c->loop);
    }
    metrics_listener_release(&c->metrics);
}

static int run(struct candidate *c)
{
    sigset_t signals;
    struct status st;
    int got;

    status_init(&st, c->arena);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (open_all(c, &st) < 0) {
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
        forget(c);
        return 1;
    }
    while ((got = sigwaitinfo(&signals, NULL)) < 0 || got == SIGUSR1)
        if (got == SIGUSR1 && !c->manager)
            work(c);
    log_info("stopping", log_int("signal", got));
    close_all(c);
    forget(c);
    return 0;
}

/* Returns the help of --controllers, which names all of them. */
static const char *about_controllers(struct arena *a)
{
    scoped_buf b = { .max = NAMES_MAX };

    buf_lit(&b, "Run these controllers, separated by commas; * is all of them, and -NAME leaves "
                "one out. The controllers are");
    for (size_t i = 0; controllers_name(i); i++)
        buf_printf(&b, "%s %s%s", i ? "," : "", i && !controllers_name(i + 1) ? "and " : "",
                   controllers_name(i));
    buf_lit(&b, ".");
    return str_z(a, buf_str(&b));
}

#define LEADER_OPTIONS(c)                                                              \
    OPTIONS_GROUP("Leader election"),                                                  \
        { "--leader-elect-lease-duration", OPTION_NUMBER, &(c)->lease_s, "SECONDS",    \
          "Others may take over this long after the leader last renewed its lease." }, \
        { "--leader-elect-renew-deadline", OPTION_NUMBER, &(c)->renew_s, "SECONDS",    \
          "The leader stops when it could not renew its lease for this time." },       \
    {                                                                                  \
        "--leader-elect-retry-period", OPTION_NUMBER, &(c)->retry_s, "SECONDS",        \
            "Try this often to acquire or renew the lease."                            \
    }

int cmd_controller_manager(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship controller-manager [options]",
        "Run the controllers of an API server that is another process, until Ctrl-C. Of several "
        "controller managers one, the leader, works.",
        "  kairship controller-manager --kubeconfig kairship-data/admin.kubeconfig\n"
        "  kairship controller-manager --controllers '*,-scheduler'\n"
    };
    scoped_arena a = arena_new();
    struct candidate c = { .arena = a,
                           .controllers = "*",
                           .lease_s = 15,
                           .renew_s = 10,
                           .retry_s = 2,
                           .syncers = SYNCER_FLAGS_DEFAULT,
                           .silence_s = 60,
                           .grace_s = 30,
                           .sandbox.mode = "auto" };
    const struct option_row rows[] = {
        { "--kubeconfig", OPTION_STRING, &c.kubeconfig, "FILE",
          "Connect with this kubeconfig of the platform admin. Without this option: as kubectl, "
          "with $KUBECONFIG, ~/.kube/config or the pod's service account." },
        { "--controllers", OPTION_STRING, &c.controllers, "LIST", about_controllers(a) },
        { "--allow-loopback-members", OPTION_FLAG, &c.loopback, NULL,
          "Connect to member clusters at addresses of this machine." },
        SYNCER_OPTIONS(&c.syncers, "that of the kubeconfig"),
        { "--splitter-grace", OPTION_NUMBER, &c.grace_s, "SECONDS",
          "Move workloads away from a Cluster that has not been Ready for this time." },
        { "--workload-cluster-heartbeat-threshold", OPTION_NUMBER, &c.silence_s, "SECONDS",
          "A Cluster is not Ready after this time without a heartbeat of its syncer, which sends "
          "three in this time." },
        LEADER_OPTIONS(&c),
        OPTIONS_METRICS(&c.metrics, METRICS_ADDRESS),
        OPTIONS_LOG,
        OPTIONS_SANDBOX(&c.sandbox),
    };
    int rc = options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, NULL, 0, NULL);

    if (rc != OPTIONS_OK)
        return rc;
    if (c.retry_s < 1 || c.renew_s <= c.retry_s || c.lease_s <= c.renew_s || c.lease_s > 86400) {
        (void)fprintf(stderr, "kairship: retry period < renew deadline < lease duration, in whole "
                              "seconds from 1 to 86400\n");
        return USAGE;
    }
    return run(&c);
}
