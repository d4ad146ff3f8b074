/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/check.h"
#include "kinds/group.h"

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

/* ---- the kinds ---- */

static const str configmap_short[] = { STR_INIT("cm") };
static const str event_short[] = { STR_INIT("ev") };
static const str limitrange_short[] = { STR_INIT("limits") };
static const str namespace_short[] = { STR_INIT("ns") };
static const str quota_short[] = { STR_INIT("quota") };
static const str serviceaccount_short[] = { STR_INIT("sa") };

static const struct subresource namespace_subresources[] = {
    { .name = STR_INIT("finalize"), .verbs = VERB_UPDATE },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource quota_subresources[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct subresource serviceaccount_subresources[] = {
    { .name = STR_INIT("token"),
      .verbs = VERB_CREATE,
      .group = STR_INIT("authentication.k8s.io"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("TokenRequest") },
};

/* In the order of discovery, which is that of names. */
static struct kind kinds[] = {
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
        .kind = STR_INIT("Event"),
        .plural = STR_INIT("events"),
        .singular = STR_INIT("event"),
        LIST(short_names, event_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .name_rule = NAME_PATH,
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
        .verbs = VERBS_ALL,
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
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(subresources, namespace_subresources),
        LIST(columns, namespace_columns),
        LIST(field_labels, namespace_labels),
        .ops = &namespace_ops,
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
        LIST(subresources, quota_subresources),
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
};

const struct group group_core = {
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.core.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
