/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that come over the network: between http/server.h and the chain. */

#include "apiserver/server/http_entry.h"

#include "apiserver/call/internal.h"
#include "apiserver/flow/flow.h"
#include "apiserver/server/mount_requests.h"
#include "base/banned.h"

struct http_sink {
    struct rest_sink sink; /* first: rest's callbacks get this */
    struct http_stream *stream;
    struct metrics *metrics;
    struct call *call;
    void (*data)(struct call *c, str bytes); /* of an upgraded connection */
    void (*closed)(struct call *c);
};

static struct http_request *request_of(const struct call *c)
{
    return c->transport;
}

static void answer(struct call *c, int code, const struct http_header *h, size_t nh,
                   const str *pieces, size_t npieces)
{
    http_reply(request_of(c), code, h, nh, pieces, npieces);
}

static void source(struct call *c, int code, const struct http_header *h, size_t nh,
                   struct http_source *src)
{
    http_reply_source(request_of(c), code, h, nh, src);
}

static bool sink_push(struct rest_sink *s, struct bytes *frame)
{
    struct http_sink *sink = (struct http_sink *)(void *)s;

    metrics_watch_events(sink->metrics, 1, frame->n);
    return http_stream_push(sink->stream, frame);
}

static size_t sink_queued(struct rest_sink *s)
{
    return http_stream_queued(((struct http_sink *)(void *)s)->stream);
}

static void sink_end(struct rest_sink *s)
{
    struct http_sink *sink = (struct http_sink *)(void *)s;

    call_watch_ended(sink->call);
    http_stream_end(sink->stream); /* last: call and sink go with it */
}

static void sink_closed(struct http_stream *stream, void *arg)
{
    struct http_sink *sink = arg;

    (void)stream;
    sink->closed(sink->call);
}

static struct rest_sink *stream(struct call *c, int code, const struct http_header *h, size_t nh,
                                void (*closed)(struct call *c))
{
    struct http_sink *s = arena_new_of(c->arena, struct http_sink);

    s->sink = (struct rest_sink){ .push = sink_push, .queued = sink_queued, .end = sink_end };
    s->call = c;
    s->metrics = c->server->metrics;
    s->closed = closed;
    s->stream = http_reply_stream(request_of(c), code, h, nh, sink_closed, s);
    return &s->sink;
}

static void sink_data(struct http_stream *stream, void *arg, str bytes)
{
    struct http_sink *sink = arg;

    (void)stream;
    sink->data(sink->call, bytes);
}

static struct rest_sink *upgrade(struct call *c, const struct http_header *h, size_t nh,
                                 void (*data)(struct call *c, str bytes),
                                 void (*closed)(struct call *c))
{
    struct http_sink *s = arena_new_of(c->arena, struct http_sink);

    s->sink = (struct rest_sink){ .push = sink_push, .queued = sink_queued, .end = sink_end };
    s->call = c;
    s->metrics = c->server->metrics;
    s->data = data;
    s->closed = closed;
    s->stream = http_reply_upgrade(request_of(c), h, nh, sink_data, sink_closed, s);
    return &s->sink;
}

/* The stream is the request. */
static void pause_data(struct call *c, bool paused)
{
    http_stream_pause(c->transport, paused);
}

static void trailers(struct call *c, const struct http_header *h, size_t n)
{
    http_reply_trailers(request_of(c), h, n);
}

static str peek(struct call *c, bool *end)
{
    return http_body_peek(request_of(c), end);
}

static void consume(struct call *c, size_t n)
{
    http_body_consume(request_of(c), n);
}

static const struct call_ops http_ops = { .answer = answer,
                                          .source = source,
                                          .stream = stream,
                                          .trailers = trailers,
                                          .peek = peek,
                                          .consume = consume,
                                          .upgrade = upgrade,
                                          .pause = pause_data };

static void cancelled(struct http_request *req)
{
    struct call *c = req->user;

    c->gone = true;
    if (c->mounted)
        mount_gone(c);
    else
        flow_gone(c); /* last: the call may go */
}

static void more(struct http_request *req)
{
    struct call *c = req->user;

    c->body_too_large = req->body_too_large;
    if (c->mounted)
        mount_more(c);
}

static void release(void *arg)
{
    call_release(arg);
}

/* In the request's arena, or for a write in one of its own, which the request only holds. */
static struct call *call_new(struct http_request *req)
{
    bool reads = str_is(req->method, "GET") || str_is(req->method, "HEAD");
    struct arena *a = reads ? req->arena : arena_new();
    struct call *c = arena_new_of(a, struct call);

    c->arena = a;
    c->raw_path = req->path;
    c->query = req->query;
    if (reads)
        return c;
    c->holders = 2;
    arena_defer(req->arena, release, c);
    c->raw_path = str_dup(a, req->path);
    c->query = str_dup(a, req->query);
    return c;
}

bool http_entry_early(const struct http_request *req, void *arg)
{
    const struct server *s = arg;

    for (size_t i = 0; i < s->nmounts; i++)
        if (s->mounts[i].early &&
            str_starts(http_request_header(req, "content-type"), str_of(s->mounts[i].content_type)))
            return true;
    return false;
}

static bool is_health(str path)
{
    return str_starts(path, STR("/healthz")) || str_starts(path, STR("/livez")) ||
           str_starts(path, STR("/readyz"));
}

/* Names that nobody has share a lane: whoever invents them would have many otherwise. */
uint64_t http_entry_whose(const struct http_request *req, void *arg)
{
    static const str clusters = STR_INIT("/clusters/");
    const struct server *s = arg;
    struct instance i = { .id = INSTANCE_TEMPLATE };
    str path = req->path, name = STR_NONE;
    struct status st;

    if (str_starts(path, clusters)) {
        ptrdiff_t end = str_find(path, '/', clusters.n);

        name = end < 0 ? str_from(path, clusters.n)
                       : str_sub(path, clusters.n, (size_t)end - clusters.n);
        path = end < 0 ? STR_NONE : str_from(path, (size_t)end);
    }
    if (is_health(path))
        return WHOSE_HEALTH;
    status_init(&st, req->arena);
    if (str_is(name, "*"))
        i.id = STORE_ALL;
    else if (instance_find(rest_instances(s->rest), req->arena, name, &i, &st) < 0)
        i.id = INSTANCE_TEMPLATE;
    return whose_of(i.id, str_starts(path, STR("/apis/coordination.k8s.io/")));
}

void http_entry_serve(struct http_request *req, void *arg)
{
    http_entry_serve_instance(req, arg, STR_NONE);
}

void http_entry_serve_instance(struct http_request *req, struct server *s, str instance)
{
    struct call *c = call_new(req);

    c->server = s;
    c->port = instance;
    c->ops = &http_ops;
    c->loop = req->loop;
    c->method = req->method;
    c->headers = req->headers;
    c->nheaders = req->nheaders;
    c->body = req->body;
    c->body_too_large = req->body_too_large;
    c->peer = req->peer;
    c->peer_rejected = req->peer_rejected;
    c->remote = req->remote;
    c->transport = req;
    req->user = c;
    req->cancelled = cancelled;
    c->body_follows = req->body_follows;
    if (req->body_follows)
        http_body_listen(req, more);
    call_run(c);
}
