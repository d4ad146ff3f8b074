/* SPDX-License-Identifier: Apache-2.0 */
#include "crash/watchers.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    CUT_OFF = 100, /* one in so many events is a watcher's last on that stream */
    AWAY_MS = 20,  /* at most, before it comes back */
    RETRY_MS = 10, /* after the server has closed it */
    /* What a server must remember at least: less than store/engine.h promises, in each of which
     * several changes may be in one revision. */
    HISTORY_REVISIONS = 50000,
    HISTORY_US = 240 * 1000000,
};

struct row {
    const char *name;
    unsigned kind;
    int home;          /* -1: all */
    const char *space; /* NULL: all */
    bool red;          /* only those */
    bool story, sleeps;
};

static const struct row rows[] = {
    { "all configmaps", 0, -1, NULL, false, true, false },
    { "all secrets", 1, -1, NULL, false, true, false },
    { "configmaps of root", 0, 0, NULL, false, false, false },
    { "configmaps of root/work", 0, 0, "work", false, false, false },
    { "secrets of one", 1, 1, NULL, false, false, false },
    { "red configmaps of two", 0, 2, NULL, true, false, false },
    { "all red secrets", 1, -1, NULL, true, false, false },
    { "all configmaps, rarely", 0, -1, NULL, false, false, true },
};
enum { WATCHERS = sizeof(rows) / sizeof(*rows) };

struct watcher {
    struct client_watch watch; /* first: callbacks get this */
    const struct row *row;
    struct watchers *all;
    struct arena *arena; /* of the request */
    struct loop_timer again;
    struct rand_seq rand;
    uint64_t last;    /* revision */
    uint64_t need;    /* caught up when this was heard of */
    unsigned session; /* counts streams */
    unsigned wakes;   /* the cycle in which it goes on */
    int64_t asleep_us;
    bool running, expired;
    struct events got, expected;
};

struct watchers {
    struct world *world;
    bool on;
    struct watcher watchers[WATCHERS];
};

static void start(struct watcher *w);

static bool awake(const struct watcher *w)
{
    return w->all->world->cycle >= w->wakes;
}

static void on_again(struct loop_timer *t)
{
    struct watcher *w = (struct watcher *)(void *)((char *)t - offsetof(struct watcher, again));

    if (w->all->on)
        start(w);
}

static void ended(struct watcher *w)
{
    w->running = false;
    arena_free(w->arena);
    w->arena = NULL;
}

static void take(struct watcher *w, enum client_event type, const struct json *object)
{
    struct ledger *l = &w->all->world->ledger;
    struct event ev = { .type = type, .session = w->session };
    str instance = w->row->home < 0 ? STR("*") : str_of(homes[w->row->home]);

    if (ledger_read(l, w->row->kind, instance, object, &ev.object, &ev.v) != 1)
        return;
    if (w->row->story)
        events_add(&l->story[w->row->kind], &ev);
    else if (ev.object->home >= 0)
        events_add(&w->got, &ev);
}

static void on_event(struct client_watch *watch, enum client_event type, const struct json *object)
{
    struct watcher *w = (struct watcher *)(void *)watch;
    uint64_t rv = content_rv(object);

    if (rv < w->last)
        ledger_fail(&w->all->world->ledger, "%s: revision %llu comes after %llu", w->row->name,
                    (unsigned long long)rv, (unsigned long long)w->last);
    w->last = rv;
    ledger_saw(&w->all->world->ledger, rv);
    if (type == CLIENT_BOOKMARK)
        return;
    take(w, type, object);
    if (w->all->world->loaded && rand_seq_below(&w->rand, CUT_OFF) == 0) {
        client_watch_cancel(watch);
        ended(w);
        loop_timer_set(w->all->world->loop, &w->again, rand_seq_below(&w->rand, AWAY_MS));
    }
}

static void on_done(struct client_watch *watch, const struct status *why)
{
    struct watcher *w = (struct watcher *)(void *)watch;
    struct world *world = w->all->world;

    ended(w);
    if (why && (why->reason == REASON_EXPIRED || why->reason == REASON_GONE)) {
        w->expired = true;
        if (world->ledger.seen_rv - w->last < HISTORY_REVISIONS &&
            (!w->row->sleeps || now_us() - w->asleep_us < HISTORY_US))
            ledger_fail(&world->ledger, "%s: cannot go on after %llu: %.*s", w->row->name,
                        (unsigned long long)w->last, STR_ARG(why->message));
        return;
    }
    if (why && !(why->reason == REASON_UNAVAILABLE && world->ending))
        ledger_fail(&world->ledger, "%s: ended: %.*s", w->row->name, STR_ARG(why->message));
    if (w->all->on && !world->ending)
        loop_timer_set(world->loop, &w->again, RETRY_MS);
}

static struct client_ref ref_of(const struct row *r)
{
    struct target t = { .kind = r->kind,
                        .instance = r->home < 0 ? STR("*") : str_of(homes[r->home]),
                        .namespace = str_of(r->space) };

    return content_ref(&t);
}

static void start(struct watcher *w)
{
    struct client_ref ref = ref_of(w->row);
    struct client_query q = { .watch = true, .bookmarks = true };

    w->arena = arena_new();
    q.resource_version = str_printf(w->arena, "%llu", (unsigned long long)w->last);
    q.label_selector = w->row->red ? STR("color=red") : STR_NONE;
    w->session++;
    w->running = true;
    w->watch.req = client_request_watch(w->arena, &ref, &q);
    w->watch.event = on_event;
    w->watch.done = on_done;
    client_watch(world_watch_client(w->all->world), &w->watch);
}

struct watchers *watchers_new(struct world *world, uint64_t rv)
{
    struct watchers *ws = mem_zalloc(sizeof(*ws));

    ws->world = world;
    for (unsigned i = 0; i < WATCHERS; i++)
        ws->watchers[i] = (struct watcher){ .row = &rows[i],
                                            .all = ws,
                                            .again.fn = on_again,
                                            .rand.state = content_mix(world->ledger.seed, i),
                                            .last = rv };
    return ws;
}

void watchers_free(struct watchers *ws)
{
    for (unsigned i = 0; ws && i < WATCHERS; i++) {
        events_release(&ws->watchers[i].got);
        events_release(&ws->watchers[i].expected);
    }
    free(ws);
}

void watchers_start(struct watchers *ws)
{
    ws->on = true;
    for (unsigned i = 0; i < WATCHERS; i++) {
        struct watcher *w = &ws->watchers[i];

        w->need = 0;
        if (awake(w) && !w->running)
            start(w);
    }
}

void watchers_stop(struct watchers *ws)
{
    ws->on = false;
    for (unsigned i = 0; i < WATCHERS; i++) {
        struct watcher *w = &ws->watchers[i];

        loop_timer_cancel(ws->world->loop, &w->again);
        if (w->running) {
            client_watch_cancel(&w->watch);
            ended(w);
        }
    }
}

/* ---- catching up ---- */

static bool concerns(const struct row *r, const struct object *o, bool red)
{
    return r->kind == o->at.kind && (r->home < 0 || r->home == o->home) &&
           (!r->space || str_is(o->at.namespace, r->space)) && (!r->red || red);
}

void watchers_expect(struct watchers *ws, uint64_t op)
{
    const struct op *o = ledger_find(&ws->world->ledger, op);

    for (unsigned i = 0; i < WATCHERS; i++)
        if (concerns(ws->watchers[i].row, o->object, true))
            ws->watchers[i].need = o->rv;
}

static bool waits(const struct watcher *w)
{
    return awake(w) && !w->expired && w->last < w->need;
}

bool watchers_caught_up(const struct watchers *ws)
{
    for (unsigned i = 0; i < WATCHERS; i++)
        if (waits(&ws->watchers[i]))
            return false;
    return true;
}

void watchers_show(const struct watchers *ws)
{
    for (unsigned i = 0; i < WATCHERS; i++)
        if (waits(&ws->watchers[i]))
            printf("# %s: has heard up to %llu, not of %llu\n", rows[i].name,
                   (unsigned long long)ws->watchers[i].last,
                   (unsigned long long)ws->watchers[i].need);
}

/* ---- comparing ---- */

/* What a watch of this row is told of an event: with a selector objects come and go. */
static bool told(const struct row *r, const struct event *ev, bool was_there,
                 const struct version *was, struct event *out)
{
    bool had = was_there && (!r->red || was->red);
    bool has = ev->type != CLIENT_DELETED && (!r->red || ev->v.red);

    *out = *ev;
    if (has) {
        out->type = had ? CLIENT_MODIFIED : CLIENT_ADDED;
        return true;
    }
    if (!had)
        return false;
    out->type = CLIENT_DELETED;
    out->v = *was;
    out->v.rv = ev->v.rv;
    return true;
}

void watchers_story(void *arg, unsigned kind, const struct event *ev, bool was_there,
                    const struct version *was)
{
    struct watchers *ws = arg;
    struct event out;

    (void)kind;
    if (ev->object->home < 0)
        return;
    for (unsigned i = 0; i < WATCHERS; i++) {
        struct watcher *w = &ws->watchers[i];

        if (!w->row->story && concerns(w->row, ev->object, true) &&
            told(w->row, ev, was_there, was, &out))
            events_add(&w->expected, &out);
    }
}

static bool same(const struct event *a, const struct event *b)
{
    return a->type == b->type && a->object == b->object && a->v.rv == b->v.rv &&
           a->v.op == b->v.op && a->v.base == b->v.base && a->v.uid == b->v.uid;
}

static void compare(struct watcher *w)
{
    static const char *const names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK" };
    struct ledger *l = &w->all->world->ledger;

    for (size_t i = 0; i < w->got.n || i < w->expected.n; i++) {
        const struct event *g = i < w->got.n ? &w->got.p[i] : NULL;
        const struct event *e = i < w->expected.n ? &w->expected.p[i] : NULL;

        if (g && e && same(g, e))
            continue;
        ledger_fail(l,
                    "%s: event %zu of %zu (should be %zu) is %s %.*s at %llu, should be %s %.*s "
                    "at %llu",
                    w->row->name, i, w->got.n, w->expected.n, g ? names[g->type] : "none",
                    STR_ARG(g ? g->object->key : STR_NONE), (unsigned long long)(g ? g->v.rv : 0),
                    e ? names[e->type] : "none", STR_ARG(e ? e->object->key : STR_NONE),
                    (unsigned long long)(e ? e->v.rv : 0));
        break;
    }
}

static void sleep_again(struct watcher *w)
{
    static const unsigned naps[] = { 2, 3, 5, 10, 30, 300 };
    unsigned cycles = naps[rand_seq_below(&w->rand, sizeof(naps) / sizeof(*naps))];

    w->wakes = w->all->world->cycle + cycles;
    w->asleep_us = now_us();
    loop_timer_cancel(w->all->world->loop, &w->again);
    if (w->running) {
        client_watch_cancel(&w->watch);
        ended(w);
    }
}

/* Begins again with a list, as everybody does after a 410. */
static void begin_again(struct watcher *w)
{
    struct world *world = w->all->world;
    struct listed list = { .kind = w->row->kind, .home = w->row->home, .when = "after a 410" };
    struct client_ref ref = ref_of(w->row);
    scoped_arena a = arena_new();
    struct client_request req = client_request_list(a, &ref, NULL);
    const struct json *page;
    struct status st;

    status_init(&st, a);
    if (world_ask(world, a, &req, &page, &st) < 0) {
        ledger_fail(&world->ledger, "%s: list: %.*s", w->row->name, STR_ARG(st.message));
        return;
    }
    ledger_list(&world->ledger, &list, ref.instance, page);
    ledger_list_done(&world->ledger, &list);
    w->last = list.rv;
}

void watchers_relist(struct watchers *ws)
{
    for (unsigned i = 0; i < WATCHERS; i++)
        if (ws->watchers[i].expired)
            begin_again(&ws->watchers[i]);
}

void watchers_verify(struct watchers *ws)
{
    for (unsigned i = 0; i < WATCHERS; i++) {
        struct watcher *w = &ws->watchers[i];

        if (w->row->story || !awake(w))
            continue;
        if (!w->expired)
            compare(w);
        w->expired = false;
        w->got.n = w->expected.n = 0;
        if (w->row->sleeps)
            sleep_again(w);
    }
}
