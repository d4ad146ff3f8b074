/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/own/karmada.h"

/* Override policies.  karmada: pkg/util/validation, pkg/webhook/overridepolicy */

static void check_pointer(struct status *st, const struct site *path)
{
    str s = json_str(path->v);

    /* Two errors joined, the first with half of its quotes. */
    if (s.n && s.p[0] != '/')
        site_invalid(st, path,
                     "JSON pointer must be empty or start with a \"/\nJSON pointer error");
}

static void check_operations(struct status *st, const struct site *operations)
{
    site_each(o, operations)
    {
        struct site path = site_in(&o, "subPath"), value = site_in(&o, "value");
        bool removes = str_is(site_str(&o, "operator"), "remove");

        check_pointer(st, &path);
        if (removes && value.v)
            site_invalid(st, &value, "value is not allowed for remove operation");
        if (!removes && !value.v)
            status_cause(st, CAUSE_INVALID, site_path(st->arena, &value), STR("null"),
                         "value is required for add or replace operation");
    }
}

static void check_document(struct status *st, const struct site *overrider)
{
    struct site path = site_in(overrider, "fieldPath");
    struct site json = site_in(overrider, "json"), yaml = site_in(overrider, "yaml");

    if (json.v && yaml.v)
        site_invalid(st, overrider,
                     "FieldOverrider has both YAML and JSON set. Only one is allowed");
    if (!json.v && !yaml.v)
        site_missing(st, overrider, "FieldOverrider must have either JSON or YAML set");
    check_pointer(st, &path);
    check_operations(st, &json);
    check_operations(st, &yaml);
}

static void check_overriders(struct status *st, const struct site *overriders)
{
    struct site annotations = site_in(overriders, "annotationsOverrider");
    struct site labels = site_in(overriders, "labelsOverrider");
    struct site images = site_in(overriders, "imageOverrider");
    struct site documents = site_in(overriders, "fieldOverrider");

    site_each(o, &annotations)
    {
        struct site value = site_in(&o, "value");

        (void)annotations_check(st, site_path(st->arena, &value), value.v);
    }
    site_each(o, &labels)
    {
        struct site value = site_in(&o, "value");

        site_labels(st, &value);
    }
    site_each(o, &images)
    {
        struct site predicate = site_in(&o, "predicate"), path = site_in(&predicate, "path");

        check_pointer(st, &path);
    }
    site_each(o, &documents) check_document(st, &o);
}

static void check_old_form(struct status *st, const struct site *spec)
{
    struct site target = site_in(spec, "targetCluster"), changes = site_in(spec, "overriders");
    bool rules = site_has(spec, "overrideRules");

    karmada_check_affinity(st, &target);
    if (target.v && rules)
        site_invalid(st, &target, "overrideRules and targetCluster can't co-exist");
    if (json_len(changes.v) && rules)
        site_invalid(st, &changes, "overrideRules and overriders can't co-exist");
}

static void check_policy(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site rules = site_in(&spec, "overrideRules");
    struct site selectors = site_in(&spec, "resourceSelectors");

    check_old_form(st, &spec);
    site_each(rule, &rules)
    {
        struct site overriders = site_in(&rule, "overriders");
        struct site target = site_in(&rule, "targetCluster");

        check_overriders(st, &overriders);
        karmada_check_affinity(st, &target);
    }
    if (c->kind->namespaced)
        karmada_check_selectors(st, &selectors, c->namespace_);
}

static int review(const struct kind_context *c, const struct json *obj, const struct json *old,
                  struct status *st)
{
    (void)old;
    check_policy(c, obj, st);
    return karmada_denied(st, c->kind->namespaced ? "overridepolicy.karmada.io"
                                                  : "clusteroverridepolicy.karmada.io");
}

KARMADA_CELLS(cells, "metadata.name", "age")

const struct kind_ops karmada_override_ops = {
    .defaults = karmada_selector_namespaces,
    .validate = karmada_validate,
    .review = review,
    .cells = cells,
};

const struct kind_ops karmada_cluster_override_ops = {
    .validate = karmada_validate,
    .review = review,
    .cells = cells,
};
