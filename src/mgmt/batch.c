/* SPDX-License-Identifier: Apache-2.0 */

/* Service Batch: Jobs and CronJobs. */

#include "base/banned.h"
#include "base/clock.h"
#include "mgmt/resource.h"
#include "object/meta/condition.h"

static int64_t number(const struct json *obj, const char *path)
{
    return json_int(json_path(obj, path), 0);
}

static bool has_condition(const struct json *obj, const char *type)
{
    return condition_holds(json_path(obj, "status.conditions"), type);
}

/* "executionTimestamp", in seconds as all times are. */
static const struct json *with_time(struct resource_call *c, const struct json *message,
                                    const struct json *obj, const char *path)
{
    int64_t s;

    if (!time_parse_seconds(json_get_str(obj, path), &s))
        return message;
    return json_set(c->arena, message, "executionTimestamp", json_box(c->arena, json_of_int(s)));
}

static const struct json *with_phase(struct resource_call *c, const struct json *message, str phase)
{
    return json_set(c->arena, message, "status.phase", json_box(c->arena, json_of_str(phase)));
}

/* ---- Jobs ---- */

static str job_phase(const struct json *obj)
{
    if (json_path(obj, "metadata.deletionTimestamp"))
        return STR("Deleting");
    if (has_condition(obj, "Complete"))
        return STR("Completed");
    if (has_condition(obj, "Failed"))
        return STR("Failed");
    if (number(obj, "status.active") || json_path(obj, "status.startTime"))
        return STR("Running");
    return STR("Waiting");
}

static const struct json *finish_job(struct resource_call *c, const struct json *obj,
                                     const struct json *message)
{
    message = with_time(c, message, obj, "status.startTime");
    message = json_set(c->arena, message, "status.succeed", json_path(obj, "status.succeeded"));
    return with_phase(c, message, job_phase(obj));
}

static const struct resource jobs = {
    .ref = { .group = STR_INIT("batch"), .version = STR_INIT("v1"), .resource = STR_INIT("jobs") },
    .kind = "Job",
    .spreads = true,
    .finish = finish_job,
};

/* ---- CronJobs ---- */

static str cronjob_phase(const struct json *obj)
{
    if (json_path(obj, "metadata.deletionTimestamp"))
        return STR("Deleting");
    if (json_bool(json_path(obj, "spec.suspend")))
        return STR("Stopped");
    if (json_path(obj, "status.lastScheduleTime") || json_len(json_path(obj, "status.active")))
        return STR("Activated");
    return STR("Waiting");
}

static const struct json *images_of(struct resource_call *c, const struct json *obj)
{
    struct json_array images = json_array_new(c->arena);

    json_for_each (container, json_path(obj, "spec.jobTemplate.spec.template.spec.containers"))
        json_push(&images, json_of_str(json_get_str(container, "image")));
    return json_array_done(&images);
}

/* total: the clusters that it goes to; availed: those where it is. */
static const struct json *with_counts(struct resource_call *c, const struct json *obj,
                                      const struct json *message)
{
    const struct json *clusters = spread_of(c, obj);
    int64_t applied = 0;

    json_for_each (cluster, clusters)
        applied += json_bool(json_get(cluster, STR("applied")));
    message = json_set(c->arena, message, "availed", json_box(c->arena, json_of_int(applied)));
    return json_set(c->arena, message, "total",
                    json_box(c->arena, json_of_int((int64_t)json_len(clusters))));
}

static const struct json *finish_cronjob(struct resource_call *c, const struct json *obj,
                                         const struct json *message)
{
    message = with_time(c, message, obj, "status.lastScheduleTime");
    message = json_set(c->arena, message, "spec.paused", json_path(obj, "spec.suspend"));
    message = json_set(c->arena, message, "images", images_of(c, obj));
    return with_phase(c, with_counts(c, obj, message), cronjob_phase(obj));
}

static const struct resource cronjobs = {
    .ref = { .group = STR_INIT("batch"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("cronjobs") },
    .kind = "CronJob",
    .spreads = true,
    .finish = finish_cronjob,
};

/* ---- lists ---- */

static bool job_is(const void *phase, const struct json *obj)
{
    return str_eq_nocase(*(const str *)phase, job_phase(obj));
}

static bool cronjob_is(const void *phase, const struct json *obj)
{
    return str_eq_nocase(*(const str *)phase, cronjob_phase(obj));
}

static int list(struct resource_call *c, const struct json **response, struct status *st)
{
    str phase = json_get_str(c->request, "phase");
    struct resource_filter f = { .arg = &phase };

    if (phase.n)
        f.takes = c->what == &jobs ? job_is : cronjob_is;
    return resource_list_filtered(c, &f, response, st);
}

/* Those that a member's CronJob has made. */
static int list_of_cronjob(struct resource_call *c, const struct json **response, struct status *st)
{
    str phase = json_get_str(c->request, "phase");
    struct resource_filter f = { .takes = phase.n ? job_is : NULL, .arg = &phase };
    const struct json *cronjob;

    if (resource_at_member(c, st) < 0 ||
        resource_read(c, &cronjobs, c->namespace, json_get_str(c->request, "cronjob"), &cronjob,
                      st) < 0)
        return -1;
    f.owner = json_get_str(cronjob, "metadata.uid");
    if (resource_list_filtered(c, &f, response, st) < 0)
        return -1;
    *response = json_set(c->arena, *response, "Cluster", json_get(c->request, STR("cluster")));
    return 0;
}

/* ---- changes ---- */

/* Its path has no name: the object says it. */
static int update_cronjob(struct resource_call *c, const struct json **response, struct status *st)
{
    const struct json *obj;

    if (mgmt_data(c->arena, c->request, &obj, st) < 0)
        return -1;
    c->name = json_get_str(obj, "metadata.name");
    if (!c->name.n)
        return message_refuse(st, STR("data.metadata.name"), "must not be empty");
    return resource_update(c, response, st);
}

static int pause_cronjob(struct resource_call *c, const struct json **response, struct status *st)
{
    return resource_change(c, "spec.suspend", json_of_bool(true), response, st);
}

static int resume_cronjob(struct resource_call *c, const struct json **response, struct status *st)
{
    return resource_change(c, "spec.suspend", json_of_bool(false), response, st);
}

/* k8s: pkg/registry/batch/job/strategy.go generateSelector: what was made of the old uid */
static const struct json *anew(struct resource_call *c, const struct json *job)
{
    static const char *const made[] = { "controller-uid", "job-name",
                                        "batch.kubernetes.io/controller-uid",
                                        "batch.kubernetes.io/job-name" };
    struct json_object labels =
        json_object_from(c->arena, json_path(job, "spec.template.metadata.labels"));

    job = resource_cleaned(c->arena, job);
    if (json_bool(json_path(job, "spec.manualSelector")))
        return job;
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
        json_remove(&labels, str_of(made[i]));
    job = json_set(c->arena, job, "spec.selector", NULL);
    return json_set(c->arena, job, "spec.template.metadata.labels", json_object_done(&labels));
}

/* Would it be taken?  Asked before the old one goes. */
static int try_job(struct resource_call *c, const struct client_ref *ref, const struct json *job,
                   struct status *st)
{
    struct json prefix = json_of_str(str_printf(c->arena, "%.*s-", STR_ARG(c->name)));
    const struct json *made;

    job = json_set(c->arena, job, "metadata.name", NULL);
    job = json_set(c->arena, job, "metadata.generateName", &prefix);
    return resource_make(c, ref, job, true, &made, st);
}

static int delete_version(struct resource_call *c, const struct client_ref *ref,
                          const struct json *job, struct status *st)
{
    static const char *const conditions[] = { "uid", "resourceVersion" };
    struct json background = json_of_str(STR("Background"));
    const struct json *options =
        json_set(c->arena, &json_empty_object, "propagationPolicy", &background);
    struct client_request req;

    for (size_t i = 0; i < 2; i++)
        options =
            json_set(c->arena, options, arena_printf(c->arena, "preconditions.%s", conditions[i]),
                     json_get(json_get(job, STR("metadata")), str_of(conditions[i])));
    req = client_request_delete(c->arena, ref, NULL, options);
    return mgmt_do(c->p, c->ctx, &req, NULL, st);
}

/* A Job runs once: it is made anew in place of the old one. */
static int restart_job(struct resource_call *c, const struct json **response, struct status *st)
{
    struct client_ref all = resource_ref(c, c->what, STR_NONE),
                      one = resource_ref(c, c->what, c->name);
    struct client_request req = client_request_get(c->arena, &one);
    str revision = json_get_str(c->request, "resourceVersion");
    const struct json *old, *job, *made;

    if (mgmt_do(c->p, c->ctx, &req, &old, st) < 0)
        return -1;
    if (revision.n && !str_eq(revision, json_get_str(old, "metadata.resourceVersion")))
        return status_conflict(st, one.group, one.resource, c->name,
                               "it has changed since resourceVersion %.*s", STR_ARG(revision));
    if (json_len(json_path(old, "metadata.finalizers")))
        return status_conflict(st, one.group, one.resource, c->name,
                               "it has finalizers, and would not go at once");
    job = anew(c, old);
    if (try_job(c, &all, job, st) < 0 || delete_version(c, &one, old, st) < 0 ||
        resource_make(c, &all, job, false, &made, st) < 0)
        return -1;
    return resource_answer(c, made, response, st);
}

#define RPCS(X)                                                     \
    X("ListInstanceJobs", &jobs, list, IAM_VIEWER)                  \
    X("ListJobs", &jobs, list, IAM_VIEWER)                          \
    X("ListJobsByCronJobsName", &jobs, list_of_cronjob, IAM_VIEWER) \
    X("CreateJob", &jobs, resource_create, IAM_VIEWER)              \
    X("GetJob", &jobs, resource_get, IAM_VIEWER)                    \
    X("GetJobJSON", &jobs, resource_get, IAM_VIEWER)                \
    X("DeleteJob", &jobs, resource_delete, IAM_VIEWER)              \
    X("RestartJob", &jobs, restart_job, IAM_VIEWER)                 \
    X("ListInstanceCronJobs", &cronjobs, list, IAM_VIEWER)          \
    X("ListCronJobs", &cronjobs, list, IAM_VIEWER)                  \
    X("CreateCronJob", &cronjobs, resource_create, IAM_VIEWER)      \
    X("UpdateCronJob", &cronjobs, update_cronjob, IAM_VIEWER)       \
    X("GetCronJob", &cronjobs, resource_get, IAM_VIEWER)            \
    X("GetCronJobJSON", &cronjobs, resource_get, IAM_VIEWER)        \
    X("DeleteCronJob", &cronjobs, resource_delete, IAM_VIEWER)      \
    X("PauseCronJob", &cronjobs, pause_cronjob, IAM_VIEWER)         \
    X("ResumeCronJob", &cronjobs, resume_cronjob, IAM_VIEWER)

RESOURCE_SERVICE(batch_service, "Batch", RPCS)
