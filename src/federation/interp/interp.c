/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interp/interp_table.h"
#include "object/meta/karmada.h"

#include "base/banned.h"

static int64_t count_replicas(const struct json *object)
{
    return json_int(json_path(object, "spec.replicas"), 0);
}

static int64_t count_job(const struct json *object)
{
    int64_t parallel = json_int(json_path(object, "spec.parallelism"), 0);
    int64_t wanted = json_int(json_path(object, "spec.completions"), parallel);

    return parallel > wanted ? wanted : parallel; /* no more than that ever run at once */
}

static int64_t count_pod(const struct json *object)
{
    (void)object;
    return 1;
}

static const struct interp_kind kinds[] = {
    { .group = "apps",
      .kind = "Deployment",
      .pod = "spec.template.spec",
      .replicas = "spec.replicas",
      .count = count_replicas,
      .health = health_deployment,
      .counters = { { "replicas", false, NULL },
                    { "updatedReplicas", false, NULL },
                    { "readyReplicas", false, "" },
                    { "availableReplicas", false, "" },
                    { "unavailableReplicas", false, "replicas" } },
      .generations = true,
      .rollout = true,
      .aggregate = aggregate_counters,
      .retain = retain_deployment,
      .prune = prune_deployment },
    { .group = "apps",
      .kind = "StatefulSet",
      .pod = "spec.template.spec",
      .replicas = "spec.replicas",
      .count = count_replicas,
      .health = health_deployment,
      .counters = { { "replicas", true, NULL },
                    { "readyReplicas", false, "" },
                    { "currentReplicas", false, NULL },
                    { "updatedReplicas", false, NULL },
                    { "availableReplicas", true, "" } },
      .generations = true,
      .aggregate = aggregate_counters },
    { .group = "apps",
      .kind = "ReplicaSet",
      .pod = "spec.template.spec",
      .replicas = "spec.replicas",
      .count = count_replicas,
      .health = health_replicaset,
      .counters = { { "replicas", true, NULL },
                    { "readyReplicas", false, "" },
                    { "availableReplicas", false, "" } },
      .generations = true,
      .aggregate = aggregate_counters },
    { .group = "apps",
      .kind = "DaemonSet",
      .pod = "spec.template.spec",
      .health = health_daemonset,
      .counters = { { "currentNumberScheduled", true, NULL },
                    { "numberMisscheduled", true, NULL },
                    { "desiredNumberScheduled", true, NULL },
                    { "numberReady", true, "" },
                    { "updatedNumberScheduled", false, NULL },
                    { "numberAvailable", false, "" },
                    { "numberUnavailable", false, "desiredNumberScheduled" } },
      .generations = true,
      .aggregate = aggregate_counters },
    { .group = "batch",
      .kind = "Job",
      .pod = "spec.template.spec",
      .replicas = "spec.parallelism",
      .count = count_job,
      .reflect = reflect_job,
      .aggregate = aggregate_job,
      .retain = retain_job,
      .prune = prune_job },
    { .group = "batch",
      .kind = "CronJob",
      .pod = "spec.jobTemplate.spec.template.spec",
      .aggregate = aggregate_cronjob },
    { .group = "",
      .kind = "Pod",
      .pod = "spec",
      .count = count_pod,
      .health = health_pod,
      .aggregate = aggregate_pod,
      .retain = retain_pod },
    { .group = "",
      .kind = "Service",
      .health = health_service,
      .reflect = reflect_service,
      .aggregate = aggregate_service,
      .retain = retain_service,
      .prune = prune_service },
    { .group = "networking.k8s.io",
      .kind = "Ingress",
      .health = health_ingress,
      .aggregate = aggregate_ingress },
    { .group = "", .kind = "PersistentVolume", .aggregate = aggregate_pv, .retain = retain_pv },
    { .group = "",
      .kind = "PersistentVolumeClaim",
      .health = health_pvc,
      .aggregate = aggregate_pvc,
      .retain = retain_pvc,
      .prune = prune_pvc },
    { .group = "policy",
      .kind = "PodDisruptionBudget",
      .health = health_pdb,
      .counters = { { "currentHealthy", true, "" },
                    { "desiredHealthy", true, NULL },
                    { "disruptionsAllowed", true, "" },
                    { "expectedPods", true, NULL } },
      .aggregate = aggregate_counters },
    { .group = "autoscaling",
      .kind = "HorizontalPodAutoscaler",
      .counters = { { "currentReplicas", false, NULL }, { "desiredReplicas", true, NULL } },
      .aggregate = aggregate_counters },
    { .group = "", .kind = "ServiceAccount", .retain = retain_account, .prune = prune_account },
    { .group = "", .kind = "Secret", .retain = retain_secret, .prune = prune_secret },
};

const struct interp_kind *interp_kind(const struct json *object)
{
    str kind = json_get_str(object, "kind"), version = json_get_str(object, "apiVersion");
    ptrdiff_t slash = str_find(version, '/', 0);
    str group = slash < 0 ? STR_NONE : str_sub(version, 0, (size_t)slash);

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (str_is(kind, kinds[i].kind) && str_is(group, kinds[i].group))
            return &kinds[i];
    return NULL;
}

bool interp_replicas(struct arena *a, const struct json *object, struct interp_replicas *out)
{
    const struct interp_kind *k = interp_kind(object);

    if (!k || !k->count)
        return false;
    *out = (struct interp_replicas){ .replicas = k->count(object),
                                     .requirements =
                                         interp_requirements(a, json_path(object, k->pod)) };
    return true;
}

const struct json *interp_revise(struct arena *a, const struct json *object, int64_t replicas)
{
    const struct interp_kind *k = interp_kind(object);

    if (!k || !k->replicas)
        return object;
    return json_set(a, object, k->replicas, json_box(a, json_of_int(replicas)));
}

const struct json *interp_aggregate(struct arena *a, const struct json *object,
                                    const struct json *aggregated, const struct interp_moment *m)
{
    const struct interp_kind *k = interp_kind(object);
    const struct json *now;

    if (!k || !k->aggregate)
        return NULL;
    now = k->aggregate(a, object, aggregated);
    if (now && k->generations)
        now = aggregate_conditions(a, object, now, aggregated, m);
    return now && !json_equal(now, json_get(object, STR("status"))) ? now : NULL;
}

enum interp_health interp_health(const struct json *observed)
{
    const struct interp_kind *k = interp_kind(observed);

    return k && k->health ? k->health(observed) : INTERP_HEALTHY;
}

const char *interp_health_name(enum interp_health h)
{
    static const char *const names[] = { "Healthy", "Unhealthy", "Unknown" };

    return names[h];
}

static void add_generation(struct json_object *o, const char *name, int64_t n)
{
    if (n)
        json_add(o, str_of(name), json_of_int(n));
}

/* Which revision of its own spec, and of the template, the member's numbers are of. */
static void add_generations(struct json_object *o, const struct json *observed)
{
    int64_t of_template = 0;

    (void)str_to_i64(karmada_annotation(observed, KARMADA_TEMPLATE_GENERATION), &of_template);
    add_generation(o, "generation", json_int(json_path(observed, "metadata.generation"), 0));
    add_generation(o, "resourceTemplateGeneration", of_template);
    add_generation(o, "observedGeneration",
                   json_int(json_path(observed, "status.observedGeneration"), 0));
}

const struct json *interp_reflect(struct arena *a, const struct json *observed)
{
    const struct interp_kind *k = interp_kind(observed);
    const struct json *status = json_get(observed, STR("status"));
    struct json_object o;

    if (!json_is(status, JSON_OBJECT))
        return NULL;
    if (k && k->reflect)
        return k->reflect(a, observed);
    if (!k || !k->counters[0].name)
        return status;
    o = json_object_new(a);
    for (const struct interp_counter *c = k->counters; c->name; c++) {
        int64_t n = json_int(json_get(status, str_of(c->name)), 0);

        if (n || c->always)
            json_add(&o, str_of(c->name), json_of_int(n));
    }
    if (k->generations)
        add_generations(&o, observed);
    if (k->rollout)
        reflect_stuck(a, &o, status);
    return json_object_done(&o);
}

const struct json *interp_retain(struct arena *a, const struct json *desired,
                                 const struct json *observed)
{
    const struct interp_kind *k = interp_kind(desired);

    return k && k->retain ? k->retain(a, desired, observed) : desired;
}

const struct json *interp_prune(struct arena *a, const struct json *object)
{
    static const char *const paths[] = {
        "metadata.creationTimestamp",
        "metadata.deletionTimestamp",
        "metadata.deletionGracePeriodSeconds",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.resourceVersion",
        "metadata.selfLink",
        "metadata.uid",
        "metadata.ownerReferences",
        "metadata.finalizers",
        "status",
    };
    const struct interp_kind *k = interp_kind(object);

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (json_path(object, paths[i]))
            object = json_set(a, object, paths[i], NULL);
    return k && k->prune ? k->prune(a, object) : object;
}
