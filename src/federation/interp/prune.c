/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a kind's object says only for its own cluster, beside what every object says.
 * karmada: pkg/resourceinterpreter/default/native/prune
 */

#include "federation/interp/interp_table.h"

#include "base/banned.h"

/* The object without those members of the one at path. */
static const struct json *without(struct arena *a, const struct json *object, const char *path,
                                  const char *const *names, size_t n)
{
    const struct json *at = json_path(object, path);
    struct json_object o;

    if (!json_is(at, JSON_OBJECT))
        return object;
    o = json_object_from(a, at);
    for (size_t i = 0; i < n; i++)
        json_remove(&o, str_of(names[i]));
    return json_set(a, object, path, json_object_done(&o));
}

#define WITHOUT(a, object, path, ...)                                    \
    without((a), (object), (path), (const char *const[]){ __VA_ARGS__ }, \
            sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

const struct json *prune_deployment(struct arena *a, const struct json *object)
{
    return WITHOUT(a, object, "metadata.annotations", "deployment.kubernetes.io/revision",
                   "deployment.kubernetes.io/revision-history");
}

const struct json *prune_job(struct arena *a, const struct json *object)
{
    if (json_path(object, "spec.ttlSecondsAfterFinished"))
        object = json_set(a, object, "spec.ttlSecondsAfterFinished", NULL);
    if (json_bool(json_path(object, "spec.manualSelector")))
        return object;
    object = WITHOUT(a, object, "spec.selector.matchLabels", "controller-uid",
                     "batch.kubernetes.io/controller-uid");
    return WITHOUT(a, object, "spec.template.metadata.labels", "controller-uid", "job-name",
                   "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name");
}

const struct json *prune_service(struct arena *a, const struct json *object)
{
    const struct json *ip = json_path(object, "spec.clusterIP");

    if (!ip || str_is(json_str(ip), "None"))
        return object;
    return WITHOUT(a, object, "spec", "clusterIP", "clusterIPs");
}

const struct json *prune_secret(struct arena *a, const struct json *object)
{
    if (!str_is(json_get_str(object, "type"), "kubernetes.io/service-account-token"))
        return object;
    object = WITHOUT(a, object, "metadata.annotations", "kubernetes.io/service-account.uid");
    return json_set(a, object, "data", NULL);
}

const struct json *prune_account(struct arena *a, const struct json *object)
{
    str prefix = str_printf(a, "%.*s-token-", STR_ARG(json_get_str(object, "metadata.name")));
    const struct json *secrets = json_get(object, STR("secrets"));
    struct json_array kept = json_array_new(a);

    if (json_len(secrets) == 0)
        return object;
    json_for_each (s, secrets)
        if (!str_starts(json_get_str(s, "name"), prefix))
            json_push(&kept, *s);
    return json_set(a, object, "secrets", kept.n ? json_array_done(&kept) : NULL);
}

const struct json *prune_pvc(struct arena *a, const struct json *object)
{
    return WITHOUT(a, object, "metadata.annotations", "volume.kubernetes.io/selected-node");
}
