/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/peers.h"

#include <stdlib.h>

#include "apiserver/call/internal.h"
#include "apiserver/outbound/front_proxy.h"
#include "base/banned.h"
#include "base/mem.h"

enum {
    WINDOW = 512 << 10,           /* what a peer may send after it was paused */
    CERTIFICATE_S = 7 * 24 * 3600 /* then a peer is made anew, with a certificate of its own */
};

struct peer {
    struct client_transport transport; /* first */
    struct peer *next;
    struct arena *arena;
    struct peer_options o;
    struct http_client *client;
    unsigned users;
    uint64_t used; /* when, in peers */
    int64_t made_s;
};

struct peers { /* of one loop */
    struct server *server;
    struct loop *loop;
    struct peer *first;
    size_t n;
    uint64_t ticks;
};

struct peers *peers_of(struct server *s, struct loop *l)
{
    for (size_t i = 0; i < s->nloops; i++) {
        struct server_loop *own = &s->loops[i];

        if (own->loop != l)
            continue;
        if (!own->peers) {
            own->peers = mem_zalloc(sizeof(*own->peers));
            own->peers->server = s;
            own->peers->loop = l;
        }
        return own->peers;
    }
    abort(); /* a loop that is not the server's */
}

/* ---- the transport ---- */

static struct http_client *client_of(struct client_transport *t)
{
    return ((struct peer *)(void *)t)->client;
}

static void transport_call(struct client_transport *t, struct http_call *call)
{
    http_client_call(client_of(t), call);
}

static void transport_cancel(struct client_transport *t, struct http_call *call)
{
    http_call_cancel(client_of(t), call);
}

static void transport_pause(struct client_transport *t, struct http_call *call, bool paused)
{
    (void)t;
    http_call_pause(call, paused);
}

static void transport_send(struct client_transport *t, struct http_call *call, str bytes)
{
    (void)t;
    http_call_send(call, bytes);
}

static size_t http_entry_unsent(struct client_transport *t, const struct http_call *call)
{
    (void)t;
    return http_call_unsent(call);
}

/* ---- life ---- */

static void peer_free(struct peer *p)
{
    http_client_free(p->client);
    arena_free(p->arena);
    free(p);
}

void peers_free(struct peers *all)
{
    if (!all)
        return;
    while (all->first) {
        struct peer *p = all->first;

        all->first = p->next;
        peer_free(p);
    }
    free(all);
}

/* Away with the ones that were not used for longest. */
static void trim(struct peers *all)
{
    while (all->n > PEERS_KEPT) {
        struct peer **oldest = NULL, *p;

        for (struct peer **at = &all->first; *at; at = &(*at)->next)
            if (!(*at)->users && (!oldest || (*at)->used < (*oldest)->used))
                oldest = at;
        if (!oldest)
            return;
        p = *oldest;
        *oldest = p->next;
        all->n--;
        peer_free(p);
    }
}

static struct http_client *connect_to(struct peers *all, struct peer *p, struct status *st)
{
    struct http_client_options o = { .loop = all->loop,
                                     .host = p->o.host,
                                     .port = p->o.port,
                                     .server_name = p->o.server_name,
                                     .tls = true,
                                     .ca_pem = p->o.ca_pem,
                                     .insecure = p->o.insecure,
                                     .window = WINDOW };
    struct pki_pair own = { 0 };

    if (!p->o.operators)
        o.guard = egress_guard(&all->server->egress);
    if (p->o.front_proxy.n &&
        front_proxy_sign(all->server, p->arena, p->o.front_proxy, &own, st) < 0)
        return NULL;
    o.cert_pem = own.cert.n ? own.cert : p->o.cert_pem;
    o.key_pem = own.cert.n ? own.key_pem : p->o.key_pem;
    return http_client_new(&o, st);
}

static struct peer *peer_new(struct peers *all, const struct peer_options *o, struct status *st)
{
    struct peer *p = mem_zalloc(sizeof(*p));

    p->arena = arena_new();
    p->o = (struct peer_options){ .host = str_dup(p->arena, o->host),
                                  .port = str_dup(p->arena, o->port),
                                  .server_name = str_dup(p->arena, o->server_name),
                                  .ca_pem = str_dup(p->arena, o->ca_pem),
                                  .insecure = o->insecure,
                                  .front_proxy = str_dup(p->arena, o->front_proxy),
                                  .cert_pem = str_dup(p->arena, o->cert_pem),
                                  .key_pem = secret_dup(p->arena, o->key_pem),
                                  .operators = o->operators };
    p->client = connect_to(all, p, st);
    if (!p->client) {
        arena_free(p->arena);
        free(p);
        return NULL;
    }
    p->transport = (struct client_transport){ .loop = all->loop,
                                              .call = transport_call,
                                              .cancel = transport_cancel,
                                              .pause = transport_pause,
                                              .send = transport_send,
                                              .unsent = http_entry_unsent };
    p->made_s = clock_wall_s(clock_real());
    p->next = all->first;
    all->first = p;
    all->n++;
    return p;
}

static bool is_same(const struct peer_options *a, const struct peer_options *b)
{
    return str_eq(a->host, b->host) && str_eq(a->port, b->port) &&
           str_eq(a->server_name, b->server_name) && str_eq(a->ca_pem, b->ca_pem) &&
           str_eq(a->front_proxy, b->front_proxy) && a->insecure == b->insecure &&
           a->operators == b->operators && str_eq(a->cert_pem, b->cert_pem) &&
           secret_eq(a->key_pem, b->key_pem);
}

struct peer *peer_get(struct peers *all, const struct peer_options *o, struct status *st)
{
    int64_t now_s = clock_wall_s(clock_real());
    struct peer *p;

    trim(all);
    p = all->first;
    while (p && !(is_same(&p->o, o) && now_s - p->made_s < CERTIFICATE_S))
        p = p->next;
    if (!p)
        p = peer_new(all, o, st);
    if (!p)
        return NULL;
    p->used = ++all->ticks;
    p->users++;
    return p;
}

void peer_unref(struct peer *p)
{
    if (p)
        p->users--;
}

struct client_transport *peer_transport(struct peer *p)
{
    return &p->transport;
}
