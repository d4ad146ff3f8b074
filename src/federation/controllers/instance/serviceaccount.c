/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What every namespace has: the ServiceAccount "default", and the ConfigMap "kube-root-ca.crt" by
 * which those inside verify the server.  Made with the namespace, and again when they are deleted
 * or changed.  The namespaces that an instance begins with have theirs from the template rows.
 *
 * k8s: pkg/controller/serviceaccount/serviceaccounts_controller.go,
 * pkg/controller/certificates/rootcacertpublisher
 */

#include "base/banned.h"
#include "federation/controllers/instance/account.h"
#include "object/meta/root_ca.h"

static const struct json *default_account(struct arena *a)
{
    struct json_object meta = json_object_new(a), o = json_object_new(a);

    json_add(&meta, STR("name"), json_of_str(STR("default")));
    json_add(&o, STR("kind"), json_of_str(STR("ServiceAccount")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    return json_object_done(&o);
}

/* 1 when there is such a namespace and it is to stay. */
static int namespace_lives(struct client *client, struct arena *a, str instance, str name,
                           struct status *st)
{
    struct client_ref ref = account_ref(instance, "namespaces", STR_NONE, name);
    const struct json *ns;

    if (client_get(client, a, &ref, &ns, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    return json_path(ns, "metadata.deletionTimestamp") == NULL;
}

static int create(struct client *client, struct arena *a, const struct client_ref *where,
                  const struct json *obj, struct status *st)
{
    struct client_ref ref = *where;

    ref.name = STR_NONE;
    if (client_create(client, a, &ref, obj, NULL, st) == 0)
        return 0;
    /* Somebody was quicker, or the namespace has begun to go. */
    return status_is(st, REASON_ALREADY_EXISTS) || status_is(st, REASON_NOT_FOUND) ? 0 : -1;
}

static int ensure_account(struct client *client, struct arena *a, str instance, str ns,
                          struct status *st)
{
    struct client_ref ref = account_ref(instance, "serviceaccounts", ns, STR("default"));
    const struct json *found;

    if (client_get(client, a, &ref, &found, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return create(client, a, &ref, default_account(a), st);
}

static int ensure_root_ca(struct client *client, struct arena *a, str instance, str ns,
                          struct status *st)
{
    struct client_ref ref = account_ref(instance, "configmaps", ns, STR(ROOT_CA_NAME));
    const struct json *found, *wanted;

    if (client_get(client, a, &ref, &found, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return create(client, a, &ref, root_ca_new(a, STR_NONE, client_ca(client)), st);
    }
    wanted = root_ca_mend(a, found, client_ca(client));
    return wanted == found ? 0 : client_update(client, a, &ref, wanted, NULL, st);
}

static int reconcile_namespace(void *arg, struct client *client, struct arena *a,
                               const struct informer_key *k, struct status *st)
{
    str instance = account_instance(k);
    int lives = namespace_lives(client, a, instance, k->name, st);

    (void)arg;
    if (lives <= 0)
        return lives;
    if (ensure_account(client, a, instance, k->name, st) < 0)
        return -1;
    return ensure_root_ca(client, a, instance, k->name, st);
}

static int reconcile_root_ca(void *arg, struct client *client, struct arena *a,
                             const struct informer_key *k, struct status *st)
{
    str instance = account_instance(k);
    int lives = namespace_lives(client, a, instance, k->namespace, st);

    (void)arg;
    return lives <= 0 ? lives : ensure_root_ca(client, a, instance, k->namespace, st);
}

int account_ensure_default(struct client *client, struct arena *a, const struct informer_key *k,
                           struct status *st)
{
    str instance = account_instance(k);
    int lives = namespace_lives(client, a, instance, k->namespace, st);

    return lives <= 0 ? lives : ensure_account(client, a, instance, k->namespace, st);
}

const struct controller_spec serviceaccount_controller = {
    .name = "serviceaccount-controller",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("namespaces") },
    .reconcile = reconcile_namespace,
};

const struct controller_spec root_ca_controller = {
    .name = "root-ca-controller",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("configmaps") },
    .field_selector = STR_INIT("metadata.name=" ROOT_CA_NAME),
    .reconcile = reconcile_root_ca,
};
