/* SPDX-License-Identifier: Apache-2.0 */
#include "search/intake.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"
#include "search/search.h"

enum {
    PAGE = 100, /* objects; what a page costs, it costs the loop in one turn */
    WATCH_S = 300,
    WAIT_MS = 500,
    WAIT_MAX_MS = 30000,
    PAUSE_MS = 100,
    BATCH = 256,
    VERSION_MAX = 4096,
};

#define INSTANCE_NOTE "kairship.io/instance"

/* The writer's word that it has taken a page, on its way to the loop. */
struct page_taken {
    struct loop_msg msg;
    struct loop *loop;
    struct intake *intake; /* NULL: it is gone */
};

struct intake {
    struct intake_options o;
    struct arena *arena; /* the options' strings */
    struct loop *loop;
    struct loop_timer timer;
    struct loop_defer defer;
    struct client_call list;
    struct client_watch watch;
    struct arena *page;       /* of the list that runs */
    struct arena *watch_page; /* of the watch */
    struct page_taken *taken;
    struct depot_batch *batch; /* not yet submitted */
    struct buf version, token;
    int64_t wait_ms;
    bool watching, listing, live, wildcard, seen, had_event;
};

static void begin_list(struct intake *f);
static void begin_watch(struct intake *f);

static struct depot_batch *batch(struct intake *f)
{
    if (!f->batch)
        f->batch = depot_batch_new(f->o.depot);
    return f->batch;
}

static void set_version(struct intake *f, str version)
{
    if (version.n == 0 || version.n > VERSION_MAX)
        return;
    buf_clear(&f->version);
    buf_str_append(&f->version, version);
}

/* ---- changes ---- */

/* Where the object is shown, or nowhere. */
static str cluster_of(struct intake *f, struct arena *a, const struct json *object)
{
    str instance;

    if (!f->wildcard)
        return f->o.cluster;
    instance = json_str(json_get(json_path(object, "metadata.annotations"), STR(INSTANCE_NOTE)));
    if (str_empty(instance) || str_is(instance, "root"))
        return STR_NONE;
    return search_cluster_name(a, instance);
}

static void object_is(struct intake *f, const struct json *object)
{
    scoped_arena a = arena_new();
    str cluster = cluster_of(f, a, object);

    if (!str_empty(cluster))
        depot_put(batch(f), f->o.type, cluster, &f->o.kind, object);
}

static void object_gone(struct intake *f, const struct json *object)
{
    scoped_arena a = arena_new();
    str cluster = cluster_of(f, a, object);

    if (!str_empty(cluster))
        depot_delete(batch(f), f->o.type, cluster, json_get_str(object, "metadata.namespace"),
                     json_get_str(object, "metadata.name"));
}

static void submit(struct intake *f)
{
    struct depot_batch *b = f->batch;

    f->batch = NULL;
    if (!b)
        return;
    depot_at(b, f->o.type, f->o.cluster, buf_str(&f->version));
    depot_submit(b, NULL, NULL);
}

static void on_defer(struct loop_defer *d)
{
    submit((struct intake *)(void *)((char *)d - offsetof(struct intake, defer)));
}

/* ---- trouble ---- */

static void retry(struct intake *f, const struct status *why)
{
    f->live = false;
    if (why && f->o.failed)
        f->o.failed(f->o.arg, why);
    loop_timer_set(f->loop, &f->timer, f->wait_ms + rand_below((uint32_t)f->wait_ms));
    f->wait_ms = f->wait_ms * 2 > WAIT_MAX_MS ? WAIT_MAX_MS : f->wait_ms * 2;
}

static void on_timer(struct loop_timer *t)
{
    struct intake *f = (struct intake *)(void *)((char *)t - offsetof(struct intake, timer));

    if (f->version.n)
        begin_watch(f);
    else
        begin_list(f);
}

static bool expired(const struct status *why)
{
    return status_is(why, REASON_EXPIRED) || status_is(why, REASON_GONE);
}

static void now_live(struct intake *f)
{
    bool was = f->live;

    f->live = true;
    f->wait_ms = WAIT_MS;
    if (!was && f->o.live)
        f->o.live(f->o.arg);
}

/* ---- list ---- */

static void list_page(struct intake *f);

static void on_taken(struct loop_msg *msg)
{
    struct page_taken *t = (struct page_taken *)(void *)msg;
    struct intake *f = t->intake;

    free(t);
    if (!f)
        return;
    f->taken = NULL;
    if (f->token.n)
        list_page(f);
    else {
        f->listing = false;
        begin_watch(f);
    }
}

/* On the writer's thread. */
static void page_is_taken(void *arg)
{
    struct page_taken *t = arg;

    loop_post(t->loop, &t->msg);
}

static void list_done(struct client_call *call, const struct json *object, const struct status *why)
{
    struct intake *f = call->user;
    const struct json *meta = json_get(object, STR("metadata"));
    struct page_taken *t;

    if (why) {
        f->listing = false;
        buf_clear(&f->token);
        retry(f, why);
        arena_free(f->page);
        f->page = NULL;
        return;
    }
    json_for_each (item, json_get(object, STR("items")))
        object_is(f, item);
    buf_clear(&f->token);
    buf_str_append(&f->token, json_str(json_get(meta, STR("continue"))));
    if (f->token.n == 0) {
        set_version(f, json_str(json_get(meta, STR("resourceVersion"))));
        depot_list_end(batch(f), f->o.type, f->o.cluster);
        depot_at(batch(f), f->o.type, f->o.cluster, buf_str(&f->version));
    }
    t = mem_zalloc(sizeof(*t));
    *t = (struct page_taken){ .msg.fn = on_taken, .loop = f->loop, .intake = f };
    f->taken = t;
    depot_submit(batch(f), page_is_taken, t);
    f->batch = NULL;
    arena_free(f->page);
    f->page = NULL;
}

static void list_page(struct intake *f)
{
    struct client_query q = { .limit = PAGE, .continue_token = buf_str(&f->token) };

    f->page = arena_new();
    q.continue_token = str_dup(f->page, q.continue_token);
    f->list = (struct client_call){ .arena = f->page, .done = list_done, .user = f };
    f->list.req = client_request_list(f->page, &f->o.ref, &q);
    client_call(f->o.client, &f->list);
}

static void begin_list(struct intake *f)
{
    buf_clear(&f->version);
    buf_clear(&f->token);
    f->listing = true;
    depot_list_begin(batch(f), f->o.type, f->o.cluster);
    list_page(f);
}

/* ---- watch ---- */

static void watch_event(struct client_watch *w, enum client_event type, const struct json *object)
{
    struct intake *f = w->user;

    f->had_event = true;
    if (type == CLIENT_DELETED)
        object_gone(f, object);
    else if (type != CLIENT_BOOKMARK)
        object_is(f, object);
    else
        (void)batch(f);
    set_version(f, json_get_str(object, "metadata.resourceVersion"));
    if (f->o.changed && type != CLIENT_BOOKMARK)
        f->o.changed(f->o.arg);
    if (f->batch && depot_batch_len(f->batch) >= BATCH)
        submit(f);
    loop_defer(f->loop, &f->defer);
    if (depot_backlog(f->o.depot) < DEPOT_BACKLOG_MAX)
        return;
    client_watch_cancel(w);
    f->watching = f->live = false;
    loop_timer_set(f->loop, &f->timer, PAUSE_MS);
}

static void watch_opened(struct client_watch *w)
{
    now_live(w->user);
}

static void watch_done(struct client_watch *w, const struct status *why)
{
    struct intake *f = w->user;

    f->watching = f->live = false;
    submit(f);
    if (why && expired(why)) {
        buf_clear(&f->version);
        begin_list(f);
    } else if (why || !f->had_event)
        retry(f, why);
    else
        begin_watch(f);
}

static void begin_watch(struct intake *f)
{
    struct client_query q = { .bookmarks = true,
                              .timeout_s = WATCH_S + rand_below(WATCH_S),
                              .resource_version = buf_str(&f->version) };

    arena_free(f->watch_page);
    f->watch_page = arena_new_lasting();
    f->had_event = false;
    f->watching = true;
    f->watch = (struct client_watch){
        .event = watch_event, .opened = watch_opened, .done = watch_done, .user = f
    };
    f->watch.req = client_request_watch(f->watch_page, &f->o.ref, &q);
    client_watch(f->o.client, &f->watch);
}

/* ---- life ---- */

struct intake *intake_new(const struct intake_options *o)
{
    struct intake *f = mem_zalloc(sizeof(*f));
    struct arena *a = arena_new_lasting();

    f->o = *o;
    f->arena = a;
    f->o.cluster = str_dup(a, o->cluster);
    f->o.kind = (struct entry_kind){ str_dup(a, o->kind.group), str_dup(a, o->kind.resource) };
    f->o.ref = (struct client_ref){ .instance = str_dup(a, o->ref.instance),
                                    .group = str_dup(a, o->ref.group),
                                    .version = str_dup(a, o->ref.version),
                                    .resource = str_dup(a, o->ref.resource) };
    f->wildcard = str_is(o->ref.instance, "*");
    f->loop = client_loop(o->client);
    f->timer.fn = on_timer;
    f->defer.fn = on_defer;
    f->wait_ms = WAIT_MS;
    buf_init(&f->version, VERSION_MAX);
    buf_init(&f->token, 1 << 16);
    set_version(f, depot_synced(o->depot, a, o->cluster, o->type));
    if (f->version.n)
        begin_watch(f);
    else
        begin_list(f);
    return f;
}

void intake_free(struct intake *f)
{
    if (!f)
        return;
    if (f->page)
        client_call_cancel(&f->list);
    if (f->watching)
        client_watch_cancel(&f->watch);
    if (f->taken)
        f->taken->intake = NULL;
    if (!f->listing)
        submit(f);
    depot_batch_free(f->batch);
    loop_timer_cancel(f->loop, &f->timer);
    loop_defer_cancel(f->loop, &f->defer);
    arena_free(f->page);
    arena_free(f->watch_page);
    arena_free(f->arena);
    buf_release(&f->version);
    buf_release(&f->token);
    free(f);
}

void intake_flush(struct intake *f)
{
    if (!f->listing)
        submit(f);
}

int64_t intake_type(const struct intake *f)
{
    return f->o.type;
}

bool intake_is_of(const struct intake *f, str group, str resource)
{
    return str_eq(f->o.ref.group, group) && str_eq(f->o.ref.resource, resource);
}

bool intake_is_live(const struct intake *f)
{
    return f->live;
}

bool intake_was_seen(struct intake *f, bool now)
{
    bool was = f->seen;

    f->seen = now;
    return was;
}
