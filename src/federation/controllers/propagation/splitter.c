/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys are of three forms: a type ("deployments.v1.apps"), the clusters of an instance
 * ("clusters"), and an object ("apps v1 Deployment web", in its namespace).  The first two wake the
 * roots that they concern; an object is either a root, whose shards are brought in order, or a
 * ConfigMap or Secret.
 *
 * kcp: pkg/reconciler/deployment (the deployment splitter), and what its README wishes
 */

#include "federation/controllers/propagation/splitter.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/finalizer.h"
#include "object/meta/condition.h"

enum { GRACE_MS = 30000, PAGE = 200, NEVER_MS = 3600 * 1000 };

#define CLUSTERS "clusters"

/* ---- what is remembered ---- */

struct known_type {
    struct api_type type;
    char text[];
};

void splitting_init(struct splitting *s)
{
    *s = (struct splitting){ 0 };
    (void)pthread_mutex_init(&s->mu, NULL);
}

static void free_all(struct map *m)
{
    size_t at = 0;
    str key;
    void *v;

    while (map_each(m, &at, &key, &v))
        free(v);
    map_release(m);
}

void splitting_release(struct splitting *s)
{
    free_all(&s->types);
    free_all(&s->clusters);
    (void)pthread_mutex_destroy(&s->mu);
}

static str group_word(str group)
{
    return group.n ? group : STR("core");
}

static str kind_key(struct arena *a, str group, str version, str kind)
{
    return str_printf(a, "%.*s %.*s %.*s", STR_ARG(group_word(group)), STR_ARG(version),
                      STR_ARG(kind));
}

static char *lay(char *at, str from, str *to)
{
    if (from.n)
        memcpy(at, from.p, from.n);
    *to = (str){ at, from.n };
    return at + from.n;
}

static void remember_type(struct splitting *s, struct arena *a, const struct api_type *t, str kind)
{
    str key = kind_key(a, t->group, t->version, kind);
    struct known_type *k = mem_alloc(sizeof(*k) + key.n + t->plural.n + t->group.n + t->version.n);
    char *at = lay(k->text, key, &key);

    at = lay(at, t->plural, &k->type.plural);
    at = lay(at, t->group, &k->type.group);
    (void)lay(at, t->version, &k->type.version);
    (void)pthread_mutex_lock(&s->mu);
    free(map_put(&s->types, key, k));
    (void)pthread_mutex_unlock(&s->mu);
}

static struct api_type copy_type(struct arena *a, const struct api_type *t)
{
    return (struct api_type){ str_dup(a, t->plural), str_dup(a, t->group), str_dup(a, t->version) };
}

static bool recall_type(struct splitting *s, struct arena *a, str group, str version, str kind,
                        struct api_type *out)
{
    struct known_type *k;

    (void)pthread_mutex_lock(&s->mu);
    k = map_get(&s->types, kind_key(a, group, version, kind));
    if (k)
        *out = copy_type(a, &k->type);
    (void)pthread_mutex_unlock(&s->mu);
    return k != NULL;
}

struct api_type *splitting_types(struct splitting *s, struct arena *a, size_t *n)
{
    struct api_type *all;
    size_t at = 0;
    str key;
    void *v;

    (void)pthread_mutex_lock(&s->mu);
    all = arena_array(a, struct api_type, map_size(&s->types) + 1);
    *n = 0;
    while (map_each(&s->types, &at, &key, &v)) {
        str group = key, word;

        (void)str_split(&group, ' ', &word);
        (void)str_split(&group, ' ', &word);
        if (spread_how(((struct known_type *)v)->type.group, group) != SPREAD_LABEL)
            all[(*n)++] = copy_type(a, &((struct known_type *)v)->type);
    }
    (void)pthread_mutex_unlock(&s->mu);
    return all;
}

/* True when the clusters of that instance are not what they were. */
static bool clusters_changed(struct splitting *s, str instance, uint64_t hash)
{
    struct clusters_memo {
        uint64_t hash;
        char text[];
    } * m, *fresh;
    bool changed;

    (void)pthread_mutex_lock(&s->mu);
    m = map_get(&s->clusters, instance);
    changed = !m || m->hash != hash;
    if (m) {
        m->hash = hash;
    } else {
        fresh = mem_alloc(sizeof(*fresh) + instance.n);
        fresh->hash = hash;
        memcpy(fresh->text, instance.p, instance.n);
        (void)map_put(&s->clusters, (str){ fresh->text, instance.n }, fresh);
    }
    (void)pthread_mutex_unlock(&s->mu);
    return changed;
}

/* ---- keys ---- */

str splitter_key(struct arena *a, str api_version, str kind, str name)
{
    str group = api_version, version = api_version;
    ptrdiff_t slash = str_find(api_version, '/', 0);

    group.n = slash < 0 ? 0 : (size_t)slash;
    if (slash >= 0)
        version = str_from(api_version, (size_t)slash + 1);
    return str_printf(a, "%.*s %.*s", STR_ARG(kind_key(a, group, version, kind)), STR_ARG(name));
}

static str label_of(const struct json *object, const char *label)
{
    return json_str(json_get(json_path(object, "metadata.labels"), str_of(label)));
}

static bool is_placed_by_us(const struct json *object)
{
    return json_get(json_path(object, "metadata.annotations"), STR(SPLITTER_PLACED)) != NULL;
}

/* An object of a type that was negotiated: a root, or a shard of one. */
static void on_object(void *arg, struct controller *c, const struct informer_key *k,
                      const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct informer_key key = { .instance = k->instance, .namespace = k->namespace };
    str kind = json_get_str(object, "kind"), name = k->name;

    if (!object || !kind.n || !k->namespace.n)
        return;
    if (label_of(object, SPLITTER_OWNED).n) {
        if (deleted) /* with it goes what it mounted, whoever has deleted it */
            splitter_wake_followers(arg, a, k, object);
        json_for_each (o, json_path(object, "metadata.ownerReferences"))
            if (str_eq(json_get_str(o, "kind"), kind))
                name = json_get_str(o, "name");
    } else if (label_of(object, SPLITTER_CLUSTER).n && !is_placed_by_us(object)) {
        return; /* placed by hand */
    }
    key.name = splitter_key(a, json_get_str(object, "apiVersion"), kind, name);
    controller_wake(c, &key);
}

/* ---- waking roots ---- */

struct subject {
    struct splitting *splitting;
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    str instance;
};

static int wake_roots(const struct subject *s, const struct api_type *t, str kind,
                      struct status *st)
{
    struct client_ref ref = {
        .instance = s->instance, .group = t->group, .version = t->version, .resource = t->plural
    };
    struct client_query q = { .limit = PAGE, .label_selector = STR("!" SPLITTER_OWNED) };
    str version = t->group.n
                      ? str_printf(s->arena, "%.*s/%.*s", STR_ARG(t->group), STR_ARG(t->version))
                      : t->version;

    do {
        const struct json *list;

        if (client_list(s->client, s->arena, &ref, &q, &list, st) < 0) {
            if (!status_is(st, REASON_NOT_FOUND))
                return -1;
            status_reset(st);
            return 0;
        }
        json_for_each (o, json_get(list, STR("items"))) {
            struct informer_key key = { .instance = s->key->instance,
                                        .namespace = json_get_str(o, "metadata.namespace") };

            key.name = splitter_key(s->arena, version, kind, json_get_str(o, "metadata.name"));
            controller_wake(s->splitting->controller, &key);
        }
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

static void watch_followers(struct splitting *s)
{
    static const struct controller_source sources[] = {
        { .ref = { .instance = STR_INIT("*"),
                   .version = STR_INIT("v1"),
                   .resource = STR_INIT("configmaps") },
          .map = splitter_on_configmap },
        { .ref = { .instance = STR_INIT("*"),
                   .version = STR_INIT("v1"),
                   .resource = STR_INIT("secrets") },
          .map = splitter_on_secret },
    };

    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
        controller_watch(s->controller, &sources[i]);
}

static int reconcile_type(const struct subject *s, struct status *st)
{
    struct client_ref ref = api_negotiated_ref(s->instance, s->key->name);
    struct controller_source source = { .map = on_object };
    const struct json *negotiated;
    struct api_type t;
    int there = api_look(s->client, s->arena, &ref, &negotiated, st);
    str kind;

    if (there <= 0)
        return there;
    t = api_type_of(json_get(negotiated, STR("spec")));
    kind = json_get_str(negotiated, "spec.kind");
    if (!condition_holds(json_path(negotiated, "status.conditions"), "Published") ||
        !str_is(json_get_str(negotiated, "spec.scope"), "Namespaced"))
        return 0;
    remember_type(s->splitting, s->arena, &t, kind);
    source.ref = (struct client_ref){
        .instance = STR("*"), .group = t.group, .version = t.version, .resource = t.plural
    };
    controller_watch(s->splitting->controller, &source);
    if (spread_how(t.group, kind) != SPREAD_LABEL)
        watch_followers(s->splitting);
    return wake_roots(s, &t, kind, st);
}

static int reconcile_clusters(const struct subject *s, struct status *st)
{
    struct client_ref ref = api_cluster_ref(s->instance, STR_NONE);
    struct client_ref types = api_negotiated_ref(s->instance, STR_NONE);
    const struct json *list;
    uint64_t hash = 0;

    if (client_list(s->client, s->arena, &ref, NULL, &list, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    json_for_each (c, json_get(list, STR("items"))) {
        int64_t soon = NEVER_MS;
        struct split_place p = place_of(c, 0, INT32_MAX, &soon);
        str text =
            str_printf(s->arena, "%.*s %d %d %d %.*s", STR_ARG(p.cluster), p.ready, p.unschedulable,
                       is_deleting(c), STR_ARG(json_get_str(c, "spec.evictAfter")));

        hash += str_hash(text, 0, 0);
    }
    if (!clusters_changed(s->splitting, s->key->instance, hash))
        return 0;
    if (client_list(s->client, s->arena, &types, NULL, &list, st) < 0)
        return -1;
    json_for_each (n, json_get(list, STR("items"))) {
        struct api_type t = api_type_of(json_get(n, STR("spec")));

        if (wake_roots(s, &t, json_get_str(n, "spec.kind"), st) < 0)
            return -1;
    }
    return 0;
}

/* ---- a root ---- */

struct root {
    const struct subject *s;
    struct api_type type;
    struct client_ref ref;
    str kind;
    enum spread_how how;
    const struct json *object;  /* NULL: it has gone, or goes */
    const struct json *shards;  /* items of a list */
    struct split_place *places; /* by name */
    size_t n;
    int64_t soon_ms;
};

static int64_t now_s(const struct root *r)
{
    struct clock *c = r->s->splitting->clock;

    return clock_wall_s(c ? c : clock_real());
}

static int by_cluster(const void *a, const void *b)
{
    return str_cmp(((const struct split_place *)a)->cluster,
                   ((const struct split_place *)b)->cluster);
}

static int accepts(const struct root *r, str cluster, bool *out, struct status *st)
{
    struct client_ref ref =
        api_import_ref(r->s->instance, api_type_import_name(r->s->arena, &r->type, cluster));
    const struct json *import, *all;

    if (api_look(r->s->client, r->s->arena, &ref, &import, st) < 0)
        return -1;
    all = json_path(import, "status.conditions");
    *out = condition_holds(all, "Compatible") && condition_holds(all, "Available");
    return 0;
}

static int find_places(struct root *r, struct status *st)
{
    struct client_ref ref = api_cluster_ref(r->s->instance, STR_NONE);
    int64_t grace = r->s->splitting->grace_ms;
    const struct json *list;

    if (client_list(r->s->client, r->s->arena, &ref, NULL, &list, st) < 0)
        return -1;
    r->places = arena_array(r->s->arena, struct split_place, SPLITTER_CLUSTERS_MAX);
    json_for_each (c, json_get(list, STR("items"))) {
        if (r->n == SPLITTER_CLUSTERS_MAX)
            break;
        r->places[r->n] = place_of(c, now_s(r), grace ? grace : GRACE_MS, &r->soon_ms);
        if (accepts(r, r->places[r->n].cluster, &r->places[r->n].accepts, st) < 0)
            return -1;
        r->n++;
    }
    if (r->n)
        qsort(r->places, r->n, sizeof(*r->places), by_cluster);
    return 0;
}

static struct split_place *place_named(struct root *r, str cluster)
{
    for (size_t i = 0; i < r->n; i++)
        if (str_eq(r->places[i].cluster, cluster))
            return &r->places[i];
    return NULL;
}

/* ---- its shards ---- */

static enum shard_claim claim_of(const struct root *r, const struct json *shard)
{
    return shard_claim(shard, r->kind, r->ref.name, json_get_str(r->object, "metadata.uid"));
}

static int find_shards(struct root *r, struct status *st)
{
    struct client_ref ref = r->ref;
    struct client_query q = { .label_selector = str_printf(
                                  r->s->arena, SPLITTER_OWNED "=%.*s",
                                  STR_ARG(shard_owner_label(r->s->arena, r->ref.name))) };
    const struct json *list;

    ref.name = STR_NONE;
    if (client_list(r->s->client, r->s->arena, &ref, &q, &list, st) < 0)
        return -1;
    r->shards = json_get(list, STR("items"));
    json_for_each (shard, r->shards) {
        struct split_place *p = place_named(r, label_of(shard, SPLITTER_CLUSTER));

        if (!p || claim_of(r, shard) != SHARD_MINE)
            continue;
        p->has = true;
        p->before = json_int(json_path(shard, "spec.replicas"), 1);
    }
    return 0;
}

/* As the list left it out. */
static const struct json *whole(const struct root *r, const struct json *item)
{
    str version = r->type.group.n ? str_printf(r->s->arena, "%.*s/%.*s", STR_ARG(r->type.group),
                                               STR_ARG(r->type.version))
                                  : r->type.version;

    item = json_set(r->s->arena, item, "apiVersion", json_box(r->s->arena, json_of_str(version)));
    return json_set(r->s->arena, item, "kind", json_box(r->s->arena, json_of_str(r->kind)));
}

static int delete_shard(const struct root *r, const struct json *shard, struct status *st)
{
    struct client_ref ref = r->ref;
    const struct json *options = json_set(r->s->arena, &json_empty_object, "preconditions.uid",
                                          json_path(shard, "metadata.uid"));

    ref.name = json_get_str(shard, "metadata.name");
    if (client_delete(r->s->client, r->s->arena, &ref, options, st) < 0 &&
        !status_is(st, REASON_NOT_FOUND) && !status_is(st, REASON_CONFLICT))
        return -1;
    status_reset(st);
    splitter_wake_followers(r->s->splitting, r->s->arena, r->s->key, whole(r, shard));
    return 0;
}

static int delete_unwanted(struct root *r, struct status *st)
{
    json_for_each (shard, r->shards) {
        const struct split_place *p = place_named(r, label_of(shard, SPLITTER_CLUSTER));
        enum shard_claim claim = claim_of(r, shard);
        bool wanted = claim == SHARD_MINE && r->object && p && p->wanted;

        if (claim != SHARD_OTHERS && !wanted && !is_deleting(shard) &&
            delete_shard(r, shard, st) < 0)
            return -1;
    }
    return 0;
}

static const struct json *find_shard(const struct root *r, str name)
{
    json_for_each (shard, r->shards)
        if (str_eq(json_get_str(shard, "metadata.name"), name) && claim_of(r, shard) == SHARD_MINE)
            return shard;
    return NULL;
}

/* *now: as it is then. */
static int write_shard(const struct root *r, const struct split_place *p, const struct json **now,
                       struct status *st)
{
    const struct json *wanted = shard_of(r->s->arena, r->object, p->cluster, p->replicas);
    struct client_ref ref = r->ref;
    const struct json *is = find_shard(r, json_get_str(wanted, "metadata.name"));

    ref.name = STR_NONE;
    if (!is)
        return client_create(r->s->client, r->s->arena, &ref, wanted, now, st);
    ref.name = json_get_str(is, "metadata.name");
    *now = is = whole(r, is);
    if (is_deleting(is))
        return 0; /* it comes again when it has gone */
    /* What runs there cannot be changed: the member would refuse. */
    wanted = r->how == SPREAD_ONE ? is : shard_updated(r->s->arena, is, wanted);
    if (wanted == is)
        return 0;
    return client_update(r->s->client, r->s->arena, &ref, wanted, now, st);
}

static const struct json *silent(const struct root *r)
{
    struct json_object o = json_object_new(r->s->arena);

    for (size_t i = 0; i < r->n; i++)
        if (r->places[i].silent.n)
            json_put(&o, r->places[i].cluster, json_of_str(r->places[i].silent));
    return json_object_done(&o);
}

static int write_status(const struct root *r, const struct json *shards, struct status *st)
{
    struct client_ref ref = r->ref;
    const char *trouble = json_len(shards) ? NULL
                          : r->n           ? "NoReadyClusters"
                                           : "NoRegisteredClusters";
    const struct json *status =
        shard_sum(r->s->arena, r->object, shards, silent(r), trouble, now_s(r));

    if (!status)
        return 0;
    ref.subresource = STR("status");
    if (client_update(r->s->client, r->s->arena, &ref,
                      json_set(r->s->arena, r->object, "status", status), NULL, st) < 0 &&
        !status_is(st, REASON_NOT_FOUND)) /* a type without the subresource */
        return -1;
    status_reset(st);
    return 0;
}

static int settle_shards(struct root *r, struct status *st)
{
    struct json_array now = json_array_new(r->s->arena);

    for (size_t i = 0; i < r->n; i++) {
        const struct json *shard;

        if (!r->places[i].wanted)
            continue;
        if (write_shard(r, &r->places[i], &shard, st) < 0)
            return -1;
        json_push(&now, *shard);
    }
    if (delete_unwanted(r, st) < 0)
        return -1;
    splitter_wake_followers(r->s->splitting, r->s->arena, r->s->key, r->object);
    return write_status(r, json_array_done(&now), st);
}

/* ---- an object that goes somewhere itself ---- */

static int place_itself(struct root *r, struct status *st)
{
    struct split_place *p = place_named(r, label_of(r->object, SPLITTER_CLUSTER)), *to = NULL;
    struct arena *a = r->s->arena;
    struct json_object labels = json_object_new(a), notes = json_object_new(a);
    const struct json *patch = &json_empty_object;

    if (p)
        p->has = true;
    plan_places(r->how, 0, str_hash(json_get_str(r->object, "metadata.uid"), 0, 0), r->places,
                r->n);
    for (size_t i = 0; i < r->n; i++)
        to = r->places[i].wanted ? &r->places[i] : to;
    if (!to || to == p)
        return 0;
    json_add(&labels, STR(SPLITTER_CLUSTER), json_of_str(to->cluster));
    json_add(&notes, STR(SPLITTER_PLACED), json_of_str(STR("splitter")));
    patch = json_set(a, patch, "metadata.resourceVersion",
                     json_path(r->object, "metadata.resourceVersion"));
    patch = json_set(a, patch, "metadata.labels", json_object_done(&labels));
    patch = json_set(a, patch, "metadata.annotations", json_object_done(&notes));
    return client_patch(r->s->client, a, &r->ref, CLIENT_PATCH_MERGE, patch, NULL, st);
}

/* ---- all of them ---- */

static int is_transparent(const struct subject *s, bool *out, struct status *st)
{
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances"),
                              .name = s->key->instance };
    const struct json *instance;

    *out = false;
    if (!s->instance.n)
        return 0;
    if (api_look(s->client, s->arena, &ref, &instance, st) < 0)
        return -1;
    *out = str_is(json_get_str(instance, "spec.profile"), "minimal") && !is_deleting(instance);
    return 0;
}

static int settle_root(struct root *r, struct status *st)
{
    int64_t replicas;

    if (find_places(r, st) < 0)
        return -1;
    if (r->object && r->how == SPREAD_LABEL)
        return place_itself(r, st);
    if (find_shards(r, st) < 0)
        return -1;
    if (!r->object)
        return delete_unwanted(r, st);
    replicas = json_int(json_path(r->object, "spec.replicas"), 1);
    plan_places(r->how, replicas, str_hash(json_get_str(r->object, "metadata.uid"), 0, 0),
                r->places, r->n);
    return settle_shards(r, st);
}

static int reconcile_object(const struct subject *s, str group, str version, str kind, str name,
                            struct status *st)
{
    struct root r = { .s = s, .kind = kind, .soon_ms = NEVER_MS };
    bool transparent;

    group = str_is(group, "core") ? STR_NONE : group;
    if (is_transparent(s, &transparent, st) < 0)
        return -1;
    if (!transparent)
        return 0;
    if (!recall_type(s->splitting, s->arena, group, version, kind, &r.type))
        return splitter_follow(s->splitting, s->client, s->arena, s->instance, kind,
                               s->key->namespace, name, st);
    r.how = spread_how(group, kind);
    r.ref = (struct client_ref){ .instance = s->instance,
                                 .group = group,
                                 .version = version,
                                 .resource = r.type.plural,
                                 .namespace = s->key->namespace,
                                 .name = name };
    if (api_look(s->client, s->arena, &r.ref, &r.object, st) < 0)
        return -1;
    if (r.object && label_of(r.object, SPLITTER_CLUSTER).n && !is_placed_by_us(r.object))
        return 0; /* placed by hand */
    if (r.object && is_deleting(r.object))
        r.object = NULL;
    if (settle_root(&r, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1; /* the type has gone meanwhile */
    return r.soon_ms < NEVER_MS ? (int)r.soon_ms : 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct subject s = { arg, client, a, k, api_instance(k) };
    str rest = k->name, words[3] = { STR_NONE, STR_NONE, STR_NONE };

    if (str_is(k->name, CLUSTERS))
        return reconcile_clusters(&s, st);
    if (str_find(k->name, ' ', 0) < 0)
        return reconcile_type(&s, st);
    for (size_t i = 0; i < 3; i++)
        (void)str_split(&rest, ' ', &words[i]);
    return reconcile_object(&s, words[0], words[1], words[2], rest, st);
}

static void on_cluster(void *arg, struct controller *c, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    struct informer_key key = { .instance = k->instance, .name = STR(CLUSTERS) };

    (void)arg;
    (void)object;
    (void)deleted;
    controller_wake(c, &key);
}

/* A cluster may take a type now, or no more. */
static void on_import(void *arg, struct controller *c, const struct informer_key *k,
                      const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct api_type t = api_type_of(json_get(object, STR("spec")));
    struct informer_key key = { .instance = k->instance };

    (void)arg;
    (void)deleted;
    if (!t.plural.n)
        return;
    key.name = api_type_name(a, &t);
    controller_wake(c, &key);
}

static void started(void *arg, struct controller *c)
{
    struct splitting *s = arg;

    s->controller = c;
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("workload.kcp.dev"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusters") },
      .map = on_cluster },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("apiresource.kcp.dev"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("apiresourceimports") },
      .map = on_import },
};

const struct controller_spec splitter_controller = {
    .name = "splitter",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apiresource.kcp.dev"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("negotiatedapiresources") },
    .also = sources,
    .nalso = sizeof(sources) / sizeof(*sources),
    .workers = 2,
    .reconcile = reconcile,
    .started = started,
};
