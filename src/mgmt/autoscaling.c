/* SPDX-License-Identifier: Apache-2.0 */

/* Service Autoscaling: FederatedHPAs. */

#include "base/banned.h"
#include "mgmt/resource.h"

/* It is while nothing that it says of itself is otherwise. */
static bool is_ready(const struct json *obj)
{
    const struct json *conditions = json_path(obj, "status.conditions");

    json_for_each (c, conditions)
        if (!str_is(json_get_str(c, "type"), "ScalingLimited") &&
            !str_is(json_get_str(c, "status"), "True"))
            return false;
    return json_len(conditions) > 0;
}

static const struct json *finish(struct resource_call *c, const struct json *obj,
                                 const struct json *message)
{
    struct json phase = json_of_str(is_ready(obj) ? STR("Ready") : STR("NotReady"));

    return json_set(c->arena, message, "status.phase", json_box(c->arena, phase));
}

static const struct resource autoscalers = {
    .ref = { .group = STR_INIT("autoscaling.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("federatedhpas") },
    .kind = "FederatedHPA",
    .finish = finish,
};

static bool scales(const void *kind, const struct json *obj)
{
    return str_eq(*(const str *)kind, json_get_str(obj, "spec.scaleTargetRef.kind"));
}

static int list(struct resource_call *c, const struct json **response, struct status *st)
{
    str kind = json_get_str(c->request, "kind");
    struct resource_filter f = { .takes = kind.n ? scales : NULL, .arg = &kind };

    return resource_list_filtered(c, &f, response, st);
}

#define RPCS(X)                                                        \
    X("ListInstanceFederatedHPAs", &autoscalers, list, IAM_VIEWER)     \
    X("ListFederatedHPAs", &autoscalers, list, IAM_VIEWER)             \
    X("CreateFederatedHPA", &autoscalers, resource_create, IAM_VIEWER) \
    X("GetFederatedHPA", &autoscalers, resource_get, IAM_VIEWER)       \
    X("GetFederatedHPAJSON", &autoscalers, resource_get, IAM_VIEWER)   \
    X("UpdateFederatedHPA", &autoscalers, resource_update, IAM_VIEWER) \
    X("DeleteFederatedHPA", &autoscalers, resource_delete, IAM_VIEWER)

RESOURCE_SERVICE(autoscaling_service, "Autoscaling", RPCS)
