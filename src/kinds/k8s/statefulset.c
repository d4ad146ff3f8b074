/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

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
