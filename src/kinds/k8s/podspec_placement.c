/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_internal.h"

/* ---- nodes ---- */

static void check_node_term(struct status *st, const struct site *term, bool values_free)
{
    struct site key = site_in(term, "key"), op = site_in(term, "operator");
    struct site values = site_in(term, "values");
    str o = json_str(op.v);
    size_t n = json_len(values.v);

    if (str_is(o, "In") || str_is(o, "NotIn")) {
        if (n == 0)
            site_missing(st, &values, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (str_is(o, "Exists") || str_is(o, "DoesNotExist")) {
        if (n)
            site_forbidden(st, &values,
                           "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (str_is(o, "Gt") || str_is(o, "Lt")) {
        if (n != 1)
            site_missing(st, &values,
                         "must be specified single value when `operator` is 'Lt' or 'Gt'");
    } else {
        site_invalid(st, &op, "not a valid selector operator");
    }
    (void)site_qualified(st, &key);
    site_each(v, &values)
    {
        str faults[NAME_FAULTS];
        size_t nfaults = values_free ? 0 : label_value_faults(json_str(v.v), faults);

        for (size_t i = 0; i < nfaults; i++)
            site_fault(st, &v, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
    }
}

static void check_field_term(struct status *st, const struct site *term)
{
    struct site key = site_in(term, "key"), op = site_in(term, "operator");
    struct site values = site_in(term, "values");
    bool sets = str_is(json_str(op.v), "In") || str_is(json_str(op.v), "NotIn");

    if (!sets)
        site_invalid(st, &op, "not a valid selector operator");
    else if (json_len(values.v) != 1)
        site_missing(st, &values,
                     "must be only one value when `operator` is 'In' or 'NotIn' for "
                     "node field selector");
    if (!str_is(json_str(key.v), "metadata.name")) {
        site_invalid(st, &key, "not a valid field selector key");
        return;
    }
    site_each(v, &values)(void) site_name(st, &v, NAME_SUBDOMAIN);
}

static void check_term(struct status *st, const struct site *term, bool values_free)
{
    struct site labels = site_in(term, "matchExpressions"), fields = site_in(term, "matchFields");

    site_each(t, &labels) check_node_term(st, &t, values_free);
    site_each(t, &fields) check_field_term(st, &t);
}

void podspec_check_node_selector(struct status *st, const struct site *selector)
{
    struct site terms = site_in(selector, "nodeSelectorTerms");

    if (json_len(terms.v) == 0)
        site_missing(st, &terms, "must have at least one node selector term");
    site_each(t, &terms) check_term(st, &t, false);
}

static void check_weight(struct status *st, const struct site *term)
{
    struct site weight = site_in(term, "weight");
    int64_t n = json_int(weight.v, 0);

    if (n < 1 || n > 100)
        site_invalid(st, &weight, "must be in the range 1-100");
}

static void check_node_affinity(struct status *st, const struct site *affinity)
{
    struct site must = site_in(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    struct site may = site_in(affinity, "preferredDuringSchedulingIgnoredDuringExecution");

    if (must.v)
        podspec_check_node_selector(st, &must);
    site_each(t, &may)
    {
        struct site preference = site_in(&t, "preference");

        check_weight(st, &t);
        check_term(st, &preference, true);
    }
}

/* ---- other pods ---- */

static void check_pod_term(struct status *st, const struct site *term)
{
    struct site labels = site_in(term, "labelSelector");
    struct site spaces = site_in(term, "namespaceSelector"), names = site_in(term, "namespaces");
    struct site key = site_in(term, "topologyKey");

    site_selector(st, &labels);
    site_selector(st, &spaces);
    site_each(n, &names)
    {
        struct site shown = site_in(term, "namespace"); /* that is how it is called */

        shown.v = n.v;
        (void)site_name(st, &shown, NAME_LABEL);
    }
    podspec_check_keys(st, term);
    if (json_str(key.v).n == 0)
        site_missing(st, &key, "can not be empty");
    (void)site_qualified(st, &key);
}

static void check_pod_affinity(struct status *st, const struct site *affinity)
{
    struct site must = site_in(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    struct site may = site_in(affinity, "preferredDuringSchedulingIgnoredDuringExecution");

    site_each(t, &must) check_pod_term(st, &t);
    site_each(t, &may)
    {
        struct site term = site_in(&t, "podAffinityTerm");

        check_weight(st, &t);
        check_pod_term(st, &term);
    }
}

/* ---- taints ---- */

void podspec_check_effect(struct status *st, const struct site *effect)
{
    static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

    site_enum(st, effect, effects);
}

static void check_toleration(struct status *st, const struct site *t)
{
    static const char *const operators[] = { "Equal", "Exists", NULL };
    static const char *const known[] = { "Equal", "Exists", "Lt", "Gt", NULL };
    struct site key = site_in(t, "key"), op = site_in(t, "operator"), effect = site_in(t, "effect");
    struct site value = site_in(t, "value");
    struct site shown = { .up = t, .kind = SITE_MEMBER, .name = "operator", .v = value.v };
    str o = json_str(op.v), faults[NAME_FAULTS];

    if (json_str(key.v).n)
        (void)site_qualified(st, &key);
    else if (!str_is(o, "Exists"))
        site_invalid(st, &op,
                     "operator must be Exists when `key` is empty, which means \"match all values "
                     "and all keys\"");
    if (site_has(t, "tolerationSeconds") && !str_is(json_str(effect.v), "NoExecute"))
        site_invalid(st, &effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (o.n == 0 || str_is(o, "Equal")) {
        if (label_value_faults(json_str(value.v), faults))
            site_fault(st, &shown, CAUSE_INVALID, "%.*s", STR_ARG(faults[0]));
    } else if (!str_is(o, "Exists")) {
        site_unsupported(st, &op, str_is(o, "Lt") || str_is(o, "Gt") ? known : operators);
    } else if (json_str(value.v).n) {
        site_invalid(st, &shown, "value must be empty when `operator` is 'Exists'");
    }
    podspec_check_effect(st, &effect);
}

/* ---- spread ---- */

/* k8s: told of the first one, since it looks at those behind it */
static bool comes_again(const struct site *list, const struct site *c)
{
    for (size_t i = c->index + 1; i < json_len(list->v); i++) {
        struct site other = site_item(list, i);

        if (str_eq(site_str(&other, "topologyKey"), site_str(c, "topologyKey")) &&
            str_eq(site_str(&other, "whenUnsatisfiable"), site_str(c, "whenUnsatisfiable")))
            return true;
    }
    return false;
}

static void check_spread(struct status *st, const struct site *c, const struct site *list)
{
    static const char *const actions[] = { "DoNotSchedule", "ScheduleAnyway", NULL };
    static const char *const policies[] = { "Honor", "Ignore", NULL };
    struct site skew = site_in(c, "maxSkew"), key = site_in(c, "topologyKey");
    struct site action = site_in(c, "whenUnsatisfiable"), labels = site_in(c, "labelSelector");
    struct site domains = site_in(c, "minDomains");
    struct site affinity = site_in(c, "nodeAffinityPolicy"),
                taints = site_in(c, "nodeTaintsPolicy");
    str pair = str_printf(st->arena, "{%.*s, %.*s}", STR_ARG(json_str(key.v)),
                          STR_ARG(json_str(action.v)));
    struct json text = json_of_str(pair);
    struct site both = {
        .up = c, .kind = SITE_MEMBER, .name = "{topologyKey, whenUnsatisfiable}", .v = &text
    };

    if (json_int(skew.v, 0) <= 0)
        site_invalid(st, &skew, "must be greater than zero");
    if (json_str(key.v).n == 0)
        site_missing(st, &key, "can not be empty");
    site_enum(st, &action, actions);
    if (comes_again(list, c))
        site_duplicate(st, &both);
    if (json_int(domains.v, 1) <= 0)
        site_invalid(st, &domains, "must be greater than zero");
    if (domains.v && !str_is(json_str(action.v), "DoNotSchedule"))
        site_fault(st, &domains, CAUSE_INVALID,
                   "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %.*s",
                   STR_ARG(json_str(action.v)));
    site_enum(st, &affinity, policies);
    site_enum(st, &taints, policies);
    podspec_check_keys(st, c);
    site_selector(st, &labels);
}

void podspec_check_tolerations(struct status *st, const struct site *tolerations)
{
    site_each(t, tolerations) check_toleration(st, &t);
}

void podspec_check_placement(struct status *st, const struct site *spec)
{
    struct site labels = site_in(spec, "nodeSelector"), affinity = site_in(spec, "affinity");
    struct site nodes = site_in(&affinity, "nodeAffinity");
    struct site near = site_in(&affinity, "podAffinity");
    struct site far = site_in(&affinity, "podAntiAffinity");
    struct site tolerations = site_in(spec, "tolerations");
    struct site spread = site_in(spec, "topologySpreadConstraints");

    site_labels(st, &labels);
    if (nodes.v)
        check_node_affinity(st, &nodes);
    check_pod_affinity(st, &near);
    check_pod_affinity(st, &far);
    site_each(c, &spread) check_spread(st, &c, &spread);
    podspec_check_tolerations(st, &tolerations);
}
