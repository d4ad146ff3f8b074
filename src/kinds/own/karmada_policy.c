/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/own/karmada.h"

/* policy.karmada.io.  karmada: pkg/webhook/propagationpolicy, pkg/util/validation */

/* ---- propagation policies ---- */

#define FAILOVER "spec.failover.application"

enum { GRACE_S = 600 };

static bool names_service_import(const struct json *obj)
{
    json_for_each (s, json_path(obj, "spec.resourceSelectors"))
        if (str_is(json_get_str(s, "kind"), "ServiceImport") &&
            str_is(json_get_str(s, "apiVersion"), "multicluster.x-k8s.io/v1alpha1"))
            return true;
    return false;
}

static const struct json *propagation_defaults(const struct kind_context *c, const struct json *obj)
{
    struct json yes = json_of_bool(true), grace = json_of_int(GRACE_S);

    if (c->kind->namespaced)
        obj = karmada_selector_namespaces(c, obj);
    obj = karmada_placement_defaults(c, obj);
    if (names_service_import(obj))
        obj = json_set(c->arena, obj, "spec.propagateDeps", json_box(c->arena, yes));
    if (str_is(json_get_str(obj, FAILOVER ".purgeMode"), "Gracefully") &&
        !json_path(obj, FAILOVER ".gracePeriodSeconds"))
        obj = json_set(c->arena, obj, FAILOVER ".gracePeriodSeconds", json_box(c->arena, grace));
    return obj;
}

static const char *id_label(const struct kind *k)
{
    return k->namespaced ? KARMADA_PP_ID : KARMADA_CPP_ID;
}

/* It goes when what it has claimed is free again. */
static const struct json *with_finalizer(const struct kind_context *c, const struct json *obj)
{
    str own = c->kind->namespaced ? STR(KARMADA_PP_FINALIZER) : STR(KARMADA_CPP_FINALIZER);
    struct json_array list = json_array_new(c->arena);

    json_for_each (f, json_path(obj, "metadata.finalizers")) {
        if (str_eq(json_str(f), own))
            return obj;
        json_push(&list, *f);
    }
    json_push(&list, json_of_str(own));
    return json_set(c->arena, obj, "metadata.finalizers", json_array_done(&list));
}

static const struct json *propagation_create(const struct kind_context *c, const struct json *obj)
{
    return with_finalizer(c, karmada_with_id(c->arena, obj, id_label(c->kind)));
}

static void check_preservation(struct status *st, const struct site *behaviour)
{
    struct site preservation = site_in(behaviour, "statePreservation");
    struct site rules = site_in(&preservation, "rules");

    site_each(rule, &rules)
    {
        struct site label = site_in(&rule, "aliasLabelName");

        (void)site_qualified(st, &label);
    }
}

static void check_failover(struct status *st, const struct site *failover)
{
    struct site application = site_in(failover, "application");
    struct site cluster = site_in(failover, "cluster");
    struct site conditions = site_in(&application, "decisionConditions");
    struct site toleration = site_in(&conditions, "tolerationSeconds");
    struct site grace = site_in(&application, "gracePeriodSeconds");

    if (json_int(toleration.v, 0) < 0)
        site_invalid(st, &toleration, "must be greater than or equal to 0");
    if (grace.v && !str_is(site_str(&application, "purgeMode"), "Gracefully"))
        site_invalid(st, &grace, "only takes effect when purgeMode is gracefully");
    if (grace.v && json_int(grace.v, 1) <= 0)
        site_invalid(st, &grace, "must be greater than 0");
    check_preservation(st, &application);
    check_preservation(st, &cluster);
}

static void check_preemption(struct status *st, const struct site *spec,
                             const struct site *selectors)
{
    if (!str_is(site_str(spec, "preemption"), "Always"))
        return;
    site_each(s, selectors)
    {
        struct site name = site_in(&s, "name");

        if (json_str(name.v).n == 0)
            site_invalid(st, &name,
                         "name cannot be empty if preemption is Always, the empty name may cause "
                         "unexpected resources preemption");
    }
}

/* The field is said twice, as Karmada says it. */
static void check_suspension(struct status *st, const struct site *suspension)
{
    struct site twice = {
        .up = suspension, .kind = SITE_MEMBER, .name = "suspension", .v = suspension->v
    };

    if (json_bool(json_get(suspension->v, STR("dispatching"))) &&
        json_len(json_path(suspension->v, "dispatchingOnClusters.clusterNames")))
        site_invalid(st, &twice,
                     "suspension dispatching cannot co-exist with "
                     "dispatchingOnClusters.clusterNames");
}

static void check_propagation(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site placement = site_in(&spec, "placement"), failover = site_in(&spec, "failover");
    struct site selectors = site_in(&spec, "resourceSelectors");
    struct site suspension = site_in(&spec, "suspension");

    karmada_check_placement(st, &placement);
    if (json_get(failover.v, STR("application")) &&
        !json_bool(json_get(spec.v, STR("propagateDeps"))))
        status_cause(st, CAUSE_INVALID, STR("spec.propagateDeps"), STR("false"),
                     "application failover is set, propagateDeps must be true");
    check_failover(st, &failover);
    if (c->kind->namespaced)
        karmada_check_selectors(st, &selectors, c->namespace_);
    check_preemption(st, &spec, &selectors);
    check_suspension(st, &suspension);
}

static int propagation_review(const struct kind_context *c, const struct json *obj,
                              const struct json *old, struct status *st)
{
    const char *hook = c->kind->namespaced ? "propagationpolicy.karmada.io"
                                           : "clusterpropagationpolicy.karmada.io";
    const char *label = id_label(c->kind);

    if (old &&
        !check_same(json_path(obj, "spec.schedulerName"), json_path(old, "spec.schedulerName")))
        return karmada_deny(st, hook, "the schedulerName should not be updated");
    if (old && !str_eq(karmada_label(obj, label), karmada_label(old, label)))
        return karmada_deny(st, hook,
                            "label %s is immutable, it can only be set by the system during "
                            "creation",
                            label);
    check_propagation(c, obj, st);
    return karmada_denied(st, hook);
}

KARMADA_CELLS(propagation_cells, "metadata.name", "spec.conflictResolution", "spec.priority", "age")

static const struct kind_ops propagation_ops = {
    .defaults = propagation_defaults,
    .prepare_create = propagation_create,
    .validate = karmada_validate,
    .review = propagation_review,
    .cells = propagation_cells,
};

/* ---- the kinds ---- */

static const struct column propagation_columns[] = {
    NAME_COLUMN,
    COLUMN("Conflict-Resolution", "", 0, "What happens where a cluster has such an object."),
    COLUMN("Priority", "", 0, "Higher ones win."),
    AGE_COLUMN,
};

static const struct column quota_columns[] = {
    NAME_COLUMN,
    COLUMN("Overall", "", 0, "Limits of all clusters together."),
    COLUMN("Overall_Used", "", 0, "What all clusters use together."),
};

static const str pp[] = { STR_INIT("pp") }, cpp[] = { STR_INIT("cpp") };
static const str op[] = { STR_INIT("op") }, cop[] = { STR_INIT("cop") };

static struct kind kinds[] = {
    {
        KIND_NAMES("ClusterOverridePolicy", "clusteroverridepolicies", "clusteroverridepolicy"),
        KARMADA_KIND,
        LIST(short_names, cop),
        LIST(categories, karmada_category),
        LIST(columns, karmada_age_columns),
        .status_counts = true,
        .ops = &karmada_cluster_override_ops,
    },
    {
        KIND_NAMES("ClusterPropagationPolicy", "clusterpropagationpolicies",
                   "clusterpropagationpolicy"),
        KARMADA_KIND,
        LIST(short_names, cpp),
        LIST(categories, karmada_category),
        LIST(columns, propagation_columns),
        .status_counts = true,
        .ops = &propagation_ops,
    },
    {
        KIND_NAMES("ClusterTaintPolicy", "clustertaintpolicies", "clustertaintpolicy"),
        KARMADA_KIND,
        LIST(columns, karmada_age_columns),
        .status_counts = true,
        .ops = &karmada_taint_ops,
    },
    {
        KIND_NAMES("FederatedResourceQuota", "federatedresourcequotas", "federatedresourcequota"),
        KARMADA_KIND,
        LIST(categories, karmada_category),
        LIST(columns, quota_columns),
        LIST(subresources, karmada_status),
        .namespaced = true,
        .ops = &karmada_quota_ops,
    },
    {
        KIND_NAMES("OverridePolicy", "overridepolicies", "overridepolicy"),
        KARMADA_KIND,
        LIST(short_names, op),
        LIST(categories, karmada_category),
        LIST(columns, karmada_age_columns),
        .namespaced = true,
        .status_counts = true,
        .ops = &karmada_override_ops,
    },
    {
        KIND_NAMES("PropagationPolicy", "propagationpolicies", "propagationpolicy"),
        KARMADA_KIND,
        LIST(short_names, pp),
        LIST(categories, karmada_category),
        LIST(columns, propagation_columns),
        .namespaced = true,
        .status_counts = true,
        .ops = &propagation_ops,
    },
};

const struct group group_karmada_policy = {
    .name = STR_INIT("policy.karmada.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.karmada.policy.v1alpha1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
