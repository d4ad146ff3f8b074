/* SPDX-License-Identifier: Apache-2.0 */
#include "search/collector.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/slice.h"
#include "client/coalesce.h"
#include "search/search.h"

enum {
    PAGE = 500, /* objects */
    WATCH_S = 300,
    WAIT_MS = 500,
    WAIT_MAX_MS = 30000,
    PAUSE_MS = 100,
    BATCH_BYTES = 1 << 20,
    VERSION_MAX = 4096,
};

#define INSTANCE_NOTE "kairship.io/instance"

/* A page of a list, on its way to the writer, who reads it, and back to the loop. */
struct page {
    struct loop_msg msg;
    struct arena *arena; /* what follows, and itself */
    struct loop *loop;
    struct collector *collector; /* NULL: it is gone; only the loop looks */
    str text;
    int64_t type;
    str cluster;
    bool wildcard;
    struct entry_kind kind;
    bool read; /* the writer has read it: */
    int rc;
    struct status st;
    str token, version; /* version: with the last one */
};

/* Events on their way to the writer. */
struct told {
    struct arena *arena;
    struct coalesced *first;
    int64_t type;
    str cluster;
    bool wildcard;
    struct entry_kind kind;
};

struct collector {
    struct collector_options o;
    struct arena *arena; /* the options' strings */
    struct loop *loop;
    struct loop_timer timer;
    struct loop_timer later; /* when what waits is submitted, … */
    struct loop_defer defer; /* … if not at the end of this turn */
    struct coalesce events;
    struct client_call list;
    struct client_watch watch;
    struct arena *asking;             /* of the list that runs, */
    struct page *page;                /* … or what it has brought */
    struct arena *watch_page;         /* of the watch */
    struct search_index_batch *batch; /* not yet submitted */
    struct buf version, token;
    int64_t wait_ms;
    bool watching, listing, live, wildcard, seen, had_event;
};

static void begin_list(struct collector *f);
static void begin_watch(struct collector *f);

static struct search_index_batch *batch(struct collector *f)
{
    if (!f->batch)
        f->batch = search_index_batch_new(f->o.search_index);
    return f->batch;
}

static void set_version(struct collector *f, str version)
{
    if (version.n == 0 || version.n > VERSION_MAX)
        return;
    buf_clear(&f->version);
    buf_str_append(&f->version, version);
}

/* ---- changes ---- */

/* Where objects of an instance are shown, or nowhere. */
static str instance_cluster(struct arena *a, const struct json *object)
{
    str instance =
        json_str(json_get(json_path(object, "metadata.annotations"), STR(INSTANCE_NOTE)));

    if (str_empty(instance) || str_is(instance, "root"))
        return STR_NONE;
    return search_cluster_name(a, instance);
}

static void told_free(void *arg)
{
    struct told *t = arg;

    coalesced_free(t->first);
    arena_free(t->arena);
}

static void read_event(struct search_index_batch *b, const struct told *t,
                       const struct coalesced *e)
{
    scoped_arena a = arena_new();
    const struct json *object;
    struct status st;
    str cluster;

    status_init(&st, a);
    if (json_parse(a, (str){ e->text, e->n }, NULL, &object, &st) < 0) {
        log_debug("an event is not JSON", log_str("cluster", t->cluster), log_status(&st));
        return;
    }
    cluster = t->wildcard ? instance_cluster(a, object) : t->cluster;
    if (str_empty(cluster))
        return;
    if (e->gone)
        search_index_delete(b, t->type, cluster, json_get_str(object, "metadata.namespace"),
                            json_get_str(object, "metadata.name"));
    else
        search_index_put(b, t->type, cluster, &t->kind, object);
}

/* On the writer's thread: what is left of the events is read. */
static void read_events(struct search_index_batch *b, void *arg)
{
    const struct told *t = arg;

    for (const struct coalesced *e = t->first; e; e = e->next) {
        read_event(b, t, e);
        slice_share();
    }
}

static struct told *told_new(struct collector *f)
{
    struct arena *a = arena_new();
    struct told *t = arena_new_of(a, struct told);

    *t = (struct told){ .arena = a,
                        .first = coalesce_take(&f->events),
                        .type = f->o.type,
                        .cluster = str_dup(a, f->o.cluster),
                        .wildcard = f->wildcard,
                        .kind = { str_dup(a, f->o.kind.group), str_dup(a, f->o.kind.resource) } };
    return t;
}

static void submit(struct collector *f)
{
    size_t size = f->events.bytes;
    struct told *t;

    loop_timer_cancel(f->loop, &f->later);
    if (!f->batch && !f->events.first)
        return;
    if (f->events.first) {
        t = told_new(f);
        search_index_prepare(batch(f), read_events, t, size);
        search_index_batch_defer(f->batch, told_free, t);
    }
    search_index_at(f->batch, f->o.type, f->o.cluster, buf_str(&f->version));
    search_index_submit(f->batch, NULL, NULL);
    f->batch = NULL;
}

static void on_defer(struct loop_defer *d)
{
    submit((struct collector *)(void *)((char *)d - offsetof(struct collector, defer)));
}

static void on_later(struct loop_timer *t)
{
    submit((struct collector *)(void *)((char *)t - offsetof(struct collector, later)));
}

/* At the end of this turn, or when there is much to hear a while later: then much of it is
 * overtaken.
 */
static void submit_soon(struct collector *f)
{
    int64_t now = loop_now_ms(f->loop), ms;

    coalesce_count(&f->events, now);
    ms = coalesce_wait(&f->events, now);
    if (f->events.bytes >= BATCH_BYTES)
        submit(f);
    else if (ms == 0)
        loop_defer(f->loop, &f->defer);
    else if (!f->later.slot)
        loop_timer_set(f->loop, &f->later, ms);
}

/* ---- trouble ---- */

static void retry(struct collector *f, const struct status *why)
{
    f->live = false;
    if (why && f->o.failed)
        f->o.failed(f->o.arg, why);
    loop_timer_set(f->loop, &f->timer, f->wait_ms + rand_below((uint32_t)f->wait_ms));
    f->wait_ms = f->wait_ms * 2 > WAIT_MAX_MS ? WAIT_MAX_MS : f->wait_ms * 2;
}

static void on_timer(struct loop_timer *t)
{
    struct collector *f =
        (struct collector *)(void *)((char *)t - offsetof(struct collector, timer));

    if (f->version.n)
        begin_watch(f);
    else
        begin_list(f);
}

static bool expired(const struct status *why)
{
    return status_is(why, REASON_EXPIRED) || status_is(why, REASON_GONE);
}

static void now_live(struct collector *f)
{
    bool was = f->live;

    f->live = true;
    f->wait_ms = WAIT_MS;
    if (!was && f->o.live)
        f->o.live(f->o.arg);
}

/* Objects of the root instance are shown nowhere: they need not be made and told. */
static str selector(const struct collector *f)
{
    return f->wildcard ? STR(INSTANCE_NOTE "!=root") : STR_NONE;
}

/* ---- list ---- */

static void list_page(struct collector *f);

static void list_failed(struct collector *f, const struct status *why)
{
    f->listing = false;
    buf_clear(&f->token);
    retry(f, why);
}

static void page_is_in(struct collector *f, const struct page *p)
{
    if (!p->read)
        return; /* the index was lost: everything begins again */
    if (p->rc < 0) {
        list_failed(f, &p->st);
        return;
    }
    buf_clear(&f->token);
    buf_str_append(&f->token, p->token);
    if (f->token.n) {
        list_page(f);
        return;
    }
    set_version(f, p->version);
    f->listing = false;
    begin_watch(f);
}

static void on_page(struct loop_msg *msg)
{
    struct page *p = (struct page *)(void *)msg;
    struct collector *f = p->collector;

    if (f) {
        f->page = NULL;
        page_is_in(f, p);
    }
    arena_free(p->arena);
}

/* ---- on the writer's thread ---- */

static void page_is_taken(void *arg)
{
    struct page *p = arg;

    loop_post(p->loop, &p->msg);
}

static void put_items(struct page *p, struct search_index_batch *b, const struct json *list)
{
    scoped_arena a = arena_new();

    json_for_each (item, json_get(list, STR("items"))) {
        str cluster = p->wildcard ? instance_cluster(a, item) : p->cluster;

        if (!str_empty(cluster))
            search_index_put(b, p->type, cluster, &p->kind, item);
    }
}

static void read_page(struct search_index_batch *b, void *arg)
{
    struct page *p = arg;
    scoped_arena a = arena_new();
    const struct json *list, *meta;

    p->read = true;
    p->rc = json_parse(a, p->text, NULL, &list, &p->st);
    if (p->rc < 0)
        return;
    meta = json_get(list, STR("metadata"));
    p->token = str_dup(p->arena, json_get_str(meta, "continue"));
    put_items(p, b, list);
    if (p->token.n)
        return;
    p->version = str_dup(p->arena, json_get_str(meta, "resourceVersion"));
    search_index_list_end(b, p->type, p->cluster);
    search_index_at(b, p->type, p->cluster, p->version);
}

/* ---- on the loop ---- */

static void list_done(struct client_call *call, const struct json *object, const struct status *why)
{
    struct collector *f = call->user;
    struct arena *a = f->asking;
    struct page *p;

    (void)object;
    f->asking = NULL;
    if (why) {
        list_failed(f, why);
        arena_free(a);
        return;
    }
    p = arena_new_of(a, struct page);
    *p = (struct page){ .msg.fn = on_page,
                        .arena = a,
                        .loop = f->loop,
                        .collector = f,
                        .text = call->text,
                        .type = f->o.type,
                        .cluster = str_dup(a, f->o.cluster),
                        .wildcard = f->wildcard,
                        .kind = { str_dup(a, f->o.kind.group), str_dup(a, f->o.kind.resource) } };
    status_init(&p->st, a);
    f->page = p;
    search_index_prepare(batch(f), read_page, p, p->text.n);
    search_index_submit(batch(f), page_is_taken, p);
    f->batch = NULL;
}

static void list_page(struct collector *f)
{
    struct client_query q = { .limit = PAGE, .field_selector = selector(f) };

    f->asking = arena_new();
    q.continue_token = str_dup(f->asking, buf_str(&f->token));
    f->list =
        (struct client_call){ .arena = f->asking, .done = list_done, .user = f, .unparsed = true };
    f->list.req = client_request_list(f->asking, &f->o.ref, &q);
    client_call(f->o.client, &f->list);
}

static void begin_list(struct collector *f)
{
    buf_clear(&f->version);
    buf_clear(&f->token);
    f->listing = true;
    search_index_list_begin(batch(f), f->o.type, f->o.cluster);
    list_page(f);
}

/* ---- watch ---- */

static void heard(struct collector *f)
{
    f->had_event = true;
    submit_soon(f);
    if (search_index_backlog(f->o.search_index) < DEPOT_BACKLOG_MAX)
        return;
    client_watch_cancel(&f->watch);
    f->watching = f->live = false;
    loop_timer_set(f->loop, &f->timer, PAUSE_MS);
}

static void note(struct collector *f, enum client_event type, const struct object_scan *g, str text)
{
    coalesce_put(&f->events, g, type == CLIENT_DELETED, text);
    set_version(f, g->version);
    if (f->o.changed)
        f->o.changed(f->o.arg);
    heard(f);
}

/* A bookmark, or an object in unusual form. */
static void watch_event(struct client_watch *w, enum client_event type, const struct json *object)
{
    struct collector *f = w->user;
    scoped_arena a = arena_new();
    struct object_scan g = { .namespace = json_get_str(object, "metadata.namespace"),
                             .name = json_get_str(object, "metadata.name"),
                             .version = json_get_str(object, "metadata.resourceVersion") };

    if (type != CLIENT_BOOKMARK) {
        g.instance =
            json_str(json_get(json_path(object, "metadata.annotations"), STR(INSTANCE_NOTE)));
        note(f, type, &g, json_text(a, object));
        return;
    }
    (void)batch(f);
    set_version(f, g.version);
    heard(f);
}

static void watch_text(struct client_watch *w, enum client_event type, str text)
{
    struct collector *f = w->user;
    scoped_arena a = arena_new();
    const struct json *object;
    struct object_scan g;
    struct status st;

    status_init(&st, a);
    if (object_scan(text, f->wildcard, &g))
        note(f, type, &g, text);
    else if (json_parse(a, text, NULL, &object, &st) == 0)
        watch_event(w, type, object);
    else if (f->o.failed)
        f->o.failed(f->o.arg, &st);
}

static void watch_opened(struct client_watch *w)
{
    now_live(w->user);
}

static void watch_done(struct client_watch *w, const struct status *why)
{
    struct collector *f = w->user;

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

static void begin_watch(struct collector *f)
{
    struct client_query q = { .bookmarks = true,
                              .timeout_s = WATCH_S + rand_below(WATCH_S),
                              .field_selector = selector(f),
                              .resource_version = buf_str(&f->version) };

    arena_free(f->watch_page);
    f->watch_page = arena_new_lasting();
    f->had_event = false;
    f->watching = true;
    f->watch = (struct client_watch){ .event = watch_event,
                                      .text = watch_text,
                                      .opened = watch_opened,
                                      .done = watch_done,
                                      .user = f };
    f->watch.req = client_request_watch(f->watch_page, &f->o.ref, &q);
    client_watch(f->o.client, &f->watch);
}

/* ---- life ---- */

struct collector *collector_new(const struct collector_options *o)
{
    struct collector *f = mem_zalloc(sizeof(*f));
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
    f->later.fn = on_later;
    coalesce_init(&f->events);
    f->wait_ms = WAIT_MS;
    buf_init(&f->version, VERSION_MAX);
    buf_init(&f->token, 1 << 16);
    set_version(f, search_index_synced(o->search_index, a, o->cluster, o->type));
    if (f->version.n)
        begin_watch(f);
    else
        begin_list(f);
    return f;
}

void collector_free(struct collector *f)
{
    if (!f)
        return;
    if (f->asking)
        client_call_cancel(&f->list);
    if (f->watching)
        client_watch_cancel(&f->watch);
    if (f->page)
        f->page->collector = NULL;
    if (!f->listing)
        submit(f);
    search_index_batch_free(f->batch);
    coalesce_release(&f->events);
    loop_timer_cancel(f->loop, &f->timer);
    loop_timer_cancel(f->loop, &f->later);
    loop_defer_cancel(f->loop, &f->defer);
    arena_free(f->asking);
    arena_free(f->watch_page);
    arena_free(f->arena);
    buf_release(&f->version);
    buf_release(&f->token);
    free(f);
}

void collector_flush(struct collector *f)
{
    if (!f->listing)
        submit(f);
}

int64_t collector_type(const struct collector *f)
{
    return f->o.type;
}

bool collector_is_of(const struct collector *f, str group, str resource)
{
    return str_eq(f->o.ref.group, group) && str_eq(f->o.ref.resource, resource);
}

bool collector_is_live(const struct collector *f)
{
    return f->live;
}

bool collector_was_seen(struct collector *f, bool now)
{
    bool was = f->seen;

    f->seen = now;
    return was;
}
