/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/local.h"

#include <assert.h>
#include <stdlib.h>

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "kinds/kinds.h"
#include "rest/lookup.h"

enum { PULL = 64 << 10, BUFFER_MAX = 1 << 30 };

struct local {
    struct client_transport transport; /* first: the client gets this */
    struct server *server;
    struct identity who;
    bool by_loop;             /* what it writes */
    struct local_call *calls; /* in flight */
};

struct local_call {
    struct call call; /* first: the chain gets this */
    struct rest_sink sink;
    struct http_call *http;          /* NULL once it has ended or was cancelled */
    struct local_call *next, **prev; /* of the transport's loop; prev NULL: of another */
    struct loop_msg start;
    struct http_source *source;
    void (*closed)(struct call *c);
    bool streaming;
};

/* The second gives no rights; it tells them from others, in the audit. */
static const str groups[] = { STR_INIT("system:authenticated"), STR_INIT("system:kairship:parts") };

static void dispose(void *arg)
{
    struct local_call *c = arg;

    call_release(&c->call);
}

/* The answer is given.  A turn later, because it may still be on the stack. */
static void release(struct local_call *c)
{
    loop_call(c->call.loop, dispose, c);
}

/* The caller is done with it: no callback comes after. */
static void detach(struct local_call *c)
{
    c->http->impl = NULL;
    c->http = NULL;
    if (!c->prev)
        return;
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
}

static void end(struct local_call *c, const struct status *why)
{
    struct http_call *http = c->http;

    if (!http)
        return;
    detach(c);
    http->end(http, why);
}

static void give_head(struct local_call *c, int code, const struct http_header *h, size_t nh)
{
    if (c->http && c->http->head)
        c->http->head(c->http, code, h, nh);
}

static void give_data(struct local_call *c, str bytes)
{
    if (c->http && c->http->data && bytes.n)
        c->http->data(c->http, bytes);
}

static void answer(struct call *call, int code, const struct http_header *h, size_t nh,
                   const str *pieces, size_t npieces)
{
    struct local_call *c = (struct local_call *)(void *)call;

    give_head(c, code, h, nh);
    for (size_t i = 0; i < npieces; i++)
        give_data(c, pieces[i]);
    end(c, NULL);
    release(c);
}

static void pull(void *arg)
{
    struct local_call *c = arg;
    struct status st;
    scoped_buf b = { .max = BUFFER_MAX };
    int more;

    if (!c->http) {
        release(c);
        return;
    }
    more = c->source->pull(c->source, &b, PULL);
    give_data(c, buf_str(&b));
    if (more > 0) {
        loop_call(c->call.loop, pull, c);
        return;
    }
    status_init(&st, c->call.arena);
    if (more < 0)
        (void)status_set(&st, REASON_UNAVAILABLE, "the answer broke off");
    end(c, more < 0 ? &st : NULL);
    release(c);
}

static void source(struct call *call, int code, const struct http_header *h, size_t nh,
                   struct http_source *src)
{
    struct local_call *c = (struct local_call *)(void *)call;

    give_head(c, code, h, nh);
    c->source = src;
    pull(c);
}

static struct local_call *of_sink(struct rest_sink *s)
{
    return (struct local_call *)(void *)((char *)s - offsetof(struct local_call, sink));
}

static bool sink_push(struct rest_sink *s, struct bytes *frame)
{
    give_data(of_sink(s), bytes_str(frame));
    return true;
}

static size_t sink_queued(struct rest_sink *s)
{
    (void)s;
    return 0;
}

static void sink_end(struct rest_sink *s)
{
    struct local_call *c = of_sink(s);

    if (!c->streaming)
        return; /* the caller has cancelled it while it was told that this is the end */
    call_watch_ended(&c->call);
    c->streaming = false;
    end(c, NULL);
    release(c);
}

static struct rest_sink *stream(struct call *call, int code, const struct http_header *h, size_t nh,
                                void (*closed)(struct call *c))
{
    struct local_call *c = (struct local_call *)(void *)call;

    c->sink = (struct rest_sink){ .push = sink_push, .queued = sink_queued, .end = sink_end };
    c->closed = closed;
    c->streaming = true;
    give_head(c, code, h, nh);
    return &c->sink;
}

static const struct call_ops local_ops = { .answer = answer, .source = source, .stream = stream };

static void start(struct loop_msg *msg)
{
    struct local_call *c =
        (struct local_call *)(void *)((char *)msg - offsetof(struct local_call, start));

    if (c->http) {
        call_run(&c->call);
        return;
    }
    release(c);
    call_release(&c->call); /* for the chain, which does not see it */
}

/* The caller may go, with its headers, while the call runs on. */
static const struct http_header *copy_headers(struct arena *a, const struct http_call *http)
{
    struct http_header *h = arena_array(a, struct http_header, http->nheaders + 1);

    for (size_t i = 0; i < http->nheaders; i++)
        h[i] = (struct http_header){ str_dup(a, http->headers[i].name),
                                     str_dup(a, http->headers[i].value) };
    return h;
}

static struct local_call *local_call_new(struct local *l, struct loop *loop, struct http_call *http)
{
    /* What has no end in sight is a watch. */
    struct arena *a = http->timeout_ms ? arena_new() : arena_new_lasting();
    struct local_call *c = arena_new_of(a, struct local_call);
    str path = str_dup(a, http->path);
    ptrdiff_t query = str_find(path, '?', 0);

    c->call = (struct call){ .server = l->server,
                             .ops = &local_ops,
                             .arena = a,
                             .holders = 2,
                             .loop = loop,
                             .method = str_dup(a, http->method),
                             .raw_path = query < 0 ? path : str_sub(path, 0, (size_t)query),
                             .query = query < 0 ? STR_NONE : str_from(path, (size_t)query + 1),
                             .headers = copy_headers(a, http),
                             .nheaders = http->nheaders,
                             .body = http->body,
                             .who = l->who,
                             .remote = STR("local"),
                             .local = true };
    c->http = http;
    http->impl = c;
    c->start.fn = start;
    return c;
}

static void local_call(struct client_transport *t, struct http_call *http)
{
    struct local *l = (struct local *)(void *)t;
    struct local_call *c = local_call_new(l, t->loop, http);

    c->next = l->calls;
    c->prev = &l->calls;
    if (c->next)
        c->next->prev = &c->next;
    l->calls = c;
    loop_post(t->loop, &c->start);
}

/* For somebody else, whose rights may have to be asked for. */
static bool is_for_another(const struct http_call *http)
{
    for (size_t i = 0; i < http->nheaders; i++)
        if (str_starts(http->headers[i].name, STR("impersonate-")))
            return true;
    return false;
}

/*
 * What our own parts ask needs no loop of the server's: their rights are known, the store has no
 * locks for who reads, and tells who writes itself.
 */
static bool local_call_from(struct client_transport *t, struct loop *own, struct http_call *http)
{
    struct local *l = (struct local *)(void *)t;
    struct local_call *c;

    if (!l->who.rights || is_for_another(http) || !http->timeout_ms ||
        (l->by_loop && !str_is(http->method, "GET")))
        return false;
    c = local_call_new(l, own, http);
    c->call.home = t->loop;
    loop_post(own, &c->start);
    return true;
}

/* A watch ends at once; anything else runs on to its answer, which goes nowhere. */
static void stop_stream(struct local_call *c)
{
    if (!c->streaming)
        return;
    c->streaming = false;
    c->closed(&c->call);
    release(c);
}

static void local_cancel(struct client_transport *t, struct http_call *http)
{
    struct local_call *c = http->impl;

    (void)t;
    if (!c)
        return;
    c->call.gone = true;
    stop_stream(c);
    detach(c);
}

static void local_free(struct client_transport *t)
{
    struct local *l = (struct local *)(void *)t;

    while (l->calls) {
        struct local_call *c = l->calls;
        struct status st;

        stop_stream(c);
        status_init(&st, c->call.arena);
        (void)status_set(&st, REASON_UNAVAILABLE, "the client is being closed");
        end(c, &st);
    }
    free(l);
}

struct client_transport *server_local_as(struct server *s, struct loop *loop,
                                         const struct identity *who)
{
    struct local *l = mem_zalloc(sizeof(*l));

    l->transport = (struct client_transport){ .loop = loop,
                                              .call = local_call,
                                              .call_from = local_call_from,
                                              .cancel = local_cancel,
                                              .free = local_free,
                                              .ca_pem = s->root_ca };
    l->server = s;
    l->who = *who;
    return &l->transport;
}

struct client_transport *server_local_transport(struct server *s, struct loop *loop, str user)
{
    struct identity who = { .user = user,
                            .groups = groups,
                            .ngroups = sizeof(groups) / sizeof(*groups),
                            .rights = s->chain->rights(s, user) };

    return server_local_as(s, loop, &who);
}

void server_local_by_loop(struct client_transport *t)
{
    ((struct local *)(void *)t)->by_loop = true;
}

int server_local_look(struct server *s, struct arena *a, const struct client_ref *ref,
                      const struct json **out, struct status *st)
{
    static const struct instance root = { .id = INSTANCE_ROOT };
    const struct kind *k =
        catalog_find(kinds_catalog_root(), ref->group, ref->version, ref->resource);
    int found;

    assert(k && !ref->instance.n);
    epoch_enter();
    found = lookup_plain(s->rest, a, &root, k, ref->namespace, ref->name, out, st);
    epoch_exit();
    return found;
}

uint64_t server_local_watched(struct server *s, struct loop *loop)
{
    return rest_watched(s->rest, loop);
}
