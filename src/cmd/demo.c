/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/demo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/client.h"
#include "cmd/instance_kubeconfig.h"
#include "cmd/text_file.h"
#include "fleet/join.h"
#include "object/meta/condition.h"

#define INSTANCE "demo"

enum { WAIT_MS = 20000, POLL_MS = 5, END_MS = 5000, KUBECONFIG_S = 90 * 86400 };

struct demo {
    struct arena *arena;
    const char *dir, *sandbox;
    str members_dir, members_file;
    pid_t child;
    struct client *client;      /* the platform admin's, by this: */
    struct kubeconfig admin;    /* admin.kubeconfig */
    const struct json *members; /* what the simulator says they are */
};

static void pause_ms(int ms)
{
    const struct timespec t = { .tv_nsec = ms * 1000000L };

    (void)nanosleep(&t, NULL);
}

/* ---- the members' process ---- */

static void become_simulator(const struct demo *d, pid_t parent)
{
    char *const argv[] = { mem_strdup("kairship"),
                           mem_strdup("simulate"),
                           mem_strdup("--data-dir"),
                           mem_strdup(d->members_dir.p),
                           mem_strdup("--config"),
                           mem_strdup("/dev/null"), /* of it all is said here */
                           mem_strdup("--sandbox"),
                           mem_strdup(d->sandbox),
                           NULL };
    int log = open(str_z(d->arena, str_printf(d->arena, "%s/members.log", d->dir)),
                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || log < 0)
        _exit(1);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)dup2(log, STDOUT_FILENO);
    (void)dup2(log, STDERR_FILENO);
    (void)execv("/proc/self/exe", argv);
    _exit(127);
}

static int start_members(struct demo *d, struct status *st)
{
    pid_t parent = getpid();

    (void)unlink(d->members_file.p); /* of an earlier run: theirs tells that they are ready */
    d->child = fork();
    if (d->child < 0)
        return status_errno(st, errno, "cannot start the simulated members");
    if (d->child == 0)
        become_simulator(d, parent);
    return 0;
}

static int read_members(struct demo *d, struct status *st)
{
    const struct json *v;
    str text;

    for (int ms = 0; ms < WAIT_MS; ms += POLL_MS) {
        if (waitpid(d->child, NULL, WNOHANG) == d->child) {
            d->child = 0;
            break;
        }
        if (text_file_find(d->arena, d->members_file.p, &text, st) == 1 &&
            json_parse(d->arena, text, NULL, &v, st) == 0) {
            d->members = json_get(v, STR("members"));
            return 0;
        }
        pause_ms(POLL_MS);
    }
    return status_set(st, REASON_UNAVAILABLE,
                      "the simulated members did not start; %s/members.log says why", d->dir);
}

/* ---- the instance and its members ---- */

static int make_instance(struct demo *d, struct status *st)
{
    /* Quick to notice that a member is gone, and to move away from it: it is to be watched. */
    static const char object[] =
        "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\",\"metadata\":{"
        "\"name\":\"" INSTANCE "\"},\"spec\":{\"settings\":{\"failover\":{\"enabled\":true,"
        "\"clusterFailureThreshold\":2,\"clusterSuccessThreshold\":2,\"failoverEvictionTimeout\":2,"
        "\"gracefulEvictionTimeout\":10}}}}";
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances") };
    const struct json *v;

    if (json_parse(d->arena, str_of(object), NULL, &v, st) < 0)
        return -1;
    if (client_create(d->client, d->arena, &ref, v, NULL, st) < 0 &&
        !status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    return 0;
}

static int join_one(struct demo *d, const struct json *m, struct status *st)
{
    struct json_array zones = json_array_new(d->arena);
    struct kubeconfig k;
    struct join j = { .control = d->client,
                      .instance = STR(INSTANCE),
                      .name = json_get_str(m, "name"),
                      .provider = json_get_str(m, "provider"),
                      .region = json_get_str(m, "region"),
                      .labels = json_get(m, STR("labels")) };
    int rc;

    json_push(&zones, *json_get(m, STR("zone")));
    j.zones = json_array_done(&zones);
    if (kubeconfig_load(d->arena, str_z(d->arena, json_get_str(m, "kubeconfig")), STR_NONE, &k,
                        st) < 0)
        return -1;
    j.member = client_open(NULL, &k, st);
    if (!j.member)
        return -1;
    j.server = k.server;
    j.ca_pem = k.ca_pem;
    rc = join_member(&j, d->arena, NULL, st);
    client_free(j.member);
    return rc;
}

static int wait_ready(struct demo *d, struct status *st)
{
    struct client_ref ref = { .instance = STR(INSTANCE),
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };

    for (int ms = 0; ms < WAIT_MS; ms += POLL_MS) {
        scoped_arena a = arena_new();
        const struct json *list;
        size_t ready = 0;

        if (client_list(d->client, a, &ref, NULL, &list, st) < 0)
            return -1;
        json_for_each (c, json_get(list, STR("items")))
            ready += object_is_ready(c);
        if (ready >= json_len(d->members))
            return 0;
        pause_ms(POLL_MS);
    }
    return status_set(st, REASON_TIMEOUT, "the members have joined, but not all are ready");
}

/* Not by the address in the file, which may be that of a balancer. */
static int open_client(struct demo *d, str host, unsigned port, struct status *st)
{
    const char *path = str_z(d->arena, str_printf(d->arena, "%s/admin.kubeconfig", d->dir));
    struct kubeconfig here;

    if (kubeconfig_load(d->arena, path, STR_NONE, &d->admin, st) < 0)
        return -1;
    here = d->admin;
    here.host = host;
    here.port = str_printf(d->arena, "%u", port);
    d->client = client_open(NULL, &here, st);
    return d->client ? 0 : -1;
}

/* For an admin of the instance, and of nothing else; a new one at each start. */
static int hand_out(struct demo *d, struct status *st)
{
    static const str masters[] = { STR_INIT("system:masters") };
    struct instance_kubeconfig o = { .arena = d->arena,
                                     .client = d->client,
                                     .instance = STR(INSTANCE),
                                     .ttl_s = KUBECONFIG_S,
                                     .who = { .cn = STR("admin"), .orgs = masters, .norgs = 1 } };
    struct kubeconfig k;

    if (instance_kubeconfig_issue(&o, &d->admin, &k, st) < 0)
        return -1;
    return kubeconfig_save(
        str_z(d->arena, str_printf(d->arena, "%s/" INSTANCE ".kubeconfig", d->dir)),
        kubeconfig_write(d->arena, &k, 1), st);
}

int demo_start(const char *dir, const char *sandbox, struct demo **out, struct status *st)
{
    struct arena *a = arena_new();
    struct demo *d = arena_new_of(a, struct demo);

    *d = (struct demo){ .arena = a,
                        .dir = dir,
                        .sandbox = sandbox,
                        .members_dir = str_printf(a, "%s/members", dir),
                        .members_file = str_printf(a, "%s/members/members.json", dir) };
    *out = d;
    return start_members(d, st);
}

int demo_join(struct demo *d, str host, unsigned port, struct status *st)
{
    if (open_client(d, host, port, st) < 0 || make_instance(d, st) < 0 || hand_out(d, st) < 0 ||
        read_members(d, st) < 0)
        return -1;
    json_for_each (m, d->members)
        if (join_one(d, m, st) < 0)
            return -1;
    return wait_ready(d, st);
}

/* It is asked to end, and after a while made to. */
static void stop_members(pid_t child)
{
    (void)kill(child, SIGTERM);
    for (int ms = 0; ms < END_MS; ms += POLL_MS) {
        if (waitpid(child, NULL, WNOHANG) != 0)
            return;
        pause_ms(POLL_MS);
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

void demo_stop(struct demo *d)
{
    if (!d)
        return;
    if (d->child > 0)
        stop_members(d->child);
    client_free(d->client);
    arena_free(d->arena); /* with it */
}

void demo_greet(const struct demo *d)
{
    printf("The instance \"" INSTANCE "\" has %zu simulated members:\n\n", json_len(d->members));
    json_for_each (m, d->members)
        printf("  %-6.*s %.*s, %.*s, %.*s\n", STR_ARG(json_get_str(m, "name")),
               STR_ARG(json_get_str(m, "provider")), STR_ARG(json_get_str(m, "region")),
               STR_ARG(json_get_str(m, "server")));
    printf("\nNext:\n\n"
           "  export KUBECONFIG=%s/" INSTANCE ".kubeconfig\n"
           "  kubectl get clusters\n"
           "  kubectl apply -f docs/samples/nginx.yaml\n"
           "  kubectl get deployments,resourcebindings\n"
           "  kubectl --kubeconfig %s/m1.kubeconfig get pods\n\n",
           d->dir, d->members_dir.p);
}
