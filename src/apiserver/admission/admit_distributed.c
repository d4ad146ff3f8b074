/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deleting what others depend on in an instance is allowed, as in Karmada, and whoever does it is
 * told what it is about: the objects that follow a policy, and those that go with a cluster.  A dry
 * run tells the same.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/affected.h"
#include "base/banned.h"
#include "object/meta/karmada.h"
#include "rest/index.h"

static const struct kind *work_kind(const struct admission *a, const char *version,
                                    const char *plural)
{
    return catalog_find(a->req->catalog, STR("work.karmada.io"), str_of(version), str_of(plural));
}

static const struct json *template_of(const struct json *binding)
{
    return json_path(binding, "spec.resource");
}

static const struct json *manifest_of(const struct json *work)
{
    return json_at(json_path(work, "spec.workload.manifests"), 0);
}

/* Bindings are found by the id of the policy that has claimed their template. */
static int add_followers(const struct admission *a, struct affected *n, const char *plural,
                         const char *label, struct status *st)
{
    struct rows_range range = { .instance = &a->req->instance,
                                .kind = work_kind(a, "v1alpha2", plural) };
    str id = karmada_label(a->old, label);
    struct selector labels, none = { 0 };

    if (!range.kind || !id.n)
        return 0;
    if (selector_parse_labels(a->req->arena,
                              str_printf(a->req->arena, "%s=%.*s", label, STR_ARG(id)), &labels,
                              st) < 0)
        return -1;
    range.hash = index_pick(range.kind->storage, &labels, &none);
    return affected_add(n, &range, st);
}

static int policy_goes(const struct admission *a, struct affected *n, struct status *st)
{
    const char *label = a->req->kind->namespaced ? KARMADA_PP_ID : KARMADA_CPP_ID;

    n->about = template_of;
    if (add_followers(a, n, "resourcebindings", label, st) < 0 ||
        add_followers(a, n, "clusterresourcebindings", label, st) < 0)
        return -1;
    if (n->n)
        rest_warn(a->req, str_printf(n->arena,
                                     "the policy is used by %.*s; they stay where they are and "
                                     "follow no policy any more",
                                     STR_ARG(affected_text(n, "object", "objects"))));
    return 0;
}

static int cluster_goes(const struct admission *a, struct affected *n, struct status *st)
{
    str space = karmada_execution_namespace(n->arena, json_get_str(a->old, "metadata.name"));
    struct rows_range range = { .instance = &a->req->instance,
                                .kind = work_kind(a, "v1alpha1", "works") };

    if (!range.kind)
        return 0;
    range.prefix = row_name(n->arena, range.kind, space, STR_NONE);
    n->about = manifest_of;
    if (affected_add(n, &range, st) < 0)
        return -1;
    if (n->n)
        rest_warn(a->req, str_printf(n->arena,
                                     "what the instance has in the cluster is deleted there: %.*s",
                                     STR_ARG(affected_text(n, "object", "objects"))));
    return 0;
}

static const struct {
    const char *group, *plural;
    int (*goes)(const struct admission *a, struct affected *n, struct status *st);
} rows[] = {
    { "policy.karmada.io", "propagationpolicies", policy_goes },
    { "policy.karmada.io", "clusterpropagationpolicies", policy_goes },
    { "cluster.karmada.io", "clusters", cluster_goes },
};

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    struct affected n = { .rest = a->req->rest, .arena = a->req->arena, .kinds = true };

    (void)obj;
    if (json_path(a->old, "metadata.deletionTimestamp"))
        return 0; /* it is under way */
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (str_is(a->req->kind->group, rows[i].group) &&
            str_is(a->req->kind->plural, rows[i].plural))
            return rows[i].goes(a, &n, st);
    return 0;
}

const struct admission_plugin admit_distributed = {
    .name = "DistributedDeletion",
    .group = "*",
    .resource = "*",
    .verbs = VERB_DELETE,
    .validate = validate,
};
