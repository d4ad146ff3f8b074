/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Push mode: runs a syncer for each Cluster that is Ready and wants it.  One informer sees the
 * Works of all instances and tells each to the syncer of its namespace.
 *
 * A member that is not Ready is not asked: its Works wait.  One of an instance that is suspended is
 * read, and nothing is written to it.  When the Cluster of a member that is not Ready is deleted,
 * the Works may go without it, as soon as it is written down what they leave there.
 */

#include "federation/controllers/members/works.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/customizations.h"
#include "federation/controllers/frame/tenancy.h"
#include "federation/controllers/members/left_behind.h"
#include "object/meta/condition.h"
#include "object/meta/karmada.h"

enum { AGAIN_MS = 30000 }; /* a changed credential is noticed so late */

static int retain(void *arg, struct arena *a, str instance, const struct json *desired,
                  const struct json *observed, const struct json **out, struct status *st)
{
    return scripts_retain(customizations_of(arg, a, instance, desired), a, desired, observed, out,
                          st);
}

static const struct json *reflect(void *arg, struct arena *a, str instance,
                                  const struct json *observed)
{
    const struct json *status = NULL;
    struct status st;

    status_init(&st, a);
    if (scripts_reflect(customizations_of(arg, a, instance, observed), a, observed, &status, &st) <
        0)
        log_warn("a script cannot say what a status shows", log_str("instance", instance),
                 log_str("kind", json_get_str(observed, "kind")), log_str("why", st.message));
    return status;
}

static const char *health(void *arg, struct arena *a, str instance, const struct json *observed)
{
    return interp_health_name(
        scripts_health(customizations_of(arg, a, instance, observed), a, observed));
}

const struct syncer_ops works_ops = { retain, reflect, health };

/* ---- the syncers, on the loop ---- */

struct works_syncer {
    struct syncer *syncer;
    struct member *member; /* NULL: none could be had */
    bool suspended;        /* it was, and has not written what it should have */
    str key;               /* "door/instance/cluster", behind the struct */
};

struct works {
    struct controller *controller;  /* NULL: it has not started */
    struct suspensions suspensions; /* of the loop */
    struct fleet *fleet;
    struct customizations *customizations;
    struct map entries;        /* of the loop */
    struct recorder *recorder; /* of the loop */
};

struct fleet *works_fleet(const struct works *w)
{
    return w->fleet;
}

static str entry_key(struct arena *a, str instance, str cluster, enum member_door door)
{
    return str_printf(a, "%d/%.*s/%.*s", door, STR_ARG(instance), STR_ARG(cluster));
}

static void entry_free(struct works_syncer *e)
{
    syncer_free(e->syncer);
    member_unref(e->member);
    free(e);
}

struct command {
    struct works *works;
    struct client *source;
    const struct works_order *order;
    str key;
};

static struct works_syncer *entry_new(struct command *c)
{
    struct works_syncer *e = mem_zalloc(sizeof(*e) + c->key.n);
    struct syncer_options o = c->order->options;

    memcpy(e + 1, c->key.p, c->key.n);
    e->key = (str){ (const char *)(e + 1), c->key.n };
    e->member = c->order->member;
    o.source = c->source;
    /* Without a member it is abandoned, and asks nobody. */
    o.target = e->member ? member_client(e->member) : c->source;
    o.instance = c->order->instance;
    o.cluster = c->order->cluster;
    o.recorder = c->works->recorder;
    o.ops = &works_ops;
    o.ops_arg = c->works->customizations;
    e->syncer = syncer_new(&o);
    return e;
}

/* There is another way to the member, or its instance is suspended no more. */
static bool is_outdated(const struct works_syncer *e, const struct works_order *o)
{
    return o->member && (o->member != e->member ||
                         (e->suspended && o->mode != SYNCER_SUSPENDED && o->mode != SYNCER_PAUSED));
}

static void keep(void *arg)
{
    struct command *c = arg;
    struct works *w = c->works;
    struct works_syncer *e = map_get(&w->entries, c->key);

    if (!w->recorder)
        w->recorder = recorder_new(
            &(struct recorder_options){ .client = c->source, .component = STR("kairship") });
    if (e && is_outdated(e, c->order)) {
        (void)map_remove(&w->entries, e->key);
        entry_free(e);
        e = NULL;
    } else if (e) {
        member_unref(c->order->member);
    }
    if (e) {
        e->suspended |= c->order->mode == SYNCER_SUSPENDED;
        syncer_set_mode(e->syncer, c->order->mode);
        if (c->order->options.feeds & SYNCER_LABELS)
            syncer_set_types(e->syncer, c->order->options.types, c->order->options.ntypes);
        return;
    }
    e = entry_new(c);
    (void)map_put(&w->entries, e->key, e);
    e->suspended = c->order->mode == SYNCER_SUSPENDED;
    syncer_set_mode(e->syncer, c->order->mode);
    syncer_start(e->syncer);
}

void works_keep(struct works *w, struct client *source, const struct works_order *o)
{
    scoped_arena a = arena_new();
    struct command c = { w, source, o, entry_key(a, o->instance, o->cluster, o->door) };

    loop_call_wait(fleet_loop(w->fleet), keep, &c);
}

static void drop(void *arg)
{
    struct command *c = arg;
    struct works_syncer *e = map_remove(&c->works->entries, c->key);

    if (e)
        entry_free(e);
}

void works_drop(struct works *w, str instance, str cluster, enum member_door door)
{
    scoped_arena a = arena_new();
    struct command c = { .works = w, .key = entry_key(a, instance, cluster, door) };

    loop_call_wait(fleet_loop(w->fleet), drop, &c);
}

struct works *works_new(struct fleet *f, struct customizations *c)
{
    struct works *w = mem_zalloc(sizeof(*w));

    w->fleet = f;
    w->customizations = c;
    return w;
}

static void free_entries(void *arg)
{
    struct works *w = arg;
    size_t at = 0;
    void *e;
    str key;

    while (map_each(&w->entries, &at, &key, &e))
        entry_free(e);
    map_release(&w->entries);
    suspensions_release(&w->suspensions);
    recorder_free(w->recorder);
}

void works_free(struct works *w)
{
    if (!w)
        return;
    loop_call_wait(fleet_loop(w->fleet), free_entries, w);
    free(w);
}

int works_wake_all(struct client *client, struct arena *a, struct client_ref clusters,
                   const struct informer_key *k, struct controller *c, struct status *st)
{
    const struct json *list;

    clusters.name = STR_NONE;
    if (client_list(client, a, &clusters, NULL, &list, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    json_for_each (item, json_get(list, STR("items"))) {
        struct informer_key one = { .instance = k->instance,
                                    .name = json_get_str(item, "metadata.name") };

        controller_wake(c, &one);
    }
    return 0;
}

/* ---- Karmada's Clusters ---- */

/* As requests say it. */
static str instance_of(const struct informer_key *k)
{
    return str_is(k->instance, "root") ? STR_NONE : k->instance;
}

/* 0 and *member, which is NULL when the Cluster is on its way out and there is none to be had. */
static int find_member(struct works *w, struct arena *a, const struct informer_key *k,
                       bool deleting, struct member **out, struct status *st)
{
    struct member_name name = { .instance = instance_of(k), .cluster = k->name };

    *out = NULL;
    if (fleet_member(w->fleet, a, &name, out, st) == 0 || deleting)
        return 0;
    return -1;
}

/* To the agent of a Cluster in pull mode. */
static int tell_suspended(struct client *client, struct arena *a, struct client_ref ref,
                          const struct json *cluster, bool suspended, struct status *st)
{
    const struct json *all = json_path(cluster, "status.conditions");
    const struct json *now = cluster_suspended_set(a, all, suspended, clock_wall_s(clock_real()));

    if (now == all)
        return 0;
    ref.subresource = STR("status");
    return client_update(client, a, &ref, json_set(a, cluster, "status.conditions", now), NULL, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct works *w = arg;
    struct client_ref ref = { .instance = instance_of(k),
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters"),
                              .name = k->name };
    struct works_order o = { .instance = instance_of(k),
                             .cluster = k->name,
                             .options = { .feeds = SYNCER_WORKS, .told = true } };
    const struct json *cluster = NULL;
    bool deleting, left, suspended;

    if (!k->name.n)
        return works_wake_all(client, a, ref, k, w->controller, st);
    if (client_get(client, a, &ref, &cluster, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    if (instance_suspended(client, a, instance_of(k), &suspended, st) < 0)
        return -1;
    if (!cluster || !str_is(json_get_str(cluster, "spec.syncMode"), "Push")) {
        works_drop(w, instance_of(k), k->name, MEMBER_KARMADA);
        return cluster ? tell_suspended(client, a, ref, cluster, suspended, st) : 0;
    }
    deleting = json_path(cluster, "metadata.deletionTimestamp");
    left = deleting && left_behind_is_noted(cluster);
    if (left || !object_is_ready(cluster))
        o.mode = left ? SYNCER_ABANDONED : SYNCER_PAUSED;
    else if (suspended)
        o.mode = SYNCER_SUSPENDED;
    if (find_member(w, a, k, deleting, &o.member, st) < 0)
        return -1;
    if (!o.member && !left)
        return AGAIN_MS; /* what is there was not written down yet */
    if (owner_read(client, a, STR_NONE, o.instance, o.instance, &o.options.owner, st) < 0 ||
        customizations_wait(w->customizations, st) < 0) {
        member_unref(o.member);
        return -1;
    }
    works_keep(w, client, &o);
    return AGAIN_MS;
}

/* On the loop, as the syncers are. */
static void route(void *arg, struct controller *c, const struct informer_key *k,
                  const struct json *work, bool deleted)
{
    struct works *w = arg;
    scoped_arena a = arena_new();
    struct works_syncer *e;
    str cluster;

    (void)c;
    if (!karmada_execution_cluster(k->namespace, &cluster))
        return;
    e = map_get(&w->entries, entry_key(a, instance_of(k), cluster, MEMBER_KARMADA));
    if (e)
        syncer_work(e->syncer, k->name, deleted ? NULL : work);
}

static void on_instance(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *instance, bool deleted)
{
    struct works *w = arg;
    struct informer_key all = { .instance = k->name };

    if (suspensions_note(&w->suspensions, k->name, deleted ? NULL : instance))
        controller_wake(c, &all);
}

static void started(void *arg, struct controller *c)
{
    ((struct works *)arg)->controller = c;
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("work.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("works") },
      .map = route },
    { .ref = INSTANCE_REF, .spec_only = true, .map = on_instance },
};

const struct controller_spec works_controller = {
    .name = "work",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("cluster.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .also = sources,
    .nalso = sizeof(sources) / sizeof(*sources),
    .reconcile = reconcile,
    .started = started,
};
