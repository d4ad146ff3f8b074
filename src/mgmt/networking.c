/* SPDX-License-Identifier: Apache-2.0 */

/* Service Networking: Ingresses. */

#include "base/banned.h"
#include "mgmt/resource.h"

#define DEFAULT_CLASS "ingressclass.kubernetes.io/is-default-class"

#define NETWORKING_REF(name)                                               \
    {                                                                      \
        .group = STR_INIT("networking.k8s.io"), .version = STR_INIT("v1"), \
        .resource = STR_INIT(name)                                         \
    }

static const struct resource ingresses = {
    .ref = NETWORKING_REF("ingresses"),
    .kind = "Ingress",
    .spreads = true,
};
static const struct resource classes = {
    .ref = NETWORKING_REF("ingressclasses"),
    .kind = "IngressClass",
    .cluster_scoped = true,
};

/* What an Ingress that goes to that member can name. */
static int list_classes(struct resource_call *c, const struct json **response, struct status *st)
{
    struct json_array items = json_array_new(c->arena);
    const struct json **found;
    struct search_find f;
    size_t n;

    if (resource_at_member(c, st) < 0)
        return -1;
    f = resource_find(c, c->what);
    if (resource_search(c, &f, &found, &n, NULL, st) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct json *notes = json_path(found[i], "metadata.annotations");
        struct json_object o = json_object_new(c->arena);

        json_add(&o, STR("name"), json_of_str(json_get_str(found[i], "metadata.name")));
        json_add(&o, STR("isDefaultClass"),
                 json_of_bool(str_is(json_str(json_get(notes, STR(DEFAULT_CLASS))), "true")));
        json_push(&items, json_object_value(&o));
    }
    *response = json_set(c->arena, &json_empty_object, "items", json_array_done(&items));
    return 0;
}

#define RPCS(X)                                                                          \
    X("ListIngressClassForMemberCluster", &classes, list_classes, IAM_VIEWER)            \
    X("ListInstanceIngresses", &ingresses, resource_list, IAM_VIEWER)                    \
    X("ListIngresses", &ingresses, resource_list, IAM_VIEWER)                            \
    X("ListMemberClusterAllIngresses", &ingresses, resource_list_promotable, IAM_VIEWER) \
    X("ListMemberClusterIngresses", &ingresses, resource_list_promotable, IAM_VIEWER)    \
    X("PromoteMemberClusterIngress", &ingresses, promote_ingress, IAM_EDITOR)            \
    X("CreateIngress", &ingresses, resource_create, IAM_VIEWER)                          \
    X("GetIngress", &ingresses, resource_get, IAM_VIEWER)                                \
    X("GetIngressJSON", &ingresses, resource_get, IAM_VIEWER)                            \
    X("UpdateIngress", &ingresses, resource_update, IAM_VIEWER)                          \
    X("PatchIngress", &ingresses, resource_patch, IAM_VIEWER)                            \
    X("DeleteIngress", &ingresses, resource_delete, IAM_VIEWER)

RESOURCE_SERVICE(networking_service, "Networking", RPCS)
