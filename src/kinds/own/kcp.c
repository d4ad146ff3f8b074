/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/own/karmada.h"

/*
 * The kinds that the kcp prototype brings with it: clusters with a kubeconfig inside, the types
 * that they bring, and what was negotiated of these.  They are CRDs there, so what Karmada's kinds
 * share is good for them too.  What a kubeconfig may say is looked at in
 * apiserver/admission/admit_kubeconfig.c.
 */

#define VERSION_NOTE "apiresource.kcp.dev/apiVersion"

/* An import says whose version it is where people can see it: group/version, or the version. */
static const struct json *api_version(struct arena *a, const struct json *obj)
{
    const struct json *note = json_get(json_path(obj, "metadata.annotations"), STR(VERSION_NOTE));
    str group = json_get_str(obj, "spec.groupVersion.group");
    str version = json_get_str(obj, "spec.groupVersion.version");

    if (note)
        return note;
    return json_box(a, json_of_str(str_printf(a, "%.*s%s%.*s", STR_ARG(group), group.n ? "/" : "",
                                              STR_ARG(version))));
}

/* Cells of the paths up to the API version, that, and those after it. */
static void cells_around(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells, const char *const *before,
                         const char *const *after)
{
    karmada_cells(a, obj, now_s, cells, before);
    json_push(cells, *api_version(a, obj));
    karmada_cells(a, obj, now_s, cells, after);
}

static void import_cells(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells)
{
    static const char *const before[] = { "metadata.name", "spec.location",
                                          "spec.schemaUpdateStrategy", NULL };
    static const char *const after[] = { "spec.plural", "?Compatible", "?Available", "age", NULL };

    cells_around(a, obj, now_s, cells, before, after);
}

static void negotiated_cells(struct arena *a, const struct json *obj, int64_t now_s,
                             struct json_array *cells)
{
    static const char *const before[] = { "metadata.name", "spec.publish", NULL };
    static const char *const after[] = { "spec.plural", "?Published", "?Enforced", "age", NULL };

    cells_around(a, obj, now_s, cells, before, after);
}

/* ---- the kubeconfig inside of a Cluster ---- */

#define KUBECONFIG   "spec.kubeconfig"
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

static const struct json *hidden(struct arena *a, const struct json *obj)
{
    return json_box(a, json_of_str(str_printf(a, "# in Secret kube-system/cluster-%.*s",
                                              STR_ARG(json_get_str(obj, "metadata.name")))));
}

/* What kubectl wrote there, without it; NULL when it cannot be told. */
static const struct json *redacted_note(struct arena *a, const struct json *obj, str text)
{
    const struct json *applied;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, text, NULL, &applied, &st) < 0)
        return NULL;
    if (json_path(applied, KUBECONFIG))
        applied = json_set(a, applied, KUBECONFIG, hidden(a, obj));
    /* kubectl ends it so. */
    return json_box(a, json_of_str(str_printf(a, "%.*s\n", STR_ARG(json_text(a, applied)))));
}

static const struct json *with_note(struct arena *a, const struct json *obj,
                                    const struct json *note)
{
    struct json_object notes = json_object_from(a, json_path(obj, "metadata.annotations"));

    json_remove(&notes, STR(LAST_APPLIED));
    if (note)
        json_put(&notes, STR(LAST_APPLIED), *note);
    return json_set(a, obj, "metadata.annotations", json_object_done(&notes));
}

static const struct json *note_of(const struct json *obj)
{
    return json_get(json_path(obj, "metadata.annotations"), STR(LAST_APPLIED));
}

static const struct json *cluster_redact(struct arena *a, const struct json *obj)
{
    const struct json *note = note_of(obj);

    if (json_path(obj, KUBECONFIG))
        obj = json_set(a, obj, KUBECONFIG, hidden(a, obj));
    return note ? with_note(a, obj, redacted_note(a, obj, json_str(note))) : obj;
}

static const struct json *cluster_unredact(struct arena *a, const struct json *obj,
                                           const struct json *old)
{
    const struct json *seen = cluster_redact(a, old);

    if (json_equal(json_path(obj, KUBECONFIG), json_path(seen, KUBECONFIG)))
        obj = json_set(a, obj, KUBECONFIG, json_path(old, KUBECONFIG));
    if (note_of(old) && json_equal(note_of(obj), note_of(seen)))
        obj = with_note(a, obj, note_of(old));
    return obj;
}

KARMADA_CELLS(cluster_cells, "metadata.name", "?Ready", "age", "metadata.name",
              "status.syncedResources")

#define OPS(functions)                                                                      \
    {                                                                                       \
        .prepare_create = karmada_prepare_create, .prepare_update = karmada_prepare_update, \
        .validate = karmada_validate, .cells = (functions),                                 \
    }
static const struct kind_ops import_ops = OPS(import_cells), negotiated_ops = OPS(negotiated_cells);
static const struct kind_ops cluster_ops = {
    .prepare_create = karmada_prepare_create,
    .prepare_update = karmada_prepare_update,
    .validate = karmada_validate,
    .redact = cluster_redact,
    .unredact = cluster_unredact,
    .cells = cluster_cells,
};

static const struct column cluster_columns[] = {
    NAME_COLUMN,
    COLUMN("Ready", "", 0, "Whether workloads can be synced to it."),
    AGE_COLUMN,
    COLUMN("Location", "", 1, "Name of the cluster in labels."),
    COLUMN("Synced API resources", "", 1, "Resources that are synced."),
};
static const struct column import_columns[] = {
    NAME_COLUMN,
    COLUMN("Location", "", 0, "Name of the cluster."),
    COLUMN("Schema update strategy", "", 0, "When the import may narrow the negotiated schema."),
    COLUMN("API Version", "", 0, "Group and version of the type."),
    COLUMN("API Resource", "", 0, "Plural of the type."),
    COLUMN("Compatible", "", 0, "Whether the type fits the negotiated schema."),
    COLUMN("Available", "", 0, "Whether the type is served."),
    AGE_COLUMN,
};
static const struct column negotiated_columns[] = {
    NAME_COLUMN,
    COLUMN("Publish", "", 0, "Whether the type must be published."),
    COLUMN("API Version", "", 0, "Group and version of the type."),
    COLUMN("API Resource", "", 0, "Plural of the type."),
    COLUMN("Published", "", 0, "Whether the type is published."),
    COLUMN("Enforced", "", 0, "Whether a CRD that was created by hand determines the schema."),
    AGE_COLUMN,
};

static const str category[] = { STR_INIT("kcp") };

static struct kind workload[] = {
    {
        KIND_NAMES("Cluster", "clusters", "cluster"),
        KARMADA_KIND,
        LIST(categories, category),
        LIST(columns, cluster_columns),
        LIST(subresources, karmada_status),
        .ops = &cluster_ops,
    },
};

static struct kind apiresource[] = {
    {
        KIND_NAMES("APIResourceImport", "apiresourceimports", "apiresourceimport"),
        KARMADA_KIND,
        LIST(categories, category),
        LIST(columns, import_columns),
        LIST(subresources, karmada_status),
        .ops = &import_ops,
    },
    {
        KIND_NAMES("NegotiatedAPIResource", "negotiatedapiresources", "negotiatedapiresource"),
        KARMADA_KIND,
        LIST(categories, category),
        LIST(columns, negotiated_columns),
        LIST(subresources, karmada_status),
        .ops = &negotiated_ops,
    },
};

const struct group group_kcp_workload = {
    .name = STR_INIT("workload.kcp.dev"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "dev.kcp.workload.v1alpha1",
    .kinds = workload,
    .n = GROUP_LEN(workload),
};

const struct group group_kcp_apiresource = {
    .name = STR_INIT("apiresource.kcp.dev"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "dev.kcp.apiresource.v1alpha1",
    .kinds = apiresource,
    .n = GROUP_LEN(apiresource),
};
