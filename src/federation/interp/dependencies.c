/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a pod's spec names: by kind, in the order of the spec.
 * karmada: pkg/util/helper/pod.go; k8s: pkg/api/v1/pod VisitPodSecretNames, VisitPodConfigmapNames
 */

#include "federation/interp/interp_table.h"

#include "base/banned.h"

enum { REFS_MAX = 1000 }; /* more than any pod mounts; what comes after does not follow */

struct refs {
    struct arena *arena;
    struct json_array list;
    str namespace;
    const char *kind;
    const struct json *not_these; /* PersistentVolumeClaims that a StatefulSet makes itself */
};

static void add_ref(struct refs *r, str name)
{
    struct json_object o = json_object_new(r->arena);

    if (name.n == 0 || r->list.n == REFS_MAX)
        return;
    for (uint32_t i = 0; i < r->list.n; i++)
        if (str_is(json_get_str(&r->list.items[i], "kind"), r->kind) &&
            str_eq(json_get_str(&r->list.items[i], "name"), name))
            return;
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("kind"), json_of_str(str_of(r->kind)));
    if (r->namespace.n)
        json_add(&o, STR("namespace"), json_of_str(r->namespace));
    json_add(&o, STR("name"), json_of_str(name));
    json_push(&r->list, json_object_value(&o));
}

static void each_container(struct refs *r, const struct json *pod,
                           void (*visit)(struct refs *, const struct json *))
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        json_for_each (c, json_get(pod, str_of(lists[i])))
            visit(r, c);
}

static void configmaps_of_container(struct refs *r, const struct json *c)
{
    json_for_each (e, json_get(c, STR("envFrom")))
        add_ref(r, json_get_str(e, "configMapRef.name"));
    json_for_each (e, json_get(c, STR("env")))
        add_ref(r, json_get_str(e, "valueFrom.configMapKeyRef.name"));
}

static void configmaps(struct refs *r, const struct json *pod)
{
    r->kind = "ConfigMap";
    each_container(r, pod, configmaps_of_container);
    json_for_each (v, json_get(pod, STR("volumes"))) {
        json_for_each (p, json_path(v, "projected.sources"))
            add_ref(r, json_get_str(p, "configMap.name"));
        add_ref(r, json_get_str(v, "configMap.name"));
    }
}

static void secrets_of_container(struct refs *r, const struct json *c)
{
    json_for_each (e, json_get(c, STR("envFrom")))
        add_ref(r, json_get_str(e, "secretRef.name"));
    json_for_each (e, json_get(c, STR("env")))
        add_ref(r, json_get_str(e, "valueFrom.secretKeyRef.name"));
}

static void secrets_of_volume(struct refs *r, const struct json *v)
{
    static const char *const paths[] = {
        "azureFile.secretName",          "cephfs.secretRef.name", "cinder.secretRef.name",
        "flexVolume.secretRef.name",     "rbd.secretRef.name",    "secret.secretName",
        "scaleIO.secretRef.name",        "iscsi.secretRef.name",  "storageos.secretRef.name",
        "csi.nodePublishSecretRef.name",
    };

    json_for_each (p, json_path(v, "projected.sources"))
        add_ref(r, json_get_str(p, "secret.name"));
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        add_ref(r, json_get_str(v, paths[i]));
}

static void secrets(struct refs *r, const struct json *pod)
{
    r->kind = "Secret";
    json_for_each (s, json_get(pod, STR("imagePullSecrets")))
        add_ref(r, json_get_str(s, "name"));
    each_container(r, pod, secrets_of_container);
    json_for_each (v, json_get(pod, STR("volumes")))
        secrets_of_volume(r, v);
}

static void accounts(struct refs *r, const struct json *pod)
{
    str name = json_get_str(pod, "serviceAccountName");

    r->kind = "ServiceAccount";
    if (!str_is(name, "default"))
        add_ref(r, name);
}

static bool has_name(const struct json *list, str name)
{
    json_for_each (v, list)
        if (str_eq(json_get_str(v, "metadata.name"), name))
            return true;
    return false;
}

static void claims(struct refs *r, const struct json *pod)
{
    r->kind = "PersistentVolumeClaim";
    json_for_each (v, json_get(pod, STR("volumes"))) {
        str name = json_get_str(v, "persistentVolumeClaim.claimName");

        if (!has_name(r->not_these, name))
            add_ref(r, name);
    }
}

const struct json *interp_dependencies(struct arena *a, const struct json *object)
{
    const struct interp_kind *k = interp_kind(object);
    struct refs r = { .arena = a,
                      .list = json_array_new(a),
                      .namespace = json_get_str(object, "metadata.namespace") };
    const struct json *pod;

    if (k && str_is(str_of(k->kind), "Ingress")) {
        r.kind = "Secret";
        json_for_each (t, json_path(object, "spec.tls"))
            add_ref(&r, json_get_str(t, "secretName"));
    }
    if (k && k->pod) {
        pod = json_path(object, k->pod);
        r.not_these = json_path(object, "spec.volumeClaimTemplates");
        configmaps(&r, pod);
        secrets(&r, pod);
        accounts(&r, pod);
        claims(&r, pod);
    }
    return json_array_done(&r.list);
}
