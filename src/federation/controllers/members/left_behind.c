/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/left_behind.h"

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/tenancy.h"
#include "fleet/member.h"
#include "fleet/owner.h"
#include "fleet/registered.h"
#include "object/meta/condition.h"
#include "object/meta/karmada.h"

enum {
    PAGE = 500,
    LISTED_MAX = 5000, /* objects in the status of one member */
    NAMED_MAX = 10,    /* objects in an event */
    BATCH = 100,       /* objects that are cleaned up between two writes of the status */
    SETTLE_MS = 5000,  /* after it is Ready again: what is placed there by then is taken over */
    STUCK_MS = 60000,  /* until what could not be cleaned up is looked at again */
};

/* How many objects, and the uid of the Cluster: one that is put back under its name begins anew. */
#define LEFT_BEHIND "fleet.kairship.io/left-behind"

bool left_behind_is_noted(const struct json *cluster)
{
    str noted = karmada_annotation(cluster, LEFT_BEHIND);

    return noted.n && str_ends(noted, json_get_str(cluster, "metadata.uid"));
}

static struct client_ref entry_ref(str name)
{
    struct client_ref ref = REGISTRY_REF;

    ref.name = name;
    return ref;
}

static int put_list(struct client *client, struct arena *a, const struct json *entry,
                    const struct json *list, struct status *st)
{
    struct client_ref ref = entry_ref(json_get_str(entry, "metadata.name"));

    ref.subresource = STR("status");
    return client_update(client, a, &ref,
                         json_set(a, entry, "status.leftBehind", json_len(list) ? list : NULL),
                         NULL, st);
}

/* ---- what is left there ---- */

struct noting {
    struct client *client;
    struct arena *a;
    const struct informer_key *k;
    struct json_array list;
    size_t n;  /* objects, also those that find no room in the list */
    str named; /* the first of them, for people */
};

static bool holds_others(str kind)
{
    return str_is(kind, "Namespace") || str_is(kind, "CustomResourceDefinition");
}

static void note_object(struct noting *n, const struct json *work, const struct json *manifest)
{
    static const char *const same[] = { "apiVersion", "kind" };
    struct json_object o = json_object_new(n->a);
    str namespace = json_get_str(manifest, "metadata.namespace");
    str name = json_get_str(manifest, "metadata.name"), kind = json_get_str(manifest, "kind");

    if (!name.n || holds_others(kind))
        return;
    if (n->n++ < NAMED_MAX)
        n->named =
            str_printf(n->a, "%.*s%s%.*s %.*s%s%.*s", STR_ARG(n->named), n->named.n ? ", " : "",
                       STR_ARG(kind), STR_ARG(namespace), namespace.n ? "/" : "", STR_ARG(name));
    if (n->list.n >= LISTED_MAX)
        return;
    json_add(&o, STR("instance"), json_of_str(n->k->instance));
    json_add(&o, STR("cluster"), json_of_str(n->k->name));
    json_add(&o, STR("work"), json_of_str(json_get_str(work, "metadata.name")));
    json_add(&o, STR("workID"), json_of_str(karmada_label(manifest, KARMADA_WORK_ID)));
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        json_add(&o, str_of(same[i]), json_of_str(json_get_str(manifest, same[i])));
    if (namespace.n)
        json_add(&o, STR("namespace"), json_of_str(namespace));
    json_add(&o, STR("name"), json_of_str(name));
    json_push(&n->list, json_object_value(&o));
}

/* Works that nobody has carried out the end of, but for those that leave their objects there. */
static int note_works(struct noting *n, struct status *st)
{
    struct client_ref ref = { .instance = clusters_instance(n->k),
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("works"),
                              .namespace = karmada_execution_namespace(n->a, n->k->name) };
    struct client_query q = { .limit = PAGE };

    do {
        const struct json *list;

        if (client_list(n->client, n->a, &ref, &q, &list, st) < 0)
            return -1;
        json_for_each (work, json_get(list, STR("items"))) {
            if (!finalizer_has(work, KARMADA_WORK_FINALIZER) ||
                json_bool(json_path(work, "spec.preserveResourcesOnDeletion")))
                continue;
            json_for_each (manifest, json_path(work, "spec.workload.manifests"))
                note_object(n, work, manifest);
        }
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

/* The one that the Cluster stands for, or NULL. */
static int find_entry(struct client *client, struct arena *a, const struct informer_key *k,
                      const struct json **out, struct status *st)
{
    struct client_ref ref = entry_ref(STR_NONE);
    struct client_query q = { .label_selector =
                                  registered_selector(a, clusters_instance(k), k->name) };
    const struct json *list;

    *out = NULL;
    if (client_list(client, a, &ref, &q, &list, st) < 0)
        return -1;
    *out = json_at(json_get(list, STR("items")), 0);
    return 0;
}

static void tell(const struct clusters *c, const struct noting *n, const struct json *cluster)
{
    struct recorder_object on = recorder_object_of(clusters_instance(n->k), cluster);

    if (c->recorder && n->n)
        recorder_tell(c->recorder, &on, RECORDER_WARNING, "LeftBehind",
                      "%zu objects of this instance could not be deleted in the member and stay "
                      "there until it joins again: %.*s%s",
                      n->n, STR_ARG(n->named), n->n > NAMED_MAX ? ", …" : "");
}

int left_behind_note(const struct clusters *c, struct client *client, struct arena *a,
                     const struct informer_key *k, const struct json *cluster, struct status *st)
{
    struct noting n = { .client = client, .a = a, .k = k, .list = json_array_new(a) };
    struct client_ref ref = clusters_ref(k);
    struct json_object mark = json_object_new(a);
    const struct json *entry;

    if (left_behind_is_noted(cluster))
        return 0;
    if (find_entry(client, a, k, &entry, st) < 0)
        return -1;
    json_for_each (o, json_path(entry, "status.leftBehind")) /* of other removals */
        if (!str_eq(json_get_str(o, "instance"), k->instance) ||
            !str_eq(json_get_str(o, "cluster"), k->name))
            json_push(&n.list, *o);
    if (note_works(&n, st) < 0 ||
        (entry && n.n && put_list(client, a, entry, json_array_done(&n.list), st) < 0))
        return -1;
    json_add(&mark, STR(LEFT_BEHIND),
             json_of_str(str_printf(a, "%zu of %.*s", n.n,
                                    STR_ARG(json_get_str(cluster, "metadata.uid")))));
    if (client_patch(
            client, a, &ref, CLIENT_PATCH_MERGE,
            json_set(a, &json_empty_object, "metadata.annotations", json_object_done(&mark)), NULL,
            st) < 0)
        return -1;
    tell(c, &n, cluster);
    return 0;
}

/* ---- when it joins again ---- */

struct cleaning {
    const struct clusters *c;
    struct client *client;
    struct arena *a;
    const struct json *entry;
    const struct json *cluster; /* which the member is now, in the instance at hand */
    str instance;
    struct client *member;
    struct ownership owner; /* the instance */
};

/*
 * The Cluster of the instance that is this member, if it is Ready.  > 0: so many milliseconds until
 * it has been so for a while.
 */
static int64_t find_cluster(struct cleaning *l, struct status *st)
{
    struct client_ref ref = { .instance = str_is(l->instance, "root") ? STR_NONE : l->instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };
    str joined = str_printf(l->a, REGISTERED_JOINED "%.*s", STR_ARG(l->instance));
    const struct json *cluster;

    l->cluster = NULL;
    ref.name = json_str(json_get(json_path(l->entry, "metadata.labels"), joined));
    if (!ref.name.n)
        return 0;
    if (client_get(l->client, l->a, &ref, &cluster, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    if (is_deleting(cluster) || !object_is_ready(cluster) ||
        !str_is(json_get_str(cluster, "spec.syncMode"), "Push"))
        return 0;
    l->cluster = cluster;
    return SETTLE_MS - clusters_age_ms(l->c,
                                       json_get_str(clusters_condition(l->cluster, STR("Ready")),
                                                    "lastTransitionTime"),
                                       SETTLE_MS);
}

/* The plural of a kind, as the member's discovery has it; empty: it is not known now. */
static str resource_of(const struct json *cluster, const struct json *o)
{
    json_for_each (api, json_path(cluster, "status.apiEnablements")) {
        if (!str_eq(json_get_str(api, "groupVersion"), json_get_str(o, "apiVersion")))
            continue;
        json_for_each (r, json_get(api, STR("resources")))
            if (str_eq(json_get_str(r, "kind"), json_get_str(o, "kind")))
                return json_get_str(r, "name");
    }
    return STR_NONE;
}

static struct client_ref object_ref(const struct cleaning *l, const struct json *o)
{
    str version = json_get_str(o, "apiVersion"), group;
    struct client_ref ref = { .resource = resource_of(l->cluster, o),
                              .namespace = json_get_str(o, "namespace"),
                              .name = json_get_str(o, "name") };

    (void)str_split(&version, '/', &group);
    ref.group = version.p ? group : STR_NONE;
    ref.version = version.p ? version : group;
    return ref;
}

/* 1: a Work wants it there again, and takes it over. */
static int is_wanted(const struct cleaning *l, const struct json *o, struct status *st)
{
    str cluster = json_get_str(l->cluster, "metadata.name");
    struct client_ref ref = { .instance = str_is(l->instance, "root") ? STR_NONE : l->instance,
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("works"),
                              .namespace = karmada_execution_namespace(l->a, cluster),
                              .name = json_get_str(o, "work") };
    const struct json *work;

    if (client_get(l->client, l->a, &ref, &work, st) == 0)
        return !is_deleting(work);
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

/* Exactly as it was looked at. */
static const struct json *delete_options(struct arena *a, const struct json *observed)
{
    struct json background = json_of_str(STR("Background"));
    const struct json *v = json_set(a, &json_empty_object, "propagationPolicy", &background);

    v = json_set(a, v, "preconditions.uid", json_path(observed, "metadata.uid"));
    return json_set(a, v, "preconditions.resourceVersion",
                    json_path(observed, "metadata.resourceVersion"));
}

/*
 * It is still what was left there.  One of an instance that has ended goes although its successor
 * of that name wants it: an owner is for life, and the successor makes its own.
 */
static bool may_clean(const struct cleaning *l, const struct json *o, const struct json *observed,
                      bool wanted)
{
    str prefix = str_printf(l->a, OWNER_PREFIX "%.*s:", STR_ARG(l->owner.installation));
    str owner = owner_of(observed, l->owner.name);

    if (!str_eq(karmada_label(observed, KARMADA_WORK_ID), json_get_str(o, "workID")) ||
        !str_eq(karmada_annotation(observed, KARMADA_WORK_NAME), json_get_str(o, "work")))
        return false;
    if (!owner.n)
        return !wanted && l->owner.origin != INSTALLATION_COPIED;
    return str_starts(owner, prefix) && !(wanted && str_eq(owner, l->owner.name));
}

/* 1: it is off the list: gone, or somebody's.  0: it stays there for the next time. */
static int clean_object(const struct cleaning *l, const struct json *o, struct status *st)
{
    struct client_ref ref = object_ref(l, o);
    const struct json *observed;
    int wanted = is_wanted(l, o, st);

    if (wanted < 0)
        return -1;
    if (!ref.resource.n) /* a discovery that has failed is no end of a kind */
        return wanted;
    if (client_get(l->member, l->a, &ref, &observed, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 1;
    }
    if (!may_clean(l, o, observed, wanted))
        return 1;
    if (client_delete(l->member, l->a, &ref, delete_options(l->a, observed), st) == 0)
        return 1;
    if (!status_is(st, REASON_CONFLICT) && !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st); /* looked at again */
    return 0;
}

static int put_left(const struct cleaning *l, const struct json *list, struct json_array *left,
                    struct status *st)
{
    if (left->n == json_len(list))
        return 0;
    return put_list(l->client, l->a, l->entry, json_array_done(left), st);
}

/* Those of one instance, some at a time; writing what is left wakes the next round. */
static int clean(struct cleaning *l, const struct json *list, struct status *st)
{
    struct json_array left = json_array_new(l->a);
    size_t looked = 0;
    struct status why;
    int rc = 0;

    status_init(&why, l->a);
    json_for_each (o, list) {
        bool ours = rc >= 0 && str_eq(json_get_str(o, "instance"), l->instance);

        if (ours && looked++ < BATCH)
            rc = clean_object(l, o, &why);
        if (!ours || looked > BATCH || rc <= 0)
            json_push(&left, *o);
    }
    if (rc < 0) {
        status_copy(st, &why);
        (void)put_left(l, list, &left, &why);
        return -1;
    }
    if (left.n == json_len(list))
        return STUCK_MS;
    return put_left(l, list, &left, st);
}

static int clean_instance(struct cleaning *l, const struct json *list, struct status *st)
{
    struct member_name name = { .instance = str_is(l->instance, "root") ? STR_NONE : l->instance };
    struct member *m;
    int rc;

    name.cluster = json_get_str(l->cluster, "metadata.name");
    if (owner_read(l->client, l->a, STR_NONE, name.instance, name.instance, &l->owner, st) < 0 ||
        fleet_member(l->c->fleet, l->a, &name, &m, st) < 0)
        return -1;
    l->member = member_client(m);
    rc = clean(l, list, st);
    member_unref(m);
    return rc;
}

static bool has_left(const struct json *list, str instance)
{
    json_for_each (o, list)
        if (str_eq(json_get_str(o, "instance"), instance))
            return true;
    return false;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct cleaning l = { .c = arg, .client = client, .a = a };
    struct client_ref ref = entry_ref(k->name);
    const struct json *list;

    if (client_get(client, a, &ref, &l.entry, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    list = json_path(l.entry, "status.leftBehind");
    json_for_each (joined, json_path(l.entry, "status.instances")) {
        int64_t ms;

        l.instance = json_str(joined);
        if (!has_left(list, l.instance))
            continue;
        ms = find_cluster(&l, st);
        if (ms < 0 && !l.cluster)
            return -1;
        if (l.cluster)
            return ms > 0 ? (int)ms : clean_instance(&l, list, st);
    }
    return 0; /* the entry changes when the member is Ready in an instance */
}

const struct controller_spec left_behind_controller = {
    .name = "left-behind",
    .ref = REGISTRY_REF,
    .reconcile = reconcile,
};
