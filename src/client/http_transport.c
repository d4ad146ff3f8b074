/* SPDX-License-Identifier: Apache-2.0 */
#include "client/http_transport.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"

enum {
    TOKEN_MAX = 64 << 10,
    TOKEN_AGE_MS = 60000, /* tokens in files are replaced while we run; client-go: 1 min */
    GROUPS_MAX = 64,
};

struct http_transport {
    struct client_transport base;
    struct http_client *http;
    struct arena *arena;
    str prefix;
    struct http_header *identity; /* authorization, impersonation */
    size_t nidentity;

    char *token_file;      /* or NULL */
    struct buf bearer;     /* "Bearer …" as the file said last */
    int64_t token_read_ms; /* when that was */
};

/* One call on its way: the caller's with our prefix and headers. */
struct sent {
    struct http_call inner;
    struct http_call *outer;
    struct arena *arena;
};

static struct http_transport *of(struct client_transport *t)
{
    return (struct http_transport *)t;
}

/* ---- who we are ---- */

static void read_token(struct http_transport *t)
{
    int fd = open(t->token_file, O_RDONLY | O_CLOEXEC);
    char text[TOKEN_MAX];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    secret token = n > 0 ? secret_trim(secret_of((str){ text, (size_t)n })) : SECRET_NONE;

    if (fd >= 0)
        (void)close(fd);
    t->token_read_ms = loop_now_ms(t->base.loop);
    if (secret_empty(token))
        return; /* the old one may still be good */
    buf_clear(&t->bearer);
    buf_lit(&t->bearer, "Bearer ");
    buf_str_append(&t->bearer, secret_reveal(token));
    t->identity[0].value = buf_str(&t->bearer);
    mem_wipe(text, sizeof(text));
}

static void identity(struct http_transport *t, str name, str value)
{
    t->identity[t->nidentity++] = (struct http_header){ name, value };
}

static void set_identity(struct http_transport *t, const struct kubeconfig *k)
{
    struct arena *a = t->arena;
    size_t ngroups = k->nas_groups < GROUPS_MAX ? k->nas_groups : GROUPS_MAX;

    t->identity = arena_array(a, struct http_header, 5 + ngroups);
    if (!secret_empty(k->token) || k->token_file.n) { /* the first: read_token knows */
        identity(t, STR("authorization"),
                 secret_reveal(secret_printf(a, "Bearer %.*s", STR_ARG(secret_reveal(k->token)))));
    } else if (k->username.n) {
        secret both = secret_printf(a, "%.*s:%.*s", STR_ARG(k->username),
                                    STR_ARG(secret_reveal(k->password)));

        identity(t, STR("authorization"),
                 str_printf(a, "Basic %.*s",
                            STR_ARG(base64_encode(a, BASE64_STD, secret_reveal(both)))));
    }
    if (k->as.n)
        identity(t, STR("impersonate-user"), str_dup(a, k->as));
    if (k->as_uid.n)
        identity(t, STR("impersonate-uid"), str_dup(a, k->as_uid));
    for (size_t i = 0; i < ngroups; i++)
        identity(t, STR("impersonate-group"), str_dup(a, k->as_groups[i]));
    if (k->lease.n)
        identity(t, STR("kairship-lease"), str_dup(a, k->lease));
}

/* ---- calls ---- */

static void sent_free(struct sent *s)
{
    s->outer->impl = NULL;
    arena_free(s->arena);
    free(s);
}

static void on_head(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    struct sent *s = c->user;

    if (s->outer->head)
        s->outer->head(s->outer, status, h, n);
}

static void on_data(struct http_call *c, str bytes)
{
    struct sent *s = c->user;

    if (s->outer->data)
        s->outer->data(s->outer, bytes);
}

static void on_end(struct http_call *c, const struct status *why)
{
    struct sent *s = c->user;
    struct http_call *outer = s->outer;

    sent_free(s);
    outer->end(outer, why);
}

static void transport_call(struct client_transport *base, struct http_call *call)
{
    struct http_transport *t = of(base);
    struct sent *s = mem_zalloc(sizeof(*s));
    struct http_header *h;

    if (t->token_file && loop_now_ms(base->loop) - t->token_read_ms >= TOKEN_AGE_MS)
        read_token(t);
    s->arena = arena_new();
    s->outer = call;
    s->inner = *call;
    s->inner.head = on_head;
    s->inner.data = on_data;
    s->inner.trailers = NULL;
    s->inner.end = on_end;
    s->inner.user = s;
    if (t->prefix.n)
        s->inner.path = str_printf(s->arena, "%.*s%.*s", STR_ARG(t->prefix), STR_ARG(call->path));
    h = arena_array(s->arena, struct http_header, call->nheaders + t->nidentity);
    if (call->nheaders)
        memcpy(h, call->headers, call->nheaders * sizeof(*h));
    if (t->nidentity)
        memcpy(h + call->nheaders, t->identity, t->nidentity * sizeof(*h));
    if (t->token_file) /* may change before this has been sent */
        h[call->nheaders].value = str_dup(s->arena, t->identity[0].value);
    s->inner.headers = h;
    s->inner.nheaders = call->nheaders + t->nidentity;
    call->impl = s;
    http_client_call(t->http, &s->inner);
}

static void transport_cancel(struct client_transport *base, struct http_call *call)
{
    struct sent *s = call->impl;

    if (!s)
        return;
    http_call_cancel(of(base)->http, &s->inner);
    sent_free(s);
}

static void transport_pause(struct client_transport *base, struct http_call *call, bool paused)
{
    struct sent *s = call->impl;

    (void)base;
    if (s)
        http_call_pause(&s->inner, paused);
}

static void transport_send(struct client_transport *base, struct http_call *call, str bytes)
{
    struct sent *s = call->impl;

    (void)base;
    if (s)
        http_call_send(&s->inner, bytes);
}

static size_t transport_unsent(struct client_transport *base, const struct http_call *call)
{
    const struct sent *s = call->impl;

    (void)base;
    return s ? http_call_unsent(&s->inner) : 0;
}

static void transport_free(struct client_transport *base)
{
    struct http_transport *t = of(base);

    http_client_free(t->http);
    buf_release(&t->bearer);
    free(t->token_file);
    arena_free(t->arena);
    free(t);
}

struct client_transport *http_transport_new(struct loop *l, const struct kubeconfig *k,
                                            struct status *st)
{
    return http_transport_guarded(l, k, &(struct http_transport_bounds){ 0 }, st);
}

struct client_transport *http_transport_guarded(struct loop *l, const struct kubeconfig *k,
                                                const struct http_transport_bounds *b,
                                                struct status *st)
{
    struct http_client_options o = {
        .loop = l,
        .host = k->host,
        .port = k->port,
        .server_name = k->server_name,
        .tls = k->tls,
        .ca_pem = k->ca_pem,
        .cert_pem = k->cert_pem,
        .key_pem = k->key_pem,
        .insecure = k->insecure,
        .proxy_host = k->proxy_host,
        .proxy_port = k->proxy_port,
        .connect_ms = b->connect_ms,
        .window = b->window,
        .guard = b->guard,
    };
    struct http_client *http = http_client_new(&o, st);
    struct http_transport *t;

    if (!http) {
        (void)status_wrap(st, "kubeconfig");
        return NULL;
    }
    t = mem_zalloc(sizeof(*t));
    t->base = (struct client_transport){
        .loop = l,
        .call = transport_call,
        .cancel = transport_cancel,
        .pause = transport_pause,
        .send = transport_send,
        .unsent = transport_unsent,
        .free = transport_free,
    };
    t->http = http;
    t->arena = arena_new();
    t->base.ca_pem = str_dup(t->arena, k->ca_pem);
    t->prefix = str_dup(t->arena, k->prefix);
    t->bearer = (struct buf){ .max = TOKEN_MAX + 16, .wipe = true };
    set_identity(t, k);
    if (k->token_file.n) {
        t->token_file = strndup(k->token_file.p, k->token_file.n);
        if (!t->token_file)
            mem_exhausted();
        t->token_read_ms = loop_now_ms(l);
    }
    return &t->base;
}
