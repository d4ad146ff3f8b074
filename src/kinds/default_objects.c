/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The objects of the system that every instance has beside its namespaces and roles: priorities of
 * pods, the flow control of a default kube-apiserver, and who serves the built-in groups.
 * k8s: pkg/apis/scheduling/types.go, apiserver/pkg/apis/flowcontrol/bootstrap/default.go,
 * pkg/controlplane/apiserver/aggregator.go
 */

#include "base/banned.h"
#include "kinds/defaults.h"
#include "kinds/frame/group.h"

static int add(struct json_array *out, str text, struct status *st)
{
    const struct json *v;

    if (json_parse(out->arena, text, NULL, &v, st) < 0)
        return -1;
    json_push(out, *v);
    return 0;
}

/* ---- priorities ---- */

static const struct {
    const char *name;
    int value;
    const char *text;
} priorities[] = {
    { "system-cluster-critical", 2000000000,
      "Used for system critical pods that must run in the cluster, but can be moved to another "
      "node if necessary." },
    { "system-node-critical", 2000001000,
      "Used for system critical pods that must not be moved from their current node." },
};

static int add_priorities(struct json_array *out, struct status *st)
{
    for (size_t i = 0; i < GROUP_LEN(priorities); i++)
        if (add(out,
                str_printf(out->arena,
                           "{\"kind\":\"PriorityClass\",\"apiVersion\":\"scheduling.k8s.io/v1\","
                           "\"metadata\":{\"name\":\"%s\",\"generation\":1},\"value\":%d,"
                           "\"description\":\"%s\",\"preemptionPolicy\":\"PreemptLowerPriority\"}",
                           priorities[i].name, priorities[i].value, priorities[i].text),
                st) < 0)
            return -1;
    return 0;
}

/* ---- flow control ---- */

#define FLOW(kind)                                                               \
    "{\"kind\":\"" kind "\",\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\"," \
    "\"metadata\":{\"name\":\"%s\",\"generation\":1,"                            \
    "\"annotations\":{\"apf.kubernetes.io/autoupdate-spec\":\"true\"}},"

/* Without queues a level refuses what is beyond its share; without a share it has no limit. */
static const struct {
    const char *name;
    int shares, lendable, queues, hand;
} levels[] = {
    { "catch-all", 5, 0, 0, 0 },          { "exempt", 0, 0, 0, 0 },
    { "global-default", 20, 50, 128, 6 }, { "leader-election", 10, 0, 16, 4 },
    { "node-high", 40, 25, 64, 6 },       { "system", 30, 33, 64, 6 },
    { "workload-high", 40, 50, 128, 6 },  { "workload-low", 100, 90, 128, 6 },
};

static str level_spec(struct arena *a, size_t i)
{
    str response = STR("{\"type\":\"Reject\"}");

    if (levels[i].shares == 0)
        return STR("{\"type\":\"Exempt\",\"exempt\":{\"nominalConcurrencyShares\":0,"
                   "\"lendablePercent\":0}}");
    if (levels[i].queues)
        response = str_printf(a,
                              "{\"type\":\"Queue\",\"queuing\":{\"queues\":%d,\"handSize\":%d,"
                              "\"queueLengthLimit\":50}}",
                              levels[i].queues, levels[i].hand);
    return str_printf(a,
                      "{\"type\":\"Limited\",\"limited\":{\"nominalConcurrencyShares\":%d,"
                      "\"limitResponse\":%.*s,\"lendablePercent\":%d}}",
                      levels[i].shares, STR_ARG(response), levels[i].lendable);
}

static int add_levels(struct json_array *out, struct status *st)
{
    for (size_t i = 0; i < GROUP_LEN(levels); i++)
        if (add(out,
                str_printf(out->arena,
                           FLOW("PriorityLevelConfiguration") "\"spec\":%.*s,\"status\":{}}",
                           levels[i].name, STR_ARG(level_spec(out->arena, i))),
                st) < 0)
            return -1;
    return 0;
}

#define GROUP_(name) "{\"kind\":\"Group\",\"group\":{\"name\":\"" name "\"}}"
#define USER(name)   "{\"kind\":\"User\",\"user\":{\"name\":\"" name "\"}}"
#define ACCOUNT(name)                                                                 \
    "{\"kind\":\"ServiceAccount\",\"serviceAccount\":{\"namespace\":\"kube-system\"," \
    "\"name\":\"" name "\"}}"
#define ANYBODY GROUP_("system:unauthenticated") "," GROUP_("system:authenticated")

#define RESOURCES(verbs, group, names, cluster)                                               \
    "{\"verbs\":[" verbs "],\"apiGroups\":[\"" group "\"],\"resources\":[" names "]," cluster \
    "\"namespaces\":[\"*\"]}"
#define CLUSTER "\"clusterScope\":true,"
#define ALL                          \
    "\"resourceRules\":[" RESOURCES( \
        "\"*\"", "*", "\"*\"",       \
        CLUSTER) "],"                \
                 "\"nonResourceRules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]"
#define LEASES                                                                              \
    "\"resourceRules\":[" RESOURCES("\"get\",\"create\",\"update\"", "coordination.k8s.io", \
                                    "\"leases\"", "") "]"
#define NODES                                                                              \
    "\"resourceRules\":[" RESOURCES("\"*\"", "", "\"nodes\",\"nodes/status\"",             \
                                    CLUSTER) "," RESOURCES("\"*\"", "coordination.k8s.io", \
                                                           "\"leases\"", "") "]"
#define PROBES                                                                      \
    "\"nonResourceRules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/healthz\"," \
    "\"/readyz\",\"/livez\"]}]"

static const struct {
    const char *name, *level;
    int precedence;
    const char *by, *subjects, *rules;
} schemas[] = {
    { "catch-all", "catch-all", 10000, "ByUser", ANYBODY, ALL },
    { "endpoint-controller", "workload-high", 150, "ByUser",
      USER("system:kube-controller-manager") "," ACCOUNT("endpoint-controller") "," ACCOUNT(
          "endpointslicemirroring-controller"),
      "\"resourceRules\":[" RESOURCES("\"get\",\"create\",\"update\"", "", "\"endpoints\"",
                                      "") "]" },
    { "exempt", "exempt", 1, NULL, GROUP_("system:masters"), ALL },
    { "global-default", "global-default", 9900, "ByUser", ANYBODY, ALL },
    { "kube-controller-manager", "workload-high", 800, "ByNamespace",
      USER("system:kube-controller-manager"), ALL },
    { "kube-scheduler", "workload-high", 800, "ByNamespace", USER("system:kube-scheduler"), ALL },
    { "kube-system-service-accounts", "workload-high", 900, "ByNamespace", ACCOUNT("*"), ALL },
    { "probes", "exempt", 2, NULL, ANYBODY, PROBES },
    { "service-accounts", "workload-low", 9000, "ByUser", GROUP_("system:serviceaccounts"), ALL },
    { "system-leader-election", "leader-election", 100, "ByUser",
      USER("system:kube-controller-manager") "," USER("system:kube-scheduler") "," ACCOUNT("*"),
      LEASES },
    { "system-node-high", "node-high", 400, "ByUser", GROUP_("system:nodes"), NODES },
    { "system-nodes", "system", 500, "ByUser", GROUP_("system:nodes"), ALL },
    { "workload-leader-election", "leader-election", 200, "ByUser", ACCOUNT("*"), LEASES },
};

#define FOUND                                                                                    \
    "\"status\":{\"conditions\":[{\"type\":\"Dangling\",\"status\":\"False\","                   \
    "\"lastTransitionTime\":null,\"reason\":\"Found\",\"message\":\"This FlowSchema references " \
    "the PriorityLevelConfiguration object named \\\"%s\\\" and it exists\"}]}"

static int add_schemas(struct json_array *out, struct status *st)
{
    struct arena *a = out->arena;

    for (size_t i = 0; i < GROUP_LEN(schemas); i++) {
        str by = STR_NONE;

        if (schemas[i].by)
            by = str_printf(a, "\"distinguisherMethod\":{\"type\":\"%s\"},", schemas[i].by);
        if (add(out,
                str_printf(a,
                           FLOW("FlowSchema") "\"spec\":{\"priorityLevelConfiguration\":{"
                                              "\"name\":\"%s\"},\"matchingPrecedence\":%d,%.*s"
                                              "\"rules\":[{\"subjects\":[%s],%s}]}," FOUND "}",
                           schemas[i].name, schemas[i].level, schemas[i].precedence, STR_ARG(by),
                           schemas[i].subjects, schemas[i].rules, schemas[i].level),
                st) < 0)
            return -1;
    }
    return 0;
}

/* ---- who serves which group ---- */

static const struct {
    const char *group, *version;
    int group_priority, version_priority;
} services[] = {
    { "", "v1", 18000, 1 },
    { "admissionregistration.k8s.io", "v1", 16700, 15 },
    { "apiextensions.k8s.io", "v1", 16700, 15 },
    { "apps", "v1", 17800, 15 },
    { "authentication.k8s.io", "v1", 17700, 15 },
    { "authorization.k8s.io", "v1", 17600, 15 },
    { "autoscaling", "v1", 17500, 15 },
    { "autoscaling", "v2", 17500, 30 },
    { "batch", "v1", 17400, 15 },
    { "certificates.k8s.io", "v1", 17300, 15 },
    { "coordination.k8s.io", "v1", 16500, 15 },
    { "discovery.k8s.io", "v1", 16200, 15 },
    { "events.k8s.io", "v1", 17750, 15 },
    { "flowcontrol.apiserver.k8s.io", "v1", 16100, 21 },
    { "networking.k8s.io", "v1", 17200, 15 },
    { "node.k8s.io", "v1", 16300, 15 },
    { "policy", "v1", 17100, 15 },
    { "rbac.authorization.k8s.io", "v1", 17000, 15 },
    { "resource.k8s.io", "v1", 16150, 15 },
    { "scheduling.k8s.io", "v1", 16600, 15 },
    { "storage.k8s.io", "v1", 16800, 15 },
};

struct api_priority defaults_priority(str group, str version)
{
    for (size_t i = 0; i < GROUP_LEN(services); i++)
        if (str_is(group, services[i].group) &&
            (!version.n || str_is(version, services[i].version)))
            return (struct api_priority){ services[i].group_priority,
                                          services[i].version_priority };
    return (struct api_priority){ 1000, 100 };
}

static int add_services(struct json_array *out, struct status *st)
{
    for (size_t i = 0; i < GROUP_LEN(services); i++)
        if (add(out,
                str_printf(
                    out->arena,
                    "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\","
                    "\"metadata\":{\"name\":\"%s.%s\",\"labels\":{"
                    "\"kube-aggregator.kubernetes.io/automanaged\":\"onstart\"}},"
                    "\"spec\":{\"group\":\"%s\",\"version\":\"%s\",\"groupPriorityMinimum\":%d,"
                    "\"versionPriority\":%d},\"status\":{\"conditions\":[{\"type\":\"Available\","
                    "\"status\":\"True\",\"lastTransitionTime\":null,\"reason\":\"Local\","
                    "\"message\":\"Local APIServices are always available\"}]}}",
                    services[i].version, services[i].group, services[i].group, services[i].version,
                    services[i].group_priority, services[i].version_priority),
                st) < 0)
            return -1;
    return 0;
}

/* ---- the API itself, as programs inside of a cluster call it ---- */

/* k8s: pkg/controlplane/controller/kubernetesservice; the first address of the pool is its own */
#define API_SERVICE                                                                      \
    "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"kubernetes\"," \
    "\"namespace\":\"default\",\"labels\":{\"component\":\"apiserver\","                 \
    "\"provider\":\"kubernetes\"}},\"spec\":{\"type\":\"ClusterIP\","                    \
    "\"clusterIP\":\"10.96.0.1\",\"clusterIPs\":[\"10.96.0.1\"],"                        \
    "\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":\"SingleStack\","                      \
    "\"sessionAffinity\":\"None\",\"internalTrafficPolicy\":\"Cluster\","                \
    "\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":443,"                  \
    "\"targetPort\":6443}]},\"status\":{\"loadBalancer\":{}}}"

/* k8s: pkg/controlplane/controller/defaultservicecidr; where the addresses of services are from */
#define SERVICE_CIDR                                                                       \
    "{\"kind\":\"ServiceCIDR\",\"apiVersion\":\"networking.k8s.io/v1\",\"metadata\":{"     \
    "\"name\":\"kubernetes\"},\"spec\":{\"cidrs\":[\"10.96.0.0/12\"]},\"status\":{"        \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":null," \
    "\"reason\":\"\",\"message\":\"Kubernetes Service CIDR is ready\"}]}}"

int system_defaults(struct json_array *out, struct status *st)
{
    if (add_priorities(out, st) < 0 || add_levels(out, st) < 0 || add_schemas(out, st) < 0 ||
        add_services(out, st) < 0 || add(out, STR(SERVICE_CIDR), st) < 0)
        return -1;
    return add(out, STR(API_SERVICE), st);
}
