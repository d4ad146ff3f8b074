/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Templates and policies find each other: a template is claimed by the best policy that means it,
 * and has a binding from then on (spec/karmada 2.2, 2.3).
 *
 * Keys are of policies, and of templates: "apiVersion Kind name" in the place of the name, with
 * the '/' of an apiVersion as ':'.  Kinds are watched from the moment at which a policy of any
 * instance names them.  A template without a policy is not remembered: a policy that appears looks
 * for its templates, and a template that appears for its policies.
 */

#include "federation/controllers/propagation/detector.h"

#include "base/banned.h"
#include "client/finalizer.h"
#include "object/meta/karmada.h"

enum { WAIT_MS = 1000 }; /* for override policies that have to be there first */

#define CLUSTER_POLICY "cluster-policy"
#define CUSTOM         "custom"

/* ---- keys ---- */

static str coded(struct arena *a, str api_version)
{
    char *p = str_z(a, api_version);

    for (size_t i = 0; i < api_version.n; i++)
        if (p[i] == '/')
            p[i] = ':';
    return (str){ p, api_version.n };
}

static str decoded(struct arena *a, str api_version)
{
    char *p = str_z(a, api_version);

    for (size_t i = 0; i < api_version.n; i++)
        if (p[i] == ':')
            p[i] = '/';
    return (str){ p, api_version.n };
}

void detector_wake(struct propagator *p, struct arena *a, str instance, str api_version, str kind,
                   str namespace, str name)
{
    struct informer_key k = { .instance = instance.n ? instance : STR("root"),
                              .namespace = namespace };

    k.name = str_printf(a, "%.*s %.*s %.*s", STR_ARG(coded(a, api_version)), STR_ARG(kind),
                        STR_ARG(name));
    if (p->detector && !propagator_skips(namespace) &&
        !propagator_is_everywhere(kind, namespace, name))
        controller_wake(p->detector, &k);
}

/* ---- what is heard ---- */

static void on_cluster_policy(void *arg, struct controller *c, const struct informer_key *k,
                              const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct informer_key key = { .instance = k->instance };

    (void)arg;
    (void)object;
    (void)deleted;
    key.name = str_printf(a, CLUSTER_POLICY " %.*s", STR_ARG(k->name));
    controller_wake(c, &key);
}

static void on_template(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();

    (void)c;
    if (deleted || !object)
        return; /* its binding goes with it, by its owner reference */
    detector_wake(arg, a, propagator_instance(k), json_get_str(object, "apiVersion"),
                  json_get_str(object, "kind"), k->namespace, k->name);
}

/* A new kind may be one that a policy waits for. */
static void on_crd(void *arg, struct controller *c, const struct informer_key *k,
                   const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct informer_key key = { .instance = k->instance };

    (void)arg;
    if (deleted || !object)
        return;
    key.name = str_printf(a, CUSTOM " %.*s %.*s", STR_ARG(json_get_str(object, "spec.group")),
                          STR_ARG(json_get_str(object, "spec.names.kind")));
    controller_wake(c, &key);
}

int detector_watch(struct propagator *p, struct client *client, struct arena *a, str instance,
                   const struct json *policy, struct status *st)
{
    json_for_each (s, json_path(policy, "spec.resourceSelectors")) {
        struct controller_source source = { .spec_only = true, .map = on_template };
        str api_version = json_get_str(s, "apiVersion"), kind = json_get_str(s, "kind");
        int found;

        if (propagator_skips_kind(api_version, kind))
            continue;
        found = propagator_resource(p, client, a, instance, api_version, kind, &source.ref, st);
        if (found < 0)
            return -1;
        source.ref.instance = STR("*");
        if (found && p->detector)
            controller_watch(p->detector, &source);
    }
    return 0;
}

/* ---- a template ---- */

static int get_policy(struct client *client, struct arena *a, const struct policy_kind *k,
                      str instance, str namespace, str name, const struct json **out,
                      struct status *st)
{
    struct client_ref ref = policy_ref(k, instance, namespace, name);

    *out = NULL;
    if (client_get(client, a, &ref, out, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

static int find_policy(struct client *client, struct arena *a, const struct policy_kind *k,
                       str instance, str namespace, const struct json *template,
                       const struct json **out, struct status *st)
{
    struct client_ref ref = policy_ref(k, instance, namespace, STR_NONE);
    const struct json *list;

    *out = NULL;
    if (client_list(client, a, &ref, NULL, &list, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st); /* an instance without Karmada's kinds */
        return 0;
    }
    *out = policy_best(a, json_get(list, STR("items")), template);
    return 0;
}

/* Overrides that have to exist before the first copy is made. */
static int overrides_are_there(struct client *client, struct arena *a, const struct policy_kind *k,
                               str instance, const struct json *policy, struct status *st)
{
    struct client_ref ref =
        policy_ref(k, instance, json_get_str(policy, "metadata.namespace"), STR_NONE);

    ref.resource = ref.namespace.n ? STR("overridepolicies") : STR("clusteroverridepolicies");
    json_for_each (name, json_path(policy, "spec.dependentOverrides")) {
        ref.name = json_str(name);
        if (ref.name.n == 0 || client_get(client, a, &ref, NULL, st) == 0)
            continue;
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    return 1;
}

struct subject { /* the template at hand */
    struct propagator *p;
    struct client *client;
    struct arena *a;
    str instance;
    struct client_ref ref;
    const struct json *object;
};

/* Which was written later can be told: all writes have one line of revisions. */
static bool is_older(const struct json *x, const struct json *y)
{
    uint64_t a, b;

    return str_to_u64(json_get_str(x, "metadata.resourceVersion"), &a) &&
           str_to_u64(json_get_str(y, "metadata.resourceVersion"), &b) && a < b;
}

/*
 * A lazy policy waits until the template itself changes; one that has been there before the policy
 * is claimed, and waits as well.
 */
static int apply(struct subject *s, const struct policy_kind *k, const struct json *policy,
                 struct status *st)
{
    bool lazy = str_is(json_get_str(policy, "spec.activationPreference"), "Lazy"), changed;
    int ready = overrides_are_there(s->client, s->a, k, s->instance, policy, st);
    str key = str_printf(s->a, "%.*s/%.*s/%.*s %.*s", STR_ARG(s->instance),
                         STR_ARG(s->ref.namespace), STR_ARG(s->ref.resource), STR_ARG(s->ref.name));
    uint64_t hash = propagator_hash(s->a, s->object);
    bool waits = lazy && !policy_has_claim(s->object, k) && is_older(s->object, policy);

    if (ready <= 0)
        return ready < 0 ? -1 : WAIT_MS;
    if (policy_write_claim(s->client, s->a, &s->ref, &s->object, k, policy, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (waits)
        propagator_keep(s->p, key, hash);
    changed = !propagator_seen(s->p, key, hash);
    if (!changed && lazy)
        return 0;
    if (detector_bind(&(struct propagator_at){ s->p, s->client, s->a, s->instance }, s->object, k,
                      policy, changed, st) < 0)
        return -1;
    propagator_keep(s->p, key, hash);
    return 0;
}

/* The policy by which it is claimed has gone: so has its claim, on the binding first. */
static int release(struct subject *s, const struct policy_kind *k, struct status *st)
{
    struct client_ref ref = propagator_binding_ref(
        s->instance, s->ref.namespace,
        karmada_binding_name(s->a, s->ref.name, json_get_str(s->object, "kind")));
    const struct json *binding;

    if (client_get(s->client, s->a, &ref, &binding, st) == 0) {
        if (policy_write_claim(s->client, s->a, &ref, &binding, k, NULL, st) < 0)
            return -1;
    } else if (!status_is(st, REASON_NOT_FOUND)) {
        return -1;
    }
    status_reset(st);
    return policy_write_claim(s->client, s->a, &s->ref, &s->object, k, NULL, st);
}

/* 1: the claim holds and is dealt with (*result); 0: there is none. */
static int by_claim(struct subject *s, const struct policy_kind *k, int *result, struct status *st)
{
    const struct json *policy;
    str namespace = k->namespace ? karmada_annotation(s->object, k->namespace) : STR_NONE;
    str id = karmada_label(s->object, k->id);

    if (!policy_has_claim(s->object, k))
        return 0;
    if (get_policy(s->client, s->a, k, s->instance, namespace,
                   karmada_annotation(s->object, k->name), &policy, st) < 0)
        return -1;
    if (!policy || !str_eq(karmada_label(policy, k->id), id))
        return release(s, k, st); /* 0: now it is free */
    *result = 0;
    if (is_deleting(policy))
        return 1; /* the policy's own end takes the claim away */
    if (policy_best(s->a,
                    json_box(s->a, (struct json){ .type = JSON_ARRAY, .n = 1, .items = policy }),
                    s->object))
        *result = apply(s, k, policy, st);
    return *result < 0 ? -1 : 1;
}

static int by_search(struct subject *s, struct status *st)
{
    const struct json *policy = NULL;

    if (s->ref.namespace.n && find_policy(s->client, s->a, &policy_namespaced, s->instance,
                                          s->ref.namespace, s->object, &policy, st) < 0)
        return -1;
    if (policy)
        return apply(s, &policy_namespaced, policy, st);
    if (find_policy(s->client, s->a, &policy_cluster, s->instance, STR_NONE, s->object, &policy,
                    st) < 0)
        return -1;
    return policy ? apply(s, &policy_cluster, policy, st) : 0;
}

static int reconcile_template(struct propagator *p, struct client *client, struct arena *a,
                              const struct informer_key *k, str api_version, str kind, str name,
                              struct status *st)
{
    struct subject s = { .p = p, .client = client, .a = a, .instance = propagator_instance(k) };
    int rc, result = 0;

    if (propagator_skips_kind(api_version, kind))
        return 0;
    rc = propagator_resource(p, client, a, s.instance, api_version, kind, &s.ref, st);
    if (rc <= 0)
        return rc;
    s.ref.namespace = k->namespace;
    s.ref.name = name;
    if (client_get(client, a, &s.ref, &s.object, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(s.object) || karmada_label(s.object, KARMADA_CLAIMED_BY).n)
        return 0;
    rc = by_claim(&s, &policy_namespaced, &result, st);
    if (rc == 0)
        rc = by_claim(&s, &policy_cluster, &result, st);
    if (rc != 0)
        return rc < 0 ? -1 : result;
    return by_search(&s, st);
}

/* ---- a kind that has come ---- */

static bool names_kind(const struct json *policy, str group, str kind)
{
    json_for_each (s, json_path(policy, "spec.resourceSelectors")) {
        str version = json_get_str(s, "apiVersion");

        if (str_eq(json_get_str(s, "kind"), kind) && str_starts(version, group))
            return true;
    }
    return false;
}

static int reconcile_custom(struct propagator *p, struct client *client, struct arena *a,
                            const struct informer_key *k, str group, str kind, struct status *st)
{
    static const struct policy_kind *const kinds[] = { &policy_namespaced, &policy_cluster };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct client_ref ref = policy_ref(kinds[i], propagator_instance(k), STR_NONE, STR_NONE);
        const struct json *list;

        if (client_list(client, a, &ref, NULL, &list, st) < 0) {
            if (!status_is(st, REASON_NOT_FOUND))
                return -1;
            return 0; /* an instance without Karmada's kinds */
        }
        json_for_each (policy, json_get(list, STR("items"))) {
            struct informer_key key = { .instance = k->instance,
                                        .namespace = json_get_str(policy, "metadata.namespace"),
                                        .name = json_get_str(policy, "metadata.name") };

            if (!names_kind(policy, group, kind))
                continue;
            if (kinds[i] == &policy_cluster)
                key.name = str_printf(a, CLUSTER_POLICY " %.*s", STR_ARG(key.name));
            controller_wake(p->detector, &key);
        }
    }
    return 0;
}

/* ---- all of them ---- */

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct propagator *p = arg;
    str rest = k->name, words[3] = { STR_NONE, STR_NONE, STR_NONE };
    size_t n = 0;

    while (n < 3 && str_split(&rest, ' ', &words[n]))
        n++;
    if (n == 1)
        return detector_policy(p, client, a, k, &policy_namespaced, words[0], st);
    if (str_is(words[0], CLUSTER_POLICY))
        return detector_policy(p, client, a, k, &policy_cluster, words[1], st);
    if (str_is(words[0], CUSTOM))
        return reconcile_custom(p, client, a, k, words[1], words[2], st);
    return reconcile_template(p, client, a, k, decoded(a, words[0]), words[1], words[2], st);
}

static void started(void *arg, struct controller *c)
{
    struct propagator *p = arg;

    p->detector = c;
}

static const struct controller_source also[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("policy.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusterpropagationpolicies") },
      .map = on_cluster_policy },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("apiextensions.k8s.io"),
               .version = STR_INIT("v1"),
               .resource = STR_INIT("customresourcedefinitions") },
      .map = on_crd },
};

const struct controller_spec detector_controller = {
    .name = "detector",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("policy.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("propagationpolicies") },
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 4,
    .reconcile = reconcile,
    .started = started,
};
