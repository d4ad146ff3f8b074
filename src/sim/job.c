/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs: pods until enough of them have succeeded.  k8s: pkg/controller/job */

#include "base/banned.h"
#include "sim/state.h"

#define INDEX "batch.kubernetes.io/job-completion-index"

enum { BURST = 500, INDEXES_MAX = 100000 };

struct work {
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    struct status *st;
    const struct json *job;
    struct obj_list pods;
    int64_t completions, parallelism; /* completions -1: any one that succeeds is enough */
    int64_t active, ready, succeeded, failed;
    bool indexed, suspended, finished;
    bool *taken; /* indexes that have succeeded or run */
    bool *done;
};

static int64_t index_of(const struct json *pod)
{
    int64_t n = -1;

    (void)str_to_i64(json_str(json_get(json_path(pod, "metadata.annotations"), STR(INDEX))), &n);
    return n;
}

static bool is_finished(const struct json *job)
{
    const struct json *c = json_path(job, "status.conditions");

    return condition_holds(c, "Complete") || condition_holds(c, "Failed");
}

static void count(struct work *w, const struct json *pod)
{
    bool ok = str_is(json_get_str(pod, "status.phase"), "Succeeded");
    int64_t at = w->indexed ? index_of(pod) : -1;

    if (at >= 0 && at < w->completions) {
        w->taken[at] |= ok || pod_is_active(pod);
        w->succeeded += ok && !w->done[at];
        w->done[at] |= ok;
    } else if (!w->indexed) {
        w->succeeded += ok;
    }
    w->failed += str_is(json_get_str(pod, "status.phase"), "Failed");
    w->active += pod_is_active(pod);
    w->ready += pod_is_active(pod) && pod_is_ready(pod);
}

static int look(struct work *w)
{
    const struct json *completions = json_path(w->job, "spec.completions");

    w->parallelism = json_int(json_path(w->job, "spec.parallelism"), 1);
    w->completions = completions ? json_int(completions, 1) : -1;
    if (w->completions > INDEXES_MAX)
        w->completions = INDEXES_MAX;
    w->indexed =
        w->completions >= 0 && str_is(json_get_str(w->job, "spec.completionMode"), "Indexed");
    w->suspended = json_bool(json_path(w->job, "spec.suspend"));
    w->taken = arena_array(w->arena, bool, (size_t)(w->completions > 0 ? w->completions : 1));
    w->done = arena_array(w->arena, bool, (size_t)(w->completions > 0 ? w->completions : 1));
    if (obj_list_owned(w->client, w->arena, obj_ref(w->key, "", "pods"), w->job, &w->pods, w->st) <
        0)
        return -1;
    for (size_t i = 0; i < w->pods.n; i++)
        count(w, w->pods.items[i]);
    if (!w->indexed && w->succeeded < json_int(json_path(w->job, "status.succeeded"), 0))
        w->succeeded = json_int(json_path(w->job, "status.succeeded"), 0); /* some were removed */
    w->finished =
        w->completions >= 0 ? w->succeeded >= w->completions : w->succeeded > 0 && !w->active;
    return 0;
}

/* ---- pods ---- */

static const struct json *pod_of(struct work *w)
{
    struct arena *a = w->arena;
    const struct json *pod = obj_pod(a, w->job, "batch/v1", "Job");
    int64_t at = 0;
    str number;

    if (!w->indexed)
        return pod;
    while (at < w->completions && w->taken[at])
        at++;
    if (at == w->completions)
        return NULL;
    w->taken[at] = true;
    number = str_printf(a, "%lld", (long long)at);
    pod = obj_put(a, pod, "metadata.annotations", STR(INDEX), json_of_str(number));
    pod = obj_put(a, pod, "metadata.labels", STR(INDEX), json_of_str(number));
    return obj_set_str(a, pod, "metadata.generateName",
                       str_printf(a, "%.*s-%.*s-", STR_ARG(w->key->name), STR_ARG(number)));
}

static int64_t wanted(const struct work *w)
{
    int64_t left = w->completions >= 0 ? w->completions - w->succeeded
                   : w->succeeded      ? w->active /* no new ones any more */
                                       : w->parallelism;

    if (w->suspended || w->finished)
        return 0;
    return left < w->parallelism ? left : w->parallelism;
}

static int scale(struct work *w)
{
    int64_t diff = wanted(w) - w->active;

    for (int64_t i = 0; i < diff && i < BURST; i++) {
        const struct json *pod = pod_of(w);

        if (pod && obj_create(w->client, w->arena, w->key, "", "pods", pod, w->st) < 0)
            return -1;
        w->active += pod != NULL;
    }
    for (size_t i = 0; diff < 0 && i < w->pods.n; i++) {
        struct client_ref ref = obj_ref_named(w->key, "", "pods", obj_name(w->pods.items[i]));

        if (!pod_is_active(w->pods.items[i]))
            continue;
        if (obj_delete(w->client, w->arena, &ref, obj_uid(w->pods.items[i]), -1, w->st) < 0)
            return -1;
        w->active--;
        diff++;
    }
    return diff > BURST;
}

/* ---- status ---- */

/* "0,2-4" */
static str indexes(const struct work *w)
{
    scoped_buf b = { .max = 1 << 20 };

    for (int64_t i = 0; i < w->completions; i++) {
        int64_t from = i;

        if (!w->done[i])
            continue;
        while (i + 1 < w->completions && w->done[i + 1])
            i++;
        buf_printf(&b, "%s%lld", b.n ? "," : "", (long long)from);
        if (i > from)
            buf_printf(&b, "%s%lld", i > from + 1 ? "-" : ",", (long long)i);
    }
    return str_dup(w->arena, buf_str(&b));
}

static const struct json *conditions(const struct work *w, const struct json *old)
{
    const struct obj_condition rows[] = {
        { .type = "SuccessCriteriaMet",
          .holds = true,
          .reason = STR("CompletionsReached"),
          .message = STR("Reached expected number of succeeded pods") },
        { .type = "Complete",
          .holds = true,
          .reason = STR("CompletionsReached"),
          .message = STR("Reached expected number of succeeded pods") },
    };
    const struct obj_condition suspended = {
        .type = "Suspended",
        .holds = w->suspended,
        .reason = w->suspended ? STR("JobSuspended") : STR("JobResumed"),
        .message = w->suspended ? STR("Job suspended") : STR("Job resumed")
    };

    if (w->suspended || condition_find(old, "Suspended"))
        old = obj_condition(w->arena, old, &suspended, sim_now_s());
    for (size_t i = 0; w->finished && i < sizeof(rows) / sizeof(*rows); i++)
        old = obj_condition(w->arena, old, &rows[i], sim_now_s());
    return old;
}

/* Pods that have ended stay counted when they are gone. */
static int64_t at_least(int64_t n, const struct json *status, const char *name)
{
    int64_t had = json_int(json_get(status, str_of(name)), 0);

    return n < had ? had : n;
}

static int put_status(struct work *w)
{
    const struct json *old = json_path(w->job, "status"), *conds;
    struct json_object o = json_object_new(w->arena);
    struct json now = obj_time(w->arena, sim_now_s());

    conds = conditions(w, json_get(old, STR("conditions")));
    if (json_len(conds))
        json_add(&o, STR("conditions"), *conds);
    if (json_get(old, STR("startTime")))
        json_add(&o, STR("startTime"), *json_get(old, STR("startTime")));
    else if (!w->suspended)
        json_add(&o, STR("startTime"), now);
    if (w->finished)
        json_add(&o, STR("completionTime"), now);
    sim_count(&o, "active", w->finished ? 0 : w->active);
    sim_count(&o, "succeeded", at_least(w->succeeded, old, "succeeded"));
    sim_count(&o, "failed", at_least(w->failed, old, "failed"));
    if (w->indexed)
        json_add(&o, STR("completedIndexes"), json_of_str(indexes(w)));
    json_add(&o, STR("ready"), json_of_int(w->finished ? 0 : w->ready));
    json_add(&o, STR("terminating"), json_of_int(0));
    json_add(&o, STR("uncountedTerminatedPods"), json_empty_object);
    return obj_put_status(w->client, w->arena, obj_ref(w->key, "batch", "jobs"), w->job,
                          json_object_done(&o), w->st);
}

/* k8s: pkg/controller/ttlafterfinished */
static int expire(struct work *w)
{
    const struct json *ttl = json_path(w->job, "spec.ttlSecondsAfterFinished");
    struct client_ref ref = obj_ref(w->key, "batch", "jobs");
    int64_t since, left;

    if (!ttl || !time_parse_seconds(json_get_str(w->job, "status.completionTime"), &since))
        return 0;
    left = since + json_int(ttl, 0) - sim_now_s();
    if (left > 0)
        return left > 3600 ? 3600000 : (int)left * 1000;
    return obj_delete(w->client, w->arena, &ref, obj_uid(w->job), -1, w->st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref(k, "batch", "jobs");
    struct work w = { .client = client, .arena = a, .key = k, .st = st };
    int found = obj_get(client, a, &ref, &w.job, st), more;

    (void)arg;
    if (found <= 0)
        return found;
    if (obj_deleting(w.job))
        return 0;
    if (is_finished(w.job))
        return expire(&w);
    if (look(&w) < 0)
        return -1;
    more = scale(&w);
    return more < 0 || put_status(&w) < 0 ? -1 : more;
}

const struct controller_spec sim_jobs = {
    .name = "simulated-jobs",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("batch"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("jobs") },
    .reconcile = reconcile,
};
