/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Container Management knows every member of every instance.  Whoever joins a member to an instance
 * (kairship join, karmadactl, kubectl) need not register it: it is done here, with a copy of its
 * credentials, under its name, or another if that is taken.  An entry is shared by several
 * instances only where that gives none of them more than it has (fleet/registered.h); else the
 * member is registered once more.
 *
 * Address and credentials of an entry that was registered here come from one Cluster, that of
 * FROM_NOTE, and from another one only when that has left.  Before they change, every other
 * instance is taken off the entry, and has to show again that it belongs there.  An entry goes when
 * the last instance has let go of it; what somebody registered by hand stays, and so does, without
 * its credentials, a member in which something was left behind (members/left_behind.h), until that
 * instance joins it again.
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"
#include "fleet/member_config.h"
#include "fleet/registered.h"
#include "object/meta/condition.h"

#define BY_LABEL  "fleet.kairship.io/registered-by"
#define BY_US     "member-registry"
#define FROM_NOTE "fleet.kairship.io/registered-from" /* "<instance>/<Cluster>/<its uid>" */
#define NAMESPACE "kairship-system"                   /* of the copies, in root */

struct registry_job {
    struct client *client;
    struct arena *arena;
    struct status *st;
    str instance, name;         /* of the Cluster */
    const struct json *cluster; /* NULL: it has gone */
    const struct json *entry;   /* of the registry, that it stands for; or NULL */
    bool grant;                 /* to be written down: it was joined by name */
};

static const struct json *text(struct arena *a, str s)
{
    return json_box(a, json_of_str(s));
}

static struct client_ref registry_ref(str name)
{
    struct client_ref ref = REGISTRY_REF;

    ref.name = name;
    return ref;
}

static str label(const struct json *object, str name)
{
    return json_str(json_get(json_path(object, "metadata.labels"), name));
}

static str joined_label(const struct registry_job *j)
{
    return str_printf(j->arena, REGISTERED_JOINED "%.*s",
                      STR_ARG(registered_instance(j->instance)));
}

static str name_of(const struct json *object)
{
    return json_get_str(object, "metadata.name");
}

static bool is_ours(const struct json *object)
{
    return str_is(label(object, STR(BY_LABEL)), BY_US);
}

static str id_of(const struct registry_job *j)
{
    return json_get_str(j->cluster, "spec.id");
}

/* "demo/m1/": what FROM_NOTE begins with, whichever Cluster of that name it is. */
static str place_of(const struct registry_job *j)
{
    return str_printf(j->arena, "%.*s/%.*s/", STR_ARG(registered_instance(j->instance)),
                      STR_ARG(j->name));
}

static str from_of(const struct json *entry)
{
    return json_str(json_get(json_path(entry, "metadata.annotations"), STR(FROM_NOTE)));
}

static str this_one(const struct registry_job *j)
{
    return str_printf(j->arena, "%.*s%.*s", STR_ARG(place_of(j)),
                      STR_ARG(json_get_str(j->cluster, "metadata.uid")));
}

static bool registered_it(const struct registry_job *j, const struct json *entry)
{
    return is_ours(entry) && str_eq(from_of(entry), this_one(j));
}

/* ---- does the Cluster stand for the entry? ---- */

/* The way that a Cluster of an instance, or an entry, describes; 1: none that can be used. */
static int way_of(struct registry_job *j, str instance, const struct json *cluster,
                  struct kubeconfig *out)
{
    static const struct member_config_options plain = { 0 };
    struct client_ref ref = { .instance = instance,
                              .version = STR("v1"),
                              .resource = STR("secrets") };
    const struct json *creds = NULL;
    struct status why;

    if (member_config_secret(cluster, &plain, &ref.namespace, &ref.name) &&
        client_get(j->client, j->arena, &ref, &creds, j->st) < 0) {
        if (!status_is(j->st, REASON_NOT_FOUND))
            return -1;
        status_reset(j->st);
        return 1;
    }
    status_init(&why, j->arena);
    return member_config_read(j->arena, cluster, creds, NULL, &plain, out, &why) < 0;
}

static bool same_place(const struct kubeconfig *a, const struct kubeconfig *b)
{
    return a->tls && b->tls && str_eq(a->host, b->host) && str_eq(a->port, b->port) &&
           str_eq(a->prefix, b->prefix);
}

/* The server proves that it is the same, and lets us in as the same. */
static bool same_way(const struct kubeconfig *a, const struct kubeconfig *b)
{
    bool credential = !secret_empty(a->token) || !secret_empty(a->key_pem);

    return credential && same_place(a, b) && !a->insecure && !b->insecure &&
           str_eq(a->server_name, b->server_name) && str_eq(a->ca_pem, b->ca_pem) &&
           secret_eq(a->token, b->token) && secret_eq(a->key_pem, b->key_pem) &&
           str_eq(a->cert_pem, b->cert_pem) && !a->username.n && !b->username.n && !a->as.n &&
           !b->as.n;
}

/* The uid of the instance; empty: it has gone, or is root. */
static int instance_uid(struct registry_job *j, str *out)
{
    struct client_ref ref = instance_ref(j->instance);
    const struct json *instance;

    *out = STR_NONE;
    if (!j->instance.n)
        return 0;
    if (client_get(j->client, j->arena, &ref, &instance, j->st) == 0) {
        *out = json_get_str(instance, "metadata.uid");
        return 0;
    }
    if (!status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    return 0;
}

static int is_granted(struct registry_job *j, const struct json *entry)
{
    str uid;

    if (instance_uid(j, &uid) < 0)
        return -1;
    return registered_is_granted(j->arena, entry, j->instance, uid, j->name);
}

/* Both ways; 1: one of them cannot be used. */
static int ways_of(struct registry_job *j, const struct json *entry, struct kubeconfig *own,
                   struct kubeconfig *its)
{
    int none = way_of(j, j->instance, j->cluster, own);

    return none ? none : way_of(j, STR_NONE, entry, its);
}

/*
 * Older programs did not write down what was joined by name, which any Admin could do: what they
 * noted as joined stays so where it is the same server under the same name.
 */
static int was_joined_by_name(struct registry_job *j, const struct json *entry)
{
    struct kubeconfig own = { 0 }, its = { 0 };
    int none;

    if (is_ours(entry) || !str_eq(name_of(entry), j->name))
        return 0;
    none = ways_of(j, entry, &own, &its);
    if (none)
        return none < 0 ? -1 : 0;
    return same_place(&own, &its) && str_eq(own.ca_pem, its.ca_pem);
}

/* It has left every instance, and this one has left something in it: it is back. */
static bool is_back(struct registry_job *j, const struct json *entry)
{
    if (!is_ours(entry) || json_len(json_path(entry, "status.instances")) ||
        !str_eq(label(entry, STR(REGISTERED_ID)), id_of(j)))
        return false;
    json_for_each (o, json_path(entry, "status.leftBehind"))
        if (str_eq(json_get_str(o, "instance"), registered_instance(j->instance)))
            return true;
    return false;
}

/* 1, 0, or -1: not to be told. */
static int stands_for(struct registry_job *j, const struct json *entry)
{
    struct kubeconfig own = { 0 }, its = { 0 };
    int none;

    if (!j->cluster || !id_of(j).n || str_is(json_get_str(entry, "spec.type"), "Virtual"))
        return 0;
    if (registered_it(j, entry) || is_back(j, entry))
        return 1;
    none = ways_of(j, entry, &own, &its);
    if (none)
        return none < 0 ? -1 : 0;
    if (same_way(&own, &its))
        return 1;
    return same_place(&own, &its) ? is_granted(j, entry) : 0;
}

/* ---- credentials ---- */

static int ensure_namespace(struct registry_job *j)
{
    struct client_ref ref = { .version = STR("v1"), .resource = STR("namespaces") };
    const struct json *ns =
        json_set(j->arena, &json_empty_object, "metadata.name", text(j->arena, STR(NAMESPACE)));

    if (client_create(j->client, j->arena, &ref, ns, NULL, j->st) < 0 &&
        !status_is(j->st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(j->st);
    return 0;
}

static struct client_ref copy_ref(str name)
{
    return (struct client_ref){
        .version = STR("v1"), .resource = STR("secrets"), .namespace = STR(NAMESPACE), .name = name
    };
}

/* The Secret that the Cluster names; 1: there is none. */
static int read_secret(struct registry_job *j, const struct json **data)
{
    const struct json *ref = json_path(j->cluster, "spec.secretRef"), *found;
    struct client_ref from = { .instance = j->instance,
                               .version = STR("v1"),
                               .resource = STR("secrets"),
                               .namespace = json_get_str(ref, "namespace"),
                               .name = json_get_str(ref, "name") };

    if (!from.name.n)
        return 1;
    if (client_get(j->client, j->arena, &from, &found, j->st) < 0) {
        if (!status_is(j->st, REASON_NOT_FOUND))
            return -1;
        status_reset(j->st);
        return 1;
    }
    *data = json_get(found, STR("data"));
    return 0;
}

/* The copy under that name; NULL: there is no such Secret. */
static int read_copy(struct registry_job *j, str name, const struct json **now)
{
    struct client_ref ref = copy_ref(name);

    *now = NULL;
    if (client_get(j->client, j->arena, &ref, now, j->st) == 0)
        return 0;
    if (!status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    *now = NULL;
    return 0;
}

static const struct json *with_our_label(struct arena *a, const struct json *object)
{
    struct json_object labels = json_object_from(a, json_path(object, "metadata.labels"));

    json_put(&labels, STR(BY_LABEL), json_of_str(STR(BY_US)));
    return json_set(a, object, "metadata.labels", json_object_done(&labels));
}

static int copy_secret(struct registry_job *j, str name)
{
    struct client_ref to = copy_ref(name);
    struct arena *a = j->arena;
    const struct json *data = NULL, *now, *want;
    int none = read_secret(j, &data);

    if (none)
        return none < 0 ? -1 : 0;
    if (read_copy(j, name, &now) < 0)
        return -1;
    if (now && is_ours(now) && json_equal(json_get(now, STR("data")), data))
        return 0;
    if (now)
        return client_update(j->client, a, &to, with_our_label(a, json_set(a, now, "data", data)),
                             NULL, j->st);
    if (ensure_namespace(j) < 0)
        return -1;
    want = json_set(a, &json_empty_object, "metadata.name", text(a, name));
    want = json_set(a, want, "metadata.namespace", text(a, STR(NAMESPACE)));
    want = with_our_label(a, json_set(a, want, "data", data));
    return client_create(j->client, a, &to, want, NULL, j->st);
}

static int drop_copy(struct registry_job *j, str name)
{
    struct client_ref copy = copy_ref(name);

    if (client_delete(j->client, j->arena, &copy, NULL, j->st) < 0 &&
        !status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    return 0;
}

/* ---- the entry ---- */

static const struct json *spec_of(struct registry_job *j, str name)
{
    static const char *const same[] = { "apiEndpoint", "provider", "region", "zone" };
    struct arena *a = j->arena;
    struct json_object o = json_object_new(a), ref = json_object_new(a);

    json_add(&o, STR("type"), json_of_str(STR("Member")));
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        const struct json *v = json_get(json_get(j->cluster, STR("spec")), str_of(same[i]));

        if (v)
            json_add(&o, str_of(same[i]), *v);
    }
    json_add(&ref, STR("namespace"), json_of_str(STR(NAMESPACE)));
    json_add(&ref, STR("name"), json_of_str(name));
    json_add(&o, STR("secretRef"), json_object_value(&ref));
    return json_object_done(&o);
}

/* With what says who has joined it, and from where it was registered. */
static const struct json *marked(struct registry_job *j, const struct json *entry)
{
    struct arena *a = j->arena;
    struct json_object labels = json_object_from(a, json_path(entry, "metadata.labels"));
    struct json_object notes = json_object_from(a, json_path(entry, "metadata.annotations"));

    if (!label(entry, STR(REGISTERED_ID)).n)
        json_put(&labels, STR(REGISTERED_ID), json_of_str(id_of(j)));
    json_put(&labels, joined_label(j), json_of_str(j->name));
    entry = json_set(a, entry, "metadata.labels", json_object_done(&labels));
    if (!is_ours(entry) || from_of(entry).n)
        return entry;
    json_put(&notes, STR(FROM_NOTE), json_of_str(this_one(j)));
    return json_set(a, entry, "metadata.annotations", json_object_done(&notes));
}

/* A Secret of that name that is not ours is none of our business. */
static int is_taken(struct registry_job *j, str name, bool *taken)
{
    const struct json *now;

    if (read_copy(j, name, &now) < 0)
        return -1;
    *taken = now && !is_ours(now);
    return 0;
}

static int create_entry(struct registry_job *j)
{
    struct arena *a = j->arena;
    str name = name_of(j->cluster), uid = json_get_str(j->cluster, "metadata.uid");
    str names[] = {
        name, str_printf(a, "%.*s-%.*s", STR_ARG(name), STR_ARG(registered_instance(j->instance))),
        str_printf(a, "member-%.*s", STR_ARG(uid))
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct client_ref ref = registry_ref(names[i]);
        const struct json *v = json_set(a, &json_empty_object, "metadata.name", text(a, names[i]));
        bool taken;

        status_reset(j->st);
        if (is_taken(j, names[i], &taken) < 0)
            return -1;
        if (taken)
            continue;
        v = marked(j, with_our_label(a, json_set(a, v, "spec", spec_of(j, names[i]))));
        ref.name = STR_NONE;
        if (client_create(j->client, a, &ref, v, &j->entry, j->st) == 0)
            return 0;
        /* another's; or no name for an entry: too long, or one of a virtual cluster */
        if (!status_is(j->st, REASON_ALREADY_EXISTS) && !status_is(j->st, REASON_INVALID))
            return -1;
    }
    return -1;
}

/* ---- its status ---- */

enum others { STAY, GO };

/* Each keeps its place: two instances that both put themselves last would write for ever. */
static struct json instances(struct registry_job *j, bool joined, enum others others)
{
    struct json_array list = json_array_new(j->arena);
    str own = registered_instance(j->instance);
    bool there = false;

    json_for_each (i, json_path(j->entry, "status.instances")) {
        bool is_own = str_eq(json_str(i), own);

        there |= is_own;
        if (is_own ? joined : others == STAY)
            json_push(&list, *i);
    }
    if (joined && !there)
        json_push(&list, json_of_str(own));
    return json_array_value(&list);
}

/* The first instance says how the member is: two that saw it at different moments would contradict
 * each other for ever. */
static const struct json *with_facts(struct registry_job *j)
{
    static const char *const same[] = { "status.kubernetesVersion", "status.nodeSummary",
                                        "status.resourceSummary.allocatable",
                                        "status.resourceSummary.allocated" };
    struct arena *a = j->arena;
    const struct json *v = j->entry;

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        v = json_set(a, v, same[i], json_path(j->cluster, same[i]));
    v = json_set(a, v, "status.phase",
                 text(a, object_is_ready(j->cluster) ? STR("Running") : STR("Unknown")));
    return json_set(a, v, "status.kubeSystemID", text(a, label(j->entry, STR(REGISTERED_ID))));
}

static int put_status(struct registry_job *j, bool joined, enum others others)
{
    struct client_ref ref = registry_ref(name_of(j->entry));
    struct json list = instances(j, joined, others);
    bool first = joined && str_eq(json_str(json_at(&list, 0)), registered_instance(j->instance));
    const struct json *v = first ? with_facts(j) : j->entry;

    v = json_set(j->arena, v, "status.instances", json_len(&list) ? &list : NULL);
    if (json_equal(v, j->entry))
        return 0;
    ref.subresource = STR("status");
    return client_update(j->client, j->arena, &ref, v, &j->entry, j->st);
}

/* ---- it has joined ---- */

static int put_grant(struct registry_job *j)
{
    struct client_ref ref = registry_ref(name_of(j->entry));
    const struct json *patch;
    str uid;

    if (instance_uid(j, &uid) < 0)
        return -1;
    patch = registered_grant(j->arena, j->instance, uid, &j->name);
    return client_update(j->client, j->arena, &ref, json_merge_patch(j->arena, j->entry, patch),
                         &j->entry, j->st);
}

static int put_entry(struct registry_job *j, const struct json *want)
{
    struct client_ref ref = registry_ref(name_of(j->entry));

    if (json_equal(want, j->entry))
        return 0;
    return client_update(j->client, j->arena, &ref, want, &j->entry, j->st);
}

/* Whether the entry says how its Cluster is reached now; 1, 0, -1. */
static int is_current(struct registry_job *j)
{
    const struct json *data = NULL, *now;
    str name = name_of(j->entry);
    int none;

    if (!json_equal(json_path(j->entry, "spec.apiEndpoint"),
                    json_path(j->cluster, "spec.apiEndpoint")))
        return 0;
    none = read_secret(j, &data);
    if (none < 0 || read_copy(j, name, &now) < 0)
        return -1;
    return none || !now || json_equal(json_get(now, STR("data")), data);
}

/* The others go first: what they have shown was about the way as it was. */
static int put_way(struct registry_job *j)
{
    str name = name_of(j->entry);
    int current = is_current(j);

    if (current < 0 || (!current && put_status(j, true, GO) < 0) || copy_secret(j, name) < 0)
        return -1;
    return put_entry(j, json_set(j->arena, j->entry, "spec", spec_of(j, name)));
}

static int keep(struct registry_job *j)
{
    if ((j->grant && put_grant(j) < 0) || put_entry(j, marked(j, j->entry)) < 0)
        return -1;
    if (registered_it(j, j->entry) && put_way(j) < 0)
        return -1;
    return put_status(j, true, STAY);
}

/* ---- it has left ---- */

static const struct json *unmarked(struct registry_job *j, const struct json *entry)
{
    struct arena *a = j->arena;
    struct json_object labels = json_object_from(a, json_path(entry, "metadata.labels"));
    struct json_object notes = json_object_from(a, json_path(entry, "metadata.annotations"));

    if (str_eq(label(entry, joined_label(j)), j->name)) {
        json_remove(&labels, joined_label(j));
        json_remove(&notes, str_printf(a, REGISTERED_GRANTED "%.*s",
                                       STR_ARG(registered_instance(j->instance))));
    }
    if (str_starts(from_of(entry), place_of(j)))
        json_remove(&notes, STR(FROM_NOTE));
    entry = json_set(a, entry, "metadata.labels", labels.n ? json_object_done(&labels) : NULL);
    return json_set(a, entry, "metadata.annotations", notes.n ? json_object_done(&notes) : NULL);
}

static int leave(struct registry_job *j, const struct json *entry)
{
    struct registry_job of = *j;
    struct client_ref ref = registry_ref(name_of(entry));

    of.entry = entry;
    if (put_status(&of, false, STAY) < 0)
        return -1;
    if (json_len(json_path(of.entry, "status.instances")) || !is_ours(of.entry))
        return put_entry(&of, unmarked(&of, of.entry));
    if (drop_copy(j, ref.name) < 0)
        return -1;
    if (json_len(json_path(of.entry, "status.leftBehind")))
        return put_entry(&of, json_set(j->arena, unmarked(&of, of.entry), "spec.secretRef", NULL));
    if (client_delete(j->client, j->arena, &ref, NULL, j->st) < 0 &&
        !status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    return 0;
}

/* ---- which one ---- */

static int list_by(struct registry_job *j, str selector, const struct json **items)
{
    struct client_ref ref = registry_ref(STR_NONE);
    struct client_query q = { .label_selector = selector };
    const struct json *list;

    if (client_list(j->client, j->arena, &ref, &q, &list, j->st) < 0)
        return -1;
    *items = json_get(list, STR("items"));
    return 0;
}

/* The entry that it stood for when it was looked at last, if it still does. */
static int find_own(struct registry_job *j)
{
    const struct json *items;

    if (list_by(j, registered_selector(j->arena, j->instance, j->name), &items) < 0)
        return -1;
    json_for_each (e, items) {
        int stands = j->entry ? 0 : stands_for(j, e);

        if (stands < 0 || (!stands && leave(j, e) < 0))
            return -1;
        if (stands)
            j->entry = e;
    }
    return 0;
}

/* Another's of the same id, or one of its name that somebody registered by hand. */
static int try_entry(struct registry_job *j, const struct json *entry)
{
    int stands;

    if (j->entry || label(entry, joined_label(j)).n)
        return 0;
    stands = stands_for(j, entry);
    if (stands == 0 && registered_in(entry, j->instance)) {
        stands = was_joined_by_name(j, entry);
        j->grant = stands > 0;
        if (stands == 0)
            return leave(j, entry); /* it was counted in by its id alone */
    }
    if (stands > 0)
        j->entry = entry;
    return stands < 0 ? -1 : 0;
}

static int find_shared(struct registry_job *j)
{
    struct client_ref ref = registry_ref(j->name);
    const struct json *items, *entry;

    if (list_by(j, str_printf(j->arena, REGISTERED_ID "=%.*s", STR_ARG(id_of(j))), &items) < 0)
        return -1;
    json_for_each (e, items)
        if (try_entry(j, e) < 0)
            return -1;
    if (client_get(j->client, j->arena, &ref, &entry, j->st) == 0)
        return try_entry(j, entry);
    if (!status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct registry_job j = {
        .client = client, .arena = a, .st = st, .instance = k->instance, .name = k->name
    };
    struct client_ref ref = { .instance = k->instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters"),
                              .name = k->name };

    (void)arg;
    arena_wipe(a); /* credentials are compared in it */
    if (client_get(client, a, &ref, &j.cluster, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        j.cluster = NULL;
    }
    if (find_own(&j) < 0)
        return -1;
    if (!j.cluster || !id_of(&j).n || is_deleting(j.cluster))
        return 0; /* not known yet: its status tells it; or on its way out */
    if (!j.entry && find_shared(&j) < 0)
        return -1;
    if (!j.entry && create_entry(&j) < 0)
        return -1;
    return keep(&j);
}

/* An entry concerns the Clusters that stand for it. */
static void wake_joined(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *object, bool deleted)
{
    (void)arg;
    (void)k;
    (void)deleted;
    json_for_each_member (m, json_path(object, "metadata.labels")) {
        str instance = str_from(m->name, sizeof(REGISTERED_JOINED) - 1);
        struct informer_key key = { .name = json_str(&m->value) };

        if (!str_starts(m->name, STR(REGISTERED_JOINED)))
            continue;
        key.instance = str_is(instance, "root") ? STR_NONE : instance;
        controller_wake(c, &key);
    }
}

static const struct controller_source also[] = {
    { .ref = REGISTRY_REF, .map = wake_joined },
};

const struct controller_spec member_registry_controller = {
    .name = "member-registry",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("cluster.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .reconcile = reconcile,
};
