/* SPDX-License-Identifier: Apache-2.0 */

/* `kairship up` and `kairship apiserver`: from the command line to a running server and back. */

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "apiserver/auth/signer.h"
#include "apiserver/call/local.h"
#include "apiserver/call/version.h"
#include "apiserver/server/server.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "base/slice.h"
#include "cmd/admission_flags.h"
#include "cmd/audit_flags.h"
#include "cmd/authn_flags.h"
#include "cmd/commands.h"
#include "cmd/controllers.h"
#include "cmd/credentials.h"
#include "cmd/demo.h"
#include "cmd/encryption_keys.h"
#include "cmd/key_file.h"
#include "cmd/mgmt_wiring.h"
#include "cmd/options.h"
#include "cmd/reach.h"
#include "cmd/search_wiring.h"
#include "cmd/serving_certs.h"
#include "cmd/syncer_flags.h"
#include "cmd/terminal.h"
#include "cmd/token_keys.h"
#include "federation/controllers/instance/csr_signer.h"
#include "federation/interp/scripts.h"
#include "http/listen.h"
#include "http/pki.h"
#include "store/engine.h"

enum { LOOPS_MAX = 64, CLIENTS_MAX = 64, MOUNTS_MAX = 16, WORKERS = 2, GRACE_MS = 10000 };
/* After the start; and once more, when the search and the controllers have read what there is. */
enum { SETTLE_NS = 700 * 1000 * 1000, SETTLES = 2 };

struct serve {
    const char *dir, *listen, *issuer;
    struct admission_flags admission_flags;
    long reads, writes; /* in flight at most */
    long event_ttl;     /* seconds */
    long instance_objects, instance_bytes, instance_in_flight,
        instance_watches; /* of each; 0: any */
    struct serving_certs serving;
    struct encryption_keys encryption_keys;
    struct audit_flags audit_flags;
    struct audit *audit;
    struct authn_flags identity;
    struct arena *arena;
    struct store *store;
    struct server *server;
    struct client *clients[CLIENTS_MAX]; /* of the controllers, in process */
    size_t nclients;
    struct controller_group *controllers;
    struct controllers *manager; /* NULL: elsewhere */
    struct search *search;
    struct search_wiring search_wiring;
    struct mgmt_wiring *mgmt_wiring;
    struct mount mounts[MOUNTS_MAX];
    bool alone;     /* no controller-manager is elsewhere */
    bool with_demo; /* and simulated members to try it with */
    struct demo *demo;
    bool loopback; /* members may be at addresses of this machine */
    struct syncer_flags syncers;
    struct sandbox_options sandbox;
    const char *outside[8]; /* files that are not in the data folder */
    int listener;           /* taken while we might; 0: not yet */
    struct option_list advertise, sans;
    str authority; /* the hash of its key: of who signed what we present */
    struct csr_signer signer;
    struct loop *loops[LOOPS_MAX];
    pthread_t threads[LOOPS_MAX];
    size_t nloops, running;
};

static void *signer(struct serve *s)
{
    s->signer = (struct csr_signer){ signer_sign, s->server, clock_real() };
    return &s->signer;
}

/* Without these the API is not whole. */
static const struct {
    const struct controller_spec *spec;
    void *(*arg)(struct serve *s); /* what its reconcile is given; NULL: nothing */
} controllers[] = {
#define X(spec, arg) { &spec, arg },
    API_CONTROLLERS(X)
#undef X
};
enum { CONTROLLERS = sizeof(controllers) / sizeof(*controllers) };

/* It holds the memory of the store except while it sleeps. */
static void *run_loop(void *arg)
{
    epoch_enter();
    loop_run(arg);
    epoch_exit();
    return NULL;
}

static void make_loops(struct serve *s)
{
    cpu_set_t ours;
    int cores = sched_getaffinity(0, sizeof(ours), &ours) == 0 ? CPU_COUNT(&ours) : 1;

    s->nloops = cores < 1 ? 1 : cores > LOOPS_MAX ? LOOPS_MAX : (size_t)cores;
    for (size_t i = 0; i < s->nloops; i++) {
        s->loops[i] = loop_new();
        loop_set_reading(s->loops[i]);
    }
}

/* With short slices, for somebody always waits for them. */
static int start_loops(struct serve *s, struct status *st)
{
    int err = 0;

    slice_set(SLICE_SHORT_NS);
    while (!err && s->running < s->nloops) {
        err = pthread_create(&s->threads[s->running], NULL, run_loop, s->loops[s->running]);
        s->running += !err;
    }
    slice_set(0);
    return err ? status_errno(st, err, "cannot start a thread") : 0;
}

/* Each is known to the server by its own name, and may do what it needs. */
static struct client *new_client(void *arg, str user)
{
    struct serve *s = arg;
    struct client *c = client_new(server_local_transport(s->server, s->loops[0], user));

    if (s->nclients == CLIENTS_MAX)
        abort(); /* the tables of controllers are ours */
    s->clients[s->nclients++] = c;
    return c;
}

/* How syncers in members reach us. */
static str members_way(const struct serve *s)
{
    str address = reach_print(s->arena, s->serving.reach.advertised, s->serving.port);

    return s->syncers.server ? str_of(s->syncers.server)
                             : str_printf(s->arena, "https://%.*s", STR_ARG(address));
}

static void start_controllers(struct serve *s)
{
    s->controllers = controller_group_new(WORKERS);
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct controller_spec spec = *controllers[i].spec;
        str user = str_printf(s->arena, "system:kairship:%s", spec.name);

        if (controllers[i].arg)
            spec.arg = controllers[i].arg(s);
        (void)controller_group_start(s->controllers, &spec, new_client(s, user));
    }
    if (s->alone)
        s->manager = controllers_start(&(struct controllers_options){
            .client = new_client,
            .arg = s,
            .controllers = "*",
            .loopback = true,
            .own = server_address(s->server),
            .syncers = s->syncers.place,
            .server = members_way(s),
            .syncer_image = str_of(s->syncers.image),
            .resources_to_sync = str_of(s->syncers.resources),
        });
}

static void stop_controllers(struct serve *s)
{
    controllers_stop(s->manager);
    controller_group_free(s->controllers);
    s->controllers = NULL;
}

/* The server has its own form of them: what was read is wiped. */
static int new_server(struct serve *s, struct server_options *o, struct status *st)
{
    scoped_arena keys = arena_new();

    if (token_keys_open(keys, s->dir, clock_wall_s(o->clock), &o->token_keys, &o->ntoken_keys, st) <
        0)
        return -1;
    o->issuer = str_of(s->issuer);
    if (authn_flags_open(&s->identity, s->arena, o, st) < 0)
        return -1;
    s->server = server_new(o, st);
    return s->server ? 0 : -1;
}

static void reload(struct serve *s)
{
    scoped_arena a = arena_new();
    const secret *keys;
    struct status st;
    size_t n;

    status_init(&st, a);
    if (token_keys_open(a, s->dir, clock_wall_s(clock_real()), &keys, &n, &st) < 0 ||
        server_reload_keys(s->server, keys, n, &st) < 0)
        log_error("the keys of tokens stay as they were", log_str("why", st.message));
    else
        log_info("keys of tokens are loaded", log_int("keys", (int64_t)n));
    serving_certs_refresh(&s->serving, s->server, true);
    encryption_keys_refresh(&s->encryption_keys, true);
    authn_flags_refresh(&s->identity, s->server, true);
}

/* For kairship doctor.  A server starts without, since it reads on a full disk. */
static void keep_options(const struct serve *s)
{
    const char *path = arena_printf(s->arena, "%s/" OPTIONS_FILE, s->dir);
    struct status st;
    secret had;

    status_init(&st, s->arena);
    if (key_file_read(s->arena, path, &had, &st) == 0 &&
        str_eq(secret_reveal(had), options_in_force()))
        return;
    status_reset(&st);
    if (key_file_write(s->arena, path, secret_of(options_in_force()), &st) < 0)
        log_warn("the options of this start are not kept", log_str("why", st.message));
}

/* The data and the keys; the engine keeps others from the folder. */
static int open_folder(struct serve *s, int64_t now_s, struct credentials *c, struct status *st)
{
    struct engine_options engine = { .dir = str_of(s->dir) };

    s->store = engine_open(&engine, st);
    s->serving.dir = s->encryption_keys.dir = s->dir;
    if (!s->store || serving_certs_open(&s->serving, s->arena, now_s, c, st) < 0)
        return -1;
    keep_options(s);
    return encryption_keys_open(&s->encryption_keys, now_s, st);
}

static void take_credentials(struct server_options *o, const struct credentials *c)
{
    o->root_ca_pem = c->ca;
    o->cert_pem = c->cert;
    o->key_pem = c->key_pem;
    o->client_ca_pem = c->client_ca;
    o->signer_cert_pem = c->signer_cert;
    o->signer_key_pem = c->signer_key_pem;
    o->front_cert_pem = c->front_cert;
    o->front_key_pem = c->front_key_pem;
}

/* The port is known, and with it where clients connect to. */
static int announce(struct serve *s, const struct credentials *c, struct status *st)
{
    struct host_port at;

    if (address_parse(server_address(s->server), &at, st) < 0)
        return -1;
    s->serving.port = at.port;
    server_advertise(s->server, reach_print(s->arena, s->serving.reach.advertised, at.port));
    return pki_chain_key_hash(s->arena, c->cert, &s->authority, st);
}

static int open_all(struct serve *s, struct status *st)
{
    struct server_options o = { .clock = clock_real(),
                                .listen = str_of(s->listen),
                                .loops = s->loops,
                                .max_reads = (unsigned)s->reads,
                                .max_writes = (unsigned)s->writes,
                                .check_scripts = scripts_check,
                                .loopback_members = s->alone || s->loopback,
                                .admission_on = str_of(s->admission_flags.on),
                                .admission_off = str_of(s->admission_flags.off),
                                .admission = &s->admission_flags.config,
                                .event_ttl_s = s->event_ttl,
                                .record_ttl_s = s->audit_flags.record_age * AUDIT_DAY_S,
                                .record_bytes = (uint64_t)s->audit_flags.record_size << 20,
                                .instance_objects = (uint64_t)s->instance_objects,
                                .instance_bytes = (uint64_t)s->instance_bytes,
                                .instance_in_flight = (uint64_t)s->instance_in_flight,
                                .instance_watches = (uint64_t)s->instance_watches,
                                .http = HTTP_LIMITS_DEFAULT };
    struct credentials c;

    if (open_folder(s, clock_wall_s(o.clock), &c, st) < 0)
        return -1;
    make_loops(s);
    o.store = s->store;
    o.dir = s->dir;
    o.encryption = s->encryption_keys.encryption;
    o.nloops = s->nloops;
    o.listener = s->listener;
    take_credentials(&o, &c);
    s->search = search_wiring_new(&s->search_wiring, s->dir, s->store, st);
    s->mgmt_wiring = mgmt_wiring_new(st);
    if (!s->search || !s->mgmt_wiring)
        return -1;
    s->mounts[o.nmounts++] = search_mount(s->search);
    o.mounts = s->mounts;
    o.nmounts = mgmt_wiring_mounts(s->mgmt_wiring, s->mounts, o.nmounts, MOUNTS_MAX);
    s->audit = audit_flags_open(&s->audit_flags, s->dir, o.clock, st);
    o.audit = s->audit;
    if (!s->audit || new_server(s, &o, st) < 0 || start_loops(s, st) < 0)
        return -1;
    s->clients[s->nclients++] =
        search_wiring_start(&s->search_wiring, s->search, s->server, s->loops[0]);
    if (announce(s, &c, st) < 0)
        return -1;
    start_controllers(s);
    server_start_collecting(s->server);
    mgmt_wiring_start(s->mgmt_wiring, &(struct mgmt_wiring_parts){ .server = s->server,
                                                                   .loop = s->loops[0],
                                                                   .search = s->search,
                                                                   .ca_pem = c.ca });
    return credentials_write_kubeconfig(
        s->arena, str_of(s->dir), &c,
        reach_print(s->arena, s->serving.reach.admin, s->serving.port), st);
}

static void stop_loops(void *arg)
{
    struct serve *s = arg;

    for (size_t i = 0; i < s->nloops; i++)
        loop_stop(s->loops[i]);
}

static void begin_stop(void *arg)
{
    struct serve *s = arg;

    server_stop(s->server, GRACE_MS, stop_loops, s);
}

/* From any state that open_all may have left. */
static void close_all(struct serve *s)
{
    if (s->server)
        server_drain(s->server); /* first: who balances load looks elsewhere from now on */
    search_stop(s->search);
    stop_controllers(s);
    if (s->server)
        server_stop_collecting(s->server);
    if (s->server && s->running == s->nloops)
        loop_call(s->loops[0], begin_stop, s);
    else
        stop_loops(s);
    for (size_t i = 0; i < s->running; i++)
        (void)pthread_join(s->threads[i], NULL);
    if (s->store)
        store_settle(s->store); /* its writer may still be waking a loop */
    epoch_enter();
    for (size_t i = 0; i < s->nclients; i++)
        client_free(s->clients[i]);
    mgmt_wiring_free(s->mgmt_wiring);
    server_free(s->server);
    audit_free(s->audit);
    search_free(s->search);
    search_wiring_release(&s->search_wiring);
    for (size_t i = 0; i < s->nloops; i++)
        loop_free(s->loops[i]);
    epoch_exit();
    if (s->store)
        store_close(s->store);
    encryption_keys_close(&s->encryption_keys);
    serving_certs_close(&s->serving);
    epoch_drain();
}

static void greet(const struct serve *s, bool ctrl_c)
{
    str here = reach_print(s->arena, s->serving.reach.here, s->serving.port);

    printf("kairship %.*s is ready at https://%.*s (data in %s).\n", STR_ARG(version_own()),
           STR_ARG(here), s->dir);
    reach_greet(&s->serving.options, &s->serving.reach, s->serving.port);
    printf("Authority: %.*s\n\n", STR_ARG(s->authority));
    if (s->demo)
        demo_greet(s->demo);
    else
        printf("Next:\n\n"
               "  export KUBECONFIG=%s/admin.kubeconfig\n"
               "  kubectl get namespaces\n"
               "  kubectl create configmap hello --from-literal=who=world\n\n",
               s->dir);
    if (ctrl_c)
        printf("Ctrl-C stops it.\n");
    (void)fflush(stdout);
}

/* Until it is told to stop: renews and reloads what it needs.  Returns the signal. */
static int wait_for_end(struct serve *s, const sigset_t *signals)
{
    const struct timespec first = { .tv_nsec = SETTLE_NS }, later = { .tv_sec = SERVING_POLL_S };
    int settled = 0;

    for (;;) {
        int got = sigtimedwait(signals, NULL, settled ? &later : &first);

        if (got == SIGHUP) {
            reload(s);
            continue;
        }
        if (got > 0)
            return got;
        if (settled) {
            serving_certs_refresh(&s->serving, s->server, false);
            encryption_keys_refresh(&s->encryption_keys, false);
            authn_flags_refresh(&s->identity, s->server, false);
        }
        if (settled < SETTLES) {
            mem_settle();
            settled++;
        }
    }
}

/* What needs rights is done; the rest is done without. */
static int shut_in(struct serve *s, struct status *st)
{
    if (file_mkdir(file_real(), s->dir) < 0 || file_sync_parent(file_real(), s->dir) < 0)
        return status_errno(st, errno, "cannot make the folder %s", s->dir);
    s->outside[0] = s->serving.cert_file;
    s->outside[1] = s->serving.key_file;
    s->outside[2] = s->encryption_keys.file;
    s->outside[3] = s->audit_flags.policy_file;
    s->outside[4] = s->identity.config_file;
    s->outside[5] = s->identity.ca_file;
    if (audit_flags_load(&s->audit_flags, s->arena, &s->outside[6], st) < 0)
        return -1;
    s->sandbox.log = audit_flags_log_elsewhere(&s->audit_flags);
    s->sandbox.dir = s->dir;
    s->sandbox.files = s->outside;
    s->sandbox.nfiles = sizeof(s->outside) / sizeof(*s->outside);
    s->sandbox.port = s->serving.options.listen.port;
    s->sandbox.needs = s->with_demo ? SANDBOX_CHILDREN : 0;
    if (sandbox_drop(&s->sandbox, st) < 0 ||
        (s->with_demo && demo_start(s->dir, s->sandbox.mode, &s->demo, st) < 0))
        return -1;
    return sandbox_enter(&s->sandbox, st);
}

/* First, so that a wrong address leaves nothing behind; it does not listen yet. */
static int take_address(struct serve *s, struct status *st)
{
    char machine[HOST_NAME_MAX + 1] = "";

    (void)gethostname(machine, HOST_NAME_MAX);
    if (reach_parse(s->arena, s->listen, &s->advertise, &s->sans, machine, &s->serving.options,
                    st) < 0)
        return -1;
    s->listener = listen_bind(str_of(s->listen), st);
    return s->listener < 0 ? status_wrap(st, "--listen %s", s->listen) : 0;
}

static int start(struct serve *s, struct status *st)
{
    if (syncer_flags_read(&s->syncers, st) < 0 || take_address(s, st) < 0 ||
        admission_flags_load(&s->admission_flags, s->arena, st) < 0 ||
        authn_flags_read_webhooks(&s->identity, s->arena, st) < 0 || shut_in(s, st) < 0 ||
        open_all(s, st) < 0)
        return -1;
    if (s->demo && demo_join(s->demo, s->serving.reach.here.host, s->serving.port, st) < 0)
        return status_wrap(st, "no demo");
    return sandbox_filter(&s->sandbox, st);
}

static int run(struct serve *s)
{
    bool ctrl_c = terminal_stops_us();
    sigset_t signals;
    struct status st;
    int got;

    s->arena = arena_new();
    status_init(&st, s->arena);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (start(s, &st) < 0) {
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
        demo_stop(s->demo);
        close_all(s);
        arena_free(s->arena);
        return 1;
    }
    greet(s, ctrl_c);
    got = wait_for_end(s, &signals);
    log_info("stopping", log_int("signal", got));
    demo_stop(s->demo);
    close_all(s);
    arena_free(s->arena);
    return 0;
}

static void set_defaults(struct serve *s)
{
    s->dir = "./kairship-data";
    s->listen = "127.0.0.1:6443";
    s->admission_flags.on = s->admission_flags.off = "";
    s->issuer = "https://kubernetes.default.svc";
    s->sandbox.mode = "auto";
    s->reads = 400;
    s->writes = 200;
    s->event_ttl = 3600;
    s->audit_flags = AUDITING_DEFAULT;
    s->identity = (struct authn_flags)IDENTITY_DEFAULTS;
    s->syncers = (struct syncer_flags)SYNCER_FLAGS_DEFAULT;
    s->instance_objects = 1000000;
    s->instance_bytes = 8L << 30;
    s->instance_in_flight = 150; /* so that some are left for others */
    s->instance_watches = 10000;
}

/* False, and it was said why. */
static bool makes_sense(const struct serve *s)
{
    const char *why = NULL;

    if (s->reads < 1 || s->writes < 1 || s->reads > 1000000 || s->writes > 1000000)
        why = "requests in flight are 1 to 1000000";
    else if (s->event_ttl < 0 || s->instance_objects < 0 || s->instance_bytes < 0 ||
             s->instance_in_flight < 0 || s->instance_watches < 0)
        why = "what is kept and the limits of instances are 0 or more";
    else if (!s->serving.cert_file != !s->serving.key_file)
        why = "--tls-cert-file and --tls-private-key-file go together";
    if (!why)
        return audit_flags_check(&s->audit_flags);
    (void)fprintf(stderr, "kairship: %s\n", why);
    return false;
}

#define LIMIT_OPTIONS(s)                                                                       \
    OPTIONS_GROUP("Limits"),                                                                   \
        { "--max-requests-inflight", OPTION_NUMBER, &(s)->reads, "N",                          \
          "Process this many requests at the same time, together with the next option. API "   \
          "Priority and Fairness shares them among requests." },                               \
        { "--max-mutating-requests-inflight", OPTION_NUMBER, &(s)->writes, "N",                \
          "Process this many more requests at the same time." },                               \
        { "--event-ttl", OPTION_NUMBER, &(s)->event_ttl, "SECONDS",                            \
          "Delete Events this long after their last change; 0 keeps them for ever." },         \
        { "--instance-max-objects", OPTION_NUMBER, &(s)->instance_objects, "N",                \
          "The most objects in an instance other than root; 0 sets no limit. In this and the " \
          "following options, spec.limits of an Instance takes precedence." },                 \
        { "--instance-max-bytes", OPTION_NUMBER, &(s)->instance_bytes, "N",                    \
          "The most bytes of all objects in an instance; 0 sets no limit." },                  \
        { "--instance-max-inflight", OPTION_NUMBER, &(s)->instance_in_flight, "N",             \
          "The most concurrent requests to an instance; 0 sets no limit." },                   \
    {                                                                                          \
        "--instance-max-watches", OPTION_NUMBER, &(s)->instance_watches, "N",                  \
            "The most concurrent watches in an instance; 0 sets no limit."                     \
    }

static int serve(const struct command_help *help, bool alone, int argc, char **argv)
{
    struct serve *s = mem_zalloc(sizeof(*s));
    const struct option_row rows[] = {
        /* The first row and the last ones are of kairship up alone. */
        { "--demo", OPTION_FLAG, &s->with_demo, NULL,
          "Create the instance demo and three simulated member clusters to try things with." },
        { "--data-dir", OPTION_STRING, &s->dir, "DIR",
          "Keep all data in this folder. It is created if it does not exist." },
        { "--listen", OPTION_STRING, &s->listen, "HOST:PORT",
          "Listen at this address: 0.0.0.0:6443 for all machines that reach this one. Port 0 takes "
          "any free port." },
        { "--advertise", OPTION_LIST, &s->advertise, "HOST[:PORT]",
          "Tell clients this name or address, in kubeconfigs and elsewhere, and put it into the "
          "certificate. Of several, clients are told the first. Without this option: the first "
          "address of this machine that --listen covers." },
        OPTIONS_GROUP("Certificates and tokens"),
        { "--tls-san", OPTION_LIST, &s->sans, "HOST",
          "Put this name or address into the certificate, too. It may be repeated." },
        { "--tls-cert-file", OPTION_STRING, &s->serving.cert_file, "FILE",
          "Serve with this certificate and its chain. It is reloaded when it changes. Without "
          "this option: with a certificate of the data folder, which is renewed in time." },
        { "--tls-private-key-file", OPTION_STRING, &s->serving.key_file, "FILE",
          "The private key of --tls-cert-file." },
        { "--service-account-issuer", OPTION_STRING, &s->issuer, "URL",
          "The issuer in service account tokens, where others fetch the keys to verify them. An "
          "instance appends its path." },
        OPTIONS_GROUP("Encryption at rest"),
        { "--encryption-provider-config", OPTION_STRING, &s->encryption_keys.file, "FILE",
          "Encrypt objects as this EncryptionConfiguration says. It is reloaded when it changes. "
          "Without this option: encryption.yaml in the data folder, which the first start "
          "creates." },
        IDENTITY_OPTIONS(s->identity),
        ADMITTING_OPTIONS(&s->admission_flags),
        AUDITING_OPTIONS(&s->audit_flags),
        LIMIT_OPTIONS(s),
        OPTIONS_GROUP("Member clusters"),
        { "--allow-loopback-members", OPTION_FLAG, &s->loopback, NULL,
          "Connect to member clusters at addresses of this machine. kairship up always does." },
        OPTIONS_LOG,
        OPTIONS_SANDBOX(&s->sandbox),
        SYNCER_OPTIONS(&s->syncers, "the advertised address"),
    };
    const struct option_row *first = alone ? rows : rows + 1;
    size_t n = sizeof(rows) / sizeof(*rows) - (alone ? 0 : 1 + SYNCER_ROWS);
    int rc;

    s->alone = alone;
    set_defaults(s);
    rc = options_parse(help, first, n, argc, argv, NULL, 0, NULL);
    if (rc == OPTIONS_OK && !makes_sense(s))
        rc = USAGE;
    if (rc == OPTIONS_OK)
        rc = run(s);
    free(s);
    return rc;
}

int cmd_up(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship up [options]",
        "Run the API server and all controllers in one process, until Ctrl-C.",
        "  kairship up --demo\n  kairship up --data-dir /var/lib/kairship --listen 127.0.0.1:7443\n"
    };

    return serve(&help, true, argc, argv);
}

int cmd_apiserver(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship apiserver [options]",
        "Run the API server with the controllers that its API depends on, until Ctrl-C. The other "
        "controllers run in kairship controller-manager.",
        "  kairship apiserver --data-dir /var/lib/kairship\n"
        "  kairship apiserver --audit-webhook-config-file audit.kubeconfig\n"
        "  kairship apiserver --admission-control-config-file admission.yaml\n"
    };

    return serve(&help, false, argc, argv);
}
