/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* ---- daemon sets ---- */

/*
 * How often the template changed, in a field that only older versions had: v1 has a note instead.
 * k8s: pkg/apis/apps/v1/conversion.go, pkg/registry/apps/daemonset/strategy.go
 */
#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"

static const struct json *with_generation(struct arena *a, const struct json *obj, int64_t n)
{
    const struct json *notes = json_path(obj, "metadata.annotations");
    struct json_object o = json_object_from(a, notes ? notes : &json_empty_object);

    json_put(&o, STR(TEMPLATE_GENERATION), json_of_str(str_printf(a, "%lld", (long long)n)));
    return json_set(a, obj, "metadata.annotations", json_object_done(&o));
}

static int64_t template_generation(const struct json *obj)
{
    const struct json *notes = json_path(obj, "metadata.annotations");
    int64_t n;

    return str_to_i64(json_str(json_get(notes, STR(TEMPLATE_GENERATION))), &n) ? n : 0;
}

static const struct json *daemonset_defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;

    obj = with_generation(a, workload_defaults(c, obj), template_generation(obj));
    if (!str_is(json_get_str(obj, "spec.updateStrategy.type"), "RollingUpdate"))
        return obj;
    obj = workload_put_missing(a, obj, "spec.updateStrategy.rollingUpdate.maxUnavailable",
                               json_of_int(1));
    return workload_put_missing(a, obj, "spec.updateStrategy.rollingUpdate.maxSurge",
                                json_of_int(0));
}

static const struct json *daemonset_create(const struct kind_context *c, const struct json *obj)
{
    return with_generation(c->arena, workload_prepare_create(c, obj), 1);
}

static const struct json *daemonset_update(const struct kind_context *c, const struct json *obj,
                                           const struct json *old)
{
    bool other;

    obj = workload_prepare_update(c, obj, old);
    other = !check_same(json_path(obj, "spec.template"), json_path(old, "spec.template"));
    return with_generation(c->arena, obj, template_generation(old) + other);
}

static void check_daemon_strategy(struct status *st, const struct site *strategy)
{
    static const char *const types[] = { "RollingUpdate", "OnDelete", NULL };
    struct site rolling = site_in(strategy, "rollingUpdate");
    struct site missing = site_in(&rolling, "maxUnavailable"), more = site_in(&rolling, "maxSurge");
    str type = site_str(strategy, "type");

    if (!str_is(type, "RollingUpdate")) {
        if (!str_is(type, "OnDelete"))
            site_unsupported(st, strategy, types);
        return;
    }
    workload_check_part(st, &missing);
    workload_check_part(st, &more);
    workload_check_at_most_all(st, &missing);
    workload_check_at_most_all(st, &more);
    if (!workload_is_zero(&missing) && !workload_is_zero(&more))
        site_invalid(st, &more, "may not be set when maxUnavailable is non-zero");
    if (workload_is_zero(&missing) && workload_is_zero(&more))
        site_missing(st, &missing, "cannot be 0 when maxSurge is 0");
}

static void check_daemons(struct status *st, const struct site *spec)
{
    struct site strategy = site_in(spec, "updateStrategy");

    (void)workload_check_selector(st, spec, "daemonset");
    workload_check_template(st, spec);
    workload_check_endless(st, spec, "DaemonSet");
    workload_check_counts(st, spec, workload_spec_counts);
    check_daemon_strategy(st, &strategy);
}

static void daemonset_validate(const struct kind_context *c, const struct json *obj,
                               struct status *st)
{
    static const char *const counts[] = { "currentNumberScheduled", "numberMisscheduled",
                                          "desiredNumberScheduled", "numberReady",
                                          "observedGeneration",     "updatedNumberScheduled",
                                          "numberAvailable",        "numberUnavailable",
                                          "collisionCount",         NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site status = site_in(&root, "status");

    if (str_is(c->subresource, "status"))
        workload_check_counts(st, &status, counts);
    else if (c->create)
        check_daemons(st, &spec);
}

/* k8s: that the selector may not change is told first */
static void daemonset_stays(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    if (str_is(c->subresource, "status")) {
        workload_check_collisions(st, &root, old);
        return;
    }
    workload_selector_stays(c, obj, old, st);
    check_daemons(st, &spec);
}

static void daemonset_cells(struct arena *a, const struct json *obj, int64_t now_s,
                            struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    cell_int(cells, obj, "status.desiredNumberScheduled");
    cell_int(cells, obj, "status.currentNumberScheduled");
    cell_int(cells, obj, "status.numberReady");
    cell_int(cells, obj, "status.updatedNumberScheduled");
    cell_int(cells, obj, "status.numberAvailable");
    cell_text(cells, cell_labels(a, json_path(obj, "spec.template.spec.nodeSelector")));
    cell_age(cells, obj, now_s);
    podspec_cells(cells, json_path(obj, "spec.template.spec"));
    cell_selector(cells, json_path(obj, "spec.selector"));
}

const struct kind_ops daemonset_ops = {
    .defaults = daemonset_defaults,
    .prepare_create = daemonset_create,
    .prepare_update = daemonset_update,
    .validate = daemonset_validate,
    .validate_update = daemonset_stays,
    .warn = warn_daemonset,
    .cells = daemonset_cells,
};

/* ---- stateful sets ---- */

/* Claims say what they are, although nothing else inside of a spec does. */
static const struct json *with_claim_types(struct arena *a, const struct json *obj)
{
    const struct json *claims = json_path(obj, "spec.volumeClaimTemplates");
    struct json_array out = json_array_new(a);

    if (json_len(claims) == 0)
        return obj;
    json_for_each (c, claims) {
        struct json_object o = json_object_from(a, c);

        json_put(&o, STR("kind"), json_of_str(STR("PersistentVolumeClaim")));
        json_put(&o, STR("apiVersion"), json_of_str(STR("v1")));
        json_push(&out, json_object_value(&o));
    }
    return json_set(a, obj, "spec.volumeClaimTemplates", json_array_done(&out));
}

static const struct json *statefulset_defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;
    bool said = json_get_str(obj, "spec.updateStrategy.type").n > 0;

    obj = with_claim_types(a, workload_defaults(c, obj));
    if (!said)
        obj = json_set(a, obj, "spec.updateStrategy.type",
                       json_box(a, json_of_str(STR("RollingUpdate"))));
    if (!str_is(json_get_str(obj, "spec.updateStrategy.type"), "RollingUpdate") ||
        (said && !json_path(obj, "spec.updateStrategy.rollingUpdate")))
        return obj;
    return workload_put_missing(a, obj, "spec.updateStrategy.rollingUpdate.partition",
                                json_of_int(0));
}

static void check_set_strategy(const struct site *strategy, struct status *st)
{
    struct site rolling = site_in(strategy, "rollingUpdate");
    struct site partition = site_in(&rolling, "partition");
    str type = site_str(strategy, "type");

    if (str_is(type, "OnDelete")) {
        if (rolling.v)
            site_invalid(st, &rolling, "only allowed for updateStrategy 'RollingUpdate'");
        return;
    }
    if (!str_is(type, "RollingUpdate")) {
        site_invalid(st, strategy, "must be 'RollingUpdate' or 'OnDelete'");
        return;
    }
    site_not_negative(st, &partition);
}

/* The template with a volume for each claim: pods will have them, so mounts may name them.  What
 * the controller sets itself is not checked. */
static const struct json *as_pods(struct arena *a, const struct json *spec)
{
    const struct json *volumes = json_path(spec, "template.spec.volumes");
    struct json_array all = json_array_new(a);
    struct map claims = { 0 };

    json_for_each (c, json_get(spec, STR("volumeClaimTemplates"))) {
        str name = json_get_str(c, "metadata.name");
        struct json_object source = json_object_new(a), volume = json_object_new(a);

        if (site_seen_any(&claims, name))
            continue;
        json_add(&source, STR("claimName"), json_of_str(name));
        json_add(&volume, STR("name"), json_of_str(name));
        json_add(&volume, STR("persistentVolumeClaim"), json_object_value(&source));
        json_push(&all, json_object_value(&volume));
    }
    json_for_each (v, volumes)
        if (!map_get(&claims, json_get_str(v, "name")))
            json_push(&all, *v);
    map_release(&claims);
    spec = json_set(a, spec, "template.spec.subdomain", NULL);
    spec = json_set(a, spec, "template.spec.hostname", NULL);
    return json_set(a, spec, "template.spec.volumes", json_array_done(&all));
}

/* k8s: ValidateStatefulSetStatus, whose words and order are its own */
static void check_set_status(struct status *st, const struct site *root)
{
    static const char *const counts[] = { "replicas",          "readyReplicas",
                                          "currentReplicas",   "updatedReplicas",
                                          "availableReplicas", "observedGeneration",
                                          "collisionCount",    NULL };
    enum { FIRST = 1, LAST = 4 }; /* of them are parts of all */
    struct site status = site_in(root, "status"), available = site_in(&status, "availableReplicas");
    int64_t all = json_int(json_get(status.v, STR("replicas")), 0);
    struct json zero = json_of_int(0);

    workload_check_counts(st, &status, counts);
    for (size_t i = FIRST; i <= LAST; i++) {
        struct site part = site_in(&status, counts[i]);

        part.v = part.v ? part.v : &zero;
        if (json_int(part.v, 0) > all)
            site_invalid(st, &part, "cannot be greater than status.replicas");
    }
    available.v = available.v ? available.v : &zero;
    if (json_int(available.v, 0) > json_int(json_get(status.v, STR("readyReplicas")), 0))
        site_invalid(st, &available, "cannot be greater than status.readyReplicas");
}

/* k8s: ValidatePodTemplateSpecForStatefulSet looks at these once more */
static void check_template_again(struct status *st, const struct site *spec)
{
    struct site template = site_in(spec, "template"), meta = site_in(&template, "metadata");
    struct site labels = site_in(&template, "labels");
    struct site annotations = site_in(&template, "annotations");

    labels.v = json_get(meta.v, STR("labels"));
    site_labels(st, &labels);
    annotations.v = json_get(meta.v, STR("annotations"));
    if (annotations.v)
        (void)annotations_check(st, site_path(st->arena, &annotations), annotations.v);
}

static void statefulset_validate(const struct kind_context *c, const struct json *obj,
                                 struct status *st)
{
    static const char *const orders[] = { "OrderedReady", "Parallel", NULL };
    static const char *const kept[] = { "Retain", "Delete", NULL };
    /* A history without an end is allowed here. */
    static const char *const counts[] = { "replicas", "minReadySeconds", NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site policy = site_in(&spec, "podManagementPolicy");
    struct site strategy = site_in(&spec, "updateStrategy");
    struct site retention = site_in(&spec, "persistentVolumeClaimRetentionPolicy");
    struct site deleted = site_in(&retention, "whenDeleted");
    struct site scaled = site_in(&retention, "whenScaled"), service = site_in(&spec, "serviceName");
    struct site ordinals = site_in(&spec, "ordinals"), start = site_in(&ordinals, "start");
    struct site claims = site_in(&spec, "volumeClaimTemplates");

    if (str_is(c->subresource, "status")) {
        check_set_status(st, &root);
        return;
    }
    if (policy.v && !str_is(json_str(policy.v), orders[0]) &&
        !str_is(json_str(policy.v), orders[1]))
        site_invalid(st, &policy, "must be 'OrderedReady' or 'Parallel'");
    site_each(claim, &claims)
    {
        struct site wanted = site_in(&claim, "spec");

        if (c->create) /* later they cannot change */
            volume_check_claim(st, &wanted);
    }
    check_set_strategy(&strategy, st);
    site_enum(st, &deleted, kept);
    site_enum(st, &scaled, kept);
    workload_check_counts(st, &spec, counts);
    site_not_negative(st, &start);
    if (c->create && json_str(service.v).n)
        (void)site_name(st, &service, NAME_LABEL);
    spec.v = as_pods(c->arena, spec.v);
    if (workload_check_selector(st, &spec, "statefulset")) {
        workload_check_template(st, &spec);
        check_template_again(st, &spec);
    }
    workload_check_endless(st, &spec, "StatefulSet");
}

static void statefulset_update(const struct kind_context *c, const struct json *obj,
                               const struct json *old, struct status *st)
{
    static const char *const free_[] = { "replicas",
                                         "ordinals",
                                         "template",
                                         "updateStrategy",
                                         "revisionHistoryLimit",
                                         "persistentVolumeClaimRetentionPolicy",
                                         "minReadySeconds" };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    const struct json *was = json_get(old, STR("spec")), *now = spec.v;

    if (str_is(c->subresource, "status")) {
        workload_check_collisions(st, &root, old);
        return;
    }
    for (size_t i = 0; i < GROUP_LEN(free_); i++)
        now = check_keep(c->arena, now, was, free_[i]);
    if (!check_same(now, was))
        site_forbidden(st, &spec,
                       "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                       "'template', 'updateStrategy', 'revisionHistoryLimit', "
                       "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
                       "forbidden");
}

static void statefulset_cells(struct arena *a, const struct json *obj, int64_t now_s,
                              struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    cell_text(cells, str_printf(a, "%lld/%lld",
                                (long long)json_int(json_path(obj, "status.readyReplicas"), 0),
                                (long long)json_int(json_path(obj, "spec.replicas"), 0)));
    cell_age(cells, obj, now_s);
    podspec_cells(cells, json_path(obj, "spec.template.spec"));
}

const struct kind_ops statefulset_ops = {
    .defaults = statefulset_defaults,
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = statefulset_validate,
    .validate_update = statefulset_update,
    .warn = warn_statefulset,
    .cells = statefulset_cells,
};

/* ---- controller revisions ---- */

static void revision_validate(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    struct site root = site_root(obj), data = site_in(&root, "data");
    struct site revision = site_in(&root, "revision");

    site_not_negative(st, &revision);
    if (!c->create)
        return;
    if (!data.v || json_is(data.v, JSON_NULL))
        site_missing(st, &data, "data is mandatory");
    else if (!json_is(data.v, JSON_OBJECT))
        site_missing(st, &data, "data must be a valid JSON object");
}

static void revision_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    struct site root = site_root(obj), data = site_in(&root, "data");

    (void)c;
    site_immutable(st, &data, json_get(old, STR("data")));
}

static void revision_cells(struct arena *a, const struct json *obj, int64_t now_s,
                           struct json_array *cells)
{
    str owner = STR("<none>");

    json_for_each (o, json_path(obj, "metadata.ownerReferences")) {
        str version = json_get_str(o, "apiVersion"), kind = json_get_str(o, "kind");
        ptrdiff_t slash = str_find(version, '/', 0);
        str group = slash < 0 ? STR_NONE : str_sub(version, 0, (size_t)slash);

        if (json_bool(json_get(o, STR("controller"))))
            owner =
                str_printf(a, "%.*s%s%.*s/%.*s", STR_ARG(str_lower(a, kind)), group.n ? "." : "",
                           STR_ARG(group), STR_ARG(json_get_str(o, "name")));
    }
    cell_str(cells, obj, "metadata.name");
    cell_text(cells, owner);
    cell_int(cells, obj, "revision");
    cell_age(cells, obj, now_s);
}

const struct kind_ops controllerrevision_ops = {
    .validate = revision_validate,
    .validate_update = revision_update,
    .cells = revision_cells,
};
