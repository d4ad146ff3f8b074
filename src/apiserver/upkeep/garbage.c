/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/garbage.h"

#include <pthread.h>
#include <stdlib.h>

#include "apiserver/call/catalogs.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/local.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/client.h"
#include "client/workqueue.h"
#include "rest/index.h"
#include "rest/lookup.h"
#include "rest/rows.h"

/* Looking at one thing. */
struct gc {
    struct server *server;
    struct client *client;
    struct arena *arena;
    struct instance instance;
    const struct catalog *catalog;
};

/* An object and what kind it is of. */
struct gc_object {
    const struct kind *kind;
    const struct json *obj;
};

/*
 * What is to be looked at, as the queue's keys:
 *
 *     o/<instance>/<uid>             an owner is gone
 *     d/<instance>/<type>/<row>      an object has owners, or waits for its dependents
 *     s/<instance>/<row>             a Service is gone
 */
struct garbage {
    struct server *server;
    struct workqueue *queue;
    struct client *client;
    pthread_t thread;
    bool running;
};

enum { LOG_AFTER = 5 };

struct garbage *garbage_new(struct server *s)
{
    struct garbage *g = mem_zalloc(sizeof(*g));
    struct workqueue_options o = { .cap_ms = 30000 };

    g->server = s;
    g->queue = workqueue_new(&o);
    return g;
}

void garbage_free(struct garbage *g)
{
    if (!g)
        return;
    client_free(g->client);
    workqueue_free(g->queue);
    free(g);
}

/* ---- objects ---- */

#define FOREGROUND "foregroundDeletion"
#define ORPHAN     "orphan"

enum { DEPENDENTS_MAX = 500 }; /* looked at in one go; then it comes again */

static bool has_finalizer(const struct json *obj, const char *name)
{
    json_for_each (f, json_path(obj, "metadata.finalizers"))
        if (str_is(json_str(f), name))
            return true;
    return false;
}

static bool is_deleting(const struct json *obj)
{
    return json_path(obj, "metadata.deletionTimestamp") != NULL;
}

/* It is being deleted and waits for its dependents, or for being taken out of them. */
static bool is_waiting(const struct json *obj)
{
    return is_deleting(obj) && (has_finalizer(obj, FOREGROUND) || has_finalizer(obj, ORPHAN));
}

/* The stored kind of that type in the instance, or NULL. */
static const struct kind *kind_of_type(const struct gc *g, uint32_t type)
{
    for (size_t i = 0; i < g->catalog->nkinds; i++) {
        const struct kind *k = g->catalog->kinds[i];

        if (k->type_id == type && !k->transient && (k->storage == k || k->schema_id))
            return k;
    }
    return NULL;
}

/* ---- who belongs to whom ---- */

struct dependents {
    const struct gc *gc;
    const struct kind *kind;
    str owner;
    struct gc_object found[DEPENDENTS_MAX];
    size_t n;
};

static const struct json *reference_to(const struct json *obj, str uid)
{
    json_for_each (r, json_path(obj, "metadata.ownerReferences"))
        if (str_eq(json_get_str(r, "uid"), uid))
            return r;
    return NULL;
}

/* The index gives candidates; only their names are kept from the scan. */
static bool collect(void *arg, const struct row *row)
{
    struct dependents *d = arg;
    struct row kept = *row;
    struct status st;
    const struct json *tree;

    status_init(&st, d->gc->arena);
    kept.obj.text = str_dup(d->gc->arena, row->obj.text);
    if (row_tree(d->gc->arena, d->kind, &kept, STR_NONE, &tree, &st) == 0 &&
        reference_to(tree, d->owner))
        d->found[d->n++] = (struct gc_object){ .kind = d->kind, .obj = tree };
    return d->n < DEPENDENTS_MAX;
}

static int find_dependents(const struct gc *g, str uid, struct dependents *out, struct status *st)
{
    int rc = 0;

    *out = (struct dependents){ .gc = g, .owner = uid };
    epoch_enter();
    for (size_t i = 0; i < g->catalog->nkinds && rc >= 0 && out->n < DEPENDENTS_MAX; i++) {
        const struct kind *k = g->catalog->kinds[i];
        struct rows_range range = { .instance = &g->instance, .kind = k, .hash = index_owner(uid) };

        if (kind_of_type(g, k->type_id) != k)
            continue; /* another version of one that was looked at */
        out->kind = k;
        rc = rows_scan(g->server->rest, &range, collect, out, st);
    }
    epoch_exit();
    return rc < 0 ? -1 : 0;
}

/* ---- what owners are ---- */

enum owner_state { OWNER_SOLID, OWNER_GONE, OWNER_WAITING, OWNER_UNKNOWN };

static enum owner_state owner_state(const struct gc *g, const struct json *ref, str namespace_)
{
    const struct kind *k =
        catalog_find_kind(g->catalog, json_get_str(ref, "apiVersion"), json_get_str(ref, "kind"));
    const struct json *owner;
    struct status st;
    int found;

    if (!k)
        return OWNER_UNKNOWN; /* a type that is not served, maybe not yet */
    if (k->namespaced && namespace_.n == 0)
        return OWNER_GONE; /* k8s: nobody in a namespace can own what is in none */
    status_init(&st, g->arena);
    epoch_enter();
    found =
        lookup_get(g->server->rest, g->arena, &g->instance, k,
                   k->namespaced ? namespace_ : STR_NONE, json_get_str(ref, "name"), &owner, &st);
    epoch_exit();
    if (found < 0)
        return OWNER_UNKNOWN;
    if (!found || !str_eq(json_get_str(owner, "metadata.uid"), json_get_str(ref, "uid")))
        return OWNER_GONE;
    return is_deleting(owner) && has_finalizer(owner, FOREGROUND) ? OWNER_WAITING : OWNER_SOLID;
}

/* ---- acting ---- */

static struct client_ref ref_of(const struct gc *g, const struct gc_object *o)
{
    return (struct client_ref){ .instance = g->instance.name,
                                .group = o->kind->group,
                                .version = o->kind->version,
                                .resource = o->kind->plural,
                                .namespace = json_get_str(o->obj, "metadata.namespace"),
                                .name = json_get_str(o->obj, "metadata.name") };
}

/* Who was quicker has done our work, or is told of by another event. */
static int settled(int rc, struct status *st)
{
    return rc < 0 && status_is(st, REASON_NOT_FOUND) ? 0 : rc;
}

/* metadata's member set, on the object that was looked at and no other */
static int set_meta(const struct gc *g, const struct gc_object *o, const char *member,
                    const struct json *value, struct status *st)
{
    struct client_ref ref = ref_of(g, o);
    struct json_object meta = json_object_new(g->arena), patch = json_object_new(g->arena);
    const struct json *m = json_get(o->obj, STR("metadata"));

    json_add(&meta, STR("uid"), *json_get(m, STR("uid")));
    json_add(&meta, STR("resourceVersion"), *json_get(m, STR("resourceVersion")));
    json_add(&meta, str_of(member), *value);
    json_add(&patch, STR("metadata"), json_object_value(&meta));
    return settled(client_patch(g->client, g->arena, &ref, CLIENT_PATCH_MERGE,
                                json_object_done(&patch), NULL, st),
                   st);
}

static int drop_finalizer(const struct gc *g, const struct gc_object *o, const char *name,
                          struct status *st)
{
    struct json_array left = json_array_new(g->arena);

    json_for_each (f, json_path(o->obj, "metadata.finalizers"))
        if (!str_is(json_str(f), name))
            json_push(&left, *f);
    return set_meta(g, o, "finalizers", json_array_done(&left), st);
}

static int delete (const struct gc *g, const struct gc_object *o, const char *policy,
                   struct status *st)
{
    struct client_ref ref = ref_of(g, o);
    struct json_object options = json_object_new(g->arena), pre = json_object_new(g->arena);

    json_add(&pre, STR("uid"), *json_path(o->obj, "metadata.uid"));
    json_add(&options, STR("kind"), json_of_str(STR("DeleteOptions")));
    json_add(&options, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&options, STR("preconditions"), json_object_value(&pre));
    json_add(&options, STR("propagationPolicy"), json_of_str(str_of(policy)));
    return settled(client_delete(g->client, g->arena, &ref, json_object_done(&options), st), st);
}

/* The Endpoints of that name go with a Service, whoever made them; as in Kubernetes, a server that
 * is killed in between leaves them.  k8s: registry/core/service/storage/storage.go afterDelete */
static int service_gone(const struct gc *g, str row, struct status *st)
{
    static const char *const plurals[] = { "services", "endpoints" };
    struct gc_object o = { 0 };
    str name = row, namespace_;
    int found = 0;

    (void)str_split(&name, '/', &namespace_);
    for (size_t i = 0; i < sizeof(plurals) / sizeof(*plurals); i++) {
        o.kind = catalog_find(g->catalog, STR_NONE, STR("v1"), str_of(plurals[i]));
        if (!o.kind)
            return 0;
        epoch_enter();
        found = lookup_get(g->server->rest, g->arena, &g->instance, o.kind, namespace_, name,
                           &o.obj, st);
        epoch_exit();
        if (found < 0 || (found && i == 0)) /* it was made anew */
            return found < 0 ? -1 : 0;
    }
    return found ? delete (g, &o, "Background", st) : 0;
}

/* The object without references to owners in these states. */
static int disown(const struct gc *g, const struct gc_object *o, const enum owner_state *states,
                  struct status *st)
{
    struct json_array left = json_array_new(g->arena);
    size_t i = 0;

    json_for_each (r, json_path(o->obj, "metadata.ownerReferences"))
        if (states[i++] != OWNER_GONE && states[i - 1] != OWNER_WAITING)
            json_push(&left, *r);
    return set_meta(g, o, "ownerReferences", json_array_done(&left), st);
}

static int has_dependents(const struct gc *g, const struct gc_object *o, struct status *st)
{
    struct dependents *d = arena_new_of(g->arena, struct dependents);

    if (find_dependents(g, json_get_str(o->obj, "metadata.uid"), d, st) < 0)
        return -1;
    return d->n > 0;
}

static int delete_orphaned(const struct gc *g, const struct gc_object *o, bool owner_waits,
                           struct status *st)
{
    int more = owner_waits ? has_dependents(g, o, st) : 0;

    if (more < 0)
        return -1;
    if (has_finalizer(o->obj, ORPHAN))
        return delete (g, o, "Orphan", st);
    if (more || has_finalizer(o->obj, FOREGROUND))
        return delete (g, o, "Foreground", st);
    return delete (g, o, "Background", st);
}

/* k8s: garbagecollector.go attemptToDeleteItem */
static int look_at_owners(const struct gc *g, const struct gc_object *o, struct status *st)
{
    const struct json *refs = json_path(o->obj, "metadata.ownerReferences");
    enum owner_state *states = arena_array(g->arena, enum owner_state, json_len(refs) + 1);
    size_t n[4] = { 0 }, i = 0;

    if (json_len(refs) == 0 || (is_deleting(o->obj) && !is_waiting(o->obj)))
        return 0;
    json_for_each (r, refs) {
        states[i] = owner_state(g, r, json_get_str(o->obj, "metadata.namespace"));
        n[states[i++]]++;
    }
    if (n[OWNER_GONE] + n[OWNER_WAITING] == 0)
        return 0;
    if (n[OWNER_SOLID] + n[OWNER_UNKNOWN] > 0)
        return disown(g, o, states, st);
    return is_deleting(o->obj) ? 0 : delete_orphaned(g, o, n[OWNER_WAITING] > 0, st);
}

/* Dependents lose the owner, then the owner may go. */
static int orphan(const struct gc *g, const struct gc_object *o, const struct dependents *d,
                  struct status *st)
{
    for (size_t i = 0; i < d->n; i++) {
        struct json_array left = json_array_new(g->arena);

        json_for_each (r, json_path(d->found[i].obj, "metadata.ownerReferences"))
            if (!str_eq(json_get_str(r, "uid"), d->owner))
                json_push(&left, *r);
        if (set_meta(g, &d->found[i], "ownerReferences", json_array_done(&left), st) < 0)
            return -1;
    }
    return d->n < DEPENDENTS_MAX ? drop_finalizer(g, o, ORPHAN, st)
                                 : status_set(st, REASON_CONFLICT, "there are more dependents");
}

/* k8s: processDeletingDependentsItem: only those that block hold the owner */
static int delete_dependents(const struct gc *g, const struct gc_object *o,
                             const struct dependents *d, struct status *st)
{
    size_t blocking = 0;

    for (size_t i = 0; i < d->n; i++) {
        const struct json *ref = reference_to(d->found[i].obj, d->owner);

        blocking += json_bool(json_get(ref, STR("blockOwnerDeletion")));
        if (look_at_owners(g, &d->found[i], st) < 0)
            return -1;
    }
    return blocking ? 0 : drop_finalizer(g, o, FOREGROUND, st);
}

static int look_at_dependents(const struct gc *g, const struct gc_object *o, struct status *st)
{
    struct dependents *d;

    if (!is_waiting(o->obj))
        return 0;
    d = arena_new_of(g->arena, struct dependents);
    if (find_dependents(g, json_get_str(o->obj, "metadata.uid"), d, st) < 0)
        return -1;
    return has_finalizer(o->obj, ORPHAN) ? orphan(g, o, d, st) : delete_dependents(g, o, d, st);
}

/*
 * Deletes the object if all its owners are gone, or takes those that are out of it; lets it go if
 * it waits for its dependents, and none holds it any more.  0, or -1: to be tried again.
 */
static int look_at(const struct gc *g, const struct gc_object *o, struct status *st)
{
    if (look_at_dependents(g, o, st) < 0)
        return -1;
    return look_at_owners(g, o, st);
}

/* Calls look_at for all that belong to an owner. */
static int owner_gone(const struct gc *g, str uid, struct status *st)
{
    struct dependents *d = arena_new_of(g->arena, struct dependents);

    if (find_dependents(g, uid, d, st) < 0)
        return -1;
    for (size_t i = 0; i < d->n; i++)
        if (look_at_owners(g, &d->found[i], st) < 0)
            return -1;
    return d->n < DEPENDENTS_MAX ? 0 : status_set(st, REASON_CONFLICT, "there are more dependents");
}

/* ---- noting ---- */

static void add_object(struct garbage *g, struct arena *a, uint32_t instance, uint32_t type,
                       str row)
{
    workqueue_add(g->queue, str_printf(a, "d/%u/%u/%.*s", instance, type, STR_ARG(row)));
}

/* Its owners may have waited for it. */
static void add_owners(struct garbage *g, const struct rest_request *req, const struct json *obj)
{
    json_for_each (r, json_path(obj, "metadata.ownerReferences")) {
        const struct kind *k =
            catalog_find_kind(req->catalog, json_get_str(r, "apiVersion"), json_get_str(r, "kind"));

        if (k && json_bool(json_get(r, STR("blockOwnerDeletion"))))
            add_object(g, req->arena, req->instance.id, k->type_id,
                       row_name(req->arena, k, json_get_str(obj, "metadata.namespace"),
                                json_get_str(r, "name")));
    }
}

void garbage_note(struct garbage *g, const struct rest_request *req, const struct json *obj,
                  bool removed)
{
    struct arena *a = req->arena;

    if (removed) {
        workqueue_add(g->queue, str_printf(a, "o/%u/%.*s", req->instance.id,
                                           STR_ARG(json_get_str(obj, "metadata.uid"))));
        add_owners(g, req, obj);
        if (!req->kind->group.n && str_is(req->kind->plural, "services"))
            workqueue_add(g->queue, str_printf(a, "s/%u/%.*s/%.*s", req->instance.id,
                                               STR_ARG(json_get_str(obj, "metadata.namespace")),
                                               STR_ARG(json_get_str(obj, "metadata.name"))));
    } else if (json_path(obj, "metadata.ownerReferences") || is_waiting(obj)) {
        add_object(g, a, req->instance.id, req->kind->type_id,
                   row_name(a, req->kind, json_get_str(obj, "metadata.namespace"),
                            json_get_str(obj, "metadata.name")));
    }
}

/* ---- looking ---- */

/* 1, or 0 when the instance is gone. */
static int open_gc(struct garbage *g, struct arena *a, uint32_t instance, struct gc *out,
                   struct status *st)
{
    struct instances *in = rest_instances(g->server->rest);
    str name;
    int rc;

    *out = (struct gc){ .server = g->server, .client = g->client, .arena = a };
    epoch_enter();
    rc = instance_name(in, a, instance, 0, &name, st);
    if (rc == 0)
        rc = instance_find(in, a, instance == INSTANCE_ROOT ? STR_NONE : name, &out->instance, st);
    epoch_exit();
    if (rc < 0)
        return 0;
    out->catalog = catalogs_make(g->server->catalogs, a, &out->instance);
    return 1;
}

static int look_at_row(const struct gc *gc, uint32_t type, str row, struct status *st)
{
    struct gc_object o = { .kind = kind_of_type(gc, type) };
    str namespace_, name;
    int found;

    if (!o.kind)
        return 0;
    row_split(o.kind, row, &namespace_, &name);
    epoch_enter();
    found = lookup_get(gc->server->rest, gc->arena, &gc->instance, o.kind, namespace_, name, &o.obj,
                       st);
    epoch_exit();
    if (found <= 0)
        return found;
    return look_at(gc, &o, st);
}

static bool take_u32(str *rest, uint32_t *out)
{
    uint64_t v;
    str part;

    if (!str_split(rest, '/', &part) || !str_to_u64(part, &v) || v > UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

static int look(struct garbage *g, struct arena *a, str key, struct status *st)
{
    struct gc gc;
    uint32_t instance, type;
    str rest = str_from(key, 2);

    if (!take_u32(&rest, &instance) || !open_gc(g, a, instance, &gc, st))
        return 0;
    if (key.p[0] == 'o')
        return owner_gone(&gc, rest, st);
    if (key.p[0] == 's')
        return service_gone(&gc, rest, st);
    return take_u32(&rest, &type) ? look_at_row(&gc, type, rest, st) : 0;
}

struct undone {
    struct garbage *garbage;
    struct arena *arena;
    uint32_t type;
};

static bool add_undone(void *arg, const struct store_row *row)
{
    struct undone *u = arg;

    add_object(u->garbage, u->arena, row->key.instance, u->type, row->key.name);
    return true;
}

static bool scan_type(void *arg, const struct store_row *row)
{
    struct undone *u = arg;
    struct store_range owned = { .instance = STORE_ALL, .hash = index_owned() };
    struct status st;

    status_init(&st, u->arena);
    if (!type_of_row(row, &u->type))
        return true;
    owned.type = u->type;
    if (store_scan(u->garbage->server->store, &owned, add_undone, u, &st) < 0)
        log_warn("garbage collection cannot look at what there is", log_status(&st));
    return true;
}

/* All that have owners or wait: what was under way when the last process ended. */
static void find_undone(struct garbage *g)
{
    scoped_arena a = arena_new();
    struct undone u = { .garbage = g, .arena = a };
    struct store_range types = { .type = TYPE_TYPES, .instance = INSTANCE_TEMPLATE };
    struct status st;

    status_init(&st, a);
    epoch_enter();
    if (store_scan(g->server->store, &types, scan_type, &u, &st) < 0)
        log_warn("garbage collection cannot look at what there is", log_status(&st));
    epoch_exit();
}

static void handle(struct garbage *g, str key)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    if (look(g, a, key, &st) == 0) {
        workqueue_forget(g->queue, key);
        return;
    }
    if (workqueue_failures(g->queue, key) >= LOG_AFTER)
        log_warn("garbage is not collected yet", log_str("key", key), log_status(&st));
    workqueue_add_failed(g->queue, key);
}

static void *work(void *arg)
{
    struct garbage *g = arg;
    str key;

    find_undone(g);
    while (workqueue_take(g->queue, &key)) {
        handle(g, key);
        workqueue_done(g->queue, key);
    }
    return NULL;
}

void garbage_start(struct garbage *g, struct loop *l)
{
    g->client =
        client_new(server_local_transport(g->server, l, STR("system:kairship:garbage-collector")));
    if (pthread_create(&g->thread, NULL, work, g) != 0)
        abort(); /* no thread at the start is no machine to run on */
    g->running = true;
}

void garbage_stop(struct garbage *g)
{
    if (!g || !g->running)
        return;
    workqueue_shutdown(g->queue);
    (void)pthread_join(g->thread, NULL);
    g->running = false;
}
