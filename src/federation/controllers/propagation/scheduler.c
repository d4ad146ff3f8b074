/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decides for bindings: sched/ says where, this file says when, and writes it down.
 *
 * Keys are those of ResourceBindings (with a namespace) and ClusterResourceBindings (without), and
 * an instance's alone when one of its clusters changed: then all its bindings are looked at, once,
 * however many clusters did.  Karmada: pkg/scheduler/scheduler.go.
 *
 * The decision is written in two steps: spec.clusters with the placement it was made for, then
 * status.  Killed in between, the missing condition makes it come again.
 */

#include "federation/controllers/propagation/scheduler.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/metric.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/propagation/scheduler_fleet.h"
#include "federation/controllers/propagation/scheduler_misfit.h"
#include "federation/controllers/propagation/scheduler_promises.h"
#include "object/meta/karmada.h"

#define DEFAULT_SCHEDULER "default-scheduler"
#define MANAGED_BY        "binding.karmada.io/managed-by"
#define DONE_TEXT         "Binding has been scheduled successfully."

enum {
    PAGE = 500,
    NO_ROOM_MS = 15000, /* room changes without telling: look again */
    ERROR_MS = 10000,
    RESULT_MAX = 900, /* bytes of a result in an event */
    TRIES_MAX = 20,   /* of a decision, while others are given the same room */
    START_MS = 60000, /* so long replicas may take to run where they were placed */
};

METRIC(kept_total, METRIC_COUNTER, "kairship_scheduling_kept_total",
       "Failed decisions that left an object where it was.")

struct scheduler {
    struct recorder *recorder;
    struct clock *clock;
    struct scheduler_fleets *fleets;
    struct scheduler_promises *promises;
    struct controller *controller;
    atomic_ullong decided, written;
};

struct scheduler *scheduler_new(struct recorder *recorder, struct clock *clock)
{
    struct scheduler *s = mem_zalloc(sizeof(*s));

    s->recorder = recorder;
    s->clock = clock ? clock : clock_real();
    s->fleets = scheduler_fleets_new();
    s->promises = scheduler_promises_new();
    atomic_init(&s->decided, 0);
    atomic_init(&s->written, 0);
    return s;
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    scheduler_fleets_free(s->fleets);
    scheduler_promises_free(s->promises);
    free(s);
}

void scheduler_counts(struct scheduler *s, uint64_t *decided, uint64_t *written)
{
    *decided = atomic_load(&s->decided);
    *written = atomic_load(&s->written);
}

/* One look at one binding. */
struct look {
    struct scheduler *s;
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    struct client_ref ref;
    const struct json *binding, *spec, *status;
    struct sched_request request;
    struct scheduler_snapshot clusters;
    struct sched_decision decision;
};

static struct client_ref ref_of(const struct informer_key *k, const char *resource)
{
    return (struct client_ref){ .instance = str_is(k->instance, "root") ? STR_NONE : k->instance,
                                .group = STR("work.karmada.io"),
                                .version = STR("v1alpha2"),
                                .resource = str_of(resource),
                                .namespace = k->namespace,
                                .name = k->name };
}

/* ---- whether to run ---- */

static bool has_policy(const struct look *l)
{
    return karmada_label(l->binding, KARMADA_PP_ID).n ||
           karmada_label(l->binding, KARMADA_CPP_ID).n || karmada_label(l->binding, MANAGED_BY).n;
}

/* Those that are for the default scheduler, and that nobody holds back. */
static bool is_ours(const struct look *l)
{
    str scheduler = json_get_str(l->spec, "schedulerName");

    if (is_deleting(l->binding) || json_bool(json_path(l->spec, "suspension.scheduling")))
        return false;
    return !scheduler.n || str_is(scheduler, DEFAULT_SCHEDULER);
}

static bool placement_changed(const struct look *l)
{
    str text = karmada_annotation(l->binding, KARMADA_APPLIED_PLACEMENT);
    const struct json *applied;
    struct status st;

    status_init(&st, l->arena);
    if (text.n == 0 || json_parse(l->arena, text, NULL, &applied, &st) < 0)
        return true;
    return sched_placement_changed(l->request.placement, applied, l->request.affinity);
}

static bool is_duplicated(const struct look *l)
{
    const struct json *how = json_get(l->request.placement, STR("replicaScheduling"));

    return !json_is(how, JSON_OBJECT) ||
           str_is(json_get_str(how, "replicaSchedulingType"), "Duplicated");
}

static bool replicas_changed(const struct look *l)
{
    int64_t sum = 0;

    json_for_each (target, l->request.previous) {
        int64_t n = json_int(json_get(target, STR("replicas")), 0);

        if (is_duplicated(l) && n != l->request.replicas)
            return true;
        sum += n;
    }
    return !is_duplicated(l) && sum != l->request.replicas;
}

/*
 * Times have whole seconds, so a wish of the second in which it was last scheduled counts; writing
 * a time after the wish (see scheduled_time) ends it.
 */
static bool reschedule_due(const struct look *l, int64_t *wished)
{
    int64_t last;

    if (!time_parse_seconds(json_get_str(l->spec, "rescheduleTriggeredAt"), wished))
        return false;
    return time_parse_seconds(json_get_str(l->status, "lastScheduledTime"), &last) &&
           *wished >= last;
}

static bool is_lost(const struct look *l, const struct json *target)
{
    const struct sched_cluster *c =
        scheduler_snapshot_find(&l->clusters, json_get_str(target, "name"));

    return !c || c->deleting;
}

static bool lost_a_cluster(const struct look *l)
{
    json_for_each (target, l->request.previous)
        if (is_lost(l, target))
            return true;
    return false;
}

static const struct json *condition_of(const struct look *l)
{
    json_for_each (condition, json_get(l->status, STR("conditions")))
        if (str_is(json_get_str(condition, "type"), "Scheduled"))
            return condition;
    return NULL;
}

static bool must_run(struct look *l)
{
    int64_t wished;

    l->request.fresh = reschedule_due(l, &wished);
    return l->request.fresh || !sched_is_workload(&l->request) || is_duplicated(l) ||
           placement_changed(l) || replicas_changed(l) || lost_a_cluster(l) ||
           !str_is(json_get_str(condition_of(l), "status"), "True");
}

/* ---- events ---- */

static struct recorder_object template_of(const struct look *l)
{
    const struct json *r = json_get(l->spec, STR("resource"));

    return (struct recorder_object){ .instance = l->ref.instance,
                                     .api_version = json_get_str(r, "apiVersion"),
                                     .kind = json_get_str(r, "kind"),
                                     .namespace = json_get_str(r, "namespace"),
                                     .name = json_get_str(r, "name"),
                                     .uid = json_get_str(r, "uid") };
}

/* "{m1:2, m2:1}" */
static str result_text(const struct look *l)
{
    scoped_buf b;
    bool first = true;

    buf_init(&b, RESULT_MAX * 2);
    for (size_t i = 0; i < l->decision.nrows && b.n < RESULT_MAX; i++) {
        const struct sched_row *row = &l->decision.rows[i];

        if (row->verdict != SCHED_CHOSEN)
            continue;
        buf_printf(&b, "%s%.*s:%lld", first ? "" : ", ", STR_ARG(row->cluster->name),
                   (long long)row->replicas);
        first = false;
    }
    return str_printf(l->arena, "{%.*s}", STR_ARG(buf_str(&b)));
}

static void tell(const struct look *l)
{
    struct recorder_object on[] = { recorder_object_of(l->ref.instance, l->binding),
                                    template_of(l) };

    for (size_t i = 0; l->s->recorder && i < 2; i++)
        if (l->decision.outcome == SCHED_DONE)
            recorder_tell(l->s->recorder, &on[i], RECORDER_NORMAL, "ScheduleBindingSucceed",
                          DONE_TEXT " Result: %.*s", STR_ARG(result_text(l)));
        else
            recorder_tell(l->s->recorder, &on[i], RECORDER_WARNING, "ScheduleBindingFailed", "%.*s",
                          STR_ARG(l->decision.message));
}

/* ---- writing ---- */

static const struct json *with_version(const struct look *l, const struct json *patch)
{
    return json_set(l->arena, patch, "metadata.resourceVersion",
                    json_path(l->binding, "metadata.resourceVersion"));
}

static int by_name(const void *name, const void *target)
{
    return str_cmp(*(const str *)name, json_get_str(target, "name"));
}

/* Whether the targets, which are sorted, are those that it has. */
static bool same_targets(const struct look *l, const struct json *targets)
{
    const struct json *have = l->request.previous;

    if (json_len(have) != json_len(targets))
        return false;
    json_for_each (target, have) {
        str name = json_get_str(target, "name");
        const struct json *now =
            bsearch(&name, targets->items, targets->n, sizeof(*targets->items), by_name);

        if (!now || json_int(json_get(now, STR("replicas")), 0) !=
                        json_int(json_get(target, STR("replicas")), 0))
            return false;
    }
    return true;
}

static struct json whys(const struct look *l)
{
    const struct json *text = sched_whys(l->arena, &l->request, &l->decision);

    return text ? json_of_str(json_text(l->arena, text)) : json_null;
}

/* *changed: something was written. */
static int write_result(struct look *l, bool *changed, struct status *st)
{
    const struct json *targets = sched_targets(l->arena, &l->decision), *patch, *notes;
    const struct json *placement = l->request.placement ? l->request.placement : &json_empty_object;
    struct json_object o = json_object_new(l->arena);
    str text = json_text(l->arena, placement);
    bool same = same_targets(l, targets);

    if (same && str_eq(karmada_annotation(l->binding, KARMADA_APPLIED_PLACEMENT), text))
        return 0;
    json_add(&o, STR(KARMADA_APPLIED_PLACEMENT), json_of_str(text));
    if (!same)
        json_add(&o, STR(SCHED_WHY_ANNOTATION), whys(l));
    notes = json_object_done(&o);
    patch = json_set(l->arena, &json_empty_object, "metadata.annotations", notes);
    if (!same)
        patch =
            json_set(l->arena, patch, "spec.clusters", json_len(targets) ? targets : &json_null);
    *changed = true;
    return client_patch(l->client, l->arena, &l->ref, CLIENT_PATCH_MERGE, with_version(l, patch),
                        &l->binding, st);
}

static const struct json *condition(const struct look *l, const struct json *was)
{
    static const struct {
        const char *status, *reason;
    } rows[] = {
        [SCHED_DONE] = { "True", "Success" },
        [SCHED_NO_FIT] = { "False", "NoClusterFit" },
        [SCHED_UNSCHEDULABLE] = { "False", "Unschedulable" },
        [SCHED_ERROR] = { "False", "SchedulerError" },
    };
    enum sched_outcome is = l->decision.outcome;
    str message = is == SCHED_DONE ? STR(DONE_TEXT) : l->decision.message;
    struct json_object c = json_object_new(l->arena);
    const struct json *since = json_get(was, STR("lastTransitionTime"));
    char now[TIME_TEXT_SIZE];

    if (str_is(json_get_str(was, "status"), rows[is].status) &&
        str_is(json_get_str(was, "reason"), rows[is].reason) &&
        str_eq(json_get_str(was, "message"), message))
        return was;
    (void)time_format_seconds(now, clock_wall_s(l->s->clock));
    if (!since || !str_is(json_get_str(was, "status"), rows[is].status))
        since = json_box(l->arena, json_of_str(str_dup(l->arena, str_of(now))));
    json_add(&c, STR("type"), json_of_str(STR("Scheduled")));
    json_add(&c, STR("status"), json_of_str(str_of(rows[is].status)));
    json_add(&c, STR("reason"), json_of_str(str_of(rows[is].reason)));
    json_add(&c, STR("message"), json_of_str(message));
    json_add(&c, STR("lastTransitionTime"), *since);
    return json_object_done(&c);
}

/* The others as they are, ours in its place. */
static const struct json *conditions_with(const struct look *l, const struct json *ours)
{
    struct json_array all = json_array_new(l->arena);
    bool put = false;

    json_for_each (c, json_get(l->status, STR("conditions"))) {
        bool is = str_is(json_get_str(c, "type"), "Scheduled");

        json_push(&all, is ? *ours : *c);
        put |= is;
    }
    if (!put)
        json_push(&all, *ours);
    return json_array_done(&all);
}

/* Now, but after the wish that it fulfils. */
static const struct json *scheduled_time(const struct look *l)
{
    int64_t now = clock_wall_s(l->s->clock), wished;
    char text[TIME_TEXT_SIZE];

    if (reschedule_due(l, &wished) && now <= wished)
        now = wished + 1;
    (void)time_format_seconds(text, now);
    return json_box(l->arena, json_of_str(str_dup(l->arena, str_of(text))));
}

static const struct json *set_when_other(const struct look *l, const struct json *patch,
                                         const char *name, const struct json *value)
{
    const struct json *have = json_get(l->status, str_of(name));

    if (!value || (have && json_equal(have, value)))
        return patch;
    return json_set(l->arena, patch, arena_printf(l->arena, "status.%s", name), value);
}

/* ran: a decision was made, else the generation is only marked as seen. */
static int write_status(struct look *l, bool ran, struct status *st)
{
    const struct json *was = condition_of(l), *now = ran ? condition(l, was) : was;
    const struct json *patch = &json_empty_object;
    struct client_ref ref = l->ref;
    bool done = !ran || l->decision.outcome == SCHED_DONE;

    if (done)
        patch = set_when_other(l, patch, "schedulerObservedGeneration",
                               json_path(l->binding, "metadata.generation"));
    if (ran && done && l->decision.affinity.n)
        patch = set_when_other(l, patch, "schedulerObservingAffinityName",
                               json_box(l->arena, json_of_str(l->decision.affinity)));
    if (now != was)
        patch = json_set(l->arena, patch, "status.conditions", conditions_with(l, now));
    if (ran && done && (json_len(patch) || l->request.fresh))
        patch = json_set(l->arena, patch, "status.lastScheduledTime", scheduled_time(l));
    if (json_len(patch) == 0)
        return 0;
    ref.subresource = STR("status");
    return client_patch(l->client, l->arena, &ref, CLIENT_PATCH_MERGE, with_version(l, patch), NULL,
                        st);
}

/* ---- clusters that are gone ---- */

/*
 * What runs in a cluster goes with it, so a cluster is only gone when the store says so: what is
 * kept here of clusters may be behind.
 */
static int confirm_lost(const struct look *l, struct status *st)
{
    struct client_ref ref = { .instance = l->ref.instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };

    json_for_each (target, l->request.previous) {
        const struct json *cluster;

        ref.name = json_get_str(target, "name");
        if (!is_lost(l, target))
            continue;
        if (client_get(l->client, l->arena, &ref, &cluster, st) == 0) {
            if (!is_deleting(cluster))
                return status_set(st, REASON_CONFLICT, "cluster %.*s is there again",
                                  STR_ARG(ref.name));
        } else if (!status_is(st, REASON_NOT_FOUND)) {
            return -1;
        }
        status_reset(st);
    }
    return 0;
}

/*
 * No new decision was made, and it stays where it is; but not in a cluster that leaves, which would
 * wait for it.
 */
static int drop_lost(struct look *l, struct status *st)
{
    struct json_array kept = json_array_new(l->arena);
    const struct json *targets;

    json_for_each (target, l->request.previous)
        if (!is_lost(l, target))
            json_push(&kept, *target);
    targets = json_array_done(&kept);
    return client_patch(l->client, l->arena, &l->ref, CLIENT_PATCH_MERGE,
                        with_version(l, json_set(l->arena, &json_empty_object, "spec.clusters",
                                                 json_len(targets) ? targets : &json_null)),
                        &l->binding, st);
}

/* ---- reconcile ---- */

/* Only a decision that was made is an order; after all others it stays where it is. */
static int write_outcome(struct look *l, bool *changed, struct status *st)
{
    bool lost = lost_a_cluster(l);

    if (lost && confirm_lost(l, st) < 0)
        return -1;
    if (l->decision.outcome == SCHED_DONE)
        return write_result(l, changed, st);
    if (json_len(l->request.previous))
        metric_add(&kept_total, 1);
    return lost ? drop_lost(l, st) : 0;
}

static struct scheduler_promiser promiser_of(const struct look *l)
{
    return (struct scheduler_promiser){ l->key->instance, informer_key_text(l->arena, l->key) };
}

static void forget(const struct look *l)
{
    struct scheduler_promiser who = promiser_of(l);

    scheduler_promises_drop(l->s->promises, &who);
}

/*
 * Room that is given out to others meanwhile is not given out again; the last try counts whatever
 * others do.
 */
static void ask(struct look *l)
{
    int64_t now = clock_now_ms(l->s->clock);
    struct scheduler_promiser who = promiser_of(l);
    bool settled = false;

    for (int i = 0; i < TRIES_MAX && !settled; i++) {
        uint64_t known =
            scheduler_promises_get(l->s->promises, l->arena, who.instance, now, &l->request);

        sched_decide(l->arena, &l->request, l->clusters.clusters, l->clusters.n, &l->decision);
        settled =
            l->decision.outcome != SCHED_DONE || !sched_is_workload(&l->request) ||
            scheduler_promises_make(l->s->promises, &who, known, &l->request, &l->decision, now);
    }
}

static int decide(struct look *l, struct status *st)
{
    const struct json *was = condition_of(l);
    bool changed = false;
    static const int again[] = { [SCHED_DONE] = 0,
                                 [SCHED_NO_FIT] = 0,
                                 [SCHED_UNSCHEDULABLE] = NO_ROOM_MS,
                                 [SCHED_ERROR] = ERROR_MS };

    ask(l);
    atomic_fetch_add(&l->s->decided, 1);
    if (write_outcome(l, &changed, st) < 0) {
        forget(l);
        return -1;
    }
    if (changed || condition(l, was) != was) {
        atomic_fetch_add(&l->s->written, changed);
        tell(l);
    }
    if (write_status(l, true, st) < 0)
        return -1;
    return again[l->decision.outcome];
}

/* ---- replicas without room ---- */

/* How long ago it was scheduled; without a time, long ago. */
static int64_t age_ms(const struct look *l)
{
    int64_t at;

    if (!time_parse_seconds(json_get_str(l->status, "lastScheduledTime"), &at))
        return START_MS;
    return (clock_wall_s(l->s->clock) - at) * 1000;
}

/* What was decided must leave all that runs where it is. */
static bool keeps_running(const struct look *l)
{
    for (size_t i = 0; i < l->decision.nrows; i++) {
        const struct sched_row *row = &l->decision.rows[i];

        if (row->before > (row->verdict == SCHED_CHOSEN ? row->replicas : 0))
            return false;
    }
    return l->decision.outcome == SCHED_DONE;
}

/*
 * Replicas that found no room where they were placed, in a member that filled up meanwhile, are
 * placed elsewhere.  If there is no room for them anywhere they stay, and so does the condition.
 */
static int place_misfits(struct look *l, struct status *st)
{
    int64_t age = age_ms(l);
    const struct json *runs;
    bool changed = false;

    if (is_duplicated(l) || !scheduler_misfit_possible(l->binding))
        return 0;
    if (age < START_MS)
        return (int)(START_MS - (age > 0 ? age : 0));
    sched_decide(l->arena, &l->request, l->clusters.clusters, l->clusters.n, &l->decision);
    runs = scheduler_misfit_previous(l->arena, l->binding, &l->decision);
    if (!runs)
        return START_MS;
    l->request.previous = runs;
    ask(l);
    if (!keeps_running(l)) {
        forget(l);
        return START_MS;
    }
    if (write_result(l, &changed, st) < 0) {
        forget(l);
        return -1;
    }
    tell(l);
    return write_status(l, true, st) < 0 ? -1 : START_MS;
}

static int look_at(struct look *l, struct status *st)
{
    if (client_get(l->client, l->arena, &l->ref, &l->binding, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        forget(l);
        return 0;
    }
    l->spec = json_get(l->binding, STR("spec"));
    l->status = json_get(l->binding, STR("status"));
    if (!is_ours(l) || (!has_policy(l) && !json_len(json_get(l->spec, STR("clusters")))))
        return 0;
    if (scheduler_fleets_get(l->s->fleets, l->client, l->arena, l->key->instance, &l->clusters,
                             st) < 0)
        return -1;
    sched_request_of_binding(l->binding, &l->request);
    if (!has_policy(l)) { /* its policy has gone, and it stays where it is */
        if (!lost_a_cluster(l))
            return 0;
        return confirm_lost(l, st) < 0 ? -1 : drop_lost(l, st);
    }
    if (must_run(l))
        return decide(l, st);
    return write_status(l, false, st) < 0 ? -1 : place_misfits(l, st);
}

/* All bindings of one kind in an instance are to be looked at. */
static int wake_all(struct scheduler *s, struct client *client, struct arena *a,
                    const struct informer_key *k, const char *resource, struct status *st)
{
    struct client_ref ref = ref_of(k, resource);
    struct client_query q = { .limit = PAGE };

    do {
        scoped_arena page = arena_new();
        const struct json *list;

        if (client_list(client, page, &ref, &q, &list, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
        json_for_each (item, json_get(list, STR("items"))) {
            struct informer_key key = { k->instance, json_get_str(item, "metadata.namespace"),
                                        json_get_str(item, "metadata.name") };

            controller_wake(s->controller, &key);
        }
        q.continue_token = str_dup(a, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct look l = { .s = arg, .client = client, .arena = a, .key = k };
    int rc;

    if (k->name.n == 0) {
        rc = wake_all(arg, client, a, k, "resourcebindings", st);
        return rc < 0 ? rc : wake_all(arg, client, a, k, "clusterresourcebindings", st);
    }
    l.ref = ref_of(k, k->namespace.n ? "resourcebindings" : "clusterresourcebindings");
    return look_at(&l, st);
}

static void started(void *arg, struct controller *c)
{
    ((struct scheduler *)arg)->controller = c;
}

static void cluster_changed(void *arg, struct controller *c, const struct informer_key *k,
                            const struct json *cluster, bool deleted)
{
    struct scheduler *s = arg;

    if (!deleted)
        scheduler_promises_seen(s->promises, k->instance, cluster);
    if (scheduler_fleets_note(s->fleets, k, deleted ? NULL : cluster))
        controller_wake(c, &(struct informer_key){ .instance = k->instance });
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("work.karmada.io"),
               .version = STR_INIT("v1alpha2"),
               .resource = STR_INIT("clusterresourcebindings") },
      .spec_only = true },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("cluster.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusters") },
      .map = cluster_changed },
};

const struct controller_spec scheduler_controller = {
    .name = "scheduler",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("work.karmada.io"),
             .version = STR_INIT("v1alpha2"),
             .resource = STR_INIT("resourcebindings") },
    .spec_only = true,
    .also = sources,
    .nalso = sizeof(sources) / sizeof(*sources),
    .workers = 4,
    .reconcile = reconcile,
    .started = started,
};
