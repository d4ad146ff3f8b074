/* SPDX-License-Identifier: Apache-2.0 */
#include "client/informer.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rand.h"
#include "client/coalesce.h"

enum {
    PAGE = 500,    /* client-go's pager */
    WAIT_MS = 800, /* client-go: reflector, 800 ms … 30 s */
    WAIT_MAX_MS = 30000,
    WATCH_S = 300,         /* and up to twice as long, so that they do not all end at once */
    SHORT_WATCH_MS = 1000, /* one that ends sooner, without an event, counts as a failure */
    VERSION_MAX = 1024,
    GATHERED_MAX = 1 << 20, /* bytes */
    TOLD_AT_ONCE = 16,      /* of what was gathered, in a turn of the loop */
};

#define INSTANCE_ANNOTATION "kairship.io/instance"

struct informer_entry {
    uint64_t seen; /* the list that last held it */
    uint64_t mark; /* of all but the status; 0: not known */
    str key;       /* informer_key_text */
    str version;
    char text[]; /* key and version */
};

struct informer {
    struct client *client;
    struct informer_options o;
    char *text; /* of the strings in o */

    struct client_call list;
    struct arena *page; /* of the list in flight */
    str next_page;      /* in page */
    struct client_watch watch;
    char *watch_path;   /* an arena of its own would be the most of what an informer costs */
    struct buf version; /* the revision to go on from */
    struct loop_timer timer;
    struct coalesce gather;  /* o.gather: what was heard and not told, … */
    struct loop_timer later; /* … until then */
    size_t due;              /* of these: so many are being told */
    bool listed;             /* version is good for a watch */
    bool told_synced;
    bool status_only; /* of the change that is being told */
    uint64_t seen;
    unsigned failures;
    int64_t opened_ms;
    bool had_event;

    pthread_mutex_t mu;
    struct map entries; /* guarded by mu; only the loop changes it */
    bool synced;        /* guarded by mu */
};

static void informer_list(struct informer *i, str token);
static void informer_watch(struct informer *i);

/* ---- keys ---- */

str informer_key_text(struct arena *a, const struct informer_key *k)
{
    return str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(k->instance), STR_ARG(k->namespace),
                      STR_ARG(k->name));
}

bool informer_key_parse(str text, struct informer_key *out)
{
    str rest = text;

    return str_split(&rest, '/', &out->instance) && str_split(&rest, '/', &out->namespace) &&
           str_split(&rest, '/', &out->name) && !rest.p;
}

static struct informer_key key_of(const struct json *object)
{
    const struct json *meta = json_get(object, STR("metadata"));
    const struct json *notes = json_get(meta, STR("annotations"));

    return (struct informer_key){ .instance = json_str(json_get(notes, STR(INSTANCE_ANNOTATION))),
                                  .namespace = json_get_str(meta, "namespace"),
                                  .name = json_get_str(meta, "name") };
}

/* ---- what is known ---- */

static uint64_t mix(uint64_t h, const struct json *v)
{
    h = str_hash((str){ (const char *)&v->type, sizeof(v->type) }, h, v->n);
    if (v->type == JSON_STRING)
        return str_hash(json_str(v), h, 1);
    if (v->type == JSON_ARRAY)
        json_for_each (item, v)
            h = mix(h, item);
    else if (v->type == JSON_OBJECT)
        json_for_each_member (m, v)
            h = mix(str_hash(m->name, h, 2), &m->value);
    else if (v->type == JSON_INT)
        h = str_hash((str){ (const char *)&v->i, sizeof(v->i) }, h, 3);
    else if (v->type == JSON_BOOL)
        h = str_hash(STR("bool"), h, v->b);
    return h;
}

/* A generation counts all changes that are neither of the status nor of the metadata. */
static uint64_t mark_of(const struct json *object)
{
    const struct json *meta = json_get(object, STR("metadata"));
    uint64_t h = (uint64_t)json_int(json_get(meta, STR("generation")), 0);

    if (h == 0)
        return 0;
    json_for_each_member (m, meta)
        if (!str_is(m->name, "resourceVersion") && !str_is(m->name, "managedFields"))
            h = mix(str_hash(m->name, h, 2), &m->value);
    return h | 1;
}

static struct informer_entry *entry_new(struct informer *i, str key, str version,
                                        const struct json *object)
{
    struct informer_entry *e = mem_alloc(sizeof(*e) + key.n + version.n);

    *e = (struct informer_entry){ .seen = i->seen, .mark = i->o.marks ? mark_of(object) : 0 };
    memcpy(e->text, key.p, key.n);
    if (version.n)
        memcpy(e->text + key.n, version.p, version.n);
    e->key = (str){ e->text, key.n };
    e->version = (str){ e->text + key.n, version.n };
    return e;
}

static struct informer_entry *swap_entry(struct informer *i, struct informer_entry *e)
{
    struct informer_entry *was;

    (void)pthread_mutex_lock(&i->mu);
    was = map_put(&i->entries, e->key, e);
    (void)pthread_mutex_unlock(&i->mu);
    return was;
}

/* An object as a list or an event showed it. */
static void object_is(struct informer *i, const struct json *object)
{
    scoped_arena a = arena_new();
    struct informer_key k = key_of(object);
    str key = informer_key_text(a, &k), version = json_get_str(object, "metadata.resourceVersion");
    struct informer_entry *was = map_get(&i->entries, key); /* only we change it: no lock to read */
    struct informer_entry *now;

    if (was && str_eq(was->version, version)) {
        was->seen = i->seen;
        return;
    }
    now = entry_new(i, key, version, object);
    was = swap_entry(i, now);
    i->status_only = was && was->mark && was->mark == now->mark;
    if (!was && i->o.added)
        i->o.added(i->o.arg, &k, object);
    if (was && i->o.updated)
        i->o.updated(i->o.arg, &k, object);
    free(was);
}

bool informer_status_only(const struct informer *i)
{
    return i->status_only;
}

/* `last` is what the event showed, or NULL. */
static void object_gone(struct informer *i, str key, const struct json *last)
{
    struct informer_key k;
    struct informer_entry *was;

    (void)pthread_mutex_lock(&i->mu);
    was = map_remove(&i->entries, key);
    (void)pthread_mutex_unlock(&i->mu);
    if (!was)
        return;
    (void)informer_key_parse(was->key, &k);
    if (i->o.deleted)
        i->o.deleted(i->o.arg, &k, last);
    free(was);
}

/* After a whole list: what it did not hold is gone. */
static void sweep(struct informer *i)
{
    scoped_arena a = arena_new();
    size_t at = 0, n = 0;
    void *value;
    str key, *gone = arena_array(a, str, map_size(&i->entries));

    while (map_each(&i->entries, &at, &key, &value))
        if (((struct informer_entry *)value)->seen != i->seen)
            gone[n++] = str_dup(a, key);
    for (size_t j = 0; j < n; j++)
        object_gone(i, gone[j], NULL);
}

static void tell_synced(struct informer *i)
{
    if (i->told_synced)
        return;
    i->told_synced = true;
    (void)pthread_mutex_lock(&i->mu);
    i->synced = true;
    (void)pthread_mutex_unlock(&i->mu);
    if (i->o.synced)
        i->o.synced(i->o.arg);
}

static void set_version(struct informer *i, str v)
{
    if (!v.n || v.n > VERSION_MAX)
        return;
    buf_clear(&i->version);
    buf_str_append(&i->version, v);
}

/* ---- failing and going on ---- */

static void retry(struct informer *i)
{
    int64_t ms = i->o.wait_ms;

    for (unsigned n = 0; n < i->failures && ms < WAIT_MAX_MS; n++)
        ms *= 2;
    ms = ms < WAIT_MAX_MS ? ms : WAIT_MAX_MS;
    i->failures++;
    /* Up to half as much again, so that many informers do not come back at once. */
    loop_timer_set(client_loop(i->client), &i->timer, ms + rand_below((uint32_t)(ms / 2 + 1)));
}

static void failed(struct informer *i, const struct status *why)
{
    str name;

    if (client_may_log(i->o.client, &name))
        log_warn("objects cannot be listed or watched",
                 log_str("server", name.n ? name : STR("control plane")),
                 log_str("resource", i->o.ref.resource), log_status(why));
    retry(i);
}

static void go_on(struct informer *i)
{
    if (i->listed)
        informer_watch(i);
    else
        informer_list(i, STR_NONE);
}

static void on_timer(struct loop_timer *t)
{
    go_on((struct informer *)((char *)t - __builtin_offsetof(struct informer, timer)));
}

static bool expired(const struct status *st)
{
    return status_is(st, REASON_EXPIRED) || status_is(st, REASON_GONE);
}

/* ---- list ---- */

/* Lists leave out what their items are, events do not: handlers see it either way. */
static const struct json *whole(struct arena *a, const struct json *list, const struct json *item)
{
    str kind = json_get_str(list, "kind");

    if (!str_ends(kind, STR("List")) || json_get(item, STR("kind")))
        return item;
    kind.n -= strlen("List");
    item = json_set(a, item, "apiVersion", json_get(list, STR("apiVersion")));
    return json_set(a, item, "kind", json_box(a, json_of_str(kind)));
}

static void list_page(struct informer *i, struct arena *a, const struct json *list)
{
    json_for_each (item, json_get(list, STR("items")))
        object_is(i, whole(a, list, item));
    i->next_page = json_get_str(list, "metadata.continue");
    if (i->next_page.n)
        return;
    set_version(i, json_get_str(list, "metadata.resourceVersion"));
    i->listed = true;
    i->failures = 0;
    sweep(i);
    tell_synced(i);
    if (i->o.listed)
        i->o.listed(i->o.arg);
}

static void list_done(struct client_call *call, const struct json *list, const struct status *why)
{
    struct informer *i = call->user;
    struct arena *page = i->page;

    i->page = NULL;
    if (!why)
        list_page(i, page, list);
    /* A token too old means: from the beginning, at once the first time. */
    if (!why && i->next_page.n)
        informer_list(i, i->next_page);
    else if (!why)
        informer_watch(i);
    else if (expired(why) && i->failures++ == 0)
        informer_list(i, STR_NONE);
    else
        failed(i, why);
    arena_free(page);
}

static void informer_list(struct informer *i, str token)
{
    struct client_query q = { .label_selector = i->o.label_selector,
                              .field_selector = i->o.field_selector,
                              .limit = i->o.page,
                              .continue_token = token };

    if (!token.n)
        i->seen++;
    i->page = arena_new();
    i->list = (struct client_call){ .arena = i->page, .done = list_done, .user = i };
    i->list.req = client_request_list(i->page, &i->o.ref, &q);
    client_call(i->client, &i->list);
}

/* ---- what is gathered ---- */

/* What the server says cannot be read: all is listed anew, later. */
static void unreadable(struct informer *i, const struct status *why)
{
    loop_timer_cancel(client_loop(i->client), &i->later);
    client_watch_cancel(&i->watch);
    coalesce_release(&i->gather);
    i->due = 0;
    i->listed = false;
    failed(i, why);
}

/* Its beginning may have been overtaken by its end: somebody may know of it all the same. */
static void tell_end(struct informer *i, str key, const struct json *last)
{
    struct informer_key k;

    if (map_get(&i->entries, key))
        object_gone(i, key, last);
    else if (i->o.deleted && informer_key_parse(key, &k))
        i->o.deleted(i->o.arg, &k, last);
}

static int tell_one(struct informer *i, const struct coalesced *e)
{
    scoped_arena a = arena_new();
    const struct json *object;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, (str){ e->text, e->n }, NULL, &object, &st) < 0) {
        unreadable(i, &st);
        return -1;
    }
    if (e->gone)
        tell_end(i, e->key, object);
    else
        object_is(i, object);
    return 0;
}

/* So many of them, the first ones; -1: everything is to be listed anew. */
static int tell_gathered(struct informer *i, size_t n)
{
    struct coalesced *e;
    int rc = 0;

    for (; rc == 0 && n > 0 && (e = coalesce_next(&i->gather)); n--) {
        rc = tell_one(i, e);
        coalesced_free(e);
    }
    return rc;
}

static int tell_all(struct informer *i)
{
    loop_timer_cancel(client_loop(i->client), &i->later);
    i->due = 0;
    return tell_gathered(i, SIZE_MAX);
}

/* Those that were there when it began, a few in each turn of the loop. */
static void on_later(struct loop_timer *t)
{
    struct informer *i =
        (struct informer *)((char *)t - __builtin_offsetof(struct informer, later));
    struct loop *loop = client_loop(i->client);
    size_t due = i->due ? i->due : map_size(&i->gather.events);
    size_t now = due < TOLD_AT_ONCE ? due : TOLD_AT_ONCE;

    if (tell_gathered(i, now) < 0)
        return;
    i->due = i->gather.first ? due - now : 0;
    if (i->due)
        loop_timer_set(loop, t, 0);
    else if (i->gather.first)
        loop_timer_set(loop, t, coalesce_wait(&i->gather, loop_now_ms(loop)));
}

/* ---- watch ---- */

static void watch_event(struct client_watch *w, enum client_event type, const struct json *object)
{
    struct informer *i = w->user;
    scoped_arena a = arena_new();
    struct informer_key k;

    i->had_event = true;
    i->failures = 0;
    if (type != CLIENT_BOOKMARK && i->gather.first && tell_all(i) < 0)
        return;
    if (type == CLIENT_ADDED || type == CLIENT_MODIFIED) {
        object_is(i, object);
    } else if (type == CLIENT_DELETED) {
        k = key_of(object);
        object_gone(i, informer_key_text(a, &k), object);
    }
    set_version(i, json_get_str(object, "metadata.resourceVersion"));
}

static void tell_now(struct client_watch *w, enum client_event type, str text)
{
    scoped_arena a = arena_new();
    const struct json *object;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, text, NULL, &object, &st) < 0)
        unreadable(w->user, &st);
    else
        watch_event(w, type, object);
}

static void watch_text(struct client_watch *w, enum client_event type, str text)
{
    struct informer *i = w->user;
    struct loop *loop = client_loop(i->client);
    struct object_scan g;
    int64_t ms;

    coalesce_count(&i->gather, loop_now_ms(loop));
    ms = coalesce_wait(&i->gather, loop_now_ms(loop));
    if (ms == 0 || !object_scan(text, str_is(i->o.ref.instance, "*"), &g)) {
        tell_now(w, type, text);
        return;
    }
    i->had_event = true;
    i->failures = 0;
    coalesce_put(&i->gather, &g, type == CLIENT_DELETED, text);
    set_version(i, g.version);
    while (i->gather.bytes > GATHERED_MAX)
        if (tell_gathered(i, 1) < 0)
            return;
    if (!i->later.slot)
        loop_timer_set(loop, &i->later, ms);
}

static void watch_opened(struct client_watch *w)
{
    struct informer *i = w->user;

    i->opened_ms = loop_now_ms(client_loop(i->client));
}

static void watch_done(struct client_watch *w, const struct status *why)
{
    struct informer *i = w->user;
    bool lasted =
        i->had_event ||
        (i->opened_ms && loop_now_ms(client_loop(i->client)) - i->opened_ms >= SHORT_WATCH_MS);

    if (tell_all(i) < 0)
        return;
    if (why && expired(why)) {
        i->listed = false;
        if (lasted || i->failures == 0)
            informer_list(i, STR_NONE);
        else
            retry(i);
    } else if (lasted) {
        informer_watch(i);
    } else if (why) {
        failed(i, why);
    } else {
        retry(i);
    }
}

static void informer_watch(struct informer *i)
{
    struct client_query q = { .label_selector = i->o.label_selector,
                              .field_selector = i->o.field_selector,
                              .bookmarks = true,
                              .timeout_s = WATCH_S + rand_below(WATCH_S),
                              .resource_version = buf_str(&i->version) };
    scoped_arena a = arena_new();
    str path;

    i->had_event = false;
    i->opened_ms = 0;
    i->watch = (struct client_watch){ .event = watch_event,
                                      .text = i->o.gather ? watch_text : NULL,
                                      .opened = watch_opened,
                                      .done = watch_done,
                                      .user = i };
    i->watch.req = client_request_watch(a, &i->o.ref, &q);
    path = i->watch.req.path;
    free(i->watch_path);
    i->watch_path = mem_dup(path.p, path.n);
    i->watch.req.path.p = i->watch_path;
    client_watch(i->client, &i->watch);
}

/* ---- life ---- */

/* The options' strings into one piece of memory. */
static void own_strings(struct informer *i)
{
    str *const all[] = { &i->o.ref.instance,  &i->o.ref.group,     &i->o.ref.version,
                         &i->o.ref.resource,  &i->o.ref.namespace, &i->o.label_selector,
                         &i->o.field_selector };
    size_t n = 1;
    char *at;

    for (size_t j = 0; j < sizeof(all) / sizeof(*all); j++)
        n += all[j]->n;
    at = i->text = mem_alloc(n);
    for (size_t j = 0; j < sizeof(all) / sizeof(*all); j++) {
        if (all[j]->n)
            memcpy(at, all[j]->p, all[j]->n);
        all[j]->p = at;
        at += all[j]->n;
    }
}

struct informer *informer_new(const struct informer_options *o)
{
    struct informer *i = mem_zalloc(sizeof(*i));

    assert(!o->ref.name.n);
    i->client = o->client;
    i->o = *o;
    own_strings(i);
    if (!i->o.page)
        i->o.page = PAGE;
    if (!i->o.wait_ms)
        i->o.wait_ms = WAIT_MS;
    i->timer.fn = on_timer;
    i->later.fn = on_later;
    coalesce_init(&i->gather);
    buf_init(&i->version, VERSION_MAX);
    (void)pthread_mutex_init(&i->mu, NULL);
    return i;
}

void informer_start(struct informer *i)
{
    informer_list(i, STR_NONE);
}

void informer_nudge(struct informer *i)
{
    if (i->timer.slot)
        loop_timer_set(client_loop(i->client), &i->timer, 0);
}

void informer_free(struct informer *i)
{
    size_t at = 0;
    void *e;
    str key;

    if (!i)
        return;
    loop_timer_cancel(client_loop(i->client), &i->timer);
    loop_timer_cancel(client_loop(i->client), &i->later);
    coalesce_release(&i->gather);
    client_call_cancel(&i->list);
    client_watch_cancel(&i->watch);
    arena_free(i->page);
    free(i->watch_path);
    while (map_each(&i->entries, &at, &key, &e))
        free(e);
    map_release(&i->entries);
    buf_release(&i->version);
    (void)pthread_mutex_destroy(&i->mu);
    free(i->text);
    free(i);
}

/* ---- asking ---- */

bool informer_knows(struct informer *i, const struct informer_key *k)
{
    scoped_arena a = arena_new();

    return map_get(&i->entries, informer_key_text(a, k)) != NULL;
}

bool informer_has_synced(struct informer *i)
{
    bool synced;

    (void)pthread_mutex_lock(&i->mu);
    synced = i->synced;
    (void)pthread_mutex_unlock(&i->mu);
    return synced;
}

struct informer_key *informer_keys(struct informer *i, struct arena *a, size_t *n)
{
    struct informer_key *keys;
    size_t at = 0;
    void *value;
    str key;

    (void)pthread_mutex_lock(&i->mu);
    keys = arena_array(a, struct informer_key, map_size(&i->entries) + 1);
    for (*n = 0; map_each(&i->entries, &at, &key, &value); (*n)++)
        (void)informer_key_parse(str_dup(a, key), &keys[*n]);
    (void)pthread_mutex_unlock(&i->mu);
    return keys;
}
