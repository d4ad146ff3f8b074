/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/own/karmada.h"

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

/* ---- the old form of bindings ---- */

static struct kind kinds_old[2];

/*
 * What v1alpha1 knows of a stored binding: its table drops the rest.  There is no way back: a write
 * in that form would lose the placement and all else that came later, so it is for reading only.
 */
static const struct json *to_v1alpha1(struct arena *a, const struct json *obj)
{
    static const char *const moved[][2] = {
        { "spec.replicaRequirements.resourceRequest", "spec.resource.resourcePerReplicas" },
        { "spec.replicas", "spec.resource.replicas" },
    };
    const struct kind *k = &kinds_old[str_is(json_get_str(obj, "kind"), "ResourceBinding")];
    struct json version = json_of_str(k->api_version);
    const struct json *out = obj;
    struct status st;

    status_init(&st, a);
    for (size_t i = 0; i < GROUP_LEN(moved); i++)
        if (json_path(obj, moved[i][0]))
            obj = json_set(a, obj, moved[i][1], json_path(obj, moved[i][0]));
    obj = json_set(a, obj, "apiVersion", &version);
    if (schema_decode(a, k->schema, obj, NULL, &out, &st) < 0)
        assert(!"a binding that fits one version and not the other");
    return out;
}

/* ---- the kinds ---- */

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

enum { VERBS_READ = VERB_GET | VERB_LIST | VERB_WATCH };
static const struct kind_ops old_ops = { .from_stored = to_v1alpha1, .cells = binding_cells };

static struct kind kinds_old[2] = {
    {
        KIND_NAMES("ClusterResourceBinding", "clusterresourcebindings", "clusterresourcebinding"),
        .verbs = VERBS_READ,
        .generation = true,
        .json_only = true,
        LIST(short_names, crb),
        LIST(categories, karmada_category),
        LIST(columns, binding_columns),
        .ops = &old_ops,
    },
    {
        KIND_NAMES("ResourceBinding", "resourcebindings", "resourcebinding"),
        .verbs = VERBS_READ,
        .generation = true,
        .json_only = true,
        LIST(short_names, rb),
        LIST(categories, karmada_category),
        LIST(columns, binding_columns),
        .namespaced = true,
        .ops = &old_ops,
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

const struct group group_karmada_old_bindings = {
    .name = STR_INIT("work.karmada.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.karmada.work.v1alpha1",
    .stored = &group_karmada_bindings,
    .kinds = kinds_old,
    .n = GROUP_LEN(kinds_old),
};

const struct group group_karmada_work = {
    .name = STR_INIT("work.karmada.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.karmada.work.v1alpha1",
    .kinds = kinds_v1alpha1,
    .n = GROUP_LEN(kinds_v1alpha1),
};
