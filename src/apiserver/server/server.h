/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_SERVER_H
#define APISERVER_SERVER_SERVER_H

/*
 * The API server: listens, runs every request through the chain (apiserver/server/chain.c),
 * answers.
 *
 * Made and freed by one thread; between, everything happens on the loops.
 */

#include "base/clock.h"
#include "base/secret.h"
#include "http/server.h"
#include "loop/loop.h"
#include "rpc/mount.h"
#include "store/store.h"

struct audit;
struct egress;
struct server;
struct encryption;
struct verdict_source;
struct admission_config;

struct server_options {
    struct store *store;
    struct loop *const *loops;
    size_t nloops;
    struct clock *clock;
    const char *dir; /* the data's; backups on their way out are put there */
    str listen;      /* empty: nowhere, only parts of this program call (apiserver/call/local.h) */
    int listener;    /* as in http/server.h */
    struct http_limits http;
    unsigned max_reads, max_writes; /* requests in flight, together; 0: 400, 200 */
    /* Of instances that say nothing themselves (apiserver/call/instance_limits.h); 0: none. */
    uint64_t instance_objects, instance_bytes, instance_in_flight, instance_watches;
    str admission_on, admission_off; /* plugins (apiserver/admission/admission.h), with commas */
    const struct admission_config *admission; /* lives longer; NULL: nothing is said to plugins */
    int64_t event_ttl_s;                      /* how long events are kept; 0: for ever */
    /* The same of records of what people did, and how many bytes; 0 bytes: none are made. */
    int64_t record_ttl_s;
    uint64_t record_bytes;
    str cert_pem, client_ca_pem, signer_cert_pem;
    secret key_pem, signer_key_pem; /* apiserver/auth/signer.h; empty: nothing is signed */
    /* apiserver/outbound/front_proxy.h; empty: an authority of its own until it ends. */
    str front_cert_pem;
    secret front_key_pem;
    str root_ca_pem; /* by which programs know us: kube-root-ca.crt of every instance; or empty */
    /* Of service account tokens, the one that signs first; none: one of its own until it ends. */
    const secret *token_keys;
    size_t ntoken_keys;
    struct encryption
        *encryption;    /* apiserver/server/encryption.h; lives longer; NULL: nothing is sealed */
    str issuer;         /* who they say made them; empty: https://kubernetes.default.svc */
    str authentication; /* AuthenticationConfiguration (apiserver/auth/authn_config.h), or empty */
    /* Webhooks (apiserver/auth/verdicts.h) that know tokens, and rights in the root instance; or
     * NULL. */
    const struct verdict_source *token_webhook, *access_webhook; /* outlive the server */
    unsigned oidc_algs; /* of issuers elsewhere (http/verify.h); 0: all */
    /*
     * Whether a ResourceInterpreterCustomization may be stored beside the others, an array
     * (federation/interp/scripts.h); NULL: it may.
     */
    int (*check_scripts)(struct arena *a, const struct json *customization,
                         const struct json *others, struct status *st);
    bool loopback_members;      /* members may be at addresses of this machine (fleet/egress.h) */
    struct audit *audit;        /* apiserver/audit/audit.h; outlives the server; NULL: none */
    const struct mount *mounts; /* other parts of the port; live as long as the server */
    size_t nmounts;
};

struct server *server_new(const struct server_options *o, struct status *st);
str server_address(const struct server *s); /* where it listens */

/*
 * Where clients on other machines reach this server, "host:port": what discovery and the management
 * API tell.  It may change while the server runs; empty until it is said.  Any thread.
 */
void server_advertise(struct server *s, str address);
str server_advertised(const struct server *s, struct arena *a);

/*
 * Where connections may go that somebody else than the operator named: all parts of this process
 * that make such connections go by this one, which knows our own listener.
 */
const struct egress *server_egress(const struct server *s);

/* This serving certificate for connections from now on.  Any thread. */
int server_reload_certificate(struct server *s, str cert_pem, secret key_pem, struct status *st)
    __attribute__((warn_unused_result));

/* These keys of tokens in place of the old ones (apiserver/auth/keys.h).  Any thread. */
int server_reload_keys(struct server *s, const secret *keys, size_t n, struct status *st)
    __attribute__((warn_unused_result));

/* This AuthenticationConfiguration in place of the old one.  Any thread. */
int server_reload_authentication(struct server *s, str text, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Garbage collection and upkeep (quotas, old events) run between these two, on a thread each, once
 * the loops run and while they do; not on one of them.
 */
void server_start_collecting(struct server *s);
void server_stop_collecting(struct server *s);

/* What Global Management lets people do (iam/permissions.h); lives as long as the server. */
struct permissions;
const struct permissions *server_permissions(const struct server *s);

/* readyz fails from now on; any thread. */
void server_drain(struct server *s);

/*
 * Not ready from now on, then ends what runs: within grace_ms for the clients, and then for as long
 * as the store and the workers take for what they have begun.  Then calls done on loops[0].
 */
void server_stop(struct server *s, int64_t grace_ms, void (*done)(void *arg), void *arg);
void server_free(struct server *s); /* after the loops have ended */

#endif
