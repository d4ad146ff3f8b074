/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Registers each instance in Container Management, as a virtual cluster: the hidden cluster object
 * by which it is indexed.  Both go together: an instance is not gone while it is registered, and it
 * is registered until search has forgotten it.  Search that does not run must not keep it for ever.
 */

#include "base/banned.h"
#include "base/clock.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"

#define FINALIZER "kairship.io/virtual-cluster"

enum { PATIENCE_S = 5, AGAIN_MS = 1000 };

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

static bool is_overdue(struct clock *clock, const struct json *cluster)
{
    int64_t since;

    return !time_parse_seconds(json_get_str(cluster, "metadata.deletionTimestamp"), &since) ||
           clock_wall_s(clock) > since + PATIENCE_S;
}

/* 0: it is gone; or how long to wait. */
static int unregister(struct clock *clock, struct client *client, struct arena *a,
                      const struct client_ref *ref, struct status *st)
{
    const struct json *now;

    if (client_get(client, a, ref, &now, st) == 0) {
        if (is_deleting(now) && !is_overdue(clock, now))
            return AGAIN_MS; /* we hear of its end by our second source */
        if (is_deleting(now))
            return finalizer_remove(client, a, ref, FINALIZER_INDEX, now, st) < 0 ? -1 : AGAIN_MS;
        if (client_delete(client, a, ref, NULL, st) == 0)
            return AGAIN_MS;
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

static int register_it(struct clock *clock, struct client *client, struct arena *a,
                       struct client_ref *ref, str name, const struct json *instance,
                       struct status *st)
{
    const struct json *want = cluster_of(a, name, instance), *spec = json_get(want, STR("spec")),
                      *now;
    struct json_array finalizers = json_array_new(a);

    if (client_get(client, a, ref, &now, st) == 0) {
        if (is_deleting(now)) /* somebody else's doing: it comes back when it has gone */
            return unregister(clock, client, a, ref, st);
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
    json_push(&finalizers, json_of_str(STR(FINALIZER_INDEX)));
    want = json_set(a, want, "metadata.finalizers", json_array_done(&finalizers));
    return client_create(client, a, ref, want, NULL, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = instance_ref(k->name), cluster = REGISTRY_REF;
    const struct json *instance;
    struct clock *clock = arg ? arg : clock_real();
    int rc;

    cluster.name = virtual_cluster_name(a, k->name);
    if (client_get(client, a, &ref, &instance, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (!is_deleting(instance)) {
        if (finalizer_add(client, a, &ref, FINALIZER, &instance, st) < 0)
            return -1;
        return register_it(clock, client, a, &cluster, k->name, instance, st);
    }
    /* While its members are detached its objects still change. */
    if (!finalizer_has(instance, FINALIZER) || finalizer_has(instance, FINALIZER_MEMBERS))
        return 0;
    rc = unregister(clock, client, a, &cluster, st);
    if (rc)
        return rc;
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
    .spec_only = true,
    .finalizer = FINALIZER,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 8,
    .reconcile = reconcile,
};
