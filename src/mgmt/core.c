/* SPDX-License-Identifier: Apache-2.0 */

/* Service Core: namespaces, configuration, and the table of all of it. */

#include "base/banned.h"
#include "mgmt/resource.h"

#define CORE_REF(name)                                        \
    {                                                         \
        .version = STR_INIT("v1"), .resource = STR_INIT(name) \
    }

/* ---- namespaces ---- */

static const struct resource workloads[] = {
    { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("deployments") } },
    { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("statefulsets") } },
    { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("daemonsets") } },
    { .ref = { .group = STR_INIT("batch"), .resource = STR_INIT("jobs") } },
    { .ref = { .group = STR_INIT("batch"), .resource = STR_INIT("cronjobs") } },
};

/* With it, everything would go that is in it, in every member. */
static int refuse_full(struct resource_call *c, struct status *st)
{
    const struct json *obj;

    if (resource_read(c, c->what, STR_NONE, c->name, &obj, st) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++) {
        struct search_find f = resource_find(c, &workloads[i]);
        uint64_t n;

        f.namespaces = &c->name;
        f.nnamespaces = 1;
        if (search_count(c->p->search, c->arena, &f, &n, st) < 0)
            return -1;
        if (n)
            return status_conflict(st, c->what->ref.group, c->what->ref.resource, c->name,
                                   "the namespace has %llu %.*s; delete them first",
                                   (unsigned long long)n, STR_ARG(workloads[i].ref.resource));
    }
    return 0;
}

const struct resource resource_namespaces = {
    .ref = CORE_REF("namespaces"),
    .kind = "Namespace",
    .cluster_scoped = true,
    .before_delete = refuse_full,
};

/* All of them, with nothing but their names. */
static int summarize(struct resource_call *c, const char *cluster, const struct json **response,
                     struct status *st)
{
    struct search_find f = resource_find(c, c->what);
    struct json_object o = json_object_new(c->arena);
    struct json_array list = json_array_new(c->arena);
    const struct json **objects;
    size_t n;

    f.limit = 10000;
    if (resource_search(c, &f, &objects, &n, NULL, st) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct json_object one = json_object_new(c->arena);

        mgmt_copy(&one, "name", objects[i], "metadata.name");
        mgmt_copy_str(&one, "instance", c->instance);
        if (cluster)
            mgmt_copy_str(&one, "cluster", json_get_str(c->request, cluster));
        json_push(&list, json_object_value(&one));
    }
    json_add(&o, STR("data"), json_array_value(&list));
    if (!cluster) /* roles are given for whole instances */
        json_add(&o, STR("accessScope"), json_of_str(STR("Instance")));
    *response = json_object_done(&o);
    return 0;
}

static int namespace_summary(struct resource_call *c, const struct json **response,
                             struct status *st)
{
    return summarize(c, NULL, response, st);
}

static int member_namespace_summary(struct resource_call *c, const struct json **response,
                                    struct status *st)
{
    if (resource_at_member(c, st) < 0)
        return -1;
    return summarize(c, "cluster", response, st);
}

/* ---- configuration ---- */

const struct resource resource_configmaps = {
    .ref = CORE_REF("configmaps"),
    .kind = "ConfigMap",
    .spreads = true,
};

/* The index knows keys only, so reads show no values: what comes back without one keeps the one it
 * has. */
static int keep_values(struct resource_call *c, const struct json **obj, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, c->name);
    struct client_request req = client_request_get(c->arena, &ref);
    struct json_object data = json_object_new(c->arena);
    const struct json *given = json_get(*obj, STR("data")), *now;

    if (!json_is(given, JSON_OBJECT))
        return 0;
    if (mgmt_do(c->p, c->ctx, &req, &now, st) < 0)
        return -1;
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

#define ONE(X, Kind, what, least)                   \
    X("Create" Kind, what, resource_create, least)  \
    X("Get" Kind, what, resource_get, least)        \
    X("Get" Kind "JSON", what, resource_get, least) \
    X("Update" Kind, what, resource_update, least)  \
    X("Patch" Kind, what, resource_patch, least)    \
    X("Delete" Kind, what, resource_delete, least)

#define RPCS(X)                                                                              \
    ONE(X, "Namespace", &resource_namespaces, IAM_VIEWER)                                    \
    X("ListNamespaces", &resource_namespaces, resource_list, IAM_VIEWER)                     \
    X("ListNamespaceSummary", &resource_namespaces, namespace_summary, IAM_VIEWER)           \
    X("ListMemberClusterNamespaceSummary", &resource_namespaces, member_namespace_summary,   \
      IAM_VIEWER)                                                                            \
    ONE(X, "ConfigMap", &resource_configmaps, IAM_VIEWER)                                    \
    X("ListConfigMaps", &resource_configmaps, resource_list, IAM_VIEWER)                     \
    X("ListInstanceConfigMaps", &resource_configmaps, resource_list, IAM_VIEWER)             \
    ONE(X, "Secret", &resource_secrets, IAM_EDITOR)                                          \
    X("ListSecrets", &resource_secrets, resource_list, IAM_EDITOR)                           \
    X("ListInstanceSecrets", &resource_secrets, resource_list, IAM_EDITOR)                   \
    X("ListSecretsForMemberCluster", &resource_secrets, resource_list_member, IAM_EDITOR)    \
    ONE(X, "Service", &resource_services, IAM_VIEWER)                                        \
    X("ListServices", &resource_services, services_list, IAM_VIEWER)                         \
    X("ListInstanceServices", &resource_services, services_list, IAM_VIEWER)                 \
    X("ListServicesForMemberCluster", &resource_services, services_of_member, IAM_VIEWER)    \
    X("ListMemberClusterServices", &resource_services, services_to_promote, IAM_VIEWER)      \
    X("ListMemberClusterAllServices", &resource_services, services_to_promote, IAM_VIEWER)   \
    X("CreateWorkloadService", &resource_services, services_create_for_workload, IAM_VIEWER) \
    X("PromoteMemberClusterService", &resource_services, promote_service, IAM_EDITOR)        \
    X("ListPodsForMemberCluster", &resource_pods, pods_of_member, IAM_VIEWER)                \
    X("ListEvents", &resource_events, events_list, IAM_VIEWER)                               \
    X("ListInstanceEvents", &resource_events, events_list, IAM_VIEWER)                       \
    X("ListInstanceEventKinds", &resource_events, events_kinds, IAM_VIEWER)

RESOURCE_SERVICE(core_service, "Core", RPCS)
