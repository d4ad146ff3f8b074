/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/garbage.h"

#include <pthread.h>
#include <stdlib.h>

#include "apiserver/call/catalogs.h"
#include "apiserver/call/local.h"
#include "apiserver/upkeep/garbage_internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/workqueue.h"
#include "rest/index.h"
#include "rest/lookup.h"
#include "rest/rows.h"

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
    } else if (json_path(obj, "metadata.ownerReferences") || gc_is_waiting(obj)) {
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
    struct gc_object o = { .kind = gc_kind(gc, type) };
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
    return gc_look_at(gc, &o, st);
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
        return gc_owner_gone(&gc, rest, st);
    if (key.p[0] == 's')
        return gc_service_gone(&gc, rest, st);
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
