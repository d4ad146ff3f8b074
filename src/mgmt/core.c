/* SPDX-License-Identifier: Apache-2.0 */

/* Service Core: configuration, and the table of all of it. */

#include "base/banned.h"
#include "mgmt/resource.h"

#define CORE_REF(name)                                        \
    {                                                         \
        .version = STR_INIT("v1"), .resource = STR_INIT(name) \
    }

/* ---- configuration ---- */

const struct resource resource_configmaps = {
    .ref = CORE_REF("configmaps"),
    .kind = "ConfigMap",
    .spreads = true,
};

/*
 * The index has no values of Secrets, and lists show keys only: one Secret is the only thing that
 * is read from the instance, with the rights of the person who asks, and noted in its audit log.
 */
static int secrets_get(struct resource_call *c, const struct json **response, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, c->name);
    struct client_request req = client_request_get(c->arena, &ref);
    const struct json *obj;

    if (mgmt_do(c->p, c->ctx, &req, &obj, st) < 0)
        return -1;
    return resource_answer(c, obj, response, st);
}

/* A list, or a form that was made from one, has no values: a key without one keeps the one it has,
 * and so do all where the message does not speak of them. */
static int keep_values(struct resource_call *c, const struct json **obj, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, c->name);
    struct client_request req = client_request_get(c->arena, &ref);
    struct json_object data = json_object_new(c->arena);
    const struct json *given = json_get(*obj, STR("data")), *now;

    if (mgmt_do(c->p, c->ctx, &req, &now, st) < 0)
        return -1;
    if (!json_is(given, JSON_OBJECT) && !json_get(*obj, STR("stringData"))) {
        *obj = json_set(c->arena, *obj, "data", json_get(now, STR("data")));
        return 0;
    }
    json_for_each_member (m, given) {
        const struct json *old = json_get(json_get(now, STR("data")), m->name);

        json_add(&data, m->name,
                 json_is(&m->value, JSON_STRING) && m->value.n == 0 && old ? *old : m->value);
    }
    *obj = json_set(c->arena, *obj, "data", json_object_done(&data));
    return 0;
}

const struct resource resource_secrets = {
    .ref = CORE_REF("secrets"),
    .kind = "Secret",
    .spreads = true,
    .before_update = keep_values,
};

/* ---- the table ---- */

#define ONE(X, Kind, what, get, least)             \
    X("Create" Kind, what, resource_create, least) \
    X("Get" Kind, what, get, least)                \
    X("Get" Kind "JSON", what, get, least)         \
    X("Update" Kind, what, resource_update, least) \
    X("Patch" Kind, what, resource_patch, least)   \
    X("Delete" Kind, what, resource_delete, least)

#define RPCS(X)                                                                                    \
    X("CreateNamespace", &resource_namespaces, resource_create, IAM_VIEWER)                        \
    X("GetNamespace", &resource_namespaces, namespaces_get, IAM_VIEWER)                            \
    X("GetNamespaceJSON", &resource_namespaces, namespaces_get, IAM_VIEWER)                        \
    X("UpdateNamespace", &resource_namespaces, resource_update, IAM_VIEWER)                        \
    X("PatchNamespace", &resource_namespaces, resource_patch, IAM_VIEWER)                          \
    X("DeleteNamespace", &resource_namespaces, resource_delete, IAM_VIEWER)                        \
    X("ListNamespaces", &resource_namespaces, namespaces_list, IAM_VIEWER)                         \
    X("ListNamespaceSummary", &resource_namespaces, namespaces_summary, IAM_VIEWER)                \
    X("ListMemberClusterNamespaceSummary", &resource_namespaces, namespaces_of_member, IAM_VIEWER) \
    ONE(X, "ConfigMap", &resource_configmaps, resource_get, IAM_VIEWER)                            \
    X("ListConfigMaps", &resource_configmaps, resource_list, IAM_VIEWER)                           \
    X("ListInstanceConfigMaps", &resource_configmaps, resource_list, IAM_VIEWER)                   \
    ONE(X, "Secret", &resource_secrets, secrets_get, IAM_EDITOR)                                   \
    X("ListSecrets", &resource_secrets, resource_list, IAM_EDITOR)                                 \
    X("ListInstanceSecrets", &resource_secrets, resource_list, IAM_EDITOR)                         \
    X("ListSecretsForMemberCluster", &resource_secrets, resource_list_member, IAM_EDITOR)          \
    ONE(X, "Service", &resource_services, resource_get, IAM_VIEWER)                                \
    X("ListServices", &resource_services, services_list, IAM_VIEWER)                               \
    X("ListInstanceServices", &resource_services, services_list, IAM_VIEWER)                       \
    X("ListServicesForMemberCluster", &resource_services, services_of_member, IAM_VIEWER)          \
    X("ListMemberClusterServices", &resource_services, services_to_promote, IAM_VIEWER)            \
    X("ListMemberClusterAllServices", &resource_services, services_to_promote, IAM_VIEWER)         \
    X("CreateWorkloadService", &resource_services, services_create_for_workload, IAM_VIEWER)       \
    X("PromoteMemberClusterService", &resource_services, promote_service, IAM_EDITOR)              \
    X("ListPodsForMemberCluster", &resource_pods, pods_of_member, IAM_VIEWER)                      \
    X("ListEvents", &resource_events, events_list, IAM_VIEWER)                                     \
    X("ListInstanceEvents", &resource_events, events_list, IAM_VIEWER)                             \
    X("ListInstanceEventKinds", &resource_events, events_kinds, IAM_VIEWER)

RESOURCE_SERVICE(core_service, "Core", RPCS)
