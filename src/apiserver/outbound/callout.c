/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/callout.h"

#include <stdlib.h>

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/mem.h"

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

struct callouts { /* of one loop */
    struct loop *loop;
    struct callout *first;
    bool stopped;
};

bool callout_url(struct arena *a, str url, str *host, str *port, str *path)
{
    str rest, authority;
    ptrdiff_t end, colon;
    uint64_t number;

    if (!str_starts(url, STR("https://")))
        return false;
    rest = str_from(url, 8);
    end = str_find(rest, '/', 0);
    authority = end < 0 ? rest : str_sub(rest, 0, (size_t)end);
    *path = end < 0 ? STR("/") : str_dup(a, str_from(rest, (size_t)end));
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7f || strchr("?#@\\", url.p[i]))
            return false;
    if (authority.n && authority.p[0] == '[') {
        end = str_find(authority, ']', 0);
        if (end < 0)
            return false;
        *host = str_dup(a, str_sub(authority, 1, (size_t)end - 1));
        rest = str_from(authority, (size_t)end + 1);
        colon = rest.n && rest.p[0] == ':' ? 0 : -1;
        if (rest.n && colon < 0)
            return false;
    } else {
        rest = authority;
        colon = str_find(rest, ':', 0);
        *host = str_dup(a, colon < 0 ? rest : str_sub(rest, 0, (size_t)colon));
    }
    *port = colon < 0 ? STR("443") : str_dup(a, str_from(rest, (size_t)colon + 1));
    return host->n && str_to_u64(*port, &number) && number > 0 && number < 65536;
}

/* ---- the answer ---- */

static void deliver(struct loop_msg *msg)
{
    struct callout *c = CONTAINER(msg, struct callout, msg);
    struct arena *a = c->arena;
    struct buf reply = c->reply;
    struct status *why = c->why;

    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    peer_unref(c->peer);
    c->done(c, buf_str(&reply), why->reason == REASON_OK ? NULL : why);
    buf_release(&reply);
    arena_free(a);
}

/* Told from a turn of its own: whoever gets it may ask again, or end what has just called. */
static void finish(struct callout *c)
{
    if (c->over)
        return;
    c->over = true;
    if (c->asking)
        peer_transport(c->peer)->cancel(peer_transport(c->peer), &c->http);
    c->asking = false;
    c->msg.fn = deliver;
    loop_post(c->all->loop, &c->msg);
}

static void on_head(struct http_call *http, int status, const struct http_header *h, size_t n)
{
    struct callout *c = http->user;

    (void)h;
    (void)n;
    c->code = status;
}

static void on_data(struct http_call *http, str bytes)
{
    struct callout *c = http->user;

    buf_str_append(&c->reply, bytes);
    if (!buf_overflown(&c->reply))
        return;
    (void)status_set(c->why, REASON_UNAVAILABLE, "the answer is larger than %zu bytes",
                     c->reply.max);
    finish(c);
}

static void on_end(struct http_call *http, const struct status *why)
{
    struct callout *c = http->user;

    c->asking = false;
    if (why)
        status_copy(c->why, why);
    else if (c->code >= 300 && c->code < 400)
        (void)status_set(c->why, REASON_UNAVAILABLE,
                         "it answered with a redirect (%d), which is not followed", c->code);
    else if (c->code != 200 && !(c->code == 201 && c->operators && !c->get))
        (void)status_set(c->why, REASON_UNAVAILABLE, "it answered with code %d", c->code);
    finish(c);
}

/* ---- the question ---- */

static struct server_loop *loop_of(struct server *s, const struct loop *l)
{
    for (size_t i = 0; i < s->nloops; i++)
        if (s->loops[i].loop == l)
            return &s->loops[i];
    abort(); /* a callout on a loop that is not the server's */
}

/* k8s: as the resolver of services says it */
static int no_place(struct callout *c, enum service_fault f)
{
    const struct service_ref *r = c->service;

    if (f == SERVICE_NOT_FOUND)
        return status_set(c->why, REASON_UNAVAILABLE, "service \"%.*s\" not found",
                          STR_ARG(r->name));
    if (f == SERVICE_PORT_ERROR)
        return status_set(c->why, REASON_UNAVAILABLE,
                          "no service port %d found for service \"%.*s\"", r->port,
                          STR_ARG(r->name));
    if (f == SERVICE_UNREADABLE)
        return -1;
    return status_set(c->why, REASON_UNAVAILABLE, "no endpoints available for service \"%.*s\"",
                      STR_ARG(r->name));
}

/* The name of a service's certificate is that of its URL, wherever it is. */
static int find_place(struct server *s, struct callout *c, struct peer_options *o)
{
    struct service_place place;
    enum service_fault f;

    if (!c->service)
        return 0;
    f = service_resolve(s, c->arena, c->service, &place, c->why);
    if (f != SERVICE_FOUND)
        return no_place(c, f);
    o->server_name = o->host;
    o->host = place.host;
    o->port = place.port;
    return 0;
}

static bool is_query(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '#')
            return false;
    return true;
}

/* The URL's parts; the path of a document that the operator named may have a query. */
static bool read_url(struct callout *c, struct peer_options *o, str *path)
{
    ptrdiff_t mark = c->get && c->operators ? str_find(c->url, '?', 0) : -1;
    str url = mark < 0 ? c->url : str_sub(c->url, 0, (size_t)mark);
    str query = str_from(c->url, url.n);

    if (!callout_url(c->arena, url, &o->host, &o->port, path) || !is_query(query))
        return false;
    if (query.n)
        *path = str_printf(c->arena, "%.*s%.*s", STR_ARG(*path), STR_ARG(query));
    return true;
}

static size_t fill_fields(struct callout *c)
{
    static const struct http_header all[] = {
        { STR_INIT("content-type"), STR_INIT("application/json") },
        { STR_INIT("accept"), STR_INIT("application/json") },
        { STR_INIT("user-agent"), STR_INIT("kairship") },
    };
    size_t n = sizeof(all) / sizeof(*all);
    secret token = c->as ? c->as->token : SECRET_NONE;

    memcpy(c->fields, all, sizeof(all));
    if (!secret_empty(token))
        c->fields[n++] = (struct http_header){
            STR("authorization"),
            secret_reveal(secret_printf(c->arena, "Bearer %.*s", STR_ARG(secret_reveal(token))))
        };
    return n;
}

static long long seconds(const struct callout *c)
{
    return (long long)(c->timeout_ms + 999) / 1000;
}

str callout_failure(struct arena *a, const struct callout *c, const struct status *why)
{
    str text = status_is(why, REASON_TIMEOUT) ? STR("context deadline exceeded") : why->message;

    return str_printf(a, "Post \"%.*s?timeout=%llds\": %.*s", STR_ARG(c->url), seconds(c),
                      STR_ARG(text));
}

static int prepare(struct server *s, struct callout *c)
{
    struct peer_options o = { .ca_pem = c->ca_pem,
                              .insecure = c->insecure,
                              .front_proxy = c->front_proxy,
                              .operators = c->operators };
    str path;

    if (c->as) {
        o.server_name = c->as->server_name;
        o.cert_pem = c->as->cert_pem;
        o.key_pem = c->as->key_pem;
    }
    if (c->all->stopped)
        return status_set(c->why, REASON_UNAVAILABLE, "the server is stopping");
    if (!read_url(c, &o, &path))
        return status_set(c->why, REASON_UNAVAILABLE, "\"%.*s\" is not a URL that can be called",
                          STR_ARG(c->url));
    if (c->timeout_ms <= 0)
        return status_set(c->why, REASON_TIMEOUT, "there is no time left");
    if (find_place(s, c, &o) < 0)
        return -1;
    c->peer = peer_get(peers_of(s, c->all->loop), &o, c->why);
    if (!c->peer)
        return -1;
    c->http = (struct http_call){ .method = c->get ? STR("GET") : STR("POST"),
                                  .path = path,
                                  .headers = c->get ? c->headers : c->fields,
                                  .nheaders = c->get ? c->nheaders : fill_fields(c),
                                  .body = c->get ? STR_NONE : c->body,
                                  .timeout_ms = c->timeout_ms,
                                  .head = on_head,
                                  .data = on_data,
                                  .end = on_end,
                                  .user = c };
    if (!c->get)
        c->http.path = str_printf(c->arena, "%.*s?timeout=%llds", STR_ARG(path), seconds(c));
    return 0;
}

void callout_start(struct server *s, struct loop *l, struct callout *c)
{
    struct server_loop *own = loop_of(s, l);

    if (!own->callouts) {
        own->callouts = mem_zalloc(sizeof(*own->callouts));
        own->callouts->loop = l;
    }
    c->all = own->callouts;
    c->arena = arena_new();
    c->why = arena_new_of(c->arena, struct status);
    status_init(c->why, c->arena);
    c->peer = NULL;
    c->asking = c->over = false;
    c->code = 0;
    buf_init(&c->reply, c->reply_max ? c->reply_max : CALLOUT_REPLY_MAX);
    c->next = c->all->first;
    c->prev = &c->all->first;
    if (c->next)
        c->next->prev = &c->next;
    c->all->first = c;
    if (prepare(s, c) < 0) {
        finish(c);
        return;
    }
    c->asking = true;
    peer_transport(c->peer)->call(peer_transport(c->peer), &c->http);
}

void callout_cancel(struct callout *c)
{
    if (!c->all || c->over)
        return;
    (void)status_set(c->why, REASON_UNAVAILABLE, "nobody waits for the answer");
    finish(c);
}

/* ---- the server's end ---- */

void callouts_stop(void *server_loop)
{
    struct callouts *all = ((struct server_loop *)server_loop)->callouts;

    if (!all)
        return;
    all->stopped = true;
    for (struct callout *c = all->first; c; c = c->next) {
        if (c->over)
            continue;
        (void)status_set(c->why, REASON_UNAVAILABLE, "the server is stopping");
        finish(c);
    }
}

void callouts_free(struct callouts *all)
{
    free(all);
}
