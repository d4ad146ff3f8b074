/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/own/karmada.h"

/* Placements, and the selectors that policies share.  karmada: pkg/util/validation */

/* ---- defaults ---- */

static const struct json *spread_defaults(const struct kind_context *c, const struct json *item)
{
    struct json one = json_of_int(1), cluster = json_of_str(STR("cluster"));

    if (json_get_str(item, "spreadByField").n == 0 && json_get_str(item, "spreadByLabel").n == 0)
        item = json_set(c->arena, item, "spreadByField", json_box(c->arena, cluster));
    if (json_int(json_get(item, STR("minGroups")), 0) == 0)
        item = json_set(c->arena, item, "minGroups", json_box(c->arena, one));
    return item;
}

#define STRATEGY "spec.placement.replicaScheduling"

const struct json *karmada_placement_defaults(const struct kind_context *c, const struct json *obj)
{
    struct json weighted = json_of_str(STR("Weighted"));

    obj = karmada_each(c, obj, "spec.placement.spreadConstraints", spread_defaults);
    if (str_is(json_get_str(obj, STRATEGY ".replicaSchedulingType"), "Divided") &&
        json_get_str(obj, STRATEGY ".replicaDivisionPreference").n == 0)
        obj = json_set(c->arena, obj, STRATEGY ".replicaDivisionPreference",
                       json_box(c->arena, weighted));
    return obj;
}

static const struct json *selector_namespace(const struct kind_context *c, const struct json *item)
{
    if (json_get_str(item, "namespace").n)
        return item;
    return json_set(c->arena, item, "namespace", json_box(c->arena, json_of_str(c->namespace_)));
}

const struct json *karmada_selector_namespaces(const struct kind_context *c, const struct json *obj)
{
    return karmada_each(c, obj, "spec.resourceSelectors", selector_namespace);
}

/* ---- rules ---- */

void karmada_check_selectors(struct status *st, const struct site *selectors, str namespace_)
{
    if (namespace_.n == 0)
        return;
    site_each(s, selectors)
    {
        struct site in = site_in(&s, "namespace");

        if (!str_eq(json_str(in.v), namespace_))
            site_invalid(st, &in,
                         "namespace of resource selector must be the same as the namespace of "
                         "the policy");
    }
}

/* What is wrong with the first wrong expression, or NULL. */
static const char *field_selector_fault(struct arena *a, const struct json *selector)
{
    static const char *const keys[] = { "provider", "region", "zone", NULL };
    static const char *const operators[] = { "In", "NotIn", NULL };

    json_for_each (e, json_get(selector, STR("matchExpressions"))) {
        str key = json_get_str(e, "key"), operator= json_get_str(e, "operator");

        if (!str_is_any(key, keys))
            return arena_printf(a, "unsupported key \"%.*s\", must be provider, region, or zone",
                                STR_ARG(key));
        if (!str_is_any(operator, operators))
            return arena_printf(a, "unsupported operator \"%.*s\", must be In or NotIn",
                                STR_ARG(operator));
    }
    return NULL;
}

void karmada_check_affinity(struct status *st, const struct site *affinity)
{
    struct site selector = site_in(affinity, "fieldSelector");
    const char *why = field_selector_fault(st->arena, selector.v);

    if (why)
        site_invalid(st, &selector, why);
}

/* A name that must be one for labels; the fault is shown at another place. */
static void check_label_name(struct status *st, const struct site *at, str name)
{
    str faults[NAME_FAULTS];
    struct json v = json_of_str(name);
    size_t n = qualified_name_faults(name, faults);

    for (size_t i = 0; i < n; i++)
        status_cause(st, CAUSE_INVALID, site_path(st->arena, at), json_text(st->arena, &v), "%.*s",
                     STR_ARG(faults[i]));
}

static bool is_empty_affinity(const struct json *affinity)
{
    static const char *const parts[] = { "labelSelector", "fieldSelector", "clusterNames",
                                         "exclude" };

    for (size_t i = 0; i < GROUP_LEN(parts); i++)
        if (json_get(affinity, str_of(parts[i])))
            return false;
    return true;
}

static void check_overflow(struct status *st, const struct site *term)
{
    struct site list = site_in(term, "overflowAffinities");
    struct map seen = { 0 };

    if (!list.v)
        return;
    if (is_empty_affinity(term->v))
        site_invalid(st, &list,
                     "overflowAffinities can only be used together with the inline "
                     "ClusterAffinity");
    (void)site_seen(&seen, site_str(term, "affinityName"));
    site_each(item, &list)
    {
        struct site name = site_in(&item, "affinityName");

        check_label_name(st, &name, json_str(name.v));
        if (site_seen(&seen, json_str(name.v)))
            site_invalid(st, &name,
                         "overflow affinity name must be unique and must not duplicate the "
                         "primary group's affinityName");
        karmada_check_affinity(st, &item);
    }
    map_release(&seen);
}

static void check_affinities(struct status *st, const struct site *affinities)
{
    struct map seen = { 0 };

    site_each(term, affinities)
    {
        str name = site_str(&term, "affinityName");

        check_label_name(st, &term, name);
        if (site_seen(&seen, name))
            site_invalid(st, affinities, "each affinity term in a policy must have a unique name");
        karmada_check_affinity(st, &term);
        check_overflow(st, &term);
    }
    map_release(&seen);
}

static void check_constraint(struct status *st, const struct site *s)
{
    int64_t least = json_int(json_get(s->v, STR("minGroups")), 0);
    int64_t most = json_int(json_get(s->v, STR("maxGroups")), 0);

    if (site_str(s, "spreadByField").n && site_str(s, "spreadByLabel").n)
        site_invalid(st, s, "spreadByLabel should not co-exist with spreadByField");
    if (least < 0)
        site_invalid(st, s, "minGroups lower than 0 is not allowed");
    if (most < 0)
        site_invalid(st, s, "maxGroups lower than 0 is not allowed");
    if (most > 0 && most < least)
        site_invalid(st, s, "maxGroups lower than minGroups is not allowed");
}

/* As Karmada's recorded answers show it: these members first, in the order of its types. */
static struct json in_order(struct arena *a, const struct json *v)
{
    static const char *const first[] = { "clusterAffinity",
                                         "clusterAffinities",
                                         "spreadByField",
                                         "spreadByLabel",
                                         "maxGroups",
                                         "minGroups",
                                         NULL };
    struct json_object o = json_object_new(a);

    for (size_t i = 0; first[i]; i++)
        if (json_get(v, str_of(first[i])))
            json_add(&o, str_of(first[i]), *json_get(v, str_of(first[i])));
    json_for_each_member (m, v)
        if (!str_is_any(m->name, first))
            json_add(&o, m->name, m->value);
    return json_object_value(&o);
}

static void check_spread(struct status *st, struct site *constraints)
{
    static const char *const fields[] = { "cluster", "region", "zone", "provider" };
    unsigned times[GROUP_LEN(fields)] = { 0 };
    struct json_array shown = json_array_new(st->arena);
    bool any = false;

    json_for_each (c, constraints->v)
        json_push(&shown, in_order(st->arena, c));
    constraints->v = json_array_done(&shown);
    site_each(s, constraints)
    {
        check_constraint(st, &s);
        for (size_t i = 0; i < GROUP_LEN(fields); i++) {
            if (!str_is(site_str(&s, "spreadByField"), fields[i]))
                continue;
            any = true;
            if (++times[i] == 2)
                site_invalid(st, constraints,
                             arena_printf(st->arena,
                                          "multiple %s spread constraints are not allowed",
                                          fields[i]));
        }
    }
    if (any && times[0] == 0)
        site_invalid(st, constraints,
                     "the cluster spread constraint must be enabled in one of the constraints "
                     "in case of SpreadByField is enabled");
}

static void check_workloads(struct status *st, const struct site *affinity)
{
    struct site with = site_in(affinity, "affinity"), against = site_in(affinity, "antiAffinity");
    struct site key = site_in(&with, "groupByLabelKey");
    struct site other = site_in(&against, "groupByLabelKey");

    if (with.v)
        check_label_name(st, &key, json_str(key.v));
    if (against.v)
        check_label_name(st, &other, json_str(other.v));
    if (with.v && against.v && str_eq(json_str(key.v), json_str(other.v)))
        site_invalid(st, affinity,
                     "affinity and antiAffinity must not use the same groupByLabelKey");
}

/* Only where the shares depend on what fits is there anything to overflow. */
static bool may_overflow(const struct json *strategy)
{
    if (!str_is(json_get_str(strategy, "replicaSchedulingType"), "Divided"))
        return false;
    return str_is(json_get_str(strategy, "replicaDivisionPreference"), "Aggregated") ||
           json_get_str(strategy, "weightPreference.dynamicWeight").n;
}

static void check_tolerations(struct status *st, const struct site *tolerations)
{
    static const char *const operators[] = { "", "Exists", "Equal", NULL };

    site_each(t, tolerations)
    {
        struct site operator= site_in(&t, "operator");

        if (str_is(json_str(operator.v), "Lt") || str_is(json_str(operator.v), "Gt"))
            site_unsupported(st, &operator, operators);
    }
}

void karmada_check_placement(struct status *st, const struct site *placement)
{
    struct site one = site_in(placement, "clusterAffinity");
    struct site many = site_in(placement, "clusterAffinities");
    struct site spread = site_in(placement, "spreadConstraints");
    struct site workloads = site_in(placement, "workloadAffinity");
    struct site tolerations = site_in(placement, "clusterTolerations");

    if (one.v && many.v) {
        struct json sorted = in_order(st->arena, placement->v);
        struct site shown = *placement;

        shown.v = &sorted;
        site_invalid(st, &shown, "clusterAffinities cannot co-exist with clusterAffinity");
    }
    site_each(term, &many)
    {
        struct site overflow = site_in(&term, "overflowAffinities");

        if (overflow.v && !may_overflow(json_get(placement->v, STR("replicaScheduling"))))
            site_invalid(st, &overflow,
                         "overflowAffinities can only be used together with dynamic weight or "
                         "aggregated scheduling");
    }
    karmada_check_affinity(st, &one);
    check_affinities(st, &many);
    check_spread(st, &spread);
    check_workloads(st, &workloads);
    check_tolerations(st, &tolerations);
}
