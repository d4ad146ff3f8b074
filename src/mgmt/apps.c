/* SPDX-License-Identifier: Apache-2.0 */

/* Service Apps: Deployments. */

#include "base/banned.h"
#include "base/clock.h"
#include "mgmt/resource.h"
#include "object/meta/karmada.h"

#define STATE_PREFIX "WORKLOAD_STATE_"

static int64_t number(const struct json *obj, const char *path, int64_t otherwise)
{
    return json_int(json_path(obj, path), otherwise);
}

/* Duplicated ones have more replicas than they ask for, so both counts must be ready. */
static str state_of(const struct json *obj)
{
    int64_t wanted = number(obj, "spec.replicas", 1),
            ready = number(obj, "status.readyReplicas", 0);
    int64_t there = number(obj, "status.replicas", 0);

    if (json_path(obj, "metadata.deletionTimestamp"))
        return STR(STATE_PREFIX "DELETING");
    if (wanted == 0 && there == 0)
        return STR(STATE_PREFIX "STOPPED");
    if (there == 0)
        return STR(STATE_PREFIX "WAITING");
    if (number(obj, "status.observedGeneration", 0) < number(obj, "metadata.generation", 0) ||
        ready < wanted || ready < there)
        return STR(STATE_PREFIX "NOT_READY");
    return STR(STATE_PREFIX "RUNNING");
}

static const struct json *finish(struct resource_call *c, const struct json *obj,
                                 const struct json *message)
{
    int64_t revision;

    if (str_to_i64(karmada_annotation(obj, "deployment.kubernetes.io/revision"), &revision))
        message =
            json_set(c->arena, message, "revision", json_box(c->arena, json_of_int(revision)));
    return json_set(c->arena, message, "status.state",
                    json_box(c->arena, json_of_str(state_of(obj))));
}

const struct resource resource_deployments = {
    .ref = { .group = STR_INIT("apps"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("deployments") },
    .kind = "Deployment",
    .spreads = true,
    .finish = finish,
};

/* ---- lists ---- */

/* "WORKLOAD_STATE_RUNNING" or "running" */
static bool has_phase(const void *arg, const struct json *obj)
{
    str want = *(const str *)arg, state = state_of(obj);

    return str_eq_nocase(want, state) ||
           str_eq_nocase(want, str_from(state, sizeof(STATE_PREFIX) - 1));
}

static int list(struct resource_call *c, const struct json **response, struct status *st)
{
    str phase = json_get_str(c->request, "phase");
    struct resource_filter f = { .takes = phase.n ? has_phase : NULL, .arg = &phase };

    return resource_list_filtered(c, &f, response, st);
}

/* ---- pausing, resuming, restarting ---- */

static int pause(struct resource_call *c, const struct json **response, struct status *st)
{
    return resource_change(c, "spec.paused", json_of_bool(true), response, st);
}

static int resume(struct resource_call *c, const struct json **response, struct status *st)
{
    return resource_change(c, "spec.paused", json_of_bool(false), response, st);
}

/* As `kubectl rollout restart`: with the same annotation. */
static int restart(struct resource_call *c, const struct json **response, struct status *st)
{
    struct json_object notes = json_object_new(c->arena);
    char now[TIME_TEXT_SIZE];
    size_t n = time_format_seconds(now, clock_wall_s(clock_real()));

    json_add(&notes, STR("kubectl.kubernetes.io/restartedAt"),
             json_of_str(str_dup(c->arena, (str){ now, n })));
    return resource_change(c, "spec.template.metadata.annotations", json_object_value(&notes),
                           response, st);
}

#define RPCS(X)                                                                                    \
    X("ListInstanceDeployments", &resource_deployments, list, IAM_VIEWER)                          \
    X("ListDeployments", &resource_deployments, list, IAM_VIEWER)                                  \
    X("ListMemberClusterAllDeployments", &resource_deployments, resource_list_promotable,          \
      IAM_VIEWER)                                                                                  \
    X("ListMemberClusterDeployments", &resource_deployments, resource_list_promotable, IAM_VIEWER) \
    X("PromoteMemberClusterDeployment", &resource_deployments, promote_deployment, IAM_EDITOR)     \
    X("CreateDeployment", &resource_deployments, resource_create, IAM_VIEWER)                      \
    X("GetDeployment", &resource_deployments, resource_get, IAM_VIEWER)                            \
    X("GetDeploymentJSON", &resource_deployments, resource_get, IAM_VIEWER)                        \
    X("UpdateDeployment", &resource_deployments, resource_update, IAM_VIEWER)                      \
    X("PatchDeployment", &resource_deployments, resource_patch, IAM_VIEWER)                        \
    X("DeleteDeployment", &resource_deployments, resource_delete, IAM_VIEWER)                      \
    X("PauseDeployment", &resource_deployments, pause, IAM_VIEWER)                                 \
    X("ResumeDeployment", &resource_deployments, resume, IAM_VIEWER)                               \
    X("RestartDeployment", &resource_deployments, restart, IAM_VIEWER)

RESOURCE_SERVICE(apps_service, "Apps", RPCS)
