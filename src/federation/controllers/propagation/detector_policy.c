/* SPDX-License-Identifier: Apache-2.0 */

/* Policies: which is the best, what they claim, their beginning and end. */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/propagation/detector.h"
#include "federation/controllers/propagation/resource_selector.h"
#include "object/meta/karmada.h"
#include "object/meta/selector.h"

enum { PAGE = 500 };

const struct policy_kind policy_namespaced = {
    .resource = "propagationpolicies",
    .id = KARMADA_PP_ID,
    .name = KARMADA_PP_NAME,
    .namespace = KARMADA_PP_NAMESPACE,
    .finalizer = KARMADA_PP_FINALIZER,
};
const struct policy_kind policy_cluster = {
    .resource = "clusterpropagationpolicies",
    .id = KARMADA_CPP_ID,
    .name = KARMADA_CPP_NAME,
    .finalizer = KARMADA_CPP_FINALIZER,
};

struct client_ref policy_ref(const struct policy_kind *k, str instance, str namespace, str name)
{
    return (struct client_ref){ .instance = instance,
                                .group = STR("policy.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = str_of(k->resource),
                                .namespace = namespace,
                                .name = name };
}

/* ---- the best ---- */

static int64_t priority_of(const struct json *policy)
{
    return json_int(json_path(policy, "spec.priority"), 0);
}

/* Larger priority, then the more exact selector, then the smaller name. */
const struct json *policy_best(struct arena *a, const struct json *policies,
                               const struct json *object)
{
    const struct json *best = NULL;
    enum resource_precision best_exact = RESOURCE_NOT_MEANT;

    json_for_each (p, policies) {
        enum resource_precision exact =
            resource_precision(a, json_path(p, "spec.resourceSelectors"), object);
        int64_t d;

        if (exact == RESOURCE_NOT_MEANT || is_deleting(p))
            continue;
        d = best ? priority_of(p) - priority_of(best) : 1;
        if (d == 0)
            d = (int64_t)exact - (int64_t)best_exact;
        if (d == 0)
            d = -str_cmp(json_get_str(p, "metadata.name"), json_get_str(best, "metadata.name"));
        if (d > 0) {
            best = p;
            best_exact = exact;
        }
    }
    return best;
}

/* ---- claims ---- */

bool policy_has_claim(const struct json *object, const struct policy_kind *k)
{
    return karmada_label(object, k->id).n && karmada_annotation(object, k->name).n &&
           (!k->namespace || karmada_annotation(object, k->namespace).n);
}

static void unclaim(struct json_object *labels, struct json_object *notes,
                    const struct policy_kind *k)
{
    json_remove(labels, str_of(k->id));
    json_remove(notes, str_of(k->name));
    if (k->namespace)
        json_remove(notes, str_of(k->namespace));
}

const struct json *policy_claimed(struct arena *a, const struct json *object,
                                  const struct policy_kind *k, const struct json *policy)
{
    struct json_object labels = propagator_map(a, object, "metadata.labels");
    struct json_object notes = propagator_map(a, object, "metadata.annotations");
    const struct json *now = object;

    unclaim(&labels, &notes, policy ? &policy_cluster : k);
    if (policy) {
        unclaim(&labels, &notes, &policy_namespaced);
        json_put(&labels, str_of(k->id), json_of_str(karmada_label(policy, k->id)));
        json_put(&notes, str_of(k->name), json_of_str(json_get_str(policy, "metadata.name")));
        if (k->namespace)
            json_put(&notes, str_of(k->namespace),
                     json_of_str(json_get_str(policy, "metadata.namespace")));
    }
    now = json_set(a, now, "metadata.labels", labels.n ? json_object_done(&labels) : NULL);
    now = json_set(a, now, "metadata.annotations", notes.n ? json_object_done(&notes) : NULL);
    return json_equal(now, object) ? object : now;
}

int policy_write_claim(struct client *client, struct arena *a, const struct client_ref *ref,
                       const struct json **object, const struct policy_kind *k,
                       const struct json *policy, struct status *st)
{
    const struct json *now = policy_claimed(a, *object, k, policy);

    if (now == *object)
        return 0;
    return client_update(client, a, ref, now, object, st);
}

/* ---- a policy's templates ---- */

struct visit {
    struct propagator *p;
    struct client *client;
    struct arena *a;
    str instance;
    const struct policy_kind *kind;
    const struct json *policy;
};

/* One binding that carries the policy's id; free: its claim is taken away. */
static int visit_binding(const struct visit *v, const struct json *binding, bool end,
                         struct status *st)
{
    const struct json *what = json_path(binding, "spec.resource"), *template;
    struct client_ref ref =
        propagator_binding_ref(v->instance, json_get_str(binding, "metadata.namespace"),
                               json_get_str(binding, "metadata.name"));
    struct client_ref at;
    int found = propagator_object(v->p, v->client, v->a, v->instance, what, &at, &template, st);

    if (found < 0)
        return -1;
    if (found && !end &&
        resource_precision(v->a, json_path(v->policy, "spec.resourceSelectors"), template) !=
            RESOURCE_NOT_MEANT) {
        detector_wake(v->p, v->a, v->instance, json_get_str(what, "apiVersion"),
                      json_get_str(what, "kind"), json_get_str(what, "namespace"),
                      json_get_str(what, "name"));
        return 0;
    }
    if (policy_write_claim(v->client, v->a, &ref, &binding, v->kind, NULL, st) < 0 &&
        !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    if (!found ||
        !str_eq(karmada_label(template, v->kind->id), karmada_label(v->policy, v->kind->id)))
        return 0;
    if (policy_write_claim(v->client, v->a, &at, &template, v->kind, NULL, st) < 0 &&
        !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

static int visit_bindings(const struct visit *v, bool namespaced, bool end, struct status *st)
{
    str namespace = json_get_str(v->policy, "metadata.namespace");
    struct client_ref ref = propagator_binding_ref(
        v->instance, namespaced && !namespace.n ? STR("-") : namespace, STR_NONE);
    struct client_query q = { .limit = PAGE };
    str id = karmada_label(v->policy, v->kind->id);
    const struct json *list;

    if (id.n == 0)
        return 0;
    ref.namespace = namespace; /* of a cluster's policy: all of them */
    q.label_selector = str_printf(v->a, "%s=%.*s", v->kind->id, STR_ARG(id));
    do {
        if (client_list(v->client, v->a, &ref, &q, &list, st) < 0)
            return -1;
        json_for_each (b, json_get(list, STR("items")))
            if (visit_binding(v, b, end, st) < 0)
                return -1;
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

/* Templates that a selector means and nobody has claimed yet; by name without a look. */
static int wake_selected(const struct visit *v, const struct json *selector, struct status *st)
{
    str version = json_get_str(selector, "apiVersion"), kind = json_get_str(selector, "kind");
    str namespace = json_get_str(selector, "namespace"), name = json_get_str(selector, "name");
    struct client_query q = { .limit = PAGE };
    struct client_ref ref;
    const struct json *list;
    int found;

    if (v->kind == &policy_namespaced)
    namespace = json_get_str(v->policy, "metadata.namespace");
    found = propagator_resource(v->p, v->client, v->a, v->instance, version, kind, &ref, st);
    if (found <= 0)
        return found;
    ref.namespace = namespace;
    if (!name.n)
        q.label_selector = selector_print(v->a, json_get(selector, STR("labelSelector")));
    else
        q.field_selector = str_printf(v->a, "metadata.name=%.*s", STR_ARG(name));
    if (name.n && v->kind == &policy_namespaced) {
        detector_wake(v->p, v->a, v->instance, version, kind, namespace, name);
        return 0;
    }
    do {
        if (client_list(v->client, v->a, &ref, &q, &list, st) < 0)
            return -1;
        json_for_each (o, json_get(list, STR("items")))
            if (!policy_has_claim(o, &policy_namespaced) &&
                !(v->kind == &policy_cluster && policy_has_claim(o, &policy_cluster)))
                detector_wake(v->p, v->a, v->instance, version, kind,
                              json_get_str(o, "metadata.namespace"),
                              json_get_str(o, "metadata.name"));
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

/* ---- preemption ---- */

/* Whether the policy takes a template from whom it is claimed by. */
static int preempts(const struct visit *v, const struct json *template, struct status *st)
{
    const struct policy_kind *k = v->kind;
    struct client_ref ref;
    const struct json *other;

    if (k == &policy_namespaced && policy_has_claim(template, &policy_cluster))
        return 1;
    if (!policy_has_claim(template, k) ||
        str_eq(karmada_label(template, k->id), karmada_label(v->policy, k->id)))
        return 0;
    ref = policy_ref(k, v->instance,
                     k->namespace ? karmada_annotation(template, k->namespace) : STR_NONE,
                     karmada_annotation(template, k->name));
    if (client_get(v->client, v->a, &ref, &other, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0; /* it is about to be free */
    }
    return priority_of(v->policy) > priority_of(other);
}

static int preempt(const struct visit *v, struct status *st)
{
    if (!v->p->preemption || !str_is(json_get_str(v->policy, "spec.preemption"), "Always"))
        return 0;
    json_for_each (s, json_path(v->policy, "spec.resourceSelectors")) {
        struct client_ref ref;
        const struct json *template;
        int found = propagator_object(v->p, v->client, v->a, v->instance, s, &ref, &template, st);

        if (found > 0)
            found = preempts(v, template, st);
        if (found > 0 &&
            policy_write_claim(v->client, v->a, &ref, &template, v->kind, v->policy, st) < 0)
            return -1;
        if (found < 0)
            return -1;
    }
    return 0;
}

/* ---- a policy ---- */

int detector_policy(struct propagator *p, struct client *client, struct arena *a,
                    const struct informer_key *k, const struct policy_kind *kind, str name,
                    struct status *st)
{
    struct visit v = {
        .p = p, .client = client, .a = a, .instance = propagator_instance(k), .kind = kind
    };
    struct client_ref ref = policy_ref(kind, v.instance, k->namespace, name);
    bool end;

    if (client_get(client, a, &ref, &v.policy, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    end = is_deleting(v.policy);
    if (!end && detector_watch(p, client, a, v.instance, v.policy, st) < 0)
        return -1;
    if (visit_bindings(&v, true, end, st) < 0 ||
        (kind == &policy_cluster && visit_bindings(&v, false, end, st) < 0))
        return -1;
    if (end)
        return finalizer_remove(client, a, &ref, kind->finalizer, v.policy, st);
    json_for_each (s, json_path(v.policy, "spec.resourceSelectors"))
        if (wake_selected(&v, s, st) < 0)
            return -1;
    return preempt(&v, st);
}
