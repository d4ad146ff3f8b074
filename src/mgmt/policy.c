/* SPDX-License-Identifier: Apache-2.0 */

/* Service Policy: where things go, and what is other there. */

#include "base/banned.h"
#include "base/rand.h"
#include "mgmt/resource.h"
#include "object/meta/karmada.h"

/* ---- what uses a policy ---- */

static const struct resource used_by[] = {
    { .ref = { .group = STR_INIT("work.karmada.io"), .resource = STR_INIT("resourcebindings") } },
    { .ref = { .group = STR_INIT("work.karmada.io"),
               .resource = STR_INIT("clusterresourcebindings") },
      .cluster_scoped = true },
};

static void add_user(void *arg, const struct json *binding)
{
    mgmt_affected_add(arg, binding);
}

static int find_users(struct resource_call *c, const char *label, str id, struct mgmt_affected *out,
                      struct status *st)
{
    for (size_t i = 0; id.n && i < sizeof(used_by) / sizeof(*used_by); i++) {
        struct search_find f = resource_find(c, &used_by[i]);

        f.label_selector = str_printf(c->arena, "%s=%.*s", label, STR_ARG(id));
        if (resource_scan(c, &f, add_user, out, st) < 0)
            return -1;
    }
    return 0;
}

/* They stay where they are, but nothing keeps them up any more. */
static int refuse_used(struct resource_call *c, struct status *st)
{
    const char *label = c->what->cluster_scoped ? KARMADA_CPP_ID : KARMADA_PP_ID;
    struct mgmt_affected users = { .arena = c->arena };
    const struct json *obj;

    if (json_bool(json_get(c->request, STR("confirm"))))
        return 0;
    if (resource_read(c, c->what, c->namespace, c->name, &obj, st) < 0 ||
        find_users(c, label, karmada_label(obj, label), &users, st) < 0)
        return -1;
    if (users.n == 0)
        return 0;
    return status_conflict(st, c->what->ref.group, c->what->ref.resource, c->name,
                           "the policy is used by %.*s; change their policy or delete them first, "
                           "or confirm the deletion (confirm=true): then they follow no policy "
                           "any more and stay where they are",
                           STR_ARG(mgmt_affected_text(&users)));
}

#define POLICY_REF(name)                                                         \
    {                                                                            \
        .group = STR_INIT("policy.karmada.io"), .version = STR_INIT("v1alpha1"), \
        .resource = STR_INIT(name)                                               \
    }

const struct resource resource_propagation_policies = {
    .ref = POLICY_REF("propagationpolicies"),
    .kind = "PropagationPolicy",
    .before_delete = refuse_used,
};
const struct resource resource_cluster_propagation_policies = {
    .ref = POLICY_REF("clusterpropagationpolicies"),
    .kind = "ClusterPropagationPolicy",
    .cluster_scoped = true,
    .before_delete = refuse_used,
};
const struct resource resource_override_policies = {
    .ref = POLICY_REF("overridepolicies"),
    .kind = "OverridePolicy",
};
const struct resource resource_cluster_override_policies = {
    .ref = POLICY_REF("clusteroverridepolicies"),
    .kind = "ClusterOverridePolicy",
    .cluster_scoped = true,
};

/* ---- lists: those that are about a kind, or about one object ---- */

struct about {
    str kind, version, name;
};

static bool is_about(const void *arg, const struct json *policy)
{
    const struct about *want = arg;
    const struct json *selectors = json_path(policy, "spec.resourceSelectors");

    json_for_each (s, selectors) {
        str name = json_get_str(s, "name");

        if ((!want->kind.n || str_eq_nocase(want->kind, json_get_str(s, "kind"))) &&
            (!want->version.n || str_eq(want->version, json_get_str(s, "apiVersion"))) &&
            (!want->name.n || !name.n || str_eq(want->name, name)))
            return true;
    }
    return json_len(selectors) == 0; /* overrides without any are about everything */
}

static int list(struct resource_call *c, const struct json **response, struct status *st)
{
    struct about about = { .kind = json_get_str(c->request, "kind"),
                           .version = json_get_str(c->request, "apiVersion"),
                           .name = json_get_str(c->request, "kindName") };
    bool any = about.kind.n || about.version.n || about.name.n;
    struct resource_filter f = { .takes = any ? is_about : NULL, .arg = &about };

    return resource_list_filtered(c, &f, response, st);
}

/* ---- policies that are made for something ---- */

struct json policy_selector(struct arena *a, const struct resource *what, str name)
{
    struct json_object o = json_object_new(a);
    str group = what->ref.group, version = what->ref.version;

    json_add(&o, STR("apiVersion"),
             json_of_str(group.n ? str_printf(a, "%.*s/%.*s", STR_ARG(group), STR_ARG(version))
                                 : version));
    json_add(&o, STR("kind"), json_of_str(str_of(what->kind)));
    json_add(&o, STR("name"), json_of_str(name));
    return json_object_value(&o);
}

const struct json *policy_for(struct resource_call *c, str name, const struct json *selectors,
                              const struct json *placement, bool takes_over)
{
    struct json_object metadata = json_object_new(c->arena), spec = json_object_new(c->arena);
    struct json_object o = json_object_new(c->arena);
    char tail[RAND_SUFFIX_LEN + 1];

    rand_suffix(tail);
    json_add(&metadata, STR("name"),
             json_of_str(str_printf(c->arena, "%.*s-%s", STR_ARG(name), tail)));
    json_add(&metadata, STR("namespace"), json_of_str(c->namespace));
    json_add(&spec, STR("resourceSelectors"), *selectors);
    json_add(&spec, STR("placement"), *placement);
    json_add(&spec, STR("propagateDeps"), json_of_bool(true));
    json_add(&spec, STR("conflictResolution"),
             json_of_str(takes_over ? STR("Overwrite") : STR("Abort")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("policy.karmada.io/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("PropagationPolicy")));
    json_add(&o, STR("metadata"), json_object_value(&metadata));
    json_add(&o, STR("spec"), json_object_value(&spec));
    return json_object_done(&o);
}

#define ONE(X, Kind, what)                               \
    X("Create" Kind, what, resource_create, IAM_VIEWER)  \
    X("Get" Kind, what, resource_get, IAM_VIEWER)        \
    X("Get" Kind "JSON", what, resource_get, IAM_VIEWER) \
    X("Update" Kind, what, resource_update, IAM_VIEWER)  \
    X("Delete" Kind, what, resource_delete, IAM_VIEWER)

#define RPCS(X)                                                                                   \
    ONE(X, "PropagationPolicy", &resource_propagation_policies)                                   \
    ONE(X, "ClusterPropagationPolicy", &resource_cluster_propagation_policies)                    \
    ONE(X, "OverridePolicy", &resource_override_policies)                                         \
    ONE(X, "ClusterOverridePolicy", &resource_cluster_override_policies)                          \
    X("ListPropagationPolicies", &resource_propagation_policies, list, IAM_VIEWER)                \
    X("ListInstancePropagationPolicies", &resource_propagation_policies, list, IAM_VIEWER)        \
    X("ListClusterPropagationPolicies", &resource_cluster_propagation_policies, list, IAM_VIEWER) \
    X("ListOverridePolicies", &resource_override_policies, list, IAM_VIEWER)                      \
    X("ListInstanceOverridePolicies", &resource_override_policies, list, IAM_VIEWER)              \
    X("ListClusterOverridePolicies", &resource_cluster_override_policies, list, IAM_VIEWER)

RESOURCE_SERVICE(policy_service, "Policy", RPCS)
