/* SPDX-License-Identifier: Apache-2.0 */

/* Service Apiextensions: CustomResourceDefinitions, and the objects that they define. */

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/map.h"
#include "mgmt/resource.h"
#include "object/meta/karmada.h"

/* ---- definitions ---- */

/* Of the enum: NAMESPACED, CLUSTER */
static const struct json *finish_crd(struct resource_call *c, const struct json *obj,
                                     const struct json *message)
{
    struct json scope = json_of_str(
        str_is(json_get_str(obj, "spec.scope"), "Cluster") ? STR("CLUSTER") : STR("NAMESPACED"));

    return json_set(c->arena, message, "spec.scope", json_box(c->arena, scope));
}

static const struct resource crds = {
    .ref = { .group = STR_INIT("apiextensions.k8s.io"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("customresourcedefinitions") },
    .kind = "CustomResourceDefinition",
    .cluster_scoped = true,
    .finish = finish_crd,
};

struct crd_filter {
    str group;
    const struct json *states; /* types of conditions that must be true; one is enough */
};

static bool takes_crd(const void *arg, const struct json *obj)
{
    const struct crd_filter *f = arg;

    if (f->group.n && !str_eq(f->group, json_get_str(obj, "spec.group")))
        return false;
    json_for_each (state, f->states)
        json_for_each (c, json_path(obj, "status.conditions"))
            if (str_eq_nocase(json_str(state), json_get_str(c, "type")) &&
                str_is(json_get_str(c, "status"), "True"))
                return true;
    return json_len(f->states) == 0;
}

static int list_crds(struct resource_call *c, const struct json **response, struct status *st)
{
    struct crd_filter filter = { json_get_str(c->request, "group"),
                                 json_get(c->request, STR("status")) };
    struct resource_filter f = { .arg = &filter };

    if (filter.group.n || json_len(filter.states))
        f.takes = takes_crd;
    return resource_list_filtered(c, &f, response, st);
}

struct groups {
    struct arena *arena;
    struct map known;
    str *p;
    size_t n, cap;
};

static void add_group(void *arg, const struct json *obj)
{
    struct groups *g = arg;
    str name = str_dup(g->arena, json_get_str(obj, "spec.group"));

    if (!name.n || map_get(&g->known, name))
        return;
    (void)map_put(&g->known, name, g);
    if (g->n == g->cap) {
        str *more = arena_array(g->arena, str, g->cap = g->cap ? g->cap * 2 : 16);

        if (g->n)
            memcpy(more, g->p, g->n * sizeof(*more));
        g->p = more;
    }
    g->p[g->n++] = name;
}

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static int list_groups(struct resource_call *c, const struct json **response, struct status *st)
{
    struct groups g = { .arena = c->arena };
    struct search_find f = resource_find(c, c->what);
    struct json_array items = json_array_new(c->arena);
    int rc = resource_scan(c, &f, add_group, &g, st);

    if (g.n)
        qsort(g.p, g.n, sizeof(*g.p), compare);
    for (size_t i = 0; i < g.n; i++)
        json_push(&items, json_of_str(g.p[i]));
    map_release(&g.known);
    *response = json_set(c->arena, &json_empty_object, "items", json_array_done(&items));
    return rc;
}

/* ---- what they define ---- */

static struct json names(struct resource_call *c, str name)
{
    struct json_array list = json_array_new(c->arena);

    if (name.n)
        json_push(&list, json_of_str(name));
    return json_array_value(&list);
}

/* A flat message: what metadata has stands beside the kind. */
static const struct json *finish_object(struct resource_call *c, const struct json *obj,
                                        const struct json *message)
{
    static const char *const same[] = { "name", "namespace", "labels", "annotations" };
    struct json_object o = json_object_from(c->arena, message);
    str policy = karmada_annotation(obj, KARMADA_PP_NAME);
    const struct json *metadata = json_path(obj, "metadata");
    int64_t s;

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        mgmt_copy(&o, same[i], metadata, same[i]);
    if (time_parse_seconds(json_get_str(metadata, "creationTimestamp"), &s))
        json_put(&o, STR("creationTimestamp"), json_of_int(s));
    json_put(&o, STR("propagationpolicies"),
             names(c, policy.n ? policy : karmada_annotation(obj, KARMADA_CPP_NAME)));
    return json_object_done(&o);
}

static bool serves(const struct json *crd, str version)
{
    json_for_each (v, json_path(crd, "spec.versions"))
        if (str_eq(json_get_str(v, "name"), version))
            return json_bool(json_get(v, STR("served")));
    return false;
}

/* The definition says what it is; without one nothing of it can be there. */
static int find_kind(struct resource_call *c, struct status *st)
{
    struct resource *what = arena_new_of(c->arena, struct resource);
    str group = json_get_str(c->request, "group"), version = json_get_str(c->request, "version");
    str resource = json_get_str(c->request, "resource");
    const struct json *crd;
    bool in_cluster;

    if (resource_read(c, &crds, STR_NONE,
                      str_printf(c->arena, "%.*s.%.*s", STR_ARG(resource), STR_ARG(group)), &crd,
                      st) < 0)
        return -1;
    in_cluster = str_is(json_get_str(crd, "spec.scope"), "Cluster");
    if (!serves(crd, version))
        return status_not_found(st, crds.ref.group, crds.ref.resource,
                                str_printf(c->arena, "%.*s/%.*s", STR_ARG(version),
                                           STR_ARG(json_get_str(crd, "metadata.name"))));
    if (in_cluster == (c->namespace.n > 0))
        return message_refuse(st, in_cluster ? STR("resource") : STR("namespace"),
                              in_cluster ? "is in no namespace" : "must not be empty");
    *what = (struct resource){ .ref = { .group = group, .version = version, .resource = resource },
                               .kind = str_z(c->arena, json_get_str(crd, "spec.names.kind")),
                               .cluster_scoped = in_cluster,
                               .spreads = true,
                               .finish = finish_object };
    c->what = what;
    return 0;
}

#define OF_KIND(verb)                                                               \
    static int object_##verb(struct resource_call *c, const struct json **response, \
                             struct status *st)                                     \
    {                                                                               \
        return find_kind(c, st) < 0 ? -1 : resource_##verb(c, response, st);        \
    }
OF_KIND(list)
OF_KIND(get)
OF_KIND(create)
OF_KIND(update)
OF_KIND(delete)

static const struct {
    const char *name;
    enum client_patch_type type;
} patches[] = {
    { "PATCH_TYPE_JSON", CLIENT_PATCH_JSON },
    { "PATCH_TYPE_MERGE", CLIENT_PATCH_MERGE },
    { "PATCH_TYPE_STRATEGIC_MERGE", CLIENT_PATCH_STRATEGIC },
    { "PATCH_TYPE_APPLY", CLIENT_PATCH_APPLY },
};

static int object_patch(struct resource_call *c, const struct json **response, struct status *st)
{
    const struct json *patch, *made, *parts = json_get(c->request, STR("subResources"));
    struct client_query q = { .field_manager = STR("kairship") };
    enum client_patch_type type;
    struct client_request req;
    struct client_ref ref;
    str part;

    if (find_kind(c, st) < 0 || resource_patch_of(c, &patch, st) < 0)
        return -1;
    part = json_str(json_at(parts, 0));
    if (json_len(parts) > 1 || (part.n && !str_is(part, "status") && !str_is(part, "scale")))
        return message_refuse(st, STR("subResources"), "must be status, or scale, or empty");
    type = json_is(patch, JSON_ARRAY) ? CLIENT_PATCH_JSON : CLIENT_PATCH_MERGE;
    for (size_t i = 0; i < sizeof(patches) / sizeof(*patches); i++)
        if (str_is(json_get_str(c->request, "patchType"), patches[i].name))
            type = patches[i].type;
    ref = resource_ref(c, c->what, c->name);
    ref.subresource = part;
    q.force = type == CLIENT_PATCH_APPLY;
    req = client_request_patch(c->arena, &ref, &q, type, patch);
    if (mgmt_do(c->p, c->ctx, &req, &made, st) < 0)
        return -1;
    return resource_answer(c, made, response, st);
}

#define OBJECTS(X, Kind)                                \
    X("List" Kind "s", &crds, object_list, IAM_VIEWER)  \
    X("Create" Kind, &crds, object_create, IAM_VIEWER)  \
    X("Get" Kind, &crds, object_get, IAM_VIEWER)        \
    X("Get" Kind "JSON", &crds, object_get, IAM_VIEWER) \
    X("Update" Kind, &crds, object_update, IAM_VIEWER)  \
    X("Delete" Kind, &crds, object_delete, IAM_VIEWER)

#define RPCS(X)                                                             \
    X("ListCustomResourceDefinitionGroups", &crds, list_groups, IAM_VIEWER) \
    X("ListCustomResourceDefinitions", &crds, list_crds, IAM_VIEWER)        \
    X("CreateCustomResourceDefinition", &crds, resource_create, IAM_VIEWER) \
    X("GetCustomResourceDefinition", &crds, resource_get, IAM_VIEWER)       \
    X("GetCustomResourceDefinitionJSON", &crds, resource_get, IAM_VIEWER)   \
    X("UpdateCustomResourceDefinition", &crds, resource_update, IAM_VIEWER) \
    X("DeleteCustomResourceDefinition", &crds, resource_delete, IAM_VIEWER) \
    OBJECTS(X, "CustomResource")                                            \
    X("PatchCustomResource", &crds, object_patch, IAM_VIEWER)               \
    OBJECTS(X, "ClusterCustomResource")

RESOURCE_SERVICE(apiextensions_service, "Apiextensions", RPCS)
