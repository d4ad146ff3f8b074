/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Namespaces are in every member without being asked for, so that templates have a place to
 * arrive: a Work per cluster, owned by the namespace (spec/karmada 2.14).  "default" is there
 * anyway.  A key is of a namespace, or "all/namespaces" when there is something new for all of
 * them; a cluster has come when its execution namespace has.
 */

#include "base/banned.h"
#include "federation/controllers/propagation/propagator.h"
#include "object/meta/karmada.h"

enum { PAGE = 500 };

#define ALL_OF_THEM "all"

static bool is_ours(const struct json *namespace)
{
    str name = json_get_str(namespace, "metadata.name");

    return !propagator_skips(name) && !str_is(name, "default") &&
           !str_is(karmada_label(namespace, KARMADA_SKIP_NAMESPACE), "true") &&
           !propagator_deleting(namespace);
}

static struct client_ref clusters_of(str instance)
{
    return (struct client_ref){ .instance = instance,
                                .group = STR("cluster.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("clusters") };
}

static int place(struct propagator *p, struct client *client, struct arena *a, str instance,
                 const struct json *namespace, str cluster,
                 const struct override_policies *overrides, struct status *st)
{
    struct work_order o = { .cluster = cluster,
                            .template = namespace,
                            .owners = propagator_owners(a, namespace) };
    struct client_ref at = propagator_work_ref(
        instance, karmada_execution_namespace(a, cluster),
        karmada_work_name(a, STR_NONE, json_get_str(namespace, "metadata.name"), STR("Namespace")));
    const struct json *existing = NULL, *m = namespace;
    struct json_object notes = json_object_new(a);

    if (client_get(client, a, &at, &existing, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        existing = NULL;
    }
    if (propagator_override(&(struct propagator_at){ p, client, a, instance }, cluster, overrides,
                            namespace, &m, &notes, st) < 0)
        return -1;
    o.manifest = m;
    o.annotations = json_object_value(&notes);
    return propagator_work(client, a, instance, &o, existing, st);
}

static int reconcile_namespace(struct propagator *p, struct client *client, struct arena *a,
                               const struct informer_key *k, struct status *st)
{
    str instance = propagator_instance(k);
    struct client_ref ref = {
        .instance = instance, .version = STR("v1"), .resource = STR("namespaces"), .name = k->name
    };
    struct client_ref all = clusters_of(instance);
    struct override_policies overrides;
    const struct json *namespace, *list;
    int rc = 0;

    if (client_list(client, a, &all, NULL, &list, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1; /* an instance without clusters' kind */
    if (json_len(json_get(list, STR("items"))) == 0)
        return 0;
    if (client_get(client, a, &ref, &namespace, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (!is_ours(namespace))
        return 0;
    namespace = json_set(a, namespace, "spec", NULL); /* finalizers: the member has its own */
    if (propagator_overrides(client, a, instance, STR_NONE, &overrides, st) < 0)
        return -1;
    json_for_each (c, json_get(list, STR("items")))
        if (!propagator_deleting(c) && place(p, client, a, instance, namespace,
                                             json_get_str(c, "metadata.name"), &overrides, st) < 0)
            rc = -1; /* the others get theirs all the same */
    return rc;
}

static int reconcile_all(struct propagator *p, struct client *client, struct arena *a,
                         const struct informer_key *k, struct status *st)
{
    struct client_ref all = { .instance = propagator_instance(k),
                              .version = STR("v1"),
                              .resource = STR("namespaces") };
    struct client_query q = { .limit = PAGE };
    const struct json *list;

    do {
        if (client_list(client, a, &all, &q, &list, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
        json_for_each (n, json_get(list, STR("items"))) {
            struct informer_key key = { .instance = k->instance,
                                        .name = json_get_str(n, "metadata.name") };

            if (is_ours(n))
                controller_wake(p->namespaces, &key);
        }
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

/* An execution namespace is the sign that a cluster is ready to be given Works. */
static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    str cluster;

    if (str_is(k->namespace, ALL_OF_THEM) || karmada_execution_cluster(k->name, &cluster))
        return reconcile_all(arg, client, a, k, st);
    if (propagator_skips(k->name))
        return 0;
    return reconcile_namespace(arg, client, a, k, st);
}

static void on_override(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *object, bool deleted)
{
    struct informer_key key = { .instance = k->instance,
                                .namespace = STR(ALL_OF_THEM),
                                .name = STR("namespaces") };

    (void)arg;
    (void)object;
    (void)deleted;
    controller_wake(c, &key);
}

static void started(void *arg, struct controller *c)
{
    struct propagator *p = arg;

    p->namespaces = c;
}

static const struct controller_source also[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("policy.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusteroverridepolicies") },
      .map = on_override },
};

const struct controller_spec namespace_sync_controller = {
    .name = "namespace-sync",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("namespaces") },
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 2,
    .reconcile = reconcile,
    .started = started,
};
