/* SPDX-License-Identifier: Apache-2.0 */

/* Service Core: Services, and those that lead to a workload. */

#include "base/banned.h"
#include "mgmt/resource.h"
#include "object/meta/karmada.h"

const struct resource resource_services = {
    .ref = { .version = STR_INIT("v1"), .resource = STR_INIT("services") },
    .kind = "Service",
    .spreads = true,
};

static const struct {
    const char *kind;
    struct resource what;
} workloads[] = {
    { "Deployment", { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("deployments") } } },
    { "StatefulSet",
      { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("statefulsets") } } },
    { "DaemonSet", { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("daemonsets") } } },
};

/* arg: the labels of a pod */
static bool leads_to(const void *arg, const struct json *service)
{
    const struct json *selector = json_path(service, "spec.selector");

    json_for_each_member (m, selector) {
        const struct json *label = json_get(arg, m->name);

        if (!label || !json_equal(label, &m->value))
            return false;
    }
    return json_len(selector) > 0;
}

static void of_types(struct resource_call *c, struct resource_filter *f)
{
    str list = STR_NONE;

    json_for_each (type, json_get(c->request, STR("type")))
        list = str_printf(c->arena, "%.*s%s%.*s", STR_ARG(list), list.n ? "," : "",
                          STR_ARG(json_str(type)));
    if (list.n)
        f->fields = str_printf(c->arena, "spec.type in (%.*s)", STR_ARG(list));
}

static int of_workload(struct resource_call *c, struct resource_filter *f, struct status *st)
{
    str kind = json_get_str(c->request, "kind"), name = json_get_str(c->request, "kindName");
    const struct json *workload = NULL;

    for (size_t i = 0; name.n && i < sizeof(workloads) / sizeof(*workloads); i++) {
        if (!str_is(kind, workloads[i].kind))
            continue;
        if (resource_read(c, &workloads[i].what, c->namespace, name, &workload, st) < 0) {
            if (!status_is(st, REASON_NOT_FOUND))
                return -1;
            status_reset(st); /* it may not have come there yet: nothing leads to it */
        }
        f->arg = json_path(workload, "spec.template.metadata.labels");
        f->takes = leads_to;
    }
    return 0;
}

static int list(struct resource_call *c, struct resource_filter *f, const struct json **response,
                struct status *st)
{
    of_types(c, f);
    if (of_workload(c, f, st) < 0)
        return -1;
    return resource_list_filtered(c, f, response, st);
}

int services_list(struct resource_call *c, const struct json **response, struct status *st)
{
    return list(c, &(struct resource_filter){ .takes = NULL }, response, st);
}

int services_of_member(struct resource_call *c, const struct json **response, struct status *st)
{
    if (resource_at_member(c, st) < 0)
        return -1;
    return services_list(c, response, st);
}

/* Without those that an instance has brought there. */
int services_to_promote(struct resource_call *c, const struct json **response, struct status *st)
{
    if (resource_at_member(c, st) < 0)
        return -1;
    return list(c, &(struct resource_filter){ .labels = STR("!" KARMADA_MANAGED) }, response, st);
}

/* ---- a Service that goes where a workload goes ---- */

static int placement_of(struct resource_call *c, const struct json *workload,
                        const struct json **out, struct status *st)
{
    str name = karmada_annotation(workload, KARMADA_PP_NAME);
    str cluster_wide = karmada_annotation(workload, KARMADA_CPP_NAME);
    const struct json *policy;

    if (!name.n && !cluster_wide.n) {
        status_cause(st, CAUSE_INVALID, STR("kindName"), STR_NONE,
                     "no policy propagates the workload yet; create one first");
        return status_invalid(st, STR_NONE, c->method->input->name, STR_NONE);
    }
    if (name.n ? resource_read(c, &resource_propagation_policies,
                               karmada_annotation(workload, KARMADA_PP_NAMESPACE), name, &policy,
                               st) < 0
               : resource_read(c, &resource_cluster_propagation_policies, STR_NONE, cluster_wide,
                               &policy, st) < 0)
        return -1;
    *out = json_path(policy, "spec.placement");
    if (!*out)
        *out = &json_empty_object;
    return 0;
}

int services_create_for_workload(struct resource_call *c, const struct json **response,
                                 struct status *st)
{
    struct json_array selectors = json_array_new(c->arena);
    const struct json *service, *workload, *placement = &json_empty_object;
    struct batch_item items[2];
    str name;

    (void)response;
    if (mgmt_data(c->arena, c->request, &service, st) < 0 ||
        resource_check(c, c->what, "data", service, &service, st) < 0 ||
        resource_read(c, &resource_deployments, c->namespace, json_get_str(c->request, "kindName"),
                      &workload, st) < 0 ||
        placement_of(c, workload, &placement, st) < 0)
        return -1;
    name = json_get_str(service, "metadata.name");
    json_push(&selectors, policy_selector(c->arena, c->what, name));
    items[0] = (struct batch_item){
        .ref = resource_ref(c, &resource_propagation_policies, STR_NONE),
        .obj = policy_for(c, str_printf(c->arena, "service-%.*s", STR_ARG(name)),
                          json_array_done(&selectors), placement, false),
        .field = "the policy of data",
    };
    items[1] = (struct batch_item){ .ref = resource_ref(c, c->what, STR_NONE),
                                    .obj = service,
                                    .field = "data" };
    return batch_make(c, items, 2, st);
}
