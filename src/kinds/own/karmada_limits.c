/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/resources.h"
#include "kinds/own/karmada.h"
#include "object/meta/quantity.h"

/* ClusterTaintPolicy and FederatedResourceQuota.  karmada: pkg/webhook/… of these names */

/* ---- taints ---- */

static bool is_repeated(const struct site *taints, const struct site *taint)
{
    for (size_t i = taint->index + 1; i < json_len(taints->v); i++) {
        struct site other = site_item(taints, i);

        if (str_eq(site_str(taint, "key"), site_str(&other, "key")) &&
            str_eq(site_str(taint, "effect"), site_str(&other, "effect")))
            return true;
    }
    return false;
}

static int taint_review(const struct kind_context *c, const struct json *obj,
                        const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site taints = site_in(&spec, "taints");

    (void)c;
    (void)old;
    site_each(t, &taints)
    {
        str key = site_str(&t, "key"), effect = site_str(&t, "effect");

        if (is_repeated(&taints, &t))
            status_cause(st, CAUSE_DUPLICATE, site_path(st->arena, &t),
                         str_printf(st->arena,
                                    "\"Duplicate taint with the same key(%.*s) and effect(%.*s) is "
                                    "not allowed\"",
                                    STR_ARG(key), STR_ARG(effect)),
                         "%s", "");
    }
    return karmada_denied(st, "clustertaintpolicy.karmada.io");
}

static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

static void taint_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site taints = site_in(&spec, "taints");

    karmada_validate(c, obj, st);
    site_each(t, &taints)
    {
        struct site effect = site_in(&t, "effect");

        site_enum(st, &effect, effects);
    }
}

KARMADA_CELLS(age_cells, "metadata.name", "age")

const struct kind_ops karmada_taint_ops = {
    .validate = taint_validate,
    .review = taint_review,
    .cells = age_cells,
};

/* ---- quotas ---- */

static struct quantity amount(const struct json *v)
{
    struct quantity q = { 0 };

    (void)quantity_parse(json_str(v), &q);
    return q;
}

static void check_amounts(struct status *st, const struct site *list)
{
    json_for_each_member (m, list->v) {
        struct site s = site_key(list, m->name, &m->value);

        str field = site_path(st->arena, &s);

        resource_check_name(st, RESOURCE_QUOTA, field, m->name);
        resource_check_value(st, field, m->name, json_str(&m->value));
    }
}

/* All that single clusters are given of a resource. */
static struct quantity assigned(const struct json *assignments, str resource)
{
    struct quantity sum = { 0 };

    json_for_each (a, assignments) {
        const struct json *v = json_get(json_get(a, STR("hard")), resource);

        if (v && __builtin_add_overflow(sum.nanos, amount(v).nanos, &sum.nanos))
            sum.nanos = (__int128)(~(unsigned __int128)0 >> 1);
    }
    return sum;
}

static void check_quota(struct status *st, const struct site *spec)
{
    struct site overall = site_in(spec, "overall"), parts = site_in(spec, "staticAssignments");

    check_amounts(st, &overall);
    site_each(part, &parts)
    {
        struct site name = site_in(&part, "clusterName"), hard = site_in(&part, "hard");

        karmada_check_cluster_name(st, &name);
        check_amounts(st, &hard);
    }
    json_for_each_member (m, overall.v) {
        struct site s = site_key(&overall, m->name, &m->value);
        struct quantity all = amount(&m->value), sum = assigned(parts.v, m->name);

        if (quantity_cmp(&all, &sum) < 0)
            site_invalid(st, &s, "overall is less than assignments");
    }
    site_each(part, &parts)
    {
        struct site hard = site_in(&part, "hard");

        json_for_each_member (m, hard.v) {
            struct json name = json_of_str(m->name);
            struct site s = site_key(&hard, m->name, &name);

            if (!json_get(overall.v, m->name))
                site_invalid(st, &s, "assignment resourceName is not exist in overall");
        }
    }
}

static int quota_review(const struct kind_context *c, const struct json *obj,
                        const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    (void)old;
    if (c->name.n > 63)
        status_cause(st, CAUSE_INVALID, STR("metadata.name"),
                     str_printf(st->arena, "\"%.*s\"", STR_ARG(c->name)),
                     "must be no more than 63 characters");
    check_quota(st, &spec);
    return karmada_denied(st, "federatedresourcequota.karmada.io");
}

KARMADA_CELLS(quota_cells, "metadata.name", "status.overall", "status.overallUsed")

const struct kind_ops karmada_quota_ops = {
    .prepare_create = karmada_prepare_create,
    .prepare_update = karmada_prepare_update,
    .validate = karmada_validate,
    .review = quota_review,
    .cells = quota_cells,
};
