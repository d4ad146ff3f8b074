/* SPDX-License-Identifier: Apache-2.0 */

/* `kairship simulate`: member clusters to try things with, in one process. */

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "apiserver/auth/signer.h"
#include "apiserver/call/local.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sandbox.h"
#include "cmd/commands.h"
#include "cmd/credentials.h"
#include "cmd/encryption_keys.h"
#include "cmd/options.h"
#include "cmd/reach.h"
#include "cmd/simulate_control.h"
#include "cmd/terminal.h"
#include "cmd/token_keys.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/instance/csr_signer.h"
#include "object/meta/names.h"
#include "object/meta/quantity.h"
#include "sim/sim.h"
#include "store/engine.h"

enum { LOOPS = 2, MEMBERS_MAX = 1000, NODES_MAX = 5000, WORKERS = 2, DELAY_MAX = 3600000 };

/* What members are like that say nothing else; the fourth is like the first, and so on. */
static const struct member_plan kinds_of[] = {
    { .provider = "alpha",
      .region = "north",
      .zone = "north-1",
      .labels = { { "env", "prod" }, { "size", "large" } },
      .nodes = 2,
      .cpu = "16",
      .memory = "64Gi",
      .pods = "110" },
    { .provider = "alpha",
      .region = "south",
      .zone = "south-1",
      .labels = { { "env", "prod" }, { "size", "small" } },
      .nodes = 2,
      .cpu = "8",
      .memory = "32Gi",
      .pods = "110" },
    { .provider = "beta",
      .region = "south",
      .zone = "south-2",
      .labels = { { "env", "dev" }, { "size", "small" } },
      .nodes = 1,
      .cpu = "16",
      .memory = "64Gi",
      .pods = "110" },
};
enum { KINDS = sizeof(kinds_of) / sizeof(*kinds_of) };

struct simulate {
    /* the command line */
    const char *dir, *names, *nodes, *cpu, *memory, *pods;
    long members, delay_ms, job_ms;
    bool no_balancers;
    struct sandbox_options sandbox;

    struct arena *arena;
    struct member_plan *plans;
    size_t n;
    struct file_layer files;
    struct encryption_keys encryption_keys;
    struct store *store;
    struct server *server;
    struct loop *loops[LOOPS];
    pthread_t threads[LOOPS];
    size_t running;
    bool made_loops;
    struct credentials credentials;
    struct client *admin;
    struct client *clients[16]; /* of the controllers of the API */
    struct controller_group *controllers;
    struct csr_signer signer;
    struct members *all;
    struct sim *sim;
    int control;
};

static const struct controller_spec *const core_controllers[] = {
    &namespace_controller,      &crd_controller,        &role_aggregation_controller,
    &serviceaccount_controller, &root_ca_controller,    &token_secret_controller,
    &token_account_controller,  &csr_signer_controller,
};
enum { CORE = sizeof(core_controllers) / sizeof(*core_controllers) };

/* ---- the plan ---- */

static int bad(const char *what, str value)
{
    (void)fprintf(stderr, "kairship: %s, not %.*s\nSee kairship simulate --help.\n", what,
                  STR_ARG(value));
    return USAGE;
}

static long count_names(str names)
{
    long n = 0;
    str name;

    while (str_split(&names, ',', &name))
        n++;
    return n;
}

static int name_members(struct simulate *s)
{
    str rest = str_of(s->names), part;

    for (size_t i = 0; i < s->n; i++) {
        str name = str_printf(s->arena, "m%zu", i + 1);

        if (s->names && str_split(&rest, ',', &part))
            name = part;
        else if (s->names)
            return bad("--names has as many names as there are members", str_of(s->names));
        if (!name_is_valid(NAME_LABEL, name) || str_is(name, "root") || str_is(name, "template"))
            return bad("a member's name has small letters, digits and dashes", name);
        for (size_t j = 0; j < i; j++)
            if (str_eq(s->plans[j].name, name))
                return bad("members have different names", name);
        s->plans[i].name = name;
    }
    if (str_split(&rest, ',', &part))
        return bad("--names has as many names as there are members", str_of(s->names));
    return OPTIONS_OK;
}

/* "2", or "2,2,1,0": for each; the last one counts for those that follow. */
static int count_nodes(struct simulate *s)
{
    str rest = str_of(s->nodes), part = STR_NONE;
    int64_t n = 0;

    for (size_t i = 0; s->nodes && i < s->n; i++) {
        if (str_split(&rest, ',', &part) && (!str_to_i64(part, &n) || n < 0 || n > NODES_MAX))
            return bad("--nodes are numbers from 0 to 5000", part);
        s->plans[i].nodes = (long)n;
    }
    return OPTIONS_OK;
}

static int check_quantities(const struct simulate *s)
{
    const char *const values[] = { s->cpu, s->memory, s->pods };
    struct quantity q;

    for (size_t i = 0; i < 3; i++)
        if (values[i] && (!quantity_parse(str_of(values[i]), &q) || q.nanos < 0))
            return bad("--cpu, --memory and --pods are quantities (16, 64Gi, 110)",
                       str_of(values[i]));
    return OPTIONS_OK;
}

static int plan(struct simulate *s)
{
    int rc;

    if (s->members == 0)
        s->members = s->names ? count_names(str_of(s->names)) : KINDS;
    if (s->members < 1 || s->members > MEMBERS_MAX)
        return bad("--members is 1 to 1000", str_printf(s->arena, "%ld", s->members));
    if (s->delay_ms < 0 || s->delay_ms > DELAY_MAX || s->job_ms < 0 || s->job_ms > DELAY_MAX)
        return bad("--delay and --job-delay are 0 to 3600000 ms",
                   str_printf(s->arena, "%ld", s->delay_ms));
    s->n = (size_t)s->members;
    s->plans = arena_array(s->arena, struct member_plan, s->n);
    for (size_t i = 0; i < s->n; i++) {
        s->plans[i] = kinds_of[i % KINDS];
        s->plans[i].cpu = s->cpu ? s->cpu : s->plans[i].cpu;
        s->plans[i].memory = s->memory ? s->memory : s->plans[i].memory;
        s->plans[i].pods = s->pods ? s->pods : s->plans[i].pods;
    }
    rc = name_members(s);
    if (rc == OPTIONS_OK)
        rc = count_nodes(s);
    return rc == OPTIONS_OK ? check_quantities(s) : rc;
}

/* ---- the server of all ---- */

static void *run_loop(void *arg)
{
    epoch_enter();
    loop_run(arg);
    epoch_exit();
    return NULL;
}

/* A simulation does not outlive the machine, so nothing waits for its disk. */
static int no_sync(struct file *f)
{
    (void)f;
    return 0;
}

static int open_server(struct simulate *s, struct status *st)
{
    scoped_arena keys = arena_new();
    struct engine_options engine = { .dir = str_of(s->dir), .files = &s->files };
    struct server_options o = { .clock = clock_real(),
                                .loops = s->loops,
                                .nloops = LOOPS,
                                .dir = s->dir,
                                .max_reads = 4000,
                                .max_writes = 2000,
                                .event_ttl_s = 3600 };
    const struct reach_options at = { .listen.host = STR("127.0.0.1") };
    struct credentials *c = &s->credentials;
    int64_t now = clock_wall_s(o.clock);
    struct reach reach;

    s->encryption_keys.dir = s->dir;
    s->files = *file_real();
    s->files.sync = no_sync;
    s->store = engine_open(&engine, st);
    reach_find(s->arena, &at, &(struct links){ 0 }, &reach);
    if (!s->store ||
        credentials_open(s->arena, str_of(s->dir), reach.names, reach.nnames, now, c, st) < 0 ||
        token_keys_open(keys, s->dir, now, &o.token_keys, &o.ntoken_keys, st) < 0 ||
        encryption_keys_open(&s->encryption_keys, now, st) < 0)
        return -1;
    o.encryption = s->encryption_keys.encryption;
    for (size_t i = 0; i < LOOPS; i++) {
        s->loops[i] = loop_new();
        loop_set_reading(s->loops[i]);
    }
    s->made_loops = true;
    o.store = s->store;
    o.root_ca_pem = c->ca;
    o.signer_cert_pem = c->signer_cert;
    o.signer_key_pem = c->signer_key_pem;
    s->server = server_new(&o, st);
    return s->server ? 0 : -1;
}

static int start_loops(struct simulate *s, struct status *st)
{
    for (; s->running < LOOPS; s->running++) {
        int err = pthread_create(&s->threads[s->running], NULL, run_loop, s->loops[s->running]);

        if (err)
            return status_errno(st, err, "cannot start a thread");
    }
    return 0;
}

static void start_controllers(struct simulate *s)
{
    s->signer = (struct csr_signer){ signer_sign, s->server, clock_real() };
    s->controllers = controller_group_new(WORKERS);
    for (size_t i = 0; i < CORE; i++) {
        struct controller_spec spec = *core_controllers[i];
        str user = str_printf(s->arena, "system:kairship:%s", spec.name);

        if (core_controllers[i] == &csr_signer_controller)
            spec.arg = &s->signer;
        s->clients[i] = client_new(server_local_transport(s->server, s->loops[0], user));
        (void)controller_group_start(s->controllers, &spec, s->clients[i]);
    }
    server_start_collecting(s->server);
}

static int open_members(struct simulate *s, struct status *st)
{
    static const str masters[] = { STR_INIT("system:masters") };
    static const struct identity admin = { .user = STR_INIT("admin"),
                                           .groups = masters,
                                           .ngroups = 1 };
    struct members_options o = { .dir = s->dir,
                                 .plans = s->plans,
                                 .n = s->n,
                                 .server = s->server,
                                 .loops = s->loops,
                                 .nloops = LOOPS,
                                 .http = HTTP_LIMITS_DEFAULT,
                                 .ca_pem = s->credentials.ca,
                                 .cert_pem = s->credentials.cert,
                                 .key_pem = s->credentials.key_pem,
                                 .client_ca_pem = s->credentials.client_ca };

    s->admin = client_new(server_local_as(s->server, s->loops[0], &admin));
    o.admin = s->admin;
    s->all = members_new(&o, st);
    return s->all ? 0 : -1;
}

static str address_of(void *arg, struct arena *a, str instance)
{
    struct simulate *s = arg;

    (void)a;
    return members_address(s->all, instance);
}

static void start_sim(struct simulate *s)
{
    struct sim_options o = { .server = s->server,
                             .loop = s->loops[1],
                             .delay_ms = s->delay_ms,
                             .job_ms = s->job_ms,
                             .no_balancers = s->no_balancers,
                             .cpu = s->cpu ? s->cpu : kinds_of[0].cpu,
                             .memory = s->memory ? s->memory : kinds_of[0].memory,
                             .pods = s->pods ? s->pods : kinds_of[0].pods,
                             .dir = arena_printf(s->arena, "%s/pods", s->dir),
                             .program = "/proc/self/exe",
                             .ca_pem = s->credentials.ca,
                             .address_of = address_of,
                             .arg = s };
    char path[4096];
    ssize_t n = readlink(o.program, path, sizeof(path) - 1);

    if (n > 0) {
        path[n] = '\0';
        o.program = arena_printf(s->arena, "%s", path);
    }
    s->sim = sim_new(&o);
}

static int open_all(struct simulate *s, struct status *st)
{
    if (file_mkdir(file_real(), s->dir) < 0 || file_sync_parent(file_real(), s->dir) < 0)
        return status_errno(st, errno, "cannot make the folder %s", s->dir);
    s->sandbox.dir = s->dir;
    s->sandbox.port = SANDBOX_ANY_PORT; /* one for each member, and closed ones open again */
    s->sandbox.needs = SANDBOX_CHILDREN | SANDBOX_STARTS;
    if (sandbox_drop(&s->sandbox, st) < 0 || sandbox_enter(&s->sandbox, st) < 0)
        return -1;
    if (open_server(s, st) < 0 || start_loops(s, st) < 0)
        return -1;
    start_controllers(s);
    if (open_members(s, st) < 0)
        return -1;
    start_sim(s);
    s->control = simulate_control_listen(s->dir, st);
    return s->control < 0 ? -1 : sandbox_filter(&s->sandbox, st);
}

/* ---- and its end ---- */

static void stop_loops(void *arg)
{
    struct simulate *s = arg;

    for (size_t i = 0; s->made_loops && i < LOOPS; i++)
        loop_stop(s->loops[i]);
}

static void begin_stop(void *arg)
{
    struct simulate *s = arg;

    server_stop(s->server, 0, stop_loops, s);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void stop_running(struct simulate *s)
{
    sim_stop(s->sim);
    if (s->controllers)
        controller_group_free(s->controllers);
    if (s->server && s->running == LOOPS) {
        server_stop_collecting(s->server);
        members_close(s->all);
        for (size_t i = 0; i < LOOPS; i++) /* each closes its connections before this is called */
            loop_call_wait(s->loops[i], nothing, NULL);
        loop_call(s->loops[0], begin_stop, s);
    } else {
        stop_loops(s);
    }
    for (size_t i = 0; i < s->running; i++)
        (void)pthread_join(s->threads[i], NULL);
}

/* From any state that open_all may have left. */
static void close_all(struct simulate *s)
{
    if (s->control >= 0)
        (void)close(s->control);
    stop_running(s);
    if (s->store)
        store_settle(s->store);
    epoch_enter();
    sim_free(s->sim);
    for (size_t i = 0; i < CORE; i++)
        client_free(s->clients[i]);
    client_free(s->admin);
    members_free(s->all);
    server_free(s->server);
    for (size_t i = 0; s->made_loops && i < LOOPS; i++)
        loop_free(s->loops[i]);
    epoch_exit();
    if (s->store)
        store_close(s->store);
    encryption_keys_close(&s->encryption_keys);
    epoch_drain();
}

/* ---- the command ---- */

static void greet(const struct simulate *s, bool ctrl_c)
{
    printf("%zu simulated member clusters run (data in %s):\n\n", s->n, s->dir);
    for (size_t i = 0; i < s->n && i < 20; i++) {
        str name = members_name(s->all, i), address = members_address(s->all, name);

        printf("  %-8.*s https://%.*s  %s\n", STR_ARG(name), STR_ARG(address),
               str_z(s->arena, members_kubeconfig(s->all, i)));
    }
    if (s->n > 20)
        printf("  … all in %s/members.json\n", s->dir);
    printf("\nNext:\n\n  kubectl --kubeconfig %s/%.*s.kubeconfig get nodes\n"
           "  kairship simulate kill %.*s --data-dir %s\n\n%s",
           s->dir, STR_ARG(s->plans[0].name), STR_ARG(s->plans[0].name), s->dir,
           ctrl_c ? "Ctrl-C stops them.\n" : "");
    (void)fflush(stdout);
}

static void wait_for_end(struct simulate *s, int signals)
{
    struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
                            { .fd = s->control, .events = POLLIN } };

    for (;;) {
        int n = poll(fds, 2, -1);

        if (n < 0 && errno != EINTR)
            return;
        if (n > 0 && fds[1].revents)
            simulate_control_serve(s->control, s->all);
        if (n > 0 && fds[0].revents)
            return;
    }
}

static int run(struct simulate *s)
{
    bool ctrl_c = terminal_stops_us();
    sigset_t signals;
    struct status st;
    int fd;

    status_init(&st, s->arena);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (open_all(s, &st) < 0) {
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
        close_all(s);
        return 1;
    }
    greet(s, ctrl_c);
    (void)malloc_trim(0); /* what starting has left behind */
    wait_for_end(s, fd);
    log_info("stopping");
    close_all(s);
    (void)close(fd);
    return 0;
}

#define NODE_OPTIONS(s)                                                                       \
    OPTIONS_GROUP("Nodes and pods"),                                                          \
        { "--cpu", OPTION_STRING, &(s)->cpu, "QUANTITY",                                      \
          "Give each node this much CPU. Without this option: 16, 8 and 16 by cluster." },    \
        { "--memory", OPTION_STRING, &(s)->memory, "QUANTITY",                                \
          "Give each node this much memory. Without this option: 64Gi, 32Gi and 64Gi by "     \
          "cluster." },                                                                       \
        { "--pods", OPTION_STRING, &(s)->pods, "N",                                           \
          "Let each node run this many pods. Without this option: 110." },                    \
        { "--delay", OPTION_NUMBER, &(s)->delay_ms, "MS",                                     \
          "Containers take this many milliseconds to start, and to end." },                   \
        { "--job-delay", OPTION_NUMBER, &(s)->job_ms, "MS",                                   \
          "A pod of a Job succeeds after this many milliseconds." },                          \
    {                                                                                         \
        "--no-load-balancers", OPTION_FLAG, &(s)->no_balancers, NULL,                         \
            "Assign no addresses to Services of type LoadBalancer, like a cluster without a " \
            "cloud."                                                                          \
    }

int cmd_simulate(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship simulate [options]\n"
        "  kairship simulate kill|stop|slow|start MEMBER [MILLISECONDS] [--data-dir DIR]\n"
        "  kairship simulate status [--data-dir DIR]",
        "Run simulated member clusters in one process, until Ctrl-C; or give a running one "
        "trouble.",
        "  kairship simulate\n"
        "  kairship simulate --members 4 --nodes 2,2,1,0 --cpu 4 --memory 16Gi\n"
        "  kubectl --kubeconfig kairship-members/m1.kubeconfig get nodes\n"
        "  kairship simulate kill m1       m1 closes its port and its connections\n"
        "  kairship simulate stop m1       m1 accepts connections and never answers\n"
        "  kairship simulate slow m1 500   m1 delays each request by half a second\n"
        "  kairship simulate start m1      m1 is healthy again, at the same port\n"
    };
    struct simulate *s = mem_zalloc(sizeof(*s));
    const struct option_row rows[] = {
        { "--data-dir", OPTION_STRING, &s->dir, "DIR",
          "Keep all data in this folder. It is created if it does not exist." },
        { "--members", OPTION_NUMBER, &s->members, "N",
          "Run this many clusters. 0, the default, runs one for each of --names, or 3." },
        { "--names", OPTION_STRING, &s->names, "A,B,...",
          "Name the clusters. Without this option: m1, m2 and so on." },
        { "--nodes", OPTION_STRING, &s->nodes, "N[,N...]",
          "Give each cluster this many nodes; the last number is for all further clusters. Nodes "
          "that are created later are simulated, too. Without this option: 2, 2 and 1 in turns." },
        NODE_OPTIONS(s),
        OPTIONS_LOG,
        OPTIONS_SANDBOX(&s->sandbox),
    };
    const char *words[3];
    size_t nwords = 0;
    int rc;

    s->dir = "./kairship-members";
    s->delay_ms = 50;
    s->job_ms = 500;
    s->control = -1;
    s->sandbox.mode = "auto";
    s->arena = arena_new();
    rc = options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, words, 3, &nwords);
    if (rc == OPTIONS_OK && nwords > 0)
        rc = simulate_control_knows(words[0])
                 ? simulate_control_say(s->dir, words, nwords)
                 : bad("what can be told is kill, stop, slow, start and status", str_of(words[0]));
    if (rc == OPTIONS_OK)
        rc = plan(s);
    if (rc == OPTIONS_OK)
        rc = run(s);
    arena_free(s->arena);
    free(s);
    return rc;
}
