/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship explain KIND/NAME`: why each cluster got what it got.
 *
 * Asks the scheduler's own function again, with what is stored now: so it is never out of date, and
 * where the answer is not what was decided, that is said, too.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/banned.h"
#include "client/client.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "federation/controllers/propagation/splitter.h"
#include "federation/interp/interp.h"
#include "federation/sched/sched.h"
#include "object/meta/condition.h"
#include "object/meta/karmada.h"

enum { WHY_MIN = 30 }; /* columns that the reason has at least */

struct inquiry {
    const char *what, *namespace, *instance, *kubeconfig, *output;
    struct arena *arena;
    struct client *client;
    struct client_ref ref; /* of the binding */
    const struct json *binding;
    const struct sched_cluster **clusters;
    size_t nclusters;
    struct sched_request request;
    struct sched_decision now, anew; /* with the result that is there, and without */
};

static int complain(const struct status *st)
{
    (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st->message));
    return 1;
}

/* ---- which binding ---- */

/* "deploy", "deployments", "Deployment.apps" -> "deployment" */
static str kind_word(struct arena *a, str word)
{
    static const char *const shorts[][2] = {
        { "deploy", "deployment" },
        { "rb", "resourcebinding" },
        { "crb", "clusterresourcebinding" },
        { "sts", "statefulset" },
        { "ds", "daemonset" },
        { "cm", "configmap" },
        { "svc", "service" },
        { "cj", "cronjob" },
        { "po", "pod" },
        { "ns", "namespace" },
        { "sa", "serviceaccount" },
        { "pvc", "persistentvolumeclaim" },
        { "ing", "ingress" },
        { "hpa", "horizontalpodautoscaler" },
        { "crd", "customresourcedefinition" },
    };
    ptrdiff_t dot = str_find(word, '.', 0);
    str kind = str_lower(a, dot < 0 ? word : str_sub(word, 0, (size_t)dot));

    for (size_t i = 0; i < sizeof(shorts) / sizeof(*shorts); i++)
        if (str_is(kind, shorts[i][0]))
            return str_of(shorts[i][1]);
    if (str_ends(kind, STR("ies")))
        return str_printf(a, "%.*sy", (int)kind.n - 3, kind.p);
    if (str_ends(kind, STR("sses")))
        return str_sub(kind, 0, kind.n - 2);
    if (str_ends(kind, STR("s")) && !str_ends(kind, STR("ss")))
        return str_sub(kind, 0, kind.n - 1);
    return kind;
}

static bool serves(const struct inquiry *q, const char *path)
{
    str in = q->ref.instance;
    struct client_request req = {
        .method = STR("GET"),
        .path = str_printf(q->arena, "%s%.*s%s", in.n ? "/clusters/" : "", STR_ARG(in), path),
    };
    struct status st;

    status_init(&st, q->arena);
    return client_do(q->client, q->arena, &req, NULL, &st) == 0 ||
           !status_is(&st, REASON_NOT_FOUND);
}

static int not_bound(const struct inquiry *q, struct status *st)
{
    str rest = str_of(q->what), type;

    if (serves(q, "/apis/work.karmada.io/v1alpha2"))
        return status_set(
            st, REASON_NOT_FOUND,
            "there is no binding %.*s, neither in namespace %s nor cluster-wide.\nIs there "
            "a policy that selects it?  See: kubectl get propagationpolicies,"
            "clusterpropagationpolicies -A",
            STR_ARG(q->ref.name), q->namespace);
    if (!serves(q, "/api"))
        return status_set(st, REASON_NOT_FOUND,
                          "there is no instance %.*s.\nList them with: kubectl get instances",
                          STR_ARG(q->ref.instance));
    /* In one of profile minimal the splitter decides, in labelled shards. */
    (void)str_split(&rest, '/', &type);
    return status_set(
        st, REASON_NOT_FOUND,
        "there are no policies in this instance, whose profile is minimal: replicas are divided "
        "over the clusters that are ready and have the type.\nWho has how many?  See: kubectl get "
        "%.*s -n %s -l " SPLITTER_OWNED "=%.*s -L " SPLITTER_CLUSTER,
        STR_ARG(type), q->namespace, STR_ARG(rest));
}

static int find_binding(struct inquiry *q, struct status *st)
{
    str what = str_of(q->what), kind, name;
    ptrdiff_t slash = str_find(what, '/', 0);

    kind = kind_word(q->arena, str_sub(what, 0, (size_t)slash));
    name = str_from(what, (size_t)slash + 1);
    if (!str_is(kind, "resourcebinding") && !str_is(kind, "clusterresourcebinding"))
        name = karmada_binding_name(q->arena, name, kind);
    q->ref =
        (struct client_ref){ .instance = str_is(str_of(q->instance), "root") ? STR_NONE
                                                                             : str_of(q->instance),
                             .group = STR("work.karmada.io"),
                             .version = STR("v1alpha2"),
                             .resource = STR("resourcebindings"),
                             .namespace = str_of(q->namespace),
                             .name = name };
    if (client_get(q->client, q->arena, &q->ref, &q->binding, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    q->ref.namespace = STR_NONE;
    q->ref.resource = STR("clusterresourcebindings");
    if (client_get(q->client, q->arena, &q->ref, &q->binding, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    return not_bound(q, st);
}

/* ---- asking again ---- */

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(const struct sched_cluster *const *)a)->name,
                   (*(const struct sched_cluster *const *)b)->name);
}

static int ask(struct inquiry *q, struct status *st)
{
    struct client_ref ref = { .instance = q->ref.instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };
    struct sched_request anew;
    const struct json *list, *items;

    if (client_list(q->client, q->arena, &ref, NULL, &list, st) < 0)
        return -1;
    items = json_get(list, STR("items"));
    q->clusters = arena_array(q->arena, const struct sched_cluster *, json_len(items));
    json_for_each (item, items)
        q->clusters[q->nclusters++] = sched_cluster_parse(q->arena, item);
    if (q->nclusters)
        qsort(q->clusters, q->nclusters, sizeof(*q->clusters), by_name);
    sched_request_of_binding(q->binding, &q->request);
    sched_decide(q->arena, &q->request, q->clusters, q->nclusters, &q->now);
    anew = q->request;
    anew.fresh = true;
    sched_decide(q->arena, &anew, q->clusters, q->nclusters, &q->anew);
    return 0;
}

static const struct json *target_of(const struct json *targets, str name)
{
    json_for_each (target, targets)
        if (str_eq(json_get_str(target, "name"), name))
            return target;
    return NULL;
}

static bool same_targets(const struct json *a, const struct json *b)
{
    if (json_len(a) != json_len(b))
        return false;
    json_for_each (t, a) {
        const struct json *other = target_of(b, json_get_str(t, "name"));

        if (!other || json_int(json_get(t, STR("replicas")), 0) !=
                          json_int(json_get(other, STR("replicas")), 0))
            return false;
    }
    return true;
}

/* ---- what goes along with others, by their propagateDeps ---- */

static const struct json *needed_by(const struct inquiry *q)
{
    return json_path(q->binding, "spec.requiredBy");
}

/* No policy selects it, so the scheduler is not asked. */
static bool only_goes_along(const struct inquiry *q)
{
    return json_len(needed_by(q)) && !json_path(q->binding, "spec.placement");
}

static str names_of(const struct inquiry *q, const struct json *targets)
{
    str names = STR_NONE;

    json_for_each (t, targets)
        names = str_printf(q->arena, "%.*s%s%.*s", STR_ARG(names), names.n ? ", " : "",
                           STR_ARG(json_get_str(t, "name")));
    return names;
}

static void note_needs(const struct inquiry *q, struct json_array *notes)
{
    json_for_each (by, needed_by(q)) {
        str names = names_of(q, json_get(by, STR("clusters")));

        json_push(
            notes,
            json_of_str(str_printf(
                q->arena, "The binding %.*s needs it (propagateDeps): it goes to %.*s.",
                STR_ARG(json_get_str(by, "name")), STR_ARG(names.n ? names : STR("no cluster")))));
    }
}

/* ---- notes: what is not as the table says ---- */

static const struct json *condition(const struct inquiry *q, const char *type)
{
    return condition_find(json_path(q->binding, "status.conditions"), type);
}

/* What a cluster was given and has not. */
static void note_failures(const struct inquiry *q, struct json_array *notes)
{
    json_for_each (item, json_path(q->binding, "status.aggregatedStatus")) {
        str message = json_get_str(item, "appliedMessage");

        if (message.n && !json_bool(json_get(item, STR("applied"))))
            json_push(notes, json_of_str(str_printf(q->arena, "%.*s has not got it: %.*s.",
                                                    STR_ARG(json_get_str(item, "clusterName")),
                                                    STR_ARG(message))));
    }
}

/* Of the scheduler: what it said last, and what it would say now. */
static void note_decision(const struct inquiry *q, struct json_array *notes)
{
    const struct json *now = sched_targets(q->arena, &q->now);
    const struct json *anew = sched_targets(q->arena, &q->anew);

    if (!condition(q, "Scheduled"))
        json_push(notes, json_of_str(STR("The scheduler has not looked at it yet.")));
    if (q->now.outcome == SCHED_DONE && !same_targets(now, q->request.previous))
        json_push(notes, json_of_str(STR("This is what it would be if it were decided now; it is "
                                         "not what is there (HAS).")));
    else if (q->now.outcome == SCHED_DONE && q->anew.outcome == SCHED_DONE &&
             !same_targets(now, anew))
        json_push(notes, json_of_str(str_printf(
                             q->arena,
                             "Divided anew (a WorkloadRebalancer asks for that) it would "
                             "be: %.*s.",
                             STR_ARG(sched_result(q->arena, &q->anew)))));
}

static const struct json *notes_of(const struct inquiry *q)
{
    struct json_array notes = json_array_new(q->arena);
    const struct json *scheduled = condition(q, "Scheduled");
    const struct json *unknown = condition(q, INTERP_STATUS_UNKNOWN);

    if (json_bool(json_path(q->binding, "spec.suspension.scheduling")))
        json_push(&notes,
                  json_of_str(STR("Scheduling is suspended (spec.suspension.scheduling).")));
    if (str_is(json_get_str(scheduled, "status"), "False"))
        json_push(&notes,
                  json_of_str(str_printf(q->arena, "The scheduler's last word is %.*s: %.*s",
                                         STR_ARG(json_get_str(scheduled, "reason")),
                                         STR_ARG(json_get_str(scheduled, "message")))));
    if (unknown)
        json_push(&notes, json_of_str(str_printf(q->arena, "%.*s.",
                                                 STR_ARG(json_get_str(unknown, "message")))));
    note_failures(q, &notes);
    note_needs(q, &notes);
    if (!only_goes_along(q))
        note_decision(q, &notes);
    return json_array_done(&notes);
}

/* ---- output ---- */

/*
 * Room changes, not least by what was placed: of a division that stands, the scheduler wrote down
 * what it was made by (federation/controllers/propagation/scheduler.c).
 */
static str why(const struct inquiry *q, const struct sched_row *row)
{
    str now = sched_why(q->arena, &q->request, &q->now, row);
    str text = karmada_annotation(q->binding, SCHED_WHY_ANNOTATION), then;
    const struct json *stored;
    struct status st;

    status_init(&st, q->arena);
    if (!q->now.kept || row->verdict != SCHED_CHOSEN || text.n == 0 ||
        json_parse(q->arena, text, NULL, &stored, &st) < 0)
        return now;
    then = json_str(json_get(stored, row->cluster->name));
    if (then.n == 0)
        return now;
    return str_printf(q->arena, "%.*s at that time; room for %lld more now", STR_ARG(then),
                      (long long)row->room);
}

static size_t terminal_width(void)
{
    struct winsize w;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0)
        return 0;
    return w.ws_col;
}

/* In a column from `left` on: words go to the next line where they do not fit. */
static void print_wrapped(str text, size_t left, size_t width)
{
    size_t at = left;
    bool first = true;

    for (str rest = text, word; str_split(&rest, ' ', &word); first = false) {
        if (!first && width && at + 1 + word.n > width) {
            (void)printf("\n%*s", (int)left, "");
            at = left;
        } else if (!first) {
            (void)putchar(' ');
            at++;
        }
        (void)printf("%.*s", STR_ARG(word));
        at += word.n;
    }
    (void)putchar('\n');
}

static str count_text(const struct inquiry *q, const struct json *target)
{
    if (!target)
        return STR("-");
    if (q->now.way == SCHED_WHOLE && !json_get(target, STR("replicas")))
        return STR("yes");
    return str_printf(q->arena, "%lld", (long long)json_int(json_get(target, STR("replicas")), 0));
}

static void print_notes(const struct inquiry *q, size_t width)
{
    json_for_each (note, notes_of(q))
        print_wrapped(json_str(note), 0, width);
}

static void print_table(const struct inquiry *q)
{
    /* Without a decision everything stays. */
    const struct json *now =
        q->now.outcome == SCHED_DONE ? sched_targets(q->arena, &q->now) : q->request.previous;
    size_t width = terminal_width(), name = sizeof("CLUSTER") - 1, left;

    for (size_t i = 0; i < q->now.nrows; i++)
        if (q->now.rows[i].cluster->name.n > name)
            name = q->now.rows[i].cluster->name.n;
    left = name + 2 + 8 + 8;
    if (width && width < left + WHY_MIN)
        width = left + WHY_MIN;
    (void)printf("%-*s  %-6s  %-6s  %s\n", (int)name, "CLUSTER", "HAS", "GETS", "WHY");
    for (size_t i = 0; i < q->now.nrows; i++) {
        const struct sched_row *row = &q->now.rows[i];
        str has = count_text(q, target_of(q->request.previous, row->cluster->name));
        str will = count_text(q, target_of(now, row->cluster->name));

        (void)printf("%-*.*s  %-6.*s  %-6.*s  ", (int)name, STR_ARG(row->cluster->name),
                     STR_ARG(has), STR_ARG(will));
        print_wrapped(why(q, row), left, width);
    }
    (void)putchar('\n');
    print_notes(q, width);
    print_wrapped(sched_sentence(q->arena, &q->request, &q->now), 0, width);
}

static struct json_object decision_json(const struct inquiry *q)
{
    struct json_object o =
        json_object_from(q->arena, sched_explain(q->arena, &q->request, &q->now));
    const struct json *now = sched_targets(q->arena, &q->now);
    const struct json *has = q->request.previous ? q->request.previous : &json_empty_array;

    json_add(&o, STR("current"), *has);
    json_add(&o, STR("differs"), json_of_bool(!same_targets(now, has)));
    json_add(&o, STR("anew"), *sched_targets(q->arena, &q->anew));
    return o;
}

static void print_json(const struct inquiry *q)
{
    struct json_object o = only_goes_along(q) ? json_object_new(q->arena) : decision_json(q);
    scoped_buf b;

    json_add(&o, STR("binding"), json_of_str(q->ref.name));
    if (json_len(needed_by(q)))
        json_add(&o, STR("requiredBy"), *needed_by(q));
    json_add(&o, STR("notes"), *notes_of(q));
    buf_init(&b, 16 << 20);
    json_print_pretty(&b, json_object_done(&o));
    (void)printf("%.*s\n", STR_ARG(buf_str(&b)));
}

/* ---- the command ---- */

/* An instance that is not named is the one of the kubeconfig. */
static int open_client(struct inquiry *q, struct status *st)
{
    struct kubeconfig k;

    if (admin_kubeconfig(q->arena, q->kubeconfig, NULL, &k, st) < 0)
        return -1;
    if (q->instance)
        k.prefix = STR_NONE;
    if (!q->namespace)
        q->namespace = k.namespace.n ? str_z(q->arena, k.namespace) : "default";
    q->client = client_open(NULL, &k, st);
    return q->client ? 0 : -1;
}

static int run(struct inquiry *q)
{
    struct status st;
    int rc;

    status_init(&st, q->arena);
    if (open_client(q, &st) < 0)
        return complain(&st);
    rc = find_binding(q, &st);
    if (rc == 0)
        rc = ask(q, &st);
    client_free(q->client);
    if (rc < 0)
        return complain(&st);
    if (q->output)
        print_json(q);
    else if (only_goes_along(q))
        print_notes(q, terminal_width());
    else
        print_table(q);
    return 0;
}

int cmd_explain(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship explain KIND/NAME [options]",
        "Explain for each cluster of an instance why the scheduler assigned it to a workload, with "
        "how many replicas, or why not.",
        "  kairship explain deployment/nginx --instance demo\n"
        "  kairship explain cm/settings -n shop --instance demo -o json\n"
        "  kairship explain resourcebinding/nginx-deployment --kubeconfig demo.kubeconfig\n"
    };
    scoped_arena a = arena_new();
    struct inquiry q = { .arena = a };
    const struct option_row rows[] = {
        { "-n", OPTION_STRING, &q.namespace, "NAMESPACE",
          "The namespace of the workload. Without this option: that of the kubeconfig." },
        { "-o", OPTION_STRING, &q.output, "json", "Print the whole explanation as JSON." },
        { "--instance", OPTION_STRING, &q.instance, "NAME", ADMIN_INSTANCE_HELP },
        { "--kubeconfig", OPTION_STRING, &q.kubeconfig, "FILE", ADMIN_KUBECONFIG_HELP },
    };
    size_t n = 0;
    int rc = options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, &q.what, 1, &n);

    if (rc != OPTIONS_OK)
        return rc;
    if (n != 1 || str_find(str_of(q.what), '/', 0) <= 0 || str_ends(str_of(q.what), STR("/"))) {
        (void)fprintf(stderr,
                      "kairship: what is to be explained?  Like deployment/nginx\n"
                      "Usage: %s\n",
                      help.usage);
        return USAGE;
    }
    if (q.output && !str_is(str_of(q.output), "json")) {
        (void)fprintf(stderr, "kairship: -o knows json only, not %s\n", q.output);
        return USAGE;
    }
    return run(&q);
}
