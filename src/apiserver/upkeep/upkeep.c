/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "apiserver/call/catalogs.h"
#include "apiserver/call/local.h"
#include "apiserver/upkeep/upkeep_internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/workqueue.h"
#include "rest/rows.h"

/*
 * The queue's keys:
 *
 *     c/<instance>/<namespace>   count what the quotas of the namespace limit
 *     s/<instance>/<namespace>   show what its ledger says
 *     e, r                       look for events, for records that are too old
 *     l                          look for sessions (logins) that are over
 */
struct upkeep {
    struct server *server;
    struct workqueue *queue;
    struct client *client;
    struct expiry *events, *records; /* NULL: they stay */
    pthread_t thread;
    bool running;
};

#define USER "system:kairship:quota-controller"

enum {
    LOG_AFTER = 5,
    /*
     * A write that was admitted before a quota was there is not in the first count if it is slower
     * than that; so there is a second one.
     */
    RECOUNT_MS = 2000,
    SHOW_MS = 20, /* of many writes one after the other, not each is shown */
};

struct upkeep *upkeep_new(struct server *s, const struct upkeep_options *opt)
{
    const struct expiry_options events = { "", "v1", "events", "event-marks",
                                           .ttl_s = opt->event_ttl_s };
    const struct expiry_options records = { "audit.kairship.io", "v1alpha1",
                                            "records",           "record-marks",
                                            opt->record_ttl_s,   opt->record_bytes,
                                            opt->person_at,      opt->person_size };
    struct upkeep *u = mem_zalloc(sizeof(*u));
    struct workqueue_options o = { .cap_ms = 30000 };

    u->server = s;
    u->queue = workqueue_new(&o);
    if (opt->event_ttl_s > 0)
        u->events = expiry_new(s, &events);
    if (opt->record_bytes > 0)
        u->records = expiry_new(s, &records);
    return u;
}

void upkeep_free(struct upkeep *u)
{
    if (!u)
        return;
    client_free(u->client);
    workqueue_free(u->queue);
    expiry_free(u->events);
    expiry_free(u->records);
    free(u);
}

/* ---- noting ---- */

static str key_of(struct arena *a, char what, uint32_t instance, str namespace_)
{
    return str_printf(a, "%c/%u/%.*s", what, instance, STR_ARG(namespace_));
}

/* Its rows are of the same type in all instances. */
static const struct kind *root_quotas(void)
{
    return catalog_find(kinds_catalog_root(), STR_NONE, STR("v1"), STR("resourcequotas"));
}

static uint64_t count(struct store *s, struct store_range range)
{
    scoped_arena a = arena_new();
    struct status st;
    uint64_t n = 0;

    status_init(&st, a);
    return store_count(s, &range, &n, &st) < 0 ? 0 : n;
}

/* Most instances have none: that is one look. */
static bool has_quotas(struct upkeep *u, struct arena *a, const struct kind *quotas,
                       uint32_t instance, str namespace_)
{
    struct store_range range = { .type = quotas->type_id, .instance = instance };

    if (count(u->server->store, range) == 0)
        return false;
    range.prefix = str_printf(a, "%.*s/", STR_ARG(namespace_));
    return count(u->server->store, range) > 0;
}

void upkeep_recount(struct upkeep *u, uint32_t instance, str namespace_)
{
    scoped_arena a = arena_new();
    bool has;

    epoch_enter();
    has = has_quotas(u, a, root_quotas(), instance, namespace_);
    epoch_exit();
    if (has)
        workqueue_add(u->queue, key_of(a, 'c', instance, namespace_));
}

void upkeep_note(struct upkeep *u, const struct rest_request *req)
{
    const struct kind *quotas =
        catalog_find(req->catalog, STR_NONE, STR("v1"), STR("resourcequotas"));
    struct arena *a = req->arena;

    if (!quotas || !req->kind->namespaced)
        return;
    if (req->kind == quotas && str_is(req->who->user, USER) && req->who->rights)
        return;
    if (req->kind == quotas) {
        str key = key_of(a, 'c', req->instance.id, req->namespace_);

        workqueue_add(u->queue, key);
        workqueue_add_after(u->queue, key, RECOUNT_MS);
        return;
    }
    if (has_quotas(u, a, quotas, req->instance.id, req->namespace_))
        workqueue_add_after(u->queue,
                            key_of(a, req->verb == VERB_DELETE_COLLECTION ? 'c' : 's',
                                   req->instance.id, req->namespace_),
                            SHOW_MS);
}

/* ---- looking ---- */

/* 1, or 0 when the instance is gone. */
static int open_look(struct upkeep *u, uint32_t instance, struct quota_look *l)
{
    struct instances *in = rest_instances(u->server->rest);
    struct status st;
    str name;
    int rc;

    status_init(&st, l->arena);
    epoch_enter();
    rc = instance_name(in, l->arena, instance, 0, &name, &st);
    if (rc == 0)
        rc = instance_find(in, l->arena, instance == INSTANCE_ROOT ? STR_NONE : name, &l->instance,
                           &st);
    epoch_exit();
    if (rc < 0)
        return 0;
    l->catalog = catalogs_make(u->server->catalogs, l->arena, &l->instance);
    return 1;
}

static int64_t look_for_old(struct upkeep *u, char what)
{
    if (what == 'l')
        return session_expiry_run(u->server);
    return expiry_run(what == 'e' ? u->events : u->records);
}

static int look(struct upkeep *u, struct arena *a, str key, struct status *st)
{
    struct quota_look l = { .server = u->server, .client = u->client, .arena = a };
    str rest = str_from(key, 2), id;
    uint64_t instance;

    if (key.n < 2) {
        workqueue_add_after(u->queue, key, look_for_old(u, key.p[0]));
        return 0;
    }
    if (!str_split(&rest, '/', &id) || !str_to_u64(id, &instance))
        return 0;
    l.namespace_ = rest;
    if (!open_look(u, (uint32_t)instance, &l))
        return 0;
    if (key.p[0] == 'c' && upkeep_count(&l, st) < 0)
        return -1;
    return upkeep_show(&l, st);
}

struct quotas {
    struct upkeep *upkeep;
    struct arena *arena;
    const struct kind *kind;
};

static bool add_namespace(void *arg, const struct store_row *row)
{
    struct quotas *q = arg;
    str namespace_, name;

    row_split(q->kind, row->key.name, &namespace_, &name);
    workqueue_add(q->upkeep->queue, key_of(q->arena, 'c', row->key.instance, namespace_));
    return true;
}

/* Namespaces with quotas: what was under way when the last process ended. */
static void find_quotas(struct upkeep *u)
{
    scoped_arena a = arena_new();
    const struct kind *k = root_quotas();
    struct quotas q = { .upkeep = u, .arena = a, .kind = k };
    struct store_range range = { .type = k->type_id, .instance = STORE_ALL };
    struct status st;

    status_init(&st, a);
    epoch_enter();
    if (store_scan(u->server->store, &range, add_namespace, &q, &st) < 0)
        log_warn("quotas cannot be looked at", log_status(&st));
    epoch_exit();
}

static void handle(struct upkeep *u, str key)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    if (look(u, a, key, &st) == 0) {
        workqueue_forget(u->queue, key);
        return;
    }
    if (workqueue_failures(u->queue, key) >= LOG_AFTER)
        log_warn("a quota is not up to date yet", log_str("key", key), log_status(&st));
    workqueue_add_failed(u->queue, key);
}

static void *work(void *arg)
{
    struct upkeep *u = arg;
    str key;

    find_quotas(u);
    if (u->events)
        workqueue_add(u->queue, STR("e"));
    if (u->records)
        workqueue_add(u->queue, STR("r"));
    workqueue_add(u->queue, STR("l"));
    while (workqueue_take(u->queue, &key)) {
        handle(u, key);
        workqueue_done(u->queue, key);
    }
    return NULL;
}

void upkeep_start(struct upkeep *u, struct loop *l)
{
    u->client = client_new(server_local_transport(u->server, l, STR(USER)));
    if (pthread_create(&u->thread, NULL, work, u) != 0)
        abort(); /* no thread at the start is no machine to run on */
    u->running = true;
}

void upkeep_stop(struct upkeep *u)
{
    if (!u || !u->running)
        return;
    workqueue_shutdown(u->queue);
    (void)pthread_join(u->thread, NULL);
    u->running = false;
}
