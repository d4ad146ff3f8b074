/* SPDX-License-Identifier: Apache-2.0 */

/*
 * FederatedResourceQuotas: a ResourceQuota, as a Work, in each member that has a part of it, and
 * what is used of them all in its status.  The Works know their quota by labels, since it lives in
 * another namespace than they; those of one that has gone are found by them, too.
 *
 * A key without a namespace is a cluster that has come.
 *
 * karmada: pkg/controllers/federatedresourcequota
 */

#include "base/banned.h"
#include "federation/controllers/propagation/propagator.h"
#include "object/meta/amounts.h"
#include "object/meta/condition.h"
#include "object/meta/karmada.h"

#define QUOTA_NAMESPACE "federatedresourcequota.karmada.io/namespace"
#define QUOTA_NAME      "federatedresourcequota.karmada.io/name"

struct look {
    struct client *client;
    struct arena *a;
    str instance;
    const struct informer_key *key;
    const struct json *quota; /* NULL: it has gone */
};

static struct client_ref quota_ref(str instance)
{
    return (struct client_ref){ .instance = instance,
                                .group = STR("policy.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("federatedresourcequotas") };
}

/* What of it a cluster has, or NULL. */
static const struct json *part_of(const struct json *quota, str cluster)
{
    json_for_each (s, json_path(quota, "spec.staticAssignments"))
        if (str_eq(json_get_str(s, "clusterName"), cluster))
            return json_get(s, STR("hard"));
    return NULL;
}

/* ---- Works ---- */

static const struct json *manifest_of(const struct look *l, const struct json *hard)
{
    struct json_object o = json_object_new(l->a), meta = json_object_new(l->a),
                       spec = json_object_new(l->a);

    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("kind"), json_of_str(STR("ResourceQuota")));
    json_add(&meta, STR("name"), json_of_str(l->key->name));
    json_add(&meta, STR("namespace"), json_of_str(l->key->namespace));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&spec, STR("hard"), *hard);
    json_add(&o, STR("spec"), json_object_value(&spec));
    return json_object_done(&o);
}

static const struct json *work_in(const struct json *works, str namespace)
{
    json_for_each (w, works)
        if (str_eq(json_get_str(w, "metadata.namespace"), namespace))
            return w;
    return NULL;
}

static int place(const struct look *l, str cluster, const struct json *works, struct status *st)
{
    const struct json *hard = part_of(l->quota, cluster);
    struct json_object labels = json_object_new(l->a);
    struct work_order o = { .cluster = cluster, .annotations = json_empty_object };

    if (!hard)
        return 0;
    json_add(&labels, STR(QUOTA_NAME), json_of_str(l->key->name));
    json_add(&labels, STR(QUOTA_NAMESPACE), json_of_str(l->key->namespace));
    o.labels = json_object_value(&labels);
    o.manifest = o.template = manifest_of(l, hard);
    return propagator_work(l->client, l->a, l->instance, &o,
                           work_in(works, karmada_execution_namespace(l->a, cluster)), st);
}

static int list_works(const struct look *l, const struct json **out, struct status *st)
{
    struct client_ref ref = propagator_work_ref(l->instance, STR_NONE, STR_NONE);
    struct client_query q = { .label_selector =
                                  str_printf(l->a, QUOTA_NAMESPACE "=%.*s," QUOTA_NAME "=%.*s",
                                             STR_ARG(l->key->namespace), STR_ARG(l->key->name)) };
    const struct json *list;

    if (client_list(l->client, l->a, &ref, &q, &list, st) < 0)
        return -1;
    *out = json_get(list, STR("items"));
    return 0;
}

/* Those of clusters that have no part, or no part any more. */
static int drop_strays(const struct look *l, const struct json *works, struct status *st)
{
    json_for_each (w, works) {
        struct client_ref ref = propagator_work_ref(
            l->instance, json_get_str(w, "metadata.namespace"), json_get_str(w, "metadata.name"));
        str cluster;

        if (propagator_deleting(w) ||
            (l->quota && karmada_execution_cluster(ref.namespace, &cluster) &&
             part_of(l->quota, cluster)))
            continue;
        if (client_delete(l->client, l->a, &ref, NULL, st) < 0 && !status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    return 0;
}

static int place_all(const struct look *l, const struct json *works, struct status *st)
{
    struct client_ref ref = { .instance = l->instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };
    const struct json *list;
    int rc = 0;

    if (client_list(l->client, l->a, &ref, NULL, &list, st) < 0)
        return -1;
    json_for_each (c, json_get(list, STR("items")))
        if (!propagator_deleting(c) && place(l, json_get_str(c, "metadata.name"), works, st) < 0)
            rc = -1; /* the others get theirs all the same */
    return rc;
}

/* ---- status ---- */

/* Works come in the order of their namespaces, and so of their clusters. */
static struct json aggregated(const struct look *l, const struct json *works, struct amounts *used)
{
    struct json_array all = json_array_new(l->a);

    json_for_each (w, works) {
        const struct json *first = json_at(json_path(w, "status.manifestStatuses"), 0);
        struct json_object o = json_object_new(l->a);
        struct amounts some;
        str cluster;

        if (!condition_holds(json_path(w, "status.conditions"), "Applied") || !first ||
            !karmada_execution_cluster(json_get_str(w, "metadata.namespace"), &cluster))
            continue;
        json_add(&o, STR("clusterName"), json_of_str(cluster));
        json_for_each_member (m, json_get(first, STR("status")))
            json_add(&o, m->name, m->value);
        json_push(&all, json_object_value(&o));
        some = amounts_of(l->a, json_path(first, "status.used"));
        *used = amounts_add(l->a, used, 1, &some);
    }
    return json_array_value(&all);
}

static int write_status(const struct look *l, const struct json *works, struct status *st)
{
    struct client_ref ref = quota_ref(l->instance);
    struct json_object o = json_object_new(l->a);
    struct amounts used = { 0 };
    struct json all = aggregated(l, works, &used);
    const struct json *overall = json_path(l->quota, "spec.overall"), *now;

    if (overall)
        json_add(&o, STR("overall"), *overall);
    if (used.n)
        json_add(&o, STR("overallUsed"), *amounts_json(l->a, &used));
    if (all.n)
        json_add(&o, STR("aggregatedStatus"), all);
    now = json_set(l->a, l->quota, "status", json_object_done(&o));
    if (json_equal(now, l->quota))
        return 0;
    ref.namespace = l->key->namespace;
    ref.name = l->key->name;
    ref.subresource = STR("status");
    return client_update(l->client, l->a, &ref, now, NULL, st);
}

/* ---- the controller ---- */

static int reconcile_quota(struct look *l, struct status *st)
{
    struct client_ref ref = quota_ref(l->instance);
    const struct json *works;

    ref.namespace = l->key->namespace;
    ref.name = l->key->name;
    if (client_get(l->client, l->a, &ref, &l->quota, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        l->quota = NULL;
    }
    if (list_works(l, &works, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1; /* an instance without them */
    if (drop_strays(l, works, st) < 0)
        return -1;
    if (!l->quota || propagator_deleting(l->quota))
        return 0;
    if (write_status(l, works, st) < 0)
        return -1;
    return place_all(l, works, st);
}

static int reconcile_cluster(const struct look *l, struct status *st)
{
    struct client_ref ref = quota_ref(l->instance);
    const struct json *works, *list;

    if (client_list(l->client, l->a, &ref, NULL, &list, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    json_for_each (quota, json_get(list, STR("items"))) {
        struct informer_key k = { .instance = l->key->instance,
                                  .namespace = json_get_str(quota, "metadata.namespace"),
                                  .name = json_get_str(quota, "metadata.name") };
        struct look one = *l;

        one.key = &k;
        one.quota = quota;
        if (!part_of(quota, l->key->name))
            continue;
        if (list_works(&one, &works, st) < 0 || place(&one, l->key->name, works, st) < 0)
            return -1;
    }
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct look l = { .client = client, .a = a, .instance = propagator_instance(k), .key = k };

    (void)arg;
    return k->namespace.n ? reconcile_quota(&l, st) : reconcile_cluster(&l, st);
}

static void on_work(void *arg, struct controller *c, const struct informer_key *k,
                    const struct json *object, bool deleted)
{
    struct informer_key key = { .instance = k->instance,
                                .namespace = karmada_label(object, QUOTA_NAMESPACE),
                                .name = karmada_label(object, QUOTA_NAME) };

    (void)arg;
    (void)deleted;
    if (key.namespace.n && key.name.n)
        controller_wake(c, &key);
}

static void on_cluster(void *arg, struct controller *c, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    struct informer_key key = { .instance = k->instance, .name = k->name };

    (void)arg;
    if (object && !deleted && !propagator_deleting(object))
        controller_wake(c, &key);
}

static const struct controller_source also[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("work.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("works") },
      .map = on_work },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("cluster.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusters") },
      .spec_only = true,
      .map = on_cluster },
};

const struct controller_spec federated_quota_controller = {
    .name = "federated-quota",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("policy.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("federatedresourcequotas") },
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .reconcile = reconcile,
};
