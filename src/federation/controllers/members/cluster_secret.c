/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/cluster_secret.h"

#include "base/banned.h"
#include "base/encode.h"

static const struct json *owner(struct arena *a, const struct json *cluster)
{
    struct json_object o = json_object_new(a);
    struct json_array owners = json_array_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(STR("workload.kcp.dev/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("Cluster")));
    json_add(&o, STR("name"), json_of_str(json_get_str(cluster, "metadata.name")));
    json_add(&o, STR("uid"), json_of_str(json_get_str(cluster, "metadata.uid")));
    json_push(&owners, json_object_value(&o));
    return json_array_done(&owners);
}

static const struct json *secret_of_cluster(struct arena *a, const struct client_ref *ref,
                                            const struct json *cluster, str data)
{
    struct json_object meta = json_object_new(a), o = json_object_new(a);
    struct json text = json_of_str(data);

    json_add(&meta, STR("name"), json_of_str(ref->name));
    json_add(&meta, STR("namespace"), json_of_str(ref->namespace));
    json_add(&meta, STR("ownerReferences"), *owner(a, cluster));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("kind"), json_of_str(STR("Secret")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    return json_set(a, json_object_done(&o), "data.kubeconfig", &text);
}

int cluster_secret_keep(struct client *client, struct arena *a, str instance,
                        const struct json *cluster, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .version = STR("v1"),
                              .resource = STR("secrets"),
                              .namespace = STR("kube-system"),
                              .name = str_printf(a, "cluster-%.*s",
                                                 STR_ARG(json_get_str(cluster, "metadata.name"))) };
    str data = base64_encode(a, BASE64_GO, json_get_str(cluster, "spec.kubeconfig"));
    const struct json *now = NULL;

    if (client_get(client, a, &ref, &now, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    if (now && str_eq(json_get_str(now, "data.kubeconfig"), data) &&
        json_equal(json_path(now, "metadata.ownerReferences"), owner(a, cluster)))
        return 0;
    status_reset(st);
    return client_apply(client, a, &ref, STR("kairship"), secret_of_cluster(a, &ref, cluster, data),
                        NULL, st);
}
