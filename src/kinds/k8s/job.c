/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/frame/cron.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/job_policy.h"
#include "kinds/k8s/workload.h"
#include "rest/duration.h"

/* k8s: pkg/registry/batch/job, pkg/apis/batch */

enum { NAME_MAX_CRON = 52, MANAGER_MAX = 63, INDEXED_MAX = 100000, MANY_MAX = 10000 };

#define UID_LABEL "batch.kubernetes.io/controller-uid"
#define JOB_LABEL "batch.kubernetes.io/job-name"

static const char *const uid_labels[] = { "controller-uid", UID_LABEL, NULL };
static const char *const name_labels[] = { "job-name", JOB_LABEL, NULL };

static bool is_indexed(const struct json *spec)
{
    return str_is(json_get_str(spec, "completionMode"), "Indexed");
}

/* ---- defaults ---- */

/* A job without labels has those of its template. */
static const struct json *own_labels(struct arena *a, const struct json *obj)
{
    const struct json *labels = json_path(obj, "spec.template.metadata.labels");

    if (!labels || json_len(json_path(obj, "metadata.labels")))
        return obj;
    return json_set(a, obj, "metadata.labels", labels);
}

/* Whether own_labels() made them the same: what is added to the one is then added to the other,
 * as in Kubernetes, whose two maps are one. */
static bool labels_shared(const struct json *obj)
{
    const struct json *labels = json_path(obj, "metadata.labels");
    const struct json *of_template = json_path(obj, "spec.template.metadata.labels");

    return labels && of_template && labels->members == of_template->members;
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;
    bool counts = json_path(obj, "spec.completions") || json_path(obj, "spec.parallelism");
    bool policy = json_path(obj, "spec.podFailurePolicy") != NULL;
    bool each = json_path(obj, "spec.backoffLimitPerIndex") != NULL;

    obj = podspec_default_template(a, obj, "spec.template.spec");
    if (!counts)
        obj = workload_put_missing(a, obj, "spec.completions", json_of_int(1));
    obj = workload_put_missing(a, obj, "spec.parallelism", json_of_int(1));
    obj = workload_put_missing(a, obj, "spec.backoffLimit", json_of_int(each ? INT32_MAX : 6));
    obj = own_labels(a, obj);
    obj = workload_put_missing(a, obj, "spec.completionMode", json_of_str(STR("NonIndexed")));
    obj = workload_put_missing(a, obj, "spec.suspend", json_of_bool(false));
    obj = workload_put_missing(a, obj, "spec.manualSelector", json_of_bool(false));
    return workload_put_missing(a, obj, "spec.podReplacementPolicy",
                                json_of_str(policy ? STR("Failed") : STR("TerminatingOrFailed")));
}

static const struct json *with_labels(struct arena *a, const struct json *obj, const char *path,
                                      const char *const *names, str value)
{
    const struct json *had = json_path(obj, path);
    struct json_object o = json_object_from(a, had ? had : &json_empty_object);

    for (; *names; names++)
        if (!json_get(had, str_of(*names)))
            json_add(&o, str_of(*names), json_of_str(value));
    return json_set(a, obj, path, json_object_done(&o));
}

/* Pods of a job are told apart by its uid, unless the user wants it otherwise. */
static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    static const char *const selected[] = { UID_LABEL, NULL };
    struct arena *a = c->arena;
    str uid = json_get_str(obj, "metadata.uid"), name = json_get_str(obj, "metadata.name");

    bool shared = labels_shared(obj);

    obj = check_reset(c, obj, "status");
    if (json_bool(json_path(obj, "spec.manualSelector")))
        return obj;
    obj = with_labels(a, obj, "spec.template.metadata.labels", name_labels, name);
    obj = with_labels(a, obj, "spec.template.metadata.labels", uid_labels, uid);
    if (shared)
        obj = json_set(a, obj, "metadata.labels", json_path(obj, "spec.template.metadata.labels"));
    obj = own_labels(a, obj);
    return with_labels(a, obj, "spec.selector.matchLabels", selected, uid);
}

/* ---- rules ---- */

/* What jobs of very many indexes must bear in mind. */
static void check_many(struct status *st, const struct site *spec)
{
    struct site failed = site_in(spec, "maxFailedIndexes"), at_once = site_in(spec, "parallelism");
    bool many = json_int(json_get(spec->v, STR("completions")), 0) > INDEXED_MAX &&
                site_has(spec, "backoffLimitPerIndex");

    if (json_int(at_once.v, 0) > INDEXED_MAX)
        site_fault(st, &at_once, CAUSE_INVALID,
                   "must be less than or equal to %d when completion mode is Indexed", INDEXED_MAX);
    if (json_int(failed.v, 0) > INDEXED_MAX)
        site_fault(st, &failed, CAUSE_INVALID, "must be less than or equal to %d", INDEXED_MAX);
    if (many && !failed.v)
        site_fault(st, &failed, CAUSE_REQUIRED, "must be specified when completions is above %d",
                   INDEXED_MAX);
    if (many && json_int(at_once.v, 0) > MANY_MAX)
        site_fault(st, &at_once, CAUSE_INVALID,
                   "must be less than or equal to %d when completions are above %d and used with "
                   "backoff limit per index",
                   MANY_MAX, INDEXED_MAX);
    if (many && json_int(failed.v, 0) > MANY_MAX)
        site_fault(st, &failed, CAUSE_INVALID,
                   "must be less than or equal to %d when completions are above %d and used with "
                   "backoff limit per index",
                   MANY_MAX, INDEXED_MAX);
}

static void check_manager(struct status *st, const struct site *spec)
{
    struct site manager = site_in(spec, "managedBy");

    if (!manager.v)
        return;
    site_domain_path(st, &manager);
    if (json_str(manager.v).n > MANAGER_MAX)
        site_fault(st, &manager, CAUSE_TOO_LONG, "may not be more than %d bytes", MANAGER_MAX);
}

/* k8s: some need a mode that is not the other one, one needs this one. */
static void check_not_indexed(struct status *st, const struct site *spec)
{
    static const char *const needs[] = { "backoffLimitPerIndex", "maxFailedIndexes" };
    struct site mode = site_in(spec, "completionMode"), success = site_in(spec, "successPolicy");
    bool other = !mode.v || str_is(json_str(mode.v), "NonIndexed");

    for (size_t i = 0; other && i < GROUP_LEN(needs); i++) {
        struct site field = site_in(spec, needs[i]);

        if (field.v)
            site_invalid(st, &field, "requires indexed completion mode");
    }
    if (success.v)
        site_invalid(st, &success, "requires indexed completion mode");
}

static void check_indexed(struct status *st, const struct site *spec)
{
    struct site completions = site_in(spec, "completions");
    struct site failed = site_in(spec, "maxFailedIndexes");
    struct site per_index = site_in(spec, "backoffLimitPerIndex");

    if (failed.v && !per_index.v)
        site_missing(st, &per_index, "when maxFailedIndexes is specified");
    if (!is_indexed(spec->v)) {
        check_not_indexed(st, spec);
        return;
    }
    if (!completions.v)
        site_missing(st, &completions, "when completion mode is Indexed");
    if (completions.v && json_int(failed.v, 0) > json_int(completions.v, 0))
        site_invalid(st, &failed, "must be less than or equal to completions");
    check_many(st, spec);
    job_check_success_policy(st, spec);
}

static void check_restart(struct status *st, const struct site *spec)
{
    static const char *const ending[] = { "OnFailure", "Never", NULL };
    struct site template = site_in(spec, "template"), pods = site_in(&template, "spec");
    struct site restart = site_in(&pods, "restartPolicy");
    str text = json_str(restart.v);

    if (text.n == 0 || str_is(text, "Always"))
        site_missing(st, &restart, "valid values: \"OnFailure\", \"Never\"");
    else if (!str_is(text, "OnFailure") && !str_is(text, "Never"))
        site_unsupported(st, &restart, ending);
    else if (site_has(spec, "podFailurePolicy") && !str_is(text, "Never"))
        site_invalid(st, &restart,
                     "only \"Never\" is supported when podFailurePolicy is specified");
}

static void job_check_spec(struct status *st, const struct site *spec)
{
    static const char *const counts[] = { "parallelism",
                                          "completions",
                                          "activeDeadlineSeconds",
                                          "backoffLimit",
                                          "ttlSecondsAfterFinished",
                                          "backoffLimitPerIndex",
                                          "maxFailedIndexes",
                                          NULL };
    static const char *const modes[] = { "NonIndexed", "Indexed", NULL };
    static const char *const replacements[] = { "Failed", "TerminatingOrFailed", NULL };
    static const char *const failed_only[] = { "Failed", NULL };
    struct site mode = site_in(spec, "completionMode"), template = site_in(spec, "template");
    struct site replacement = site_in(spec, "podReplacementPolicy");

    workload_check_counts(st, spec, counts);
    check_manager(st, spec);
    site_enum(st, &mode, modes);
    check_indexed(st, spec);
    job_check_failure_policy(st, spec);
    site_enum(st, &replacement, site_has(spec, "podFailurePolicy") ? failed_only : replacements);
    podspec_check_template(st, &template);
    check_restart(st, spec);
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    return own_labels(c->arena, workload_prepare_update(c, obj, old));
}

static void check_label(struct status *st, const struct site *labels, const char *name, str want)
{
    struct site label = site_key(labels, str_of(name), json_get(labels->v, str_of(name)));
    bool there = label.v != NULL;

    if (there && str_eq(json_str(label.v), want))
        return;
    label.v = labels->v;
    site_fault(st, &label, there ? CAUSE_INVALID : CAUSE_REQUIRED, "must be '%.*s'", STR_ARG(want));
}

/*
 * Labels and selector that were generated are there and as they were.  An old job may lack those
 * with a prefix.
 */
static void check_generated(struct status *st, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site template = site_in(&spec, "template"), meta = site_in(&template, "metadata");
    struct site labels = site_in(&meta, "labels"), selector = site_in(&spec, "selector");
    const struct json *had = json_path(old, "spec.template.metadata.labels");
    struct json_object all = json_object_new(st->arena);
    struct json uid = json_of_str(json_get_str(obj, "metadata.uid"));
    struct json name = json_of_str(json_get_str(obj, "metadata.name"));
    struct status wrong;

    if (!selector.v || json_bool(json_get(spec.v, STR("manualSelector"))))
        return;
    for (size_t i = 0; uid_labels[i]; i++) {
        if (i > 0 && old &&
            (!json_get(had, str_of(uid_labels[i])) || !json_get(had, str_of(name_labels[i]))))
            break;
        check_label(st, &labels, uid_labels[i], json_str(&uid));
        check_label(st, &labels, name_labels[i], json_str(&name));
        json_add(&all, str_of(uid_labels[i]), uid);
        json_add(&all, str_of(name_labels[i]), name);
    }
    status_init(&wrong, st->arena);
    site_selector(&wrong, &selector);
    if (!wrong.ncauses && !site_selector_matches(selector.v, json_object_done(&all)))
        site_invalid(st, &selector, "`selector` not auto-generated");
}

static void check_spec(struct status *st, const struct json *obj)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site selector = site_in(&spec, "selector");
    unsigned faults;

    job_check_spec(st, &spec);
    if (!selector.v)
        site_missing(st, &selector, "");
    faults = st->ncauses;
    site_selector(st, &selector);
    if (st->ncauses == faults) /* else it takes nothing */
        workload_check_labels(st, &spec, selector.v);
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const counts[] = { "active", "succeeded",   "failed",
                                          "ready",  "terminating", NULL };
    struct site root = site_root(obj), status = site_in(&root, "status");

    if (str_is(c->subresource, "status")) {
        workload_check_counts(st, &status, counts);
        return;
    }
    if (!c->create) /* with what it was, together */
        return;
    check_generated(st, obj, NULL);
    check_spec(st, obj);
}

/* A job that was never started may still be placed otherwise. */
static const struct json *frozen_template(struct arena *a, const struct json *now,
                                          const struct json *old)
{
    static const char *const free_[] = { "nodeSelector", "tolerations", "schedulingGates",
                                         "affinity" };
    bool waits = json_bool(json_path(old, "spec.suspend")) && !json_path(old, "status.startTime");
    const struct json *was = json_path(old, "spec.template");

    if (!waits)
        return now;
    for (size_t i = 0; i < GROUP_LEN(free_); i++) {
        char path[32];

        (void)snprintf(path, sizeof(path), "spec.%s", free_[i]);
        now = json_set(a, now, path, json_path(was, path));
    }
    return json_set(a, now, "metadata", json_get(was, STR("metadata")));
}

/* Of an indexed job they may change with its parallelism. */
static void check_completions(struct status *st, const struct site *spec, const struct json *was)
{
    struct site completions = site_in(spec, "completions");
    const struct json *old = json_get(was, STR("completions"));

    if (!is_indexed(spec->v))
        site_immutable(st, &completions, old);
    else if (completions.v && !check_same(completions.v, old) &&
             !check_same(completions.v, json_get(spec->v, STR("parallelism"))))
        site_invalid(st, &completions, "can only be modified in tandem with spec.parallelism");
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    static const char *const frozen[] = { "spec.completionMode", "spec.podFailurePolicy",
                                          "spec.backoffLimitPerIndex", "spec.managedBy",
                                          "spec.successPolicy" };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site template = site_in(&spec, "template");
    const struct json *was = json_get(old, STR("spec")), *now;

    if (str_is(c->subresource, "status"))
        job_check_status(st, obj, old);
    if (c->subresource.n)
        return;
    check_generated(st, obj, old);
    check_spec(st, obj);
    check_completions(st, &spec, was);
    check_immutable(st, "spec.selector", obj, old);
    now = frozen_template(c->arena, template.v, old);
    if (!check_same(now, json_get(was, STR("template"))))
        site_invalid(st, &template, "field is immutable");
    for (size_t i = 0; i < GROUP_LEN(frozen); i++)
        check_immutable(st, frozen[i], obj, old);
}

/* ---- cells ---- */

static str state_text(const struct json *obj)
{
    static const char *const order[][2] = { { "Complete", "Complete" },
                                            { "Failed", "Failed" },
                                            { NULL, "Terminating" },
                                            { "Suspended", "Suspended" },
                                            { "FailureTarget", "FailureTarget" },
                                            { "SuccessCriteriaMet", "SuccessCriteriaMet" } };

    for (size_t i = 0; i < GROUP_LEN(order); i++) {
        if (!order[i][0] && json_get_str(obj, "metadata.deletionTimestamp").n)
            return str_of(order[i][1]);
        json_for_each (c, json_path(obj, "status.conditions"))
            if (order[i][0] && str_is(json_get_str(c, "type"), order[i][0]) &&
                str_is(json_get_str(c, "status"), "True"))
                return str_of(order[i][1]);
    }
    return STR("Running");
}

static str completions_text(struct arena *a, const struct json *obj)
{
    const struct json *completions = json_path(obj, "spec.completions");
    long long done = json_int(json_path(obj, "status.succeeded"), 0);
    long long at_once = json_int(json_path(obj, "spec.parallelism"), 0);

    if (completions)
        return str_printf(a, "%lld/%lld", done, (long long)json_int(completions, 0));
    if (at_once > 1)
        return str_printf(a, "%lld/1 of %lld", done, at_once);
    return str_printf(a, "%lld/1", done);
}

static str duration(struct arena *a, const struct json *obj, int64_t now_s)
{
    str start = json_get_str(obj, "status.startTime");
    str end = json_get_str(obj, "status.completionTime");
    int64_t from, to = now_s;

    if (!time_parse_seconds(start, &from) || (end.n && !time_parse_seconds(end, &to)))
        return STR("");
    return duration_text(a, to - from);
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    cell_str(out, obj, "metadata.name");
    cell_text(out, state_text(obj));
    cell_text(out, completions_text(a, obj));
    cell_text(out, duration(a, obj, now_s));
    cell_age(out, obj, now_s);
    podspec_cells(out, json_path(obj, "spec.template.spec"));
    cell_selector(out, json_path(obj, "spec.selector"));
}

const struct kind_ops job_ops = {
    .defaults = defaults,
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn_job,
    .cells = cells,
};

/* ---- cron jobs ---- */

static const struct json *cron_defaults(const struct kind_context *c, const struct json *obj)
{
    return podspec_default_template(c->arena, obj, "spec.jobTemplate.spec.template.spec");
}

/* One with TZ in it is from before timeZone was; it may stay. */
static void check_schedule(struct status *st, const struct site *spec, const struct json *old)
{
    struct site schedule = site_in(spec, "schedule"), zone = site_in(spec, "timeZone");
    bool before = old && str_contains(json_get_str(old, "spec.schedule"), STR("TZ"));
    str fault;

    if (site_required(st, &schedule))
        return;
    fault = cron_fault(st->arena, json_str(schedule.v));
    if (fault.n)
        site_fault(st, &schedule, CAUSE_INVALID, "%.*s", STR_ARG(fault));
    if (!str_contains(json_str(schedule.v), STR("TZ")))
        return;
    if (!before)
        site_invalid(st, &schedule,
                     "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    else if (zone.v)
        site_invalid(st, &schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}

static void check_zone(struct status *st, const struct site *spec)
{
    struct site zone = site_in(spec, "timeZone");
    str name = json_str(zone.v);

    if (!zone.v)
        return;
    if (name.n == 0) {
        site_invalid(st, &zone, "timeZone must be nil or non-empty string");
        return;
    }
    if (str_eq_nocase(name, STR("Local")))
        site_invalid(st, &zone,
                     "timeZone must be an explicit time zone as defined in "
                     "https://www.iana.org/time-zones");
    if (!cron_zone_is_valid(name))
        site_fault(st, &zone, CAUSE_INVALID, "unknown time zone %.*s", STR_ARG(name));
}

static void cron_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const counts[] = { "startingDeadlineSeconds", "successfulJobsHistoryLimit",
                                          "failedJobsHistoryLimit", NULL };
    static const char *const policies[] = { "Allow", "Forbid", "Replace", NULL };
    static const char *const manuals[] = { "nil", "false", NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec"),
                meta = site_in(&root, "metadata");
    struct site policy = site_in(&spec, "concurrencyPolicy"), name = site_in(&meta, "name");
    struct site template = site_in(&spec, "jobTemplate"), job = site_in(&template, "spec");
    struct site selector = site_in(&job, "selector"), manual = site_in(&job, "manualSelector");

    if (str_is(c->subresource, "status"))
        return;
    if (c->create) {
        check_schedule(st, &spec, NULL);
        check_zone(st, &spec);
    }
    workload_check_counts(st, &spec, counts);
    site_enum(st, &policy, policies);
    job_check_spec(st, &job);
    if (selector.v)
        site_invalid(st, &selector, "`selector` will be auto-generated");
    if (json_bool(manual.v))
        site_unsupported(st, &manual, manuals);
    if (c->create && json_str(name.v).n > NAME_MAX_CRON)
        site_invalid(st, &name, "must be no more than 52 characters");
}

static void cron_validate_update(const struct kind_context *c, const struct json *obj,
                                 const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    if (str_is(c->subresource, "status"))
        return;
    check_schedule(st, &spec, old);
    if (!json_equal(json_path(obj, "spec.timeZone"), json_path(old, "spec.timeZone")))
        check_zone(st, &spec);
}

static void cron_cells(struct arena *a, const struct json *obj, int64_t now_s,
                       struct json_array *out)
{
    str last = json_get_str(obj, "status.lastScheduleTime");
    str zone = json_get_str(obj, "spec.timeZone");
    bool suspended = json_bool(json_path(obj, "spec.suspend"));

    cell_str(out, obj, "metadata.name");
    cell_str(out, obj, "spec.schedule");
    cell_text(out, zone.n ? zone : STR("<none>"));
    cell_text(out, suspended ? STR("True") : STR("False"));
    json_push(out, json_of_int((int64_t)json_len(json_path(obj, "status.active"))));
    cell_text(out, last.n ? duration_since(a, last, now_s) : STR("<none>"));
    cell_age(out, obj, now_s);
    podspec_cells(out, json_path(obj, "spec.jobTemplate.spec.template.spec"));
    cell_selector(out, json_path(obj, "spec.jobTemplate.spec.selector"));
}

const struct kind_ops cronjob_ops = {
    .defaults = cron_defaults,
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = cron_validate,
    .validate_update = cron_validate_update,
    .warn = warn_cronjob,
    .cells = cron_cells,
};
