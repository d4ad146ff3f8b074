/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An instance need not have Works.  One that has none is not asked for them again: its
 * CustomResourceDefinition of that name is watched, until there is one that is served.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/informer.h"
#include "fleet/syncer_internal.h"
#include "object/meta/condition.h"

enum { AGAIN_MS = 1000, AGAIN_MAX = 5 }; /* 32 s at most */

struct await {
    struct syncer *syncer;
    struct client_call call;
    struct arena *arena; /* NULL: nothing is asked */
    struct informer *crds;
    struct loop_timer timer;
    unsigned failures;
    bool here; /* the definition says so */
};

static void ask(struct await *w);

static void ask_after(struct await *w, int64_t ms)
{
    loop_timer_set(w->syncer->loop, &w->timer, ms);
}

static void on_timer(struct loop_timer *t)
{
    ask((struct await *)(void *)((char *)t - __builtin_offsetof(struct await, timer)));
}

static void on_crd(void *arg, const struct informer_key *k, const struct json *now)
{
    struct await *w = arg;

    (void)k;
    w->here = condition_holds(json_path(now, "status.conditions"), "Established");
    if (w->here && !w->arena)
        ask_after(w, 0);
}

static void watch_crds(struct await *w)
{
    struct informer_options o = { .client = w->syncer->o.source,
                                  .ref = { .instance = w->syncer->o.instance,
                                           .group = STR("apiextensions.k8s.io"),
                                           .version = STR("v1"),
                                           .resource = STR("customresourcedefinitions") },
                                  .field_selector = STR("metadata.name=works.work.karmada.io"),
                                  .added = on_crd,
                                  .updated = on_crd,
                                  .arg = w };

    w->crds = informer_new(&o);
    informer_start(w->crds);
}

static void on_answer(struct client_call *call, const struct json *list, const struct status *why)
{
    struct await *w = call->user;
    scoped_arena done = w->arena;

    (void)list;
    w->arena = NULL;
    if (!why) {
        informer_free(w->crds);
        w->crds = NULL;
        sync_works_watch(w->syncer);
    } else if (!status_is(why, REASON_NOT_FOUND) || w->here) {
        ask_after(w, sync_growing(AGAIN_MS, w->failures++, AGAIN_MAX));
    } else if (!w->crds) {
        watch_crds(w);
    }
}

static void ask(struct await *w)
{
    struct client_request req = { .method = STR("GET") };
    str instance = w->syncer->o.instance;

    w->arena = arena_new();
    req.path = str_printf(w->arena, "%s%.*s/apis/work.karmada.io/v1alpha1",
                          instance.n ? "/clusters/" : "", STR_ARG(instance));
    w->call = (struct client_call){ .req = req, .arena = w->arena, .done = on_answer, .user = w };
    client_call(w->syncer->o.source, &w->call);
}

struct await *sync_await_new(struct syncer *s)
{
    struct await *w = mem_zalloc(sizeof(*w));

    w->syncer = s;
    w->timer.fn = on_timer;
    ask(w);
    return w;
}

void sync_await_free(struct await *w)
{
    if (!w)
        return;
    loop_timer_cancel(w->syncer->loop, &w->timer);
    if (w->arena)
        client_call_cancel(&w->call);
    arena_free(w->arena);
    informer_free(w->crds);
    free(w);
}
