/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"

/* ---- service accounts; k8s: pkg/registry/core/serviceaccount ---- */

/* Of the secrets only names count. */
static const struct json *clean_secrets(struct arena *a, const struct json *obj)
{
    const struct json *secrets = json_get(obj, STR("secrets"));
    struct json_array out = json_array_new(a);

    if (!secrets)
        return obj;
    json_for_each (s, secrets) {
        struct json_object o = json_object_new(a);
        str name = json_get_str(s, "name");

        if (name.n)
            json_add(&o, STR("name"), json_of_str(name));
        json_push(&out, json_object_value(&o));
    }
    return json_set(a, obj, "secrets", json_array_done(&out));
}

static const struct json *account_create(const struct kind_context *c, const struct json *obj)
{
    return clean_secrets(c->arena, obj);
}

static const struct json *account_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    (void)old;
    return clean_secrets(c->arena, obj);
}

#define MOUNTABLE "kubernetes.io/enforce-mountable-secrets"

static bool has_mountable(const struct json *obj)
{
    return json_get(json_path(obj, "metadata.annotations"), STR(MOUNTABLE));
}

static void account_warn(const struct kind_context *c, const struct json *obj,
                         const struct json *old, struct schema_faults *warnings)
{
    if (has_mountable(obj) && !has_mountable(old))
        schema_fault(c->arena, warnings,
                     "metadata.annotations[" MOUNTABLE "]: deprecated in v1.32+; prefer separate "
                     "namespaces to isolate access to mounted secrets");
}

static void account_cells(struct arena *a, const struct json *obj, int64_t now_s,
                          struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops serviceaccount_ops = {
    .prepare_create = account_create,
    .prepare_update = account_update,
    .warn = account_warn,
    .cells = account_cells,
};

/* ---- columns; k8s: pkg/printers/internalversion/printers.go ---- */

static const struct column namespace_columns[] = {
    NAME_COLUMN,
    COLUMN("Status", "", 0, "Whether it is in use or being deleted."),
    AGE_COLUMN,
};

static const struct column configmap_columns[] = {
    NAME_COLUMN,
    COLUMN("Data", "", 0, "Number of keys."),
    AGE_COLUMN,
};

static const struct column secret_columns[] = {
    NAME_COLUMN,
    COLUMN("Type", "", 0, "Which keys it is meant to have."),
    COLUMN("Data", "", 0, "Number of keys."),
    AGE_COLUMN,
};

static const struct column serviceaccount_columns[] = { NAME_COLUMN, AGE_COLUMN };

static const struct column quota_columns[] = {
    NAME_COLUMN,
    COLUMN("Request", "", 0, "In use and allowed, of requests and counts."),
    COLUMN("Limit", "", 0, "In use and allowed, of limits."),
    AGE_COLUMN,
};

static const struct column podtemplate_columns[] = {
    NAME_COLUMN,
    COLUMN("Containers", "", 0, "Names of the containers."),
    COLUMN("Images", "", 0, "Images of the containers."),
    COLUMN("Pod Labels", "", 0, "Labels of the pods."),
};

static const struct column rc_columns[] = {
    NAME_COLUMN,
    COUNT_COLUMN("Desired", "Pods wanted."),
    COUNT_COLUMN("Current", "Pods there are."),
    COUNT_COLUMN("Ready", "Pods that are ready."),
    AGE_COLUMN,
    COLUMN("Containers", "", 1, "Names of the containers."),
    COLUMN("Images", "", 1, "Images of the containers."),
    COLUMN("Selector", "", 1, "Which pods it is in charge of."),
};

static const struct column service_columns[] = {
    NAME_COLUMN,
    COLUMN("Type", "", 0, "How it is reached."),
    COLUMN("Cluster-IP", "", 0, "Its address in the cluster."),
    COLUMN("External-IP", "", 0, "Its addresses outside."),
    COLUMN("Port(s)", "", 0, "Its ports."),
    AGE_COLUMN,
    COLUMN("Selector", "", 1, "Which pods it leads to."),
};

static const struct column endpoints_columns[] = {
    NAME_COLUMN,
    COLUMN("Endpoints", "", 0, "Addresses and ports."),
    AGE_COLUMN,
};

static const struct column node_columns[] = {
    NAME_COLUMN,
    COLUMN("Status", "", 0, "Whether it is ready."),
    COLUMN("Roles", "", 0, "What it is for."),
    AGE_COLUMN,
    COLUMN("Version", "", 0, "Version of its kubelet."),
    COLUMN("Internal-IP", "", 1, "Its address inside."),
    COLUMN("External-IP", "", 1, "Its address outside."),
    COLUMN("OS-Image", "", 1, "Its operating system."),
    COLUMN("Kernel-Version", "", 1, "Version of its kernel."),
    COLUMN("Container-Runtime", "", 1, "Runtime and version."),
};

static const struct column volume_columns[] = {
    NAME_COLUMN,
    COLUMN("Capacity", "", 0, "How large it is."),
    COLUMN("Access Modes", "", 0, "How it can be mounted."),
    COLUMN("Reclaim Policy", "", 0, "What happens when its claim goes."),
    COLUMN("Status", "", 0, "Where it is in its life."),
    COLUMN("Claim", "", 0, "The claim it is bound to."),
    COLUMN("StorageClass", "", 0, "Its class."),
    COLUMN("VolumeAttributesClass", "", 0, "Its class of attributes."),
    COLUMN("Reason", "", 0, "Why it failed."),
    AGE_COLUMN,
    COLUMN("VolumeMode", "", 1, "File system or device."),
};

static const struct column claim_columns[] = {
    NAME_COLUMN,
    COLUMN("Status", "", 0, "Where it is in its life."),
    COLUMN("Volume", "", 0, "The volume it is bound to."),
    COLUMN("Capacity", "", 0, "How large that is."),
    COLUMN("Access Modes", "", 0, "How it can be mounted."),
    COLUMN("StorageClass", "", 0, "Its class."),
    COLUMN("VolumeAttributesClass", "", 0, "Its class of attributes."),
    AGE_COLUMN,
    COLUMN("VolumeMode", "", 1, "File system or device."),
};

/* ---- what fieldSelector knows; k8s: pkg/apis/core/v1/conversion.go ---- */

static const struct field_label namespace_labels[] = {
    { .label = STR_INIT("status.phase"), .path = "status.phase" },
};

static const struct field_label secret_labels[] = {
    { .label = STR_INIT("type"), .path = "type", .indexed = true },
};

static const struct field_label event_labels[] = {
    { .label = STR_INIT("involvedObject.kind"), .path = "involvedObject.kind" },
    { .label = STR_INIT("involvedObject.namespace"), .path = "involvedObject.namespace" },
    { .label = STR_INIT("involvedObject.name"), .path = "involvedObject.name", .indexed = true },
    { .label = STR_INIT("involvedObject.uid"), .path = "involvedObject.uid", .indexed = true },
    { .label = STR_INIT("involvedObject.apiVersion"), .path = "involvedObject.apiVersion" },
    { .label = STR_INIT("involvedObject.resourceVersion"),
      .path = "involvedObject.resourceVersion" },
    { .label = STR_INIT("involvedObject.fieldPath"), .path = "involvedObject.fieldPath" },
    { .label = STR_INIT("reason"), .path = "reason" },
    { .label = STR_INIT("reportingComponent"), .path = "reportingComponent" },
    { .label = STR_INIT("source"), .path = "source.component", .alias = "reportingComponent" },
    { .label = STR_INIT("type"), .path = "type" },
};

static const struct field_label service_labels[] = {
    { .label = STR_INIT("spec.clusterIP"), .path = "spec.clusterIP", .indexed = true },
    { .label = STR_INIT("spec.type"), .path = "spec.type" },
};

static const struct field_label node_labels[] = {
    { .label = STR_INIT("spec.unschedulable"), .path = "spec.unschedulable", .zero = "false" },
};

static const struct field_label rc_labels[] = {
    { .label = STR_INIT("status.replicas"), .path = "status.replicas", .zero = "0" },
};

/* ---- the kinds ---- */

static const str claim_short[] = { STR_INIT("pvc") };
static const str component_short[] = { STR_INIT("cs") };
static const str configmap_short[] = { STR_INIT("cm") };
static const str endpoints_short[] = { STR_INIT("ep") };
static const str event_short[] = { STR_INIT("ev") };
static const str limitrange_short[] = { STR_INIT("limits") };
static const str namespace_short[] = { STR_INIT("ns") };
static const str node_short[] = { STR_INIT("no") };
static const str pod_short[] = { STR_INIT("po") };
static const str quota_short[] = { STR_INIT("quota") };
static const str rc_short[] = { STR_INIT("rc") };
static const str service_short[] = { STR_INIT("svc") };
static const str serviceaccount_short[] = { STR_INIT("sa") };
static const str volume_short[] = { STR_INIT("pv") };
static const str everything[] = { STR_INIT("all") };

static const struct subresource namespace_subresources[] = {
    { .name = STR_INIT("finalize"), .verbs = VERB_UPDATE },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource serviceaccount_subresources[] = {
    { .name = STR_INIT("token"),
      .verbs = VERB_CREATE,
      .group = STR_INIT("authentication.k8s.io"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("TokenRequest") },
};

enum { VERBS_PROXY = VERB_CREATE | VERB_DELETE | VERB_GET | VERB_PATCH | VERB_UPDATE };
#define SUB(sub, allowed, said)                                            \
    {                                                                      \
        .name = STR_INIT(sub), .verbs = (allowed), .kind = STR_INIT(said), \
        .version = STR_INIT("v1"),                                         \
    }

static const struct subresource pod_subresources[] = {
    SUB("attach", VERB_CREATE | VERB_GET, "PodAttachOptions"),
    SUB("binding", VERB_CREATE, "Binding"),
    { .name = STR_INIT("ephemeralcontainers"), .verbs = VERBS_STATUS },
    { .name = STR_INIT("eviction"),
      .verbs = VERB_CREATE,
      .group = STR_INIT("policy"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("Eviction") },
    SUB("exec", VERB_CREATE | VERB_GET, "PodExecOptions"),
    { .name = STR_INIT("log"), .verbs = VERB_GET },
    SUB("portforward", VERB_CREATE | VERB_GET, "PodPortForwardOptions"),
    SUB("proxy", VERBS_PROXY, "PodProxyOptions"),
    { .name = STR_INIT("resize"), .verbs = VERBS_STATUS },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource node_subresources[] = {
    SUB("proxy", VERBS_PROXY, "NodeProxyOptions"),
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource service_subresources[] = {
    SUB("proxy", VERBS_PROXY, "ServiceProxyOptions"),
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource rc_subresources[] = {
    { .name = STR_INIT("scale"),
      .verbs = VERBS_STATUS,
      .group = STR_INIT("autoscaling"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("Scale"),
      .scale = &workload_scale },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

/* In the order of discovery, which is that of names. */
static struct kind kinds[] = {
    {
        .kind = STR_INIT("Binding"),
        .plural = STR_INIT("bindings"),
        .singular = STR_INIT("binding"),
        .namespaced = true,
        .verbs = VERB_CREATE,
        .transient = true,
    },
    {
        .kind = STR_INIT("ComponentStatus"),
        .plural = STR_INIT("componentstatuses"),
        .singular = STR_INIT("componentstatus"),
        LIST(short_names, component_short),
        .verbs = VERB_GET | VERB_LIST,
        .deprecated = STR_INIT("v1 ComponentStatus is deprecated in v1.19+"),
    },
    {
        .kind = STR_INIT("ConfigMap"),
        .plural = STR_INIT("configmaps"),
        .singular = STR_INIT("configmap"),
        LIST(short_names, configmap_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        LIST(columns, configmap_columns),
        .ops = &configmap_ops,
    },
    {
        .kind = STR_INIT("Endpoints"),
        .plural = STR_INIT("endpoints"),
        .singular = STR_INIT("endpoints"),
        LIST(short_names, endpoints_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .update_creates = true,
        .unconditional_update = true,
        .deprecated = STR_INIT("v1 Endpoints is deprecated in v1.33+; use "
                               "discovery.k8s.io/v1 EndpointSlice"),
        LIST(columns, endpoints_columns),
        .ops = &endpoints_ops,
    },
    {
        .kind = STR_INIT("Event"),
        .plural = STR_INIT("events"),
        .singular = STR_INIT("event"),
        LIST(short_names, event_short),
        .namespaced = true,
        .bare_finalizers = true, /* k8s: legacyValidateEvent */
        .verbs = VERBS_ALL,
        .update_creates = true,
        .name_rule = NAME_PATH,
        .no_dependents = true,
        .unconditional_update = true,
        .kind_selectors = true,
        .columns = event_columns,
        .ncolumns = EVENT_COLUMNS,
        LIST(field_labels, event_labels),
        .ops = &event_core_ops,
    },
    {
        .kind = STR_INIT("LimitRange"),
        .plural = STR_INIT("limitranges"),
        .singular = STR_INIT("limitrange"),
        LIST(short_names, limitrange_short),
        .namespaced = true,
        .named_by_uuid = true,
        .verbs = VERBS_ALL,
        .update_creates = true,
        .unconditional_update = true,
        .ops = &limitrange_ops,
    },
    {
        .kind = STR_INIT("Namespace"),
        .plural = STR_INIT("namespaces"),
        .singular = STR_INIT("namespace"),
        LIST(short_names, namespace_short),
        .verbs = VERBS_ALL & ~(unsigned)VERB_DELETE_COLLECTION,
        .name_rule = NAME_LABEL,
        .plain_conflicts = true,
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(subresources, namespace_subresources),
        LIST(columns, namespace_columns),
        LIST(field_labels, namespace_labels),
        .ops = &namespace_ops,
    },
    {
        .kind = STR_INIT("Node"),
        .plural = STR_INIT("nodes"),
        .singular = STR_INIT("node"),
        LIST(short_names, node_short),
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(subresources, node_subresources),
        LIST(columns, node_columns),
        LIST(field_labels, node_labels),
        .ops = &node_ops,
    },
    {
        .kind = STR_INIT("PersistentVolumeClaim"),
        .plural = STR_INIT("persistentvolumeclaims"),
        .singular = STR_INIT("persistentvolumeclaim"),
        LIST(short_names, claim_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .delete_returns_object = true,
        .unconditional_update = true,
        LIST(subresources, status_only),
        LIST(columns, claim_columns),
        .ops = &persistentvolumeclaim_ops,
    },
    {
        .kind = STR_INIT("PersistentVolume"),
        .plural = STR_INIT("persistentvolumes"),
        .singular = STR_INIT("persistentvolume"),
        LIST(short_names, volume_short),
        .verbs = VERBS_ALL,
        .delete_returns_object = true,
        .unconditional_update = true,
        LIST(subresources, status_only),
        LIST(columns, volume_columns),
        .ops = &persistentvolume_ops,
    },
    {
        .kind = STR_INIT("Pod"),
        .plural = STR_INIT("pods"),
        .singular = STR_INIT("pod"),
        LIST(short_names, pod_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .delete_returns_object = true,
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(subresources, pod_subresources),
        .columns = pod_columns,
        .ncolumns = POD_COLUMNS,
        .field_labels = pod_labels,
        .nfield_labels = POD_FIELD_LABELS,
        .ops = &pod_ops,
    },
    {
        .kind = STR_INIT("PodTemplate"),
        .plural = STR_INIT("podtemplates"),
        .singular = STR_INIT("podtemplate"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .delete_returns_object = true,
        .unconditional_update = true,
        LIST(columns, podtemplate_columns),
        .ops = &podtemplate_ops,
    },
    {
        .kind = STR_INIT("ReplicationController"),
        .plural = STR_INIT("replicationcontrollers"),
        .singular = STR_INIT("replicationcontroller"),
        LIST(short_names, rc_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .orphans = true,
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(subresources, rc_subresources),
        LIST(columns, rc_columns),
        LIST(field_labels, rc_labels),
        .ops = &replicationcontroller_ops,
    },
    {
        .kind = STR_INIT("ResourceQuota"),
        .plural = STR_INIT("resourcequotas"),
        .singular = STR_INIT("resourcequota"),
        LIST(short_names, quota_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .delete_returns_object = true,
        .unconditional_update = true,
        LIST(subresources, status_only),
        LIST(columns, quota_columns),
        .ops = &resourcequota_ops,
    },
    {
        .kind = STR_INIT("Secret"),
        .plural = STR_INIT("secrets"),
        .singular = STR_INIT("secret"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(columns, secret_columns),
        LIST(field_labels, secret_labels),
        .ops = &secret_ops,
    },
    {
        .kind = STR_INIT("ServiceAccount"),
        .plural = STR_INIT("serviceaccounts"),
        .singular = STR_INIT("serviceaccount"),
        LIST(short_names, serviceaccount_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .delete_returns_object = true,
        .unconditional_update = true,
        LIST(subresources, serviceaccount_subresources),
        LIST(columns, serviceaccount_columns),
        .ops = &serviceaccount_ops,
    },
    {
        .kind = STR_INIT("Service"),
        .plural = STR_INIT("services"),
        .singular = STR_INIT("service"),
        LIST(short_names, service_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .update_creates = true,
        .name_rule = NAME_LABEL_1035,
        .delete_returns_object = true,
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(subresources, service_subresources),
        LIST(columns, service_columns),
        LIST(field_labels, service_labels),
        .ops = &service_ops,
    },
};

const struct group group_core = {
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.core.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
