/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/check.h"
#include "kinds/karmada.h"

/* work.karmada.io: Works and bindings.  karmada: pkg/webhook/work, …/resourcebinding */

/*
 * Each has an id for life, by which others refer to it: a controller's when it says one, else made
 * here.  An update that forgets it keeps it.
 */
static const struct {
    const char *kind, *label;
} ids[] = {
    { "Work", KARMADA_WORK_ID },
    { "ResourceBinding", KARMADA_RB_ID },
    { "ClusterResourceBinding", KARMADA_CRB_ID },
};

static const char *id_label(const struct kind *k)
{
    size_t i = 0;

    while (i + 1 < GROUP_LEN(ids) && !str_is(k->kind, ids[i].kind))
        i++;
    return ids[i].label;
}

static const struct json *create(const struct kind_context *c, const struct json *obj)
{
    const char *label = id_label(c->kind);

    obj = karmada_prepare_create(c, obj);
    return karmada_label(obj, label).n ? obj : karmada_with_id(c->arena, obj, label);
}

static const struct json *update(const struct kind_context *c, const struct json *obj,
                                 const struct json *old)
{
    const char *label = id_label(c->kind);
    const struct json *labels, *id = json_get(json_path(old, "metadata.labels"), str_of(label));
    struct json_object o;

    obj = karmada_prepare_update(c, obj, old);
    if (karmada_label(obj, label).n || !id)
        return obj;
    labels = json_path(obj, "metadata.labels");
    o = labels ? json_object_from(c->arena, labels) : json_object_new(c->arena);
    json_put(&o, str_of(label), *id);
    return json_set(c->arena, obj, "metadata.labels", json_object_done(&o));
}

KARMADA_CELLS(work_cells, "metadata.name", "spec.workload.manifests.*.kind", "?Applied", "age")
KARMADA_CELLS(binding_cells, "metadata.name", "?Scheduled", "?FullyApplied", "age")

static const struct kind_ops work_ops = {
    .prepare_create = create,
    .prepare_update = update,
    .validate = karmada_validate,
    .cells = work_cells,
};
static const struct kind_ops binding_ops = {
    .prepare_create = create,
    .prepare_update = update,
    .validate = karmada_validate,
    .cells = binding_cells,
};

static const struct column work_columns[] = {
    NAME_COLUMN,
    COLUMN("Workload-Kind", "", 0, "Kind of its first object."),
    COLUMN("Applied", "", 0, "Whether it arrived."),
    AGE_COLUMN,
};
static const struct column binding_columns[] = {
    NAME_COLUMN,
    COLUMN("Scheduled", "", 0, "Whether clusters were found."),
    COLUMN("FullyApplied", "", 0, "Whether it arrived in all of them."),
    AGE_COLUMN,
};

static const str wk[] = { STR_INIT("wk") }, rb[] = { STR_INIT("rb") }, crb[] = { STR_INIT("crb") };

static struct kind kinds_v1alpha2[] = {
    {
        KIND_NAMES("ClusterResourceBinding", "clusterresourcebindings", "clusterresourcebinding"),
        KARMADA_KIND,
        LIST(short_names, crb),
        LIST(categories, karmada_category),
        LIST(columns, binding_columns),
        LIST(subresources, karmada_status),
        .ops = &binding_ops,
    },
    {
        KIND_NAMES("ResourceBinding", "resourcebindings", "resourcebinding"),
        KARMADA_KIND,
        LIST(short_names, rb),
        LIST(categories, karmada_category),
        LIST(columns, binding_columns),
        LIST(subresources, karmada_status),
        .namespaced = true,
        .ops = &binding_ops,
    },
};

static struct kind kinds_v1alpha1[] = {
    {
        KIND_NAMES("Work", "works", "work"),
        KARMADA_KIND,
        LIST(short_names, wk),
        LIST(categories, karmada_category),
        LIST(columns, work_columns),
        LIST(subresources, karmada_status),
        .namespaced = true,
        .ops = &work_ops,
    },
};

const struct group group_karmada_bindings = {
    .name = STR_INIT("work.karmada.io"),
    .version = STR_INIT("v1alpha2"),
    .schemas = "io.karmada.work.v1alpha2",
    .kinds = kinds_v1alpha2,
    .n = GROUP_LEN(kinds_v1alpha2),
};

const struct group group_karmada_work = {
    .name = STR_INIT("work.karmada.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.karmada.work.v1alpha1",
    .kinds = kinds_v1alpha1,
    .n = GROUP_LEN(kinds_v1alpha1),
};
