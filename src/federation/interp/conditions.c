/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Conditions of a template: Available and Progressing of a Deployment, which Karmada does not set
 * and clients wait for, and of any workload that clusters are silent which have a part of it.
 * k8s: pkg/controller/deployment/sync.go syncDeploymentStatus, progress.go syncRolloutStatus,
 * util/deployment_util.go MaxUnavailable
 */

#include "base/banned.h"
#include "base/clock.h"
#include "federation/interp/interp_table.h"
#include "object/meta/amounts.h"
#include "object/meta/condition.h"

enum { NAMES_MAX = 10 }; /* clusters that a message names */

#define DEADLINE_EXCEEDED "ProgressDeadlineExceeded"
#define NEWEST_AVAILABLE  "NewReplicaSetAvailable"

static int64_t number(const struct json *v, const char *path)
{
    return json_int(json_path(v, path), 0);
}

/* ---- silent clusters ---- */

static str names_of(struct arena *a, const struct json *aggregated, str *oldest)
{
    str names = STR_NONE;
    size_t n = 0;

    json_for_each (item, aggregated) {
        str since = json_get_str(item, INTERP_UNKNOWN_SINCE);

        if (!since.n)
            continue;
        if (!oldest->n || str_cmp(since, *oldest) < 0)
            *oldest = since;
        if (n++ < NAMES_MAX)
            names = str_printf(a, "%.*s%s%.*s (since %.*s)", STR_ARG(names), n > 1 ? ", " : "",
                               STR_ARG(json_get_str(item, "clusterName")), STR_ARG(since));
    }
    if (n > NAMES_MAX)
        return str_printf(a, "%.*s and %zu more are", STR_ARG(names), n - NAMES_MAX);
    return n ? str_printf(a, "%.*s %s", STR_ARG(names), n > 1 ? "are" : "is") : names;
}

const struct json *interp_unknown(struct arena *a, const struct json *all,
                                  const struct json *aggregated)
{
    struct condition c = { .type = INTERP_STATUS_UNKNOWN,
                           .status = "True",
                           .reason = "ClusterNotReady" };
    str oldest = STR_NONE, names = names_of(a, aggregated, &oldest), was;
    int64_t since_s = 0;

    if (!names.n)
        return condition_remove(a, all, INTERP_STATUS_UNKNOWN);
    c.message = str_printf(
        a, "%.*s not Ready: what runs there is not known, and stays unless failover moves it",
        STR_ARG(names));
    (void)time_parse_seconds(oldest, &since_s);
    was = json_get_str(condition_find(all, INTERP_STATUS_UNKNOWN), "lastTransitionTime");
    if (!str_eq(was, oldest)) /* when it began, not when it was noticed */
        all = condition_remove(a, all, INTERP_STATUS_UNKNOWN);
    return condition_set(a, all, &c, since_s);
}

/* ---- Available ---- */

/* Of so many replicas; k8s: ResolveFenceposts */
static int64_t may_be_away(const struct json *deployment, int64_t replicas)
{
    const struct json *rolling = json_path(deployment, "spec.strategy.rollingUpdate");
    int64_t surge, away;

    if (!str_is(json_get_str(deployment, "spec.strategy.type"), "RollingUpdate"))
        return 0;
    surge = amounts_int_or_percent(json_get(rolling, STR("maxSurge")), replicas, true, 1);
    away = amounts_int_or_percent(json_get(rolling, STR("maxUnavailable")), replicas, false, 0);
    if (surge == 0 && away == 0)
        away = 1;
    if (away < 0)
        away = 0;
    return away > replicas ? replicas : away;
}

static struct condition available(const struct json *deployment, const struct json *status,
                                  int64_t wanted)
{
    bool enough = number(status, "availableReplicas") >= wanted - may_be_away(deployment, wanted);

    return (struct condition){
        .type = "Available",
        .status = enough ? "True" : "False",
        .reason = enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
        .message = enough ? STR("Deployment has minimum availability.")
                          : STR("Deployment does not have minimum availability."),
        .updates = true,
    };
}

/* ---- Progressing ---- */

/* A copy that does not get on: its condition Progressing, or NULL. */
static const struct json *stuck(const struct json *status)
{
    const struct json *c = condition_find(json_get(status, STR("conditions")), "Progressing");

    return str_is(json_get_str(c, "status"), "False") &&
                   str_is(json_get_str(c, "reason"), DEADLINE_EXCEEDED)
               ? c
               : NULL;
}

void reflect_stuck(struct arena *a, struct json_object *o, const struct json *status)
{
    const struct json *c = stuck(status);
    struct json_array list = json_array_new(a);

    if (!c)
        return;
    json_push(&list, *c);
    json_add(o, STR("conditions"), json_array_value(&list));
}

static str stuck_in(struct arena *a, const struct json *aggregated)
{
    str names = STR_NONE;
    size_t n = 0;

    json_for_each (item, aggregated)
        if (stuck(json_get(item, STR("status"))) && n++ < NAMES_MAX)
            names = str_printf(a, "%.*s%s%.*s", STR_ARG(names), n > 1 ? ", " : "",
                               STR_ARG(json_get_str(item, "clusterName")));
    return names;
}

static bool all_healthy(const struct json *aggregated)
{
    json_for_each (item, aggregated)
        if (!str_is(json_get_str(item, "health"), "Healthy"))
            return false;
    return true;
}

/* No old replica is left. */
static bool is_replaced(const struct json *status)
{
    return number(status, "replicas") == number(status, "updatedReplicas");
}

/* Complete once, it stays so until the next rollout, whatever happens to its pods. */
static bool is_complete(const struct json *deployment, const struct json *status,
                        const struct json *aggregated, int64_t wanted)
{
    const struct json *was =
        condition_find(json_path(deployment, "status.conditions"), "Progressing");

    if (!is_replaced(status))
        return false;
    if (str_is(json_get_str(was, "reason"), NEWEST_AVAILABLE))
        return true;
    return number(status, "observedGeneration") >= number(deployment, "metadata.generation") &&
           number(status, "updatedReplicas") >= wanted &&
           number(status, "availableReplicas") >= number(status, "updatedReplicas") &&
           all_healthy(aggregated);
}

static struct condition progressing(struct arena *a, const struct json *deployment,
                                    const struct json *status, const struct json *aggregated,
                                    int64_t wanted)
{
    struct condition c = { .type = "Progressing", .status = "True", .updates = true };
    str name = json_get_str(deployment, "metadata.name"), where = stuck_in(a, aggregated);

    if (where.n) {
        c.status = "False";
        c.reason = DEADLINE_EXCEEDED;
        c.message = str_printf(a, "Deployment \"%.*s\" has timed out progressing in %.*s.",
                               STR_ARG(name), STR_ARG(where));
    } else if (json_bool(json_path(deployment, "spec.paused"))) {
        c.status = "Unknown";
        c.reason = "DeploymentPaused";
        c.message = STR("Deployment is paused");
    } else if (is_complete(deployment, status, aggregated, wanted)) {
        c.reason = NEWEST_AVAILABLE;
        c.message =
            str_printf(a, "Deployment \"%.*s\" has successfully progressed.", STR_ARG(name));
    } else {
        c.reason = "ReplicaSetUpdated";
        c.message = str_printf(a, "Deployment \"%.*s\" is progressing.", STR_ARG(name));
    }
    return c;
}

/* ---- both ---- */

/* Without a deadline there is no Progressing, as there is none in a cluster. */
static const struct json *of_rollout(struct arena *a, const struct json *deployment,
                                     const struct json *status, const struct json *aggregated,
                                     const struct interp_moment *m)
{
    const struct json *all = json_get(status, STR("conditions"));
    const struct json *replicas = json_path(deployment, "spec.replicas");
    const struct json *deadline = json_path(deployment, "spec.progressDeadlineSeconds");
    int64_t wanted = m->wanted;
    struct condition c;

    if (!json_is(replicas, JSON_INT) || replicas->i < 0)
        return all;
    if (wanted < replicas->i)
        wanted = replicas->i;
    c = available(deployment, status, wanted);
    all = condition_set(a, all, &c, m->now_s);
    if (!json_is(deadline, JSON_INT) || deadline->i >= INT32_MAX)
        return condition_remove(a, all, "Progressing");
    c = progressing(a, deployment, status, aggregated, wanted);
    return condition_set(a, all, &c, m->now_s);
}

const struct json *aggregate_conditions(struct arena *a, const struct json *object,
                                        const struct json *status, const struct json *aggregated,
                                        const struct interp_moment *m)
{
    const struct json *was = json_get(status, STR("conditions")), *all = was;

    if (interp_kind(object)->rollout)
        all = of_rollout(a, object, status, aggregated, m);
    all = interp_unknown(a, all, aggregated);
    if (all == was)
        return status;
    return json_set(a, status, "conditions", json_len(all) ? all : NULL);
}
