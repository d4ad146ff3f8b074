/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/autoscaler.h"
#include "kinds/frame/cron.h"
#include "kinds/own/karmada.h"

/* The smaller groups of Karmada.  karmada: pkg/webhook/… of their names */

/* ---- replicas by the clock ---- */

/* Karmada shows none of the numbers that it refuses. */
static void refuse_number(struct status *st, const struct site *number, const char *why)
{
    struct site nothing = *number;

    nothing.v = NULL;
    site_invalid(st, &nothing, why);
}

static void check_limits(struct status *st, const struct site *rule)
{
    struct site low = site_in(rule, "targetMinReplicas"), high = site_in(rule, "targetMaxReplicas");
    int64_t least = json_int(low.v, 1), most = json_int(high.v, INT32_MAX);

    if (!low.v && !high.v)
        refuse_number(st, &high,
                      "targetMinReplicas and targetMaxReplicas cannot be nil at the same time if "
                      "you want to scale FederatedHPA");
    if (least <= 0)
        refuse_number(st, &low, "targetMinReplicas should be larger than 0");
    if (most <= 0)
        refuse_number(st, &high, "targetMaxReplicas should be larger than 0");
    if (least > most)
        refuse_number(st, &low,
                      "targetMaxReplicas should be larger than or equal to targetMinReplicas");
}

static void check_target(struct status *st, const struct site *rule, str kind)
{
    struct site target = site_in(rule, "targetReplicas");

    if (!target.v)
        site_fault(st, &target, CAUSE_INVALID,
                   "targetReplicas cannot be nil if you want to scale %.*s", STR_ARG(kind));
    if (json_int(target.v, 0) < 0)
        refuse_number(st, &target, "targetReplicas should be larger than or equal to 0");
}

static void check_rules(struct status *st, const struct site *rules, bool scales_scaler, str kind)
{
    struct map seen = { 0 };

    site_each(rule, rules)
    {
        struct site name = site_in(&rule, "name"), schedule = site_in(&rule, "schedule");
        struct site zone = site_in(&rule, "timeZone");

        if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
        if (cron_fault(st->arena, json_str(schedule.v)).n)
            site_invalid(st, &schedule, "invalid cron format");
        if (zone.v && !cron_zone_is_valid(json_str(zone.v)))
            site_fault(st, &zone, CAUSE_INVALID, "unknown time zone %.*s",
                       STR_ARG(json_str(zone.v)));
        if (scales_scaler)
            check_limits(st, &rule);
        else
            check_target(st, &rule, kind);
    }
    map_release(&seen);
}

static int cron_review(const struct kind_context *c, const struct json *obj, const struct json *old,
                       struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site target = site_in(&spec, "scaleTargetRef"), kind = site_in(&target, "kind");
    struct site rules = site_in(&spec, "rules");
    bool ours = str_eq(site_str(&target, "apiVersion"), c->kind->api_version);

    (void)old;
    if (ours && !str_is(json_str(kind.v), "FederatedHPA"))
        site_fault(st, &kind, CAUSE_INVALID,
                   "invalid scaleTargetRef kind: %.*s, only support FederatedHPA",
                   STR_ARG(json_str(kind.v)));
    else
        check_rules(st, &rules, ours, json_str(kind.v));
    return karmada_denied(st, "cronfederatedhpa.karmada.io");
}

/* ---- replicas by metrics ---- */

static const struct json *hpa_defaults(const struct kind_context *c, const struct json *obj)
{
    struct json one = json_of_int(1);

    if (!json_path(obj, "spec.minReplicas"))
        obj = json_set(c->arena, obj, "spec.minReplicas", json_box(c->arena, one));
    return autoscaler_defaults(c, obj);
}

static int hpa_review(const struct kind_context *c, const struct json *obj, const struct json *old,
                      struct status *st)
{
    (void)old;
    autoscaler_validate(c, obj, st);
    return karmada_denied(st, "federatedhpa.karmada.io");
}

/* ---- services of several clusters ---- */

#define SERVICE_ID "multiclusterservice.karmada.io/permanent-id"

static const struct json *service_create(const struct kind_context *c, const struct json *obj)
{
    obj = karmada_prepare_create(c, obj);
    return karmada_label(obj, SERVICE_ID).n ? obj : karmada_with_id(c->arena, obj, SERVICE_ID);
}

static void check_ports(struct status *st, const struct site *ports)
{
    struct map seen = { 0 };

    site_each(port, ports)
    {
        struct site name = site_in(&port, "name"), number = site_in(&port, "port");

        if (name.v && site_name(st, &name, NAME_LABEL) && site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
        site_port(st, &number);
    }
    map_release(&seen);
}

static void check_types(struct status *st, const struct site *types)
{
    bool differ = false;

    site_each(t, types)
    {
        differ |= !str_eq(json_str(t.v), json_str(json_at(types->v, 0)));
        if (!str_is(json_str(t.v), "CrossCluster") && !str_is(json_str(t.v), "LoadBalancer"))
            site_invalid(st, &t, "ExposureType Error");
    }
    if (differ)
        site_invalid(st, types, "MultiClusterService types should not contain more than one type");
}

static int service_review(const struct kind_context *c, const struct json *obj,
                          const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site ports = site_in(&spec, "ports"), types = site_in(&spec, "types");
    static const char *const lists[] = { "providerClusters", "consumerClusters" };
    const struct json *had = json_path(old, "spec.types");
    struct site range = site_in(&spec, "range"); /* what Karmada calls their place */

    (void)c;
    range.v = spec.v;
    if (had && !json_equal(had, types.v))
        status_cause(st, CAUSE_INVALID, STR("spec.types"), json_text(st->arena, had),
                     "MultiClusterService types are immutable");
    check_ports(st, &ports);
    check_types(st, &types);
    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        struct site clusters = site_in(&range, lists[i]);

        site_each(cluster, &clusters)
        {
            cluster.v = json_get(cluster.v, STR("name"));
            karmada_check_cluster_name(st, &cluster);
        }
    }
    return karmada_denied(st, "multiclusterservice.karmada.io");
}

/* ---- the kinds ---- */

KARMADA_CELLS(age_cells, "metadata.name", "age")
KARMADA_CELLS(hpa_cells, "metadata.name", "spec.scaleTargetRef.kind", "spec.scaleTargetRef.name",
              "spec.minReplicas", "spec.maxReplicas", "status.currentReplicas", "age")
KARMADA_CELLS(cron_cells, "metadata.name", "spec.scaleTargetRef.kind", "spec.scaleTargetRef.name",
              "age")
KARMADA_CELLS(customization_cells, "metadata.name", "spec.target.apiVersion", "spec.target.kind",
              "age")

static const struct kind_ops plain_ops = {
    .prepare_create = karmada_prepare_create,
    .prepare_update = karmada_prepare_update,
    .validate = karmada_validate,
    .cells = age_cells,
};
static const struct kind_ops customization_ops = {
    .validate = karmada_validate,
    .cells = customization_cells,
};
static const struct kind_ops hpa_ops = {
    .defaults = hpa_defaults,
    .prepare_create = karmada_prepare_create,
    .prepare_update = karmada_prepare_update,
    .validate = karmada_validate,
    .review = hpa_review,
    .cells = hpa_cells,
};
static const struct kind_ops cron_ops = {
    .prepare_create = karmada_prepare_create,
    .prepare_update = karmada_prepare_update,
    .validate = karmada_validate,
    .review = cron_review,
    .cells = cron_cells,
};
static const struct kind_ops multicluster_ops = {
    .prepare_create = service_create,
    .prepare_update = karmada_prepare_update,
    .validate = karmada_validate,
    .review = service_review,
    .cells = age_cells,
};

#define REFERENCE_COLUMNS                                       \
    COLUMN("Reference-Kind", "", 0, "Kind of what it scales."), \
        COLUMN("Reference-Name", "", 0, "Name of what it scales.")

static const struct column hpa_columns[] = {
    NAME_COLUMN,
    REFERENCE_COLUMNS,
    COLUMN("MinPods", "", 0, "No fewer pods than these."),
    COLUMN("MaxPods", "", 0, "No more pods than these."),
    COLUMN("Replicas", "", 0, "Pods there are."),
    AGE_COLUMN,
};
static const struct column cron_columns[] = { NAME_COLUMN, REFERENCE_COLUMNS, AGE_COLUMN };
static const struct column customization_columns[] = {
    NAME_COLUMN,
    COLUMN("Target-API-Version", "", 0, "Group and version of the kind."),
    COLUMN("Target-Kind", "", 0, "The kind."),
    AGE_COLUMN,
};

static const str cronfhpa[] = { STR_INIT("cronfhpa") }, fhpa[] = { STR_INIT("fhpa") };
static const str ric[] = { STR_INIT("ric") };
static const str mci[] = { STR_INIT("mci") }, mcs[] = { STR_INIT("mcs") };

static struct kind apps[] = {
    {
        KIND_NAMES("WorkloadRebalancer", "workloadrebalancers", "workloadrebalancer"),
        KARMADA_KIND,
        LIST(columns, karmada_age_columns),
        LIST(subresources, karmada_status),
        .ops = &plain_ops,
    },
};

static struct kind autoscaling[] = {
    {
        KIND_NAMES("CronFederatedHPA", "cronfederatedhpas", "cronfederatedhpa"),
        KARMADA_KIND,
        LIST(short_names, cronfhpa),
        LIST(categories, karmada_category),
        LIST(columns, cron_columns),
        LIST(subresources, karmada_status),
        .namespaced = true,
        .ops = &cron_ops,
    },
    {
        KIND_NAMES("FederatedHPA", "federatedhpas", "federatedhpa"),
        KARMADA_KIND,
        LIST(short_names, fhpa),
        LIST(categories, karmada_category),
        LIST(columns, hpa_columns),
        LIST(subresources, karmada_status),
        .namespaced = true,
        .ops = &hpa_ops,
    },
};

static struct kind config[] = {
    {
        KIND_NAMES("ResourceInterpreterCustomization", "resourceinterpretercustomizations",
                   "resourceinterpretercustomization"),
        KARMADA_KIND,
        LIST(short_names, ric),
        LIST(categories, karmada_category),
        LIST(columns, customization_columns),
        .status_counts = true,
        .ops = &customization_ops,
    },
    {
        KIND_NAMES("ResourceInterpreterWebhookConfiguration",
                   "resourceinterpreterwebhookconfigurations",
                   "resourceinterpreterwebhookconfiguration"),
        KARMADA_KIND,
        LIST(categories, karmada_category),
        LIST(columns, karmada_age_columns),
        .status_counts = true,
        .ops = &plain_ops,
    },
};

static struct kind networking[] = {
    {
        KIND_NAMES("MultiClusterIngress", "multiclusteringresses", "multiclusteringress"),
        KARMADA_KIND,
        LIST(short_names, mci),
        LIST(categories, karmada_category),
        LIST(columns, karmada_age_columns),
        LIST(subresources, karmada_status),
        .namespaced = true,
        .ops = &plain_ops,
    },
    {
        KIND_NAMES("MultiClusterService", "multiclusterservices", "multiclusterservice"),
        KARMADA_KIND,
        LIST(short_names, mcs),
        LIST(categories, karmada_category),
        LIST(columns, karmada_age_columns),
        LIST(subresources, karmada_status),
        .namespaced = true,
        .name_rule = NAME_LABEL_1035,
        .ops = &multicluster_ops,
    },
};

static struct kind remedy[] = {
    {
        KIND_NAMES("Remedy", "remedies", "remedy"),
        KARMADA_KIND,
        LIST(categories, karmada_category),
        LIST(columns, karmada_age_columns),
        .status_counts = true,
        .ops = &plain_ops,
    },
};

#define GROUP(id)                                 \
    const struct group group_karmada_##id = {     \
        .name = STR_INIT(#id ".karmada.io"),      \
        .version = STR_INIT("v1alpha1"),          \
        .schemas = "io.karmada." #id ".v1alpha1", \
        .kinds = (id),                            \
        .n = GROUP_LEN(id),                       \
    }

GROUP(apps);
GROUP(autoscaling);
GROUP(config);
GROUP(networking);
GROUP(remedy);
