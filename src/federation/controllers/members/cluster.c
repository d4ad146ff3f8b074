/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of a Cluster: a namespace for its Works (karmada-es-<name>) while it is there; when it
 * is deleted, first these Works go, with what they had put into the member, then the namespace,
 * then the last binding that names it, and then the Cluster.  What joining had put into the member
 * stays, as in Karmada, so that the Cluster can be put back; it goes when the cluster is unjoined
 * (join_leave), or the instance deleted.
 *
 * A member that does not answer cannot be cleaned up: its Works are let go at once when it is known
 * to be away, and after a time in any case.  What they had put there is written down before, and
 * cleaned up when the member joins again (left_behind.h).
 *
 * karmada: pkg/controllers/cluster/cluster_controller.go
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/tenancy.h"
#include "federation/controllers/members/clusters.h"
#include "federation/controllers/members/left_behind.h"
#include "fleet/join.h"
#include "object/meta/condition.h"
#include "object/meta/karmada.h"

enum {
    REMOVAL_MS = 300000,
    LOOK_AGAIN_MS = 1000, /* bindings are not watched from here */
    PAGE = 500,
};

/* ---- while it is there ---- */

static struct client_ref namespace_ref(struct arena *a, const struct informer_key *k)
{
    return (struct client_ref){ .instance = clusters_instance(k),
                                .version = STR("v1"),
                                .resource = STR("namespaces"),
                                .name = karmada_execution_namespace(a, k->name) };
}

static int ensure_namespace(struct client *client, struct arena *a, const struct informer_key *k,
                            struct status *st)
{
    struct client_ref ref = namespace_ref(a, k);
    const struct json *found;
    struct json_object labels = json_object_new(a), ns = json_object_new(a),
                       meta = json_object_new(a);

    if (client_get(client, a, &ref, &found, st) == 0) {
        /* Of an earlier cluster of this name: it has to go first. */
        return is_deleting(found) ? LOOK_AGAIN_MS : 0;
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    json_add(&labels, STR(KARMADA_SYSTEM), json_of_str(STR("true")));
    json_add(&meta, STR("name"), json_of_str(ref.name));
    json_add(&meta, STR("labels"), json_object_value(&labels));
    json_add(&ns, STR("kind"), json_of_str(STR("Namespace")));
    json_add(&ns, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&ns, STR("metadata"), json_object_value(&meta));
    ref.name = STR_NONE;
    if (client_create(client, a, &ref, json_object_done(&ns), NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    return 0;
}

/* ---- while it goes ---- */

/* Nobody will carry out what these Works ask for. */
static int let_works_go(struct client *client, struct arena *a, const struct client_ref *ns,
                        struct status *st)
{
    struct client_ref ref = { .instance = ns->instance,
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("works"),
                              .namespace = ns->name };
    const struct json *list;

    if (client_list(client, a, &ref, NULL, &list, st) < 0)
        return -1;
    json_for_each (work, json_get(list, STR("items"))) {
        ref.name = json_get_str(work, "metadata.name");
        if (!json_len(json_path(work, "metadata.finalizers")))
            continue;
        if (client_update(client, a, &ref, json_set(a, work, "metadata.finalizers", NULL), NULL,
                          st) == 0)
            continue;
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    return 0;
}

/* 1: it is still there. */
static int remove_namespace(struct client *client, struct arena *a, const struct informer_key *k,
                            bool forced, struct status *st)
{
    struct client_ref ref = namespace_ref(a, k);
    const struct json *ns;

    if (client_get(client, a, &ref, &ns, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    if (!is_deleting(ns) && client_delete(client, a, &ref, NULL, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    if (forced && let_works_go(client, a, &ref, st) < 0)
        return -1;
    return 1;
}

static bool names_cluster(const struct json *binding, str cluster)
{
    json_for_each (c, json_path(binding, "spec.clusters"))
        if (str_eq(json_get_str(c, "name"), cluster))
            return true;
    return false;
}

/* 1: there is a binding that places something on the cluster. */
static int is_bound(struct client *client, struct arena *a, const struct informer_key *k,
                    const char *resource, struct status *st)
{
    struct client_ref ref = { .instance = clusters_instance(k),
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha2"),
                              .resource = str_of(resource) };
    struct client_query q = { .limit = PAGE };

    do {
        scoped_arena page = arena_new();
        const struct json *list;

        if (client_list(client, page, &ref, &q, &list, st) < 0)
            return -1;
        json_for_each (binding, json_get(list, STR("items")))
            if (names_cluster(binding, k->name))
                return 1;
        q.continue_token = str_dup(a, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    return 0;
}

static bool is_to_be_cleaned(struct client *client, struct arena *a, const struct informer_key *k,
                             const struct json *cluster)
{
    return str_is(karmada_annotation(cluster, JOIN_CLEAN), "true") ||
           instance_ending(client, a, clusters_instance(k));
}

/*
 * What joining had put there.  By the account that goes with it: who has no rights there any more
 * has done it.  A member of pull mode, or without credentials, has nothing of ours.
 */
static int clean_member(const struct clusters *c, struct client *client, struct arena *a,
                        const struct informer_key *k, struct status *st)
{
    struct join j = { .control = client, .instance = clusters_instance(k), .name = k->name };
    struct member *m;
    int rc;

    if (fleet_member(c->fleet, a,
                     &(struct member_name){ .instance = j.instance, .cluster = k->name }, &m,
                     st) < 0) {
        if (!status_is(st, REASON_INVALID) && !status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    j.member = member_client(m);
    rc = join_clean(&j, true, a, st);
    member_unref(m);
    if (rc < 0 && !status_is(st, REASON_FORBIDDEN) && !status_is(st, REASON_UNAUTHORIZED))
        return -1;
    status_reset(st);
    return 0;
}

static int end_cluster(const struct clusters *c, struct client *client, struct arena *a,
                       const struct informer_key *k, const struct json *cluster, struct status *st)
{
    int64_t limit = c->removal_ms ? c->removal_ms : REMOVAL_MS;
    int64_t age = clusters_age_ms(c, json_get_str(cluster, "metadata.deletionTimestamp"), 0);
    bool late = age >= limit, forced = late || !object_is_ready(cluster);
    struct client_ref ref = clusters_ref(k);
    int rc;

    if (!finalizer_has(cluster, CLUSTER_FINALIZER))
        return 0;
    if (forced && left_behind_note(c, client, a, k, cluster, st) < 0)
        return -1;
    rc = remove_namespace(client, a, k, forced, st);
    if (rc < 0)
        return -1;
    if (rc == 0 && !late) {
        rc = is_bound(client, a, k, "resourcebindings", st);
        if (rc == 0)
            rc = is_bound(client, a, k, "clusterresourcebindings", st);
        if (rc < 0)
            return -1;
    }
    if (rc > 0)
        return LOOK_AGAIN_MS;
    if (!late && object_is_ready(cluster) && c->fleet && is_to_be_cleaned(client, a, k, cluster) &&
        clean_member(c, client, a, k, st) < 0)
        return -1;
    return finalizer_remove(client, a, &ref, CLUSTER_FINALIZER, cluster, st);
}

/* ---- the account that acts for users ---- */

/* What came of giving it its rights, and the uid of the Cluster for which that was done. */
#define IMPERSONATOR "fleet.kairship.io/impersonator"

static int mark_impersonator(struct client *client, struct arena *a, const struct informer_key *k,
                             str result, struct status *st)
{
    struct client_ref ref = clusters_ref(k);
    struct json_object notes = json_object_new(a);

    json_add(&notes, STR(IMPERSONATOR), json_of_str(result));
    return client_patch(
        client, a, &ref, CLIENT_PATCH_MERGE,
        json_set(a, &json_empty_object, "metadata.annotations", json_object_done(&notes)), NULL,
        st);
}

/* Once, when the member is Ready for the first time. */
static int empower_impersonator(const struct clusters *c, struct client *client, struct arena *a,
                                const struct informer_key *k, const struct json *cluster,
                                struct status *st)
{
    struct member_name name = { .instance = clusters_instance(k), .cluster = k->name };
    str namespace = json_get_str(cluster, "spec.impersonatorSecretRef.namespace");
    str uid = json_get_str(cluster, "metadata.uid");
    struct member *m;
    int rc;

    if (!namespace.n || !c->fleet || !object_is_ready(cluster) ||
        !str_is(json_get_str(cluster, "spec.syncMode"), "Push") ||
        str_ends(karmada_annotation(cluster, IMPERSONATOR), uid))
        return 0;
    if (fleet_member(c->fleet, a, &name, &m, st) < 0)
        return -1;
    rc = join_impersonator(member_client(m), a, namespace, st);
    member_unref(m);
    if (rc < 0 && !status_is(st, REASON_FORBIDDEN))
        return -1;
    status_reset(st);
    return mark_impersonator(
        client, a, k, str_printf(a, "%s to %.*s", rc < 0 ? "refused" : "granted", STR_ARG(uid)),
        st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const struct clusters *c = arg;
    int again;
    struct client_ref ref = clusters_ref(k);
    const struct json *cluster;

    if (client_get(client, a, &ref, &cluster, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(cluster))
        return end_cluster(c, client, a, k, cluster, st);
    /* Before the namespace, so that none is left over. */
    if (finalizer_add(client, a, &ref, CLUSTER_FINALIZER, &cluster, st) < 0)
        return -1;
    again = ensure_namespace(client, a, k, st);
    if (again < 0 || empower_impersonator(c, client, a, k, cluster, st) < 0)
        return -1;
    return again;
}

/* A namespace of Works has gone, or somebody deletes it. */
static void map_namespace(void *arg, struct controller *ctl, const struct informer_key *k,
                          const struct json *object, bool deleted)
{
    struct informer_key cluster = { .instance = k->instance };

    (void)arg;
    if ((deleted || is_deleting(object)) && karmada_execution_cluster(k->name, &cluster.name))
        controller_wake(ctl, &cluster);
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .version = STR_INIT("v1"),
               .resource = STR_INIT("namespaces") },
      .map = map_namespace },
};

const struct controller_spec cluster_controller = {
    .name = "cluster-controller",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("cluster.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .also = sources,
    .nalso = 1,
    .reconcile = reconcile,
};
