/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship syncer`: one syncer as a process, for one member: in the member itself (pull mode), or
 * wherever an operator starts it.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "client/in_cluster.h"
#include "cmd/commands.h"
#include "cmd/metrics_listener.h"
#include "cmd/options.h"
#include "federation/controllers/frame/customizations.h"
#include "federation/controllers/members/agent.h"
#include "federation/controllers/members/works.h"
#include "fleet/syncer_types.h"

#define METRICS_ADDRESS "127.0.0.1:6481"

enum { LOOK_MS = 5000 }; /* how often the types are looked up */

struct place {
    const char *from, *to, *cluster, *instance, *feeds, *resources;
    long beat_s;
    struct metrics_listener metrics;
    struct sandbox_options sandbox;
    const char *token_files[2];

    struct arena *arena;
    struct loop *loop;
    pthread_t thread;
    struct client *source, *target;
    struct recorder *recorder;
    struct customizations *customizations; /* NULL: the instance has none, or does not show them */
    struct syncer *syncer;
    struct syncer_options options;
    struct syncer_types types;
    struct arena *types_arena;
    bool suspended; /* the instance is: the syncer writes nothing to the member */
    atomic_bool started;
};

/* ---- the command line ---- */

static int parse_feeds(struct place *p, struct status *st)
{
    static const struct {
        const char *name;
        unsigned feed;
    } feeds[] = { { "works", SYNCER_WORKS }, { "labels", SYNCER_LABELS } };

    for (str rest = str_of(p->feeds), word; str_split(&rest, ',', &word);) {
        size_t i = 0;

        while (i < 2 && !str_is(word, feeds[i].name))
            i++;
        if (i == 2)
            return status_set(st, REASON_BAD_REQUEST,
                              "--feeds knows works and labels, not \"%.*s\"", STR_ARG(word));
        p->options.feeds |= feeds[i].feed;
    }
    if (p->options.feeds & SYNCER_LABELS)
        p->options.beat_ms = p->beat_s * 1000;
    return 0;
}

/* Which instance: the one that is named, else the one that --from leads to. */
static void choose_instance(struct place *p, struct kubeconfig *from)
{
    str prefix = STR("/clusters/");

    if (p->instance) {
        p->options.instance = str_of(p->instance);
        from->prefix = STR_NONE;
    } else if (str_starts(from->prefix, prefix)) {
        p->options.logical = str_from(from->prefix, prefix.n);
    } else {
        p->options.logical = STR("root");
    }
    if (str_is(p->options.instance, "root")) {
        p->options.instance = STR_NONE;
        p->options.logical = STR("root");
    }
}

static int load_to(struct place *p, struct kubeconfig *to, struct status *st)
{
    if (p->to)
        return kubeconfig_load(p->arena, p->to, STR_NONE, to, st);
    if (!in_cluster())
        return status_set(st, REASON_BAD_REQUEST,
                          "--to FILE is needed: this is no pod of the member");
    return in_cluster_config(p->arena, in_cluster_dir(), to, st);
}

static const char *token_file_of(struct place *p, const struct kubeconfig *k)
{
    return k->token_file.n ? str_z(p->arena, k->token_file) : NULL;
}

static int is_ready(void *arg, struct status *st)
{
    struct place *p = arg;

    return atomic_load(&p->started)
               ? 0
               : status_set(st, REASON_UNAVAILABLE,
                            "the control plane has not said which installation it is");
}

static int serve_metrics(struct place *p, struct status *st)
{
    const struct health_check syncer = {
        .name = STR("syncer"), .endpoints = HEALTH_READYZ, .fn = is_ready, .arg = p
    };

    return metrics_listener_start(&p->metrics, p->loop, syncer, st);
}

static int shut_in(struct place *p, const struct kubeconfig *from, const struct kubeconfig *to,
                   struct status *st)
{
    if (metrics_listener_open(&p->metrics, METRICS_ADDRESS, st) < 0)
        return -1;
    p->token_files[0] = token_file_of(p, from);
    p->token_files[1] = token_file_of(p, to);
    p->sandbox.files = p->token_files;
    p->sandbox.nfiles = 2;
    p->sandbox.port = SANDBOX_NO_PORT;
    return sandbox_drop(&p->sandbox, st) < 0 ? -1 : sandbox_enter(&p->sandbox, st);
}

static int understand(struct place *p, struct status *st)
{
    struct kubeconfig from = { 0 }, to = { 0 };

    if (p->beat_s < 1 || p->beat_s > 3600)
        return status_set(st, REASON_BAD_REQUEST, "--heartbeat is 1 to 3600 seconds");
    if (!p->cluster || !p->from)
        return status_set(st, REASON_BAD_REQUEST, "--from FILE and --cluster NAME are needed");
    if (parse_feeds(p, st) < 0 || kubeconfig_load(p->arena, p->from, STR_NONE, &from, st) < 0 ||
        load_to(p, &to, st) < 0 || kubeconfig_check_lasting(&from, st) < 0 ||
        kubeconfig_check_lasting(&to, st) < 0 || shut_in(p, &from, &to, st) < 0)
        return -1;
    choose_instance(p, &from);
    p->options.cluster = str_of(p->cluster);
    p->loop = loop_new();
    p->source = client_open(p->loop, &from, st);
    if (!p->source)
        return -1;
    p->target = client_open(p->loop, &to, st);
    return p->target ? serve_metrics(p, st) : -1;
}

/* ---- the types of labelled objects, as they come and go ---- */

static void give_types(void *arg)
{
    struct place *p = arg;

    syncer_set_types(p->syncer, p->types.types, p->types.n);
}

static void look_up_types(struct place *p)
{
    struct arena *a = arena_new();
    struct syncer_types now;
    struct status st;
    int rc;

    status_init(&st, a);
    rc = p->resources ? syncer_types_named(p->source, a, p->options.instance, str_of(p->resources),
                                           &now, &st)
                      : syncer_types_imported(p->source, a, p->options.instance, p->options.cluster,
                                              &now, &st);
    if (rc < 0)
        log_warn("the types are not known", log_str("why", st.message));
    if (rc < 0 || syncer_types_equal(&now, &p->types)) {
        arena_free(a);
        return;
    }
    arena_free(p->types_arena);
    p->types_arena = a;
    p->types = now;
    log_info("types", log_str("resources", json_text(a, syncer_types_json(a, &now))));
    loop_call_wait(p->loop, give_types, p);
}

/* ---- life ---- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

/* What the instance says of its kinds, before the first object is written. */
static int know_kinds(struct place *p, struct status *st)
{
    struct client_ref ref = { .instance = p->options.instance,
                              .group = STR("config.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("resourceinterpretercustomizations") };
    const struct json *list;

    if (!(p->options.feeds & SYNCER_WORKS))
        return 0;
    if (client_list(p->source, p->arena, &ref, &(struct client_query){ .limit = 1 }, &list, st) <
        0) {
        log_info("no kinds of the instance's own", log_str("why", st->message));
        status_reset(st);
        return 0;
    }
    p->customizations = customizations_new(p->source, p->options.instance);
    return customizations_wait(p->customizations, st);
}

static void start(void *arg)
{
    struct place *p = arg;

    p->recorder = recorder_new(
        &(struct recorder_options){ .client = p->source, .component = STR("kairship") });
    p->options.source = p->source;
    p->options.target = p->target;
    p->options.ops = &works_ops;
    p->options.ops_arg = p->customizations;
    p->options.recorder = p->recorder;
    p->syncer = syncer_new(&p->options);
    if (p->suspended)
        syncer_set_mode(p->syncer, SYNCER_SUSPENDED);
    syncer_start(p->syncer);
    atomic_store(&p->started, true);
    if (p->types.n)
        give_types(p);
}

static void stop(void *arg)
{
    struct place *p = arg;

    syncer_free(p->syncer);
    recorder_free(p->recorder);
}

static void close_clients(void *arg)
{
    struct place *p = arg;

    client_free(p->target);
    client_free(p->source);
    p->target = p->source = NULL;
}

static struct agent agent_of(const struct place *p)
{
    return (struct agent){ .control = p->source,
                           .member = p->target,
                           .instance = p->options.instance,
                           .cluster = p->options.cluster,
                           .period_ms = p->beat_s * 1000 };
}

/* A Cluster of pull mode hears of its member from us. */
static void beat(struct place *p)
{
    scoped_arena a = arena_new();
    const struct agent agent = agent_of(p);
    struct status st;

    status_init(&st, a);
    if (agent_beat(&agent, a, &st) < 0)
        log_warn("the cluster's status was not posted", log_str("why", st.message));
}

/* As the Clusters say that are fed from; what cannot be heard does not change. */
static bool hear_suspended(const struct place *p)
{
    static const struct {
        unsigned feed;
        str group;
    } clusters[] = { { SYNCER_WORKS, STR_INIT("cluster.karmada.io") },
                     { SYNCER_LABELS, STR_INIT("workload.kcp.dev") } };
    scoped_arena a = arena_new();
    const struct agent agent = agent_of(p);
    bool any = false, one = false;
    struct status st;

    status_init(&st, a);
    for (size_t i = 0; i < 2; i++) {
        if (!(p->options.feeds & clusters[i].feed))
            continue;
        if (agent_suspended(&agent, a, clusters[i].group, STR("v1alpha1"), &one, &st) < 0)
            return p->suspended;
        any |= one;
    }
    return any;
}

static void restart(void *arg)
{
    stop(arg);
    start(arg);
}

/* A syncer that wrote nothing for a while is followed by one that looks at everything. */
static void look_up_suspension(struct place *p)
{
    bool suspended = hear_suspended(p);

    if (suspended == p->suspended)
        return;
    log_info("suspension", log_z("is", suspended ? "on" : "over"));
    p->suspended = suspended;
    loop_call_wait(p->loop, restart, p);
}

/* Nothing is written to the member before.  1: it is known; 0: we are to stop. */
static int know_owner(struct place *p, const sigset_t *signals)
{
    const struct timespec often = { .tv_sec = LOOK_MS / 1000 };

    for (;;) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        if (owner_read(p->source, p->arena, p->options.instance, p->options.instance,
                       p->options.logical.n ? p->options.logical : p->options.instance,
                       &p->options.owner, &st) == 0)
            return 1;
        log_warn("the control plane does not say which installation it is; one that is older than "
                 "its syncers has to be upgraded first",
                 log_str("why", st.message));
        if (sigtimedwait(signals, NULL, &often) >= 0)
            return 0;
    }
}

static void wait_for_the_end(struct place *p, const sigset_t *signals)
{
    struct timespec often = { .tv_sec = LOOK_MS / 1000 };

    if (p->beat_s < often.tv_sec)
        often.tv_sec = p->beat_s;
    do {
        look_up_suspension(p);
        if (p->options.feeds & SYNCER_LABELS)
            look_up_types(p);
        if (p->options.feeds & SYNCER_WORKS)
            beat(p);
    } while (sigtimedwait(signals, NULL, &often) < 0);
}

static int run(struct place *p, struct status *st)
{
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (pthread_create(&p->thread, NULL, run_loop, p->loop) != 0)
        return status_set(st, REASON_INTERNAL, "cannot start a thread");
    if (know_kinds(p, st) < 0)
        log_warn("kinds of the instance's own", log_str("why", st->message));
    if (know_owner(p, &signals)) {
        p->suspended = hear_suspended(p);
        loop_call_wait(p->loop, start, p);
        if (sandbox_filter(&p->sandbox, st) < 0)
            return -1;
        log_info("syncing", log_z("cluster", p->cluster), log_str("instance", p->options.instance));
        wait_for_the_end(p, &signals);
        log_info("stopping");
        loop_call_wait(p->loop, stop, p);
    }
    customizations_free(p->customizations);
    loop_call_wait(p->loop, close_clients, p);
    loop_stop(p->loop);
    (void)pthread_join(p->thread, NULL);
    return 0;
}

int cmd_syncer(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship syncer --from FILE --cluster NAME [options]",
        "Synchronize one member cluster with an instance, until Ctrl-C: its Works, and the objects "
        "with the label " SYNCER_CLUSTER_LABEL "=NAME.",
        "  kairship syncer --from demo.kubeconfig --to m1.kubeconfig --cluster m1\n"
        "  kairship syncer --from demo.kubeconfig --cluster m1 --feeds labels  # in a pod\n"
    };
    scoped_arena a = arena_new();
    struct place p = { .arena = a, .feeds = "works,labels", .beat_s = 20, .sandbox.mode = "auto" };
    const struct option_row rows[] = {
        { "--from", OPTION_STRING, &p.from, "FILE",
          "Connect to the control plane with this kubeconfig." },
        { "--cluster", OPTION_STRING, &p.cluster, "NAME",
          "The name of the member cluster in the instance." },
        { "--to", OPTION_STRING, &p.to, "FILE",
          "Connect to the member cluster with this kubeconfig. Without this option: with the "
          "service account of this pod." },
        { "--instance", OPTION_STRING, &p.instance, "NAME",
          "Use this instance (root: the root instance). Without this option: that of --from." },
        { "--feeds", OPTION_STRING, &p.feeds, "LIST",
          "Synchronize works (Works), labels (objects with the label), or both." },
        { "--resources", OPTION_STRING, &p.resources, "LIST",
          "Synchronize labelled objects of these types, as in deployments.apps,configmaps. "
          "Without this option: of the types that were negotiated." },
        { "--heartbeat", OPTION_NUMBER, &p.beat_s, "SECONDS",
          "With labels, report to the Cluster this often that the syncer is alive." },
        OPTIONS_METRICS(&p.metrics, METRICS_ADDRESS),
        OPTIONS_LOG,
        OPTIONS_SANDBOX(&p.sandbox),
    };
    struct status st;
    int rc = options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, NULL, 0, NULL);

    if (rc != OPTIONS_OK)
        return rc;
    status_init(&st, a);
    rc = understand(&p, &st);
    if (rc == 0)
        rc = run(&p, &st);
    if (rc < 0)
        (void)fprintf(stderr, "kairship: %.*s\nUsage: %s\n", STR_ARG(st.message), help.usage);
    client_free(p.target);
    client_free(p.source);
    if (p.loop)
        loop_free(p.loop);
    metrics_listener_release(&p.metrics);
    arena_free(p.types_arena);
    if (rc == 0)
        return 0;
    return status_is(&st, REASON_BAD_REQUEST) ? USAGE : 1;
}
