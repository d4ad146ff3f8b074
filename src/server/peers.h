/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PEERS_H
#define SERVER_PEERS_H

/*
 * Servers that somebody of an instance has named: webhooks, aggregated API servers.  One HTTP
 * client for each and loop, shared by all who mean the same server and know it by the same
 * authority. Nothing of them is trusted: the address is checked before each connect
 * (fleet/egress.h), and redirects are not followed.
 *
 * All on the loop.
 */

#include "base/secret.h"
#include "client/transport.h"

struct server;
struct peers;
struct peer;

enum { PEERS_KEPT = 32 }; /* connections kept for each loop while nobody uses them */

struct peer_options {
    str host, port;
    str server_name; /* empty: host */
    str ca_pem;      /* empty: the system's */
    bool insecure;   /* nobody checks who it is: an APIService says so */
    /* As the front proxy of the instance with this uid (server/front_proxy.h); empty: as nobody. */
    str front_proxy;
    str cert_pem; /* or with this one; empty: as nobody */
    secret key_pem;
    bool operators; /* named by the operator of the server: it may be anywhere */
};

/* Of the loop; made when first asked for. */
struct peers *peers_of(struct server *s, struct loop *l);
void peers_free(struct peers *all); /* when the loop runs no more */

/* A reference of the caller's, or NULL. */
struct peer *peer_get(struct peers *all, const struct peer_options *o, struct status *st);
void peer_unref(struct peer *p);
struct client_transport *peer_transport(struct peer *p); /* lives as long as the reference */

#endif
