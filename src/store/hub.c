/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hub.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "base/rand.h"

/*
 * Watches are of two kinds.  The live ones have been given everything up to h->at and share one
 * walk through new history; those of the same type, instance and prefix are one group, which is
 * found by these (of the prefix by the part up to its first '/': the namespace), so that an event
 * costs nothing for watches that it does not concern.  The others lag behind and each
 * walks on its own, a portion a turn, until it has caught up.  A live watch of all instances lags
 * again when an instance is dropped, since that may mean a delete for each of thousands of rows.
 *
 * Any callback may stop any watch, and free it.  So lists are walked with h->following, which
 * hub_watch_stop moves on, and after a callback a watch is touched only if it is still h->current.
 */

enum {
    PORTION = 256,   /* events or rows between two turns of the loop: some 100 µs, */
    RUN_NS = 500000, /* unless many hear of them: then it is time that counts */
    PAUSE_MS = 5,    /* before history goes on for a watch that was full */
    BUCKETS_MIN = 16,
};

enum state { STOPPED, LIVE, LAGGING };

struct hub_group { /* live watches of the same rows */
    struct hub_group *next;
    struct hub_watch *watches;
    uint32_t type, instance;
    size_t folder_n; /* of the prefix: up to and with its first '/' */
    size_t prefix_n;
    char prefix[];
};

struct expansion { /* a drop, told to a watch of all instances row by row */
    struct expansion *next;
    struct hub_watch *watch;
    uint64_t rev; /* of the drop */
    uint32_t instance;
    bool scanned; /* all rows were found */
    bool pinned;  /* the revision before it is held */
    /* The row found last: it is told when it is known whether it is the last of the revision. */
    bool held;
    uint64_t held_rev, held_created;
    struct buf name, value;
};

struct hub {
    struct store *store;
    struct loop *loop;
    struct store_sub sub;
    uint64_t hash_key;
    struct loop_msg msg; /* the next portion */
    struct loop_timer pause;
    bool posted, freed;
    bool telling; /* the live ones, of what lies beyond h->at: groups stay where they are */
    bool sweep;   /* some are empty */
    uint64_t at;
    struct hub_group **buckets;
    size_t nbuckets, ngroups, nlive;
    struct hub_watch *lagging;
    struct hub_watch *following; /* where the walk through a list goes on */
    struct hub_watch *waiting;   /* of the lagging: whose turn it is; NULL: the first one's */
    int64_t began_ns;            /* this run of it */
    struct hub_watch *current;   /* the lagging one that is being fed */
    struct expansion *expansions;
};

/* ---- lists ---- */

static void list_add(struct hub_watch **head, struct hub_watch *w)
{
    w->next = *head;
    w->prev = head;
    if (w->next)
        w->next->prev = &w->next;
    *head = w;
}

static void list_remove(struct hub_watch *w)
{
    *w->prev = w->next;
    if (w->next)
        w->next->prev = w->prev;
}

static bool is_full(struct hub_watch *w)
{
    return w->full && w->full(w);
}

/* ---- groups ---- */

static str folder_of(str name)
{
    return str_sub(name, 0, (size_t)(str_find(name, '/', 0) + 1));
}

static struct hub_group **bucket(struct hub *h, uint32_t type, uint32_t instance, str folder)
{
    uint64_t hash = str_hash(folder, h->hash_key, (uint64_t)type << 32 | instance);

    return &h->buckets[hash & (h->nbuckets - 1)];
}

static str group_prefix(const struct hub_group *g)
{
    return (str){ g->prefix, g->prefix_n };
}

static void group_link(struct hub *h, struct hub_group *g)
{
    str folder = str_sub(group_prefix(g), 0, g->folder_n);
    struct hub_group **at = bucket(h, g->type, g->instance, folder);

    g->next = *at;
    *at = g;
}

static void buckets_grow(struct hub *h)
{
    size_t n = h->nbuckets;
    struct hub_group **old = h->buckets;

    h->nbuckets = n * 2;
    h->buckets = mem_zalloc(h->nbuckets * sizeof(struct hub_group *));
    for (size_t i = 0; i < n; i++)
        for (struct hub_group *g = old[i], *next; g; g = next) {
            next = g->next;
            group_link(h, g);
        }
    free(old);
}

static struct hub_group *group_new(struct hub *h, const struct hub_watch *w)
{
    struct hub_group *g = mem_alloc(sizeof(*g) + w->prefix.n);

    assert(!h->telling);
    if (h->ngroups++ >= h->nbuckets)
        buckets_grow(h);
    *g = (struct hub_group){ .type = w->type,
                             .instance = w->instance,
                             .folder_n = folder_of(w->prefix).n,
                             .prefix_n = w->prefix.n };
    if (w->prefix.n)
        memcpy(g->prefix, w->prefix.p, w->prefix.n);
    group_link(h, g);
    return g;
}

static struct hub_group *group_of(struct hub *h, const struct hub_watch *w)
{
    struct hub_group *g = *bucket(h, w->type, w->instance, folder_of(w->prefix));

    while (g && (g->type != w->type || g->instance != w->instance ||
                 !str_eq(group_prefix(g), w->prefix)))
        g = g->next;
    return g ? g : group_new(h, w);
}

static void sweep_bucket(struct hub *h, struct hub_group **at)
{
    while (*at) {
        struct hub_group *g = *at;

        if (g->watches) {
            at = &g->next;
            continue;
        }
        *at = g->next;
        h->ngroups--;
        free(g);
    }
}

/* The group has lost its last watch. */
static void group_empty(struct hub *h, struct hub_group *g)
{
    str folder = str_sub(group_prefix(g), 0, g->folder_n);

    if (h->telling)
        h->sweep = true;
    else
        sweep_bucket(h, bucket(h, g->type, g->instance, folder));
}

static void telling_ends(struct hub *h)
{
    h->telling = false;
    for (size_t i = 0; h->sweep && i < h->nbuckets; i++)
        sweep_bucket(h, &h->buckets[i]);
    h->sweep = false;
}

static void make_live(struct hub *h, struct hub_watch *w)
{
    w->state = LIVE;
    w->group = group_of(h, w);
    h->nlive++;
    list_add(&w->group->watches, w);
}

static void make_lagging(struct hub *h, struct hub_watch *w)
{
    w->state = LAGGING;
    list_add(&h->lagging, w);
}

static struct expansion **expansion_of(struct hub *h, const struct hub_watch *w)
{
    struct expansion **x = &h->expansions;

    while (*x && (*x)->watch != w)
        x = &(*x)->next;
    return x;
}

static void expansion_free(struct hub *h, struct expansion **at)
{
    struct expansion *x = *at;

    if (!x)
        return;
    if (x->pinned)
        store_unpin(h->store, x->rev - 1);
    *at = x->next;
    buf_release(&x->name);
    buf_release(&x->value);
    free(x);
}

/* Out of its list, with nothing left in the hub. */
static void detach(struct hub *h, struct hub_watch *w)
{
    if (h->following == w)
        h->following = w->next;
    if (h->waiting == w)
        h->waiting = w->next;
    if (h->current == w)
        h->current = NULL;
    list_remove(w);
    if (w->state == LIVE) {
        h->nlive--;
        if (!w->group->watches)
            group_empty(h, w->group);
        w->group = NULL;
    }
    expansion_free(h, expansion_of(h, w));
    w->state = STOPPED;
}

static void close_watch(struct hub *h, struct hub_watch *w, const struct status *why)
{
    detach(h, w);
    w->closed(w, why);
}

static void close_gone(struct hub *h, struct hub_watch *w)
{
    struct arena *a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_set(&st, REASON_GONE, "the instance was deleted");
    close_watch(h, w, &st);
    arena_free(a);
}

/* ---- drops ---- */

static bool any_row(void *arg, const struct store_row *row)
{
    (void)arg;
    (void)row;
    return false;
}

/*
 * Whether the drop took rows of this type away: mostly it has not, and then a watch of all
 * instances need not leave the others for it.
 */
static bool took_rows(struct hub *h, uint32_t type, str prefix, const struct store_event *drop,
                      struct status *st)
{
    struct store_range r = {
        .type = type, .instance = drop->key.instance, .prefix = prefix, .rev = drop->rev - 1
    };
    int rc = store_scan(h->store, &r, any_row, NULL, st);

    status_reset(st);
    return rc != 0;
}

/* Others wait for the loop as well. */
static bool ran_long(const struct hub *h)
{
    return clock_ns() - h->began_ns >= RUN_NS;
}

/* ---- live watches ---- */

struct live_walk {
    struct hub *h;
    struct status *st;
    uint64_t rev; /* of the last event */
    size_t n;
    bool stopped;
};

static void deliver(struct hub *h, uint32_t instance, str folder, const struct store_event *ev)
{
    struct hub_group *g = *bucket(h, ev->key.type, instance, folder);

    for (; g; g = g->next) {
        if (g->type != ev->key.type || g->instance != instance || g->folder_n != folder.n ||
            !str_starts(ev->key.name, group_prefix(g)))
            continue;
        for (struct hub_watch *w = g->watches; w; w = h->following) {
            h->following = w->next;
            __builtin_prefetch(w->next);
            if (ev->rev > w->at)
                w->event(w, ev);
        }
    }
}

static void drop_one(struct hub *h, struct hub_watch *w, const struct store_event *ev)
{
    if (ev->rev <= w->at)
        return;
    if (w->instance == ev->key.instance) {
        close_gone(h, w);
    } else if (w->instance == STORE_ALL) {
        detach(h, w);
        w->at = ev->rev - 1;
        make_lagging(h, w);
    }
}

static void drop_group(struct hub *h, struct hub_group *g, const struct store_event *ev,
                       struct status *st)
{
    if (g->instance == STORE_ALL ? !took_rows(h, g->type, group_prefix(g), ev, st)
                                 : g->instance != ev->key.instance)
        return;
    for (struct hub_watch *w = g->watches; w; w = h->following) {
        h->following = w->next;
        drop_one(h, w, ev);
    }
}

static void deliver_drop(struct hub *h, const struct store_event *ev, struct status *st)
{
    for (size_t i = 0; i < h->nbuckets; i++)
        for (struct hub_group *g = h->buckets[i]; g; g = g->next)
            if (g->watches)
                drop_group(h, g, ev, st);
}

/* Stops between revisions only, before an event. */
static bool live_event(void *arg, const struct store_event *ev)
{
    struct live_walk *walk = arg;
    struct hub *h = walk->h;
    str folder;

    if (ev->rev != walk->rev && walk->n && (walk->n >= PORTION || ran_long(h))) {
        walk->stopped = true;
        return false;
    }
    walk->n++;
    walk->rev = ev->rev;
    if (ev->kind == STORE_EVENT_DROP) {
        deliver_drop(h, ev, walk->st);
        return true;
    }
    folder = folder_of(ev->key.name);
    deliver(h, ev->key.instance, folder, ev);
    deliver(h, STORE_ALL, folder, ev);
    if (folder.n) {
        deliver(h, ev->key.instance, STR_NONE, ev);
        deliver(h, STORE_ALL, STR_NONE, ev);
    }
    return true;
}

static void close_all_live(struct hub *h, const struct status *why)
{
    for (size_t i = 0; i < h->nbuckets; i++)
        for (struct hub_group *g = h->buckets[i]; g; g = g->next)
            for (struct hub_watch *w = g->watches; w; w = h->following) {
                h->following = w->next;
                close_watch(h, w, why);
            }
}

/* True when more is left. */
static bool live_run(struct hub *h)
{
    struct status st;
    struct live_walk walk = { .h = h, .st = &st, .rev = h->at };
    struct arena *a;
    uint64_t upto;
    int rc;

    if (h->nlive == 0) {
        h->at = store_head(h->store);
        return false;
    }
    a = arena_new();
    status_init(&st, a);
    h->telling = true;
    rc = store_events(h->store, UINT32_MAX, STORE_ALL, h->at, live_event, &walk, &upto, &st);
    if (rc < 0) {
        h->at = store_head(h->store);
        close_all_live(h, &st);
    } else {
        h->at = walk.stopped ? walk.rev : upto;
    }
    telling_ends(h);
    arena_free(a);
    return walk.stopped;
}

/* ---- lagging watches ---- */

struct lag_walk {
    struct hub *h;
    struct status *st;
    struct hub_watch *w;
    uint64_t rev;
    size_t n;
    bool stopped;
};

/* Tells the row that is held back, as deleted by revision rev.  False when the watch is gone. */
static bool tell_held(struct hub *h, struct hub_watch *w, struct expansion *x, uint64_t rev)
{
    struct store_event ev = {
        .kind = STORE_EVENT_DELETE,
        .key = { w->type, x->instance, buf_str(&x->name) },
        .rev = rev,
        .prev_rev = x->held_rev,
        .created = x->held_created,
        .prev_value = buf_str(&x->value),
    };

    if (!x->held)
        return true;
    x->held = false;
    x->watch = NULL; /* so that it outlives the call, if the watch is stopped in it */
    w->event(w, &ev);
    x->watch = h->current;
    if (!h->current)
        expansion_free(h, expansion_of(h, NULL));
    return h->current != NULL;
}

static bool row_vanished(void *arg, const struct store_row *row)
{
    struct lag_walk *walk = arg;
    struct expansion *x = *expansion_of(walk->h, walk->w);

    if (walk->n++ >= PORTION || is_full(walk->w)) {
        walk->stopped = true;
        return false;
    }
    if (!tell_held(walk->h, walk->w, x, x->rev - 1))
        return false;
    x->held = true;
    x->held_rev = row->rev;
    x->held_created = row->created;
    buf_clear(&x->name);
    buf_str_append(&x->name, row->key.name);
    buf_clear(&x->value);
    buf_str_append(&x->value, row->value);
    return true;
}

/* Tells some of the rows that a drop took away.  True when more is left. */
static bool expand(struct hub *h, struct hub_watch *w, struct expansion *x, struct status *st)
{
    struct lag_walk walk = { .h = h, .w = w };
    struct store_range r = {
        .type = w->type,
        .instance = x->instance,
        .prefix = w->prefix,
        .start = str_dup(st->arena, buf_str(&x->name)),
        .rev = x->rev - 1,
    };
    int rc = store_scan(h->store, &r, row_vanished, &walk, st);

    if (!h->current)
        return false;
    if (rc < 0) {
        close_watch(h, w, st);
        return false;
    }
    x->scanned = rc == 0;
    return true;
}

static void expansion_begin(struct hub *h, struct hub_watch *w, const struct store_event *drop)
{
    struct expansion *x = mem_zalloc(sizeof(*x));

    x->watch = w;
    x->rev = drop->rev;
    x->instance = drop->key.instance;
    x->pinned = store_pin(h->store, x->rev - 1);
    buf_init(&x->name, STORE_KEY_MAX);
    buf_init(&x->value, STORE_VALUE_MAX);
    x->next = h->expansions;
    h->expansions = x;
}

/*
 * Ends an expansion at the next event, or at the end of history (ev is NULL): the last row carries
 * the revision of the drop, unless another event of that revision follows.
 */
static bool expansion_end(struct hub *h, struct hub_watch *w, const struct store_event *ev)
{
    struct expansion *x = *expansion_of(h, w);

    if (!x)
        return true;
    if (!tell_held(h, w, x, ev && ev->rev == x->rev ? x->rev - 1 : x->rev))
        return false;
    expansion_free(h, expansion_of(h, w));
    return true;
}

static bool lag_drop(struct lag_walk *walk, const struct store_event *ev)
{
    struct hub *h = walk->h;
    struct hub_watch *w = walk->w;
    struct expansion *x = *expansion_of(h, w);

    if (x && x->rev == ev->rev)
        return true; /* the one that was just told */
    if (!expansion_end(h, w, ev))
        return false;
    if (w->instance == ev->key.instance) {
        close_gone(h, w);
        return false;
    }
    if (!took_rows(h, w->type, w->prefix, ev, walk->st))
        return true;
    w->at = ev->rev - 1;
    expansion_begin(h, w, ev);
    walk->stopped = true;
    return false;
}

static bool lag_event(void *arg, const struct store_event *ev)
{
    struct lag_walk *walk = arg;
    struct hub_watch *w = walk->w;

    if (ev->rev != walk->rev && (walk->n >= PORTION || is_full(w))) {
        walk->stopped = true;
        w->at = walk->rev;
        return false;
    }
    walk->n++;
    walk->rev = ev->rev;
    if (ev->kind == STORE_EVENT_DROP)
        return lag_drop(walk, ev);
    if (!str_starts(ev->key.name, w->prefix))
        return true;
    if (!expansion_end(walk->h, w, ev))
        return false;
    w->event(w, ev);
    return walk->h->current != NULL;
}

/* A portion for the watch that is h->current.  True when more is left. */
static bool lag_run(struct hub *h, struct hub_watch *w, struct status *st)
{
    struct expansion *x = *expansion_of(h, w);
    struct lag_walk walk = { .h = h, .st = st, .w = w, .rev = w->at };
    uint64_t upto;

    if (x && !x->scanned)
        return expand(h, w, x, st);
    if (store_events(h->store, w->type, w->instance, w->at, lag_event, &walk, &upto, st) < 0) {
        if (h->current)
            close_watch(h, w, st);
        return false;
    }
    if (!h->current || walk.stopped)
        return h->current != NULL;
    if (!expansion_end(h, w, NULL))
        return false;
    w->at = upto;
    if (upto < h->at)
        return true;
    detach(h, w);
    make_live(h, w);
    return false;
}

/* Each has a portion; where there are many, some wait for the next run. */
static bool lagging_run(struct hub *h)
{
    struct hub_watch *w = h->waiting ? h->waiting : h->lagging;
    bool more = h->waiting; /* those before it */

    h->waiting = NULL;
    for (; w; w = h->following) {
        struct arena *a = arena_new();
        struct status st;

        status_init(&st, a);
        h->following = w->next;
        h->current = w;
        more |= !is_full(w) && lag_run(h, w, &st);
        h->current = NULL;
        arena_free(a);
        if (h->following && ran_long(h)) {
            h->waiting = h->following;
            return true;
        }
    }
    return more;
}

/* ---- the hub ---- */

static void post(struct hub *h)
{
    if (h->posted)
        return;
    h->posted = true;
    loop_post(h->loop, &h->msg);
}

static void run(struct hub *h)
{
    bool more;

    h->began_ns = clock_ns();
    epoch_enter(); /* the loop is in a section already, a test's may not be */
    more = live_run(h);
    more |= lagging_run(h);
    epoch_exit();
    if (more)
        post(h);
    else if (h->lagging) /* all of them are full */
        loop_timer_set(h->loop, &h->pause, PAUSE_MS);
}

static void on_pause(struct loop_timer *t)
{
    run((struct hub *)((char *)t - offsetof(struct hub, pause)));
}

static void on_message(struct loop_msg *msg)
{
    struct hub *h = (struct hub *)((char *)msg - offsetof(struct hub, msg));

    h->posted = false;
    if (h->freed) {
        free(h);
        return;
    }
    run(h);
}

static void on_move(struct store_sub *sub)
{
    run((struct hub *)((char *)sub - offsetof(struct hub, sub)));
}

struct hub *hub_new(struct store *s, struct loop *l)
{
    struct hub *h = mem_zalloc(sizeof(*h));

    h->store = s;
    h->loop = l;
    h->nbuckets = BUCKETS_MIN;
    h->buckets = mem_zalloc(h->nbuckets * sizeof(struct hub_group *));
    rand_bytes(&h->hash_key, sizeof(h->hash_key));
    h->at = store_head(s);
    h->msg.fn = on_message;
    h->pause.fn = on_pause;
    h->sub.loop = l;
    h->sub.fn = on_move;
    store_subscribe(s, &h->sub);
    return h;
}

void hub_free(struct hub *h)
{
    if (!h)
        return;
    assert(h->nlive == 0 && !h->lagging);
    store_unsubscribe(h->store, &h->sub);
    loop_timer_cancel(h->loop, &h->pause);
    free(h->buckets);
    h->freed = true;
    if (!h->posted)
        free(h);
}

void hub_watch_start(struct hub *h, struct hub_watch *w, uint64_t after)
{
    w->at = after;
    if (after == h->at && !h->telling) {
        make_live(h, w);
        return;
    }
    make_lagging(h, w);
    post(h);
}

void hub_watch_stop(struct hub *h, struct hub_watch *w)
{
    if (w->state != STOPPED)
        detach(h, w);
}

uint64_t hub_revision(const struct hub *h)
{
    uint64_t rev = h->at;

    for (const struct hub_watch *w = h->lagging; w; w = w->next)
        if (w->at < rev)
            rev = w->at;
    return rev;
}

uint64_t hub_watch_revision(const struct hub *h, const struct hub_watch *w)
{
    return w->state == LIVE && h->at > w->at ? h->at : w->at;
}
