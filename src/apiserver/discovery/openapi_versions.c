/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_versions.h"

#include "base/banned.h"

static const struct {
    str name;
    bool everywhere;
} meta_kinds[] = {
    { STR_INIT("Status"), false },          { STR_INIT("APIVersions"), false },
    { STR_INIT("APIGroup"), false },        { STR_INIT("APIGroupList"), false },
    { STR_INIT("APIResourceList"), false }, { STR_INIT("DeleteOptions"), true },
    { STR_INIT("WatchEvent"), true },
};

/* k8s: what metav1.AddToGroupVersion was called for in kube-apiserver 1.35 */
static const struct {
    str group, versions; /* with blanks between */
    bool custom;         /* also in documents of custom resources */
} known[] = {
    { STR_INIT(""), STR_INIT("v1"), true },
    { STR_INIT("admission.k8s.io"), STR_INIT("v1 v1beta1"), false },
    { STR_INIT("admissionregistration.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("apiextensions.k8s.io"), STR_INIT("v1 v1beta1"), false },
    { STR_INIT("apiregistration.k8s.io"), STR_INIT("v1 v1beta1"), false },
    { STR_INIT("apps"), STR_INIT("v1 v1beta1 v1beta2"), true },
    { STR_INIT("authentication.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("authorization.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("autoscaling"), STR_INIT("v1 v2 v2beta1 v2beta2"), true },
    { STR_INIT("batch"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("certificates.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("coordination.k8s.io"), STR_INIT("v1 v1alpha2 v1beta1"), true },
    { STR_INIT("discovery.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("events.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("extensions"), STR_INIT("v1beta1"), true },
    { STR_INIT("flowcontrol.apiserver.k8s.io"), STR_INIT("v1 v1beta1 v1beta2 v1beta3"), true },
    { STR_INIT("imagepolicy.k8s.io"), STR_INIT("v1alpha1"), false },
    { STR_INIT("internal.apiserver.k8s.io"), STR_INIT("v1alpha1"), true },
    { STR_INIT("networking.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("node.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("policy"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("rbac.authorization.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("resource.k8s.io"), STR_INIT("v1 v1alpha3 v1beta1 v1beta2"), true },
    { STR_INIT("scheduling.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("storage.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("storagemigration.k8s.io"), STR_INIT("v1beta1"), true },
};
enum { NGROUPS = sizeof(known) / sizeof(*known) };

static bool is_known(str group)
{
    for (size_t i = 0; i < NGROUPS; i++)
        if (str_eq(known[i].group, group))
            return true;
    return false;
}

static void push_everywhere(const struct openapi_schemas *s, struct json_array *r, str kind)
{
    const struct catalog *c = s->catalog;
    const struct kind *last = NULL;

    for (size_t i = 0; i < NGROUPS; i++)
        for (str rest = known[i].versions, v;
             (known[i].custom || !s->custom) && str_split(&rest, ' ', &v);)
            json_push(r, openapi_gvk(r->arena, known[i].group, v, kind));
    /* Kinds of a group version stand together; CRDs' are not told of. */
    for (size_t i = 0; !s->custom && i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (k->schema_id || is_known(k->group) ||
            (last && str_eq(last->group, k->group) && str_eq(last->version, k->version)))
            continue;
        json_push(r, openapi_gvk(r->arena, k->group, k->version, kind));
        last = k;
    }
}

void openapi_meta_gvks(const struct openapi_schemas *s, str name, struct json_array *out)
{
    if (!str_starts(name, STR(OPENAPI_META)))
        return;
    name = str_from(name, strlen(OPENAPI_META));
    for (size_t i = 0; i < sizeof(meta_kinds) / sizeof(*meta_kinds); i++) {
        if (!str_eq(name, meta_kinds[i].name))
            continue;
        if (meta_kinds[i].everywhere)
            push_everywhere(s, out, name);
        else
            json_push(out, openapi_gvk(out->arena, STR(""), STR("v1"), name));
    }
}
