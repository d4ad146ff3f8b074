/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PersistentVolumeClaims: each gets a volume of its own, of the size that it asks for; but one that
 * names a StorageClass waits until there is such a class.
 */

#include "base/banned.h"
#include "sim/state.h"

enum { RECHECK_MS = 10000 };

/* 1 if its class has volumes. */
static int is_served(struct client *client, struct arena *a, const struct informer_key *k,
                     const struct json *claim, struct status *st)
{
    struct informer_key at = { .instance = k->instance,
                               .name = json_get_str(claim, "spec.storageClassName") };
    struct client_ref ref = obj_ref(&at, "storage.k8s.io", "storageclasses");
    const struct json *class;

    return at.name.n ? obj_get(client, a, &ref, &class, st) : 1;
}

static const struct json *volume_for(struct arena *a, const struct informer_key *k,
                                     const struct json *claim, str name)
{
    const struct json *v = obj_of(a, "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\","
                                     "\"spec\":{\"persistentVolumeReclaimPolicy\":\"Delete\","
                                     "\"hostPath\":{\"path\":\"/simulated\"},\"claimRef\":{"
                                     "\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\"}}}");
    static const char *const copied[][2] = { { "spec.accessModes", "spec.accessModes" },
                                             { "spec.resources.requests", "spec.capacity" },
                                             { "spec.storageClassName", "spec.storageClassName" } };

    v = obj_set_str(a, v, "metadata.name", name);
    v = obj_set_str(a, v, "spec.claimRef.namespace", k->namespace);
    v = obj_set_str(a, v, "spec.claimRef.name", k->name);
    v = obj_set_str(a, v, "spec.claimRef.uid", obj_uid(claim));
    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++)
        if (json_path(claim, copied[i][0]))
            v = json_set(a, v, copied[i][1], json_path(claim, copied[i][0]));
    return v;
}

static int ensure_volume(struct client *client, struct arena *a, const struct informer_key *k,
                         const struct json *claim, str name, struct status *st)
{
    struct informer_key at = { .instance = k->instance, .name = name };
    struct client_ref ref = obj_ref(&at, "", "persistentvolumes");
    const struct json *v;
    int found = obj_get(client, a, &ref, &v, st);

    if (found < 0)
        return -1;
    if (!found) {
        struct client_ref all = ref;

        all.name = STR_NONE;
        if (client_create(client, a, &all, volume_for(a, k, claim, name), &v, st) < 0)
            return -1;
    }
    return obj_put_status(client, a, ref, v,
                          obj_set_str(a, &json_empty_object, "phase", STR("Bound")), st);
}

static int bind_claim(struct client *client, struct arena *a, const struct informer_key *k,
                      const struct json *claim, struct status *st)
{
    struct client_ref ref = obj_ref(k, "", "persistentvolumeclaims");
    str name = json_get_str(claim, "spec.volumeName");
    const struct json *status = obj_set_str(a, &json_empty_object, "phase", STR("Bound"));

    if (!name.n) {
        name = str_printf(a, "pvc-%.*s", STR_ARG(obj_uid(claim)));
        if (client_patch(client, a, &ref, CLIENT_PATCH_MERGE,
                         obj_set_str(a, &json_empty_object, "spec.volumeName", name), &claim,
                         st) < 0)
            return -1;
    }
    if (ensure_volume(client, a, k, claim, name, st) < 0)
        return -1;
    if (json_path(claim, "spec.accessModes"))
        status = json_set(a, status, "accessModes", json_path(claim, "spec.accessModes"));
    if (json_path(claim, "spec.resources.requests"))
        status = json_set(a, status, "capacity", json_path(claim, "spec.resources.requests"));
    return obj_put_status(client, a, ref, claim, status, st);
}

/* Its volume goes with it: it was for this claim only. */
static int unbind(struct client *client, struct arena *a, const struct informer_key *k,
                  struct status *st)
{
    struct informer_key all = { .instance = k->instance };
    struct client_ref ref = obj_ref(&all, "", "persistentvolumes");
    const struct json *list;

    if (client_list(client, a, &ref, NULL, &list, st) < 0)
        return -1;
    json_for_each (v, json_get(list, STR("items"))) {
        const struct json *of = json_path(v, "spec.claimRef");

        ref.name = obj_name(v);
        if (str_eq(json_get_str(of, "name"), k->name) &&
            str_eq(json_get_str(of, "namespace"), k->namespace) &&
            str_is(json_get_str(v, "spec.hostPath.path"), "/simulated") &&
            obj_delete(client, a, &ref, obj_uid(v), -1, st) < 0)
            return -1;
    }
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref(k, "", "persistentvolumeclaims");
    const struct json *claim;
    int found = obj_get(client, a, &ref, &claim, st);

    (void)arg;
    if (found <= 0)
        return found < 0 ? -1 : unbind(client, a, k, st);
    if (obj_deleting(claim) || str_is(json_get_str(claim, "status.phase"), "Bound"))
        return 0;
    found = is_served(client, a, k, claim, st);
    if (found <= 0)
        return found < 0 ? -1 : RECHECK_MS;
    return bind_claim(client, a, k, claim, st);
}

const struct controller_spec sim_claims = {
    .name = "simulated-claims",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("persistentvolumeclaims") },
    .reconcile = reconcile,
};
