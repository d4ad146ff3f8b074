/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Brings the types of kcp's Clusters into their instance: an APIResourceImport for each type that
 * is wanted and that the member has.  At once when a Cluster is new or its spec has changed, then
 * every minute.  Imports of types that the member has no more are taken away; when it does not
 * answer they stay.  ConfigMaps and Secrets, which workloads need, are always among the types.
 *
 * The condition APIImporterReady is ours alone.
 *
 * kcp: pkg/reconciler/cluster/apiimporter.go
 */

#include "federation/controllers/members/api_importer.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/members/api_types.h"
#include "fleet/api_pull.h"
#include "object/meta/condition.h"

enum { EVERY_MS = 60000, AGAIN_MS = 5000 };

#define NEEDED "configmaps,secrets"

/* ---- when ---- */

struct looked {
    int64_t next_ms, generation;
    str uid;
    char text[]; /* the key, and the uid */
};

void api_importer_init(struct api_importer *i)
{
    *i = (struct api_importer){ 0 };
    (void)pthread_mutex_init(&i->mu, NULL);
}

void api_importer_release(struct api_importer *i)
{
    size_t at = 0;
    void *l;
    str key;

    while (map_each(&i->looked, &at, &key, &l))
        free(l);
    map_release(&i->looked);
    (void)pthread_mutex_destroy(&i->mu);
}

struct look {
    struct api_importer *importer;
    struct client *client;
    struct arena *arena;
    str instance, key;
    struct client_ref ref;
    const struct json *cluster;
    struct api_pull pulled;
    struct condition ready;
    int64_t next_ms; /* from now */
};

static struct clock *clock_of(const struct look *l)
{
    return l->importer->clock ? l->importer->clock : clock_real();
}

static int64_t every_of(const struct look *l)
{
    return l->importer->every_ms ? l->importer->every_ms : EVERY_MS;
}

static int64_t generation_of(const struct look *l)
{
    return json_int(json_path(l->cluster, "metadata.generation"), 0);
}

/* Milliseconds until it is time; 0: it is. */
static int64_t wait_of(const struct look *l)
{
    struct looked *w;
    int64_t left = 0;

    (void)pthread_mutex_lock(&l->importer->mu);
    w = map_get(&l->importer->looked, l->key);
    if (w && w->generation == generation_of(l) &&
        str_eq(w->uid, json_get_str(l->cluster, "metadata.uid")))
        left = w->next_ms - clock_now_ms(clock_of(l));
    (void)pthread_mutex_unlock(&l->importer->mu);
    return left > 0 ? left : 0;
}

static void note(const struct look *l)
{
    str uid = json_get_str(l->cluster, "metadata.uid");
    struct looked *w = mem_alloc(sizeof(*w) + l->key.n + uid.n);

    w->next_ms = clock_now_ms(clock_of(l)) + l->next_ms;
    w->generation = generation_of(l);
    memcpy(w->text, l->key.p, l->key.n);
    if (uid.n)
        memcpy(w->text + l->key.n, uid.p, uid.n);
    w->uid = (str){ w->text + l->key.n, uid.n };
    (void)pthread_mutex_lock(&l->importer->mu);
    free(map_put(&l->importer->looked, (str){ w->text, l->key.n }, w));
    (void)pthread_mutex_unlock(&l->importer->mu);
}

static void forget(const struct look *l)
{
    (void)pthread_mutex_lock(&l->importer->mu);
    free(map_remove(&l->importer->looked, l->key));
    (void)pthread_mutex_unlock(&l->importer->mu);
}

/* ---- imports ---- */

static struct json owner(const struct look *l)
{
    struct json_object o = json_object_new(l->arena);
    struct json_array all = json_array_new(l->arena);

    json_add(&o, STR("apiVersion"), json_of_str(STR("workload.kcp.dev/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("Cluster")));
    json_add(&o, STR("name"), json_of_str(l->ref.name));
    json_add(&o, STR("uid"), json_of_str(json_get_str(l->cluster, "metadata.uid")));
    json_push(&all, json_object_value(&o));
    return json_array_value(&all);
}

static const struct json *import_of(const struct look *l, const struct json *spec, str name)
{
    struct api_type t = api_type_of(spec);
    struct json_object meta = json_object_new(l->arena), notes = json_object_new(l->arena);
    struct json_object o = json_object_new(l->arena), all = json_object_from(l->arena, spec);

    json_add(&notes, STR("apiresource.kcp.dev/apiVersion"),
             json_of_str(str_printf(l->arena, "%.*s%s%.*s", STR_ARG(t.group), t.group.n ? "/" : "",
                                    STR_ARG(t.version))));
    json_add(&meta, STR("name"), json_of_str(name));
    json_add(&meta, STR("annotations"), json_object_value(&notes));
    json_add(&meta, STR("ownerReferences"), owner(l));
    json_put(&all, STR("location"), json_of_str(l->ref.name));
    json_add(&o, STR("apiVersion"), json_of_str(STR("apiresource.kcp.dev/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("APIResourceImport")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("spec"), json_object_value(&all));
    return json_object_done(&o);
}

/* What is there, saying what the member says; its strategy stays, that is a person's. */
static const struct json *refreshed(const struct look *l, const struct json *found,
                                    const struct json *import)
{
    const struct json *strategy = json_path(found, "spec.schemaUpdateStrategy");
    const struct json *spec = json_get(import, STR("spec"));

    if (strategy)
        spec = json_set(l->arena, spec, "schemaUpdateStrategy", strategy);
    found = json_set(l->arena, found, "metadata.ownerReferences",
                     json_path(import, "metadata.ownerReferences"));
    return json_set(l->arena, found, "spec", spec);
}

static int write_import(const struct look *l, const struct json *spec, struct status *st)
{
    struct api_type t = api_type_of(spec);
    struct client_ref ref =
        api_import_ref(l->instance, api_type_import_name(l->arena, &t, l->ref.name));
    const struct json *import = import_of(l, spec, ref.name), *found, *now;
    int there = api_look(l->client, l->arena, &ref, &found, st);

    if (there < 0)
        return -1;
    if (!there) {
        ref.name = STR_NONE;
        return client_create(l->client, l->arena, &ref, import, NULL, st);
    }
    now = refreshed(l, found, import);
    return json_equal(now, found) ? 0 : client_update(l->client, l->arena, &ref, now, NULL, st);
}

struct old {
    const struct look *look;
    str *names;
    size_t n, cap;
};

static bool is_pulled(const struct look *l, const struct json *import)
{
    struct api_type t = api_type_of(json_get(import, STR("spec"))), other;

    for (size_t i = 0; i < l->pulled.nskipped; i++)
        if (str_eq(l->pulled.skipped[i], t.plural))
            return true; /* it is there, but cannot be read */
    for (size_t i = 0; i < l->pulled.n; i++) {
        other = api_type_of(l->pulled.specs[i]);
        if (api_type_eq(&t, &other))
            return true;
    }
    return false;
}

static void on_import(void *arg, const struct json *import)
{
    struct old *o = arg;
    struct arena *a = o->look->arena;
    str *more;

    if (!str_eq(json_get_str(import, "spec.location"), o->look->ref.name) ||
        is_pulled(o->look, import))
        return;
    if (o->n == o->cap) {
        o->cap = o->cap ? o->cap * 2 : 16;
        more = arena_array(a, str, o->cap);
        if (o->n)
            memcpy(more, o->names, o->n * sizeof(*more));
        o->names = more;
    }
    o->names[o->n++] = str_dup(a, json_get_str(import, "metadata.name"));
}

/* Imports of this location that are not among those pulled. */
static int remove_old(const struct look *l, struct status *st)
{
    struct old old = { .look = l };

    if (api_each_import(l->client, l->instance, on_import, &old, st) < 0)
        return -1;
    for (size_t i = 0; i < old.n; i++) {
        struct client_ref ref = api_import_ref(l->instance, old.names[i]);

        if (client_delete(l->client, l->arena, &ref, NULL, st) < 0 &&
            !status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    return 0;
}

/* ---- one round ---- */

static bool is_native(void *arg, str group, str version, str plural)
{
    const struct look *l = arg;
    struct api_type t = { plural, group, version };
    struct status st;
    bool native;

    status_init(&st, l->arena);
    return api_type_is_native(l->client, l->arena, l->instance, &t, &native, &st) == 0 && native;
}

static void fail(struct look *l, const char *reason, const struct status *st)
{
    l->ready = (struct condition){ "APIImporterReady", "False", "Error", reason,
                                   .message = str_dup(l->arena, st->message) };
    l->next_ms = AGAIN_MS < every_of(l) ? AGAIN_MS : every_of(l);
}

static bool pull(struct look *l, struct status *st)
{
    struct member_name name = { .instance = l->instance,
                                .cluster = l->ref.name,
                                .door = MEMBER_KCP };
    str wanted = l->importer->resources.n ? l->importer->resources : STR(API_IMPORTER_RESOURCES);
    struct member *m;
    int rc;

    if (fleet_member(l->importer->fleet, l->arena, &name, &m, st) < 0) {
        fail(l, status_is(st, REASON_INVALID) ? "InvalidKubeConfig" : "ErrorCreatingClient", st);
        return false;
    }
    rc = api_pull(member_client(m), l->arena,
                  str_printf(l->arena, "%s,%.*s", NEEDED, STR_ARG(wanted)), is_native, l,
                  &l->pulled, st);
    member_unref(m);
    if (rc < 0)
        fail(l, "ErrorPullingAPIs", st);
    return rc == 0;
}

static int import(struct look *l, struct status *st)
{
    l->next_ms = every_of(l);
    l->ready = (struct condition){ .type = "APIImporterReady", .status = "True" };
    if (!pull(l, st)) {
        status_reset(st);
        return 0;
    }
    for (size_t i = 0; i < l->pulled.n; i++)
        if (write_import(l, l->pulled.specs[i], st) < 0)
            return -1;
    if (l->pulled.nskipped) {
        l->ready.reason = "TypesLeftOut";
        l->ready.message = l->pulled.why;
    }
    return remove_old(l, st);
}

static int write_status(struct look *l, struct status *st)
{
    const struct json *all = json_path(l->cluster, "status.conditions");
    const struct json *now = condition_set(l->arena, all, &l->ready, clock_wall_s(clock_of(l)));

    if (now == all)
        return 0;
    l->ref.subresource = STR("status");
    return client_update(l->client, l->arena, &l->ref,
                         json_set(l->arena, l->cluster, "status.conditions", now), NULL, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct look l = { .importer = arg,
                      .client = client,
                      .arena = a,
                      .instance = api_instance(k),
                      .key = informer_key_text(a, k),
                      .ref = api_cluster_ref(api_instance(k), k->name) };
    int there = api_look(client, a, &l.ref, &l.cluster, st);
    int64_t left;

    if (there < 0)
        return -1;
    if (!there || is_deleting(l.cluster)) {
        forget(&l);
        return remove_old(&l, st);
    }
    left = wait_of(&l);
    if (left > 0)
        return (int)left;
    if (import(&l, st) < 0 || write_status(&l, st) < 0)
        return -1;
    note(&l);
    return (int)l.next_ms;
}

const struct controller_spec api_importer_controller = {
    .name = "api-importer",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("workload.kcp.dev"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .workers = 2,
    .reconcile = reconcile,
};
