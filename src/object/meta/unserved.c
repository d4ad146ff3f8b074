/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/unserved.h"

#include "base/banned.h"

#define POLICY "policy.karmada.io"
#define BOTH(...)                                                        \
    { .group = POLICY, .kind = "PropagationPolicy", __VA_ARGS__ },       \
    {                                                                    \
        .group = POLICY, .kind = "ClusterPropagationPolicy", __VA_ARGS__ \
    }
#define KIND(g, k, w)                   \
    {                                   \
        .group = g, .kind = k, .why = w \
    }
#define RPC(service, method, w)                                   \
    {                                                             \
        .group = "rpc", .kind = service, .path = method, .why = w \
    }

const struct unserved unserved_rows[] = {
    { .group = "autoscaling.karmada.io",
      .kind = "FederatedHPA",
      .why = "no workload is scaled by it",
      .conditions = true },
    KIND("autoscaling.karmada.io", "CronFederatedHPA", "no schedule is kept"),
    { .group = "networking.karmada.io",
      .kind = "MultiClusterService",
      .why = "no service is made available to other clusters",
      .conditions = true },
    KIND("networking.karmada.io", "MultiClusterIngress", "no route is made"),
    KIND("remedy.karmada.io", "Remedy", "no action is demanded of a cluster"),
    KIND("config.karmada.io", "ResourceInterpreterWebhookConfiguration", "no webhook is asked"),
    { .group = "config.karmada.io",
      .kind = "ResourceInterpreterCustomization",
      .path = "spec.customizations.componentResource",
      .why = "the script is not called" },
    BOTH(.path = "spec.association", .why = "propagateDeps is what propagates dependencies"),
    BOTH(.path = "spec.preemption", .unless = "\"Never\"",
         .why = "no object is taken from another policy"),
    BOTH(.path = "spec.schedulePriority",
         .why = "bindings are scheduled in the order in which they come"),
    BOTH(.path = "spec.failover.application",
         .why = "no workload is moved because it is unhealthy"),
    BOTH(.path = "spec.failover.cluster.statePreservation",
         .why = "no state of a failed application is handed on"),
    BOTH(.path = "spec.placement.workloadAffinity",
         .why = "clusters are chosen without a look at other workloads"),
    BOTH(.path = "spec.placement.spreadConstraints[].spreadByLabel",
         .why = "replicas are not spread by labels of clusters"),
    { .group = "cluster.karmada.io",
      .kind = "Cluster",
      .path = "spec.proxyHeader",
      .why = "no proxy is used" },
    { .group = "cluster.clusterpedia.io",
      .kind = "PediaCluster",
      .path = "spec.syncResourcesRefName",
      .why = "what is collected is in syncResources" },
    { .group = "cluster.clusterpedia.io",
      .kind = "PediaCluster",
      .path = "spec.shardingName",
      .why = "there is one collector" },
    { .group = "tenancy.kairship.io",
      .kind = "Instance",
      .path = "spec.settings.descheduler.enabled",
      .why = "no replica is moved because it cannot be scheduled" },
    { .group = "tenancy.kairship.io",
      .kind = "Instance",
      .path = "spec.settings.metricsAdapter.enabled",
      .why = "no metrics of members are served" },
    { .group = "tenancy.kairship.io",
      .kind = "Instance",
      .path = "spec.settings.failover.clusterMonitorPeriod",
      .unless = "5",
      .why = "clusters are checked at a fixed interval" },
    RPC("Workspace", "ListNamespaceInstances", "namespaces are not bound to workspaces"),
    RPC("Workspace", "BindNamespaceInstances", "namespaces are not bound to workspaces"),
    RPC("CloudShell", "CreateCloudShell", "there are no shells"),
    RPC("CloudShell", "GetCloudShell", "there are no shells"),
    RPC("CloudShell", "DeleteCloudShell", "there are no shells"),
    RPC("Image", "ListRegistries", "no registry of images is known"),
    RPC("Image", "ListProjects", "no registry of images is known"),
    RPC("Image", "ListRepositories", "no registry of images is known"),
    RPC("Image", "ListArtifacts", "no registry of images is known"),
    RPC("Image", "DetectKangaroo", "no registry of images is known"),
    RPC("Insight", "QueryMetric", "no metrics of members are collected"),
    RPC("Insight", "QueryRangeMetric", "no metrics of members are collected"),
    RPC("Insight", "DetectInsight", "no metrics of members are collected"),
};
const size_t unserved_count = sizeof(unserved_rows) / sizeof(*unserved_rows);

/* Whether a value asks for something: not what is absent, false, empty, or the default. */
static bool asks(struct arena *a, const struct json *v, const char *unless)
{
    if (!v || v->type == JSON_NULL)
        return false;
    if (v->type == JSON_BOOL)
        return v->b;
    if (v->type == JSON_STRING || v->type == JSON_ARRAY || v->type == JSON_OBJECT)
        if (v->n == 0)
            return false;
    return !unless || !str_is(json_text(a, v), unless);
}

static bool has(struct arena *a, const struct json *v, str path, const char *unless)
{
    str rest = path, word;
    bool list;

    if (!path.n)
        return asks(a, v, unless);
    (void)str_split(&rest, '.', &word);
    list = str_ends(word, STR("[]"));
    word.n -= list ? 2 : 0;
    v = json_get(v, word);
    if (!list)
        return has(a, v, rest, unless);
    json_for_each (item, v)
        if (has(a, item, rest, unless))
            return true;
    return false;
}

str unserved_sentence(struct arena *a, const struct unserved *row)
{
    if (!row->path)
        return str_printf(a, "%s is not served: %s", row->kind, row->why);
    if (str_is(str_of(row->group), "rpc"))
        return str_printf(a, "%s/%s is not served: %s", row->kind, row->path, row->why);
    return str_printf(a, "%s is not served: %s", row->path, row->why);
}

void unserved_each(struct arena *a, str group, str kind, const struct json *object, unserved_fn *fn,
                   void *arg)
{
    for (size_t i = 0; i < unserved_count; i++) {
        const struct unserved *row = &unserved_rows[i];

        if (str_is(kind, row->kind) && str_is(group, row->group) &&
            (!row->path || has(a, object, str_of(row->path), row->unless)))
            fn(arg, row, unserved_sentence(a, row));
    }
}

struct text {
    struct arena *arena;
    str all;
};

static void add(void *arg, const struct unserved *row, str sentence)
{
    struct text *t = arg;

    (void)row;
    t->all = str_printf(t->arena, "%.*s%s%.*s", STR_ARG(t->all), t->all.n ? "; " : "",
                        STR_ARG(sentence));
}

str unserved_text(struct arena *a, const struct json *object)
{
    str version = json_get_str(object, "apiVersion");
    ptrdiff_t slash = str_find(version, '/', 0);
    struct text t = { .arena = a };

    unserved_each(a, slash < 0 ? STR_NONE : str_sub(version, 0, (size_t)slash),
                  json_get_str(object, "kind"), object, add, &t);
    return t.all;
}

const struct unserved *unserved_rpc(str service, str method)
{
    for (size_t i = 0; i < unserved_count; i++)
        if (str_is(str_of(unserved_rows[i].group), "rpc") &&
            str_is(service, unserved_rows[i].kind) && str_is(method, unserved_rows[i].path))
            return &unserved_rows[i];
    return NULL;
}
