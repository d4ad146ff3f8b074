/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/http_transport.h"
#include "client/json_stream.h"
#include "client/reply.h"

enum {
    REPLY_MAX = 1 << 30,  /* bytes: a list of a million small objects */
    EVENT_MAX = 32 << 20, /* etcd allows 1.5 MiB, we 3; escapes may grow it */
    TIMEOUT_MS = 60000,   /* as kube-apiserver's --request-timeout */
    GROUPS_MAX = 64,
    HEADERS_MAX = 6, /* and groups */
    LOG_MS = 60000,
};

struct client {
    struct client_transport *transport;
    struct loop *loop;
    int64_t timeout_ms;
    size_t reply_max;
    str name;
    int64_t logged_ms; /* 0: never */
    bool own_loop;
    pthread_t thread; /* of our own loop */
};

/* ---- life ---- */

struct client *client_new(struct client_transport *t)
{
    struct client *c = mem_zalloc(sizeof(*c));

    c->transport = t;
    c->loop = t->loop;
    c->timeout_ms = TIMEOUT_MS;
    c->reply_max = REPLY_MAX;
    return c;
}

void client_limit(struct client *c, int64_t timeout_ms, size_t reply_max)
{
    if (timeout_ms)
        c->timeout_ms = timeout_ms;
    if (reply_max)
        c->reply_max = reply_max;
}

static void *run_loop(void *arg)
{
    struct client *c = arg;

    loop_run(c->loop);
    return NULL;
}

static void start_thread(struct client *c)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the main thread */
    if (pthread_create(&c->thread, NULL, run_loop, c) != 0)
        mem_exhausted();
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    c->own_loop = true;
}

struct client *client_open(struct loop *l, const struct kubeconfig *k, struct status *st)
{
    struct loop *loop = l ? l : loop_new();
    struct client_transport *t = http_transport_new(loop, k, st);
    struct client *c;

    if (!t) {
        if (!l)
            loop_free(loop);
        return NULL;
    }
    c = client_new(t);
    if (!l)
        start_thread(c);
    return c;
}

void client_set_name(struct client *c, str name)
{
    c->name = name;
}

bool client_may_log(struct client *c, str *name)
{
    int64_t now = loop_now_ms(c->loop);

    *name = c->name;
    if (c->name.n && c->logged_ms && now - c->logged_ms < LOG_MS)
        return false;
    c->logged_ms = now;
    return true;
}

void client_free(struct client *c)
{
    if (!c)
        return;
    if (c->own_loop) {
        loop_stop(c->loop);
        (void)pthread_join(c->thread, NULL);
    }
    c->transport->free(c->transport);
    if (c->own_loop)
        loop_free(c->loop);
    free(c);
}

struct client_transport *client_transport(const struct client *c)
{
    return c->transport;
}

struct loop *client_loop(const struct client *c)
{
    return c->loop;
}

str client_ca(const struct client *c)
{
    return c->transport->ca_pem;
}

/* ---- one request over the transport: what calls and watches share ---- */

struct exchange {
    struct http_call http;
    struct http_header headers[HEADERS_MAX], *more; /* more: with groups, allocated */
    struct client *client;
    int status;
    struct buf body;
};

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    struct exchange *x = call->user;

    (void)h;
    (void)n;
    x->status = status;
}

static void on_body(struct http_call *call, str bytes)
{
    struct exchange *x = call->user;

    buf_str_append(&x->body, bytes);
}

/* k8s: client-go's transport/round_trippers.go */
static size_t add_identity(struct exchange *x, size_t n, const struct identity *as)
{
    size_t groups = as->ngroups < GROUPS_MAX ? as->ngroups : GROUPS_MAX;

    x->more = mem_alloc((HEADERS_MAX + groups) * sizeof(*x->more));
    memcpy(x->more, x->headers, n * sizeof(*x->more));
    x->http.headers = x->more;
    x->more[n++] = (struct http_header){ STR("impersonate-user"), as->user };
    if (as->uid.n)
        x->more[n++] = (struct http_header){ STR("impersonate-uid"), as->uid };
    for (size_t i = 0; i < groups; i++)
        x->more[n++] = (struct http_header){ STR("impersonate-group"), as->groups[i] };
    return n;
}

static void exchange_init(struct exchange *x, struct client *c, const struct client_request *req,
                          void (*end)(struct http_call *, const struct status *))
{
    size_t n = 0;

    x->client = c;
    x->headers[n++] = (struct http_header){ STR("accept"), STR("application/json") };
    x->headers[n++] = (struct http_header){ STR("user-agent"), STR("kairship") };
    if (req->content_type.n)
        x->headers[n++] = (struct http_header){ STR("content-type"), req->content_type };
    if (req->audit_id.n)
        x->headers[n++] = (struct http_header){ STR("audit-id"), req->audit_id };
    x->http.method = req->method;
    x->http.path = req->path;
    x->http.headers = x->headers;
    x->http.nheaders = req->as ? add_identity(x, n, req->as) : n;
    x->http.body = req->body;
    x->http.timeout_ms = req->timeout_ms == 0 ? c->timeout_ms : req->timeout_ms;
    if (x->http.timeout_ms < 0)
        x->http.timeout_ms = 0;
    if (!x->http.head)
        x->http.head = on_head;
    if (!x->http.data)
        x->http.data = on_body;
    x->http.end = end;
    x->http.user = x;
    buf_init(&x->body, c->reply_max);
}

static void exchange_start(struct exchange *x, struct client *c, const struct client_request *req,
                           void (*end)(struct http_call *, const struct status *))
{
    assert(loop_is_current(c->loop) || !loop_current());
    exchange_init(x, c, req, end);
    c->transport->call(c->transport, &x->http);
}

static void exchange_release(struct exchange *x)
{
    buf_release(&x->body);
    free(x->more);
}

/* 0 and the tree, or -1 and why. */
static int exchange_result(struct exchange *x, struct arena *a, const struct json **out,
                           struct status *st)
{
    if (buf_overflown(&x->body))
        return status_set(st, REASON_TOO_LARGE, "the answer is larger than %zu bytes",
                          x->client->reply_max);
    return client_reply(a, x->status, buf_str(&x->body), out, st);
}

/* ---- calls ---- */

struct user_call {
    struct exchange x;
    struct client_call *user;
};

static void release_text(void *arg)
{
    buf_release(arg);
}

/* Not what says that something went wrong: that is small, and looked at here. */
static bool take_text(struct user_call *c)
{
    struct client_call *user = c->user;
    struct buf *kept;

    if (!user->unparsed || c->x.status < 200 || c->x.status > 299 || buf_overflown(&c->x.body))
        return false;
    kept = arena_new_of(user->arena, struct buf);
    *kept = c->x.body;
    buf_init(&c->x.body, c->x.client->reply_max);
    arena_defer(user->arena, release_text, kept);
    user->text = buf_str(kept);
    return true;
}

static void call_end(struct http_call *http, const struct status *why)
{
    struct user_call *c = http->user;
    struct client_call *user = c->user;
    const struct json *object = NULL;
    struct status st;

    user->impl = NULL;
    status_init(&st, user->arena);
    if (!why && !take_text(c) && exchange_result(&c->x, user->arena, &object, &st) < 0)
        why = &st;
    exchange_release(&c->x);
    free(c);
    user->done(user, why ? NULL : object, why);
}

void client_call(struct client *c, struct client_call *user)
{
    struct user_call *call = mem_zalloc(sizeof(*call));

    call->user = user;
    user->impl = call;
    exchange_start(&call->x, c, &user->req, call_end);
}

void client_call_cancel(struct client_call *user)
{
    struct user_call *c = user->impl;

    if (!c)
        return;
    c->x.client->transport->cancel(c->x.client->transport, &c->x.http);
    exchange_release(&c->x);
    free(c);
    user->impl = NULL;
}

/* ---- watches ---- */

struct user_watch {
    struct exchange x;
    struct client_watch *user;
    struct json_stream splitter;
    bool *gone; /* set when the watch is freed while its events are handed out */
};

static void watch_free(struct user_watch *w)
{
    if (w->gone)
        *w->gone = true;
    w->user->impl = NULL;
    exchange_release(&w->x);
    json_stream_release(&w->splitter);
    free(w);
}

static void watch_done(struct user_watch *w, const struct status *why)
{
    struct client_watch *user = w->user;

    watch_free(w);
    user->done(user, why);
}

/* Breaks it off from our side. */
static void watch_fail(struct user_watch *w, const struct status *why)
{
    w->x.client->transport->cancel(w->x.client->transport, &w->x.http);
    watch_done(w, why);
}

static bool event_type(str name, enum client_event *out)
{
    static const char *const names[] = { [CLIENT_ADDED] = "ADDED",
                                         [CLIENT_MODIFIED] = "MODIFIED",
                                         [CLIENT_DELETED] = "DELETED",
                                         [CLIENT_BOOKMARK] = "BOOKMARK" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (str_is(name, names[i])) {
            *out = (enum client_event)i;
            return true;
        }
    return false;
}

/* The object of an event as Go writes it: {"type":"ADDED","object":{…}} */
static bool event_text(str text, enum client_event *type, str *object)
{
    static const struct {
        str start;
        enum client_event type;
    } rows[] = {
        { STR_INIT("{\"type\":\"ADDED\",\"object\":{"), CLIENT_ADDED },
        { STR_INIT("{\"type\":\"MODIFIED\",\"object\":{"), CLIENT_MODIFIED },
        { STR_INIT("{\"type\":\"DELETED\",\"object\":{"), CLIENT_DELETED },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t at = rows[i].start.n - 1;

        if (!str_starts(text, rows[i].start) || !str_ends(text, STR("}}")))
            continue;
        *type = rows[i].type;
        *object = str_sub(text, at, text.n - at - 1);
        return true;
    }
    return false;
}

/* -1 ends the watch with *st. */
static int watch_event(struct user_watch *w, struct arena *a, str text, struct status *st)
{
    const struct json *event, *object;
    enum client_event type;
    str name;

    if (w->user->text && event_text(text, &type, &name)) {
        w->user->text(w->user, type, name);
        return 0;
    }
    if (json_parse(a, text, NULL, &event, st) < 0)
        return status_wrap(st, "an event of the watch");
    name = json_get_str(event, "type");
    object = json_get(event, STR("object"));
    if (str_is(name, "ERROR"))
        return client_reply_status(object, st);
    if (!event_type(name, &type) || !json_is(object, JSON_OBJECT))
        return status_set(st, REASON_INTERNAL, "an event of unknown type \"%.*s\"", STR_ARG(name));
    w->user->event(w->user, type, object);
    return 0;
}

/* A whole event on a line, as Go writes it: where it ends needs no look at what is in it. */
static bool next_line(const struct json_stream *s, str *bytes, str *line)
{
    static const str start = STR_INIT("{\"type\":\""), end = STR_INIT("}}");
    ptrdiff_t n;

    if (!json_stream_at_end(s) || !str_starts(*bytes, start))
        return false;
    n = str_find(*bytes, '\n', start.n);
    if (n < 0 || n > EVENT_MAX || !str_ends(str_sub(*bytes, 0, (size_t)n), end))
        return false;
    *line = str_sub(*bytes, 0, (size_t)n);
    *bytes = str_from(*bytes, (size_t)n + 1);
    return true;
}

static int next_event(struct user_watch *w, str *bytes, str *text, struct status *st)
{
    return next_line(&w->splitter, bytes, text) ? 1
                                                : json_stream_next(&w->splitter, bytes, text, st);
}

static void watch_data(struct http_call *http, str bytes)
{
    struct user_watch *w = http->user;
    scoped_arena outer = arena_new();
    struct status st;
    bool gone = false;
    str text;
    int rc;

    if (w->x.status < 200 || w->x.status > 299) { /* a Status comes, not events */
        on_body(http, bytes);
        return;
    }
    status_init(&st, outer);
    w->gone = &gone;
    while ((rc = next_event(w, &bytes, &text, &st)) > 0) {
        scoped_arena a = arena_new();

        rc = watch_event(w, a, text, &st);
        if (gone || rc < 0)
            break;
    }
    if (gone)
        return;
    w->gone = NULL;
    if (rc < 0)
        watch_fail(w, &st);
}

static void watch_head(struct http_call *http, int status, const struct http_header *h, size_t n)
{
    struct user_watch *w = http->user;

    on_head(http, status, h, n);
    if (status >= 200 && status <= 299 && w->user->opened)
        w->user->opened(w->user);
}

static void watch_end(struct http_call *http, const struct status *why)
{
    struct user_watch *w = http->user;
    scoped_arena a = arena_new();
    const struct json *ignored;
    struct status st;

    status_init(&st, a);
    if (!why && (w->x.status < 200 || w->x.status > 299) &&
        exchange_result(&w->x, a, &ignored, &st) < 0)
        why = &st;
    watch_done(w, why);
}

void client_watch(struct client *c, struct client_watch *user)
{
    struct user_watch *w = mem_zalloc(sizeof(*w));

    w->user = user;
    user->impl = w;
    json_stream_init(&w->splitter, EVENT_MAX);
    w->x.http.head = watch_head;
    w->x.http.data = watch_data;
    exchange_start(&w->x, c, &user->req, watch_end);
}

void client_watch_cancel(struct client_watch *user)
{
    struct user_watch *w = user->impl;

    if (!w)
        return;
    w->x.client->transport->cancel(w->x.client->transport, &w->x.http);
    watch_free(w);
}

/* ---- blocking ---- */

/* Who waits, for one or for several: woken once, when the last has ended. */
struct waiter {
    atomic_uint left; /* and one for the waiter, until it waits */
    sem_t over;       /* who is woken has no lock to wait for again */
};

struct sync {
    struct exchange x;
    struct loop_msg msg;
    const struct client_request *req;
    struct status *st;
    int rc;

    struct loop *own; /* of the caller, who runs it until the end; NULL: see waiter */
    bool done;
    struct waiter *waiter;
};

static void waiter_init(struct waiter *w)
{
    atomic_init(&w->left, 1);
    (void)sem_init(&w->over, 0, 0);
}

static void waiter_wait(struct waiter *w)
{
    if (atomic_fetch_sub(&w->left, 1) > 1)
        while (sem_wait(&w->over) < 0) /* but by a signal it does not fail */
            ;
    (void)sem_destroy(&w->over);
}

static void sync_done(struct loop_msg *msg)
{
    struct sync *s = (struct sync *)((char *)msg - __builtin_offsetof(struct sync, msg));

    s->done = true;
}

static void sync_end(struct http_call *http, const struct status *why)
{
    struct sync *s = http->user;

    if (why) { /* dies with this callback: keep the words in the caller's arena */
        s->rc = status_set(s->st, why->reason, "%.*s", STR_ARG(why->message));
        s->st->retry_after_s = why->retry_after_s;
    }
    if (s->own)
        loop_post(s->own, &s->msg); /* after which it may be gone */
    else if (atomic_fetch_sub(&s->waiter->left, 1) == 1)
        (void)sem_post(&s->waiter->over);
}

static void sync_start(struct loop_msg *msg)
{
    struct sync *s = (struct sync *)((char *)msg - __builtin_offsetof(struct sync, msg));

    exchange_start(&s->x, s->x.client, s->req, sync_end);
}

/* Without the transport's thread, where that can be. */
static bool sync_begin_here(struct sync *s, struct client *c)
{
    if (!c->transport->call_from || loop_current())
        return false;
    s->own = loop_own();
    s->msg.fn = sync_done;
    exchange_init(&s->x, c, s->req, sync_end);
    if (c->transport->call_from(c->transport, s->own, &s->x.http))
        return true;
    exchange_release(&s->x);
    s->x = (struct exchange){ 0 };
    s->own = NULL;
    s->msg.fn = sync_start;
    return false;
}

static void sync_begin(struct sync *s, struct client *c, const struct client_request *req,
                       struct status *st, struct waiter *w)
{
    assert(!loop_is_current(c->loop)); /* it would wait for itself */
    *s = (struct sync){ .msg.fn = sync_start, .req = req, .st = st, .waiter = w };
    if (sync_begin_here(s, c))
        return;
    s->x.client = c;
    (void)atomic_fetch_add(&w->left, 1);
    loop_post(c->loop, &s->msg);
}

static int sync_finish(struct sync *s, struct arena *a, const struct json **object)
{
    int rc = s->rc < 0 ? -1 : exchange_result(&s->x, a, object, s->st);

    exchange_release(&s->x);
    return rc;
}

/* Results may be looked at when all have ended: the loop writes reasons into the arena, too. */
static void sync_wait(struct sync *s, size_t n, struct waiter *w)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].own)
            loop_run_until(s[i].own, &s[i].done);
    waiter_wait(w);
}

int client_do(struct client *c, struct arena *a, const struct client_request *req,
              const struct json **out, struct status *st)
{
    const struct json *object = NULL;
    struct waiter w;
    struct sync s;

    waiter_init(&w);
    sync_begin(&s, c, req, st, &w);
    sync_wait(&s, 1, &w);
    if (sync_finish(&s, a, &object) < 0)
        return -1;
    if (out)
        *out = object;
    return 0;
}

enum { TOGETHER = 32 }; /* what one caller may have on its way */

void client_do_all(struct client *c, struct arena *a, struct client_item *items, size_t n)
{
    struct sync s[TOGETHER];

    for (size_t done = 0; done < n;) {
        size_t now = n - done < TOGETHER ? n - done : TOGETHER;
        struct waiter w;

        waiter_init(&w);
        for (size_t i = 0; i < now; i++) {
            status_init(&items[done + i].st, a);
            sync_begin(&s[i], c, &items[done + i].req, &items[done + i].st, &w);
        }
        sync_wait(s, now, &w);
        for (size_t i = 0; i < now; i++)
            items[done + i].rc = sync_finish(&s[i], a, &items[done + i].object);
        done += now;
    }
}

int client_get(struct client *c, struct arena *a, const struct client_ref *ref,
               const struct json **out, struct status *st)
{
    struct client_request r = client_request_get(a, ref);

    return client_do(c, a, &r, out, st);
}

int client_list(struct client *c, struct arena *a, const struct client_ref *ref,
                const struct client_query *q, const struct json **out, struct status *st)
{
    struct client_request r = client_request_list(a, ref, q);

    return client_do(c, a, &r, out, st);
}

int client_create(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct json *obj, const struct json **out, struct status *st)
{
    struct client_request r = client_request_create(a, ref, NULL, obj);

    return client_do(c, a, &r, out, st);
}

int client_update(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct json *obj, const struct json **out, struct status *st)
{
    struct client_request r = client_request_update(a, ref, NULL, obj);

    return client_do(c, a, &r, out, st);
}

int client_patch(struct client *c, struct arena *a, const struct client_ref *ref,
                 enum client_patch_type type, const struct json *patch, const struct json **out,
                 struct status *st)
{
    struct client_request r = client_request_patch(a, ref, NULL, type, patch);

    return client_do(c, a, &r, out, st);
}

int client_apply(struct client *c, struct arena *a, const struct client_ref *ref, str manager,
                 const struct json *obj, const struct json **out, struct status *st)
{
    struct client_query q = { .field_manager = manager, .force = true };
    struct client_request r = client_request_patch(a, ref, &q, CLIENT_PATCH_APPLY, obj);

    return client_do(c, a, &r, out, st);
}

int client_delete(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct json *options, struct status *st)
{
    struct client_request r = client_request_delete(a, ref, NULL, options);

    return client_do(c, a, &r, NULL, st);
}
