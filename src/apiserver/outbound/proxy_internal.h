/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_PROXY_INTERNAL_H
#define APISERVER_OUTBOUND_PROXY_INTERNAL_H

/* What the files of the proxy share: requests and answers (proxy.c), and connections that become
 * another protocol (proxy_upgrade.c). */

#include "apiserver/outbound/proxy.h"
#include "fleet/member.h"

enum {
    PROXY_HIGH = 1 << 20,  /* bytes that wait for one side: the other is paused, */
    PROXY_LOW = 256 << 10, /* … and goes on */
    PROXY_LOOK_MS = 5,     /* how often that is looked at meanwhile */
    PROXY_UPGRADES = 1000, /* connections that were upgraded, on each loop */
    PROXY_UPGRADE_HEADERS = 16,
};

struct proxies { /* of one loop */
    struct client *control;
    struct fleet *fleet;
    struct proxied *first;
    unsigned upgrades;
    bool stopped;
};

struct proxied {
    struct proxied *next, **prev;
    struct proxies *all;
    struct call *call; /* NULL: answered in full, or nobody listens any more */
    str whom;          /* the member's name, in the arena */
    bool held;         /* the chain's hold on the call is ours */
    struct arena *arena;
    struct loop *loop;
    struct loop_timer timer; /* until the head has come; then: while paused */

    struct fleet_lookup lookup;
    struct member *member;
    struct peer *peer; /* of an aggregated server, in the place of a member */
    struct client_transport *transport;
    struct http_call http;
    bool asking, paused;
    bool ourselves;         /* we ask in our own name */
    struct rest_sink *sink; /* once the head was passed on */

    str protocol;     /* that is asked for, in the arena; empty: HTTP as it is */
    bool upgraded;    /* and was given */
    bool hushed;      /* the caller is paused */
    int64_t moved_ms; /* when bytes last passed, either way */
};

/* Before the head was passed on: answers, and frees. */
void proxied_fail(struct proxied *p, enum reason reason, const char *what);
void proxied_free(struct proxied *p);
void proxied_pause(struct proxied *p, bool paused); /* the other server */
struct proxied *proxied_find(const struct call *c);
void proxied_closed(struct call *c); /* the caller has gone */
void proxied_end(struct proxied *p); /* the other side has: the stream ends, and it is freed */

/* ---- proxy_upgrade.c ---- */

/* The call asks for another protocol. */
bool upgrade_wanted(const struct call *c);
/* Whether it may have one, and the headers that say so to the other side. */
int upgrade_ask(struct proxied *p, struct http_header *h, size_t *n, struct status *st)
    __attribute__((warn_unused_result));
/* The other side has said 101. */
void upgrade_begin(struct proxied *p, const struct http_header *h, size_t n);
void upgrade_look(struct proxied *p); /* on the timer */

#endif
