/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A Job's status, which controllers other than Kubernetes' own may write, too: what does not go
 * together, and what cannot be taken back.  A rule is asked only when what it is about has changed,
 * so that an old fault does not hinder other writes.
 * k8s: pkg/apis/batch/validation, validateJobStatus and ValidateJobStatusUpdate;
 * pkg/registry/batch/job/strategy.go, getStatusValidationOptions
 */

#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/job_policy.h"

struct state {
    bool complete, failed, target, met, finished;
    const struct json *start, *end, *active, *completed, *failed_indexes, *uncounted, *ready,
        *terminating;
};

static bool holds(const struct json *status, const char *type, const char *is)
{
    json_for_each (c, json_get(status, STR("conditions")))
        if (str_is(json_get_str(c, "type"), type))
            return str_is(json_get_str(c, "status"), is);
    return false;
}

static struct state state_of(const struct json *status)
{
    struct state s = {
        .complete = holds(status, "Complete", "True"),
        .failed = holds(status, "Failed", "True"),
        .target = holds(status, "FailureTarget", "True"),
        .met = holds(status, "SuccessCriteriaMet", "True"),
        .start = json_get(status, STR("startTime")),
        .end = json_get(status, STR("completionTime")),
        .active = json_get(status, STR("active")),
        .completed = json_get(status, STR("completedIndexes")),
        .failed_indexes = json_get(status, STR("failedIndexes")),
        .uncounted = json_get(status, STR("uncountedTerminatedPods")),
        .ready = json_get(status, STR("ready")),
        .terminating = json_get(status, STR("terminating")),
    };

    s.finished = s.complete || s.failed;
    return s;
}

/* A fault of the conditions; their value is not told. */
static void clash(struct status *st, bool wrong, const char *why)
{
    if (wrong)
        status_cause(st, CAUSE_INVALID, STR("status.conditions"), STR_NONE, "%s", why);
}

static void check_conditions(struct status *st, const struct state *s, const struct state *was)
{
    bool complete = s->complete != was->complete, failed = s->failed != was->failed;

    clash(st, (complete || failed) && s->complete && s->failed,
          "cannot set Complete=True and Failed=true conditions");
    clash(st, (complete || s->target != was->target) && s->complete && s->target,
          "cannot set Complete=True and FailureTarget=true conditions");
    clash(st,
          (failed || !check_same(s->failed_indexes, was->failed_indexes)) && s->failed &&
              !s->target,
          "cannot set Failed=True condition without the FailureTarget=true condition");
    clash(st, (complete || s->met != was->met) && s->complete && !s->met,
          "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    clash(st, s->met && s->failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    clash(st, s->met && s->target,
          "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
}

static bool is_before(const struct json *a, const struct json *b)
{
    int64_t x, y;

    return a && b && time_parse_seconds(json_str(a), &x) && time_parse_seconds(json_str(b), &y) &&
           x < y;
}

static void check_times(struct status *st, const struct site *status, const struct state *s,
                        const struct state *was, const struct json *spec)
{
    struct site start = site_in(status, "startTime"), end = site_in(status, "completionTime");
    bool ended = !check_same(s->end, was->end), started = !check_same(s->start, was->start);
    const struct json *completions = json_get(spec, STR("completions"));
    bool nothing =
        json_bool(json_get(spec, STR("suspend"))) && completions && json_int(completions, 1) == 0;

    if ((ended || s->complete != was->complete) && s->end && !s->complete)
        site_invalid(st, &end,
                     "cannot set completionTime when there is no Complete=True condition");
    if ((ended || s->complete != was->complete) && !s->end && s->complete)
        site_missing(st, &end, "completionTime is required for Complete jobs");
    if ((ended || started) && is_before(s->end, s->start))
        site_invalid(st, &end, "must be equal to or after `startTime`");
    if ((started || s->finished != was->finished) && !nothing && !s->start && s->finished)
        site_missing(st, &start, "startTime is required for finished job");
}

static void check_pods(struct status *st, const struct site *status, const struct state *s,
                       const struct state *was)
{
    struct site active = site_in(status, "active");
    struct site ending = site_in(status, "terminating");
    struct site uncounted = site_in(status, "uncountedTerminatedPods");
    bool ended = s->finished != was->finished, acts = !check_same(s->active, was->active);
    size_t left = json_len(json_get(uncounted.v, STR("failed"))) +
                  json_len(json_get(uncounted.v, STR("succeeded")));

    if ((ended || acts) && json_int(active.v, 0) > 0 && s->finished)
        site_invalid(st, &active, "active>0 is invalid for finished job");
    if ((ended || !check_same(s->uncounted, was->uncounted)) && s->finished && left)
        site_invalid(st, &uncounted, "must be empty for finished job");
    if ((ended || !check_same(s->terminating, was->terminating)) && s->finished &&
        json_int(ending.v, 0) > 0)
        site_invalid(st, &ending, "terminating>0 is invalid for finished job");
}

static void check_ready(struct status *st, const struct site *status, const struct state *s,
                        const struct state *was)
{
    struct site active = site_in(status, "active"), ready = site_in(status, "ready");
    bool acts = !check_same(s->active, was->active);

    if (ready.v && (acts || !check_same(s->ready, was->ready)) &&
        json_int(ready.v, 0) > json_int(active.v, 0))
        site_invalid(st, &ready, "cannot set more ready pods than active");
}

static void check_uncounted(struct status *st, const struct site *status)
{
    static const char *const lists[] = { "succeeded", "failed" };
    struct site uncounted = site_in(status, "uncountedTerminatedPods");
    struct map seen = { 0 };

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct site list = site_in(&uncounted, lists[i]);

        site_each(uid, &list)
        {
            if (json_str(uid.v).n == 0)
                site_invalid(st, &uid, "must not be empty");
            else if (site_seen(&seen, json_str(uid.v)))
                site_duplicate(st, &uid);
        }
    }
    map_release(&seen);
}

/* ---- indexes ---- */

/* The next interval that can be read; false when there is none. */
static bool next(struct arena *a, str *rest, int64_t completions, int64_t *from, int64_t *to)
{
    for (str part; str_split(rest, ',', &part);)
        if (job_read_interval(a, part, completions, from, to).n == 0)
            return true;
    return false;
}

static void check_overlap(struct status *st, const struct site *failed, str completed,
                          int64_t completions)
{
    str left = completed, right = json_str(failed->v);
    int64_t a = 0, b = 0, x = 0, y = 0;
    bool more = left.n && right.n && next(st->arena, &left, completions, &a, &b) &&
                next(st->arena, &right, completions, &x, &y);

    while (more) {
        if (a <= y && x <= b) {
            site_fault(st, failed, CAUSE_INVALID,
                       "failedIndexes and completedIndexes overlap at index: %lld",
                       (long long)(a > x ? a : x));
            return;
        }
        more = a <= x ? next(st->arena, &left, completions, &a, &b)
                      : next(st->arena, &right, completions, &x, &y);
    }
}

static void check_format(struct status *st, const struct site *list, int64_t completions)
{
    int64_t total;
    str fault = job_read_indexes(st->arena, json_str(list->v), completions, &total);

    if (fault.n)
        site_fault(st, list, CAUSE_INVALID, "error parsing %s: %.*s", list->name, STR_ARG(fault));
}

static void check_indexes(struct status *st, const struct site *status, const struct state *s,
                          const struct state *was, const struct json *spec)
{
    struct site done = site_in(status, "completedIndexes");
    struct site failed = site_in(status, "failedIndexes");
    const struct json *completions = json_get(spec, STR("completions"));
    int64_t n = json_int(completions, 0);
    bool indexed = str_is(json_get_str(spec, "completionMode"), "Indexed");
    bool done_new = !check_same(s->completed, was->completed);
    bool failed_new = !check_same(s->failed_indexes, was->failed_indexes);
    bool per_index = json_get(spec, STR("backoffLimitPerIndex")) != NULL;

    if (done_new && completions)
        check_format(st, &done, n);
    if (failed_new && completions && per_index && failed.v)
        check_format(st, &failed, n);
    if (done_new && json_str(done.v).n && !indexed)
        site_invalid(st, &done,
                     "cannot set non-empty completedIndexes when non-indexed completion mode");
    if (failed_new && failed.v && !per_index)
        site_invalid(st, &failed,
                     "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    if ((done_new || failed_new) && completions && failed.v)
        check_overlap(st, &failed, json_str(done.v), n);
}

/* ---- what cannot be taken back ---- */

static void check_fewer(struct status *st, const struct site *status, const struct json *old,
                        const char *name)
{
    struct site now = site_in(status, name);
    struct json zero = json_of_int(0);

    if (!now.v)
        now.v = &zero;
    if (json_int(now.v, 0) < json_int(json_get(old, str_of(name)), 0))
        site_fault(st, &now, CAUSE_INVALID, "cannot decrease the %s counter", name);
}

static void check_past(struct status *st, const struct site *status, const struct json *old,
                       const struct json *spec)
{
    struct state s = state_of(status->v), was = state_of(old);
    struct site end = site_in(status, "completionTime"), start = site_in(status, "startTime");
    bool resumes = holds(old, "Suspended", "True") && holds(status->v, "Suspended", "False");
    bool scales =
        str_is(json_get_str(spec, "completionMode"), "Indexed") &&
        check_same(json_get(spec, STR("completions")), json_get(spec, STR("parallelism")));

    clash(st, was.failed && !s.failed, "cannot disable the terminal Failed=True condition");
    clash(st, was.complete && !s.complete, "cannot disable the terminal Complete=True condition");
    clash(st, was.target && !s.target, "cannot disable the terminal FailureTarget=True condition");
    check_fewer(st, status, old, "failed");
    if (!scales)
        check_fewer(st, status, old, "succeeded");
    if (s.end && was.end && !json_equal(s.end, was.end))
        site_invalid(st, &end, "field is immutable");
    if (was.start && !check_same(s.start, was.start) && !resumes &&
        !json_bool(json_get(spec, STR("suspend"))))
        site_missing(st, &start, "startTime cannot be removed for unsuspended job");
    clash(st, was.met && !s.met, "cannot disable the SuccessCriteriaMet=True condition");
    clash(st, was.complete && !was.met && s.met,
          "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}

void job_check_status(struct status *st, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), status = site_in(&root, "status");
    const struct json *spec = json_get(obj, STR("spec")), *before = json_get(old, STR("status"));
    struct state s = state_of(status.v), was = state_of(before);

    check_uncounted(st, &status);
    check_conditions(st, &s, &was);
    clash(st, json_get(spec, STR("successPolicy")) && !s.met && s.complete,
          "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
    check_times(st, &status, &s, &was, spec);
    check_pods(st, &status, &s, &was);
    check_indexes(st, &status, &s, &was, spec);
    check_ready(st, &status, &s, &was);
    check_past(st, &status, before, spec);
}
