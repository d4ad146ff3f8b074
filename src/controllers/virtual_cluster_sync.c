/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Registers each instance in Container Management, as a virtual cluster: the hidden cluster object
 * by which it is indexed.  Both go together: an instance is not gone while it is registered.
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "controllers/controller.h"
#include "controllers/instance.h"

#define FINALIZER "kairship.io/virtual-cluster"

static const struct json *cluster_of(struct arena *a, str name, const struct json *instance)
{
    const struct json *from = json_path(instance, "spec.attach.kubeconfigSecretRef"),
                      *v = &json_empty_object;
    struct json type = json_of_str(STR("Virtual")), of = json_of_str(name);

    v = json_set(a, v, "spec.type", &type);
    v = json_set(a, v, "spec.instance", &of);
    v = json_set(a, v, "spec.aliasName", json_path(instance, "spec.alias"));
    return from ? json_set(a, v, "spec.secretRef", from) : v;
}

static int register_it(struct client *client, struct arena *a, struct client_ref *ref, str name,
                       const struct json *instance, struct status *st)
{
    const struct json *want = cluster_of(a, name, instance), *spec = json_get(want, STR("spec")),
                      *now;

    if (client_get(client, a, ref, &now, st) == 0) {
        if (json_equal(json_merge_patch(a, json_get(now, STR("spec")), spec),
                       json_get(now, STR("spec"))))
            return 0;
        return client_patch(client, a, ref, CLIENT_PATCH_MERGE, want, NULL, st);
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    want = json_set(a, want, "apiVersion",
                    json_box(a, json_of_str(STR("fleet.kairship.io/v1alpha1"))));
    want = json_set(a, want, "kind", json_box(a, json_of_str(STR("Cluster"))));
    want = json_set(a, want, "metadata.name", json_box(a, json_of_str(ref->name)));
    return client_create(client, a, ref, want, NULL, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = instance_ref(k->name), cluster = REGISTRY_REF;
    const struct json *instance;

    (void)arg;
    cluster.name = virtual_cluster_name(a, k->name);
    if (client_get(client, a, &ref, &instance, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (!is_deleting(instance)) {
        if (finalizer_add(client, a, &ref, FINALIZER, &instance, st) < 0)
            return -1;
        return register_it(client, a, &cluster, k->name, instance, st);
    }
    if (!finalizer_has(instance, FINALIZER))
        return 0;
    if (client_delete(client, a, &cluster, NULL, st) == 0) {
        /* Its index rows go with it; we hear of the end by our second source. */
        if (client_get(client, a, &cluster, NULL, st) == 0)
            return 0;
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return finalizer_remove(client, a, &ref, FINALIZER, instance, st);
}

/* A virtual cluster concerns its instance. */
static void wake_instance(void *arg, struct controller *c, const struct informer_key *k,
                          const struct json *object, bool deleted)
{
    struct informer_key key = { .name = json_get_str(object, "spec.instance") };

    (void)arg;
    if (!key.name.n && deleted && str_starts(k->name, STR("k-")))
        key.name = str_from(k->name, 2);
    if (key.name.n)
        controller_wake(c, &key);
}

static const struct controller_source also[] = {
    { .ref = REGISTRY_REF, .map = wake_instance },
};

const struct controller_spec virtual_cluster_sync_controller = {
    .name = "virtual-cluster-sync",
    .ref = INSTANCE_REF,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 4,
    .reconcile = reconcile,
};
