/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/conditions.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* The group policy.  k8s: pkg/apis/policy/validation, pkg/registry/policy/poddisruptionbudget */

static void check_status(struct status *st, const struct site *root)
{
    static const char *const counts[] = { "disruptionsAllowed", "currentHealthy", "desiredHealthy",
                                          "expectedPods", NULL };
    struct site status = site_in(root, "status"), conditions = site_in(&status, "conditions");

    conditions_check(st, &conditions);
    workload_check_counts(st, &status, counts);
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const policies[] = { "AlwaysAllow", "IfHealthyBudget", NULL };
    static const char *const parts[] = { "minAvailable", "maxUnavailable" };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site selector = site_in(&spec, "selector");
    struct site policy = site_in(&spec, "unhealthyPodEvictionPolicy");

    if (str_is(c->subresource, "status")) {
        check_status(st, &root);
        return;
    }
    if (site_has(&spec, "minAvailable") && site_has(&spec, "maxUnavailable"))
        site_invalid(st, &spec, "minAvailable and maxUnavailable cannot be both set");
    for (size_t i = 0; i < GROUP_LEN(parts); i++) {
        struct site part = site_in(&spec, parts[i]);

        if (!part.v)
            continue;
        workload_check_part(st, &part);
        workload_check_at_most_all(st, &part);
    }
    site_selector(st, &selector);
    site_enum(st, &policy, policies);
}

static void cell_part(struct arena *a, struct json_array *cells, const struct json *v)
{
    cell_text(cells, !v ? STR("N/A") : json_is(v, JSON_STRING) ? json_str(v) : json_text(a, v));
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    cell_str(out, obj, "metadata.name");
    cell_part(a, out, json_path(obj, "spec.minAvailable"));
    cell_part(a, out, json_path(obj, "spec.maxUnavailable"));
    cell_int(out, obj, "status.disruptionsAllowed");
    cell_age(out, obj, now_s);
}

static const struct kind_ops ops = {
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = validate,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Min Available", "", 0, "How many pods must stay."),
    COLUMN("Max Unavailable", "", 0, "How many pods may be missing."),
    COUNT_COLUMN("Allowed Disruptions", "How many pods may go now."),
    AGE_COLUMN,
};
static const str short_names[] = { STR_INIT("pdb") };
static const struct subresource subresources[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget"),
        LIST(short_names, short_names),
        .namespaced = true,
        .verbs = VERBS_ALL,
        /* k8s: ValidatePodDisruptionBudget looks at the spec only */
        .name_rule = NAME_PATH,
        .bare_finalizers = true,
        .generation = true,
        LIST(subresources, subresources),
        LIST(columns, columns),
        .ops = &ops,
    },
};

const struct group group_policy = {
    .name = STR_INIT("policy"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.policy.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
