/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Copies in members: whether they are well, what of their status is of interest, and which of
 * their fields are the member's.
 * karmada: pkg/resourceinterpreter/default/native/{healthy,reflectstatus,retain}.go
 */

#include "federation/interp/interp_table.h"
#include "object/meta/karmada.h"

#include "base/banned.h"

static int64_t number(const struct json *v, const char *path)
{
    return json_int(json_path(v, path), 0);
}

static enum interp_health well(bool yes)
{
    return yes ? INTERP_HEALTHY : INTERP_UNHEALTHY;
}

static bool observed_latest(const struct json *o)
{
    return number(o, "status.observedGeneration") == number(o, "metadata.generation");
}

enum interp_health health_deployment(const struct json *o)
{
    int64_t updated = number(o, "status.updatedReplicas");

    return well(observed_latest(o) && updated >= number(o, "spec.replicas") &&
                number(o, "status.availableReplicas") >= updated);
}

enum interp_health health_replicaset(const struct json *o)
{
    return well(observed_latest(o) &&
                number(o, "status.availableReplicas") >= number(o, "spec.replicas"));
}

enum interp_health health_daemonset(const struct json *o)
{
    int64_t updated = number(o, "status.updatedNumberScheduled");

    return well(observed_latest(o) && updated >= number(o, "status.desiredNumberScheduled") &&
                number(o, "status.numberAvailable") >= updated);
}

enum interp_health health_ingress(const struct json *o)
{
    json_for_each (in, json_path(o, "status.loadBalancer.ingress"))
        if (json_get_str(in, "hostname").n || json_get_str(in, "ip").n)
            return INTERP_HEALTHY;
    return INTERP_UNHEALTHY;
}

enum interp_health health_service(const struct json *o)
{
    if (!str_is(json_get_str(o, "spec.type"), "LoadBalancer"))
        return INTERP_HEALTHY;
    return health_ingress(o);
}

enum interp_health health_pod(const struct json *o)
{
    str phase = json_get_str(o, "status.phase");

    if (str_is(phase, "Succeeded"))
        return INTERP_HEALTHY;
    json_for_each (c, json_path(o, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Ready"))
            return well(str_is(phase, "Running") && str_is(json_get_str(c, "status"), "True"));
    return INTERP_UNHEALTHY;
}

enum interp_health health_pvc(const struct json *o)
{
    return well(str_is(json_get_str(o, "status.phase"), "Bound"));
}

enum interp_health health_pdb(const struct json *o)
{
    return well(number(o, "status.currentHealthy") >= number(o, "status.desiredHealthy"));
}

static const struct json *picked(struct arena *a, const struct json *from, const char *const *names,
                                 size_t n)
{
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < n; i++) {
        const struct json *v = json_get(from, str_of(names[i]));

        if (v && v->type != JSON_NULL)
            json_add(&o, str_of(names[i]), *v);
    }
    return json_object_done(&o);
}

const struct json *reflect_job(struct arena *a, const struct json *observed)
{
    static const char *const names[] = { "active",     "succeeded", "failed",
                                         "conditions", "startTime", "completionTime" };

    return picked(a, json_get(observed, STR("status")), names, sizeof(names) / sizeof(*names));
}

const struct json *reflect_service(struct arena *a, const struct json *observed)
{
    static const char *const names[] = { "loadBalancer" };

    if (!str_is(json_get_str(observed, "spec.type"), "LoadBalancer"))
        return NULL;
    return picked(a, json_get(observed, STR("status")), names, 1);
}

/* desired with what observed has at path, if it has it. */
static const struct json *keep(struct arena *a, const struct json *desired,
                               const struct json *observed, const char *path)
{
    const struct json *v = json_path(observed, path);

    if (!v || v->type == JSON_NULL || (v->type == JSON_STRING && v->n == 0))
        return desired;
    return json_set(a, desired, path, v);
}

/* An autoscaler in the member decides. */
const struct json *retain_deployment(struct arena *a, const struct json *desired,
                                     const struct json *observed)
{
    if (!str_is(karmada_label(desired, KARMADA_RETAIN), "true"))
        return desired;
    return keep(a, desired, observed, "spec.replicas");
}

const struct json *retain_job(struct arena *a, const struct json *desired,
                              const struct json *observed)
{
    desired = keep(a, desired, observed, "spec.selector.matchLabels");
    return keep(a, desired, observed, "spec.template.metadata.labels");
}

/* Each container of desired with the mounts of observed's of the same name. */
static const struct json *keep_mounts(struct arena *a, const struct json *desired,
                                      const struct json *observed, const char *path)
{
    struct json_array list = json_array_new(a);

    if (json_len(json_path(desired, path)) == 0)
        return desired;
    json_for_each (c, json_path(desired, path)) {
        const struct json *one = c;

        json_for_each (o, json_path(observed, path))
            if (json_is(c, JSON_OBJECT) &&
                str_eq(json_get_str(o, "name"), json_get_str(c, "name"))) {
                one = json_set(a, c, "volumeMounts", json_get(o, STR("volumeMounts")));
                break;
            }
        json_push(&list, *one);
    }
    return json_set(a, desired, path, json_array_done(&list));
}

const struct json *retain_pod(struct arena *a, const struct json *desired,
                              const struct json *observed)
{
    desired = keep(a, desired, observed, "spec.nodeName");
    desired = keep(a, desired, observed, "spec.serviceAccountName");
    desired = keep(a, desired, observed, "spec.volumes");
    desired = keep_mounts(a, desired, observed, "spec.containers");
    return keep_mounts(a, desired, observed, "spec.initContainers");
}

/* A port that the template leaves to the member stays as the member has chosen it. */
static const struct json *keep_node_ports(struct arena *a, const struct json *desired,
                                          const struct json *observed)
{
    struct json_array list = json_array_new(a);

    if (json_len(json_path(desired, "spec.ports")) == 0)
        return desired;
    json_for_each (p, json_path(desired, "spec.ports")) {
        const struct json *one = p;

        json_for_each (o, json_path(observed, "spec.ports"))
            if (json_is(p, JSON_OBJECT) && number(p, "nodePort") == 0 &&
                number(o, "nodePort") > 0 && number(o, "port") == number(p, "port") &&
                str_eq(json_get_str(o, "protocol"), json_get_str(p, "protocol"))) {
                one = json_set(a, p, "nodePort", json_get(o, STR("nodePort")));
                break;
            }
        json_push(&list, *one);
    }
    return json_set(a, desired, "spec.ports", json_array_done(&list));
}

const struct json *retain_service(struct arena *a, const struct json *desired,
                                  const struct json *observed)
{
    str type = json_get_str(desired, "spec.type");

    if (number(observed, "spec.healthCheckNodePort") > 0)
        desired = keep(a, desired, observed, "spec.healthCheckNodePort");
    desired = keep(a, desired, observed, "spec.clusterIP");
    if (str_is(type, "NodePort") || str_is(type, "LoadBalancer"))
        desired = keep_node_ports(a, desired, observed);
    return desired;
}

/* desired's list of names, and those of observed's that it lacks. */
static const struct json *keep_names(struct arena *a, const struct json *desired,
                                     const struct json *observed, const char *list)
{
    const struct json *want = json_get(desired, str_of(list));
    struct json_array all = json_array_new(a);

    json_for_each (s, want)
        json_push(&all, *s);
    json_for_each (s, json_get(observed, str_of(list))) {
        bool there = false;

        for (uint32_t i = 0; i < all.n && !there; i++)
            there = str_eq(json_get_str(&all.items[i], "name"), json_get_str(s, "name"));
        if (!there)
            json_push(&all, *s);
    }
    return all.n ? json_set(a, desired, list, json_array_done(&all)) : desired;
}

const struct json *retain_account(struct arena *a, const struct json *desired,
                                  const struct json *observed)
{
    desired = keep_names(a, desired, observed, "secrets");
    return keep_names(a, desired, observed, "imagePullSecrets");
}

const struct json *retain_pv(struct arena *a, const struct json *desired,
                             const struct json *observed)
{
    return keep(a, desired, observed, "spec.claimRef");
}

const struct json *retain_pvc(struct arena *a, const struct json *desired,
                              const struct json *observed)
{
    return keep(a, desired, observed, "spec.volumeName");
}

const struct json *retain_secret(struct arena *a, const struct json *desired,
                                 const struct json *observed)
{
    if (!str_is(json_get_str(desired, "type"), "kubernetes.io/service-account-token"))
        return desired;
    return keep(a, desired, observed, "data");
}
