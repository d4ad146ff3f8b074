/* SPDX-License-Identifier: Apache-2.0 */

/* The binding of a claimed template: what its policy and the template say. */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/propagation/detector.h"
#include "object/meta/karmada.h"

/* The members of a binding's spec that are ours; others write the rest. */
static const char *const owned[] = {
    "resource",
    "replicas",
    "replicaRequirements",
    "propagateDeps",
    "placement",
    "schedulerName",
    "failover",
    "conflictResolution",
    "suspension",
    "preserveResourcesOnDeletion",
    "schedulePriority",
};

static void copy(struct json_object *o, const struct json *from, const char *name)
{
    const struct json *v = json_get(from, str_of(name));

    if (v && v->type != JSON_NULL)
        json_add(o, str_of(name), *v);
}

/* The policy's, and whether scheduling stands still, which is not the policy's affair. */
static void add_suspension(struct arena *a, struct json_object *o, const struct json *policy,
                           const struct json *old)
{
    const struct json *said = json_path(policy, "spec.suspension");
    const struct json *held = json_path(old, "spec.suspension.scheduling");
    struct json_object s =
        json_object_from(a, json_is(said, JSON_OBJECT) ? said : &json_empty_object);

    if (held)
        json_put(&s, STR("scheduling"), *held);
    if (s.n)
        json_add(o, STR("suspension"), json_object_value(&s));
}

static int add_priority(struct client *client, struct arena *a, str instance, struct json_object *o,
                        const struct json *policy, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("scheduling.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("priorityclasses"),
                              .name =
                                  json_get_str(policy, "spec.schedulePriority.priorityClassName") };
    const struct json *class;

    if (ref.name.n == 0)
        return 0;
    if (client_get(client, a, &ref, &class, st) < 0)
        return -1;
    json_add(o, STR("schedulePriority"),
             *json_set(a, &json_empty_object, "priority",
                       json_box(a, json_of_int(json_int(json_get(class, STR("value")), 0)))));
    return 0;
}

/* How many it wants, and what each asks for. */
static int add_replicas(struct propagator *p, struct arena *a, str instance,
                        const struct json *template, struct json_object *o, struct status *st)
{
    const struct scripts *scripts;
    struct interp_replicas r;
    int rc;

    if (propagator_scripts(p, a, instance, template, &scripts, st) < 0)
        return -1;
    rc = scripts_replicas(scripts, a, template, &r, st);
    if (rc < 0)
        propagator_tell(p, instance, template, RECORDER_WARNING, "GetReplicasFailed", st->message);
    if (rc <= 0)
        return rc;
    if (r.replicas)
        json_add(o, STR("replicas"), json_of_int(r.replicas));
    if (r.requirements)
        json_add(o, STR("replicaRequirements"), *r.requirements);
    return 0;
}

static int desired_spec(const struct propagator_at *at, const struct json *template,
                        const struct json *policy, const struct json *old, struct json_object *o,
                        struct status *st)
{
    static const char *const copied[] = { "placement", "schedulerName", "failover",
                                          "conflictResolution", "preserveResourcesOnDeletion" };
    const struct json *spec = json_get(policy, STR("spec"));

    json_add(o, STR("resource"), propagator_reference(at->a, template));
    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++)
        copy(o, spec, copied[i]);
    if (json_bool(json_get(spec, STR("propagateDeps"))))
        json_add(o, STR("propagateDeps"), json_true);
    if (add_replicas(at->p, at->a, at->instance, template, o, st) < 0)
        return -1;
    add_suspension(at->a, o, policy, old);
    return add_priority(at->client, at->a, at->instance, o, policy, st);
}

static const struct json *without_version(struct arena *a, const struct json *resource)
{
    return json_is(resource, JSON_OBJECT) ? json_set(a, resource, "resourceVersion", NULL)
                                          : resource;
}

static bool equal_or_none(const struct json *a, const struct json *b)
{
    return a && b ? json_equal(a, b) : a == b;
}

/* A status that was written is no news: then only the template's resourceVersion differs. */
static bool same_spec(struct arena *a, const struct json *was, const struct json *want,
                      bool changed)
{
    for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++) {
        const struct json *x = json_get(was, str_of(owned[i]));
        const struct json *y = json_get(want, str_of(owned[i]));

        if (i == 0 && !changed) {
            x = without_version(a, x);
            y = without_version(a, y);
        }
        if (!equal_or_none(x, y))
            return false;
    }
    return true;
}

/* Whose binding it is: of a template that was deleted and made again it is not ours yet. */
static bool is_others(const struct json *binding, const struct json *template)
{
    json_for_each (o, json_path(binding, "metadata.ownerReferences"))
        if (json_bool(json_get(o, STR("controller"))))
            return !str_eq(json_get_str(o, "uid"), json_get_str(template, "metadata.uid"));
    return false;
}

static const struct json *desired(struct arena *a, const struct json *old,
                                  const struct json *template, const struct policy_kind *k,
                                  const struct json *policy, struct json_object *spec)
{
    bool namespaced = json_get_str(template, "metadata.namespace").n > 0;
    struct json_object all =
        json_object_from(a, json_path(old, "spec") ? json_path(old, "spec") : &json_empty_object);
    const struct json *b = policy_claimed(a, old, k, policy);
    struct json owners = propagator_owners(a, template);

    for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
        json_remove(&all, str_of(owned[i]));
    for (uint32_t i = 0; i < spec->n; i++)
        json_put(&all, spec->members[i].name, spec->members[i].value);
    b = finalizer_with(a, b, namespaced ? KARMADA_RB_FINALIZER : KARMADA_CRB_FINALIZER);
    b = json_set(a, b, "metadata.ownerReferences", json_box(a, owners));
    return json_set(a, b, "spec", json_object_done(&all));
}

static const struct json *blank(struct arena *a, const struct client_ref *ref)
{
    struct json_object o = json_object_new(a), meta = json_object_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(STR("work.karmada.io/v1alpha2")));
    json_add(
        &o, STR("kind"),
        json_of_str(ref->namespace.n ? STR("ResourceBinding") : STR("ClusterResourceBinding")));
    json_add(&meta, STR("name"), json_of_str(ref->name));
    if (ref->namespace.n)
        json_add(&meta, STR("namespace"), json_of_str(ref->namespace));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    return json_object_done(&o);
}

int detector_bind(const struct propagator_at *at, const struct json *template,
                  const struct policy_kind *k, const struct json *policy, bool changed,
                  struct status *st)
{
    struct client *client = at->client;
    struct arena *a = at->a;
    struct client_ref ref =
        propagator_binding_ref(at->instance, json_get_str(template, "metadata.namespace"),
                               karmada_binding_name(a, json_get_str(template, "metadata.name"),
                                                    json_get_str(template, "kind")));
    struct client_ref all = ref;
    struct json_object spec = json_object_new(a);
    const struct json *old = NULL, *want;

    all.name = STR_NONE;
    if (client_get(client, a, &ref, &old, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        old = NULL;
    }
    if (old && (propagator_deleting(old) || is_others(old, template)))
        return status_set(st, REASON_CONFLICT, "binding %.*s is still another's",
                          STR_ARG(ref.name));
    if (desired_spec(at, template, policy, old, &spec, st) < 0)
        return -1;
    want = desired(a, old ? old : blank(a, &ref), template, k, policy, &spec);
    if (!old)
        return client_create(client, a, &all, want, NULL, st);
    if (json_equal(json_get(old, STR("metadata")), json_get(want, STR("metadata"))) &&
        same_spec(a, json_get(old, STR("spec")), json_get(want, STR("spec")), changed))
        return 1;
    return client_update(client, a, &ref, want, NULL, st);
}
