/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship join`, `unjoin`, `cordon` and `uncordon`: members of an instance, by the API alone, as
 * karmadactl does it.
 */

#include "fleet/join.h"

#include <stdio.h>
#include <time.h>

#include "base/banned.h"
#include "base/clock.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "http/address.h"

enum { WAIT_S = 60, POLL_MS = 100, LABELS_MAX = 64, BEAT_S = 20 };

#define UNSCHEDULABLE "cluster.karmada.io/unschedulable"

struct order {
    const char *name, *kubeconfig, *instance, *cluster_kubeconfig, *cluster_context;
    const char *provider, *region, *zones, *labels;
    const char *syncer_image, *syncer_server;
    bool pull;
    long wait_s;
    struct arena *arena;
    struct client *control, *member;
    str in; /* the instance as a client_ref says it */
    struct kubeconfig here, cluster;
    struct status st;
};

static int complain(const struct order *o, const char *hint)
{
    (void)fprintf(stderr, "kairship: %.*s%s%s\n", STR_ARG(o->st.message), *hint ? "\n" : "", hint);
    return 1;
}

static const struct {
    enum reason reason;
    const char *text;
} hints[] = {
    { REASON_ALREADY_EXISTS, "Take that name, or remove it first: kairship unjoin NAME" },
    { REASON_UNAUTHORIZED, "The kubeconfig used is not accepted there; has it expired?" },
    { REASON_FORBIDDEN, "It takes an admin of the instance (--kubeconfig) and of the cluster "
                        "(--cluster-kubeconfig)." },
    { REASON_UNAVAILABLE, "Does it run, and can it be reached from here?" },
    { REASON_NOT_FOUND, "List them with: kubectl get clusters, kubectl get instances" },
};

static const char *hint_for(const struct order *o)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
        if (status_is(&o->st, hints[i].reason))
            return hints[i].text;
    return "";
}

/* ---- connections ---- */

static int open_control(struct order *o)
{
    struct kubeconfig *k = &o->here;

    status_init(&o->st, o->arena);
    if (admin_kubeconfig(o->arena, o->kubeconfig, NULL, k, &o->st) < 0)
        return -1;
    if (o->instance) {
        k->prefix = STR_NONE; /* instances are named from the top */
        o->in = str_is(str_of(o->instance), "root") ? STR_NONE : str_of(o->instance);
    }
    o->control = client_open(NULL, k, &o->st);
    return o->control ? 0 : -1;
}

static int open_member(struct order *o)
{
    if (kubeconfig_load(o->arena, o->cluster_kubeconfig, str_of(o->cluster_context), &o->cluster,
                        &o->st) < 0)
        return status_wrap(&o->st, "--cluster-kubeconfig");
    o->member = client_open(NULL, &o->cluster, &o->st);
    return o->member ? 0 : -1;
}

static void close_all(struct order *o)
{
    client_free(o->member);
    client_free(o->control);
}

static struct client_ref cluster_ref(const struct order *o)
{
    return (struct client_ref){ .instance = o->in,
                                .group = STR("cluster.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("clusters"),
                                .name = str_of(o->name) };
}

/* ---- join ---- */

static const struct json *list_of(struct arena *a, const char *text)
{
    struct json_array r = json_array_new(a);

    for (str rest = str_of(text), part; text && str_split(&rest, ',', &part);)
        if (part.n)
            json_push(&r, json_of_str(part));
    return json_array_done(&r);
}

/* "a=b,c=d" */
static int read_labels(struct order *o, const struct json **out)
{
    struct json_object labels = json_object_new(o->arena);

    for (str rest = str_of(o->labels), part; o->labels && str_split(&rest, ',', &part);) {
        ptrdiff_t eq = str_find(part, '=', 0);

        if (eq <= 0 || labels.n == LABELS_MAX) {
            (void)fprintf(stderr, "kairship: --labels is KEY=VALUE,…, not %s\n", o->labels);
            return USAGE;
        }
        json_put(&labels, str_sub(part, 0, (size_t)eq),
                 json_of_str(str_from(part, (size_t)eq + 1)));
    }
    *out = json_object_done(&labels);
    return OPTIONS_OK;
}

/* What the control plane says of it; waits until that is good. */
static int wait_ready(struct order *o)
{
    const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
    int64_t end = clock_now_ms(clock_real()) + o->wait_s * 1000;
    struct client_ref ref = cluster_ref(o);
    str why = STR("nothing is known of it; do the controllers run?");

    while (clock_now_ms(clock_real()) < end) {
        const struct json *cluster;

        if (client_get(o->control, o->arena, &ref, &cluster, &o->st) < 0)
            return -1;
        json_for_each (c, json_path(cluster, "status.conditions")) {
            if (!str_is(json_get_str(c, "type"), "Ready"))
                continue;
            if (str_is(json_get_str(c, "status"), "True"))
                return 0;
            why = json_get_str(c, "message");
        }
        (void)nanosleep(&pause, NULL);
    }
    return status_set(&o->st, REASON_TIMEOUT,
                      "the cluster has joined, but was not ready within %ld s: %.*s", o->wait_s,
                      STR_ARG(why));
}

static struct join join_of(const struct order *o, const struct json *labels)
{
    return (struct join){ .control = o->control,
                          .instance = o->in,
                          .name = str_of(o->name),
                          .provider = str_of(o->provider),
                          .region = str_of(o->region),
                          .zones = list_of(o->arena, o->zones),
                          .labels = labels };
}

static int join(struct order *o, const struct json *labels)
{
    struct join j = join_of(o, labels);

    j.member = o->member;
    j.server = o->cluster.server;
    j.ca_pem = o->cluster.ca_pem;
    if (join_member(&j, o->arena, NULL, &o->st) < 0)
        return -1;
    return o->wait_s > 0 ? wait_ready(o) : 0;
}

/* ---- join --pull ---- */

static str logical_of(const struct order *o)
{
    const str clusters = STR("/clusters/");

    if (o->in.n)
        return o->in;
    return str_starts(o->here.prefix, clusters) ? str_from(o->here.prefix, clusters.n)
                                                : STR("root");
}

/* Where the syncer finds the instance. */
static int address_of(struct order *o, struct join_pull *p)
{
    const struct kubeconfig *k = &o->here;
    str base = str_of(o->syncer_server);
    uint64_t port = 443;

    if (!base.n && admin_kubeconfig_elsewhere(o->arena, o->control, k, o->in, &base, &o->st) < 0)
        return -1;
    p->server_name = base.n ? STR_NONE : k->server_name;
    if (!base.n) {
        (void)str_to_u64(k->port, &port);
        base = str_printf(o->arena, "https://%.*s",
                          STR_ARG(address_print(o->arena, k->host, (unsigned)port)));
        if (address_is_loopback(k->host))
            (void)fprintf(stderr,
                          "kairship: the syncer will connect to %.*s, which in the cluster is the "
                          "cluster's own machine; --syncer-server URL names another address\n",
                          STR_ARG(base));
    }
    while (str_ends(base, STR("/")))
        base = str_sub(base, 0, base.n - 1);
    p->server = str_is(p->logical, "root") ? base
                                           : str_printf(o->arena, "%.*s/clusters/%.*s",
                                                        STR_ARG(base), STR_ARG(p->logical));
    p->ca_pem = k->ca_pem;
    return 0;
}

static int join_by_pull(struct order *o, const struct json *labels)
{
    struct join_pull p = { .join = join_of(o, labels),
                           .logical = logical_of(o),
                           .image = str_of(o->syncer_image),
                           .beat_s = BEAT_S };
    secret manifest;

    if (address_of(o, &p) < 0 || join_pull(&p, o->arena, &manifest, &o->st) < 0)
        return -1;
    (void)fwrite(secret_reveal(manifest).p, 1, secret_reveal(manifest).n, stdout);
    return fflush(stdout) == 0 ? 0 : status_set(&o->st, REASON_INTERNAL, "cannot write");
}

/* Which options go together. */
static int check_way(const struct order *o, const struct command_help *help)
{
    const char *why = NULL;

    if (!o->pull && !o->cluster_kubeconfig)
        why = "--cluster-kubeconfig is missing";
    else if (o->pull && (o->cluster_kubeconfig || o->cluster_context || o->wait_s))
        why = "--pull goes without a kubeconfig of the cluster, and without --wait";
    else if (o->pull && !(o->syncer_image && *o->syncer_image))
        why = "--pull needs --syncer-image";
    else if (o->syncer_server && !str_starts(str_of(o->syncer_server), STR("https://")))
        why = "--syncer-server is a URL such as https://kairship.example.com:6443";
    if (!why)
        return OPTIONS_OK;
    (void)fprintf(stderr, "kairship: %s\nUsage: %s\n", why, help->usage);
    return USAGE;
}

#define CONTROL_ROWS                                                                \
    { "--instance", OPTION_STRING, &o.instance, "NAME", ADMIN_INSTANCE_HELP },      \
    {                                                                               \
        "--kubeconfig", OPTION_STRING, &o.kubeconfig, "FILE", ADMIN_KUBECONFIG_HELP \
    }

#define CLUSTER_CONTEXT_HELP \
    "Use this context of the cluster's kubeconfig. Without this option: its current context."

#define LEN(rows) (sizeof(rows) / sizeof(*(rows)))

static int parse(struct order *o, const struct command_help *help, const struct option_row *rows,
                 size_t n, int argc, char **argv)
{
    size_t words = 0;
    int rc = options_parse(help, rows, n, argc, argv, &o->name, 1, &words);

    if (rc != OPTIONS_OK)
        return rc;
    if (words != 1) {
        (void)fprintf(stderr, "kairship: which cluster?\nUsage: %s\n", help->usage);
        return USAGE;
    }
    return OPTIONS_OK;
}

static int run_join(struct order *o, const struct json *labels)
{
    if (open_control(o) < 0)
        return -1;
    if (o->pull)
        return join_by_pull(o, labels);
    return open_member(o) < 0 ? -1 : join(o, labels);
}

int cmd_join(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship join NAME --cluster-kubeconfig FILE | --pull [options]",
        "Make a cluster a member of an instance. This creates service accounts with tokens for "
        "the control plane in the cluster, and a Cluster with its Secrets in the instance. With "
        "--pull the cluster need not be reached: it prints a manifest for the cluster, whose "
        "syncer connects to the server. If it fails halfway it can be run again.",
        "  kairship join m1 --cluster-kubeconfig ~/.kube/m1 --instance demo\n"
        "  kairship join m2 --cluster-kubeconfig all.kubeconfig --cluster-context m2 \\\n"
        "      --provider aws --region eu-1 --zones a,b --labels env=prod --wait 30\n"
        "  kairship join m3 --pull --syncer-image registry.example.com/kairship:1 \\\n"
        "      --instance demo | kubectl --context m3 apply -f -\n"
    };
    scoped_arena a = arena_new();
    struct order o = { .arena = a };
    const struct option_row rows[] = {
        { "--cluster-kubeconfig", OPTION_STRING, &o.cluster_kubeconfig, "FILE",
          "Connect to the cluster with this kubeconfig of an admin." },
        { "--cluster-context", OPTION_STRING, &o.cluster_context, "NAME", CLUSTER_CONTEXT_HELP },
        CONTROL_ROWS,
        { "--wait", OPTION_NUMBER, &o.wait_s, "SECONDS",
          "Wait up to this time until the Cluster is Ready. Without this option: do not wait." },
        OPTIONS_GROUP("Pull mode"),
        { "--pull", OPTION_FLAG, &o.pull, NULL,
          "Print a manifest for an administrator of the cluster to apply there. Its syncer has "
          "all rights in the cluster, and in the instance those that it needs. It holds a "
          "credential, which is good as long as the Cluster is there." },
        { "--syncer-image", OPTION_STRING, &o.syncer_image, "IMAGE",
          "The cluster runs this image of Kairship (docs/image.md)." },
        { "--syncer-server", OPTION_STRING, &o.syncer_server, "URL",
          "The syncer connects to the server at this URL. Without this option: at that of the "
          "kubeconfig, or, if that is of this machine only, at the address that the server "
          "advertises." },
        OPTIONS_GROUP("Fields of the Cluster"),
        { "--provider", OPTION_STRING, &o.provider, "NAME", "Set spec.provider." },
        { "--region", OPTION_STRING, &o.region, "NAME", "Set spec.region." },
        { "--zones", OPTION_STRING, &o.zones, "NAMES", "Set spec.zones, separated by commas." },
        { "--labels", OPTION_STRING, &o.labels, "K=V,...", "Set labels, separated by commas." },
    };
    const struct json *labels;
    int rc = parse(&o, &help, rows, LEN(rows), argc, argv);

    if (rc == OPTIONS_OK)
        rc = check_way(&o, &help);
    if (rc == OPTIONS_OK)
        rc = read_labels(&o, &labels);
    if (rc != OPTIONS_OK)
        return rc;
    rc = run_join(&o, labels) < 0 ? complain(&o, hint_for(&o)) : 0;
    if (rc == 0 && !o.pull)
        printf("cluster(%s) is joined successfully\n", o.name);
    close_all(&o);
    return rc;
}

/* ---- unjoin ---- */

static int unjoin(struct order *o)
{
    str name = str_of(o->name);
    struct join j = { .control = o->control, .instance = o->in, .name = name, .member = o->member };

    if (join_leave(o->control, o->arena, o->in, name, &o->st) < 0 ||
        join_gone(o->control, o->in, name, o->wait_s * 1000, &o->st) < 0)
        return -1;
    return o->member ? join_clean(&j, false, o->arena, &o->st) : 0;
}

int cmd_unjoin(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship unjoin NAME [options]",
        "Take a cluster out of an instance. First everything that the instance has put into the "
        "cluster is deleted, then the accounts that kairship join created there; with "
        "--cluster-kubeconfig also accounts that another tool created for the instance.",
        "  kairship unjoin m1 --instance demo --cluster-kubeconfig ~/.kube/m1\n"
        "  kairship unjoin m2 --wait 300\n"
    };
    scoped_arena a = arena_new();
    struct order o = { .arena = a, .wait_s = WAIT_S };
    const struct option_row rows[] = {
        { "--cluster-kubeconfig", OPTION_STRING, &o.cluster_kubeconfig, "FILE",
          "Connect to the cluster with this kubeconfig of an admin." },
        { "--cluster-context", OPTION_STRING, &o.cluster_context, "NAME", CLUSTER_CONTEXT_HELP },
        CONTROL_ROWS,
        { "--wait", OPTION_NUMBER, &o.wait_s, "SECONDS",
          "Wait up to this time until the Cluster is gone." },
    };
    int rc = parse(&o, &help, rows, LEN(rows), argc, argv);

    if (rc != OPTIONS_OK)
        return rc;
    rc = 0;
    if (open_control(&o) < 0 || (o.cluster_kubeconfig && open_member(&o) < 0) || unjoin(&o) < 0)
        rc = complain(&o, status_is(&o.st, REASON_TIMEOUT)
                              ? "It goes on by itself; --wait waits longer."
                              : hint_for(&o));
    else
        printf("cluster(%s) is unjoined successfully\n", o.name);
    close_all(&o);
    return rc;
}

/* ---- cordon ---- */

static int set_cordon(struct order *o, bool on)
{
    struct client_ref ref = cluster_ref(o);
    struct json_array taints = json_array_new(o->arena);
    struct json_object mark = json_object_new(o->arena);
    const struct json *cluster;

    if (client_get(o->control, o->arena, &ref, &cluster, &o->st) < 0)
        return -1;
    json_for_each (t, json_path(cluster, "spec.taints"))
        if (!str_is(json_get_str(t, "key"), UNSCHEDULABLE))
            json_push(&taints, *t);
    json_add(&mark, STR("key"), json_of_str(STR(UNSCHEDULABLE)));
    json_add(&mark, STR("effect"), json_of_str(STR("NoSchedule")));
    if (on)
        json_push(&taints, json_object_value(&mark));
    return client_update(o->control, o->arena, &ref,
                         json_set(o->arena, cluster, "spec.taints", json_array_done(&taints)), NULL,
                         &o->st);
}

static int cordon(const struct command_help *help, bool on, int argc, char **argv)
{
    scoped_arena a = arena_new();
    struct order o = { .arena = a };
    const struct option_row rows[] = { CONTROL_ROWS };
    int rc = parse(&o, help, rows, LEN(rows), argc, argv);

    if (rc != OPTIONS_OK)
        return rc;
    rc = 0;
    if (open_control(&o) < 0 || set_cordon(&o, on) < 0)
        rc = complain(&o, hint_for(&o));
    else
        printf("%s cluster %s\n", o.name, on ? "cordoned" : "uncordoned");
    close_all(&o);
    return rc;
}

int cmd_cordon(int argc, char **argv)
{
    static const struct command_help help = { "kairship cordon NAME [options]",
                                              "Mark a cluster unschedulable: the scheduler "
                                              "assigns no further workloads to it, and those "
                                              "that it has stay.",
                                              "  kairship cordon m1 --instance demo\n" };

    return cordon(&help, true, argc, argv);
}

int cmd_uncordon(int argc, char **argv)
{
    static const struct command_help help = { "kairship uncordon NAME [options]",
                                              "Mark a cluster schedulable again.",
                                              "  kairship uncordon m1 --instance demo\n" };

    return cordon(&help, false, argc, argv);
}
