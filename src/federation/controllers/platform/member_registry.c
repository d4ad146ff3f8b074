/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Container Management knows every member of every instance: once, however many instances it has
 * joined, since what makes a cluster is the id it has, not the name it was given somewhere.
 *
 * Whoever joins a member to an instance (kairship join, karmadactl, kubectl) need not register it:
 * it is done here, with a copy of its credentials, under its name, or under "<name>-<instance>" if
 * that is another cluster's.  What was registered here goes when the last instance has let go of
 * it; what somebody registered by hand stays, and so does, without its credentials, a member in
 * which something was left behind (members/left_behind.h).
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"
#include "object/meta/condition.h"

#define BY_LABEL  "fleet.kairship.io/registered-by"
#define BY_US     "member-registry"
#define NAMESPACE "kairship-system" /* of the copies, in root */

struct registry_job {
    struct client *client;
    struct arena *arena;
    struct status *st;
    str instance;
    const struct json *cluster; /* of the instance */
    const struct json *entry;   /* of the registry, or NULL */
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

static str label(const struct json *object, const char *name)
{
    return json_str(json_get(json_path(object, "metadata.labels"), str_of(name)));
}

static str name_of(const struct json *object)
{
    return json_get_str(object, "metadata.name");
}

/* By its id; NULL if it is not registered.  -1: not to be told. */
static int find_entry(struct registry_job *j, str id)
{
    struct client_ref ref = registry_ref(STR_NONE);
    struct client_query q = { .label_selector =
                                  str_printf(j->arena, REGISTRY_ID "=%.*s", STR_ARG(id)) };
    const struct json *list;

    if (client_list(j->client, j->arena, &ref, &q, &list, j->st) < 0)
        return -1;
    j->entry =
        json_len(json_get(list, STR("items"))) ? json_at(json_get(list, STR("items")), 0) : NULL;
    return 0;
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

static int copy_secret(struct registry_job *j, str name)
{
    struct client_ref to = copy_ref(name);
    struct arena *a = j->arena;
    const struct json *data = NULL, *now, *want;
    int none = read_secret(j, &data);

    if (none)
        return none < 0 ? -1 : 0;
    if (client_get(j->client, a, &to, &now, j->st) == 0) {
        if (json_equal(json_get(now, STR("data")), data))
            return 0;
        return client_update(j->client, a, &to, json_set(a, now, "data", data), NULL, j->st);
    }
    if (!status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    if (ensure_namespace(j) < 0)
        return -1;
    want = json_set(a, &json_empty_object, "metadata.name", text(a, name));
    want = json_set(a, want, "metadata.namespace", text(a, STR(NAMESPACE)));
    return client_create(j->client, a, &to, json_set(a, want, "data", data), NULL, j->st);
}

/* ---- the entry ---- */

static const struct json *labels_of(struct arena *a, str id)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR(REGISTRY_ID), json_of_str(id));
    json_add(&o, STR(BY_LABEL), json_of_str(STR(BY_US)));
    return json_object_done(&o);
}

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

static int create_entry(struct registry_job *j, str id)
{
    struct arena *a = j->arena;
    str names[] = { name_of(j->cluster), str_printf(a, "%.*s-%.*s", STR_ARG(name_of(j->cluster)),
                                                    STR_ARG(j->instance)) };

    for (size_t i = 0; i < 2; i++) {
        struct client_ref ref = registry_ref(names[i]);
        const struct json *v = json_set(a, &json_empty_object, "metadata.name", text(a, names[i]));

        v = json_set(a, v, "metadata.labels", labels_of(a, id));
        v = json_set(a, v, "spec", spec_of(j, names[i]));
        status_reset(j->st);
        if (client_create(j->client, a, &ref, v, &j->entry, j->st) == 0)
            return 0;
        if (!status_is(j->st, REASON_ALREADY_EXISTS))
            return -1;
    }
    return -1;
}

/* One that somebody registered by hand, before the member had an id here, gets its label. */
static int adopt(struct registry_job *j, str id)
{
    struct client_ref ref = registry_ref(name_of(j->cluster));
    const struct json *entry;
    struct json_object labels;

    if (client_get(j->client, j->arena, &ref, &entry, j->st) < 0) {
        if (!status_is(j->st, REASON_NOT_FOUND))
            return -1;
        status_reset(j->st);
        return 0;
    }
    if (label(entry, REGISTRY_ID).n || !str_eq(json_get_str(entry, "spec.apiEndpoint"),
                                               json_get_str(j->cluster, "spec.apiEndpoint")))
        return 0;
    labels = json_object_from(j->arena, json_path(entry, "metadata.labels"));
    json_add(&labels, STR(REGISTRY_ID), json_of_str(id));
    entry = json_set(j->arena, entry, "metadata.labels", json_object_done(&labels));
    return client_update(j->client, j->arena, &ref, entry, &j->entry, j->st);
}

static int register_it(struct registry_job *j, str id)
{
    struct client_ref ref;
    const struct json *want;

    if (!j->entry && adopt(j, id) < 0)
        return -1;
    if (!j->entry && create_entry(j, id) < 0)
        return -1;
    if (!str_is(label(j->entry, BY_LABEL), BY_US))
        return 0;
    ref = registry_ref(name_of(j->entry));
    if (copy_secret(j, ref.name) < 0)
        return -1;
    want = json_set(j->arena, j->entry, "spec", spec_of(j, ref.name));
    if (json_equal(json_get(want, STR("spec")), json_get(j->entry, STR("spec"))))
        return 0;
    return client_update(j->client, j->arena, &ref, want, &j->entry, j->st);
}

/* ---- its status ---- */

static struct json instances(struct registry_job *j, bool joined)
{
    struct json_array list = json_array_new(j->arena);

    json_for_each (i, json_path(j->entry, "status.instances"))
        if (!str_eq(json_str(i), j->instance))
            json_push(&list, *i);
    if (joined)
        json_push(&list, json_of_str(j->instance));
    return json_array_value(&list);
}

static int put_status(struct registry_job *j, bool joined)
{
    static const char *const same[] = { "status.kubernetesVersion", "status.nodeSummary",
                                        "status.resourceSummary.allocatable",
                                        "status.resourceSummary.allocated" };
    struct arena *a = j->arena;
    struct client_ref ref = registry_ref(name_of(j->entry));
    struct json joined_to = instances(j, joined);
    const struct json *v = j->entry;

    for (size_t i = 0; joined && i < sizeof(same) / sizeof(*same); i++)
        v = json_set(a, v, same[i], json_path(j->cluster, same[i]));
    if (joined) {
        v = json_set(a, v, "status.phase",
                     text(a, object_is_ready(j->cluster) ? STR("Running") : STR("Unknown")));
        v = json_set(a, v, "status.kubeSystemID", text(a, label(j->entry, REGISTRY_ID)));
    }
    v = json_set(a, v, "status.instances", json_len(&joined_to) ? &joined_to : NULL);
    if (json_equal(v, j->entry))
        return 0;
    ref.subresource = STR("status");
    return client_update(j->client, a, &ref, v, &j->entry, j->st);
}

/* ---- it has left ---- */

static int unregister(struct registry_job *j)
{
    struct client_ref ref = registry_ref(name_of(j->entry)), copy = copy_ref(ref.name);

    if (put_status(j, false) < 0)
        return -1;
    if (json_len(json_path(j->entry, "status.instances")) ||
        !str_is(label(j->entry, BY_LABEL), BY_US))
        return 0;
    if (client_delete(j->client, j->arena, &copy, NULL, j->st) < 0 &&
        !status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    if (json_len(json_path(j->entry, "status.leftBehind")))
        return client_update(j->client, j->arena, &ref,
                             json_set(j->arena, j->entry, "spec.secretRef", NULL), NULL, j->st);
    if (client_delete(j->client, j->arena, &ref, NULL, j->st) < 0 &&
        !status_is(j->st, REASON_NOT_FOUND))
        return -1;
    status_reset(j->st);
    return 0;
}

/* 1: some Cluster of the instance is still that one. */
static int is_member(struct registry_job *j)
{
    struct client_ref ref = { .instance = j->instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };
    const struct json *list;

    if (client_list(j->client, j->arena, &ref, NULL, &list, j->st) < 0) {
        if (!status_is(j->st, REASON_NOT_FOUND))
            return -1;
        status_reset(j->st); /* the instance has gone, too */
        return 0;
    }
    json_for_each (c, json_get(list, STR("items")))
        if (str_eq(json_get_str(c, "spec.id"), label(j->entry, REGISTRY_ID)))
            return 1;
    return 0;
}

static bool names_instance(const struct registry_job *j)
{
    json_for_each (it, json_path(j->entry, "status.instances"))
        if (str_eq(json_str(it), j->instance))
            return true;
    return false;
}

/* Of a cluster that has gone we know the name only: one that says it is in the instance, and is
 * not. */
static int find_left(struct registry_job *j, str cluster)
{
    struct client_ref ref = registry_ref(cluster);
    str other = str_printf(j->arena, "%.*s-%.*s", STR_ARG(cluster), STR_ARG(j->instance));

    for (size_t i = 0; i < 2; i++, ref.name = other) {
        int still = 1;

        if (client_get(j->client, j->arena, &ref, &j->entry, j->st) == 0)
            still = names_instance(j) ? is_member(j) : 1;
        else if (!status_is(j->st, REASON_NOT_FOUND))
            return -1;
        if (still <= 0)
            return still;
        status_reset(j->st);
    }
    j->entry = NULL;
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct registry_job j = { .client = client, .arena = a, .st = st, .instance = k->instance };
    struct client_ref ref = { .instance = k->instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters"),
                              .name = k->name };
    str id;

    (void)arg;
    if (client_get(client, a, &ref, &j.cluster, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        if (find_left(&j, k->name) < 0)
            return -1;
        return j.entry ? unregister(&j) : 0;
    }
    id = json_get_str(j.cluster, "spec.id");
    if (!id.n || is_deleting(j.cluster))
        return 0; /* not known yet: its status tells it; or on its way out */
    if (find_entry(&j, id) < 0 || register_it(&j, id) < 0)
        return -1;
    return put_status(&j, true);
}

const struct controller_spec member_registry_controller = {
    .name = "member-registry",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("cluster.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .reconcile = reconcile,
};
