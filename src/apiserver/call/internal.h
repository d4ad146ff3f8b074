/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_INTERNAL_H
#define APISERVER_CALL_INTERNAL_H

/* The state that the rooms of apiserver/ share; no room outside of it includes this file. */

#include <stdatomic.h>

#include "apiserver/call/call.h"
#include "apiserver/call/metrics.h"
#include "fleet/egress.h"
#include "http/pki.h"
#include "kinds/kinds.h"
#include "loop/workers.h"
#include "rest/rest.h"

struct server_loop {         /* touched on its loop's thread only */
    struct loop_timer sweep; /* first: looks for calls that take too long */
    struct loop *loop;
    struct call *open;         /* writes that are not answered yet */
    struct proxies *proxies;   /* apiserver/outbound/proxy.c; NULL: none was asked for yet */
    struct callouts *callouts; /* apiserver/outbound/callout.h; the same */
    struct peers *peers;       /* apiserver/outbound/peers.h; the same */
};

struct server {
    const struct call_chain *chain;
    struct store *store;
    struct clock *clock;
    struct rest *rest;
    struct server_loop *loops;
    size_t nloops;
    struct http_server *http;
    struct health *health;
    struct metrics *metrics;
    struct docs *docs;
    struct catalogs *catalogs;
    struct garbage *garbage;
    struct upkeep *upkeep;
    struct quota_gates *quota_gates;
    struct limits *limits; /* of instances */
    struct event_rate *event_rate;
    const struct json *limited; /* see quota_check_limited */
    uint32_t admission_off;     /* plugins, by a bit each (apiserver/admission/admission.h) */
    struct flow *flow;
    struct rbac *rbac;
    struct hooks *hooks;             /* policies and webhooks of instances */
    struct apiservices *apiservices; /* which of their APIs are served elsewhere, */
    struct backends *backends;       /* what is known of that, */
    struct aggregator *aggregator;   /* and who looks */
    struct people *people;
    struct audit *audit;            /* or NULL */
    struct rbac_builtins *builtins; /* rights of our own parts */
    unsigned max_reads, max_writes;
    atomic_uint reads, writes, mounted; /* in flight */
    const struct mount *mounts;
    size_t nmounts;
    int (*check_scripts)(struct arena *a, const struct json *customization,
                         const struct json *others, struct status *st);
    struct egress egress;             /* where members may be */
    struct bytes *_Atomic advertised; /* server_advertise(); NULL: not yet */
    struct loop_timer idle;           /* of server_stop: */
    void (*stopped)(void *arg);
    void *stopped_arg;
    struct workers *workers;
    struct keys *keys;                /* of tokens */
    struct authn_token *tokens;       /* whose they are */
    struct oidc *oidc;                /* and those of issuers elsewhere */
    struct verdicts *token_verdicts;  /* apiserver/auth/verdicts.h, or NULL; */
    struct verdicts *access_verdicts; /* the same, of rights in the root instance */
    str root_uid;                     /* of the root instance */
    struct pki_pair signer;           /* of certificates for instances; may be empty */
    struct pki_pair front_ca;         /* apiserver/outbound/front_proxy.h */
    _Atomic int64_t serving_end;      /* of certificates, in seconds since 1970; 0: there is none */
    int64_t ca_end, signer_end;
    str root_ca;         /* PEM, by which programs know us */
    struct arena *arena; /* what lives as long as the server */
    const char *dir;     /* for a backup on its way out */
    atomic_bool backing_up;
};

/* Until the call is answered, or its time is over: then 504 is the answer, and a later one is
 * dropped. */
void timeout_watch(struct call *c);
void timeout_unwatch(struct call *c); /* or was not watched */
void timeout_sweep(struct loop_timer *t);

/* Where it counts as one in flight: what is mounted waits for reads and writes of its own. */
atomic_uint *call_counter(struct call *c);

/* Those to members, on one loop: ends what waits for an answer; and all of it. */
void proxies_stop(void *server_loop);
void proxies_free(struct proxies *p); /* when the loop runs no more */

struct access;
/* 403, as Kubernetes words it; reason is what access_allowed gave. */
void access_refuse(struct call *c, const struct access *x, str reason);

#endif
