/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ConfigMaps and Secrets follow the workloads that mount them: for each cluster with a shard that
 * names it there is a copy "<name>--<cluster>", which is what the shard's pods mount.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/propagation/splitter.h"
#include "federation/interp/interp.h"

struct follow {
    struct splitting *splitting;
    struct client *client;
    struct arena *arena;
    struct client_ref ref; /* of what follows */
    str kind;
    const struct json *root; /* NULL: it is not there */
    struct map wanted;       /* clusters */
};

static str label_of(const struct json *object, const char *label)
{
    return json_str(json_get(json_path(object, "metadata.labels"), str_of(label)));
}

static bool can_follow(str kind)
{
    return str_is(kind, "ConfigMap") || str_is(kind, "Secret");
}

static struct client_ref follower_ref(str instance, str kind, str namespace, str name)
{
    return (struct client_ref){ .instance = instance,
                                .version = STR("v1"),
                                .resource =
                                    str_is(kind, "Secret") ? STR("secrets") : STR("configmaps"),
                                .namespace = namespace,
                                .name = name };
}

/* ---- who needs it ---- */

static bool mounts(const struct follow *f, const struct json *shard, str cluster)
{
    str name = shard_name(f->arena, f->ref.name, cluster);

    json_for_each (d, interp_dependencies(f->arena, shard))
        if (str_eq(json_get_str(d, "kind"), f->kind) && str_eq(json_get_str(d, "name"), name))
            return true;
    return false;
}

static int find_shards(struct follow *f, const struct api_type *t, struct status *st)
{
    struct client_ref ref = { .instance = f->ref.instance,
                              .group = t->group,
                              .version = t->version,
                              .resource = t->plural,
                              .namespace = f->ref.namespace };
    struct client_query q = { .label_selector = STR(SPLITTER_CLUSTER "," SPLITTER_OWNED) };
    const struct json *list;
    str version = t->group.n
                      ? str_printf(f->arena, "%.*s/%.*s", STR_ARG(t->group), STR_ARG(t->version))
                      : t->version;

    if (client_list(f->client, f->arena, &ref, &q, &list, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st); /* this instance does not have the type */
        return 0;
    }
    json_for_each (item, json_get(list, STR("items"))) {
        str cluster = label_of(item, SPLITTER_CLUSTER), kind = json_get_str(list, "kind");
        const struct json *shard = item;

        if (!json_get(item, STR("kind"))) { /* lists leave it out */
            kind.n -= str_ends(kind, STR("List")) ? 4 : 0;
            shard = json_set(f->arena, shard, "kind", json_box(f->arena, json_of_str(kind)));
            shard =
                json_set(f->arena, shard, "apiVersion", json_box(f->arena, json_of_str(version)));
        }
        if (!is_deleting(item) && mounts(f, shard, cluster))
            (void)map_put(&f->wanted, cluster, f);
    }
    return 0;
}

static int find_needs(struct follow *f, struct status *st)
{
    size_t n;
    struct api_type *types = splitting_types(f->splitting, f->arena, &n);

    for (size_t i = 0; i < n; i++)
        if (find_shards(f, &types[i], st) < 0)
            return -1;
    return 0;
}

/* ---- copies ---- */

static const struct json *find_copy(const struct json *copies, str name)
{
    json_for_each (c, copies)
        if (str_eq(json_get_str(c, "metadata.name"), name))
            return c;
    return NULL;
}

static int write_copy(struct follow *f, const struct json *copies, str cluster, struct status *st)
{
    const struct json *wanted = shard_of(f->arena, f->root, cluster, -1), *now;
    struct client_ref ref = f->ref;
    const struct json *is = find_copy(copies, json_get_str(wanted, "metadata.name"));

    if (!is) {
        ref.name = STR_NONE;
        return client_create(f->client, f->arena, &ref, wanted, NULL, st);
    }
    ref.name = json_get_str(is, "metadata.name");
    now = json_set(f->arena, is, "apiVersion", json_get(f->root, STR("apiVersion")));
    now = json_set(f->arena, now, "kind", json_get(f->root, STR("kind")));
    wanted = shard_updated(f->arena, now, wanted);
    return wanted == now ? 0 : client_update(f->client, f->arena, &ref, wanted, NULL, st);
}

/* Only what is ours, and only that very object. */
static int delete_copy(struct follow *f, const struct json *copy, struct status *st)
{
    struct client_ref ref = f->ref;
    const struct json *options = json_set(f->arena, &json_empty_object, "preconditions.uid",
                                          json_path(copy, "metadata.uid"));

    ref.name = json_get_str(copy, "metadata.name");
    if (client_delete(f->client, f->arena, &ref, options, st) < 0 &&
        !status_is(st, REASON_NOT_FOUND) && !status_is(st, REASON_CONFLICT))
        return -1;
    status_reset(st);
    return 0;
}

static int settle(struct follow *f, const struct json *copies, struct status *st)
{
    str uid = json_get_str(f->root, "metadata.uid"), cluster;
    size_t at = 0;
    void *v;

    json_for_each (c, copies) {
        enum shard_claim claim = shard_claim(c, f->kind, f->ref.name, uid);
        bool needed = f->root && map_get(&f->wanted, label_of(c, SPLITTER_CLUSTER));

        if (claim == SHARD_STALE || (claim == SHARD_MINE && !needed))
            if (delete_copy(f, c, st) < 0)
                return -1;
    }
    while (f->root && map_each(&f->wanted, &at, &cluster, &v))
        if (write_copy(f, copies, cluster, st) < 0)
            return -1;
    return 0;
}

int splitter_follow(struct splitting *s, struct client *client, struct arena *a, str instance,
                    str kind, str namespace, str name, struct status *st)
{
    struct follow f = { .splitting = s,
                        .client = client,
                        .arena = a,
                        .ref = follower_ref(instance, kind, namespace, name),
                        .kind = kind };
    struct client_ref all = follower_ref(instance, kind, namespace, STR_NONE);
    struct client_query q = { .label_selector = str_printf(a, SPLITTER_OWNED "=%.*s",
                                                           STR_ARG(shard_owner_label(a, name))) };
    const struct json *list;
    int rc;

    if (!can_follow(kind))
        return 0;
    if (api_look(client, a, &f.ref, &f.root, st) < 0 ||
        client_list(client, a, &all, &q, &list, st) < 0)
        return -1;
    if (f.root && is_deleting(f.root))
        f.root = NULL;
    rc = f.root ? find_needs(&f, st) : 0;
    if (rc == 0)
        rc = settle(&f, json_get(list, STR("items")), st);
    map_release(&f.wanted);
    return rc;
}

/* ---- waking ---- */

static void wake(struct splitting *s, struct arena *a, const struct informer_key *k, str kind,
                 str name)
{
    struct informer_key key = { .instance = k->instance, .namespace = k->namespace };

    key.name = splitter_key(a, STR("v1"), kind, name);
    if (s->controller)
        controller_wake(s->controller, &key);
}

void splitter_wake_followers(struct splitting *s, struct arena *a, const struct informer_key *k,
                             const struct json *object)
{
    str suffix = str_printf(a, "--%.*s", STR_ARG(label_of(object, SPLITTER_CLUSTER)));

    json_for_each (d, interp_dependencies(a, object)) {
        str kind = json_get_str(d, "kind"), name = json_get_str(d, "name");

        if (!can_follow(kind))
            continue;
        if (suffix.n > 2 && str_ends(name, suffix))
            name.n -= suffix.n;
        wake(s, a, k, kind, name);
    }
}

static void on_follower(struct splitting *s, const struct informer_key *k, const char *kind,
                        const struct json *object)
{
    scoped_arena a = arena_new();
    str root = k->name;

    if (str_is(k->name, "kube-root-ca.crt"))
        return;
    json_for_each (o, json_path(object, "metadata.ownerReferences"))
        if (str_is(json_get_str(o, "kind"), kind) && label_of(object, SPLITTER_OWNED).n)
            root = json_get_str(o, "name");
    wake(s, a, k, str_of(kind), root);
}

void splitter_on_configmap(void *arg, struct controller *c, const struct informer_key *k,
                           const struct json *object, bool deleted)
{
    (void)c;
    (void)deleted;
    on_follower(arg, k, "ConfigMap", object);
}

void splitter_on_secret(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *object, bool deleted)
{
    (void)c;
    (void)deleted;
    on_follower(arg, k, "Secret", object);
}
