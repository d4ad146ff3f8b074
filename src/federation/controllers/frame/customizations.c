/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/customizations.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/informer.h"

enum {
    WAIT_S = 5,
    COMPILED_MAX = 16 << 20, /* bytes of scripts that are kept ready, of all instances */
};

/* One customization. */
struct customization {
    struct arena *arena;
    str key; /* "instance/name" */
    const struct json *object;
    struct customized_kind *target;
    struct customization *next; /* of the same target, by name */
};

/* A kind of an instance that has some. */
struct customized_kind {
    str key; /* "instance apiVersion kind", behind the struct */
    struct customization *entries;
    struct scripts *scripts; /* NULL: not asked for since they changed */
};

struct customizations {
    struct client *client;
    struct informer *informer;
    pthread_mutex_t mu;
    pthread_cond_t ready;
    /* guarded by mu: */
    bool synced;
    struct map entries, targets;
    size_t compiled; /* bytes */
};

static str instance_of(str instance)
{
    return str_is(instance, "root") ? STR_NONE : instance;
}

/* ---- what is known, under the lock ---- */

static void forget_scripts(struct customizations *c, struct customized_kind *t)
{
    if (!t->scripts)
        return;
    c->compiled -= scripts_size(t->scripts);
    scripts_unref(t->scripts);
    t->scripts = NULL;
}

static void forget_all_scripts(struct customizations *c)
{
    size_t at = 0;
    void *t;
    str key;

    while (map_each(&c->targets, &at, &key, &t))
        forget_scripts(c, t);
}

static struct customized_kind *target_get(struct customizations *c, str key)
{
    struct customized_kind *t = map_get(&c->targets, key);

    if (t)
        return t;
    t = mem_zalloc(sizeof(*t) + key.n);
    memcpy(t + 1, key.p, key.n);
    t->key = (str){ (const char *)(t + 1), key.n };
    (void)map_put(&c->targets, t->key, t);
    return t;
}

static void target_add(struct customizations *c, struct customized_kind *t, struct customization *e)
{
    struct customization **at = &t->entries;

    while (*at && str_cmp((*at)->key, e->key) < 0)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
    e->target = t;
    forget_scripts(c, t);
}

static void entry_drop(struct customizations *c, str key)
{
    struct customization *e = map_remove(&c->entries, key), **at;
    struct customized_kind *t;

    if (!e)
        return;
    t = e->target;
    for (at = &t->entries; *at != e;)
        at = &(*at)->next;
    *at = e->next;
    forget_scripts(c, t);
    if (!t->entries) {
        (void)map_remove(&c->targets, t->key);
        free(t);
    }
    arena_free(e->arena);
}

static str target_key(struct arena *a, str instance, str api_version, str kind)
{
    return str_printf(a, "%.*s %.*s %.*s", STR_ARG(instance), STR_ARG(api_version), STR_ARG(kind));
}

/* ---- what the informer tells, on the loop ---- */

static void put(void *arg, const struct informer_key *k, const struct json *now)
{
    struct customizations *c = arg;
    struct arena *a = arena_new();
    struct customization *e = arena_new_of(a, struct customization);
    str instance = instance_of(k->instance);
    str kind = target_key(a, instance, json_get_str(now, "spec.target.apiVersion"),
                          json_get_str(now, "spec.target.kind"));

    e->arena = a;
    e->key = str_printf(a, "%.*s/%.*s", STR_ARG(instance), STR_ARG(k->name));
    e->object = json_dup(a, now);
    (void)pthread_mutex_lock(&c->mu);
    entry_drop(c, e->key);
    target_add(c, target_get(c, kind), e);
    (void)map_put(&c->entries, e->key, e);
    (void)pthread_mutex_unlock(&c->mu);
}

static void deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    struct customizations *c = arg;
    scoped_arena a = arena_new();

    (void)last;
    (void)pthread_mutex_lock(&c->mu);
    entry_drop(c, str_printf(a, "%.*s/%.*s", STR_ARG(instance_of(k->instance)), STR_ARG(k->name)));
    (void)pthread_mutex_unlock(&c->mu);
}

static void synced(void *arg)
{
    struct customizations *c = arg;

    (void)pthread_mutex_lock(&c->mu);
    c->synced = true;
    (void)pthread_cond_broadcast(&c->ready);
    (void)pthread_mutex_unlock(&c->mu);
}

/* ---- life ---- */

static void start(void *arg)
{
    struct customizations *c = arg;

    informer_start(c->informer);
}

struct customizations *customizations_new(struct client *client, str instance)
{
    struct customizations *c = mem_zalloc(sizeof(*c));
    struct informer_options o = {
        .client = client,
        .ref = { .instance = instance,
                 .group = STR("config.karmada.io"),
                 .version = STR("v1alpha1"),
                 .resource = STR("resourceinterpretercustomizations") },
        .added = put,
        .updated = put,
        .deleted = deleted,
        .synced = synced,
        .arg = c,
    };

    c->client = client;
    (void)pthread_mutex_init(&c->mu, NULL);
    (void)pthread_cond_init(&c->ready, NULL);
    c->informer = informer_new(&o);
    loop_call_wait(client_loop(client), start, c);
    return c;
}

static void stop(void *arg)
{
    struct customizations *c = arg;

    informer_free(c->informer);
}

void customizations_free(struct customizations *c)
{
    size_t at = 0;
    void *e;
    str key;

    if (!c)
        return;
    loop_call_wait(client_loop(c->client), stop, c);
    while (map_each(&c->entries, &at, &key, &e)) {
        entry_drop(c, key);
        at = 0; /* the map has changed */
    }
    map_release(&c->entries);
    map_release(&c->targets);
    (void)pthread_cond_destroy(&c->ready);
    (void)pthread_mutex_destroy(&c->mu);
    free(c);
}

/* ---- asking ---- */

int customizations_wait(struct customizations *c, struct status *st)
{
    struct timespec until;
    bool known;
    int rc = 0;

    if (!c)
        return 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    (void)pthread_mutex_lock(&c->mu);
    while (!c->synced && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&c->ready, &c->mu, &until);
    known = c->synced;
    (void)pthread_mutex_unlock(&c->mu);
    if (known)
        return 0;
    return status_set(st, REASON_UNAVAILABLE,
                      "the ResourceInterpreterCustomizations are not known yet");
}

static void compile(struct customizations *c, struct customized_kind *t)
{
    scoped_arena a = arena_new();
    const struct json **objects;
    size_t n = 0, i = 0;

    for (const struct customization *e = t->entries; e; e = e->next)
        n++;
    objects = arena_array(a, const struct json *, n);
    for (const struct customization *e = t->entries; e; e = e->next)
        objects[i++] = e->object;
    if (c->compiled > COMPILED_MAX)
        forget_all_scripts(c);
    t->scripts = scripts_new(objects, n);
    c->compiled += scripts_size(t->scripts);
}

static void unref(void *s)
{
    scripts_unref(s);
}

const struct scripts *customizations_of(struct customizations *c, struct arena *a, str instance,
                                        const struct json *object)
{
    struct scripts *s = NULL;
    struct customized_kind *t;

    if (!c)
        return NULL;
    (void)pthread_mutex_lock(&c->mu);
    t = map_size(&c->targets) == 0
            ? NULL
            : map_get(&c->targets,
                      target_key(a, instance_of(instance), json_get_str(object, "apiVersion"),
                                 json_get_str(object, "kind")));
    if (t && !t->scripts)
        compile(c, t);
    if (t)
        s = scripts_ref(t->scripts);
    (void)pthread_mutex_unlock(&c->mu);
    if (s)
        arena_defer(a, unref, s);
    return s;
}
